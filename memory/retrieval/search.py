"""One search, from the query to the passages: calls the legs, the ranking and the reading in turn, and notes what each
returned. Decides nothing itself; seven statements at most, however much there is."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from django.db import connection
from django.db.backends.utils import CursorWrapper

from hyperagent.lib.text import clean_text
from memory.embedding.asking import QueryVector, query_vector
from memory.retrieval.candidates import candidates, likenesses
from memory.retrieval.confidence import confidence, coverage
from memory.retrieval.keyword import ByWords, Hit, by_words, shape_of
from memory.retrieval.passages import passage_of, read_chunks
from memory.retrieval.ranking import (
    LIKE_AMONG,
    LIKE_AT_LEAST,
    Ranked,
    page_by_page,
    ranked,
    smoothed,
    unrepeated,
)
from memory.retrieval.shape import B, Shape
from memory.retrieval.trace import Trace, why
from memory.sight import Scope
from memory.values import Found, Mode, Passage, Wanted
from memory.vectors.nearest import Near, NearDocument, nearest, nearest_documents
from memory.words.query import Asked, asked

MOST_RESULTS: Final = 100
FROM_EACH_LEG: Final = 150
DESCRIBED: Final = 5
"""So many documents may be found by what their descriptions say."""
QUERY_CHARS: Final = 4_000
NO_VECTORS: Final = "Searched by words only: nothing makes vectors at the moment."
NO_VECTORS_AT_ALL: Final = "A search by meaning needs vectors, and nothing makes them at the moment. Search by words."
NO_WORDS: Final = "The question has no word to search for: it is made of signs, or of words that every text has."
NOTHING_ASKED: Final = "The question is empty."


def search(user_id: UUID, wanted: Wanted) -> Found:
    """What this user may see, best first. The scores go down with the rank and compare across queries. Raises nothing
    for a strange query: `Found.note` says what was done without."""
    query = clean_text(wanted.query).strip()[:QUERY_CHARS]
    if not query:
        return Found(wanted, note=NOTHING_ASKED)
    sought = asked(query)
    vector = None
    if wanted.mode is not Mode.KEYWORD:
        vector = query_vector(text_for_vector(query, sought), payer=user_id)
    return search_by(user_id, wanted, sought, vector)


def text_for_vector(query: str, sought: Asked) -> str:
    """With the names that reports use for what it asks: they bring its vector nearer to theirs."""
    return " ".join((query, *sought.other_names))


def search_by(user_id: UUID, wanted: Wanted, sought: Asked, vector: QueryVector | None) -> Found:
    """The same when what is sought is known already. `vector`: that of `text_for_vector`."""
    trace = Trace()
    scope = Scope(user_id, wanted.document_ids, wanted.filters)
    with connection.cursor() as cursor:
        shape = shape_of(cursor, scope)
        seeking = _Seeking(
            cursor,
            trace,
            scope,
            shape,
            mode=wanted.mode,
            sought=replace(sought, words=()) if wanted.mode is Mode.DENSE else sought,
            vector=None if wanted.mode is Mode.KEYWORD else vector,
        )
        trace.note_query(wanted, sought, vector, shape)
        passages = seeking.passages(top_k=wanted.top_k)
    return Found(wanted, passages, _note(wanted.mode, sought, vector), trace.as_json())


@dataclass(frozen=True, slots=True)
class _Seeking:
    """What every stage of one search works with."""

    cursor: CursorWrapper
    trace: Trace
    scope: Scope
    shape: Shape
    mode: Mode
    sought: Asked
    vector: QueryVector | None

    def passages(self, *, top_k: int) -> tuple[Passage, ...]:
        ranking, words = self._ranking()
        sure = confidence(ranking, words, self.sought.own_words, self.shape, by_vectors=self.vector is not None)
        self.trace.note_ranking(ranking, sure)
        chosen = page_by_page(unrepeated(ranking))[: min(max(top_k, 0), MOST_RESULTS)]
        if not chosen:
            return ()
        with self.trace.timed("passages"):
            scope = self._narrowed(one.candidate.document_id for one in chosen)
            chunks, around = read_chunks(self.cursor, scope, [one.candidate.key for one in chosen])
        return tuple(
            passage_of(chunks[one.candidate.key], around, score=score, why=why(one))
            for one, score in zip(chosen, _falling(chosen, sure), strict=True)
            if one.candidate.key in chunks
        )

    def _ranking(self) -> tuple[list[Ranked], ByWords]:
        cursor, trace, scope, shape, vector = self.cursor, self.trace, self.scope, self.shape, self.vector
        with trace.timed("keyword"):
            b = B if vector is None else shape.b
            words = by_words(cursor, scope, self.sought.words, shape=shape, b=b, limit=FROM_EACH_LEG)
        with trace.timed("dense"):
            near = nearest(cursor, scope, vector, limit=FROM_EACH_LEG) if vector is not None else []
        whole = self._described()
        hits: list[Hit | Near | NearDocument] = [*words.hits, *near, *whole]
        keys = dict.fromkeys(hit.chunk_key for hit in hits)
        scope = self._narrowed(hit.document_id for hit in hits)
        with_figures = self.sought.wants_figures and self.mode is Mode.HYBRID
        with trace.timed("candidates"):
            known = {one.chunk_key: one.score for one in near}
            found = (
                candidates(cursor, scope, keys, query=vector, known=known, with_figures=with_figures) if keys else []
            )
        trace.note_legs(words, near, whole, found)
        own_words = self.sought.own_words
        ranking = ranked(
            found,
            parts={hit.chunk_key: hit.parts for hit in words.hits},
            names=words.names,
            described={one.chunk_key: one.score for one in whole},
            covered={hit.chunk_key: coverage(hit.parts, words, own_words, shape) for hit in words.hits if whole},
            shape=shape,
            keyword_share=self._keyword_share(),
            wants_figures=with_figures,
        )
        if vector is not None and self.mode is Mode.HYBRID and ranking:
            with trace.timed("likeness"):
                best = [one.candidate.key for one in ranking[:LIKE_AMONG]]
                likeness = likenesses(cursor, scope, best, model=vector.model, at_least=LIKE_AT_LEAST)
            ranking = smoothed(ranking, likeness, share=shape.likeness_share)
        return ranking, words

    def _described(self) -> list[NearDocument]:
        """Of one document alone there is none to choose."""
        if self.vector is None or not self.shape.is_described or self.shape.documents < 2:
            return []
        with self.trace.timed("described"):
            return nearest_documents(self.cursor, self.scope, self.vector, limit=DESCRIBED)

    def _narrowed(self, found: Iterable[UUID]) -> Scope:
        """To the documents that were found in it: to ask again who may see them needs no look at all the others."""
        return replace(self.scope, document_ids=tuple(dict.fromkeys(found)))

    def _keyword_share(self) -> float:
        if self.vector is None:
            return 1.0
        return 0.0 if self.mode is Mode.DENSE else self.shape.keyword_share


def _falling(chosen: list[Ranked], sure: float) -> list[float]:
    """The first has how sure the search is, the others their share of it; never rising down the list."""
    best = chosen[0].score or 1.0
    scores, last = [], sure
    for one in chosen:
        last = min(last, sure * max(one.score, 0.0) / best)
        scores.append(round(last, 6))
    return scores


def _note(mode: Mode, sought: Asked, vector: QueryVector | None) -> str:
    if mode is Mode.DENSE:
        return NO_VECTORS_AT_ALL if vector is None else ""
    if mode is Mode.KEYWORD or vector is None:
        without_vectors = NO_VECTORS if mode is Mode.HYBRID else ""
        return without_vectors if sought.own_words else NO_WORDS
    return ""
