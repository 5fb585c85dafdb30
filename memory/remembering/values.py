"""What the parts of remembering hand to each other. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from memory.kinds import MemoryKind, MemoryStatus, ProfileField


@dataclass(frozen=True, slots=True)
class Finding:
    """Something worth remembering in what a person wrote. `text`: a sentence; of a field, its value. `evidence`: the
    words that it was made of. `replaces`: a memory that is no longer true."""

    kind: MemoryKind
    text: str
    field: ProfileField | None = None
    evidence: str = ""
    replaces: UUID | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """Where findings come from. `origin`: names the reading, so that doing it again stores nothing twice. `turn`: the
    message's id, or what an import calls it."""

    origin: str
    at: datetime
    conversation: UUID | None = None
    execution: UUID | None = None
    turn: str = ""


@dataclass(frozen=True, slots=True)
class Known:
    """A memory, as far as it is looked at to decide about another. `closeness`: the cosine to the one in question,
    where both have vectors of the same model."""

    id: UUID
    kind: MemoryKind
    text: str
    field: ProfileField | None = None
    status: MemoryStatus = MemoryStatus.ACTIVE
    is_pinned: bool = False
    is_corrected: bool = False
    closeness: float | None = None


@dataclass(frozen=True, slots=True)
class Recalled:
    """A memory that is told in a run, and why. `score`: 0..1, higher fits better."""

    id: UUID
    kind: MemoryKind
    text: str
    said_at: datetime
    why: str
    score: float
    field: ProfileField | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "id": str(self.id),
            "kind": self.kind.value,
            "field": self.field.value if self.field else "",
            "text": self.text,
            "said_at": self.said_at.isoformat(),
            "why": self.why,
            "score": round(self.score, 4),
        }

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> "Recalled":
        return cls(
            id=UUID(kept["id"]),
            kind=MemoryKind(kept["kind"]),
            field=ProfileField(kept["field"]) if kept["field"] else None,
            text=kept["text"],
            said_at=datetime.fromisoformat(kept["said_at"]),
            why=kept["why"],
            score=kept["score"],
        )


@dataclass(frozen=True, slots=True)
class Learned:
    """What became of one finding, without its text: it may stand in a log that nobody can forget.

    `became`: learned, replaced (it took another's place), known (it was there), quarantined, forgotten.
    """

    id: UUID
    became: str
    kind: MemoryKind
    field: ProfileField | None = None

    def as_json(self) -> dict[str, Any]:
        named = self.field.value if self.field else ""
        return {"id": str(self.id), "became": self.became, "kind": self.kind.value, "field": named}


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a person asked of the memory itself, in their own words. `forget`: what is to be forgotten, each as the
    field of the profile that it names, or as the words that tell of it."""

    remember: tuple[Finding, ...] = ()
    forget: tuple["ProfileField | str", ...] = field(default=())
