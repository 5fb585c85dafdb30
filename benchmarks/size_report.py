"""What each thing took while the database was nearly empty and when it was full, as a table. Values only."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.figure import percentile

AT_MOST = 2.0
"""Full / nearly empty: what the table asks for."""
# Below it, the ratio of two times is the ratio of two noises.
LEAST_MS = 1.0


@dataclass(frozen=True, slots=True)
class Took:
    """The samples of one act, in milliseconds; `in_queries_ms`: what of each the database took, where that is known."""

    name: str
    ms: tuple[float, ...]
    in_queries_ms: tuple[float, ...] = ()

    @property
    def p50_ms(self) -> float:
        return statistics.median(self.ms)

    @property
    def p95_ms(self) -> float:
        return percentile(self.ms, 0.95)

    @property
    def fast_ms(self) -> float:
        """One of ten is faster: what other work on the machine adds is not in it."""
        return percentile(self.ms, 0.1)

    @property
    def queries_p50_ms(self) -> float | None:
        return statistics.median(self.in_queries_ms) if self.in_queries_ms else None


@dataclass(frozen=True, slots=True)
class Line:
    """One act, before and after."""

    empty: Took
    full: Took

    @property
    def ratio(self) -> float:
        """Of the medians."""
        return _ratio(self.full.p50_ms, self.empty.p50_ms)

    @property
    def fast_ratio(self) -> float:
        """Of the tenth that was fastest: noise only adds, and a machine that others use as well has much of it."""
        return _ratio(self.full.fast_ms, self.empty.fast_ms)

    @property
    def is_met(self) -> bool:
        return min(self.ratio, self.fast_ratio) <= AT_MOST

    def __str__(self) -> str:
        before, after = self.empty.queries_p50_ms, self.full.queries_p50_ms
        queries = "" if before is None or after is None else f"{before:7.1f} →{after:7.1f}"
        mark = "" if self.is_met else "  over"
        return (
            f"{self.full.name:<52} {self.empty.p50_ms:8.1f} {self.empty.p95_ms:8.1f} {self.full.p50_ms:8.1f}"
            f" {self.full.p95_ms:8.1f} {self.ratio:6.2f} × {self.fast_ratio:6.2f} ×  {queries:<17}{mark}"
        ).rstrip()


def _ratio(one_ms: float, other_ms: float) -> float:
    """What takes less than LEAST_MS counts as taking that: both are nothing."""
    return max(one_ms, LEAST_MS) / max(other_ms, LEAST_MS)


HEADING = (
    f"{'':<52} {'nearly empty':>17} {'full':>17} {'full / empty':>17}\n"
    f"{'ms':<52} {'p50':>8} {'p95':>8} {'p50':>8} {'p95':>8} {'p50':>8} {'fastest':>8}  in queries, p50"
)


def verdict(rows: Sequence[Line]) -> str:
    missed = [row.full.name for row in rows if not row.is_met]
    if missed:
        return f"over {AT_MOST:g} ×: {', '.join(missed)}"
    return f"all {len(rows)} within {AT_MOST:g} × of nearly empty"


@dataclass(frozen=True, slots=True)
class Churned:
    """A table after many runs came and went: what was updated, how much of it in place, what VACUUM found and took."""

    table: str
    updated: int
    hot: int
    dead: int
    vacuum_s: float
    bytes_before: int
    bytes_after: int

    @property
    def hot_share(self) -> float | None:
        return self.hot / self.updated if self.updated else None

    def __str__(self) -> str:
        hot = "" if self.hot_share is None else f"{self.hot_share:.0%}"
        grown = (self.bytes_after - self.bytes_before) / 2**20
        return (
            f"{self.table:<24} {self.updated:>9} {hot:>6} {self.dead:>9} {self.vacuum_s:>9.2f} s"
            f" {self.bytes_before / 2**20:>9.0f} MB {grown:>+8.1f} MB"
        )


CHURN_HEADING = f"{'':<24} {'updated':>9} {'HOT':>6} {'dead':>9} {'VACUUM':>11} {'before':>12} {'grown by':>11}"


def churn_table(rows: Sequence[Churned]) -> str:
    return "\n".join([CHURN_HEADING, *map(str, rows)])


def as_json(rows: Sequence[Line], churned: Mapping[str, Sequence[Churned]], **more: Any) -> dict[str, Any]:
    return {
        **more,
        "lines": [
            {
                "name": row.full.name,
                "ratio": row.ratio,
                "fast_ratio": row.fast_ratio,
                "is_met": row.is_met,
                "empty": asdict(row.empty),
                "full": asdict(row.full),
            }
            for row in rows
        ],
        "churn": {when: [asdict(one) for one in found] for when, found in churned.items()},
    }
