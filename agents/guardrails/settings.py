"""How an installation has its texts scanned, as one value that a run notes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from agents.guardrails.scanner import Place

Action = Literal["block", "warn", "log"]


@dataclass(frozen=True, slots=True)
class GuardSettings:
    """`action`: what becomes of what is certain; what is suspected is told at most. `strict`: what could not be scanned
    in time is refused, also where it would be let through. `redacted`: the kinds of values that are taken out of
    answers. `model`: who looks a second time at what is suspected; empty for nobody."""

    enabled: bool = True
    input: bool = True
    output: bool = True
    tool: bool = True
    action: Action = "block"
    timeout_ms: int = 500
    strict: bool = False
    redacted: tuple[str, ...] = ("card", "iban", "ssn", "email", "phone", "ip", "secret")
    model: str = ""
    model_timeout_ms: int = 8_000

    def looks_at(self, place: Place) -> bool:
        """Content of others is scanned where tools are."""
        wanted = {Place.INPUT: self.input, Place.OUTPUT: self.output, Place.TOOL: self.tool, Place.CONTENT: self.tool}
        return self.enabled and wanted[place]

    def as_json(self) -> dict[str, Any]:
        return {**{name: getattr(self, name) for name in self.__slots__}, "redacted": list(self.redacted)}

    @classmethod
    def from_json(cls, noted: Mapping[str, Any]) -> Self:
        """Of what a newer version noted, as much as this one knows."""
        known = {name: noted[name] for name in cls.__slots__ if name in noted}
        return cls(**{**known, "redacted": tuple(noted["redacted"])})
