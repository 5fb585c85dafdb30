"""Which memories are told in a run, and why. Pure.

Memories are lexical: their words count more than their vectors (BM25 with k1 1.2 and b 0.4 weighs 0.6). What is pinned,
the profile, and how a person wants to be answered are told always.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from memory.kinds import MemoryKind, ProfileField
from memory.remembering.profile import PROJECTS, SEVERAL
from memory.remembering.values import Recalled

BY_WORDS: Final = 0.6
NEWER: Final = 0.04
"""At most so much for being new; it decides between equals."""
FADES_AFTER_DAYS: Final = 60.0
LEAST_CLOSE: Final = 0.30
"""Cosine below which a memory that shares no word with the question does not fit it."""
LEAST_SCORE: Final = 0.25
FITTING: Final = 8
STANDING: Final = 8
PINNED: Final = 10
CHARS: Final = 2_400
"""Of all texts together, profile apart."""
_ALWAYS: Final = frozenset({MemoryKind.PREFERENCE, MemoryKind.PROCEDURE})


@dataclass(frozen=True, slots=True)
class Candidate:
    """`words`: BM25, 0 where no word fits. `closeness`: cosine, None without vectors."""

    id: UUID
    kind: MemoryKind
    text: str
    field: ProfileField | None
    is_pinned: bool
    said_at: datetime
    words: float = 0.0
    closeness: float | None = None


def ranked(candidates: Sequence[Candidate], *, now: datetime) -> list[tuple[Candidate, float]]:
    """The candidates with their scores, 0..1, best first."""
    most_words = max((one.words for one in candidates), default=0.0)
    known = [one.closeness for one in candidates if one.closeness is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)
    scored = []
    for one in candidates:
        by_words = one.words / most_words if most_words else 0.0
        score = by_words
        if known:
            close = one.closeness if one.closeness is not None else low
            by_meaning = (close - low) / (high - low) if high > low else 1.0
            score = BY_WORDS * by_words + (1 - BY_WORDS) * by_meaning
        age_days = max(0.0, (now - one.said_at).total_seconds() / 86_400)
        scored.append((one, min(1.0, score * (1 - NEWER) + NEWER * math.exp(-age_days / FADES_AFTER_DAYS))))
    return sorted(scored, key=lambda pair: (-pair[1], -pair[0].said_at.timestamp(), str(pair[0].id)))


def chosen(candidates: Sequence[Candidate], *, now: datetime, limit: int = FITTING) -> list[Recalled]:
    """What is told: the profile, what is pinned, how the person wants to be answered, and what fits the question."""
    order = ranked(candidates, now=now)
    newest = sorted(candidates, key=lambda one: one.said_at, reverse=True)
    score_of = {one.id: score for one, score in order}
    told: dict[UUID, Recalled] = {}

    def tell(some: Iterable[Candidate], why: str) -> None:
        for one in some:
            told.setdefault(one.id, _recalled(one, why, score_of[one.id]))

    tell(_profile(newest), "It belongs to your profile.")
    free = [one for one in newest if one.field is None]
    tell([one for one in free if one.is_pinned][:PINNED], "You pinned it.")
    tell([one for one in free if one.kind in _ALWAYS][:STANDING], "It says how you want things done.")
    tell([one for one, score in order if one.field is None and _fits(one, score)][:limit], "It fits your question.")
    return _within(list(told.values()))


def _profile(newest: Iterable[Candidate]) -> list[Candidate]:
    found: dict[ProfileField, list[Candidate]] = {}
    for one in newest:
        if one.field is not None:
            found.setdefault(one.field, []).append(one)
    return [one for field, some in found.items() for one in some[: PROJECTS if field in SEVERAL else 1]]


def _fits(one: Candidate, score: float) -> bool:
    if one.words <= 0 and (one.closeness is None or one.closeness < LEAST_CLOSE):
        return False
    return score >= LEAST_SCORE


def _recalled(one: Candidate, why: str, score: float) -> Recalled:
    return Recalled(one.id, one.kind, one.text, one.said_at, why, round(score, 4), one.field)


def _within(told: list[Recalled]) -> list[Recalled]:
    """As many as there is room for, in their order; the profile always."""
    kept, room = [], CHARS
    for one in told:
        if one.field is None:
            if len(one.text) > room:
                continue
            room -= len(one.text)
        kept.append(one)
    return kept
