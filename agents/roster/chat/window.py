"""How much of a conversation a model gets to read. Pure."""

from collections.abc import Mapping, Sequence
from typing import Final

from hyperagent.lib.clipping import both_ends
from hyperagent.lib.llm.types import Message, Role

LEAST_CHARS: Final = 200
"""With less room nothing is told: it would say nothing."""
ASKED_CHARS: Final = 100


def recent_turns(history: Sequence[Mapping[str, str]], *, budget_chars: int) -> tuple[Message, ...]:
    """The newest turns that fit into the budget, whole, oldest first. Where not even the newest does, its beginning and
    its end, below those of what it answers: whatever is said of "it" is said of that."""
    kept: list[Message] = []
    room = budget_chars
    for turn in reversed(history):
        room -= len(turn["content"])
        if room < 0:
            break
        kept.append(_message(turn, len(turn["content"])))
    if not kept and history and budget_chars >= LEAST_CHARS:
        asked = [_message(turn, ASKED_CHARS) for turn in history[-2:-1]]
        left = budget_chars - sum(len(message.content) for message in asked)
        return (*asked, _message(history[-1], left))
    return tuple(reversed(kept))


def _message(turn: Mapping[str, str], limit: int) -> Message:
    return Message(role=Role(turn["role"]), content=both_ends(turn["content"], limit))
