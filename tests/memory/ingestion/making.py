"""Files made up for tests."""

import io
import zipfile
from collections.abc import Sequence


def pdf_of(pages: Sequence[str]) -> bytes:
    """A PDF with one line of text for each line of a page."""
    objects: list[bytes] = [b"", b"", b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for text in pages:
        lines = b" T* ".join(b"(" + _escaped(line) + b") Tj" for line in text.splitlines())
        stream = b"BT /F1 10 Tf 12 TL 40 800 Td " + lines + b" ET"
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R"
            b" /Resources << /Font << /F1 3 0 R >> >> >>" % len(objects)
        )
        kids.append(len(objects))
    objects[0] = b"<< /Type /Catalog /Pages 2 0 R >>"
    shown = b" ".join(b"%d 0 R" % kid for kid in kids)
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(kids), shown)
    return _file_of(objects)


def _file_of(objects: Sequence[bytes]) -> bytes:
    out, places = bytearray(b"%PDF-1.4\n"), []
    for number, body in enumerate(objects, start=1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, table)
    return bytes(out)


def _escaped(line: str) -> bytes:
    return line.encode("latin-1", "replace").replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")


def broken_docx() -> bytes:
    """The container of a Word file around XML that ends in the middle."""
    with io.BytesIO() as buffer:
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("[Content_Types].xml", "<Types")
            archive.writestr("word/document.xml", "<w:document><w:body><w:p>")
        return buffer.getvalue()
