"""What was read of a document: dropping all of it, naming it anew, and telling its type."""

from typing import Any, Final
from uuid import UUID

from django.db import connection

from memory.models import Document
from memory.postings.writing import NAME_KEY, drop_postings, write_postings
from memory.reading.kinds import doc_type_of, picture_type_of
from memory.reading.values import Unreadable

NOTHING_READ: Final[dict[str, Any]] = {
    "pages_read": 0,
    "total_pages": 0,
    "total_chunks": 0,
    "total_terms": 0,
    "chunks_embedded": 0,
    "embedded_by": "",
    "ready_at": None,
}
"""The columns of a document of which nothing is stored."""
_TABLES: Final = (
    "memory_vectorsketch", "memory_vector", "memory_documentvector", "memory_chunk", "memory_documentpage",
)  # fmt: skip


def drop(document_id: UUID) -> None:
    """Pages, chunks, keywords and vectors, each by the document's id. The caller holds the document's row."""
    with connection.cursor() as cursor:
        drop_postings(cursor, document_id)
        for table in _TABLES:
            cursor.execute(f"DELETE FROM {table} WHERE document_id = %s", [document_id])


def type_or_nothing(head: bytes, filename: str) -> str:
    """Empty for what can neither be read nor looked at: the job says so, in words, on the document."""
    if kind := picture_type_of(head):
        return kind
    try:
        return doc_type_of(head, filename)
    except Unreadable:
        return ""


def name_again(document: Document) -> None:
    """Its name in the keyword index, written anew. The caller holds the document's row."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM memory_posting WHERE document_id = %s AND chunk_key = %s", [document.pk, NAME_KEY])
        write_postings(
            cursor,
            owner_id=document.owner_id,
            document_id=document.pk,
            filename=document.filename,
            title=document.title,
            language=document.language,
            chunks=(),
        )
