"""Searching, reading and listing the user's documents (S174)."""

from typing import Annotated

from django.utils.translation.trans_null import gettext_noop
from pydantic import Field

from agents.engine.events import Source
from agents.tools.tool import ANY_AGENT, Call, Reply, ToolError, tool
from agents.tools.values import Chunk, DocumentFilters, DocumentList, DocumentText, FoundChunks, ListedDocument
from hyperagent.lib.clipping import one_line

EXCERPT_CHARS = 300
PAGES_AT_ONCE = 20
SHOWN_CHARS = 18_000
"""Below what a model reads of a result, so that it is cut at the end of a page and says how to read on."""
ANY_DOCUMENT = DocumentFilters()


@tool(label=gettext_noop("Search the documents"), agents=ANY_AGENT, needs=("documents",), untrusted=True)
async def search_documents(
    call: Call,
    query: Annotated[str, "What to look for, in the words that the documents may use", Field(min_length=1)],
    top_k: Annotated[int, "How many passages at most", Field(ge=1, le=20)] = 8,
    document_ids: Annotated[tuple[str, ...], "Only in these documents; empty for all that the user may see"] = (),
    filters: Annotated[DocumentFilters, "Only documents that fit"] = ANY_DOCUMENT,
) -> Reply:
    """Searches the user's documents and gives the passages that fit best, with file, page and section.

    Not for the web (web_search), nor to read a document from its beginning (read_document).
    """
    chosen = document_ids or _attached(call)
    found = await call.providers.documents.search(
        call.about, query, top_k=top_k, document_ids=chosen, filters=filters, project_id=_project(call)
    )
    return Reply(content=_passages(found), data=found, sources=sources_of(found.chunks))


@tool(label=gettext_noop("Read a document"), agents=ANY_AGENT, needs=("documents",), untrusted=True)
async def read_document(
    call: Call,
    document_id: Annotated[str, "The document's id, as search_documents gives it or as it was attached"],
    first_page: Annotated[int, "The first page to read, counted from 1", Field(ge=1)] = 1,
    last_page: Annotated[int | None, f"The last page to read; at most {PAGES_AT_ONCE} pages at once"] = None,
) -> Reply:
    """Reads pages of one document as text. To find where something stands, search_documents is faster."""
    last = first_page + PAGES_AT_ONCE - 1 if last_page is None else last_page
    if not first_page <= last < first_page + PAGES_AT_ONCE:
        raise ToolError(
            f"Pages {first_page} to {last} cannot be read at once: last_page has to be from {first_page} to "
            f"{first_page + PAGES_AT_ONCE - 1}."
        )
    found = await call.providers.documents.read(call.about, document_id, first_page=first_page, last_page=last)
    source = Source(type="document", source=found.filename, page=found.first_page, document_id=found.doc_id)
    return Reply(content=_pages_text(found), data=found, sources=(source,))


@tool(label=gettext_noop("List the documents"), agents=ANY_AGENT, needs=("documents",), untrusted=True)
async def list_documents(
    call: Call,
    name_contains: Annotated[str, "Only those with this in their file's name; empty for all"] = "",
    limit: Annotated[int, "How many at most, the newest first", Field(ge=1, le=100)] = 30,
) -> Reply:
    """Lists the documents that the user has: name, kind, date, what each is about, and whether it is ready.

    Not for what they say: search_documents finds that.
    """
    found = await call.providers.documents.listed(call.about, name_contains=name_contains, limit=limit)
    return Reply(content=_list(found), data=found)


def _attached(call: Call) -> tuple[str, ...]:
    """The documents that whoever asked chose for this run. No search finds a picture: where nothing else was chosen,
    all documents are meant."""
    options = call.agent_input.options if call.agent_input else None
    if options is None:
        return ()
    chosen = dict.fromkeys((*options.attachment_ids, *options.document_ids))
    return tuple(one for one in chosen if one not in options.image_attachments)


def _project(call: Call) -> str | None:
    """The project whose conversation this is: its documents are searched first."""
    return call.agent_input.options.project_id if call.agent_input else None


def source_of(chunk: Chunk) -> Source:
    at = chunk.metadata
    return Source(
        type="document",
        source=at.filename,
        page=at.page,
        section=at.section_title,
        excerpt=chunk.text[:EXCERPT_CHARS] or None,
        relevance_score=chunk.score,
        document_id=chunk.doc_id,
        chunk_id=chunk.chunk_id or None,
    )


def sources_of(chunks: tuple[Chunk, ...]) -> tuple[Source, ...]:
    """One for each file, page and section, with the best passage (S173). The chunks come best first."""
    found: dict[tuple[str | None, str, int | None, str | None], Source] = {}
    for chunk in chunks:
        at = chunk.metadata
        found.setdefault((chunk.doc_id, at.filename, at.page, at.section_title), source_of(chunk))
    return tuple(found.values())


def _pages_text(found: DocumentText) -> str:
    """As many whole pages as a model reads of a result, and where it can read on."""
    text, last, note = found.text, found.last_page, ""
    if len(text) > SHOWN_CHARS:
        whole = [end for end in found.page_ends if end <= SHOWN_CHARS] or [SHOWN_CHARS]
        text, last = text[: whole[-1]], found.first_page + len(whole) - 1
        note = "" if whole[-1] in found.page_ends else "The page goes on: search_documents finds what else it says. "
        note += f"Read on with first_page={last + 1}." if last < found.total_pages else ""
    head = f"{found.filename}, pages {found.first_page} to {last} of {found.total_pages}"
    return f"{head}\n\n{text}\n\n[{note.strip()}]" if note else f"{head}\n\n{text}"


def _passages(found: FoundChunks) -> str:
    notes = [note for note in (found.note, _unread(found.unread)) if note]
    if not found.chunks:
        nothing = f"No passage was found for '{found.query}'. Try other words, or fewer filters."
        return " ".join([nothing, *notes])
    passages = [f"{number}. {_where(chunk)}\n{chunk.text}" for number, chunk in enumerate(found.chunks, start=1)]
    return "\n\n".join([*passages, *notes])


def _unread(count: int) -> str:
    if not count:
        return ""
    which = "One document is" if count == 1 else f"{count} documents are"
    return f"{which} still being read and cannot be searched yet: what they say may be missing here."


def _list(found: DocumentList) -> str:
    if not found.documents:
        return "There are no documents."
    more = found.total - len(found.documents)
    lines = [_line(document) for document in found.documents]
    return "\n".join([*lines, f"and {more} more"] if more > 0 else lines)


def _line(document: ListedDocument) -> str:
    named = [
        document.filename,
        document.doc_type,
        f"{document.total_pages} pages" if document.total_pages > 1 else "",
        document.date or "",
        document.state,
        f"document {document.doc_id}",
    ]
    about = f": {one_line(document.description)}" if document.description else ""
    return f"- {', '.join(part for part in named if part)}{about}"


def _where(chunk: Chunk) -> str:
    at = chunk.metadata
    named = [
        at.filename,
        f"page {at.page}" if at.page else "",
        at.section_title or "",
        f"document {chunk.doc_id}" if chunk.doc_id else "",
    ]
    return ", ".join(part for part in named if part)
