"""Whether two texts say the same of a person, as far as words tell. Rather two memories than a wrong one. Pure."""

import re
from typing import Final

from memory.words.terms import terms_of
from memory.words.tokens import fold

LANGUAGE: Final = "en"
"""Memories are short and of many languages: all are stemmed alike, what is stored and what is asked."""
VERY_CLOSE: Final = 0.95
SHARED: Final = 0.75
_NOT: Final = re.compile(
    r"\b(?:not|no|never|none|neither|nor|cannot|without|nicht|kein\w*|nie|niemals|ohne|weder)\b|n['’]t\b", re.IGNORECASE
)
_NUMBER: Final = re.compile(r"\d+")
# What tells C++ from C#, and 5 % from 5 €.
_SIGNS: Final = re.compile(r"[#+%&@°€$£¥]")
# Who speaks: "My dog", "the user's dog".
_SPEAKER: Final = frozenset({"user", "person"})


def terms(text: str) -> list[str]:
    return terms_of(text, LANGUAGE)


def found_by(text: str, excerpt: str) -> list[str]:
    """The terms that a memory is found by: its own, and those of the words that it was made of. With these, Recall@10
    of BM25 rose from 0.58 to 0.63, over 786 questions about 1,283 facts."""
    return terms(text) + terms(excerpt)


def same_value(one: str, other: str) -> bool:
    """Of two values of a field."""
    return _signs(one) == _signs(other) and _plain(one) == _plain(other)


def same_sentence(one: str, other: str, closeness: float | None = None) -> bool:
    """`closeness`: their cosine, where it is known. Numbers, signs and negations must agree whatever the rest says."""
    if _signs(one) != _signs(other):
        return False
    if _plain(one) == _plain(other):
        return True
    if bool(_NOT.search(one)) != bool(_NOT.search(other)) or _NUMBER.findall(one) != _NUMBER.findall(other):
        return False
    first, second = _said(one), _said(other)
    if not first or not second:
        return False
    if first == second:
        return True
    shared = len(set(first) & set(second)) / len(set(first) | set(second))
    return closeness is not None and closeness >= VERY_CLOSE and shared >= SHARED


def _signs(text: str) -> list[str]:
    return _SIGNS.findall(text)


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", fold(text)))


def _said(text: str) -> list[str]:
    return [term for term in terms(text) if term not in _SPEAKER]
