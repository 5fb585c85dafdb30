"""A text as all scanners of wording read it: folded, decoded, and what all rules find in it. Read once for those that
follow each other."""

from functools import lru_cache
from typing import Final, NamedTuple

from agents.guardrails.folding import Disguises, View, decoded, fold
from agents.guardrails.wording import orders, unbinding
from agents.guardrails.wording.grammar import Grammar, Hit, words_of
from agents.guardrails.wording.tokens import Vocabulary, tokens
from agents.guardrails.wording.words import WORDS

_RULES: Final = (*orders.RULES, *unbinding.RULES)
_GRAMMAR: Final = Grammar(_RULES, WORDS)
_WORDS: Final = words_of(_RULES, WORDS)
_PARTS: Final = [part for word in _WORDS if not word.endswith("*") for part in word.split()]
_STEMS: Final = [word[:-1] for word in _WORDS if word.endswith("*")]
_VOCABULARY: Final = Vocabulary(_PARTS, _STEMS)
_DISGUISES: Final = Disguises.of(_PARTS)


class Reading(NamedTuple):
    view: View
    hits: list[Hit]


@lru_cache(maxsize=2)
def readings(text: str) -> tuple[Reading, ...]:
    """The text itself first, then what was hidden in it."""
    folded = fold(text)
    views = (folded, *decoded(text, folded, disguises=_DISGUISES))
    return tuple(Reading(view, _GRAMMAR.hits(list(tokens(view.text, _VOCABULARY)))) for view in views)
