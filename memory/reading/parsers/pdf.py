"""PDF, page by page. Where a text is, how large and how heavy comes from PDFium; what that means is `pdf_layout`'s."""

import ctypes
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pypdfium2
from pypdfium2 import raw

from hyperagent.lib.clipping import one_line
from memory.reading import caps, reasons
from memory.reading.cleaning import cleaned
from memory.reading.paging import PageMaker
from memory.reading.parsers.pdf_layout import Layout, Line, blocks_of, layout_of, with_typed
from memory.reading.titles import sensible
from memory.reading.values import Head, Tail
from memory.values import Page

_SAMPLED: Final = 12
"""Pages, spread over the document, that tell what its ordinary text looks like and what stands on each page."""
_MISSING_SHOWN: Final = 5
_NOTES_MOST: Final = 1_000
"""Of a page that are looked at for whether one is a field of a form."""
_HEAD_BYTES: Final = 64 * 1024
_NONE_OF_PAGES: Final = re.compile(rb"/Count\s+0\b")
_A_PAGE: Final = re.compile(rb"/Type\s*/Page\b")


def opened(path: Path) -> pypdfium2.PdfDocument:
    """Raises Unreadable for one that is locked, damaged or without pages."""
    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower():
            raise reasons.locked("PDF") from error
        if _says_no_pages(path):
            raise reasons.no_pages() from error
        raise reasons.broken("PDF", program="a PDF viewer") from error
    if len(document) == 0:
        raise reasons.no_pages()
    if document.get_formtype() != raw.FORMTYPE_NONE:
        # Without it nothing is known of what was typed into its fields, and nothing is drawn of it.
        document.init_forms()
    return document


def _says_no_pages(path: Path) -> bool:
    """PDFium calls a PDF without pages damaged."""
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    return bool(_NONE_OF_PAGES.search(head)) and not _A_PAGE.search(head)


def pages(path: Path, *, filename: str, first_page: int, silent: Sequence[int] = ()) -> Iterator[Head | Page | Tail]:
    document = opened(path)
    total = len(document)
    told = document.get_metadata_dict()
    yield Head(total, sensible(told.get("Title", ""), filename), {"created": told.get("CreationDate", "")})
    # A page is not taken apart twice: that is where the time goes.
    sampled = {number: _lines(document, number) for number in _sample(total)}
    layout = layout_of(sampled)
    mute, chars, last = list(silent), 0, first_page - 1
    for number in range(max(1, first_page), min(total, caps.PAGES) + 1):
        lines = sampled.pop(number) if number in sampled else _lines(document, number)
        page = _page(number, lines, layout)
        if not page.text:
            mute.append(number)
        chars += len(page.text)
        last = number
        yield page
        if chars > caps.CHARS:
            break
    if first_page == 1 and not chars:
        raise reasons.scanned()
    yield Tail(total, _note(total, last, mute))


def _note(total: int, last: int, silent: list[int]) -> str:
    notes = []
    if last < total:
        notes.append(f"Partly read: the first {last:,} of {total:,} pages; the rest is left out.")
    if silent:
        shown = ", ".join(map(str, silent[:_MISSING_SHOWN])) + (" and others" if len(silent) > _MISSING_SHOWN else "")
        what = "page has" if len(silent) == 1 else "pages have"
        notes.append(f"{len(silent):,} {what} no text, only pictures or nothing: {shown}.")
    return " ".join(notes)


def _sample(total: int) -> list[int]:
    """Of the whole document, wherever the reading begins: the same page always becomes the same text."""
    count = min(_SAMPLED, total)
    return sorted({1 + index * (total - 1) // max(1, count - 1) for index in range(count)})


def _page(number: int, lines: list[Line], layout: Layout) -> Page:
    maker = PageMaker(number)
    for kind, level, text in blocks_of(lines, layout, number=number):
        maker.add(kind, cleaned(text), level)
    return maker.page()


def _lines(document: pypdfium2.PdfDocument, number: int) -> list[Line]:
    """In the order of the page's content, which is mostly the order of reading. Nothing for a page that is damaged."""
    try:
        page = document[number - 1]
    except pypdfium2.PdfiumError:
        return []
    width, _ = page.get_size()
    texts = raw.FPDFText_LoadPage(page)
    try:
        lines = list(_lines_of(texts, width)) if texts else []
        return with_typed(lines, list(_typed(document, page, width)))
    finally:
        if texts:
            raw.FPDFText_ClosePage(texts)
        page.close()


def _typed(document: pypdfium2.PdfDocument, page: pypdfium2.PdfPage, width: float) -> Iterator[Line]:
    """What somebody typed into the fields of a form, or ticked: it lies above the page, and is no text of it."""
    form = document.formenv
    for index in range(min(raw.FPDFPage_GetAnnotCount(page), _NOTES_MOST) if form else 0):
        note, box = raw.FPDFPage_GetAnnot(page, index), raw.FS_RECTF()
        if not note:
            continue
        text = one_line(_value(form, note))
        if text and raw.FPDFAnnot_GetRect(note, box):
            yield Line(
                text=text, left=box.left, right=box.right, bottom=box.bottom, size=abs(box.top - box.bottom),
                font="", last_font="", width=width,
            )  # fmt: skip
        raw.FPDFPage_CloseAnnot(note)


def _value(form: object, note: object) -> str:
    kind = raw.FPDFAnnot_GetFormFieldType(form, note)
    if kind in (raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON):
        return "[x]" if raw.FPDFAnnot_IsChecked(form, note) else ""
    if kind not in (raw.FPDF_FORMFIELD_TEXTFIELD, raw.FPDF_FORMFIELD_COMBOBOX, raw.FPDF_FORMFIELD_LISTBOX):
        return ""
    size = min(raw.FPDFAnnot_GetFormFieldValue(form, note, None, 0), 2 * caps.PAGE_CHARS_MOST)
    units = (ctypes.c_ushort * (size // 2 + 1))()
    raw.FPDFAnnot_GetFormFieldValue(form, note, units, size)
    return bytes(units)[:size].decode("utf-16-le", errors="replace").rstrip("\x00")


def _lines_of(texts: object, width: float) -> Iterator[Line]:
    count = min(raw.FPDFText_CountChars(texts), caps.PAGE_CHARS_MOST)
    if count <= 0:
        return
    units = (ctypes.c_ushort * (count + 1))()
    got = raw.FPDFText_GetText(texts, 0, count, units)
    text = bytes(units)[: 2 * max(0, got - 1)].decode("utf-16-le", errors="replace")
    at = 0
    for line in text.split("\n"):
        words = line.strip()
        if words:
            # PDFium counts units of UTF-16, and Python characters.
            first = at + _wide(line[: len(line) - len(line.lstrip())])
            yield _placed(texts, words, first, first + _wide(words) - 1, width)
        at += _wide(line) + 1


def _wide(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", errors="surrogatepass")) // 2


def _placed(texts: object, words: str, first: int, last: int, width: float) -> Line:
    from_char = raw.FPDFText_GetCharIndexFromTextIndex(texts, first)
    to_char = raw.FPDFText_GetCharIndexFromTextIndex(texts, last)
    font = _font(texts, from_char)
    # Only of what begins in bold it matters how it ends.
    last_font = _font(texts, to_char) if "bold" in font else font
    start, end = raw.FS_RECTF(), raw.FS_RECTF()
    raw.FPDFText_GetLooseCharBox(texts, from_char, start)
    raw.FPDFText_GetLooseCharBox(texts, to_char, end)
    return Line(
        text=words, left=start.left, right=max(start.right, end.right), bottom=start.bottom,
        size=abs(start.top - start.bottom), font=font, last_font=last_font, width=width,
    )  # fmt: skip


def _font(texts: object, index: int) -> str:
    """Its name in small letters, with `bold` in it if it is heavy whatever its name."""
    name, flags = ctypes.create_string_buffer(128), ctypes.c_int()
    raw.FPDFText_GetFontInfo(texts, index, name, 128, flags)
    known = name.value.decode("utf-8", errors="replace").lower()
    return known if "bold" in known or raw.FPDFText_GetFontWeight(texts, index) < 380 else known + " bold"
