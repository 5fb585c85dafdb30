"""The text of a page that was fetched: in Markdown, by the confined process that reads documents, which is trusted with
nothing. Knows no network."""

import codecs
import re
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from typing import Final

from hyperagent.lib.text import text_encoding
from memory.kinds import BlockKind
from memory.reading import process
from memory.reading.kinds import HEAD_BYTES, doc_type_of
from memory.reading.values import Facts
from memory.values import Page

TEXT_CHARS: Final = 200_000
READ_S: Final = 25.0
_DEEPEST: Final = 6
_DECLARED: Final = re.compile(rb"<meta[^>]+charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{2,40})", re.IGNORECASE)
_DECLARED_WITHIN: Final = 4_096
_MARKS: Final = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_TEXTS: Final = ("html", "txt", "md", "csv")


@dataclass(frozen=True, slots=True)
class Extracted:
    """`is_whole`: whether nothing of its text is left out."""

    title: str
    text: str
    is_whole: bool


def extracted(body: bytes, *, filename: str, content_type: str, read_s: float = READ_S) -> Extracted:
    """Takes a process and up to `read_s`; blocks. Raises memory.reading.values.Unreadable with words for people."""
    doc_type = doc_type_of(body[:HEAD_BYTES], filename)
    if doc_type in _TEXTS:
        body = _in_utf8(body, content_type)
    with tempfile.TemporaryDirectory(prefix="page-") as folder:
        path = Path(folder) / "page"
        path.write_bytes(body)
        until_s = time.monotonic() + read_s
        with process.read(path, doc_type=doc_type, filename=filename, is_awaited=True, wait_s=read_s) as reading:
            return _gathered(reading, until_s)


def _gathered(reading: Iterator[Facts | Page], until_s: float) -> Extracted:
    title, parts, chars = "", [], 0
    for read in reading:
        if isinstance(read, Facts):
            title = title or read.title
            continue
        part = markdown_of(read)
        parts.append(part)
        chars += len(part)
        if chars > TEXT_CHARS or time.monotonic() > until_s:
            return Extracted(title, "\n\n".join(parts)[:TEXT_CHARS], is_whole=False)
    return Extracted(title, "\n\n".join(filter(None, parts)).strip(), is_whole=True)


def markdown_of(page: Page) -> str:
    """The page's text with its headings marked as such."""
    pieces, at = [], 0
    for block in page.blocks:
        pieces.append(page.text[at : block.start])
        if block.kind is BlockKind.HEADING:
            pieces.append("#" * min(max(block.level, 1), _DEEPEST) + " ")
        pieces.append(page.text[block.start : block.end])
        at = block.end
    return "".join([*pieces, page.text[at:]]).strip()


def _in_utf8(body: bytes, content_type: str) -> bytes:
    """Text as its server or its own head says that it is written; as it is, where that is not so. What begins with a
    mark of its encoding says it best."""
    if body.startswith(_MARKS):
        return body
    declared = _DECLARED.search(body[:_DECLARED_WITHIN])
    for charset in (_charset_of(content_type), declared[1].decode("ascii") if declared else ""):
        if known := text_encoding(charset):
            try:
                return body.decode(known).encode()
            except ValueError:
                continue
    return body


def _charset_of(content_type: str) -> str:
    head = Message()
    head["content-type"] = content_type
    return head.get_content_charset("")
