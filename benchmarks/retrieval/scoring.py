"""How good a ranking is. Pure."""

import math
from collections.abc import Mapping, Sequence


def ndcg(ranking: Sequence[str], relevant: Mapping[str, int], *, at: int = 10) -> float:
    """With linear gain, 0..1."""
    got = sum(relevant.get(one, 0) / math.log2(rank + 1) for rank, one in enumerate(ranking[:at], 1))
    best = sorted(relevant.values(), reverse=True)[:at]
    return got / sum(gain / math.log2(rank + 1) for rank, gain in enumerate(best, 1))


def recall(ranking: Sequence[str], relevant: Mapping[str, int], *, at: int) -> float:
    return len(set(ranking[:at]) & set(relevant)) / len(relevant)


def hit(ranking: Sequence[str], relevant: Mapping[str, int], *, at: int) -> float:
    return float(any(one in relevant for one in ranking[:at]))


def reciprocal_rank(ranking: Sequence[str], relevant: Mapping[str, int], *, at: int = 10) -> float:
    return next((1 / rank for rank, one in enumerate(ranking[:at], 1) if one in relevant), 0.0)
