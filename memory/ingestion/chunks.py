"""The chunks of a document: cut from its stored pages, stored with their keywords in batches, resumed by ordinal."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import dropwhile, islice
from typing import Final

from django.db import connection, transaction

from memory.cutting.cut import pieces
from memory.ids import chunk_id
from memory.ingestion import lease, pages
from memory.ingestion.names import LIMIT
from memory.models import Chunk, Document
from memory.postings.writing import write_postings
from memory.tokens import count_tokens
from memory.values import Piece

PIECES_AT_ONCE: Final = 100
_NEXT_KEYS: Final = "SELECT nextval(pg_get_serial_sequence('memory_chunk', 'key')) FROM generate_series(1, %s)"


def store(document: Document) -> Iterator[None]:
    """Stores what is not stored yet, and yields after each batch. Raises lease.Lost."""
    done = document.total_chunks
    cut = pieces(pages.stored(document.pk), count_tokens=count_tokens)
    left = dropwhile(lambda piece: piece.ordinal < done, cut)
    for batch in _batches(left):
        _store_batch(document, batch)
        yield


def _batches(found: Iterable[Piece]) -> Iterator[list[Piece]]:
    it = iter(found)
    while batch := list(islice(it, PIECES_AT_ONCE)):
        yield batch


def _store_batch(document: Document, batch: Sequence[Piece]) -> None:
    with transaction.atomic():
        # First: whoever cancels or deletes the document waits for this row.
        lease.write(document, total_chunks=batch[-1].ordinal + 1)
        keys = _insert(document, batch)
        with connection.cursor() as cursor:
            terms = write_postings(
                cursor,
                owner_id=document.owner_id,
                document_id=document.pk,
                filename=document.filename,
                title=document.title,
                language=document.language,
                chunks=[(keys[piece.ordinal], piece.text, piece.section_title) for piece in batch],
            )
        lease.write(document, total_terms=document.total_terms + terms)


def _insert(document: Document, batch: Sequence[Piece]) -> dict[int, int]:
    """The keys of the new rows by their ordinals, in the same order; with those of parents in earlier batches."""
    with connection.cursor() as cursor:
        cursor.execute(_NEXT_KEYS, [len(batch)])
        fresh = sorted(key for (key,) in cursor.fetchall())
    keys = dict(zip((piece.ordinal for piece in batch), fresh, strict=True))
    earlier = {piece.parent for piece in batch if piece.parent is not None} - keys.keys()
    if earlier:
        keys |= dict(Chunk.objects.filter(document=document, ordinal__in=earlier).values_list("ordinal", "key"))
    Chunk.objects.bulk_create([_row(document, piece, keys) for piece in batch])
    return keys


def _row(document: Document, piece: Piece, keys: dict[int, int]) -> Chunk:
    return Chunk(
        key=keys[piece.ordinal],
        chunk_id=chunk_id(document.pk, piece.ordinal),
        document=document,
        ordinal=piece.ordinal,
        parent_id=None if piece.parent is None else keys[piece.parent],
        text=piece.text,
        start=piece.start,
        end=piece.end,
        page=piece.page,
        last_page=piece.last_page,
        section_title=piece.section_title[:LIMIT],
        kind=piece.kind.value,
        tokens=piece.tokens,
    )
