"""What a text is found by: its tokens without stop words, stemmed by its language. Pure; stems are remembered."""

from functools import lru_cache
from threading import Lock
from typing import Any, Final

import Stemmer  # type: ignore[import-not-found]

from memory.words.irregular import BASIC_FORM
from memory.words.stop_words import STOP_WORDS
from memory.words.tokens import LONGEST, marks, tokens

DEFAULT: Final = "en"
"""Of a document whose language is not known."""
PLAIN: Final = "--"
"""Of a document in a language that has no stems here: its words stand as they are."""
_STEMMERS: Final = {
    "en": "english",
    "de": "german",
    "fr": "french",
    "es": "spanish",
    "it": "italian",
    "nl": "dutch",
    "pt": "portuguese",
}
LANGUAGES: Final = (*_STEMMERS, PLAIN)
_REMEMBERED: Final = 200_000


def stemmed_as(language: str) -> str:
    """Which of `LANGUAGES` the texts of a language (ISO 639-1, or "") are stemmed as."""
    if not language:
        return DEFAULT
    return language if language in _STEMMERS else PLAIN


def terms_of(text: str, language: str) -> list[str]:
    """In the text's order, with repetitions. `language`: as `stemmed_as` takes it."""
    by = stemmed_as(language)
    return [term for mark in marks(text) for term in _terms(mark, by)]


@lru_cache(maxsize=_REMEMBERED)
def _terms(mark: str, by: str) -> tuple[str, ...]:
    """A mark's terms. Texts repeat their words: to remember these is five times as fast."""
    stopped = STOP_WORDS.get(by, frozenset())
    found = (token for token in tokens(mark) if token not in stopped)
    return tuple(stem(token, by) if token.isalpha() else token for token in found)


def stem(word: str, by: str) -> str:
    """`by`: one of `LANGUAGES`."""
    if by == DEFAULT:
        word = BASIC_FORM.get(word, word)
    stemmer = _stemmer(by)
    if stemmer is None:
        return word
    # It works in memory of its own: two threads at once would give each other's stems.
    with _ONE_AT_A_TIME:
        return str(stemmer.stemWord(word))[:LONGEST]


_ONE_AT_A_TIME: Final = Lock()


@lru_cache
def _stemmer(language: str) -> Any:
    return Stemmer.Stemmer(_STEMMERS[language]) if language in _STEMMERS else None
