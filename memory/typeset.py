"""A page's text as what a template draws: headings, paragraphs, tables, and what in it is marked. Pure: characters in,
characters out. Whatever a document says stays text; nothing here makes markup of it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Final

from hyperagent.lib.clipping import one_line
from memory.kinds import BlockKind
from memory.values import Block

CITED, FOUND = "cited", "found"
MOST_MARKS: Final = 200  # a page; somebody who looks for "e" needs no more
_FLOWING: Final = ("md", "html")  # a line end in their paragraphs means nothing
_CELL: Final = re.compile(r"(?:[^|\\]|\\.)*")
_RULE: Final = re.compile(r"(?=[^-]*-)[\s|:-]+")
_BULLET: Final = re.compile(r"[ \t]*[-*+•◦▪‣–][ \t]+")
_NUMBER: Final = re.compile(r"[ \t]*\d{1,3}[.)][ \t]+")
_HASHES: Final = re.compile(r"#{1,6}[ \t]+")


@dataclass(frozen=True, slots=True)
class Mark:
    """[start, end) in the page's characters. `kind`: why it is marked."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class Run:
    """Text of one look. `marks`: the kinds that apply, as a class attribute has them; empty for plain text."""

    text: str
    marks: str = ""


Cell = tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class Item:
    """Of a list, without its bullet. A number stays with its text: only the document knows where it counts from."""

    runs: tuple[Run, ...]
    is_numbered: bool
    depth: int


@dataclass(frozen=True, slots=True)
class Part:
    """`rows`: of a table, the first is its header. `items`: of a list. `level`: of a heading, 1..4."""

    kind: str
    runs: tuple[Run, ...] = ()
    items: tuple[Item, ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = ()
    level: int = 0


def set_page(text: str, blocks: Sequence[Block], *, doc_type: str, marks: Sequence[Mark] = ()) -> tuple[Part, ...]:
    """The parts of a page, in order. Text that is in no block is a paragraph: nothing of the page is left out."""
    parts: list[Part] = []
    at = 0
    ordered = sorted(marks, key=lambda mark: (mark.start, mark.end))
    for block in sorted(blocks, key=lambda one: one.start):
        start, end = max(block.start, at), min(block.end, len(text))
        if text[at:start].strip():
            parts.append(_part(text, Block(BlockKind.PARAGRAPH, at, start), doc_type, ordered))
        if text[start:end].strip():
            parts.append(_part(text, Block(block.kind, start, end, block.level), doc_type, ordered))
        at = max(at, end)
    if text[at:].strip():
        parts.append(_part(text, Block(BlockKind.PARAGRAPH, at, len(text)), doc_type, ordered))
    return tuple(parts)


def find_marks(text: str, words: str) -> list[Mark]:
    """Where these words stand, without regard to case; any space fits any other."""
    pieces = [re.escape(piece) for piece in words.split()]
    if not pieces:
        return []
    found = re.finditer(r"\s+".join(pieces), text, re.IGNORECASE)
    return [Mark(hit.start(), hit.end(), FOUND) for hit in islice(found, MOST_MARKS)]


def snippet(text: str, mark: Mark, *, around: int = 60) -> tuple[Run, ...]:
    """The mark with some words before and after it, on one line."""
    start, end = max(0, mark.start - around), min(len(text), mark.end + around)
    if start and (space := text.find(" ", start, mark.start)) >= 0:
        start = space + 1
    if end < len(text) and (space := text.rfind(" ", mark.end, end)) >= 0:
        end = space
    before, after = (one_line(piece) for piece in (text[start : mark.start], text[mark.end : end]))
    gap = " " if text[mark.start - 1 : mark.start].isspace() else ""
    tail = " " if text[mark.end : mark.end + 1].isspace() else ""
    lead = "… " if start else ""
    rest = " …" if end < len(text) else ""
    return (
        Run(f"{lead}{before}{gap}"),
        Run(one_line(text[mark.start : mark.end]), mark.kind),
        Run(f"{tail}{after}{rest}"),
    )


def _part(text: str, block: Block, doc_type: str, marks: Sequence[Mark]) -> Part:
    start, end = _trimmed(text, block.start, block.end)
    match block.kind:
        case BlockKind.HEADING:
            hashes = _HASHES.match(text, start, end) if doc_type == "md" else None
            start = hashes.end() if hashes else start
            return Part("heading", _runs(text, start, end, marks), level=max(1, min(4, block.level)))
        case BlockKind.TABLE:
            return Part("table", rows=_rows(text, start, end, marks))
        case BlockKind.LIST:
            return Part("list", items=_items(text, start, end, marks))
        case BlockKind.PARAGRAPH:
            kind = "paragraph" if doc_type in _FLOWING else "lines"
            return Part(kind, _runs(text, start, end, marks))
        case _:
            return Part(block.kind.value, _runs(text, start, end, marks))


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Without empty lines before and after; what the first line is indented by stays."""
    piece = text[start:end]
    kept = piece.rstrip()
    lead = len(kept) - len(kept.lstrip())
    return start + kept.rfind("\n", 0, lead) + 1, start + len(kept)


def _items(text: str, start: int, end: int, marks: Sequence[Mark]) -> tuple[Item, ...]:
    """Each begins with a line that has a bullet or a number; other lines go on with the item above them."""
    starts: list[int] = []
    at = start
    for line in text[start:end].splitlines(keepends=True):
        if not starts or _BULLET.match(line) or _NUMBER.match(line):
            starts.append(at)
        at += len(line)
    return tuple(_item(text, first, last, marks) for first, last in pairwise((*starts, end)))


def _item(text: str, start: int, end: int, marks: Sequence[Mark]) -> Item:
    line = text[start:end]
    bullet = _BULLET.match(line)
    first, last = _stripped(text[:end], start + (bullet.end() if bullet else 0), end)
    indent = len(line) - len(line.lstrip())
    return Item(_runs(text, first, last, marks), bool(_NUMBER.match(line)), min(3, indent // 2))


def _rows(text: str, start: int, end: int, marks: Sequence[Mark]) -> tuple[tuple[Cell, ...], ...]:
    rows: list[tuple[Cell, ...]] = []
    at = start
    for line in text[start:end].splitlines(keepends=True):
        if line.strip() and not (len(rows) == 1 and _RULE.fullmatch(line.strip())):
            rows.append(tuple(_runs(text, at + first, at + last, marks) for first, last in _cells(line)))
        at += len(line)
    width = max((len(row) for row in rows), default=0)
    return tuple(row + ((),) * (width - len(row)) for row in rows)


def _cells(line: str) -> list[tuple[int, int]]:
    """The places of a row's cells in its line: what is between two bars, without the space around it."""
    spans, at = [], 0
    while at <= len(line):
        hit = _CELL.match(line, at)
        end = hit.end() if hit else at
        spans.append((at, end))
        # A backslash that ends the line escapes nothing: without this step it would be looked at for ever.
        at = end + 1
    if len(spans) > 1 and not line[slice(*spans[0])].strip():
        spans = spans[1:]
    if len(spans) > 1 and not line[slice(*spans[-1])].strip():
        spans = spans[:-1]
    return [_stripped(line, first, last) for first, last in spans]


def _stripped(line: str, first: int, last: int) -> tuple[int, int]:
    cell = line[first:last]
    lead = len(cell) - len(cell.lstrip())
    return first + lead, max(first + lead, first + len(cell.rstrip()))


def _runs(text: str, start: int, end: int, marks: Sequence[Mark]) -> tuple[Run, ...]:
    """[start, end) cut where a mark begins or ends."""
    here = [mark for mark in marks if mark.start < end and mark.end > start]
    borders = {start, end}
    for mark in here:
        borders |= {max(start, mark.start), min(end, mark.end)}
    cuts = sorted(borders)
    runs = []
    for first, last in pairwise(cuts):
        kinds = sorted({mark.kind for mark in here if mark.start <= first and mark.end >= last})
        runs.append(Run(text[first:last], " ".join(kinds)))
    return tuple(runs)
