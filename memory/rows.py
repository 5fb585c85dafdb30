"""How documents stand on pages for people: what they are, how far they are, who sees them, in words. Pure: a row in,
words out; no query of its own. Whatever comes from files is plain text here and escaped by the template.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Final

from django.db.models import Prefetch, QuerySet
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext, pgettext

from hyperagent.accounts.models import User
from hyperagent.lib.languages import grouped
from memory.kinds import AT_WORK, SEARCHABLE, DocumentStatus, Visibility
from memory.models import Document, Project

KINDS: Final[Mapping[str, str]] = {
    "pdf": "PDF",
    "docx": "Word",
    "xlsx": "Excel",
    "xls": "Excel 97",
    "ods": "OpenDocument",
    "csv": "CSV",
    "pptx": "PowerPoint",
    "html": gettext_noop("Web page"),
    "eml": gettext_noop("Mail"),
    "md": "Markdown",
    "txt": gettext_noop("Text"),
    "png": "PNG",
    "jpg": "JPEG",
    "gif": "GIF",
    "webp": "WebP",
}
_MAY_BE_READ_AGAIN: Final = (DocumentStatus.FAILED, DocumentStatus.CANCELLED, DocumentStatus.READY)
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
    _S.QUEUED: State(gettext_noop("Waiting to be read"), "waiting"),
    _S.INDEXING: State(gettext_noop("Being cut into passages"), "working"),
    _S.READY: State(gettext_noop("Ready"), "ready"),
    _S.FAILED: State(gettext_noop("Not read"), "failed"),
    _S.CANCELLED: State(gettext_noop("Cancelled"), "stopped"),
}
_A_PICTURE: Final = State(gettext_noop("Picture, not searched"), "stopped")


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
    is_private: bool
    groups: str
    may_cancel: bool
    may_read_again: bool


def loaded(documents: QuerySet[Document]) -> QuerySet[Document]:
    """With what `row_of` reads of other tables."""
    named = Prefetch("projects", Project.objects.only("name"))
    return documents.select_related("owner").prefetch_related("groups", named)


def row_of(document: Document, *, reader: User) -> Row:
    """Of a document that is `loaded`."""
    is_own = document.owner_id == reader.pk
    sharing = sharing_of(document)
    return Row(
        document=document,
        name=document.filename,
        title="" if document.title in (document.filename, PurePath(document.filename).stem) else document.title,
        kind=kind_of(document.doc_type, document.filename),
        kind_words=_(KINDS.get(document.doc_type, document.doc_type.upper() or gettext_noop("File"))),
        state=state_of(document),
        length=length_of(document.doc_type, document.total_pages),
        size=size_words(document.size_bytes),
        owner="" if is_own else person_of(document.owner),
        sharing=sharing or _("Only you"),
        is_private=not sharing,
        groups=json.dumps(sorted(group.name for group in document.groups.all()) if is_own else []),
        may_cancel=is_own and document.status in AT_WORK and document.status not in SEARCHABLE,
        may_read_again=is_own and document.status in _MAY_BE_READ_AGAIN and not document.is_picture,
    )


def state_of(document: Document) -> State:
    if document.status == _S.READING:
        return _reading(document)
    if document.status == _S.EMBEDDING:
        return _embedding(document)
    is_seen_only = document.status == _S.FAILED and document.is_picture
    state = _A_PICTURE if is_seen_only else _STATES[DocumentStatus(document.status)]
    return replace(state, words=_(state.words))


def _reading(document: Document) -> State:
    done, total = document.pages_read, document.total_pages
    counts = {"done": grouped(done), "total": grouped(total)}
    if total and has_slides(document.doc_type):
        words = ngettext("Reading slide: {done} of {total}", "Reading slides: {done} of {total}", total)
    elif total:
        words = ngettext("Reading page: {done} of {total}", "Reading pages: {done} of {total}", total)
    elif done and has_slides(document.doc_type):
        words = ngettext("Reading: {done} slide so far", "Reading: {done} slides so far", done)
    elif done:
        words = ngettext("Reading: {done} page so far", "Reading: {done} pages so far", done)
    else:
        words = _("Reading")
    return State(words.format(**counts), "working", done if total else 0, total)


def _embedding(document: Document) -> State:
    """Found by its words already: that it is searchable comes first, what is missing after it."""
    done, total = min(document.chunks_embedded, document.total_chunks), document.total_chunks
    if not total:
        return State(_("Searchable · meaning to come"), "working")
    words = _("Searchable · meaning {percent} %").format(percent=100 * done // total)
    return State(words, "working", done, total)


def kind_of(doc_type: str, filename: str) -> str:
    """The type by content; before that is known, what the name claims."""
    return doc_type or PurePath(filename).suffix.lower().removeprefix(".")[:4] or "file"


def length_of(doc_type: str, total_pages: int) -> str:
    if not total_pages:
        return ""
    if has_slides(doc_type):
        words = ngettext("{count} slide", "{count} slides", total_pages)
    else:
        words = ngettext("{count} page", "{count} pages", total_pages)
    return words.format(count=grouped(total_pages))


def has_slides(doc_type: str) -> bool:
    """The others have pages. A long sheet has several of them."""
    return doc_type == "pptx"


def part_of(doc_type: str) -> str:
    """What one of its pages is called: "Page", "Slide"."""
    return _("Slide") if has_slides(doc_type) else _("Page")


def part_within(doc_type: str) -> str:
    """The same within a sentence: "page"."""
    return pgettext("in a sentence", "slide") if has_slides(doc_type) else pgettext("in a sentence", "page")


def size_words(size_bytes: int) -> str:
    for unit, size in _BYTES:
        if size_bytes >= size:
            count = size_bytes / size
            return f"{number_format(count, 1 if count < 10 else 0)} {unit}"
    return f"{size_bytes} B"


def person_of(user: User) -> str:
    return user.display_name or user.email


def sharing_of(document: Document) -> str:
    """Who sees it besides its owner, empty if nobody does. Which groups and projects is for its owner alone to know."""
    if document.visibility == Visibility.EVERYONE:
        return _("Everyone")
    groups = document.groups.all() if document.visibility == Visibility.GROUPS else ()
    return ", ".join(sorted(one.name for one in (*groups, *document.projects.all())))
