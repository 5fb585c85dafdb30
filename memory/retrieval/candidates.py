"""What the ranking must know of the chunks that a leg has found: their place, their likeness to the query and to each
other. Two statements; what may be seen is asked again in each."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db.backends.utils import CursorWrapper

from memory.embedding.asking import QueryVector
from memory.sight import Scope
from memory.vectors.writing import literal

_FIGURES: Final = "(length(c.text) - length(translate(c.text, '0123456789', '')))::float8 / greatest(length(c.text), 1)"
_COSINE: Final = """CASE WHEN c.key = ANY(%(unknown)s) THEN (
                   SELECT max(-(v.embedding <#> %(query)s::halfvec)) FROM memory_vector v
                    WHERE v.chunk_key = c.key AND v.model = %(model)s) END"""


@dataclass(frozen=True, slots=True)
class Candidate:
    """`figures`: which share of its characters are digits, where that was asked for. `cosine`: to the query, of its
    best window; None without a vector. `has_pages`: its document has more than one."""

    key: int
    chunk_id: UUID
    document_id: UUID
    ordinal: int
    page: int
    has_pages: bool
    text_hash: str
    characters: int
    filename: str
    title: str
    figures: float
    cosine: float | None


def candidates(
    cursor: CursorWrapper,
    scope: Scope,
    keys: Iterable[int],
    *,
    query: QueryVector | None,
    known: Mapping[int, float],
    with_figures: bool,
) -> list[Candidate]:
    """Those of the chunks that are still there and still to be seen, in no order. `known`: the cosines that the dense
    leg has found already."""
    wanted = list(keys)
    cosine = _COSINE if query is not None else "NULL::float8"
    cursor.execute(
        f"""
        WITH {scope.visible}
        SELECT c.key, c.chunk_id, c.document_id, c.ordinal, c.page, m.total_pages > 1, md5(c.text),
               length(c.text), d.filename, d.title,
               {_FIGURES if with_figures else "0::float8"}, {cosine}
          FROM memory_chunk c JOIN visible d ON d.id = c.document_id
          JOIN memory_document m ON m.id = d.id WHERE c.key = ANY(%(keys)s)
        """,
        {
            **scope.parameters,
            "keys": wanted,
            "unknown": [key for key in wanted if key not in known],
            **({} if query is None else {"query": literal(query.values), "model": query.model}),
        },
    )
    return [_candidate(row, known) for row in cursor.fetchall()]


def _candidate(row: Sequence[Any], known: Mapping[int, float]) -> Candidate:
    key, cosine = row[0], row[-1]
    return Candidate(*[*row[:-1], known.get(key, cosine)])


def likenesses(
    cursor: CursorWrapper, scope: Scope, keys: Sequence[int], *, model: str, at_least: float
) -> Mapping[tuple[int, int], float]:
    """The cosine of each two of the chunks, each chunk being the mean of its windows; those below `at_least` and of
    chunks without vectors are left out."""
    cursor.execute(
        f"""
        WITH {scope.visible},
        picked AS MATERIALIZED (
            SELECT v.chunk_key AS key, l2_normalize(avg(v.embedding)::halfvec) AS mean
              FROM memory_chunk c JOIN visible d ON d.id = c.document_id
              JOIN memory_vector v ON v.chunk_key = c.key AND v.model = %(model)s
             WHERE c.key = ANY(%(keys)s) GROUP BY v.chunk_key),
        pair AS (
            SELECT a.key AS one, b.key AS other, -(a.mean <#> b.mean) AS cosine
              FROM picked a JOIN picked b ON a.key < b.key)
        SELECT json_agg(json_build_array(one, other, round(cosine::numeric, 4))) FROM pair WHERE cosine >= %(at_least)s
        """,
        {**scope.parameters, "keys": list(keys), "model": model, "at_least": at_least},
    )
    (pairs,) = cursor.fetchone()
    return {(one, other): cosine for one, other, cosine in pairs or ()}
