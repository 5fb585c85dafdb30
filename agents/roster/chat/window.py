"""How much of a conversation a model gets to read. Pure."""

from collections.abc import Mapping, Sequence

from hyperagent.lib.llm.types import Message, Role


def recent_turns(history: Sequence[Mapping[str, str]], *, budget_chars: int) -> tuple[Message, ...]:
    """The newest turns that fit into the budget, whole, oldest first."""
    kept: list[Message] = []
    for turn in reversed(history):
        budget_chars -= len(turn["content"])
        if budget_chars < 0:
            break
        kept.append(Message(role=Role(turn["role"]), content=turn["content"]))
    return tuple(reversed(kept))
