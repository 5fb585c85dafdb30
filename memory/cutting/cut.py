"""Cuts pages into pieces that a search can find: by headings, then by pages, then by what fits. Pure: the same pages
give the same pieces, and no more than a page and a few neighbours of it are held."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from memory.cutting.sections import Sections
from memory.cutting.units import Count, Measure, Unit, stretches, units_of
from memory.kinds import BlockKind
from memory.values import Page, Piece

TARGET_TOKENS: Final = 400
LIMIT_TOKENS: Final = 1024
_BETWEEN_PAGES: Final = "\n\n"


@dataclass(frozen=True, slots=True)
class _Placed:
    """A unit in the document's text, with the space before it. `section`: the number of the one that it stands in."""

    unit: Unit
    section: int
    title: str
    text: str
    before: str
    start: int
    end: int
    page: int


_Whole = tuple[list[_Placed], str, int]
"""What becomes a piece, with its text and the tokens of that."""


@dataclass(slots=True)
class _Run:
    """Neighbours that have not become pieces yet. `section`: of the last of them; of others before it there are only
    headings."""

    section: int
    placed: list[_Placed]

    @property
    def tokens(self) -> int:
        return sum(placed.unit.tokens for placed in self.placed)

    @property
    def is_only_headings(self) -> bool:
        return all(placed.unit.kind is BlockKind.HEADING for placed in self.placed)


def pieces(
    pages: Iterable[Page], *, count_tokens: Count, limit: int = LIMIT_TOKENS, target: int = TARGET_TOKENS
) -> Iterator[Piece]:
    """In the order of the text. Never more than `limit` tokens each; about `target`, so long as nothing is torn."""
    measure = Measure(count_tokens, limit, min(target, limit))
    ordinal, section, parent = 0, -1, 0
    for run in _joined(_runs(pages, measure), measure):
        for group, text, tokens in _packed(run.placed, measure):
            named = _named_by(group)
            if named.section != section:
                section, parent = named.section, ordinal
            above = None if parent == ordinal else parent
            yield Piece(
                ordinal=ordinal, parent=above, text=text, start=group[0].start, end=group[-1].end, page=group[0].page,
                last_page=group[-1].page, section_title=named.title, kind=_kind(group), tokens=tokens,
            )  # fmt: skip
            ordinal += 1


def _runs(pages: Iterable[Page], measure: Measure) -> Iterator[_Run]:
    """What stands in one section and on one page."""
    sections, offset, gap = Sections(), 0, ""
    for page in pages:
        sections.turn_to(page)
        run = _Run(sections.number, [])
        done = 0
        for block in stretches(page):
            if block.kind is BlockKind.HEADING:
                if run.placed:
                    yield run
                sections.enter(page.text[block.start : block.end], block.level)
                run = _Run(sections.number, [])
            for unit in units_of(page.text, block, measure):
                text = page.text[unit.start : unit.end]
                before = gap + page.text[done : unit.start]
                start, end = offset + unit.start, offset + unit.end
                placed = _Placed(unit, sections.number, sections.title, text, before, start, end, page.number)
                run.placed.append(placed)
                done, gap = unit.end, ""
        if run.placed:
            yield run
        gap += page.text[done:] + _BETWEEN_PAGES
        offset += len(page.text) + len(_BETWEEN_PAGES)


def _joined(runs: Iterable[_Run], measure: Measure) -> Iterator[_Run]:
    """A page that is full enough ends a piece; one that is not goes on with the next page of its section. Headings
    with nothing below them go with what follows; words never do, for they would be cited under another title, or take
    that from the section that begins behind them."""
    waiting: _Run | None = None
    for run in runs:
        if waiting is not None and not _goes_with(waiting, run):
            yield waiting
            waiting = None
        if waiting is not None:
            placed = waiting.placed + run.placed
            run = _Run(run.section, placed)  # noqa: PLW2901 - the same, and more
        if run.tokens >= measure.target // 2:
            yield run
            waiting = None
        else:
            waiting = run
    if waiting is not None:
        yield waiting


def _goes_with(run: _Run, following: _Run) -> bool:
    return run.section == following.section or run.is_only_headings


def _packed(placed: list[_Placed], measure: Measure) -> Iterator[_Whole]:
    """Groups of about the same size, as near to the target as whole units allow."""
    total = sum(one.unit.tokens for one in placed)
    count = max(1, round(total / measure.target), -(-total // measure.limit))
    group: list[_Placed] = []
    filled = done = closed = 0
    for one in placed:
        tokens = one.unit.tokens
        is_full = done + tokens / 2 > (closed + 1) * total / count
        if group and (is_full or filled + tokens > measure.limit or one.unit.header or group[-1].unit.header):
            kept = _headings_at_end(group, room=measure.limit - tokens)
            if len(kept) < len(group):
                yield from _fitting(group[: len(group) - len(kept)], measure)
                closed += 1
            group = kept
            filled = sum(held.unit.tokens for held in kept)
        group.append(one)
        filled += tokens
        done += tokens
    if group:
        yield from _fitting(group, measure)


def _headings_at_end(group: list[_Placed], *, room: int) -> list[_Placed]:
    """They belong to what follows, as far as it leaves them room."""
    at = len(group)
    while at and group[at - 1].unit.kind is BlockKind.HEADING and group[at - 1].unit.tokens <= room:
        at -= 1
        room -= group[at].unit.tokens
    return group[at:]


def _fitting(group: list[_Placed], measure: Measure) -> Iterator[_Whole]:
    """Two texts together may be more tokens than each for itself: what has become too long is taken apart again."""
    text = _text(group)
    tokens = group[0].unit.tokens if len(group) == 1 else measure.tokens(text, most=measure.limit)
    if tokens is not None:
        yield group, text, tokens
        return
    middle = len(group) // 2
    yield from _fitting(group[:middle], measure)
    yield from _fitting(group[middle:], measure)


def _text(group: list[_Placed]) -> str:
    """As in the document, below the repeated header of a table."""
    first, *others = group
    header = f"{first.unit.header}\n" if first.unit.header else ""
    return header + first.text + "".join(one.before + one.text for one in others)


def _named_by(group: list[_Placed]) -> _Placed:
    """Whose section it is cited under: that of its first words, below which all others stand. A heading of its own has
    none but where there is nothing else."""
    return next((one for one in group if one.unit.kind is not BlockKind.HEADING), group[-1])


def _kind(group: list[_Placed]) -> BlockKind:
    """Of most of it, the headings aside if there is anything else."""
    tokens = Counter[BlockKind]()
    for one in group:
        tokens[one.unit.kind] += one.unit.tokens
    return max(tokens, key=lambda kind: (kind is not BlockKind.HEADING, tokens[kind]))
