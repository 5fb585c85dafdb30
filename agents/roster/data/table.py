"""Tables in text, and what can be said of them without running a program of a model. Pure."""

import csv
import json
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

_NUMBER: Final = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?")
# What can be read with a decimal point only: 12,345 and 12.345 may be either.
_WITH_POINT: Final = re.compile(
    r"""(?x) [-+]? (?:
        (?: \d{1,3} (?:,\d{3})+ | \d{4,} | 0 ) \.\d+  # 1,234.5  1234.567  0.125
        | \d+ \. (?!\d{3}\Z) \d+                    # 12.5
        | \d{1,3} (?:,\d{3}){2,}                     # 1,234,567
    )"""
)
_SWAPPED: Final = str.maketrans(",.", ".,")
_RULE = re.compile(r"^\|?[\s:|-]+\|?$")
DELIMITERS: Final = ("\t", ";", "|", ",")
LEAST_ROWS: Final = 2
MOST_ROWS: Final = 100_000
MOST_COLUMNS: Final = 100
COLUMNS_TOLD: Final = 30
LOOKED_AT: Final = 1_000
"""Rows by which it is told how a table writes its numbers."""


@dataclass(frozen=True, slots=True)
class Table:
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def column(self, place: int) -> list[str]:
        return [row[place].strip() for row in self.rows]

    @property
    def has_decimal_comma(self) -> bool:
        """Whether 1.234,5 is how it writes its numbers: some can be read in that way only, and none in the other."""
        cells = [_bare(cell) for row in self.rows[:LOOKED_AT] for cell in row]
        if any(_WITH_POINT.fullmatch(cell) for cell in cells):
            return False
        return any(_WITH_POINT.fullmatch(cell.translate(_SWAPPED)) for cell in cells)


def table_in(text: str) -> Table | None:
    """The first table of a text: JSON records, a Markdown table, or lines with the same delimiter; None without one."""
    return _from_json(text) or _from_lines(text)


def form_of(text: str) -> str:
    """How the first table of a text is written: json, markdown or csv, with whatever delimiter; text without one."""
    if _from_json(text):
        return "json"
    if not _from_lines(text):
        return "text"
    is_markdown = any("|" in line and "-" in line and _RULE.match(line.strip()) for line in text.splitlines())
    return "markdown" if is_markdown else "csv"


def described(table: Table) -> str:
    """Rows and columns, and for each column what it holds: range, sum and mean of numbers, the commonest of texts."""
    has_comma = table.has_decimal_comma
    lines = [f"{len(table.rows)} rows, {len(table.columns)} columns{', decimals behind a comma' if has_comma else ''}"]
    for place, name in enumerate(table.columns[:COLUMNS_TOLD]):
        lines.append(f"- {name}: {_of_column(table.column(place), decimal_comma=has_comma)}")
    left = len(table.columns) - COLUMNS_TOLD
    return "\n".join([*lines, f"- and {left} more columns"] if left > 0 else lines)


def number_of(text: str, *, decimal_comma: bool = False) -> float | None:
    """The number that a cell holds, without currency, percent sign and separators of thousands; None for a text."""
    bare = _bare(text)
    if decimal_comma:
        bare = bare.translate(_SWAPPED)
    return float(bare.replace(",", "")) if _NUMBER.fullmatch(bare) else None


def _bare(cell: str) -> str:
    return cell.strip().strip("$€£%").strip()


def _of_column(cells: Sequence[str], *, decimal_comma: bool) -> str:
    filled = [cell for cell in cells if cell]
    missing = f", {len(cells) - len(filled)} empty" if len(filled) < len(cells) else ""
    if not filled:
        return "empty"
    numbers = [number for cell in filled if (number := number_of(cell, decimal_comma=decimal_comma)) is not None]
    if len(numbers) == len(filled):
        told = [
            f"sum {_short(sum(numbers))}",
            f"mean {_short(_mean(numbers))}",
            f"median {_short(statistics.median(numbers))}",
        ]
        return f"number, {_short(min(numbers))} to {_short(max(numbers))}, {', '.join(told)}{missing}"
    common = Counter(filled).most_common(3)
    shown = ", ".join(f"{value[:40]} ({times})" for value, times in common)
    mixed = f", {len(numbers)} of them numbers" if numbers else ""
    return f"text, {len(set(filled))} different{mixed}: {shown}{missing}"


def _mean(numbers: Sequence[float]) -> float:
    try:
        return statistics.fmean(numbers)
    except (OverflowError, ValueError):
        # Their sum is too large for a float, or there are infinities of both signs.
        return statistics.mean(numbers)


def _short(number: float) -> str:
    return f"{number:,.0f}" if number.is_integer() and abs(number) < 1e15 else f"{number:,.6g}"


def _from_json(text: str) -> Table | None:
    start = min((place for place in (text.find("["), text.find("{")) if place >= 0), default=-1)
    if start < 0:
        return None
    try:
        value, _ = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return _of_records(_records_in(value))


def _records_in(value: Any) -> list[dict[str, Any]]:
    """The first list of records in a JSON value, at its top or one level below."""
    candidates = value.values() if isinstance(value, dict) else [value]
    for found in candidates:
        if isinstance(found, list) and found and all(isinstance(item, dict) for item in found):
            return found
    return []


def _of_records(records: list[dict[str, Any]]) -> Table | None:
    if len(records) < LEAST_ROWS:
        return None
    # Those that are kept: each record is asked for each of them, and each may have names of its own.
    columns = list(dict.fromkeys(name for record in records for name in record))[:MOST_COLUMNS]
    return _table(columns, ([_cell(record.get(name)) for name in columns] for record in records))


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _from_lines(text: str) -> Table | None:
    """The longest run of lines that the same delimiter cuts into the same number of cells, the first their names."""
    best: list[list[str]] = []
    for delimiter in DELIMITERS:
        run: list[list[str]] = []
        for cells in [*_cut(text, delimiter), []]:
            if run and len(cells) != len(run[0]):
                best = max(best, run, key=len)
                run = []
            if len(cells) > 1:
                run.append(cells)
    if len(best) < LEAST_ROWS + 1:
        return None
    table = _table(best[0], best[1:])
    return table if len(table.columns) > 2 or _has_figures(table) else None


def _has_figures(table: Table) -> bool:
    """Whether some column is mostly numbers. Lines of prose with a comma in each have none."""
    has_comma = table.has_decimal_comma
    for place in range(len(table.columns)):
        cells = table.column(place)
        if 2 * sum(number_of(cell, decimal_comma=has_comma) is not None for cell in cells) >= len(cells):
            return True
    return False


def _cut(text: str, delimiter: str) -> list[list[str]]:
    lines = [line.strip() for line in text.splitlines() if not line.strip() or not _RULE.match(line.strip())]
    if delimiter == "|":
        return [[cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else [] for line in lines]
    cut = []
    for line in lines:
        try:
            cut.append(next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), []))
        except csv.Error:
            cut.append([])
    return cut


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    names = tuple(name.strip() or f"column {place}" for place, name in enumerate(columns[:MOST_COLUMNS], start=1))
    kept = [tuple(row[:MOST_COLUMNS]) for _, row in zip(range(MOST_ROWS), rows, strict=False)]
    return Table(names, tuple(kept))
