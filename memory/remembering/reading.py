"""The SQL by which a run reads what is known of its person, on a connection of whoever asks. Only this person's rows,
and of these only what prompts may see.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

import psycopg

from memory.kinds import MemoryKind, ProfileField
from memory.remembering.relevance import PINNED, STANDING, Candidate
from memory.remembering.sameness import terms

CANDIDATES: Final = 100
QUERY_TERMS: Final = 64
K1, B = 1.2, 0.4

# BM25 over the memories of one person, exactly: statistics are theirs alone. What is told always takes no place of what
# shares words with the question.
_BY_WORDS: Final = f"""
WITH mine AS MATERIALIZED (
  SELECT id, kind, field, text, is_pinned, said_at, terms::text[] AS terms, cardinality(terms) AS length,
         embedded_by <> '' AS has_vector
    FROM memory_memory WHERE user_id = %(user)s AND status = 'active'
), stats AS (
  SELECT count(*) AS n, greatest(avg(length), 1) AS mean FROM mine
), asked AS (
  SELECT * FROM unnest(%(terms)s::text[], %(counts)s::int[]) AS a(term, times)
), hits AS (
  SELECT m.id, m.length, t.term, count(*) AS times FROM mine m CROSS JOIN LATERAL unnest(m.terms) AS t(term)
   WHERE m.terms && %(terms)s::text[] AND t.term = ANY(%(terms)s::text[]) GROUP BY m.id, m.length, t.term
), rarity AS (
  SELECT term, ln(1 + (n - count(*) + 0.5) / (count(*) + 0.5)) AS idf FROM hits CROSS JOIN stats GROUP BY term, n
), scored AS (
  SELECT h.id, sum(a.times * r.idf * h.times * {K1 + 1}
                   / (h.times + {K1} * ({1 - B} + {B} * h.length / s.mean)))::float8 AS words
    FROM hits h JOIN asked a USING (term) JOIN rarity r USING (term) CROSS JOIN stats s GROUP BY h.id
), wanted AS (
  SELECT id FROM mine WHERE field <> ''
  UNION (SELECT id FROM mine WHERE field = '' AND is_pinned ORDER BY said_at DESC LIMIT {PINNED})
  UNION (SELECT id FROM mine WHERE field = '' AND kind IN ('preference', 'procedure')
          ORDER BY said_at DESC LIMIT {STANDING})
  UNION (SELECT id FROM mine LEFT JOIN scored USING (id) ORDER BY words DESC NULLS LAST, said_at DESC LIMIT %(limit)s)
)
SELECT m.id, m.kind, m.field, m.text, m.is_pinned, m.said_at, coalesce(words, 0)::float8, m.has_vector
  FROM mine m JOIN wanted USING (id) LEFT JOIN scored USING (id) ORDER BY words DESC NULLS LAST, said_at DESC
"""
_BY_MEANING: Final = """
SELECT id, kind, field, text, is_pinned, said_at, (1 - (embedding <=> %(vector)s::halfvec))::float8
  FROM memory_memory
 WHERE user_id = %(user)s AND status = 'active' AND embedded_by = %(model)s
 ORDER BY embedding <=> %(vector)s::halfvec, said_at DESC LIMIT %(limit)s
"""
_COUNT_USE: Final = """
WITH told AS (
  SELECT t.* FROM json_to_recordset(%(told)s::json) AS t(id uuid, why text, score float8)
    JOIN memory_memory m ON m.id = t.id AND m.user_id = %(user)s AND m.status = 'active'
), added AS (
  INSERT INTO memory_memoryuse (memory_id, execution, conversation, why, score, used_at)
  SELECT id, %(execution)s, %(conversation)s, why, score, clock_timestamp() FROM told
  ON CONFLICT (memory_id, execution) DO NOTHING RETURNING memory_id
)
UPDATE memory_memory m SET times_used = times_used + 1, last_used_at = clock_timestamp()
  FROM added WHERE m.id = added.memory_id
"""

Connection = psycopg.AsyncConnection[Any]


def has_memories(user: str) -> str:
    """SQL: whether there is anything to look up of the person whose id `user` is in the query: memories, or that they
    are not remembered."""
    return f"{_is_off(user)} OR {_has_any(user)}"


def _is_off(user: str) -> str:
    return f"EXISTS (SELECT FROM memory_memoryswitch WHERE user_id = {user} AND NOT is_on)"


def _has_any(user: str) -> str:
    return f"EXISTS (SELECT FROM memory_memory WHERE user_id = {user} AND status = 'active')"


_STANDING: Final = f"SELECT NOT {_is_off('%(user)s')}, {_has_any('%(user)s')}"


async def standing(connection: Connection, user_id: UUID) -> tuple[bool, bool]:
    """Whether this person is remembered at all, and whether there is anything that prompts may see.

    Before the other queries, which take milliseconds to plan, even where nothing is found: the first word of every
    answer waits for them.
    """
    cursor = await connection.execute(_STANDING, {"user": user_id}, prepare=False)
    is_on, has_any = await cursor.fetchone() or (False, False)
    return is_on, has_any


async def by_words(
    connection: Connection, user_id: UUID, question: str, *, limit: int = CANDIDATES
) -> tuple[list[Candidate], bool]:
    """What is always told, and what shares words with the question; and whether any of it has a vector."""
    counted = Counter(terms(question)).most_common(QUERY_TERMS)
    values = {
        "user": user_id,
        "terms": [term for term, _ in counted],
        "counts": [times for _, times in counted],
        "limit": limit,
    }
    cursor = await connection.execute(_BY_WORDS, values, prepare=False)
    rows = await cursor.fetchall()
    return [_candidate(row[:6], words=row[6]) for row in rows], any(row[7] for row in rows)


async def by_meaning(
    connection: Connection, user_id: UUID, model: str, vector: Sequence[float], *, limit: int = CANDIDATES
) -> list[Candidate]:
    """The closest to the question's vector, of those that have one by the same model."""
    written = f"[{','.join(map(repr, vector))}]"
    values = {"user": user_id, "model": model, "vector": written, "limit": limit}
    cursor = await connection.execute(_BY_MEANING, values, prepare=False)
    return [_candidate(row[:6], closeness=row[6]) for row in await cursor.fetchall()]


def merged(by_words: Sequence[Candidate], by_meaning: Sequence[Candidate]) -> list[Candidate]:
    """Each memory once, with both of what is known of how it fits."""
    close = {one.id: one for one in by_meaning}
    both = [replace(one, closeness=close[one.id].closeness) if one.id in close else one for one in by_words]
    known = {one.id for one in by_words}
    return [*both, *(one for one in by_meaning if one.id not in known)]


async def count_uses(
    connection: Connection, user_id: UUID, told: str, *, execution: UUID, conversation: UUID | None
) -> None:
    """Writes the receipts, once for each memory and run. `told`: JSON of [{id, why, score}]."""
    values = {"user": user_id, "told": told, "execution": execution, "conversation": conversation}
    await connection.execute(_COUNT_USE, values, prepare=False)


def _candidate(row: Sequence[Any], *, words: float = 0.0, closeness: float | None = None) -> Candidate:
    id_, kind, field, text, is_pinned, said_at = row
    named = ProfileField(field) if field else None
    return Candidate(id_, MemoryKind(kind), text, named, is_pinned, said_at, words, closeness)
