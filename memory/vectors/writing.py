"""Stores vectors, and drops those of models that nobody needs any more. Makes none."""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from memory.embedding.model import Unusable, Vector

_DROPPED_AT_ONCE: Final = 5_000
# The lock on the row lets one writer settle the length of a model's vectors, and is gone once that is known.
_SETTLE: Final = """
    UPDATE memory_embeddingmodel SET dimensions = %(dimensions)s WHERE name = %(model)s AND dimensions = 0
"""
_LENGTH: Final = "SELECT dimensions FROM memory_embeddingmodel WHERE name = %s"
# The chunks are joined, so that what was deleted or cut anew in the meantime gets none.
_STORE: Final = """
    INSERT INTO memory_vector (chunk_key, model, "window", owner_id, document_id, embedding)
    SELECT c.key, %(model)s, v."window", d.owner_id, d.id, v.embedding::halfvec
      FROM unnest(%(keys)s::bigint[], %(windows)s::smallint[], %(vectors)s::text[]) AS v (key, "window", embedding)
      JOIN memory_chunk c ON c.key = v.key
      JOIN memory_document d ON d.id = c.document_id
     WHERE d.id = %(document)s AND d.status IN ('embedding', 'ready')
     ORDER BY c.key, v."window"
       FOR KEY SHARE OF c
    ON CONFLICT DO NOTHING
    RETURNING "window"
"""
# Whoever deletes a document holds its row and then waits for those of its chunks: the other way round, both would wait.
_HOLD: Final = "SELECT FROM memory_document WHERE id = %s FOR NO KEY UPDATE"
# Sketches are of all vectors of a document or of none (`memory.vectors.sketches`).
_UNSKETCH: Final = "DELETE FROM memory_vectorsketch WHERE document_id = %s AND model = %s"
_STORE_DOCUMENT: Final = """
    INSERT INTO memory_documentvector (document_id, model, text_hash, embedding)
    SELECT d.id, %(model)s, %(hash)s, %(vector)s::halfvec FROM memory_document d WHERE d.id = %(document)s
       FOR KEY SHARE
    ON CONFLICT (document_id, model) DO UPDATE SET text_hash = EXCLUDED.text_hash, embedding = EXCLUDED.embedding
"""


def literal(vector: Vector) -> str:
    """As pgvector reads it; a half has three digits."""
    return f"[{','.join(f'{value:.5g}' for value in vector)}]"


def settle_length(cursor: Any, *, model: str, dimensions: int) -> None:
    """Holds a model to the length of its first vectors. Raises Unusable for another one, and for a model that has no
    row any more."""
    cursor.execute(_LENGTH, [model])
    found = cursor.fetchone()
    if found == (0,):
        cursor.execute(_SETTLE, {"model": model, "dimensions": dimensions})
        cursor.execute(_LENGTH, [model])
        found = cursor.fetchone()
    if found is None:
        raise Unusable(f"The embedding model {model} is not in use any more.")
    if found != (dimensions,):
        raise Unusable(
            f"The embedding model {model} gives vectors of {dimensions} numbers now, and those that are stored have"
            f" {found[0]}. Set EMBEDDING_MODEL to another name of it, or to the model that it was."
        )


def store(cursor: Any, *, model: str, document_id: UUID, vectors: Mapping[int, Sequence[Vector]]) -> int:
    """By the chunk's key, the vectors of its windows. Returns how many chunks got theirs just now: none of those that
    another process was faster with. Raises Unusable. Call inside a transaction."""
    if not vectors:
        return 0
    settle_length(cursor, model=model, dimensions=len(next(iter(vectors.values()))[0]))
    rows = [(key, number, literal(one)) for key, some in vectors.items() for number, one in enumerate(some)]
    keys, windows, texts = (list(column) for column in zip(*rows, strict=True))
    wanted = {"model": model, "document": document_id, "keys": keys, "windows": windows, "vectors": texts}
    cursor.execute(_HOLD, [document_id])
    cursor.execute(_STORE, wanted)
    found = cursor.fetchall()
    cursor.execute(_UNSKETCH, [document_id, model])
    return sum(window == 0 for (window,) in found)


def store_document(cursor: Any, *, model: str, document_id: UUID, text_hash: str, vector: Vector) -> None:
    """In place of what it had of this model. Raises Unusable. Call inside a transaction."""
    settle_length(cursor, model=model, dimensions=len(vector))
    wanted = {"model": model, "document": document_id, "hash": text_hash, "vector": literal(vector)}
    cursor.execute(_STORE_DOCUMENT, wanted)


def drop_some_of(cursor: Any, model: str) -> bool:
    """Drops a part of a model's vectors; true when that was the last."""
    for table in ("memory_vector", "memory_vectorsketch", "memory_documentvector"):
        cursor.execute(
            f"DELETE FROM {table} WHERE ctid = ANY (ARRAY("
            f"SELECT ctid FROM {table} WHERE model = %s LIMIT {_DROPPED_AT_ONCE}))",
            [model],
        )
        if cursor.rowcount:
            return False
    return True
