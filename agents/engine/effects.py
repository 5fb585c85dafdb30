"""What changes the world: how it is done, how it is looked up, and what becomes of it when nobody knows."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from agents.engine.errors import OutsideError


class Doubt(StrEnum):
    """What is known of an effect that was started and not recorded as finished."""

    HAPPENED = "done"
    NOT_HAPPENED = "again"
    SKIPPED = "skip"
    UNKNOWN = "unknown"

    @classmethod
    def of_answer(cls, answer: Any) -> "Doubt":
        """Reads a person's choice. Anything but a clear «done» or «again» leaves the world alone."""
        choice = answer.get("choice") if isinstance(answer, dict) else None
        return cls(choice) if choice in (cls.HAPPENED, cls.NOT_HAPPENED) else cls.SKIPPED


@dataclass(frozen=True, slots=True)
class Effect:
    """A call that changes the world. `perform` and `probe` get the idempotency key, to hand on where it is taken.

    `probe` asks the other side whether the call with this key arrived: True, False, or None if it cannot tell.
    """

    tool: str
    arguments: Any
    perform: Callable[[str], Awaitable[Any]]
    probe: Callable[[str], Awaitable[bool | None]] | None = None

    def question_in_doubt(self) -> dict[str, Any]:
        return {
            "question": f"{self.tool} was interrupted: it may have happened. What shall be done?",
            "options": [Doubt.HAPPENED, Doubt.NOT_HAPPENED, Doubt.SKIPPED],
            "tool": self.tool,
            "arguments": self.arguments,
        }

    def settled_response(self, found: Doubt) -> dict[str, Any]:
        """What the program gets in place of the lost response."""
        return {"settled": found.value, "tool": self.tool}


async def probe_doubt(effect: Effect, key: str) -> Doubt:
    """Asks the other side. A probe that fails knows no more than none."""
    try:
        found = None if effect.probe is None else await effect.probe(key)
    except OutsideError:
        found = None
    if found is None:
        return Doubt.UNKNOWN
    return Doubt.HAPPENED if found else Doubt.NOT_HAPPENED
