"""The usual ways, in plain Python beside the product: BM25 (Lucene's idf, k1 1.2, b 0.75, English stems and stop
words), exact nearest vectors, reciprocal rank fusion of both with k 60, and half of each by min-max. No code of what is
measured is used."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import Stemmer  # type: ignore[import-not-found]

K1, B, RRF_K = 1.2, 0.75, 60
_WORD = re.compile(r"\b\w\w+\b")
_STOPPED = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this"
    " to was will with"
)
_STOP = frozenset(_STOPPED.split())
_stemmer = Stemmer.Stemmer("english")


@cache
def _stem(word: str) -> str:
    return str(_stemmer.stemWord(word))


def _terms(text: str) -> list[str]:
    return [_stem(word) for word in _WORD.findall(text.lower()) if word not in _STOP]


class Library:
    """The texts that one person may search. `windows`: vectors of unit length, `owners` the text of each."""

    def __init__(self, texts: Sequence[str], windows: Any, owners: Any) -> None:
        counts = [Counter(_terms(text)) for text in texts]
        self._lengths = [sum(one.values()) for one in counts]
        self._average = sum(self._lengths) / max(len(texts), 1)
        self._postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for at, one in enumerate(counts):
            for term, count in one.items():
                self._postings[term].append((at, count))
        self._windows, self._owners, self._size = windows, owners, len(texts)

    def bm25(self, query: str) -> dict[int, float]:
        """By the place of the text; those without any word of the query are left out."""
        scores: dict[int, float] = defaultdict(float)
        for term, times in Counter(_terms(query)).items():
            found = self._postings.get(term, [])
            idf = math.log(1 + (self._size - len(found) + 0.5) / (len(found) + 0.5))
            for at, count in found:
                norm = K1 * (1 - B + B * self._lengths[at] / self._average)
                scores[at] += times * idf * count / (count + norm)
        return dict(scores)

    def dense(self, vector: Any) -> dict[int, float]:
        """By the place of the text, of all of them."""
        cosines = np.full(self._size, -1.0)
        np.maximum.at(cosines, self._owners, self._windows @ vector)
        return dict(enumerate(cosines.tolist()))


def ranking(scores: Mapping[int, float]) -> list[int]:
    """Places, best first."""
    return sorted(scores, key=lambda at: (-scores[at], at))


def halved(*legs: Mapping[int, float]) -> list[int]:
    """By the mean of the legs' scores, each stretched over 0..1 first; what a leg does not know has 0 of it."""
    means: dict[int, float] = defaultdict(float)
    for scores in legs:
        least, most = min(scores.values(), default=0.0), max(scores.values(), default=0.0)
        for at, score in scores.items():
            means[at] += (score - least) / ((most - least) or 1.0) / len(legs)
    return ranking(means)


def fused(*rankings: Sequence[int]) -> list[int]:
    """By reciprocal rank."""
    scores: dict[int, float] = defaultdict(float)
    for one in rankings:
        for rank, at in enumerate(one, 1):
            scores[at] += 1 / (RRF_K + rank)
    return ranking(scores)
