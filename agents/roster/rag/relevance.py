"""Whether what a search found has anything to do with the question. Pure.

Scores say how sure the search is, and compare across questions (`memory.retrieval.confidence`); the words of the
question are looked for in the passages beside that.
"""

from collections.abc import Sequence
from typing import Final

from agents.pipeline.languages import language_of
from agents.tools.values import Chunk, FoundChunks
from memory.words.terms import terms_of

SURE: Final = 0.5
VERY_SURE: Final = 0.8
HALF: Final = 0.5
MOST: Final = 0.66


def coverage(question: str, chunk: Chunk) -> float:
    """0..1: how many of the question's words the passage, its section or its file's name has."""
    language = language_of(question)
    asked = set(terms_of(question, language))
    at = chunk.metadata
    said = set(terms_of(f"{at.filename}\n{at.section_title or ''}\n{chunk.text}", language))
    return len(asked & said) / len(asked) if asked else 0.0


def is_relevant(question: str, found: FoundChunks, *, strictly: bool = False) -> bool:
    """`strictly`: for a model that invents what a passage does not say."""
    score = max((chunk.score for chunk in found.chunks), default=0.0)
    covered = max((coverage(question, chunk) for chunk in found.chunks), default=0.0)
    if strictly:
        return score >= VERY_SURE or (score >= SURE and covered >= MOST)
    return score >= SURE or covered >= HALF


def merged(first: Sequence[Chunk], second: Sequence[Chunk]) -> tuple[Chunk, ...]:
    """Both searches as one, each passage once with its better score, best first."""
    best: dict[str, Chunk] = {}
    for chunk in (*first, *second):
        known = best.get(chunk.chunk_id)
        if known is None or chunk.score > known.score:
            best[chunk.chunk_id] = chunk
    return tuple(sorted(best.values(), key=lambda chunk: -chunk.score))
