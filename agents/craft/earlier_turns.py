"""What a prompt has of the conversation before its question: the newest turns whole, older ones cut, and ahead of them
the summary of all that was said. Pure.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from agents.tools.untrusted import marked_untrusted
from hyperagent.lib.clipping import both_ends

TURNS: Final = 6
TURN_CHARS: Final = 600
"""What is told of each of them at least: its beginning and its end."""
WHOLE_CHARS: Final = 14_000
"""So much of them is told whole, the newest first; of a single one no more than ONE_CHARS."""
ONE_CHARS: Final = 12_000
SUMMARY_CHARS: Final = 3_000
# Told in the person's name, and yet made by a model of all that was said: it is said to be no request.
SUMMARY_OF: Final = (
    "[This is no request, but a summary of the {turns} turns of this conversation so far, made by a program; "
    "the newest of them follow word for word.]"
)
_SUMMARY_BEGINS: Final = SUMMARY_OF.partition("{")[0]


def is_summary(text: str) -> bool:
    """Whether it was said by nobody, but sums up what was. It comes first, if at all."""
    return text.startswith(_SUMMARY_BEGINS)


def earlier_turns(history: Sequence[Mapping[str, str]], *, whole_chars: int = WHOLE_CHARS) -> list[dict[str, str]]:
    """The last turns of a history, oldest first, below its summary, if it has one."""
    has_summary = bool(history) and is_summary(history[0]["content"])
    told: list[dict[str, str]] = []
    room = whole_chars
    for turn in reversed(history[1 if has_summary else 0 :][-TURNS:]):
        told.append(_told(turn, max(TURN_CHARS, min(room, ONE_CHARS))))
        room -= len(told[-1]["content"])
    if has_summary:
        told.append(_told(history[0], SUMMARY_CHARS))
    return told[::-1]


def as_quotation(history: Sequence[Mapping[str, str]], *, whole_chars: int = WHOLE_CHARS) -> str:
    """The same as one text, which is data; empty if nothing was said."""
    said = [f"{turn['role']}: {turn['content']}" for turn in earlier_turns(history, whole_chars=whole_chars)]
    return marked_untrusted("\n".join(said), source="the conversation") if said else ""


def _told(turn: Mapping[str, str], limit: int) -> dict[str, str]:
    return {"role": turn["role"], "content": both_ends(turn["content"], limit)}
