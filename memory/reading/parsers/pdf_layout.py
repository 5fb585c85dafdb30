"""What the lines of a PDF's page are: running heads, headings, paragraphs, rows of a table. Pure, and careful: what is
not surely something else is a paragraph."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from memory.kinds import BlockKind
from memory.reading.parsers.pdf_tables import Run, table_runs, table_text

Found = tuple[BlockKind, int, str]

_HEADING_CHARS: Final = 120
_LARGER: Final = 1.12
_NEXT_LINE: Final = 1.6
"""Lines of one paragraph are no further apart than so many times their height."""
_FULL_LINE: Final = 0.86
"""A line that goes so far to the right was broken because it was full."""
_AT_EDGE: Final = 4
"""Running heads and feet have no more lines than that."""
_ON_MANY: Final = 0.25
_SURE_FROM_PAGES: Final = 3
_DIGITS: Final = re.compile(r"\d{1,9}")
_FOOTNOTE_MARKS: Final = re.compile(r"(?:[\s()®™*†‡,]|(?<!\d)\d{1,2}(?!\d))+")
_BULLET: Final = re.compile(r"[•▪■◦●‣–·*-]\s+\S|\(?[a-z\d]{1,3}[.)]\s+\S")
_NUMBERED: Final = (
    (re.compile(r"(part|chapter|teil|kapitel)\s+[\divxlc]+\b", re.IGNORECASE), 1),
    (re.compile(r"(item|article|section|appendix|annex|exhibit)\s+[\da-z]+\b", re.IGNORECASE), 2),
    (re.compile(r"note\s+\d+\b", re.IGNORECASE), 3),
)
_CONTINUED: Final = ("(continued)", "(cont.)", "(cont'd)", "(fortsetzung)")
"""The heading stands some pages before."""
_MANY_SIZES: Final = ((1.8, 1), (1.4, 2), (_LARGER, 3))


@dataclass(frozen=True, slots=True)
class Line:
    """In points, from the lower left corner. `size`: the height of its letters. `width`: of the page. Fonts: names in
    small letters of the first and the last letter."""

    text: str
    left: float
    right: float
    bottom: float
    size: float
    font: str
    last_font: str
    width: float

    @property
    def is_bold(self) -> bool:
        return "bold" in self.font and "bold" in self.last_font


@dataclass(frozen=True, slots=True)
class Layout:
    """Of a whole document: how its ordinary text looks, and what is repeated at the edge of its pages."""

    size: float
    is_bold: bool
    repeated: frozenset[str]


def layout_of(pages: Mapping[int, list[Line]]) -> Layout:
    """From a sample of the pages, by their numbers."""
    sizes, bold = Counter[float](), Counter[bool]()
    edges = Counter[str]()
    for number, lines in pages.items():
        for line in lines:
            sizes[round(line.size, 1)] += len(line.text)
            bold[line.is_bold] += len(line.text)
        edges.update({key for line in _at_edge(lines) for key in _edge_keys(line, number)})
    enough = max(_SURE_FROM_PAGES, _ON_MANY * sum(bool(lines) for lines in pages.values()))
    size = sizes.most_common(1)[0][0] if sizes else 0.0
    repeated = frozenset(key for key, times in edges.items() if times >= enough)
    return Layout(max(size, 1.0), bold[True] > bold[False], repeated)


def with_typed(lines: list[Line], typed: list[Line]) -> list[Line]:
    """The lines of a page with what was typed into its fields, each behind what stands in its row; at the end where
    nothing stands before it."""
    placed = list(lines)
    for one in typed:
        before = [line for line in placed if _is_in_row(line, one) and line.left <= one.left]
        at = placed.index(max(before, key=lambda line: line.left)) + 1 if before else len(placed)
        placed.insert(at, replace(one, size=placed[at - 1].size) if before else one)
    return placed


def _is_in_row(line: Line, other: Line) -> bool:
    return abs(line.bottom - other.bottom) < 0.7 * max(line.size, other.size)


def blocks_of(lines: list[Line], layout: Layout, *, number: int) -> Iterator[Found]:
    """The blocks of page `number` in the order of its lines."""
    lines = _without_repeated(lines, layout, number)
    levels = [_heading_level(line, layout) for line in lines]
    runs = table_runs(
        [line.text for line in lines], [_is_column_head(line, level) for line, level in zip(lines, levels, strict=True)]
    )
    at = 0
    for run in [*runs, Run(len(lines), len(lines), len(lines))]:
        yield from _prose(lines[at : run.start], levels[at : run.start])
        if run.start < run.end:
            yield BlockKind.TABLE, 0, table_text([line.text for line in lines], run)
        at = run.end


def _prose(lines: list[Line], levels: list[int]) -> Iterator[Found]:
    """Headings, and the lines between them as paragraphs."""
    at = 0
    while at < len(lines):
        end = at + 1
        level = levels[at]
        while end < len(lines) and _goes_on(lines[end - 1], lines[end], same=levels[end] == level):
            end += 1
        text = _joined(lines[at:end])
        if level and len(text) <= 2 * _HEADING_CHARS:
            yield BlockKind.HEADING, level, text
        else:
            yield BlockKind.LIST if _is_list(text) else BlockKind.PARAGRAPH, 0, text
        at = end


def _goes_on(above: Line, below: Line, *, same: bool) -> bool:
    if not same or below.size > above.size * _LARGER or above.size > below.size * _LARGER:
        return False
    step = above.bottom - below.bottom
    # On the same line, or on the next one. What goes up begins another column.
    return -0.5 * above.size < step < _NEXT_LINE * above.size


def _joined(lines: list[Line]) -> str:
    """Lines that were broken for want of room are put together again."""
    right = max(line.right for line in lines)
    left = min(line.left for line in lines)
    text = lines[0].text
    for above, below in pairwise(lines):
        is_full = above.right - left >= _FULL_LINE * (right - left) and not _BULLET.match(below.text)
        if text.endswith(("\ufffe", "\u00ad", "\x02")):
            text = text[:-1] + below.text
        elif above.text.endswith("-") and below.text[:1].islower() and is_full:
            text += below.text
        else:
            text += (" " if is_full else "\n") + below.text
    return text


def _is_list(text: str) -> bool:
    lines = text.split("\n")
    return len(lines) > 1 and sum(bool(_BULLET.match(line)) for line in lines) * 2 > len(lines)


def _heading_level(line: Line, layout: Layout) -> int:
    """From 1; 0 if it is no heading."""
    if not _may_be_heading(line.text):
        return 0
    ratio = line.size / layout.size
    placed = _is_left(line) or _is_centred(line)
    larger = next((level for least, level in _MANY_SIZES if ratio >= least), 0)
    if larger and (placed or ratio >= 1.25):
        return _by_number(line.text) or larger
    if not placed or ratio < 0.9:
        return 0
    is_loud = _is_loud(line.text)
    if line.is_bold and not layout.is_bold:
        return _by_number(line.text) or (6 if _is_slanted(line) else 4 if is_loud else 5)
    # Capitals alone are a heading if there are several words of them.
    return (_by_number(line.text) or 4) if is_loud and len(line.text) > 7 and " " in line.text else 0


def _may_be_heading(text: str) -> bool:
    """By its words: short, more letters than anything else, no sentence and no row of a table."""
    if len(text) > _HEADING_CHARS or any(sign in text for sign in "$€%") or text.lower().endswith(_CONTINUED):
        return False
    if text[-1] in ".,;:" and not _by_number(text):
        return False
    letters = sum(letter.isalpha() for letter in text)
    begins_well = text[0].isdigit() or (text[0].isalpha() and any(letter.isupper() for letter in text[:2]))
    return begins_well and letters >= 3 and letters * 2 >= len(text.replace(" ", ""))


def _by_number(text: str) -> int:
    return next((level for pattern, level in _NUMBERED if pattern.match(text)), 0)


def _is_loud(text: str) -> bool:
    """In capitals, but for a word."""
    letters = [letter for letter in text if letter.isalpha()]
    return sum(letter.isupper() for letter in letters) >= 0.8 * len(letters)


def _is_slanted(line: Line) -> bool:
    return "italic" in line.font or "oblique" in line.font


def _is_left(line: Line) -> bool:
    return line.left < 0.16 * line.width


def _is_centred(line: Line) -> bool:
    return abs((line.left + line.right) / 2 - line.width / 2) < 0.03 * line.width


def _is_column_head(line: Line, level: int) -> bool:
    """It may stand above the columns of a table: not at the left, or in brackets; in bold also, if no larger."""
    in_its_place = line.text.startswith("(") or line.left > 0.25 * line.width
    return in_its_place and len(line.text) <= 90 and (not level or level >= 5)


def _at_edge(lines: list[Line]) -> list[Line]:
    """The first lines and the last ones, as far as space sets them apart from the rest of the page."""
    upwards = sorted(lines, key=lambda line: line.bottom)
    return _before_gap(upwards) + _before_gap(upwards[::-1])


def _before_gap(lines: list[Line]) -> list[Line]:
    for at, (outer, inner) in enumerate(pairwise(lines[: _AT_EDGE + 1]), 1):
        if abs(outer.bottom - inner.bottom) > _NEXT_LINE * max(outer.size, inner.size):
            return lines[:at]
    return []


def _edge_keys(line: Line, number: int) -> set[str]:
    """The line as it is, and with its first or last number told from that of the page: what is repeated in one of
    these ways is a running head. “Chapter 7” on page 30 and “Chapter 8” on page 41 are none."""
    keys = {line.text}
    numbers = list(_DIGITS.finditer(line.text))
    for found in numbers[:1] + numbers[-1:]:
        before, after = line.text[: found.start()], line.text[found.end() :]
        keys.add(f"{before}\x00{int(found[0]) - number}{after}")
    return keys


def _without_repeated(lines: list[Line], layout: Layout, number: int) -> list[Line]:
    """Without running heads and feet, and without the marks of footnotes that float about."""
    edges = {id(line) for line in _at_edge(lines) if _edge_keys(line, number) & layout.repeated}
    marks = {
        id(line)
        for at, line in enumerate(lines)
        if _is_small(line, layout.size) and _is_mark(line, lines[max(0, at - 1) : at] + lines[at + 1 : at + 2])
    }
    return [line for line in lines if id(line) not in edges and id(line) not in marks]


def _is_small(line: Line, size: float) -> bool:
    return line.size < 0.8 * size


def _is_mark(line: Line, neighbours: list[Line]) -> bool:
    """Of a footnote: smaller than what it stands at. A figure in a table of small letters is none."""
    is_smaller = all(_is_small(line, other.size) for other in neighbours)
    return is_smaller and len(line.text) < 8 and _FOOTNOTE_MARKS.fullmatch(line.text) is not None
