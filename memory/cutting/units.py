"""What a piece is put together of: the smallest stretches of a text that belong together. Pure."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from memory.kinds import BlockKind
from memory.values import Block, Page

Count = Callable[[str], int]
Span = tuple[int, int]

CHARS_A_TOKEN: Final = 16
"""A tokenizer may take any word for one unknown token: so much text and no more is let through for a token."""

# After a full stop and its like, before whatever begins a sentence; and after each line.
# No space is looked for before the end of a line, it is trimmed: a long run of it would be looked through from each of
# its signs.
# No sentence ends after an abbreviation, an initial, or the day of a German date.
_SHORTENED: Final = (
    "Abs", "Abb", "Anl", "Anm", "App", "Art", "Aufl", "Az", "Bd", "Buchst", "Dr", "Eq", "Fig", "Hr", "Fr", "Kap", "Mr",
    "Mrs", "Ms", "No", "no", "Nr", "Nrn", "Prof", "Rn", "Rz", "Sec", "St", "Str", "Tab", "Tel", "Tz", "Vgl", "Vol",
    "Ziff", "bzw", "ca", "cf", "evtl", "ggf", "inkl", "lit", "pp", "sog", "vgl", "vs", "zzgl",
)  # fmt: skip
_MONTHS: Final = (
    "Januar|Jänner|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember|"
    "Jan|Feb|Apr|Jun|Jul|Aug|Sept|Okt|Nov|Dez"
)
_FULL_STOP: Final = "".join(rf"(?<!\b{word})" for word in _SHORTENED) + r"(?<!\b[^\W\d_])\."
_SENTENCE_ENDS: Final = re.compile(
    rf"(?:{_FULL_STOP}|[!?…])[\"'”’)\]]*\s+(?!(?:{_MONTHS})\b)(?=[^\s\da-z]|\d)|\n\s*|[。！？]\s*"
)
_LINE_ENDS: Final = re.compile(r"\n")
_SPACE: Final = re.compile(r"\s+")
_SEPARATOR_ROW: Final = re.compile(r"(?=[^-]*-)[\s|:+=-]+")
_HEADER_SHARE: Final = 4
"""A header that takes more than this part of a piece is not repeated."""


@dataclass(frozen=True, slots=True)
class Unit:
    """[start, end) counts the page's characters. `header`: the rows above it that a reader needs, not part of it."""

    kind: BlockKind
    start: int
    end: int
    tokens: int
    header: str = ""


@dataclass(frozen=True, slots=True)
class Measure:
    """How much goes into a piece: never more than `limit`, and about `target` if what belongs together is longer."""

    count: Count
    limit: int
    target: int

    def tokens(self, text: str, *, most: int) -> int | None:
        """How many, None if they are more than `most`. A text is counted as seldom as can be: that takes the time."""
        if len(text) > most * CHARS_A_TOKEN:
            return None
        tokens = self.count(text)
        return tokens if tokens <= most else None


def stretches(page: Page) -> Iterator[Block]:
    """The page's blocks without the space around them, and what stands outside of them as paragraphs."""
    done = 0
    for block in (*page.blocks, Block(BlockKind.PARAGRAPH, len(page.text), len(page.text))):
        start = min(max(block.start, done), len(page.text))
        end = min(max(block.end, start), len(page.text))
        for kind, level, first, last in ((BlockKind.PARAGRAPH, 0, done, start), (block.kind, block.level, start, end)):
            span = trimmed(page.text, first, last)
            if span:
                yield Block(kind, *span, level)
        done = end


def trimmed(text: str, start: int, end: int) -> Span | None:
    """Without the space at both ends; None if there is nothing else."""
    inner = text[start:end]
    head = len(inner) - len(inner.lstrip())
    return (start + head, start + len(inner.rstrip())) if head < len(inner) else None


def units_of(text: str, block: Block, measure: Measure) -> Iterator[Unit]:
    """Each fits into a piece by itself."""
    whole = measure.limit if block.kind in (BlockKind.TABLE, BlockKind.CODE) else measure.target
    tokens = measure.tokens(text[block.start : block.end], most=whole)
    if tokens is not None:
        yield Unit(block.kind, block.start, block.end, tokens)
    elif block.kind is BlockKind.TABLE:
        yield from _rows(text, block, measure)
    else:
        ends = _LINE_ENDS if block.kind in (BlockKind.CODE, BlockKind.LIST) else _SENTENCE_ENDS
        for span in _parted(text, block.start, block.end, ends):
            for start, end, count in _halved(text, span, measure, measure.target):
                yield Unit(block.kind, start, end, count)


def _rows(text: str, block: Block, measure: Measure) -> Iterator[Unit]:
    """As many rows as fit, with the header above them. The first ones have it in their own text."""
    lines = list(_parted(text, block.start, block.end, _LINE_ENDS))
    header, budget = _header(text, lines, measure)
    # Until the first part is full there is nothing to repeat.
    repeated, first, last, filled = "", lines[0][0], lines[0][0], 0
    for line in lines:
        tokens = measure.count(text[line[0] : line[1]]) if line[1] - line[0] <= budget * CHARS_A_TOKEN else budget + 1
        if filled and filled + tokens > budget:
            yield from _row_units(text, (first, last), measure, repeated, budget)
            repeated, first, filled = header, line[0], 0
        last = line[1]
        filled += tokens
    yield from _row_units(text, (first, last), measure, repeated, budget)


def _row_units(text: str, span: Span, measure: Measure, header: str, budget: int) -> Iterator[Unit]:
    for start, end, tokens in _halved(text, span, measure, budget):
        with_header = measure.tokens(f"{header}\n{text[start:end]}", most=measure.limit) if header else None
        if with_header is None:
            yield Unit(BlockKind.TABLE, start, end, tokens)
        else:
            yield Unit(BlockKind.TABLE, start, end, with_header, header)


def _header(text: str, lines: list[Span], measure: Measure) -> tuple[str, int]:
    """The header's text, and what it leaves of a piece for rows."""
    rules = len(lines) > 1 and _SEPARATOR_ROW.fullmatch(text[lines[1][0] : lines[1][1]])
    header = text[lines[0][0] : lines[1][1] if rules else lines[0][1]]
    tokens = measure.tokens(header, most=measure.target // _HEADER_SHARE)
    return ("", measure.target) if tokens is None else (header, max(1, measure.target - tokens))


def _parted(text: str, start: int, end: int, ends: re.Pattern[str]) -> Iterator[Span]:
    for found in ends.finditer(text, start, end):
        span = trimmed(text, start, found.end())
        if span:
            yield span
        start = found.end()
    span = trimmed(text, start, end)
    if span:
        yield span


def _halved(text: str, span: Span, measure: Measure, budget: int) -> Iterator[tuple[int, int, int]]:
    """In two at the space next to the middle, and again, until it fits; a word without end is cut anywhere. Gives the
    tokens of each part too."""
    start, end = span
    tokens = measure.tokens(text[start:end], most=budget)
    if tokens is None and end - start > 1:
        middle = _space_near_middle(text, start, end)
        for half in (trimmed(text, start, middle), trimmed(text, middle, end)):
            if half:
                yield from _halved(text, half, measure, budget)
    else:
        yield start, end, measure.count(text[start:end]) if tokens is None else tokens


def _space_near_middle(text: str, start: int, end: int) -> int:
    """Looks around the middle half only, so that halving stays cheap."""
    middle, quarter = (start + end) // 2, (end - start) // 4
    after = _SPACE.search(text, middle, middle + quarter)
    before = text.rfind(" ", middle - quarter, middle)
    if after and (before <= start or after.start() - middle <= middle - before):
        return after.start()
    return before if before > start else middle
