"""Names of files: what is one, what is refused and in which words."""

from uuid import uuid4

import pytest

from memory.workspaces.paths import BadPath, clean_path, media_type_of
from memory.workspaces.places import Place, Scope, file_url
from memory.workspaces.showing import shown_as
from memory.workspaces.texts import text_in

# Each is a name that somebody may give a file on a disk.
ODD = (
    "<img src=x onerror=alert(1)>.png",
    "'; DROP TABLE files; --.txt",
    "$(reboot).txt",
    "=cmd|'/c calc'!A1.csv",
    '"quoted".txt',
    "100% sure?.txt",
    "a;b&c#d.txt",
    "-rf",
    ".hyperagent/todo.md",
    "Überblick/日本語.pdf",
    "👩‍👩‍👧.png",
    "{{7*7}}.html",
    "CON",
    "a..b/c...d",
)


@pytest.mark.parametrize("path", ODD)
def test_odd_names_are_kept_as_they_are(path: str) -> None:
    assert clean_path(path) == path


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("", "empty"),
        ("/etc/passwd", "begins with '/'"),
        ("../../etc/passwd", "'..'"),
        ("a/../b", "'..'"),
        ("./a", "'.'"),
        ("a//b", "''"),
        ("a/", "''"),
        ("..\\..\\windows\\win.ini", "backslash"),
        ("a\0.txt", "cannot be seen"),
        ("a\r\nSet-Cookie: x=1.txt", "cannot be seen"),
        ("exe.\u202efdp", "cannot be seen"),
        ("a\ud800", "cannot be seen"),
        ("\ufeffbom.txt", "cannot be seen"),
        ("a\u2028b", "cannot be seen"),
        (" a", "space"),
        ("a /b", "space"),
        ("a\u00a0", "space"),
        ("x" * 501, "501"),
        ("ü" * 128, "255 bytes"),
        ("/".join("a" * 21), "21 parts"),
    ],
)
def test_a_name_that_could_do_harm_is_refused_in_words_that_can_be_shown(path: str, said: str) -> None:
    with pytest.raises(BadPath) as refused:
        clean_path(path)

    assert said in refused.value.message
    assert refused.value.message.isprintable()


def test_the_same_name_in_two_ways_of_writing_is_one() -> None:
    assert clean_path("Cafe\u0301.txt") == clean_path("Café.txt") == "Café.txt"
    assert clean_path("ü" * 127) == "ü" * 127


def test_a_type_is_told_by_the_ending_and_only_without_one_by_what_is_said() -> None:
    assert [media_type_of(path) for path in ("a.CSV", "a/b.md", "a.png", "Makefile", "a.b/c", ".env")] == [
        "text/csv",
        "text/markdown",
        "image/png",
        *["application/octet-stream"] * 3,
    ]
    assert media_type_of("plot", "image/png") == "image/png"
    assert media_type_of("a.txt", "text/html") == "text/plain"
    assert media_type_of("plot", "image/png\r\nX: y") == "application/octet-stream"


def test_an_address_leads_to_the_file_whatever_it_is_called() -> None:
    place = Place(Scope.USER, id_ := uuid4())

    assert file_url(place, "a b/ü?#%.txt") == f"/api/v1/files/user/{id_}/a%20b/%C3%BC%3F%23%25.txt"


@pytest.mark.parametrize(
    ("head", "media_type", "shown"),
    [
        (b"\x89PNG\r\n\x1a\n...", "image/png", "image/png"),
        (b"\xff\xd8\xff\xe0", "application/octet-stream", "image/jpeg"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp", "image/webp"),
        (b"%PDF-1.7\n", "application/pdf", "application/pdf"),
        (b"a,b\n1,2\n", "text/csv", "text/plain; charset=utf-8"),
        (b"", "text/plain", "text/plain; charset=utf-8"),
        ("Größe: 5 m²".encode("cp1252"), "text/plain", "text/plain; charset=cp1252"),
        ("Größe".encode("utf-8-sig"), "text/plain", "text/plain; charset=utf-8"),
        ("Straße".encode("utf-16-le"), "text/plain", "text/plain; charset=utf-16le"),
        (b"<svg onload=alert(1)>", "image/svg+xml", None),
        (b"<script>alert(1)</script>", "text/html", None),
        (b"<?xml version='1.0'?>", "text/xml", None),
        (b"<script>alert(1)</script>", "image/png", None),
        (b"PK\x03\x04\0\0\0\0", "application/zip", None),
        (b"\0asm", "application/octet-stream", None),
    ],
)
def test_a_browser_shows_only_what_is_harmless_by_its_bytes(head: bytes, media_type: str, shown: str | None) -> None:
    assert shown_as(head, media_type) == shown


def test_texts_are_told_from_other_bytes() -> None:
    assert text_in("Grüße".encode()) == "Grüße"
    assert text_in("Grüße aus Köln und Straßen".encode("utf-16")) == "Grüße aus Köln und Straßen"
    assert text_in(b"") == ""
    assert text_in(b"\x89PNG\r\n\x1a\n\0\0") is None
    assert text_in(b"%PDF-1.7 and words") is None
    assert text_in(bytes(range(1, 32)) * 4) is None
