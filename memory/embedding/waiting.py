"""What waits for a vector of a model: chunks of searchable documents, memories, descriptions. Reads; writes only what
says how far a document is."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db import connection

from hyperagent.lib import rows

DOCUMENTS_AT_ONCE: Final = 16
MEMORIES_AT_ONCE: Final = 16
DESCRIPTIONS_AT_ONCE: Final = 16

# First those that people wait for, of these the one with the least left; then what another model made. Like memories
# and descriptions they are looked for while there are none: Postgres plans that once, with its limit.
_DOCUMENTS: Final = f"""
    (SELECT id FROM memory_document WHERE status = 'embedding' AND NOT owner_id = ANY(%(without)s)
      ORDER BY total_chunks - chunks_embedded, created_at LIMIT {DOCUMENTS_AT_ONCE})
    UNION ALL
    (SELECT id FROM memory_document WHERE status = 'ready' AND (embedded_by < %(model)s OR embedded_by > %(model)s)
        AND NOT owner_id = ANY(%(without)s)
      LIMIT {DOCUMENTS_AT_ONCE})
    LIMIT {DOCUMENTS_AT_ONCE}
"""
_BLOCKS: Final = """
    SELECT DISTINCT ordinal / %(size)s FROM memory_chunk c WHERE document_id = %(document)s
       AND NOT EXISTS (SELECT FROM memory_vector v WHERE v.chunk_key = c.key AND v.model = %(model)s)
     ORDER BY 1
"""
_CHUNKS: Final = """
    SELECT c.key, c.text, d.owner_id FROM memory_chunk c JOIN memory_document d ON d.id = c.document_id
     WHERE c.document_id = %(document)s AND d.status IN ('embedding', 'ready')
       AND c.ordinal >= %(size)s * %(block)s AND c.ordinal < %(size)s * (%(block)s + 1)
       AND NOT EXISTS (SELECT FROM memory_vector v WHERE v.chunk_key = c.key AND v.model = %(model)s)
     ORDER BY c.ordinal
"""
_COUNT: Final = """
    UPDATE memory_document SET chunks_embedded = least(chunks_embedded + %(count)s, total_chunks), delay = ''
     WHERE id = %(document)s AND status = 'embedding'
"""
_DONE: Final = """
    UPDATE memory_document d SET embedded_by = %(model)s, chunks_embedded = total_chunks, status = 'ready', delay = '',
           ready_at = CASE WHEN status = 'embedding' THEN clock_timestamp() ELSE ready_at END,
           updated_at = CASE WHEN status = 'embedding' THEN clock_timestamp() ELSE updated_at END
     WHERE id = %(document)s AND status IN ('embedding', 'ready') AND NOT EXISTS (
           SELECT FROM memory_chunk c WHERE c.document_id = d.id AND NOT EXISTS (
               SELECT FROM memory_vector v WHERE v.chunk_key = c.key AND v.model = %(model)s))
"""
_DELAY: Final = """
    UPDATE memory_document SET delay = %(why)s
     WHERE status = 'embedding' AND delay <> %(why)s AND (%(owner)s::uuid IS NULL OR owner_id = %(owner)s)
 RETURNING id
"""
_MEMORIES: Final = f"""
    SELECT id, text, user_id FROM memory_memory
     WHERE status IN ('active', 'quarantined') AND text <> ''
       AND (embedded_by < %(model)s OR embedded_by > %(model)s)
       AND NOT user_id = ANY(%(without)s) AND NOT id = ANY(%(without)s) LIMIT {MEMORIES_AT_ONCE}
"""
_REMEMBER: Final = """
    UPDATE memory_memory SET embedding = %(vector)s::halfvec, embedded_by = %(model)s
     WHERE id = %(memory)s AND text = %(text)s AND status IN ('active', 'quarantined')
"""
# The same words as `described_text` joins.
_DESCRIBED: Final = """concat_ws(E'\\n', nullif(d.title, ''), d.filename, nullif(d.description, ''))"""
_DESCRIPTIONS: Final = f"""
    SELECT d.id, {_DESCRIBED}, d.owner_id FROM memory_document d
      LEFT JOIN memory_documentvector v ON v.document_id = d.id AND v.model = %(model)s
     WHERE d.status IN ('embedding', 'ready') AND v.text_hash IS DISTINCT FROM md5({_DESCRIBED})
       AND NOT d.owner_id = ANY(%(without)s) AND NOT d.id = ANY(%(without)s)
     LIMIT {DESCRIPTIONS_AT_ONCE}
"""
_ALL_HAVE: Final = """
    SELECT NOT EXISTS (SELECT FROM memory_document WHERE status = 'embedding')
       AND NOT EXISTS (SELECT FROM memory_document
                        WHERE status = 'ready' AND (embedded_by < %(model)s OR embedded_by > %(model)s))
"""


@dataclass(frozen=True, slots=True)
class Text:
    """A text that waits, the key of its row, and whose it is."""

    key: int
    text: str
    owner: UUID


@dataclass(frozen=True, slots=True)
class Said:
    """A memory or a document as a whole."""

    id: UUID
    text: str
    owner: UUID

    @property
    def hash(self) -> str:
        """As `md5()` of the database has it; nothing is secured by it."""
        return hashlib.md5(self.text.encode(), usedforsecurity=False).hexdigest()


def documents(model: str, *, without: Sequence[UUID] = ()) -> list[UUID]:
    """Which may have chunks that wait, in the order in which they are served. `without`: those of these people."""
    return [row[0] for row in _waiting(_DOCUMENTS, model, without)]


def blocks(document_id: UUID, model: str, *, size: int) -> list[int]:
    """The numbers of its batches, of `size` chunks each, of which something waits."""
    return [row[0] for row in _rows(_BLOCKS, document=document_id, model=model, size=size)]


def chunks(document_id: UUID, model: str, *, block: int, size: int) -> list[Text]:
    return [Text(*row) for row in _rows(_CHUNKS, document=document_id, model=model, block=block, size=size)]


def memories(model: str, *, without: Sequence[UUID] = ()) -> list[Said]:
    """Of one person. `without`: people whose budget is used up, and memories that were refused."""
    return _of_one([Said(*row) for row in _waiting(_MEMORIES, model, without)])


def descriptions(model: str, *, without: Sequence[UUID] = ()) -> list[Said]:
    """Documents of one person whose names or description are not those that their vector was made of."""
    return _of_one([Said(*row) for row in _waiting(_DESCRIPTIONS, model, without)])


def _of_one(found: list[Said]) -> list[Said]:
    """A call of a provider is paid by one."""
    return [one for one in found if one.owner == found[0].owner]


def have_all(model: str) -> bool:
    """Whether no searchable document waits for vectors of the model's."""
    return bool(_rows(_ALL_HAVE, model=model)[0][0])


def count(document_id: UUID, chunks_done: int) -> None:
    _change(_COUNT, document=document_id, count=chunks_done)


def delay(why: str, *, owner: UUID | None = None) -> list[UUID]:
    """A sentence for people, on the owner's documents that wait, or on everybody's; those that had another one. It goes
    from each with its next vectors."""
    return [row[0] for row in _rows(_DELAY, why=why, owner=owner)]


def finish(document_id: UUID, model: str) -> bool:
    """Makes it READY if none of its chunks waits; false if one does, or it is not searchable any more."""
    return _change(_DONE, document=document_id, model=model) == 1


def remember(memory: Said, *, model: str, vector: str) -> None:
    """Nothing for one whose text was changed in the meantime."""
    _change(_REMEMBER, memory=memory.id, text=memory.text, model=model, vector=vector)


def _waiting(sql: str, model: str, without: Sequence[UUID]) -> Sequence[tuple[Any, ...]]:
    return list(rows.execute(sql, {"model": model, "without": list(without)}).fetchall())


def _rows(sql: str, **values: Any) -> Sequence[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return list(cursor.fetchall())


def _change(sql: str, **values: Any) -> int:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return int(cursor.rowcount)
