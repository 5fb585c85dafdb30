"""Zip containers of Office documents: looked through before anything is unpacked, and made lighter for the readers
that would take all of it into memory. Knows the container, not what the members say."""

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Final

from memory.reading import caps, reasons

_MARKER: Final = {
    "docx": "word/document.xml", "xlsx": "xl/workbook", "pptx": "ppt/presentation.xml", "ods": "content.xml",
}  # fmt: skip
_WORD: Final = b"application/vnd.openxmlformats-officedocument.wordprocessingml."
_SLIDES: Final = b"application/vnd.openxmlformats-officedocument.presentationml."
_TYPES: Final = "[Content_Types].xml"
# Of documents with macros, of templates and of shows, which are read like any; the libraries take none of them.
_ALIKE: Final = {
    _WORD + b"template.main+xml": _WORD + b"document.main+xml",
    b"application/vnd.ms-word.document.macroEnabled.main+xml": _WORD + b"document.main+xml",
    b"application/vnd.ms-word.template.macroEnabledTemplate.main+xml": _WORD + b"document.main+xml",
    _SLIDES + b"slideshow.main+xml": _SLIDES + b"presentation.main+xml",
    _SLIDES + b"template.main+xml": _SLIDES + b"presentation.main+xml",
    b"application/vnd.ms-powerpoint.slideshow.macroEnabled.main+xml": _SLIDES + b"presentation.main+xml",
    b"application/vnd.ms-powerpoint.template.macroEnabled.main+xml": _SLIDES + b"presentation.main+xml",
}
_ENTITIES: Final = (b"<!DOCTYPE", b"<!ENTITY")
_MEDIA: Final = ("/media/", "/embeddings/", "/fonts/", "Pictures/", "Thumbnails/", "/thumbnail", "vbaProject")


@contextmanager
def unpacking(path: Path, doc_type: str) -> Iterator[zipfile.ZipFile]:
    """The container, checked. Raises Unreadable also for what comes to light while it is read."""
    try:
        with zipfile.ZipFile(path) as container:
            _check(container, doc_type)
            yield container
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, UnicodeDecodeError) as error:
        raise reasons.broken("file") from error
    except RuntimeError as error:  # so zipfile says that a password is wanted
        raise reasons.locked("file") from error


def lighter(container: zipfile.ZipFile) -> BytesIO:
    """The same container without pictures, films and fonts, of which only the names are left, and as a plain document
    whatever kind of one it is."""
    made = BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as light:
        for member in container.infolist():
            if not member.is_dir():
                light.writestr(member.filename, b"" if _is_media(member.filename) else _whole(container, member))
    made.seek(0)
    return made


def start_of(container: zipfile.ZipFile, member: zipfile.ZipInfo, *, most: int) -> bytes:
    """The first `most` bytes of a member, and no more is unpacked."""
    with container.open(member) as stream:
        return stream.read(most)


def _whole(container: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """Raises Unreadable if it is more than its directory says, or declares entities, which Office never does."""
    if member.file_size > caps.MEMBER_BYTES:
        raise reasons.large_member(caps.MEMBER_BYTES)
    content = start_of(container, member, most=member.file_size + 1)
    if len(content) > member.file_size:
        raise reasons.bomb()
    refuse_entities(member.filename, content)
    if member.filename == _TYPES:
        for kind, plain in _ALIKE.items():
            content = content.replace(kind, plain)
    return content


def refuse_entities(name: str, content: bytes) -> None:
    if name.lower().endswith((".xml", ".rels", ".vml")) and any(mark in content for mark in _ENTITIES):
        raise reasons.entities()


def _is_media(name: str) -> bool:
    return any(part in name for part in _MEDIA)


def _check(container: zipfile.ZipFile, doc_type: str) -> None:
    members = container.infolist()
    if len(members) > caps.MEMBERS or sum(member.file_size for member in members) > caps.UNPACKED_BYTES:
        raise reasons.bomb()
    for member in members:
        packed = max(1, member.compress_size)
        if member.file_size > caps.RATIO_COUNTS_FROM and member.file_size / packed > caps.RATIO:
            raise reasons.bomb()
        if member.flag_bits & 1:
            raise reasons.locked("file")
    if not any(member.filename.startswith(_MARKER[doc_type]) for member in members):
        raise reasons.not_in_zip(doc_type)
