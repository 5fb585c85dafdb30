"""Word: headings, paragraphs, lists and tables in their order; pages where Word last broke them. What floats in a box
comes after the paragraph that it is tied to, and so do the notes of one."""

from collections.abc import Generator, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import docx
from docx.document import Document
from docx.oxml import parse_xml
from docx.oxml.ns import nsmap, qn
from docx.oxml.table import CT_Tbl
from docx.oxml.text.paragraph import CT_P
from docx.table import Table
from docx.text.paragraph import Paragraph
from lxml.etree import XPath

from memory.kinds import BlockKind
from memory.reading import reasons
from memory.reading.containers import lighter, unpacking
from memory.reading.paging import Part
from memory.reading.parsers.docx_formulas import MATH, in_a_line
from memory.reading.parsers.docx_numbers import Numbers
from memory.reading.tables import table_lines
from memory.reading.titles import sensible
from memory.reading.values import Head

_TEMPLATE_IS_OF: Final = "2013-12-23"
"""python-docx's own template says so, and whoever uses it seldom says otherwise."""
_HEADINGS: Final = ("heading ", "überschrift ", "titre ", "título ", "titolo ", "rubrik ", "kop ")
_LEVELS_MOST: Final = 9
_NAMES: Final = {**nsmap, "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006", "m": MATH}
# Where the text of a document may stand: content controls, and what was added or moved there under review.
_PARTS: Final = XPath(
    "./w:p | ./w:tbl | ./w:sdt | ./w:sdtContent | ./w:customXml | ./w:ins | ./w:moveTo", namespaces=_NAMES
)
_CONTENTS: Final = XPath("./w:sdtPr/w:docPartObj/w:docPartGallery[@w:val='Table of Contents']", namespaces=_NAMES)
# Of a paragraph itself, not of one that floats in a box in it. Of what was taken out or moved away, of what is there
# for older programs once more, and of how a word is read aloud: nothing.
_RUNS: Final = XPath(
    ".//*[self::w:r or self::m:oMath][count(ancestor::w:p) = $depth and"
    " not(ancestor::w:del or ancestor::w:moveFrom or ancestor::w:rt or ancestor::mc:Fallback)]",
    namespaces=_NAMES,
)
_BOXES: Final = XPath(
    ".//w:txbxContent[not(ancestor::mc:Fallback or ancestor::w:del or ancestor::w:moveFrom)]", namespaces=_NAMES
)
_ROWS: Final = XPath("./w:tr | ./w:sdt/w:sdtContent/w:tr", namespaces=_NAMES)
_CELLS: Final = XPath("./w:tc | ./w:sdt/w:sdtContent/w:tc", namespaces=_NAMES)
_IN_CELL: Final = XPath(".//w:p[count(ancestor::w:txbxContent) = $boxes]", namespaces=_NAMES)
_BEFORE: Final = XPath("number(./w:trPr/w:gridBefore/@w:val)", namespaces=_NAMES)
_ACROSS: Final = XPath("number(./w:tcPr/w:gridSpan/@w:val)", namespaces=_NAMES)
_ACROSS_MOST: Final = 63
"""Columns that a table of Word may have."""
_NOTED: Final = XPath(".//w:footnoteReference/@w:id | .//w:endnoteReference/@w:id", namespaces=_NAMES)
_NOTES: Final = {"footnote": "Footnote", "endnote": "Endnote"}
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
    notes, numbers = _Notes(document), Numbers(document)
    items, new_page = list[str](), False
    for block in _inner(document._body._element, document._body):
        breaks_first, breaks = _breaks(block)
        new_page = new_page or breaks_first
        number = numbers.before(block._element) if isinstance(block, Paragraph) else ""
        is_item = isinstance(block, Paragraph) and _is_item(block)
        if items and (new_page or not is_item):
            yield Part(BlockKind.LIST, "\n".join(items))
            items = []
        if isinstance(block, Table):
            new_page, breaks = yield from _table(block, new_page, numbers)
        elif is_item and not new_page:
            items.append(f"- {_numbered(number, _text(block))}")
        else:
            made = _part(block, new_page, number)
            if made:
                yield made
                new_page = False
        for more in (*_boxed(block, document._body), *notes.of(block)):
            if items:
                yield Part(BlockKind.LIST, "\n".join(items))
                items = []
            yield replace(more, new_page=new_page)
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


def _boxed(block: Paragraph | Table, body: Any) -> Iterator[Part]:
    for box in _BOXES(block._element):
        for inner in _inner(box, body):
            if isinstance(inner, Table):
                lines = table_lines(cells for _, cells in _rows(inner))
                made = Part(BlockKind.TABLE, "\n".join(lines)) if lines else None
            else:
                made = _part(inner, False)
            if made:
                yield made


class _Notes:
    """The notes of a document, at the foot of its pages and at its end, in the order in which its text names them."""

    def __init__(self, document: Document) -> None:
        self._texts: dict[tuple[str, str], str] = {}
        self._told = dict.fromkeys(_NOTES, 0)
        for related in document.part.rels.values():
            kind = related.reltype.rpartition("/")[2].removesuffix("s")
            if kind in _NOTES and not related.is_external:
                with suppress(SyntaxError):  # The document can be read without them.
                    self._read(kind, parse_xml(related.target_part.blob))

    def _read(self, kind: str, notes: Any) -> None:
        for note in notes.iterchildren(qn(f"w:{kind}")):
            paragraphs = (_said(one) for one in note.iter(qn("w:p")))
            self._texts[kind, note.get(qn("w:id"), "")] = " ".join(filter(None, paragraphs))

    def of(self, block: Paragraph | Table) -> Iterator[Part]:
        for number in _NOTED(block._element):
            kind = number.getparent().tag.rpartition("}")[2].removesuffix("Reference")
            self._told[kind] += 1
            text = self._texts.pop((kind, str(number)), "")
            if text:
                yield Part(BlockKind.PARAGRAPH, f"{_NOTES[kind]} {self._told[kind]}: {text}")


def _text(paragraph: Paragraph) -> str:
    return _said(paragraph._element)


def _said(paragraph: Any) -> str:
    depth = 1 + sum(1 for _ in paragraph.iterancestors(qn("w:p")))
    return "".join(map(_words, _RUNS(paragraph, depth=depth))).strip()


def _words(run: Any) -> str:
    return in_a_line(run) if run.tag == f"{{{MATH}}}oMath" else str(run.text)


def _breaks(block: Any) -> tuple[bool, bool]:
    """Whether a page begins before its first word, and whether one begins behind that: the next block is on it."""
    marks = [mark.tag.endswith("}t") for mark in getattr(block, "_element", block).xpath(_WORDS_AND_BREAKS)]
    return (not marks[0], marks[0] and not all(marks)) if marks else (False, False)


def _part(block: Paragraph, new_page: bool, number: str = "") -> Part | None:
    text, level = _text(block), _heading_level(block)
    kind = BlockKind.HEADING if level else BlockKind.LIST if _is_item(block) else BlockKind.PARAGRAPH
    return Part(kind, _numbered(number, text), level, new_page=new_page) if text else None


def _numbered(number: str, text: str) -> str:
    return f"{number} {text}".strip()


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


def _table(table: Table, new_page: bool, numbers: Numbers) -> Generator[Part, None, tuple[bool, bool]]:
    """A part for each page that it stands on, the first row above each. Returns whether a page still waits to begin
    before what follows, and whether one begins with that."""
    rows, begins, breaks = list[list[str]](), set[int](), False
    for number, (row, cells) in enumerate(_rows(table, numbers)):
        breaks_first, breaks_within = _breaks(row)
        # Before the first row it is the page of the whole table.
        if rows and (breaks or (breaks_first and number)):
            begins.add(len(rows))
        breaks = breaks_within
        if any(cells):
            rows.append(cells)
    lines, first = table_lines(rows), 0
    for last in (*sorted(begins & set(range(1, len(lines)))), len(lines)):
        if last > first:
            head = lines[:1] if first else []
            yield Part(BlockKind.TABLE, "\n".join([*head, *lines[first:last]]), new_page=new_page or first > 0)
            new_page, first = False, last
    return new_page, breaks


def _rows(table: Table, numbers: Numbers | None = None) -> Iterator[tuple[Any, list[str]]]:
    """Each with its cells; one that goes over several columns leaves those behind it empty. Straight from the XML:
    python-docx works each merged cell out again for every cell. A table in a cell is text."""
    boxes = sum(1 for _ in table._element.iterancestors(qn("w:txbxContent")))
    for row in _ROWS(table._element):
        cells = [""] * _count(_BEFORE(row))
        for cell in _CELLS(row):
            said = (
                _numbered(numbers.before(one) if numbers else "", _said(one)) for one in _IN_CELL(cell, boxes=boxes)
            )
            cells.append(" ".join(filter(None, said)))
            cells += [""] * max(0, _count(_ACROSS(cell)) - 1)
        yield row, cells


def _count(number: float) -> int:
    """0 for what is no number."""
    return int(number) if 0 <= number <= _ACROSS_MOST else 0
