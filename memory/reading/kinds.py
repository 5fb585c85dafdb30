"""What a file is, by its first bytes. Its name decides only between kinds of text. Pure but for the detectors."""

import re
from pathlib import PurePath
from typing import Final

from memory.reading import reasons
from memory.reading.values import Unreadable

HEAD_BYTES: Final = 64 * 1024
"""How much of a file is worth showing to `doc_type_of`."""

DOC_TYPES: Final = ("pdf", "docx", "xlsx", "xls", "ods", "csv", "pptx", "html", "eml", "md", "txt")
PICTURE_TYPES: Final = ("png", "jpg", "gif", "webp")
"""What can be looked at, and has no text to be searched: a file that was uploaded is of these or of DOC_TYPES."""
_CAN_BE_READ: Final = (
    "PDF, Word (.docx), Excel (.xlsx, .xls), OpenDocument sheets (.ods), PowerPoint (.pptx), CSV, HTML, mails (.eml), "
    "Markdown and plain text can be read"
)

_ZIP: Final = b"PK\x03\x04"
_OLE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_IN_ZIP: Final = ((b"word/", "docx"), (b"xl/", "xlsx"), (b"ppt/", "pptx"))
OPENDOCUMENT: Final = b"application/vnd.oasis.opendocument.spreadsheet"
OPENDOCUMENT_AMONG: Final = 256
"""So many bytes from the beginning a sheet of OpenDocument says what it is."""
_PROGRAMS: Final = (
    (b"MZ", "a Windows program"),
    (b"\x7fELF", "a Linux program"),
    (b"\xcf\xfa\xed\xfe", "a macOS program"),
)
_PICTURES: Final = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "png"),
    (re.compile(rb"\xff\xd8\xff"), "jpg"),
    (re.compile(rb"GIF8[79]a"), "gif"),
    (re.compile(rb"RIFF.{4}WEBP", re.DOTALL), "webp"),
)
_SUFFIXES: Final = {"jpg": (".jpg", ".jpeg", ".jpe", ".jfif")}
_PROMISES_TEXT: Final = (*DOC_TYPES, "doc", "ppt", "htm", "tsv", "markdown")
_OTHER_OPENDOCUMENT: Final = (
    (b"application/vnd.oasis.opendocument.text", "a text of OpenDocument", "docx"),
    (b"application/vnd.oasis.opendocument.presentation", "a presentation of OpenDocument", "pptx"),
)
_OUTLOOK: Final = "__nameid_version1.0"
_OLD_OFFICE: Final = (("WordDocument", "Word", "docx"), ("PowerPoint Document", "PowerPoint", "pptx"))
_TEXT_BY_NAME: Final = {
    ".csv": "csv", ".tsv": "csv", ".md": "md", ".markdown": "md", ".mdown": "md", ".mkd": "md",
    ".html": "html", ".htm": "html", ".xhtml": "html", ".eml": "eml",
}  # fmt: skip
# A line that some programs put before the first field, and the field.
_MAIL: Final = re.compile(rb"\s*(?:From [^\n]*\n)?[!-9;-~]{1,100}:[ \t\r\n]")
# (?>…): a comment ends at its first mark. To try every later one, too, took twice as long with each comment.
_HTML: Final = re.compile(
    rb"\s*(?:<\?xml[^>]*>\s*)?(?>(?:<!--.*?-->\s*)*)<(?:!doctype\s+html|html|head|body)[\s>]",
    re.IGNORECASE | re.DOTALL,
)
# What no text has: the controls but for tab, line feeds, form feed and escape.
_WIDE_MARKS: Final = (
    (b"\xff\xfe\x00\x00", "utf-32"), (b"\x00\x00\xfe\xff", "utf-32"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"),
)  # fmt: skip
_CONTROLS: Final = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_CONTROLS_AMONG: Final = 30
"""A text with one stray control in so many bytes is still a text."""


def doc_type_of(head: bytes, filename: str) -> str:
    """One of DOC_TYPES. `head`: the first HEAD_BYTES of the file. Raises Unreadable for what is none of them."""
    if not head:
        raise reasons.empty()
    if kind := picture_type_of(head):
        raise reasons.picture(kind, though=_claim_of(filename, kind))
    for magic, what in _PROGRAMS:
        if head.startswith(magic) and _is_binary(head):
            raise _not_supported(what, filename)
    if _is_pdf(head, filename):
        return "pdf"
    if head.startswith(_ZIP):
        return _in_zip(head, filename)
    if head.startswith(_OLE):
        return _in_ole(head, filename)
    if head.lstrip().startswith(b"{\\rtf"):
        raise _not_supported("a file in Rich Text Format", filename, way_out="Save it as .docx")
    if not is_wide_text(head) and _is_binary(head):
        raise _not_supported(_name_of_binary(head), filename)
    return _kind_of_text(head, filename)


def picture_type_of(head: bytes) -> str:
    """One of PICTURE_TYPES; empty for what is none of them. `head`: the first HEAD_BYTES of the file."""
    kind = next((kind for magic, kind in _PICTURES if magic.match(head)), "")
    return kind if kind and _is_binary(head) else ""


def picture_named(filename: str) -> str:
    """What its name claims, for a file of which nothing else is known; empty if it is no picture's."""
    suffix = PurePath(filename).suffix.lower()
    return next((kind for kind in PICTURE_TYPES if suffix in _suffixes_of(kind)), "")


def _suffixes_of(kind: str) -> tuple[str, ...]:
    return _SUFFIXES.get(kind, (f".{kind}",))


def _claim_of(filename: str, kind: str) -> str:
    """The ending of a name that claims something else than this picture; empty where it claims nothing else."""
    suffix = PurePath(filename).suffix.lower()
    is_claim = suffix.removeprefix(".") in (*_PROMISES_TEXT, *PICTURE_TYPES) and suffix not in _suffixes_of(kind)
    return suffix if is_claim else ""


def is_wide_text(head: bytes) -> bool:
    """UTF-16 or UTF-32, which have NUL bytes and are text all the same."""
    return wide_encoding(head) != ""


def wide_encoding(head: bytes) -> str:
    """By the byte order mark, or by the column in which the zero bytes of Western text stand. "" if it is neither."""
    for mark, name in _WIDE_MARKS:
        if head.startswith(mark):
            return name
    even, odd = head[0:4096:2], head[1:4096:2]
    if len(odd) < 4:
        return ""
    if odd.count(0) > 0.7 * len(odd) and even.count(0) < 0.05 * len(even):
        return "utf-16-le"
    if even.count(0) > 0.7 * len(even) and odd.count(0) < 0.05 * len(odd):
        return "utf-16-be"
    return ""


def _is_pdf(head: bytes, filename: str) -> bool:
    if head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"%PDF-"):
        return True
    # Some writers put a few lines of their own before it. A text that mentions the mark is none of them.
    return b"%PDF-" in head[:1024] and PurePath(filename).suffix.lower() == ".pdf"


def _in_zip(head: bytes, filename: str) -> str:
    if OPENDOCUMENT in head[:OPENDOCUMENT_AMONG]:
        return "ods"
    for mark, what, ending in _OTHER_OPENDOCUMENT:
        if mark in head[:OPENDOCUMENT_AMONG]:
            raise _not_supported(what, filename, way_out=f"Save it as .{ending}")
    found = {name for start, name in _IN_ZIP if re.search(rb"PK\x03\x04.{26}" + re.escape(start), head, re.DOTALL)}
    if len(found) == 1:
        return found.pop()
    suffix = PurePath(filename).suffix.lower().removeprefix(".")
    # Its content types may stand too far behind; the reader looks again.
    if not found and suffix in ("docx", "xlsx", "pptx", "ods") and len(head) >= HEAD_BYTES:
        return suffix
    raise _not_supported("a zip archive without an Office document in it", filename, way_out="Unpack it")


def _in_ole(head: bytes, filename: str) -> str:
    if "EncryptedPackage".encode("utf-16-le") in head:
        raise reasons.locked("file")
    for stream, program, suffix in _OLD_OFFICE:
        if stream.encode("utf-16-le") in head:
            raise _not_supported(f"a file of an old {program}", filename, way_out=f"Save it as .{suffix}")
    if _OUTLOOK.encode("utf-16-le") in head or PurePath(filename).suffix.lower() == ".msg":
        raise _not_supported("a mail of Outlook", filename, way_out="Save it as .eml")
    known = any(name.encode("utf-16-le") in head for name in ("Workbook", "Book"))
    if known or PurePath(filename).suffix.lower() == ".xls":
        return "xls"
    raise _not_supported("an old Office file of an unknown kind", filename, way_out="Save it in today's format")


def _is_binary(head: bytes) -> bool:
    return len(_CONTROLS.findall(head)) * _CONTROLS_AMONG > len(head)


def _name_of_binary(head: bytes) -> str:
    import puremagic  # late: a table of a thousand formats

    try:
        return f"a file of the kind “{puremagic.magic_string(head)[0].name}”"
    except (puremagic.PureError, ValueError, IndexError):
        return "a binary file of an unknown kind"


def _kind_of_text(head: bytes, filename: str) -> str:
    narrow = head.replace(b"\x00", b"") if is_wide_text(head) else head
    if _HTML.match(narrow.lstrip(b"\xef\xbb\xbf\xff\xfe")):
        return "html"
    named = _TEXT_BY_NAME.get(PurePath(filename).suffix.lower(), "txt")
    return "txt" if named == "eml" and not _MAIL.match(head.removeprefix(b"\xef\xbb\xbf")) else named


def _not_supported(what: str, filename: str, *, way_out: str = "") -> Unreadable:
    suffix = PurePath(filename).suffix
    # Only a name that promises a text is worth a word: that "a.png" is no text surprises nobody.
    is_promise = suffix.lower().removeprefix(".") in _PROMISES_TEXT
    named = f" though its name ends in {suffix}" if is_promise else ""
    way = f" {way_out} and give that." if way_out else ""
    return Unreadable("not_supported", f"This is {what}{named}, and is not read.{way} {_CAN_BE_READ}.")
