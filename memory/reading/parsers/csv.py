"""CSV: one table, in whatever encoding and with whatever between the cells."""

import csv
from collections.abc import Iterator
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import Final

from memory.kinds import BlockKind
from memory.reading import caps, reasons
from memory.reading.decoding import text_of
from memory.reading.paging import Missing, Part
from memory.reading.tables import bars, cell_text, portions
from memory.reading.values import Head

_SEPARATORS: Final = ";\t|,"
"""Of two that divide all lines alike the first: in a sum of money a comma may stand for the point."""
_SNIFFED_CHARS: Final = 16_384
_LINES_COUNTED: Final = 20


def parts(path: Path, *, filename: str) -> Iterator[Head | Part | Missing]:
    text, missing = text_of(path)
    text = text.replace("\x00", "")
    yield Head()
    yield from missing
    csv.field_size_limit(caps.MIB)
    rows = csv.reader(StringIO(text, newline=""), delimiter=_separator(text[:_SNIFFED_CHARS]), strict=False)
    try:
        yield from _portions(rows)
    except csv.Error as error:
        raise reasons.broken_table(f"{error} in row {rows.line_num:,}") from error


def _portions(rows: Iterator[list[str]]) -> Iterator[Part | Missing]:
    widest = longest = 0

    def cut(row: list[str]) -> list[str]:
        nonlocal widest, longest
        widest, longest = max(widest, len(row)), max(longest, *map(len, row))
        return row[: caps.COLUMNS]

    filled = (cut(row) for row in rows if any(cell.strip() for cell in row))
    header = next(filled, [])
    lines = (bars([cell_text(cell) for cell in row]) for row in islice(filled, caps.ROWS))
    for table in portions(lines, header=bars([cell_text(cell) for cell in header]), most_chars=caps.PAGE_CHARS):
        yield Part(BlockKind.TABLE, table, new_page=True)
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
