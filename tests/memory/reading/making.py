"""Files as people give them, and as nobody should: made in the test, in the format itself where a library would not."""

import io
import zipfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import docx
import pptx
import xlsxwriter
from docx.enum.text import WD_BREAK

Line = str | tuple[str, int, bool]
"""A text, or a text with its size in points and whether it is bold."""
Maker = Callable[[Path], None]


def pdf(pages: Sequence[Sequence[Line]], *, more_in_trailer: str = "", info: str = "") -> bytes:
    """A PDF of lines from top to bottom, in the fonts that every reader has."""
    count = len(pages)
    kids = " ".join(f"{5 + 2 * index} 0 R" for index in range(count))
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>", f"<</Type/Pages/Count {count}/Kids[{kids}]>>",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>", "<</Type/Font/Subtype/Type1/BaseFont/Helvetica-Bold>>",
    ]  # fmt: skip
    for index, lines in enumerate(pages):
        content = _content(lines)
        objects += [
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents {6 + 2 * index} 0 R"
            "/Resources<</Font<</R 3 0 R/B 4 0 R>>>>>>",
            f"<</Length {len(content)}>>stream\n{content}\nendstream",
        ]
    if info:
        objects.append(info)
        more_in_trailer += f"/Info {len(objects)} 0 R"
    return _assembled(objects, more_in_trailer)


def form(fields: dict[str, str]) -> bytes:
    """A PDF with labels, and behind each a field with what somebody typed into it."""
    numbers = range(6, 6 + 2 * len(fields), 2)
    kids = " ".join(f"{number} 0 R" for number in numbers)
    labels = "\n".join(f"BT /R 10 Tf 50 {740 - 30 * row} Td ({label}) Tj ET" for row, label in enumerate(fields))
    fonts = "/Resources<</Font<</R 3 0 R>>>>"
    objects = [
        f"<</Type/Catalog/Pages 2 0 R/AcroForm<</Fields[{kids}]>>>>", "<</Type/Pages/Count 1/Kids[4 0 R]>>",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 5 0 R{fonts}/Annots[{kids}]>>",
        f"<</Length {len(labels)}>>stream\n{labels}\nendstream",
    ]  # fmt: skip
    for row, (number, typed) in enumerate(zip(numbers, fields.values(), strict=True)):
        shown, bottom = f"/Tx BMC BT /R 10 Tf 2 4 Td ({typed}) Tj ET EMC", 736 - 30 * row
        objects += [
            f"<</Type/Annot/Subtype/Widget/FT/Tx/T(f{row})/V({typed})/Rect[200 {bottom} 400 {bottom + 14}]/F 4/P 4 0 R"
            f"/AP<</N {number + 1} 0 R>>>>",
            f"<</Type/XObject/Subtype/Form/BBox[0 0 200 14]{fonts}/Length {len(shown)}>>stream\n{shown}\nendstream",
        ]
    return _assembled(objects, "")


def _content(lines: Iterable[Line]) -> str:
    made, top = [], 740
    for line in lines:
        text, size, is_bold = line if isinstance(line, tuple) else (line, 10, False)
        escaped = text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
        if text:
            made.append(f"BT /{'B' if is_bold else 'R'} {size} Tf 50 {top} Td ({escaped}) Tj ET")
        top -= size + 3
    return "\n".join(made)


def _assembled(objects: list[str], more_in_trailer: str) -> bytes:
    out, places = io.BytesIO(), []
    out.write(b"%PDF-1.4\n")
    for number, body in enumerate(objects, 1):
        places.append(out.tell())
        out.write(f"{number} 0 obj{body}endobj\n".encode("latin-1"))
    table = out.tell()
    rows = "".join(f"{place:010} 00000 n \n" for place in places)
    out.write(f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{rows}".encode())
    out.write(
        f"trailer<</Size {len(objects) + 1}/Root 1 0 R{more_in_trailer}>>\nstartxref\n{table}\n%%EOF".encode("latin-1")
    )
    return out.getvalue()


def locked_pdf() -> bytes:
    """No password fits: its check values are made up."""
    check = "00112233445566778899aabbccddeeff" * 2
    return pdf(
        [["Secret."]], more_in_trailer=f"/Encrypt<</Filter/Standard/V 1/R 2/P -4/O<{check}>/U<{check}>>>/ID[<00><00>]"
    )


def docx_of(path: Path) -> None:
    made = docx.Document()
    made.core_properties.title = "How we travel"
    made.add_heading("Travel policy", 0)
    made.add_heading("Trains", 1)
    made.add_paragraph("Second class below four hours.")
    made.add_paragraph("Book early", style="List Bullet")
    made.add_paragraph("Keep the ticket", style="List Bullet")
    table = made.add_table(rows=0, cols=3)
    for cells in (("Country", "", "Rate"), ("France", "", "45"), ("Spain | Portugal", "", "40")):
        for cell, text in zip(table.add_row().cells, cells, strict=True):
            cell.text = text
    made.add_paragraph().add_run().add_break(WD_BREAK.PAGE)
    made.add_heading("Planes", 2)
    made.add_paragraph("Only over eight hundred kilometres.")
    made.save(str(path))


def pptx_of(path: Path) -> None:
    made = pptx.Presentation()
    slide = made.slides.add_slide(made.slide_layouts[1])
    slide.shapes.title.text = "Results"
    slide.placeholders[1].text = "Sales rose\nCosts fell"
    slide.notes_slide.notes_text_frame.text = "Smile here."
    made.slides.add_slide(made.slide_layouts[6])
    slide = made.slides.add_slide(made.slide_layouts[5])
    slide.shapes.title.text = "Figures"
    table = slide.shapes.add_table(2, 2, 0, 0, 900_000, 900_000).table
    for row, cells in enumerate((("Year", "Sum"), ("2022", "7"))):
        for column, text in enumerate(cells):
            table.cell(row, column).text = text
    made.save(str(path))


def xlsx_of(path: Path, sheets: dict[str, Iterable[Sequence[object]]]) -> None:
    made = xlsxwriter.Workbook(str(path), {"constant_memory": True, "default_date_format": "yyyy-mm-dd"})
    for name, rows in sheets.items():
        sheet = made.add_worksheet(name)
        for number, row in enumerate(rows):
            for column, cell in enumerate(row):
                if cell is not None:
                    sheet.write(number, column, cell)
    made.close()


def ods_of(path: Path, rows: str) -> None:
    """One sheet of these `table:table-row` elements."""
    names = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "table", "text")
    )
    table = f'<table:table table:name="Stock">{rows}</table:table>'
    body = f"<office:body><office:spreadsheet>{table}</office:spreadsheet></office:body>"
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("mimetype", kind, zipfile.ZIP_STORED)
        made.writestr("META-INF/manifest.xml", "<manifest/>")
        made.writestr(
            "content.xml", f'<?xml version="1.0"?><office:document-content {names}>{body}</office:document-content>'
        )


def ods_row(*cells: str, repeated: str = "") -> str:
    begin, end = f'<table:table-cell office:value-type="string" {repeated}>', "</table:table-cell>"
    shown = "".join(f"{begin}<text:p>{cell}</text:p>{end}" for cell in cells)
    return f"<table:table-row>{shown}</table:table-row>"


def changed_zip(path: Path, changes: dict[str, bytes]) -> None:
    """The container again, with other bytes in some of its members."""
    with zipfile.ZipFile(path) as before:
        members = {name: before.read(name) for name in before.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as after:
        for name, content in {**members, **changes}.items():
            after.writestr(name, content)
