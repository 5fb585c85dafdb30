"""How documents look to browsers and programs: one shape for the API, the socket and the pages."""

from typing import TYPE_CHECKING, Any

from hyperagent.lib.times import iso
from memory.kinds import SEARCHABLE, DocumentStatus
from memory.models import Chunk, Document, DocumentPage

if TYPE_CHECKING:
    from hyperagent.accounts.models import User

Json = dict[str, Any]


def document_shape(document: Document, viewer: "User | None" = None) -> Json:
    """As this viewer sees it; as its owner does without one. Which groups have it, and whose budget it waits for, is
    told to its owner only."""
    is_owner = viewer is None or viewer.pk == document.owner_id
    return {
        "doc_id": str(document.pk),
        "filename": document.filename,
        "title": document.title,
        "doc_type": document.doc_type,
        "status": str(document.status),
        "reason": document.reason,
        "note": document.note,
        "delay": document.delay if is_owner and document.status == DocumentStatus.EMBEDDING else "",
        "total_pages": document.total_pages,
        "pages_read": document.pages_read,
        "total_chunks": document.total_chunks,
        "chunks_embedded": document.chunks_embedded,
        "description": document.description,
        "language": document.language,
        "date": document.date.isoformat() if document.date else None,
        "visibility": str(document.visibility),
        "groups": sorted(group.name for group in document.groups.all()) if is_owner else [],
        "owner": document.owner.display_name or document.owner.email,
        "is_owner": is_owner,
        "origin": str(document.origin),
        "source_url": document.source_url if is_owner else "",
        "size_bytes": document.size_bytes,
        "created_at": iso(document.created_at),
        "ready_at": iso(document.ready_at),
        "searchable": document.status in SEARCHABLE,
        "is_picture": document.is_picture,
    }


def chunk_shape(chunk: Chunk) -> Json:
    """`parent_id` needs the parent's `chunk_id` loaded with it as `parent_chunk_id`."""
    parent = getattr(chunk, "parent_chunk_id", None)
    return {
        "chunk_id": str(chunk.chunk_id),
        "ordinal": chunk.ordinal,
        "parent_id": str(parent) if parent else None,
        "text": chunk.text,
        "start": chunk.start,
        "end": chunk.end,
        "page": chunk.page,
        "last_page": chunk.last_page,
        "section_title": chunk.section_title,
        "kind": chunk.kind,
        "tokens": chunk.tokens,
    }


def page_shape(page: DocumentPage) -> Json:
    """`blocks`: [[kind, level, start, end], …] in the page's own characters; `start`: the page's in the document's."""
    return {
        "number": page.number,
        "title": page.title,
        "text": page.text,
        "start": page.start,
        "blocks": page.blocks,
    }
