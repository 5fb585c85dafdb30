"""The four ways over one collection, side by side: the textbook's three and the product. Prints nothing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any
from uuid import UUID

import numpy as np

from benchmarks.retrieval.loading import Loaded, load
from benchmarks.retrieval.sets import Collection, Question
from benchmarks.retrieval.textbook import Library, fused
from benchmarks.retrieval.vectors import Kept
from memory.embedding.asking import QueryVector
from memory.embedding.local import LocalModel
from memory.retrieval.search import search_by, text_for_vector
from memory.values import Found, Mode, Wanted
from memory.words.query import Asked, asked

TOP = 20
WAYS = ("bm25", "dense", "rrf", "ours, words", "ours")
Rankings = dict[str, dict[str, list[str]]]
"""By way and question, the ids of the texts, best first."""


Score = Callable[[Sequence[str], Mapping[str, int]], float]
"""Of a ranking, with what is relevant."""


@dataclass(frozen=True, slots=True)
class Measured:
    collection: Collection
    loaded: Loaded
    rankings: Rankings
    sure: Mapping[str, float]

    def mean(self, way: str, score: Score) -> float:
        return fmean(score(self.rankings[way][one.id], one.relevant) for one in self.collection.questions)


def measure(collection: Collection, kept: Kept) -> Measured:
    texts = [text.whole for text in collection.texts]
    windows, owners = kept.of(collection.name, texts)
    loaded = load(collection, windows, owners)
    sought = [asked(question.text) for question in collection.questions]
    plain, _ = first_windows(kept, collection.name + "-questions", [one.text for one in collection.questions])
    _, vectors = first_windows(
        kept,
        collection.name + "-questions-named",
        [text_for_vector(one.text, words) for one, words in zip(collection.questions, sought, strict=True)],
    )
    rankings: Rankings = {way: {} for way in WAYS}
    for user in loaded.users:
        _textbook(collection, user, windows, owners, plain, rankings)
    sure = {}
    for question, words, vector in zip(collection.questions, sought, vectors, strict=True):
        user_id = loaded.users[question.user]
        found = by_product(user_id, question, Mode.HYBRID, words, vector)
        rankings["ours"][question.id] = [loaded.texts[one.chunk_id] for one in found.passages]
        sure[question.id] = found.passages[0].score if found.passages else 0.0
        by_words = by_product(user_id, question, Mode.KEYWORD, words, None)
        rankings["ours, words"][question.id] = [loaded.texts[one.chunk_id] for one in by_words.passages]
    return Measured(collection, loaded, rankings, sure)


def by_product(user_id: UUID, question: Question, mode: Mode, words: Asked, vector: QueryVector | None) -> Found:
    return search_by(user_id, Wanted(question.text, top_k=TOP, mode=mode), words, vector)


def first_windows(kept: Kept, name: str, texts: Sequence[str]) -> tuple[Any, list[QueryVector]]:
    """Of each text what the model reads of it, as numbers and as a search takes it."""
    windows, owners = kept.of(name, texts)
    first = np.array([windows[int(np.argmax(owners == at))] for at in range(len(texts))])
    return first, [QueryVector(LocalModel.name, [float(value) for value in one]) for one in first]


def _textbook(collection: Collection, user: str, windows: Any, owners: Any, questions: Any, rankings: Rankings) -> None:
    own = [at for at, text in enumerate(collection.texts) if text.user == user]
    place = {at: number for number, at in enumerate(own)}
    is_own = np.isin(owners, own)
    library = Library(
        [collection.texts[at].whole for at in own],
        windows[is_own],
        np.array([place[int(owner)] for owner in owners[is_own]]),
    )
    for number, question in enumerate(collection.questions):
        if question.user != user:
            continue
        by_words, by_vectors = library.bm25(question.text), library.dense(questions[number])
        for way, ranking in (("bm25", by_words), ("dense", by_vectors), ("rrf", fused(by_words, by_vectors))):
            rankings[way][question.id] = [collection.texts[own[at]].id for at in ranking[:TOP]]
