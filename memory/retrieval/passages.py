"""The chunks that a ranking names, read as passages, the short ones with what stands around them. One statement; what
may be seen is asked again in it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final
from uuid import UUID

from django.db.backends.utils import CursorWrapper

from memory.sight import Scope
from memory.values import Passage

ROOM_TOKENS: Final = 256
"""A passage with less is joined with its neighbours until it has about so much."""
AROUND: Final = 4

_SQL: Final = f"""
SELECT DISTINCT c.key, c.chunk_id, c.document_id, c.ordinal, c.text, c.start, c."end", c.page, c.last_page,
       c.section_title, coalesce(c.parent_id, c.key), c.tokens, d.filename, d.doc_type, d.date
  FROM memory_chunk best JOIN visible d ON d.id = best.document_id
  JOIN memory_chunk c ON c.document_id = best.document_id
   AND c.ordinal BETWEEN best.ordinal - {AROUND} AND best.ordinal + {AROUND}
   AND (c.key = best.key OR best.tokens < {ROOM_TOKENS})
 WHERE best.key = ANY(%(keys)s)
"""


@dataclass(frozen=True, slots=True)
class Read:
    """A chunk as it lies in the tables, with what its document says of it. `section`: the key of its first chunk."""

    key: int
    chunk_id: UUID
    document_id: UUID
    ordinal: int
    text: str
    start: int
    end: int
    page: int
    last_page: int
    section_title: str
    section: int
    tokens: int
    filename: str
    doc_type: str
    date: date | None


Around = dict[tuple[UUID, int], Read]


def read_chunks(cursor: CursorWrapper, scope: Scope, keys: Sequence[int]) -> tuple[dict[int, Read], Around]:
    """By key, and by place with what stands around them. What is not there any more, or not to be seen any more, is
    left out."""
    cursor.execute(f"WITH {scope.visible} {_SQL}", {**scope.parameters, "keys": list(keys)})
    read = [Read(*row) for row in cursor.fetchall()]
    return {one.key: one for one in read}, {(one.document_id, one.ordinal): one for one in read}


def passage_of(best: Read, around: Around, *, score: float, why: Mapping[str, Any]) -> Passage:
    """`chunk_id` is that of `best`, however much was joined to it."""
    joined = with_neighbours(best, around)
    return Passage(
        chunk_id=best.chunk_id,
        document_id=best.document_id,
        score=score,
        text="\n\n".join(one.text for one in joined),
        start=joined[0].start,
        end=joined[-1].end,
        filename=best.filename,
        page=best.page,
        last_page=max(one.last_page for one in joined),
        section_title=best.section_title,
        doc_type=best.doc_type,
        date=best.date,
        why=why,
    )


def with_neighbours(best: Read, around: Around) -> list[Read]:
    """In order of the text. First back to the beginning of the section, its parent, then on; nothing of another
    section or page comes in, and no gap."""
    joined, tokens = [best], best.tokens
    for step in (-1, 1):
        while len(joined) <= AROUND:
            edge = joined[0] if step < 0 else joined[-1]
            other = around.get((best.document_id, edge.ordinal + step))
            if other is None or other.section != best.section or other.page != best.page:
                break
            if tokens + other.tokens > ROOM_TOKENS:
                break
            tokens += other.tokens
            joined.insert(0 if step < 0 else len(joined), other)
    return joined
