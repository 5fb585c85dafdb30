"""Ours and theirs in one table: what was seen of each contender, its median, and our share of theirs. Pure."""

import statistics
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any


class Column(StrEnum):
    """What contenders are compared by: its heading with its unit."""

    WORKER_CPU = "worker µs/token"
    ALL_CPU = "all µs/token"
    FIRST_P50 = "TTFT p50 ms"
    FIRST_P95 = "TTFT p95 ms"
    AT_ONCE_P50 = "8 at once p50 ms"
    AT_ONCE_P95 = "8 at once p95 ms"
    LATENCY_P95 = "token p95 ms"
    HELD = "streams held"
    MEMORY = "memory MB"


LEGEND = (
    "TTFT: added to the time to the first token, by who stands between model and client. token p95: how late a token "
    "is. CPU of a token, and its lateness, while 8 stream; memory: of the worker process, at rest."
)
_NOT_SEEN = "-"


class Comparison:
    """Collects values by contender and column; several of one cell are rounds."""

    def __init__(self) -> None:
        self._seen: dict[str, dict[Column, list[float]]] = {}

    def note(self, contender: str, column: Column, *values: float) -> None:
        self._seen.setdefault(contender, {}).setdefault(column, []).extend(values)

    def medians(self) -> dict[str, dict[Column, float]]:
        """By contender, in the order in which they were first seen."""
        return {
            contender: {column: statistics.median(values) for column, values in columns.items() if values}
            for contender, columns in self._seen.items()
        }

    def as_json(self) -> dict[str, Any]:
        return {
            contender: {
                column.value: {"median": statistics.median(values), "rounds": values}
                for column, values in columns.items()
            }
            for contender, columns in self._seen.items()
        }


def table(medians: Mapping[str, Mapping[Column, float]], *, ours: str) -> list[str]:
    """The lines of the table: a row for each contender, below it our share of theirs (`0.25×`: a quarter of it)."""
    columns = [column for column in Column if any(column in row for row in medians.values())]
    if not columns:
        return []
    heads = ["", *(column.value for column in columns)]
    rows = [heads]
    for name, row in medians.items():
        rows.append([name, *(_number(row.get(column)) for column in columns)])
    own = medians.get(ours, {})
    for name, row in medians.items():
        shares = [share(own.get(column), row.get(column)) for column in columns]
        if name != ours and any(one is not None for one in shares):
            rows.append([f"{ours} / {name}", *(_NOT_SEEN if one is None else f"{one:.2f}×" for one in shares)])
    return _aligned(rows)


def share(ours: float | None, theirs: float | None) -> float | None:
    """None where one of them was not measured, or theirs is nothing that can be divided by."""
    return None if ours is None or theirs is None or theirs <= 0 else ours / theirs


def _number(value: float | None) -> str:
    if value is None:
        return _NOT_SEEN
    return f"{value:.1f}" if abs(value) < 100 else f"{value:.0f}"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return [
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in rows
    ]
