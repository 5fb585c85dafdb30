"""A measured figure and what it should reach. Values and arithmetic only; measures nothing and prints nothing."""

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any


class Reach(StrEnum):
    AT_MOST = "≤"
    AT_LEAST = "≥"


@dataclass(frozen=True, slots=True)
class Target:
    reach: Reach
    value: float

    def is_met_by(self, value: float) -> bool:
        return value <= self.value if self.reach is Reach.AT_MOST else value >= self.value

    def __str__(self) -> str:
        return f"{self.reach} {self.value:g}"


def at_most(value: float) -> Target:
    return Target(Reach.AT_MOST, value)


def at_least(value: float) -> Target:
    return Target(Reach.AT_LEAST, value)


@dataclass(frozen=True, slots=True)
class Figure:
    """`samples` are the single rounds that `value` is the median of, where there was more than one."""

    name: str
    value: float
    unit: str
    target: Target | None = None
    samples: tuple[float, ...] = ()
    detail: dict[str, Any] = field(default_factory=dict)
    measurement: str = ""
    """Which measurement it came from, as `--only` calls it."""

    @property
    def is_met(self) -> bool | None:
        """None where nothing was asked of it."""
        return None if self.target is None else self.target.is_met_by(self.value)

    @property
    def spread(self) -> float | None:
        """Half the distance of the extreme rounds, as a share of the value: how noisy it was."""
        if len(self.samples) < 2 or not self.value:
            return None
        return (max(self.samples) - min(self.samples)) / 2 / abs(self.value)

    def as_json(self) -> dict[str, Any]:
        target = None if self.target is None else str(self.target)
        return {**asdict(self), "target": target, "is_met": self.is_met, "spread": self.spread}


def of_rounds(name: str, samples: Sequence[float], unit: str, target: Target | None = None, **detail: Any) -> Figure:
    """The median of the rounds."""
    return Figure(name, statistics.median(samples), unit, target, tuple(samples), detail)


def percentile(values: Sequence[float], share: float) -> float:
    """`share` 0..1; the value at or above which the rest lies (nearest rank). Raises ValueError without values."""
    if not values:
        raise ValueError("no values were measured; is the machine too slow for the window?")
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def shares(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """Round by round."""
    return [one / other for one, other in zip(ours, theirs, strict=True)]
