"""What changes the world: how it is done, how it is looked up, and what becomes of it when nobody knows."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from agents.engine.errors import OutsideError


class Doubt(StrEnum):
    """What is known of an effect that was started and not recorded as finished."""

    HAPPENED = "done"
    NOT_HAPPENED = "again"
    SKIPPED = "skip"
    UNKNOWN = "unknown"

    @classmethod
    def of_answer(cls, answer: Any) -> "Doubt":
        """Reads a person's choice. Without a clear one nothing is known, and the world is left alone."""
        choice = answer.get("choice") if isinstance(answer, dict) else None
        return cls(choice) if choice in (cls.HAPPENED, cls.NOT_HAPPENED, cls.SKIPPED) else cls.UNKNOWN


LABELS: Final = {
    Doubt.HAPPENED.value: "It happened: go on",
    Doubt.NOT_HAPPENED.value: "It did not happen: do it now",
    Doubt.SKIPPED.value: "Leave it as it is, and go on without it",
}


# What the ledger has for the response of an attempt that has begun to touch the world.
TOUCHED: Final = {"touched": True}


@dataclass(frozen=True, slots=True)
class Effect:
    """A call that changes the world. `perform` and `probe` get the idempotency key, to hand on where it is taken.

    `probe` asks the other side whether the call with this key arrived: True, False, or None if it cannot tell.

    An effect that takes preparing may say when it begins (`Context.touching`): one that never did has not happened.
    `told` is for the person who is asked about a doubt: plain JSON that goes into the question as it is, besides
    `may_have`, a sentence that says what may have happened.
    """

    tool: str
    arguments: Any
    perform: Callable[[str], Awaitable[Any]]
    probe: Callable[[str], Awaitable[bool | None]] | None = None
    told: Mapping[str, Any] = field(default_factory=dict)

    def question_in_doubt(self, started_at: datetime | None) -> dict[str, Any]:
        """What a person needs who decides in another place than the conversation, days later."""
        when = f" at {started_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if started_at else ""
        may_have = self.told.get("may_have") or f"{self.tool} may have been carried out."
        told = {name: value for name, value in self.told.items() if name != "may_have"}
        return {
            "question": (
                f"{may_have} {self.tool} was begun{when} and interrupted, and it cannot be told from here whether it "
                "happened. Look for yourself, then say what shall be done."
            ),
            "options": list(LABELS),
            "labels": LABELS,
            "in_doubt": True,
            "tool": self.tool,
            "tool_names": [self.tool],
            "arguments": self.arguments,
            "started_at": started_at.astimezone(UTC).isoformat() if started_at else None,
            **told,
        }


def settled_response(tool: str, found: Doubt) -> dict[str, Any]:
    """What the program gets in place of the lost response."""
    return {"settled": found.value, "tool": tool}


async def probe_doubt(effect: Effect, key: str) -> Doubt:
    """Asks the other side. A probe that fails knows no more than none."""
    try:
        found = None if effect.probe is None else await effect.probe(key)
    except OutsideError:
        found = None
    if found is None:
        return Doubt.UNKNOWN
    return Doubt.HAPPENED if found else Doubt.NOT_HAPPENED
