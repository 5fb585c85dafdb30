"""Pages for formats that have none: blocks are put together until a page is full. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from memory.kinds import BlockKind
from memory.reading import caps, reasons
from memory.reading.cleaning import cleaned, one_line
from memory.reading.values import Head, Tail
from memory.values import Block, Page


@dataclass(frozen=True, slots=True)
class Part:
    """A block with its text. `page_title` is of a sheet or a slide; another one begins a page, so does `new_page`. A
    slide without text is a part without text."""

    kind: BlockKind
    text: str
    level: int = 0
    page_title: str = ""
    new_page: bool = False


@dataclass(frozen=True, slots=True)
class Missing:
    """What a parser left out, a sentence for people."""

    note: str


class PageMaker:
    """The text of one page as it grows, with an empty line between two blocks."""

    def __init__(self, number: int, title: str = "") -> None:
        self.number, self.title = number, title
        self.chars = 0
        self._texts: list[str] = []
        self._blocks: list[Block] = []

    def add(self, kind: BlockKind, text: str, level: int = 0) -> None:
        text = text.strip("\n")
        if not text.strip():
            return
        start = self.chars + 2 if self._texts else 0
        self._texts.append(text)
        self.chars = start + len(text)
        self._blocks.append(Block(kind, start, self.chars, level))

    def page(self) -> Page:
        return Page(number=self.number, text="\n\n".join(self._texts), blocks=tuple(self._blocks), title=self.title)


def paged(parts: Iterator[Head | Part | Missing]) -> Iterator[Head | Page | Tail]:
    """The same parts give the same pages, which is why a reading can go on where another one ended. Raises Unreadable
    if there is no text at all."""
    page, begun, notes, chars = PageMaker(1), False, list[str](), 0
    for part in parts:
        if isinstance(part, Head):
            yield part
            continue
        if isinstance(part, Missing):
            notes.append(part.note)
            continue
        title = one_line(part.page_title)[:255]
        if begun and (part.new_page or title != page.title or page.chars >= caps.PAGE_CHARS):
            if page.number >= caps.PAGES or chars >= caps.CHARS:
                notes.append(f"Partly read: the first {page.number:,} pages; the rest is left out.")
                break
            yield page.page()
            page = PageMaker(page.number + 1)
        page.title, begun = title, True
        before = page.chars
        for text in _pieces_of(part):
            page.add(part.kind, text, part.level)
        chars += page.chars - before
    if page.number == 1 and not chars:
        raise reasons.no_text()
    yield page.page()
    yield Tail(page.number, " ".join(notes))


def _pieces_of(part: Part) -> Iterator[str]:
    text = cleaned(part.text)
    text = text if part.kind is BlockKind.CODE else text.strip()
    for start in range(0, len(text), caps.PAGE_CHARS_MOST):
        yield text[start : start + caps.PAGE_CHARS_MOST]
