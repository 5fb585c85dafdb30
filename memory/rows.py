"""How documents stand on pages for people: what they are, how far they are, who sees them, in words. Pure: a row in,
words out; no query of its own. Whatever comes from files is plain text here and escaped by the template.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

from hyperagent.accounts.models import User
from memory.kinds import AT_WORK, SEARCHABLE, DocumentStatus, Visibility
from memory.models import Document

KINDS: Final[Mapping[str, str]] = {
    "pdf": "PDF",
    "docx": "Word",
    "xlsx": "Excel",
    "xls": "Excel 97",
    "ods": "OpenDocument",
    "csv": "CSV",
    "pptx": "PowerPoint",
    "html": "Web page",
    "md": "Markdown",
    "txt": "Text",
}
# What a kind's pages are called. A long sheet has several pages.
_PARTS: Final[Mapping[str, tuple[str, str]]] = {"pptx": ("slide", "slides")}
_PAGE: Final = ("page", "pages")
_BYTES: Final = (("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000))
_S: Final = DocumentStatus


@dataclass(frozen=True, slots=True)
class State:
    """`tone`: waiting, working, ready, failed or stopped. `done` of `total` is for a bar; `total` is 0 where no end is
    known."""

    words: str
    tone: str
    done: int = 0
    total: int = 0

    @property
    def has_bar(self) -> bool:
        return self.tone == "working"


_STATES: Final = {
    _S.QUEUED: State("Waiting to be read", "waiting"),
    _S.INDEXING: State("Being cut into passages", "working"),
    _S.READY: State("Ready", "ready"),
    _S.FAILED: State("Not read", "failed"),
    _S.CANCELLED: State("Cancelled", "stopped"),
}


@dataclass(frozen=True, slots=True)
class Row:
    """`owner`: whose it is, empty if it is the reader's own. `kind`: a short word that a picture of it carries.
    `groups`: the names of those that it is shared with, as JSON."""

    document: Document
    name: str
    title: str
    kind: str
    kind_words: str
    state: State
    length: str
    size: str
    owner: str
    sharing: str
    groups: str
    may_cancel: bool
    may_read_again: bool


def row_of(document: Document, *, reader: User) -> Row:
    """Needs the document's owner and groups loaded with it."""
    is_own = document.owner_id == reader.pk
    return Row(
        document=document,
        name=document.filename,
        title=document.title if document.title != document.filename else "",
        kind=kind_of(document.doc_type, document.filename),
        kind_words=KINDS.get(document.doc_type, document.doc_type.upper() or "File"),
        state=state_of(document),
        length=length_of(document.doc_type, document.total_pages),
        size=size_words(document.size_bytes),
        owner="" if is_own else person_of(document.owner),
        sharing=sharing_of(document),
        groups=json.dumps(sorted(group.name for group in document.groups.all()) if is_own else []),
        may_cancel=is_own and document.status in AT_WORK and document.status not in SEARCHABLE,
        may_read_again=is_own and document.status in (_S.FAILED, _S.CANCELLED, _S.READY),
    )


def state_of(document: Document) -> State:
    if document.status == _S.READING:
        return _reading(document)
    if document.status == _S.EMBEDDING:
        return _embedding(document)
    return _STATES[DocumentStatus(document.status)]


def _reading(document: Document) -> State:
    one, many = _PARTS.get(document.doc_type, _PAGE)
    done, total = document.pages_read, document.total_pages
    if total:
        return State(f"Reading {one if total == 1 else many}: {done:,} of {total:,}", "working", done, total)
    return State(f"Reading: {done:,} {one if done == 1 else many} so far" if done else "Reading", "working")


def _embedding(document: Document) -> State:
    """Found by its words already: that it is searchable comes first, what is missing after it."""
    done, total = min(document.chunks_embedded, document.total_chunks), document.total_chunks
    percent = f" {100 * done // total} %" if total else " to come"
    return State(f"Searchable · meaning{percent}", "working", done, total)


def kind_of(doc_type: str, filename: str) -> str:
    """The type by content; before that is known, what the name claims."""
    return doc_type or PurePath(filename).suffix.lower().removeprefix(".")[:4] or "file"


def length_of(doc_type: str, total_pages: int) -> str:
    if not total_pages:
        return ""
    one, many = _PARTS.get(doc_type, _PAGE)
    return f"{total_pages:,} {one if total_pages == 1 else many}"


def part_of(doc_type: str) -> str:
    """What one of its pages is called: "Page", "Slide"."""
    return _PARTS.get(doc_type, _PAGE)[0].capitalize()


def size_words(size_bytes: int) -> str:
    for unit, size in _BYTES:
        if size_bytes >= size:
            count = size_bytes / size
            return f"{count:.1f} {unit}" if count < 10 else f"{count:.0f} {unit}"
    return f"{size_bytes} B"


def person_of(user: User) -> str:
    return user.display_name or user.email


def sharing_of(document: Document) -> str:
    """Who sees it besides its owner. Which groups is for its owner alone to know."""
    match document.visibility:
        case Visibility.EVERYONE:
            return "Everyone"
        case Visibility.GROUPS:
            return ", ".join(sorted(group.name for group in document.groups.all())) or "Only you"
        case _:
            return "Only you"
