"""What became of the calls that an agent made at the gateway, as far as its output has to tell of it. Pure.

Nothing here is stored: a program that is called again makes the same calls, and they come to the same again.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from agents.engine.records import Path

DENIED: Final = "denied_by_user"
FORBIDDEN: Final = "denied_by_policy"
TIMED_OUT: Final = "hitl_timeout"
WITHDRAWN: Final = "hitl_cancelled"
NOBODY_TO_ASK: Final = "hitl_skipped_non_streaming"
SWITCHED_OFF: Final = "switched_off"
INSTRUCTED: Final = "approved_with_instructions"

# Why something was not done, where people decided so, or nobody did: not a fault that could be mended.
BLOCKED: Final = frozenset({DENIED, FORBIDDEN, TIMED_OUT, WITHDRAWN, NOBODY_TO_ASK, SWITCHED_OFF, INSTRUCTED})
# Of those, where somebody or a rule said no: to try again would only ask again.
REFUSED: Final = frozenset({DENIED, FORBIDDEN})


@dataclass(frozen=True, slots=True)
class Attempt:
    """One call of a tool. `position`: its place in the agent's journal. `refusal`: the code; "" if it was carried out.

    `instructions` and `intent`: what a person said when approving it.
    """

    position: Path
    tool: str
    refusal: str = ""
    reason: str = ""
    instructions: str = ""
    intent: str = ""


def blocked(attempts: Iterable[Attempt]) -> list[Attempt]:
    """The calls that were not let through and whose tool was not carried out at a later call either."""
    in_order = sorted(attempts, key=lambda one: one.position)
    return [
        one
        for one in in_order
        if one.refusal in BLOCKED
        and not any(
            other.tool == one.tool and not other.refusal and is_after(other.position, one.position)
            for other in in_order
        )
    ]


def instructed(attempts: Iterable[Attempt]) -> list[Attempt]:
    """The calls that people approved with instructions, in order; once where one call was made by another."""
    in_order = sorted((one for one in attempts if one.instructions), key=lambda one: one.position)
    return list({(one.instructions, one.intent): one for one in reversed(in_order)}.values())[::-1]


def is_after(position: Path, other: Path) -> bool:
    """Whether a call was made when the other had been, and not beside it in another branch.

    Numbers of calls and of branches take turns in a path.
    """
    for place, (mine, its) in enumerate(zip(position, other, strict=False)):
        if mine != its:
            return place % 2 == 0 and mine > its
    return len(position) > len(other)


def reasons(attempts: Sequence[Attempt]) -> str:
    return " ".join(dict.fromkeys(one.reason for one in attempts if one.reason))
