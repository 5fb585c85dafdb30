"""The keyword leg: BM25 over the postings of what the asker may see, in one statement. Knows no vectors and no fusion.

N, average length and document frequencies are those of the documents in scope, exactly. A document's name is a field of
its own with frequencies of its own; what it says of a document counts for each of its chunks. The longer the documents,
the more their first pages say so too: a file is named AAPL, and its cover says Apple.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from django.db.backends.utils import CursorWrapper

from memory.postings.writing import NAME_KEY
from memory.retrieval.shape import K1, Shape
from memory.sight import Scope
from memory.words.query import Sought
from memory.words.terms import DEFAULT, LANGUAGES, PLAIN

MANY_DOCUMENTS: Final = 64
"""With fewer documents of an owner in scope each is looked up by itself; else the owner's terms are read through."""

MOST_NAMES: Final = 300
COVER_CHUNKS: Final = 4
"""Of the first page at most: a report's cover is cut at each of its headings, and the company is in the second to
fourth piece."""

_STEMS: Final = f"""CASE WHEN v.language = '' THEN '{DEFAULT}'
    WHEN v.language IN ({", ".join(f"'{one}'" for one in LANGUAGES)}) THEN v.language ELSE '{PLAIN}' END"""


def _sql(scope: Scope) -> str:
    # Numbers are cast: Postgres takes a literal with a point for a numeric, which is ten times as slow. OFFSET 0, for
    # it would pair each document with each term of its language first, and sort all those.
    return f"""
WITH {scope.visible},
asked AS MATERIALIZED (
    SELECT * FROM unnest(%(words)s::int[], %(languages)s::text[], %(terms)s::text[], %(weights)s::float8[],
                         %(named)s::bool[]) AS asked(word, language, term, weight, is_named)),
owners AS (SELECT owner_id, count(*) AS documents FROM visible GROUP BY owner_id),
posted AS (
    SELECT p.* FROM owners o
      CROSS JOIN LATERAL (
        SELECT term, document_id, chunk_key, count, length FROM memory_posting
         WHERE owner_id = o.owner_id AND term = ANY(%(distinct)s) OFFSET 0) p
     WHERE o.documents > {MANY_DOCUMENTS}
    UNION ALL
    SELECT p.* FROM owners o
      JOIN visible v ON v.owner_id = o.owner_id
      CROSS JOIN LATERAL (
        SELECT term, document_id, chunk_key, count, length FROM memory_posting
         WHERE owner_id = v.owner_id AND term = ANY(%(distinct)s) AND document_id = v.id OFFSET 0) p
     WHERE o.documents <= {MANY_DOCUMENTS}),
hit AS MATERIALIZED (
    SELECT p.word, p.weight, p.is_named, p.document_id, p.chunk_key, p.count::float8 AS count, p.length
      FROM (SELECT * FROM posted JOIN asked USING (term) OFFSET 0) p
      JOIN visible v ON v.id = p.document_id AND {_STEMS} = p.language
     WHERE p.chunk_key = {NAME_KEY} OR {scope.within("p.chunk_key")}),
rarity AS MATERIALIZED (
    SELECT word, is_name, found::bigint, ln(1 + (among - found + 0.5) / (found + 0.5)) AS idf
      FROM (SELECT word, chunk_key = {NAME_KEY} AS is_name, count(*)::float8 AS found,
                   CASE WHEN chunk_key = {NAME_KEY} THEN %(documents)s::float8 ELSE %(chunks)s::float8 END AS among
              FROM hit GROUP BY 1, 2, 4) counted),
cover AS MATERIALIZED (
    SELECT c.key FROM (SELECT DISTINCT document_id FROM hit WHERE is_named AND %(depth)s::float8 > 0) h
      CROSS JOIN LATERAL (
        SELECT key FROM memory_chunk
         WHERE document_id = h.document_id AND ordinal < {COVER_CHUNKS} AND page = 1 OFFSET 0) c),
borne AS MATERIALIZED (
    SELECT word, document_id, max(CASE WHEN chunk_key = {NAME_KEY} THEN 1 ELSE %(depth)s::float8 END) AS strength
      FROM hit WHERE chunk_key = {NAME_KEY} OR (is_named AND chunk_key IN (SELECT key FROM cover)) GROUP BY 1, 2),
choice AS MATERIALIZED (
    SELECT word, ln(1 + (%(documents)s::float8 - found + 0.5) / (found + 0.5)) AS idf
      FROM (SELECT word, sum(strength) AS found FROM borne GROUP BY word) counted),
weighed AS MATERIALIZED (
    SELECT r.word, r.idf * CASE WHEN EXISTS (SELECT 1 FROM rarity n WHERE n.word = r.word AND n.is_name)
                                THEN %(named_word_weight)s::float8 ELSE 1 END AS named_idf, r.idf
      FROM rarity r WHERE NOT r.is_name),
part AS MATERIALIZED (
    SELECT h.document_id, h.chunk_key, h.word,
           h.weight * CASE WHEN h.is_named THEN w.named_idf ELSE w.idf END * h.count
               / (h.count + %(k1)s::float8 * (1 - %(b)s::float8 + %(b)s::float8 * h.length / %(average)s::float8))
               AS part
      FROM hit h JOIN weighed w ON w.word = h.word WHERE h.chunk_key <> {NAME_KEY}),
scored AS (SELECT document_id, chunk_key, sum(part) AS score FROM part GROUP BY 1, 2),
named AS (
    SELECT b.document_id, sum(b.strength * c.idf) / (SELECT sum(idf) FROM choice) AS share
      FROM borne b JOIN choice c USING (word) GROUP BY b.document_id),
best AS MATERIALIZED (
    SELECT s.document_id, s.chunk_key, s.score, coalesce(n.share, 0) AS share,
           s.score / max(s.score) OVER () + %(name_weight)s::float8 * coalesce(n.share, 0) AS total
      FROM scored s LEFT JOIN named n USING (document_id)
     ORDER BY total DESC, s.chunk_key LIMIT %(limit)s),
said AS (
    SELECT p.chunk_key, json_object_agg(p.word, round(p.part::numeric, 4)) AS parts
      FROM part p JOIN best b USING (chunk_key) GROUP BY p.chunk_key)
SELECT (SELECT json_agg(json_build_array(word, is_name, found, idf)) FROM rarity),
       (SELECT json_agg(json_build_array(document_id, share))
          FROM (SELECT * FROM named ORDER BY share DESC LIMIT {MOST_NAMES}) most),
       (SELECT json_agg(json_build_array(b.chunk_key, b.document_id, b.score, s.parts)
                        ORDER BY b.total DESC, b.chunk_key) FROM best b JOIN said s USING (chunk_key))
"""


@dataclass(frozen=True, slots=True)
class Hit:
    """`score` is BM25 of the chunk, and `parts` what each word gives to it. `total` is what it stands in line by: its
    share of the best score, and what its document's name adds."""

    chunk_key: int
    document_id: UUID
    score: float
    parts: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Word:
    """How many chunks and how many names have a word of the query, and its idf in each."""

    chunks: int = 0
    idf: float = 0.0
    names: int = 0
    name_idf: float = 0.0


@dataclass(frozen=True, slots=True)
class ByWords:
    """`hits`: best first. `names`: by document, how much of what names say of the query its name says, 0..1."""

    hits: tuple[Hit, ...] = ()
    words: Mapping[str, Word] = field(default_factory=dict)
    names: Mapping[UUID, float] = field(default_factory=dict)


def shape_of(cursor: CursorWrapper, scope: Scope) -> Shape:
    """One round trip."""
    cursor.execute(
        f"WITH {scope.visible}"
        " SELECT coalesce(sum(total_chunks), 0), count(*), coalesce(sum(total_terms), 0),"
        f" array_agg(DISTINCT {_STEMS}), EXISTS (SELECT FROM memory_documentvector) FROM visible v",
        scope.parameters,
    )
    chunks, documents, terms, languages, is_described = cursor.fetchone()
    return Shape(
        chunks=float(chunks),
        documents=documents,
        average_terms=max(float(terms) / max(float(chunks), 1), 1),
        languages=frozenset(languages or ()),
        is_described=is_described,
    )


def by_words(
    cursor: CursorWrapper, scope: Scope, asked: Sequence[Sought], *, shape: Shape, b: float, limit: int
) -> ByWords:
    """One round trip, none when nothing is asked for. `shape`: of the same scope."""
    asked = [one for one in asked if one.language in shape.languages]
    if not asked or not shape.chunks:
        return ByWords()
    words = list(dict.fromkeys(one.word for one in asked))
    number = {word: at for at, word in enumerate(words)}
    cursor.execute(
        _sql(scope),
        {
            **scope.parameters,
            "words": [number[one.word] for one in asked],
            "languages": [one.language for one in asked],
            "terms": [one.term for one in asked],
            "weights": [one.weight for one in asked],
            "named": [one.is_named for one in asked],
            "distinct": sorted({one.term for one in asked}),
            "depth": shape.depth,
            "documents": float(shape.documents),
            "chunks": shape.chunks,
            "average": shape.average_terms,
            "k1": K1,
            "b": b,
            "name_weight": shape.name_weight,
            "named_word_weight": shape.named_word_weight,
            "limit": limit,
        },
    )
    rarity, names, best = cursor.fetchone()
    return ByWords(
        hits=tuple(_hit(row, words) for row in best or ()),
        words=_words(words, rarity or ()),
        names={UUID(document): share for document, share in names or ()},
    )


def _hit(row: Sequence[Any], words: Sequence[str]) -> Hit:
    key, document, score, parts = row
    return Hit(key, UUID(document), score, {words[int(at)]: part for at, part in parts.items()})


def _words(words: Sequence[str], rarity: Sequence[Any]) -> dict[str, Word]:
    in_chunks = {at: (found, idf) for at, is_name, found, idf in rarity if not is_name}
    in_names = {at: (found, idf) for at, is_name, found, idf in rarity if is_name}
    return {word: Word(*in_chunks.get(at, (0, 0.0)), *in_names.get(at, (0, 0.0))) for at, word in enumerate(words)}
