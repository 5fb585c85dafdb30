"""All that stands on a web page, block by block: for pages that are no article, such as reports of tables."""

import re
from collections.abc import Iterator
from typing import Any, Final

from lxml.etree import iterwalk
from lxml.html import document_fromstring

from memory.kinds import BlockKind
from memory.reading.paging import Part
from memory.reading.tables import table_lines

_DECLARATION: Final = re.compile(r"\s*<\?xml[^>]*>")
_SPACE: Final = re.compile(r"\s+")
_UNSEEN: Final = ("head", "script", "style", "template", "noscript", "svg", "nav", "footer", "aside")
_HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}
_ITEMS: Final = ("li", "dt", "dd")
_BLOCKS: Final = frozenset((
    "address", "article", "blockquote", "body", "caption", "details", "div", "dl", "fieldset", "figcaption", "figure",
    "form", "header", "hr", "main", "ol", "p", "pre", "section", "summary", "table", "tbody", "td", "tfoot", "th",
    "thead", "tr", "ul", *_HEADINGS, *_ITEMS,
))  # fmt: skip
_ACROSS_MOST: Final = 100


def blocks_of(html: str) -> list[Part]:
    """In the order of the page. Raises what lxml does for a page that is none."""
    page = _Page()
    walk = iterwalk(document_fromstring(_DECLARATION.sub("", html, count=1)), events=("start", "end", "comment", "pi"))
    for event, element in walk:
        if event == "start" and not page.begin(element):
            walk.skip_subtree()
        elif event != "start":
            page.end(element, is_block=event == "end")
    page.flush()
    page.flush_items()
    return page.parts


class _Page:
    """The blocks so far, and the text of the one that is open. `_open`: the names of what is around it."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self._text: list[str] = []
        self._items: list[str] = []
        self._open: list[str] = []

    def begin(self, element: Any) -> bool:
        """Whether to go into it."""
        name = element.tag
        lines = _lines_of(element) if name == "table" else []
        if name in _UNSEEN or lines:
            self.flush()
            self._add(BlockKind.TABLE, "\n".join(lines))
            return False
        if name in _BLOCKS:
            self.flush()
            self._open.append(name)
        self._text.append("\n" if name == "br" else self._spaced(element.text))
        return True

    def end(self, element: Any, *, is_block: bool) -> None:
        if is_block and self._open and element.tag == self._open[-1]:
            self.flush()
            self._open.pop()
        self._text.append(self._spaced(element.tail))

    def flush(self) -> None:
        around = self._open[-1] if self._open else ""
        text = "".join(self._text)
        self._text.clear()
        if around != "pre":
            text = "\n".join(filter(None, (line.strip() for line in text.split("\n"))))
        if around in _ITEMS and text:
            self._items.append(f"- {text}")
        elif around == "pre":
            self._add(BlockKind.CODE, text)
        else:
            level = _HEADINGS.get(around, 0)
            self._add(BlockKind.HEADING if level else BlockKind.PARAGRAPH, text, level)

    def flush_items(self) -> None:
        if self._items:
            self.parts.append(Part(BlockKind.LIST, "\n".join(self._items)))
            self._items.clear()

    def _add(self, kind: BlockKind, text: str, level: int = 0) -> None:
        if text.strip():
            self.flush_items()
            self.parts.append(Part(kind, text, level))

    def _spaced(self, text: str | None) -> str:
        """A line end of the source is a space, but in what is set as it is written."""
        return (text or "") if "pre" in self._open else _SPACE.sub(" ", text or "")


def _lines_of(table: Any) -> list[str]:
    """Empty for a table that only puts other things in their places."""
    rows = [] if table.xpath(".//table") else [list(_cells(row)) for row in table.xpath(".//tr")]
    return table_lines(rows) if any(len(row) > 1 for row in rows) else []


def _cells(row: Any) -> Iterator[str]:
    """One that goes over several columns leaves those behind it empty."""
    for cell in row.xpath("./td | ./th"):
        yield " ".join(cell.xpath(".//text()[not(ancestor::script or ancestor::style)]"))
        across = cell.get("colspan", "")
        yield from [""] * (min(int(across), _ACROSS_MOST) - 1 if across.isascii() and across.isdecimal() else 0)
