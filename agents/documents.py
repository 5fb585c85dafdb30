"""The documents of whoever asks, for tools: searched by `memory.retrieval`, read and listed from the tables.

Who may see which document is decided in `memory`, never here: every call carries the user's id, and an id that came
from a model or a page is looked up among what this user may see.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from itertools import accumulate
from typing import Final
from uuid import UUID

from django.db.models import Case, When

from agents.runtime.driven import About
from agents.tools.providers import OriginalFile
from agents.tools.tool import ToolError
from agents.tools.values import (
    PAGE_MARK,
    Chunk,
    ChunkMetadata,
    DocumentFilters,
    DocumentList,
    DocumentText,
    FoundChunks,
    ListedDocument,
)
from hyperagent.accounts.models import User
from hyperagent.lib.text import clean_text
from hyperagent.lib.threads import in_thread
from memory.ingestion.files import open_file
from memory.kinds import SEARCHABLE, UNFINISHED, DocumentStatus
from memory.models import Document, Project
from memory.retrieval.search import search
from memory.retrieval.sources import confidence_of
from memory.values import Filters, Passage, Wanted

QUERY_CHARS: Final = 2_000
READ_CHARS: Final = 60_000
ORIGINAL_BYTES: Final = 50_000_000
DESCRIPTION_CHARS: Final = 300
# Of the best passage in a project; below it the search is not half sure, and the other documents are searched as well.
ENOUGH: Final = 0.5
NO_SUCH_DOCUMENT: Final = "There is no document {id} that this user may see. Take an id as search_documents gives it."


class OwnDocuments:
    """The provider `Documents`. There in every installation: a search by words needs no key and no model."""

    async def search(
        self,
        about: About,
        query: str,
        *,
        top_k: int,
        document_ids: Sequence[str],
        filters: DocumentFilters,
        project_id: str | None = None,
    ) -> FoundChunks:
        wanted = Wanted(
            query=clean_text(query)[:QUERY_CHARS],
            top_k=top_k,
            document_ids=tuple(_uuid(document_id) for document_id in document_ids),
            filters=filters_of(filters),
        )
        return await in_thread(_found)(_asker(about), wanted, _uuid(project_id) if project_id else None)

    async def read(self, about: About, document_id: str, *, first_page: int, last_page: int) -> DocumentText:
        return await in_thread(_read)(_asker(about), _uuid(document_id), first_page, last_page)

    async def original(self, about: About, document_id: str) -> OriginalFile:
        return await in_thread(_original)(_asker(about), _uuid(document_id))

    async def listed(self, about: About, *, name_contains: str, limit: int) -> DocumentList:
        return await in_thread(_listed)(_asker(about), clean_text(name_contains), limit)


def filters_of(given: DocumentFilters) -> Filters:
    """As the search takes them. Raises ToolError for a day that is none."""
    return Filters(
        doc_type=(given.doc_type or "").strip().lower().lstrip("."),
        filename=clean_text(given.filename or "").strip(),
        section_title=clean_text(given.section_title or "").strip(),
        date_from=_day(given.date_from, "date_from"),
        date_to=_day(given.date_to, "date_to"),
    )


def chunk_of(passage: Passage) -> Chunk:
    return Chunk(
        chunk_id=str(passage.chunk_id),
        doc_id=str(passage.document_id),
        score=min(1.0, max(0.0, passage.score)),
        text=passage.text,
        start=passage.start,
        end=passage.end,
        metadata=ChunkMetadata(
            filename=passage.filename,
            page=passage.page,
            last_page=passage.last_page,
            section_title=passage.section_title or None,
            doc_type=passage.doc_type or None,
            date=passage.date.isoformat() if passage.date else None,
        ),
    )


# --- in threads


def _found(user_id: UUID, wanted: Wanted, project_id: UUID | None) -> FoundChunks:
    """In a project its documents are searched first; the others only where those have too little."""
    if project_id is not None and not wanted.document_ids:
        within = _documents_of(project_id, user_id)
        if within:
            first = _searched(user_id, replace(wanted, document_ids=within))
            if first.chunks and first.chunks[0].score >= ENOUGH:
                return first
    return _searched(user_id, wanted).model_copy(update={"unread": _unread(user_id, wanted.document_ids)})


def _searched(user_id: UUID, wanted: Wanted) -> FoundChunks:
    found = search(user_id, wanted)
    chunks = tuple(chunk_of(passage) for passage in found.passages)
    confidence = round(confidence_of(found.passages), 4)
    return FoundChunks(query=wanted.query, chunks=chunks, confidence=confidence, note=found.note)


def _unread(user_id: UUID, document_ids: Sequence[UUID]) -> int:
    """How many of those that this user may see, or of these alone, are still being read."""
    waiting = Document.objects.filter(status__in=UNFINISHED)
    if document_ids:
        waiting = waiting.filter(id__in=document_ids)
    # Most of the time nothing at all is being read; whose it is, is a dearer question.
    return waiting.seen_by(_user(user_id)).count() if waiting.exists() else 0


def _documents_of(project_id: UUID, user_id: UUID) -> tuple[UUID, ...]:
    """The searchable documents of a project that this user is a member of."""
    mine = Project.objects.filter(id=project_id, members=user_id)
    return tuple(Document.objects.filter(projects__in=mine, status__in=SEARCHABLE).values_list("id", flat=True))


def _read(user_id: UUID, document_id: UUID, first_page: int, last_page: int) -> DocumentText:
    document = Document.objects.seen_by(_user(user_id)).filter(id=document_id).first()
    if document is None:
        raise ToolError(NO_SUCH_DOCUMENT.format(id=document_id))
    _refuse_unread(document)
    pages = list(
        document.pages.filter(number__range=(first_page, last_page)).order_by("number").values_list("number", "text")
    )
    total = document.total_pages or document.pages.count()
    if not pages:
        raise ToolError(f"{_named(document)} has {total} pages: there is nothing from page {first_page} on.")
    texts = [f"{PAGE_MARK.format(number=number)}{text}" if total > 1 else text for number, text in pages]
    text = "\n\n".join(texts)
    ends = accumulate(map(len, texts), lambda end, chars: end + len("\n\n") + chars)
    return DocumentText(
        doc_id=str(document.id),
        filename=document.filename,
        text=text if len(text) <= READ_CHARS else f"{text[:READ_CHARS]}\n[… cut here: read fewer pages at once …]",
        first_page=pages[0][0],
        last_page=pages[-1][0],
        total_pages=max(total, pages[-1][0]),
        page_ends=tuple(end for end in ends if end <= READ_CHARS),
    )


def _original(user_id: UUID, document_id: UUID) -> OriginalFile:
    """Whether it could be read as a document matters not."""
    document = Document.objects.seen_by(_user(user_id)).filter(id=document_id).first()
    if document is None:
        raise ToolError(NO_SUCH_DOCUMENT.format(id=document_id))
    if document.size_bytes > ORIGINAL_BYTES:
        most = f"at most {ORIGINAL_BYTES:,} can be given to a program"
        raise ToolError(f"{_named(document)} has {document.size_bytes:,} bytes; {most}.")
    try:
        with open_file(document.stored_as) as opened:
            return OriginalFile(document.filename, opened.read())
    except (FileNotFoundError, ValueError):
        raise ToolError(f"{_named(document)} has lost its file. Its owner can give it again.") from None


def _refuse_unread(document: Document) -> None:
    """What was not read to its end has half a text, which must not pass for the whole."""
    if document.status in (DocumentStatus.FAILED, DocumentStatus.CANCELLED):
        if document.is_picture:
            raise ToolError(f"{_named(document)} is a picture: look at it with analyze_image, by its id.")
        why = document.reason or f"it is {document.status}"
        raise ToolError(f"{_named(document)} cannot be read: {why}")
    if document.status in (DocumentStatus.QUEUED, DocumentStatus.READING):
        raise ToolError(f"{_named(document)} is still being read. Try it again in a moment.")


def _named(document: Document) -> str:
    """For a refusal, which is told as words of ours: whoever gave the document has chosen what it is called."""
    return f"The document {document.pk}"


def _listed(user_id: UUID, name_contains: str, limit: int) -> DocumentList:
    """The newest first; of those that are asked for by name, one's own before all: however many of that name others
    share, they cannot hide it."""
    seen = Document.objects.seen_by(_user(user_id))
    order = ["-created_at", "filename"]
    if name_contains:
        own_first = Case(When(owner_id=user_id, then=0), default=1)
        seen = seen.filter(filename__icontains=name_contains).annotate(of_others=own_first)
        order = ["of_others", *order]
    rows = seen.order_by(*order)[:limit]
    return DocumentList(documents=tuple(_entry(row, user_id) for row in rows), total=seen.count())


def _entry(row: Document, user_id: UUID) -> ListedDocument:
    return ListedDocument(
        doc_id=str(row.id),
        filename=row.filename,
        title=row.title,
        doc_type=row.doc_type,
        date=row.date.isoformat() if row.date else None,
        description=row.description[:DESCRIPTION_CHARS],
        state="picture" if row.is_picture else row.status,
        total_pages=row.total_pages,
        is_own=row.owner_id == user_id,
    )


def _user(user_id: UUID) -> User:
    user = User.objects.filter(id=user_id).first()
    if user is None:
        raise ToolError("Whoever asked is not here any more, so there are no documents.")
    return user


# --- what came from elsewhere


def _asker(about: About) -> UUID:
    if about.user_id is None:
        raise ToolError("This run belongs to nobody, so there are no documents.")
    return about.user_id


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except (ValueError, AttributeError):
        shown = clean_text(str(text))[:60]
        raise ToolError(f"'{shown}' is no document's id. Take an id as search_documents gives it.") from None


def _day(text: str | None, name: str) -> date | None:
    if not text:
        return None
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        raise ToolError(
            f"{name}='{clean_text(text)[:40]}' is no day. Write it as YYYY-MM-DD, or leave it out."
        ) from None
