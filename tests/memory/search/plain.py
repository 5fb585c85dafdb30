"""BM25 as a book has it, over terms that are there already: what the SQL must give to the last digits."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

K1 = 1.2


def bm25(chunks: Mapping[int, Sequence[str]], query: Sequence[str], *, b: float) -> dict[int, float]:
    """By key the score of every chunk that has a term of the query."""
    average = sum(map(len, chunks.values())) / len(chunks)
    scores: dict[int, float] = {}
    for term, times in Counter(query).items():
        having = {key: terms.count(term) for key, terms in chunks.items() if term in terms}
        idf = math.log(1 + (len(chunks) - len(having) + 0.5) / (len(having) + 0.5))
        for key, count in having.items():
            norm = K1 * (1 - b + b * len(chunks[key]) / average)
            scores[key] = scores.get(key, 0.0) + times * idf * count / (count + norm)
    return scores
