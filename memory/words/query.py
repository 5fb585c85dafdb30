"""What a query looks for by words, read from its text alone. Pure."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from memory.words.stop_words import STOP_WORDS
from memory.words.synonyms import other_names
from memory.words.terms import DEFAULT, LANGUAGES, stem
from memory.words.tokens import marks, tokens, tokens_of

MOST_WORDS: Final = 64
"""Of a longer query the first words count: a page of text as a query would name every term there is."""
_LONGEST: Final = 4_000
OTHER_NAME_WEIGHT: Final = 0.7
_FIGURES: Final = re.compile(
    r"\b(usd|eur|gbp|dollars?|euros?|millions?|billions?|thousands?|amounts?|how much|percent(age)?|revenues?|margins?"
    r"|ebitda?|eps|cogs|capex|ppn?e|net (income|sales|profit)|working capital|(quick|current|turnover|payout) ratio"
    r"|cash flows?|balance sheet|income statement|p ?& ?l)\b|[$€£%]",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Sought:
    """One word of a query: `word` as it was asked, the `term` that it is in documents of a language (`LANGUAGES`), and
    what it counts. `is_named`: it looks like the name of something, a company or a year, that a document may bear."""

    word: str
    language: str
    term: str
    weight: float
    is_named: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """`words`: one for each word and language. `other_names`: phrases that reports use for what the query names; their
    words are among `words`. `wants_figures`: the answer is an amount, likely in a table."""

    words: tuple[Sought, ...] = ()
    other_names: tuple[str, ...] = ()
    wants_figures: bool = False

    @property
    def own_words(self) -> tuple[str, ...]:
        """Those that the query itself has, without the stop words of its language."""
        own = tuple(dict.fromkeys(one.word for one in self.words if one.weight >= 1))
        stop_words = STOP_WORDS[_language_of(own)]
        return tuple(word for word in own if word not in stop_words)


def asked(query: str) -> Asked:
    found = [token for mark in marks(query[:_LONGEST]) for token in tokens(mark)]
    counts = Counter(found)
    # Stop words of one language are words of another, so none is left out here; they come last.
    words = dict(sorted(counts.items(), key=lambda item: item[0] in STOP_WORDS[DEFAULT])[:MOST_WORDS])
    phrases = other_names(found)
    more = dict.fromkeys(token for phrase in phrases for token in tokens_of(phrase) if token not in words)
    named = _named(query[:_LONGEST])
    sought = [one for word, count in words.items() for one in _sought(word, float(count), word in named)]
    sought += [one for word in more for one in _sought(word, OTHER_NAME_WEIGHT, False)]
    return Asked(tuple(sought), tuple(phrases), _FIGURES.search(query[:_LONGEST]) is not None)


def _language_of(words: Sequence[str]) -> str:
    """By most of their stop words, two at least: a war is none, and a man neither. English where that tells nothing."""

    def stopped(language: str) -> int:
        return sum(word in STOP_WORDS[language] for word in words)

    language = max(STOP_WORDS, key=stopped)
    return language if stopped(language) > 1 else DEFAULT


def _sought(word: str, weight: float, is_named: bool) -> Iterator[Sought]:
    for language in LANGUAGES:
        if word not in STOP_WORDS.get(language, ()):
            term = stem(word, language) if word.isalpha() else word
            yield Sought(word, language, term, weight, is_named)


def _named(query: str) -> set[str]:
    """The tokens of words with a digit, or with a capital where none is due."""
    found = set()
    is_first = True
    for mark in re.findall(r"\S+", query):
        if any(character.isdigit() for character in mark) or (mark[:1].isupper() and not is_first):
            found |= set(tokens_of(mark))
        is_first = mark.endswith((".", "?", "!", ":"))
    return found
