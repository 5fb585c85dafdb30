"""What the parts of a look hand to each other. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

MAX_PROBLEMS_TOLD: Final = 3


class LookFailed(Exception):
    """Nothing could be seen of the place; the message is a sentence for people."""


class LookLost(Exception):
    """Somebody else looks meanwhile, or the connector is gone: whatever is under way stops and writes nothing."""


@dataclass
class Tally:
    """What came of a look, as it goes on. `unfinished`: its time ran out, and the next look goes on from there."""

    seen: int = 0
    new: int = 0
    changed: int = 0
    gone: int = 0
    unfinished: bool = False
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def sentence(self, one: str, many: str) -> str:
        """`one`, `many`: what the place is made of, as "file", "files"."""
        changes = [
            f"{count} {word}"
            for count, word in ((self.new, "new"), (self.changed, "changed"), (self.gone, "gone"))
            if count
        ]
        said = [f"{self.seen:,} {one if self.seen == 1 else many}: {', '.join(changes) or 'nothing new'}."]
        if self.unfinished:
            said.append("There is more; the next look goes on in a minute.")
        said += self.notes
        if self.problems:
            told = "; ".join(self.problems[:MAX_PROBLEMS_TOLD])
            more = len(self.problems) - MAX_PROBLEMS_TOLD
            said.append(f"Not read: {told}{f'; and {more} more' if more > 0 else ''}.")
        return " ".join(said)


@dataclass(frozen=True, slots=True)
class Read:
    """What stands at an address now. `marks`: what the next look asks by whether it changed. `digest`: of what it says,
    whatever its mark-up."""

    body: bytes = field(repr=False)
    filename: str
    marks: Mapping[str, Any]
    digest: str
