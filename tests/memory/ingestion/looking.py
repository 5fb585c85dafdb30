"""Everything that is stored of a document, to compare one ingestion with another."""

from typing import Any
from uuid import UUID

from django.db import connection

from memory.models import Chunk, Document, DocumentPage

_POSTINGS = """
    SELECT p.term, coalesce(c.ordinal, -1), p.count, p.length
      FROM memory_posting p LEFT JOIN memory_chunk c ON c.key = p.chunk_key
     WHERE p.document_id = %s ORDER BY 1, 2
"""
# What differs from one time to the next.
_BY_TIME = ("epoch", "attempts", "updated_at", "lease_until", "created_at")


def stored(document_id: UUID) -> dict[str, Any]:
    """Keys of rows are told as ordinals: another ingestion has other keys."""
    document = Document.objects.filter(pk=document_id).values().get()
    chunks = Chunk.objects.filter(document=document_id).order_by("ordinal")
    with connection.cursor() as cursor:
        cursor.execute(_POSTINGS, [document_id])
        postings = cursor.fetchall()
    return {
        "document": {name: value for name, value in document.items() if name not in _BY_TIME},
        "pages": list(DocumentPage.objects.filter(document=document_id).order_by("number").values()),
        "chunks": list(
            chunks.values(
                "ordinal", "chunk_id", "parent__ordinal", "text", "start", "end", "page", "last_page", "kind", "tokens"
            )
        ),
        "postings": postings,
    }


def rows_left(document_id: UUID) -> dict[str, int]:
    """How many rows of each table name the document; without those that name it not at all."""
    counts = {}
    with connection.cursor() as cursor:
        for table in (
            "documentpage",
            "chunk",
            "posting",
            "vector",
            "documentvector",
            "document_groups",
            "project_documents",
        ):
            cursor.execute(f"SELECT count(*) FROM memory_{table} WHERE document_id = %s", [document_id])
            counts[table] = int(cursor.fetchone()[0])
    return {table: count for table, count in counts.items() if count}
