"""How much of a conversation a model gets to read. Pure."""

from collections.abc import Mapping, Sequence

from hyperagent.lib.llm.types import Message, Role


def messages_within(
    history: Sequence[Mapping[str, str]], question: str, *, system: str, budget_chars: int
) -> tuple[Message, ...]:
    """System prompt, the newest turns that fit into the budget (whole, oldest first), and the question, always."""
    room = budget_chars - len(question)
    kept: list[Message] = []
    for turn in reversed(history):
        room -= len(turn["content"])
        if room < 0:
            break
        kept.append(Message(role=Role(turn["role"]), content=turn["content"]))
    return (
        Message(role=Role.SYSTEM, content=system),
        *reversed(kept),
        Message(role=Role.USER, content=question),
    )
