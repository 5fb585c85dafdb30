"""The chunks and the documents nearest to a question among those that the scope shows, exactly. Makes no vector."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar
from uuid import UUID

from memory.embedding.asking import QueryVector
from memory.sight import Scope
from memory.values import Filters
from memory.vectors.sketched import CANDIDATES, asked
from memory.vectors.writing import literal

WINDOWS: Final = 5
"""A chunk of 1,024 tokens has no more windows: so many times more rows than wanted hold all chunks that are wanted."""
MUCH: Final = 0.1
"""Of what an owner has: of less, reading each vector that is shared costs less than comparing all sketches."""
# The longest vectors that the index has room for (migration 0002); the other index is for those beyond.
INDEXED_DIMENSIONS: Final = 1_024
# All that the user owns lies together in the index, by whatever document, and is read, unless there are sketches of it
# (`memory.vectors.sketches`): then those candidates that they name are, and the documents that have none yet. So it is
# with another owner who has sketches and shares much of it, of those documents alone that are shared. What else others
# share is read by document. Rows of documents that are not to be seen fall out at the end: `hidden` says so, and
# `own` how many there were in all.
_OF_A_PERSON: Final = """,
    sketched AS MATERIALIZED (
        SELECT candidates * (100 + %(limit)s) / 100 AS wanted FROM memory_sketchedowner
         WHERE owner_id = %(user)s AND model = %(model)s AND %(model)s = %(current)s AND candidates > 0),
    {candidates},
    bare AS MATERIALIZED (
        SELECT d.id FROM visible d WHERE d.owner_id = %(user)s AND (SELECT wanted FROM sketched) > 0
           AND d.id NOT IN (SELECT k.document_id FROM memory_vectorsketch k
                             WHERE k.model = %(model)s AND k.owner_id = %(user)s)),
    sharing AS MATERIALIZED (
        SELECT owner_id, candidates * (100 + %(limit)s) / 100 AS wanted FROM memory_sketchedowner o
         WHERE owner_id <> %(user)s AND model = %(model)s AND %(model)s = %(current)s AND candidates > 0
           AND (SELECT sum(d.total_chunks) FROM visible d WHERE d.owner_id = o.owner_id) >= rows * {much}),
    shared AS MATERIALIZED (
        SELECT o.owner_id, c.key FROM sharing o CROSS JOIN LATERAL (WITH {shared} SELECT key FROM candidate) c),
    apart AS MATERIALIZED (
        SELECT d.id, d.owner_id FROM visible d WHERE d.owner_id <> %(user)s AND d.id NOT IN (
            SELECT k.document_id FROM sharing o
              JOIN memory_vectorsketch k ON k.model = %(model)s AND k.owner_id = o.owner_id))
    SELECT chunk_key, document_id, -min(distance), own, hidden FROM (
        SELECT f.*, count(*) FILTER (WHERE is_own) OVER () AS own,
               count(*) FILTER (WHERE is_own AND s.id IS NULL) OVER () AS hidden, s.id IS NOT NULL AS is_seen
          FROM ((SELECT v.*, true AS is_own FROM candidate c CROSS JOIN LATERAL (
                    SELECT v.chunk_key, v.document_id, v.embedding <#> {query} AS distance FROM memory_vector v
                     WHERE v.chunk_key = c.key AND v.model = %(model)s AND v.owner_id = %(user)s OFFSET 0) v
                  ORDER BY distance LIMIT %(rows)s)
                UNION ALL
                (SELECT v.*, true FROM bare d CROSS JOIN LATERAL (
                    SELECT v.chunk_key, v.document_id, v.embedding <#> {query} AS distance FROM memory_vector v
                     WHERE {of_model} AND v.owner_id = %(user)s AND v.document_id = d.id OFFSET 0) v
                  ORDER BY distance LIMIT %(rows)s)
                UNION ALL
                (SELECT v.chunk_key, v.document_id, v.embedding <#> {query} AS distance, true
                   FROM memory_vector v WHERE {of_model} AND v.owner_id = %(user)s {more}
                    AND NOT EXISTS (SELECT FROM sketched)
                  ORDER BY distance LIMIT %(rows)s)
                UNION ALL
                (SELECT v.*, false FROM shared c CROSS JOIN LATERAL (
                    SELECT v.chunk_key, v.document_id, v.embedding <#> {query} AS distance FROM memory_vector v
                     WHERE v.chunk_key = c.key AND v.model = %(model)s AND v.owner_id = c.owner_id OFFSET 0) v
                  ORDER BY distance LIMIT %(rows)s)
                UNION ALL
                (SELECT v.*, false FROM apart d CROSS JOIN LATERAL (
                    SELECT v.chunk_key, v.document_id, v.embedding <#> {query} AS distance FROM memory_vector v
                     WHERE {of_model} AND v.owner_id = d.owner_id AND v.document_id = d.id {more} OFFSET 0) v
                  ORDER BY distance LIMIT %(rows)s)) f
          LEFT JOIN visible s ON s.id = f.document_id) found
     WHERE is_seen GROUP BY chunk_key, document_id, own, hidden ORDER BY 3 DESC, chunk_key LIMIT %(limit)s
"""
# By document throughout: for a scope that is narrower than all that somebody may see.
_OF_DOCUMENTS: Final = """
    SELECT chunk_key, document_id, -min(distance), 0, 0 FROM (
        SELECT v.chunk_key, v.document_id, v.embedding <#> {query} AS distance
          FROM visible d JOIN memory_vector v ON v.owner_id = d.owner_id AND v.document_id = d.id
         WHERE {of_model} {more}
         ORDER BY distance LIMIT %(rows)s) found
     GROUP BY chunk_key, document_id ORDER BY 3 DESC, chunk_key LIMIT %(limit)s
"""
# A chunk that has a vector of the current model is found by that alone.
_NOT_ANEW: Final = (
    "AND NOT EXISTS (SELECT FROM memory_vector n WHERE n.chunk_key = v.chunk_key AND n.model = %(current)s)"
)
_WHOLE_DOCUMENTS: Final = """,
    closest AS MATERIALIZED (
        SELECT d.id, d.owner_id, -(w.embedding <#> {query}) AS score
          FROM visible d JOIN memory_documentvector w ON w.document_id = d.id
         WHERE w.model = %(model)s {more} ORDER BY w.embedding <#> {query}, d.id LIMIT %(limit)s)
    SELECT d.id, d.score, coalesce(best.chunk_key, first.key)
      FROM closest d
      LEFT JOIN LATERAL (
        SELECT v.chunk_key FROM memory_vector v
         WHERE {of_model} AND v.owner_id = d.owner_id AND v.document_id = d.id AND {within_best}
         ORDER BY v.embedding <#> {query}, v.chunk_key LIMIT 1) best ON true
      LEFT JOIN LATERAL (
        SELECT c.key FROM memory_chunk c WHERE c.document_id = d.id AND {within_first}
         ORDER BY c.ordinal LIMIT 1) first ON best.chunk_key IS NULL
     WHERE coalesce(best.chunk_key, first.key) IS NOT NULL
     ORDER BY d.score DESC, d.id
"""
_NOT_ANEW_WHOLE: Final = """
    AND NOT EXISTS (SELECT FROM memory_documentvector n WHERE n.document_id = d.id AND n.model = %(current)s)
"""
T = TypeVar("T", "Near", "NearDocument")


@dataclass(frozen=True, slots=True)
class Near:
    """`score`: the cosine of the chunk's best window, -1..1, higher is closer."""

    chunk_key: int
    document_id: UUID
    score: float


@dataclass(frozen=True, slots=True)
class NearDocument:
    """`score`: the cosine of its names and description, -1..1, higher is closer. `chunk_key`: its chunk that is nearest
    by itself, or its first one, if they have no vectors yet."""

    document_id: UUID
    score: float
    chunk_key: int


def nearest(cursor: Any, scope: Scope, query: QueryVector, *, limit: int) -> list[Near]:
    """Best first, at most `limit`. One query; one more where so many of the user's own nearest are not to be seen just
    now that others may be missing, and one for each older model while documents are embedded anew."""
    found = [_of_model(cursor, scope, one, query.model, limit) for one in (query, *query.older)]
    return [Near(one.chunk_key, one.document_id, score) for one, score in _merged(found, limit)]


def nearest_documents(cursor: Any, scope: Scope, query: QueryVector, *, limit: int) -> list[NearDocument]:
    """Documents as a whole, by their names and description, with a chunk of each; best first. As many queries as
    models."""
    found = []
    for one in (query, *query.older):
        more = "" if one.model == query.model else _NOT_ANEW_WHOLE
        sql = _WHOLE_DOCUMENTS.format(
            query=_QUERY,
            more=more,
            of_model=f"v.model = %(model)s AND {of_length(len(one.values))}",
            within_best=scope.within("v.chunk_key"),
            within_first=scope.within("c.key"),
        )
        cursor.execute(f"WITH {scope.visible} {sql}", _values(scope, one, query.model, limit))
        found.append([NearDocument(*row) for row in cursor.fetchall()])
    return [replace(one, score=score) for one, score in _merged(found, limit)]


def _of_model(cursor: Any, scope: Scope, query: QueryVector, current: str, limit: int) -> list[Near]:
    values = _values(scope, query, current, limit)
    parts = {
        "query": _QUERY,
        "of_model": f"v.model = %(model)s AND {of_length(len(query.values))}",
        "candidates": CANDIDATES.format(owner="%(user)s", wanted=_ENOUGH, seen=""),
        "shared": CANDIDATES.format(owner="o.owner_id", wanted="o.wanted", seen=_SEEN),
        "much": MUCH,
        "more": f"AND {scope.within('v.chunk_key')} {'' if query.model == current else _NOT_ANEW}",
    }
    if not scope.document_ids and scope.filters == Filters():
        cursor.execute(f"WITH {scope.visible} {_OF_A_PERSON.format(**parts)}", values)
        rows = cursor.fetchall()
        # Without a row nothing is told; then all that there was may have been hidden.
        if rows and (rows[0][4] == 0 or rows[0][3] < values["rows"]):
            return [Near(*row[:3]) for row in rows]
    cursor.execute(f"WITH {scope.visible} {_OF_DOCUMENTS.format(**parts)}", values)
    return [Near(*row[:3]) for row in cursor.fetchall()]


_ENOUGH: Final = "(SELECT wanted FROM sketched)"
_SEEN: Final = "AND k.document_id IN (SELECT id FROM visible)"
# The owner and the model are literals in what the server sees: it plans each search for what it is.
_QUERY: Final = "%(query)s::halfvec"


def of_length(dimensions: int) -> str:
    """What leads to the index that has vectors of that length."""
    return f"vector_dims(v.embedding) {'<=' if dimensions <= INDEXED_DIMENSIONS else '>'} {INDEXED_DIMENSIONS}"


def _values(scope: Scope, query: QueryVector, current: str, limit: int) -> dict[str, Any]:
    return {
        **scope.parameters,
        "model": query.model,
        "current": current,
        "query": literal(query.values),
        "rows": limit * WINDOWS,
        "limit": limit,
        **asked(query.values),
    }


def _merged(found: Sequence[Sequence[T]], limit: int) -> list[tuple[T, float]]:
    """With the score of each, best first. The cosines of two models do not compare: those of an older one are stretched
    over the range of the current one, best to best and worst to worst."""
    current, older = found[0], found[1:]
    merged = [(one, one.score) for one in current]
    for some in older:
        scores = _stretched([one.score for one in some], [one.score for one in current])
        merged += zip(some, scores, strict=True)
    return sorted(merged, key=lambda item: -item[1])[:limit]


def _stretched(older: Sequence[float], current: Sequence[float]) -> list[float]:
    """Both best first."""
    if not older or not current or older[0] == older[-1]:
        return list(older)
    share = (current[0] - current[-1]) / (older[0] - older[-1])
    return [current[-1] + (score - older[-1]) * share for score in older]
