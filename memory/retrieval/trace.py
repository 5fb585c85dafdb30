"""What each stage of a search returned, as JSON for the page that shows it, and how long it took. Decides nothing."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, Final

from memory.embedding.asking import QueryVector
from memory.retrieval.candidates import Candidate
from memory.retrieval.keyword import ByWords
from memory.retrieval.ranking import Ranked
from memory.retrieval.shape import Shape
from memory.values import Wanted
from memory.vectors.nearest import Near, NearDocument
from memory.words.query import Asked
from memory.words.terms import DEFAULT

SHOWN: Final = 50
"""Of each stage; the rest changes nothing that people look at."""


class Trace:
    def __init__(self) -> None:
        self._began_s = time.perf_counter()
        self._took_ms: dict[str, float] = {}
        self._noted: dict[str, Any] = {}

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        began_s = time.perf_counter()
        yield
        self._took_ms[stage] = _ms(began_s)

    def note_query(self, wanted: Wanted, sought: Asked, vector: QueryVector | None, shape: Shape) -> None:
        filters = {name: str(value) for name, value in asdict(wanted.filters).items() if value}
        self._noted["query"] = {
            "mode": wanted.mode.value,
            "terms": sorted({one.term for one in sought.words if one.language == DEFAULT and one.weight >= 1}),
            "names_of_documents": sorted({one.word for one in sought.words if one.is_named}),
            "other_names": list(sought.other_names),
            "wants_figures": sought.wants_figures,
            "filters": filters,
            "document_ids": [str(one) for one in wanted.document_ids],
            "model": vector.model if vector else None,
        }
        self._noted["scope"] = {
            "documents": shape.documents,
            "chunks": int(shape.chunks),
            "average_terms": round(shape.average_terms, 1),
        }
        self._noted["weights"] = {
            name: round(getattr(shape, name), 3)
            for name in ("b", "keyword_share", "name_weight", "named_word_weight", "likeness_share")
        }

    def note_legs(
        self, words: ByWords, near: Sequence[Near], whole: Sequence[NearDocument], found: Sequence[Candidate]
    ) -> None:
        chunk_ids = {one.key: str(one.chunk_id) for one in found}
        self._noted["words"] = {word: asdict(seen) for word, seen in words.words.items() if seen.chunks or seen.names}
        self._noted["names"] = [
            {"document_id": str(document), "share": round(share, 4)}
            for document, share in sorted(words.names.items(), key=lambda item: -item[1])[:SHOWN]
        ]
        self._noted["keyword"] = [
            {
                "chunk_id": chunk_ids.get(hit.chunk_key),
                "rank": rank,
                "score": round(hit.score, 4),
                "parts": dict(hit.parts),
            }
            for rank, hit in enumerate(words.hits[:SHOWN], 1)
        ]
        self._noted["dense"] = [
            {"chunk_id": chunk_ids.get(one.chunk_key), "rank": rank, "score": round(one.score, 4)}
            for rank, one in enumerate(near[:SHOWN], 1)
        ]
        self._noted["described"] = [
            {"document_id": str(one.document_id), "rank": rank, "score": round(one.score, 4)}
            for rank, one in enumerate(whole, 1)
        ]

    def note_ranking(self, ranking: Sequence[Ranked], sure: float) -> None:
        self._noted["fused"] = [
            {"chunk_id": str(one.candidate.chunk_id), "rank": rank, **why(one)}
            for rank, one in enumerate(ranking[:SHOWN], 1)
        ]
        self._noted["confidence"] = round(sure, 4)

    def as_json(self) -> dict[str, Any]:
        return {**self._noted, "took_ms": {**self._took_ms, "all": _ms(self._began_s)}}


def why(one: Ranked) -> dict[str, Any]:
    """What a passage's place is made of."""
    return {
        "bm25": round(one.bm25, 4),
        "cosine": None if one.candidate.cosine is None else round(one.candidate.cosine, 4),
        "keyword": round(one.keyword, 4),
        "dense": round(one.dense, 4),
        "figures": round(one.figures, 4),
        "like": None if one.like is None else round(one.like, 4),
        "name": round(one.name, 4),
        "described": round(one.described, 4),
        "score": round(one.score, 4),
    }


def _ms(since_s: float) -> float:
    return round((time.perf_counter() - since_s) * 1000, 2)
