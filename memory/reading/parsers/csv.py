"""CSV: one table, in whatever encoding and with whatever between the cells."""

import csv
import re
from collections.abc import Iterator
from io import StringIO
from itertools import chain, islice
from pathlib import Path
from typing import Final, Literal

from memory.kinds import BlockKind
from memory.reading import caps, reasons
from memory.reading.decoding import text_of
from memory.reading.paging import Missing, Part
from memory.reading.tables import bars, cell_text, header_at, portions
from memory.reading.values import Head

_SEPARATORS: Final = ";\t|,"
"""Of two that divide all lines alike the first: in a sum of money a comma may stand for the point."""
_SNIFFED_CHARS: Final = 16_384
_LINES_COUNTED: Final = 20
_HEADER_AMONG: Final = 20
# What Excel writes, and understands, above the first row.
_SAID: Final = re.compile(r"\s*\"?sep=([;\t|,])\"?\r?\n", re.IGNORECASE)
_LINES_IN_CELL: Final = 200
"""A quotation mark that nothing ends takes in all rows below it: no cell has so many lines."""


def parts(path: Path, *, filename: str) -> Iterator[Head | Part | Missing]:
    text, missing = text_of(path)
    text = text.replace("\x00", "")
    yield Head()
    yield from missing
    said = _SAID.match(text)
    text = text[said.end() :] if said else text
    csv.field_size_limit(caps.MIB)
    separator = said[1] if said else _separator(text[:_SNIFFED_CHARS])
    quoting = _quoting(text, separator)
    rows = csv.reader(StringIO(text, newline=""), delimiter=separator, quoting=quoting, strict=False)
    try:
        yield from _portions(rows)
    except csv.Error as error:
        raise reasons.broken_table(f"{error} in row {rows.line_num:,}") from error


def _quoting(text: str, separator: str) -> Literal[0, 3]:
    """A quotation mark that nothing ends makes all of them signs like any."""
    is_odd = text.count('"') % 2 == 1
    if is_odd and _runs_away(csv.reader(StringIO(text, newline=""), delimiter=separator, strict=False)):
        return csv.QUOTE_NONE
    return csv.QUOTE_MINIMAL


def _runs_away(rows: Iterator[list[str]]) -> bool:
    try:
        return any(cell.count("\n") > _LINES_IN_CELL for row in rows for cell in row)
    except csv.Error:
        return True


def _portions(rows: Iterator[list[str]]) -> Iterator[Part | Missing]:
    widest = longest = 0

    def cut(row: list[str]) -> list[str]:
        nonlocal widest, longest
        widest, longest = max(widest, len(row)), max(longest, *map(len, row))
        return row[: caps.COLUMNS]

    filled = (cut(row) for row in rows if any(cell.strip() for cell in row))
    top = [[cell_text(cell) for cell in row] for row in islice(filled, _HEADER_AMONG)]
    if not top:
        return
    at = header_at(top)
    for row in top[:at]:
        yield Part(BlockKind.PARAGRAPH, " ".join(filter(None, row)))
    others = (bars([cell_text(cell) for cell in row]) for row in islice(filled, caps.ROWS - len(top)))
    lines = chain(map(bars, top[at + 1 :]), others)
    for number, table in enumerate(portions(lines, header=bars(top[at]), most_chars=caps.PAGE_CHARS)):
        yield Part(BlockKind.TABLE, table, new_page=number > 0)
    if next(filled, None) is not None:
        yield Missing(f"Partly read: the first {caps.ROWS:,} rows; the rest is left out.")
    if widest > caps.COLUMNS:
        yield Missing(f"Partly read: the first {caps.COLUMNS:,} of {widest:,} columns.")
    if longest > caps.CELL_CHARS:
        yield Missing(f"Partly read: of each cell the first {caps.CELL_CHARS:,} characters; the rest is left out.")


def _separator(sample: str) -> str:
    """The one that most lines have the same number of; more is better."""
    lines = [line for line in sample.splitlines()[:_LINES_COUNTED] if line.strip()]

    def regular(separator: str) -> tuple[int, int]:
        counts = [line.count(separator) for line in lines]
        usual = max(set(counts), key=counts.count) if counts else 0
        return (counts.count(usual) if usual else 0, usual)

    return max(_SEPARATORS, key=regular)
