"""Word: headings, paragraphs, lists and tables in their order; pages where Word last broke them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import docx
from docx.document import Document
from docx.oxml.ns import nsmap
from docx.oxml.table import CT_Tbl
from docx.oxml.text.paragraph import CT_P
from docx.table import Table
from docx.text.paragraph import Paragraph
from lxml.etree import XPath

from memory.kinds import BlockKind
from memory.reading import reasons
from memory.reading.containers import lighter, unpacking
from memory.reading.paging import Part
from memory.reading.tables import table_lines
from memory.reading.titles import sensible
from memory.reading.values import Head

_TEMPLATE_IS_OF: Final = "2013-12-23"
"""python-docx's own template says so, and whoever uses it seldom says otherwise."""
_HEADINGS: Final = ("heading ", "überschrift ", "titre ", "título ", "titolo ", "rubrik ", "kop ")
_LEVELS_MOST: Final = 9
# Where the text of a document may stand: content controls, and what was added or moved there under review.
_PARTS: Final = XPath(
    "./w:p | ./w:tbl | ./w:sdt | ./w:sdtContent | ./w:customXml | ./w:ins | ./w:moveTo", namespaces=nsmap
)
_CONTENTS: Final = XPath("./w:sdtPr/w:docPartObj/w:docPartGallery[@w:val='Table of Contents']", namespaces=nsmap)
# Of what was taken out or moved away, of what floats in a box, and of how a word is read aloud: nothing.
_RUNS: Final = ".//w:r[not(ancestor::w:del or ancestor::w:moveFrom or ancestor::w:txbxContent or ancestor::w:rt)]"
_WORDS_AND_BREAKS: Final = ".//w:t | .//w:lastRenderedPageBreak | .//w:br[@w:type='page']"


def parts(path: Path, *, filename: str) -> Iterator[Head | Part]:
    with unpacking(path, "docx") as container:
        light = lighter(container)
    try:
        document = docx.Document(light)
        yield _head(document, filename)
        yield from _blocks(document)
    except (ValueError, KeyError, SyntaxError, AttributeError, TypeError, IndexError) as error:
        # What python-docx and lxml raise for a document that is not as it should be.
        raise reasons.broken("document", program="Word") from error


def _head(document: Document, filename: str) -> Head:
    told = document.core_properties
    created = told.created.date().isoformat() if told.created else ""
    return Head(0, sensible(told.title or "", filename), {"created": "" if created == _TEMPLATE_IS_OF else created})


def _blocks(document: Document) -> Iterator[Part]:
    items, new_page = list[str](), False
    for block in _inner(document._body._element, document._body):
        breaks_first, breaks = _breaks(block)
        new_page = new_page or breaks_first
        is_item = isinstance(block, Paragraph) and _is_item(block)
        if items and (new_page or not is_item):
            yield Part(BlockKind.LIST, "\n".join(items))
            items = []
        if is_item and not new_page:
            items.append(_item(block))
        else:
            made = _part(block, new_page)
            if made:
                yield made
                new_page = False
        new_page = new_page or breaks
    if items:
        yield Part(BlockKind.LIST, "\n".join(items))


def _inner(element: Any, body: Any) -> Iterator[Paragraph | Table]:
    """Paragraphs and tables in their order, however deep in fields. Not a table of contents: its lines come again."""
    for part in _PARTS(element):
        if isinstance(part, CT_P):
            yield Paragraph(part, body)
        elif isinstance(part, CT_Tbl):
            yield Table(part, body)
        elif not _CONTENTS(part):
            yield from _inner(part, body)


def _text(paragraph: Paragraph) -> str:
    return "".join(run.text for run in paragraph._element.xpath(_RUNS)).strip()


def _breaks(block: Paragraph | Table) -> tuple[bool, bool]:
    """Whether a page begins before its first word, and whether one begins behind that: the next block is on it."""
    marks = [mark.tag.endswith("}t") for mark in block._element.xpath(_WORDS_AND_BREAKS)]
    return (not marks[0], marks[0] and not all(marks)) if marks else (False, False)


def _part(block: Paragraph | Table, new_page: bool) -> Part | None:
    if isinstance(block, Table):
        text, kind, level = "\n".join(table_lines(_cells(block))), BlockKind.TABLE, 0
    else:
        text, level = _text(block), _heading_level(block)
        kind = BlockKind.HEADING if level else BlockKind.LIST if _is_item(block) else BlockKind.PARAGRAPH
    return Part(kind, text, level, new_page=new_page) if text else None


def _item(block: Paragraph | Table) -> str:
    return f"- {_text(block)}" if isinstance(block, Paragraph) else ""


def _heading_level(paragraph: Paragraph) -> int:
    name = _style(paragraph)
    if name == "title":
        return 1
    for prefix in _HEADINGS:
        number = name.removeprefix(prefix)
        if number != name and number[:1].isdigit():
            return min(_LEVELS_MOST, max(1, int(number[0])))
    return 0


def _is_item(paragraph: Paragraph) -> bool:
    if not _text(paragraph) or _heading_level(paragraph):
        return False
    return _style(paragraph).startswith("list") or bool(paragraph._element.xpath("./w:pPr/w:numPr"))


def _style(paragraph: Paragraph) -> str:
    return ((paragraph.style.name if paragraph.style else "") or "").lower()


def _cells(table: Table) -> Iterator[list[str]]:
    """Straight from the XML: python-docx works each merged cell out again for every cell. A table in a cell is text."""
    for row in table._element.xpath("./w:tr | ./w:sdt/w:sdtContent/w:tr"):
        cells = row.xpath("./w:tc | ./w:sdt/w:sdtContent/w:tc")
        yield [" ".join("".join(p.xpath(".//w:t/text()")) for p in cell.xpath(".//w:p")) for cell in cells]
