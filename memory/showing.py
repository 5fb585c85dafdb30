"""What the page of one document shows: a few of its pages at a time, its sections, its passages, and what was looked
for in it. Reads only; who may see the document was decided before.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db.models.functions import Length, Substr

from hyperagent.lib.clipping import one_line
from memory.cutting.sections import BETWEEN
from memory.kinds import BlockKind
from memory.models import Chunk, Document, DocumentPage
from memory.rows import part_of
from memory.typeset import CITED, Mark, Part, Run, find_marks, set_page, snippet
from memory.values import Block

PAGES_AT_ONCE: Final = 5
MOST_CHARS: Final = 60_000  # of one page at once; a sheet may have millions
LEAD_CHARS: Final = 2_000  # before a passage that stands deep in such a page
MOST_SECTIONS: Final = 300
MOST_PAGE_TITLES: Final = 2_000
PASSAGES_AROUND: Final = 20
PASSAGE_CHARS: Final = 140
MOST_HITS: Final = 100
PAGES_WITH_HITS: Final = 50


@dataclass(frozen=True, slots=True)
class Leaf:
    """A page as it is drawn. `at` and `next_at`: from which of its characters on it is shown, and where the rest
    begins (0: there is none). `is_cited`: the passage stands on it."""

    number: int
    label: str
    parts: tuple[Part, ...]
    at: int
    next_at: int
    is_cited: bool


@dataclass(frozen=True, slots=True)
class Section:
    """`depth`: how many headings stand above it."""

    title: str
    page: int
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Hit:
    """`nth`: of those on its page, from 0."""

    page: int
    nth: int
    runs: tuple[Run, ...]


def leaves(document: Document, first: int, *, at: int = 0, chunk: Chunk | None = None, find: str = "") -> list[Leaf]:
    """The pages from `first` on, the first of them from its character `at`."""
    shown = document.pages.filter(number__gte=first, number__lt=first + PAGES_AT_ONCE).order_by("number")
    found = shown.defer("text").annotate(length=Length("text"))
    head = Substr("text", at + 1, MOST_CHARS)
    rest = Substr("text", 1, MOST_CHARS)
    texts = dict(shown.filter(number=first).values_list("number", head))
    texts |= dict(shown.exclude(number=first).values_list("number", rest))
    return [
        _leaf(document, page, texts.get(page.number, ""), at=at if page.number == first else 0, chunk=chunk, find=find)
        for page in found
    ]


def _leaf(document: Document, page: Any, text: str, *, at: int, chunk: Chunk | None, find: str) -> Leaf:
    marks = [*_cited(page, text, at, chunk), *find_marks(text, find)]
    blocks = [Block(BlockKind(kind), start - at, end - at, level) for kind, level, start, end in page.blocks]
    end = at + len(text)
    return Leaf(
        number=page.number,
        label=label_of(document, page.number, page.title),
        parts=set_page(text, _within(blocks, len(text)), doc_type=document.doc_type, marks=marks),
        at=at,
        next_at=end if end < page.length else 0,
        is_cited=any(mark.kind == CITED for mark in marks),
    )


def _within(blocks: Sequence[Block], length: int) -> list[Block]:
    """Those that are seen, cut to what is seen of them."""
    seen = [block for block in blocks if block.start < length and block.end > 0]
    return [Block(one.kind, max(0, one.start), min(length, one.end), one.level) for one in seen]


def _cited(page: Any, text: str, at: int, chunk: Chunk | None) -> list[Mark]:
    if chunk is None:
        return []
    begin = page.start + at
    start, end = max(0, chunk.start - begin), min(len(text), chunk.end - begin)
    return [Mark(start, end, CITED)] if start < end else []


def label_of(document: Document, number: int, title: str = "") -> str:
    return f"{part_of(document.doc_type)} {number}{f' · {title}' if title else ''}"


def place_of(chunk: Chunk) -> tuple[int, int]:
    """The page on which a passage begins, and from which of its characters on to show it."""
    start = DocumentPage.objects.filter(document=chunk.document_id, number=chunk.page).values_list("start", flat=True)
    inside = chunk.start - (start.first() or 0)
    end = chunk.end - chunk.start + inside
    return chunk.page, 0 if end < MOST_CHARS else max(0, inside - LEAD_CHARS)


def sections(document: Document) -> list[Section]:
    """The headings with the page on which their first passage begins; of sheets and slides, the names of those."""
    named = document.pages.exclude(title="").order_by("number").values_list("title", "number")[:MOST_PAGE_TITLES]
    if titled := dict(reversed(named)):
        firsts = sorted((number, title) for title, number in titled.items())
        return [Section(title, number) for number, title in firsts[:MOST_SECTIONS]]
    headed = document.chunks.exclude(section_title="").order_by("section_title", "ordinal").distinct("section_title")
    found = sorted(headed.values_list("ordinal", "section_title", "page"))
    paths = [(path.split(BETWEEN), page) for _, path, page in found[:MOST_SECTIONS]]
    return [Section(path[-1], page, len(path) - 1) for path, page in paths]


def passages(document: Document, around: int) -> list[dict[str, Any]]:
    """The chunks about this ordinal, as the list beside the text has them."""
    near = document.chunks.filter(ordinal__gte=around - PASSAGES_AROUND, ordinal__lte=around + PASSAGES_AROUND)
    wanted = ("chunk_id", "ordinal", "page", "section_title")
    found = near.order_by("ordinal").annotate(gist=Substr("text", 1, PASSAGE_CHARS + 1)).values(*wanted, "gist")
    return [{**one, "number": one["ordinal"] + 1, "gist": _gist(one["gist"])} for one in found]


def _gist(text: str) -> str:
    flat = one_line(text.replace("|", " ").replace("---", " "))  # a table without its bars
    return f"{flat[:PASSAGE_CHARS].rstrip()}…" if len(text) > PASSAGE_CHARS else flat


def neighbours(chunk: Chunk) -> tuple[UUID | None, UUID | None]:
    """The ids of the passages before and after it."""
    near = Chunk.objects.filter(document=chunk.document_id, ordinal__in=(chunk.ordinal - 1, chunk.ordinal + 1))
    by_ordinal = dict(near.values_list("ordinal", "chunk_id"))
    return by_ordinal.get(chunk.ordinal - 1), by_ordinal.get(chunk.ordinal + 1)


def hits(document: Document, words: str) -> list[Hit]:
    """Where these words stand, in the order of the text; the first hundred."""
    pattern = r"\s+".join(re.escape(piece) for piece in words.split())
    if not pattern:
        return []
    pages = document.pages.filter(text__iregex=pattern).order_by("number").values_list("number", "text")
    found = [
        Hit(number, nth, snippet(text, mark))
        for number, text in pages[:PAGES_WITH_HITS]
        for nth, mark in enumerate(find_marks(text, words))
    ]
    return found[:MOST_HITS]
