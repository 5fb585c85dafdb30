"""The ways over one collection, side by side: the textbook's four and the product. Prints nothing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any
from uuid import UUID

import numpy as np

from benchmarks.retrieval.loading import Loaded, descriptions, load
from benchmarks.retrieval.sets import Collection, Question
from benchmarks.retrieval.textbook import Library, fused, halved, ranking
from benchmarks.retrieval.vectors import Kept
from memory.embedding.asking import QueryVector
from memory.embedding.local import LocalModel
from memory.retrieval.search import search_by, text_for_vector
from memory.values import Found, Mode, Wanted
from memory.words.query import Asked, asked

TOP = 20
TEXTBOOK = ("bm25", "dense", "rrf", "min-max")
WAYS = (*TEXTBOOK, "ours, words", "ours")
Rankings = dict[str, dict[str, list[str]]]
"""By way and question, the ids of the texts, best first."""


Score = Callable[[Sequence[str], Mapping[str, int]], float]
"""Of a ranking, with what is relevant."""


@dataclass(frozen=True, slots=True)
class Vectors:
    """Of the texts: `windows` of unit length, and `owners` the place of the text of each. Of the questions, in their
    order: what the textbook takes, and what the product does."""

    windows: Any
    owners: Any
    plain: Any
    named: Sequence[QueryVector]


@dataclass(frozen=True, slots=True)
class Measured:
    collection: Collection
    loaded: Loaded
    vectors: Vectors
    rankings: Rankings
    sure: Mapping[str, float]

    def mean(self, way: str, score: Score) -> float:
        return fmean(score(self.rankings[way][one.id], one.relevant) for one in self.collection.questions)


def measure(collection: Collection, kept: Kept) -> Measured:
    texts = [text.whole for text in collection.texts]
    windows, owners = kept.of(collection.name, texts)
    about, _ = first_windows(kept, collection.name + "-described", descriptions(collection))
    loaded = load(collection, windows, owners, about)
    sought = [asked(question.text) for question in collection.questions]
    plain, _ = first_windows(kept, collection.name + "-questions", [one.text for one in collection.questions])
    _, vectors = first_windows(
        kept,
        collection.name + "-questions-named",
        [text_for_vector(one.text, words) for one, words in zip(collection.questions, sought, strict=True)],
    )
    known = Vectors(windows, owners, plain, vectors)
    rankings: Rankings = {way: {} for way in WAYS}
    for user in loaded.users:
        own = [at for at, text in enumerate(collection.texts) if text.user == user]
        library = library_of(collection, own, known)
        for number, question in enumerate(collection.questions):
            if question.user == user:
                for way, places in by_textbook(library, question, plain[number]).items():
                    rankings[way][question.id] = [collection.texts[own[at]].id for at in places[:TOP]]
    sure = {}
    for question, words, vector in zip(collection.questions, sought, vectors, strict=True):
        user_id = loaded.users[question.user]
        found = by_product(user_id, question, Mode.HYBRID, words, vector)
        rankings["ours"][question.id] = [loaded.texts[one.chunk_id] for one in found.passages]
        sure[question.id] = found.passages[0].score if found.passages else 0.0
        by_words = by_product(user_id, question, Mode.KEYWORD, words, None)
        rankings["ours, words"][question.id] = [loaded.texts[one.chunk_id] for one in by_words.passages]
    return Measured(collection, loaded, known, rankings, sure)


def by_product(
    user_id: UUID,
    question: Question,
    mode: Mode,
    words: Asked,
    vector: QueryVector | None,
    document_ids: tuple[UUID, ...] = (),
) -> Found:
    return search_by(user_id, Wanted(question.text, top_k=TOP, mode=mode, document_ids=document_ids), words, vector)


def first_windows(kept: Kept, name: str, texts: Sequence[str]) -> tuple[Any, list[QueryVector]]:
    """Of each text what the model reads of it, as numbers and as a search takes it."""
    windows, owners = kept.of(name, texts)
    first = np.array([windows[int(np.argmax(owners == at))] for at in range(len(texts))])
    return first, [QueryVector(LocalModel.name, [float(value) for value in one]) for one in first]


def library_of(collection: Collection, places: Sequence[int], vectors: Vectors) -> Library:
    """Of the texts at these places alone; what it finds are places among them."""
    place = {at: number for number, at in enumerate(places)}
    is_in = np.isin(vectors.owners, places)
    return Library(
        [collection.texts[at].whole for at in places],
        vectors.windows[is_in],
        np.array([place[int(owner)] for owner in vectors.owners[is_in]]),
    )


def by_textbook(library: Library, question: Question, vector: Any) -> dict[str, list[int]]:
    words, near = library.bm25(question.text), library.dense(vector)
    by_words, by_vectors = ranking(words), ranking(near)
    found = (by_words, by_vectors, fused(by_words, by_vectors), halved(words, near))
    return dict(zip(TEXTBOOK, found, strict=True))
