"""What a collection of chunks is like, and what follows for weighing them: one formula for all, no switch. Pure.

Measured on abstracts, chat turns and filings (README.md): the shorter the texts, the less their length says (b) and the
more their words do; the longer the documents, the more it matters to find the right one first.
"""

from dataclasses import dataclass
from typing import Final

K1: Final = 1.2
B: Final = 0.75
"""Of BM25 where words are all there is."""
SHORT_TERMS, LONG_TERMS = 30.0, 70.0
"""Texts of so many terms on average are wholly short, or not short at all."""
MANY_CHUNKS: Final = 10.0


@dataclass(frozen=True, slots=True)
class Shape:
    """Of what is in scope. `average_terms`: of a chunk. `languages`: by whose stems its words are found.
    `is_described`: whether there are vectors of documents as a whole, of whomever."""

    chunks: float
    documents: int
    average_terms: float
    languages: frozenset[str] = frozenset()
    is_described: bool = False

    @property
    def shortness(self) -> float:
        """0..1: of abstracts and pages 0, of turns of a conversation and of single facts 1."""
        return _between((LONG_TERMS - self.average_terms) / (LONG_TERMS - SHORT_TERMS))

    @property
    def depth(self) -> float:
        """0..1: 0 where every document is one chunk, 1 where they are long."""
        return _between((self.chunks / max(self.documents, 1) - 1) / (MANY_CHUNKS - 1))

    @property
    def b(self) -> float:
        """Of BM25 beside vectors: how far a long text is held against itself."""
        return B - 0.35 * self.shortness

    @property
    def keyword_share(self) -> float:
        """The dense leg has the rest."""
        return 0.4 + 0.15 * self.shortness

    @property
    def name_weight(self) -> float:
        """What a document's name adds to a chunk that has everything else: 1 would be as much again."""
        return 0.1 + 0.4 * self.depth

    @property
    def named_word_weight(self) -> float:
        """What is left in the text of a word that names a document: it has chosen the document already."""
        return 1 - 0.7 * self.depth

    @property
    def likeness_share(self) -> float:
        """How much of a chunk's score comes from the chunks that are like it."""
        return 0.5 - 0.2 * self.shortness - 0.3 * self.depth


def _between(value: float) -> float:
    return min(max(value, 0.0), 1.0)
