"""How sure a search may be that it found something at all, 0..1, comparable across queries and collections. Pure.

Fitted on questions of six collections (abstracts, turns of conversations, filings) asked in their own collection and in
the five others: with the local model and words a right one is told from a wrong one in 98.9 of 100 pairs (README.md).
What lies in the collection but does not answer is beyond it: that takes reading.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Final

from memory.retrieval.keyword import ByWords
from memory.retrieval.ranking import Ranked
from memory.retrieval.shape import Shape

_LOOKED_AT: Final = 10
_COVERED_BY: Final = 3


def confidence(
    ranking: Sequence[Ranked], words: ByWords, own_words: Sequence[str], shape: Shape, *, by_vectors: bool
) -> float:
    """Half sure at a cosine of .49 with a third of the query's weight in words that the chunk has."""
    if not ranking:
        return 0.0
    cosine = max((one.closeness for one in ranking[:_LOOKED_AT]), default=0.0)
    parts = {hit.chunk_key: hit.parts for hit in words.hits}
    covered = max(coverage(parts.get(one.candidate.key, {}), words, own_words, shape) for one in ranking[:_COVERED_BY])
    if not by_vectors:
        return _logistic(10 * covered - 2.7)
    if not own_words:
        return _logistic(10 * cosine - 4.4)
    return _logistic(10 * cosine + 2.5 * covered - 5.6)


def coverage(parts: Mapping[str, float], words: ByWords, own_words: Sequence[str], shape: Shape) -> float:
    """How much of what the query's words weigh a chunk has: rare ones weigh more, those that stand nowhere most."""
    nowhere = math.log(1 + (shape.chunks + 0.5) / 0.5)
    weights = {word: words.words[word].idf or nowhere for word in own_words if word in words.words}
    total = sum(weights.values())
    return sum(weight for word, weight in weights.items() if word in parts) / total if total else 0.0


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-value))
