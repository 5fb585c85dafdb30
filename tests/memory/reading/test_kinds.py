"""What a file is, is what its bytes are."""

from pathlib import Path

import pytest

from memory.reading.kinds import HEAD_BYTES, doc_type_of
from memory.reading.values import Unreadable
from tests.memory.reading import making

EXE = b"MZ\x90\x00\x03\x00\x00\x00\x04\x00\x00\x00\xff\xff\x00\x00\xb8" + bytes(200)
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(64)


def test_the_name_does_not_make_a_pdf_and_does_not_hide_one() -> None:
    assert doc_type_of(making.pdf([["Hello"]])[:200], "notes.txt") == "pdf"
    assert doc_type_of(b"Just words.", "report.pdf") == "txt"


@pytest.mark.parametrize(
    ("head", "name", "kind"),
    [
        (b"a,b\n1,2\n", "table.csv", "csv"),
        (b"# Title\n\nText", "README.md", "md"),
        (b"# Title\n\nText", "README", "txt"),
        (b"\xef\xbb\xbf<!DOCTYPE html><html>", "page.txt", "html"),
        (b"<!-- saved -->\n<html lang=en>", "export.csv", "html"),
        (b"<p>A fragment</p>", "page.htm", "html"),
        ("Grüße".encode("utf-16"), "a.txt", "txt"),
        ("Plain words in two bytes".encode("utf-16-le"), "a.txt", "txt"),
        (b"\xef\xbb\xbfa;b\n", "\U0001f600.CSV", "csv"),
        (b"GIF89a is a kind of picture", "about.txt", "txt"),
        (b"many words with a single \x00 in them, which somebody left there by mistake", "../../etc/passwd", "txt"),
        ("Grüße aus Köln".encode("latin-1"), "a", "txt"),
        (b"a text about %PDF-1.4 files", "pdf.md", "md"),
        (b"some writer's own line\n%PDF-1.4\n", "a.pdf", "pdf"),
        (b"Received: from a by b\r\nSubject: Hi\r\n\r\nHello", "a.EML", "eml"),
        (b"From bob@example.org Sat Nov 28\nSubject: Hi\n\nHello", "a.eml", "eml"),
        (b"Just words, and no mail: none.", "a.eml", "txt"),
        (b"Subject: Hi\n\nHello", "a.txt", "txt"),
    ],
)
def test_the_name_decides_between_kinds_of_text_only(head: bytes, name: str, kind: str) -> None:
    assert doc_type_of(head, name) == kind


def test_office_files_are_told_apart_by_what_is_in_them(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for make, kind in ((making.docx_of, "docx"), (making.pptx_of, "pptx")):
        make(path)
        assert doc_type_of(path.read_bytes()[:HEAD_BYTES], "file.xlsx") == kind
    making.xlsx_of(path, {"A": [["a"]]})
    assert doc_type_of(path.read_bytes()[:HEAD_BYTES], "file.docx") == "xlsx"


ODT = b"PK\x03\x04" + bytes(26) + b"mimetypeapplication/vnd.oasis.opendocument."


@pytest.mark.parametrize(
    ("head", "name", "code", "says"),
    [
        (b"", "a.pdf", "empty", "empty"),
        (EXE, "invoice.pdf", "not_supported", "Windows program though its name ends in .pdf"),
        (b"\x7fELF\x02\x01\x01" + bytes(100), "notes.txt", "not_supported", "Linux program"),
        (PNG, "scan.pdf", "not_supported", "This is a picture (PNG) though its name ends in .pdf: it has no text"),
        (PNG, "red.png", "not_supported", "This is a picture (PNG): it has no text that could be searched."),
        (b"\xff\xd8\xff\xe0" + bytes(64), "a.JPEG", "not_supported", "This is a picture (JPG): it has"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 " + bytes(64), "a.gif", "not_supported", "(WEBP) though its name ends in .gif"),
        (b"BM" + bytes(64), "a.bmp", "not_supported", ", and is not read."),
        (b"{\\rtf1\\ansi Hello}", "a.doc", "not_supported", ".docx"),
        (b"PK\x03\x04" + bytes(26) + b"readme.txt", "a.zip", "not_supported", "Unpack"),
        (ODT + b"text", "a.odt", "not_supported", "This is a text of OpenDocument, and is not read. Save it as .docx"),
        (ODT + b"presentation", "a.odp", "not_supported", "Save it as .pptx"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "a.msg", "not_supported", "Outlook, and is not read. Save"),
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600) + "WordDocument".encode("utf-16-le"),
            "a.doc",
            "not_supported",
            ".docx",
        ),
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600) + "EncryptedPackage".encode("utf-16-le"),
            "a.docx",
            "encrypted",
            "password",
        ),
        (bytes(range(256)) * 8, "a.bin", "not_supported", "can be read"),
    ],
)
def test_what_cannot_be_read_is_refused_with_what_it_is_and_a_way_out(
    head: bytes, name: str, code: str, says: str
) -> None:
    with pytest.raises(Unreadable) as refused:
        doc_type_of(head, name)

    assert refused.value.code == code
    assert says in refused.value.message
