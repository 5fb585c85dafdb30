"""Orders to the assistant that are none of its user's: ignoring instructions, giving them away, sending data out."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from agents.guardrails.scanner import Certainty, Finding, Place, Scanner, Subject
from agents.guardrails.wording import orders
from agents.guardrails.wording.weighing import Weigher

_WEIGHER: Final = Weigher("injection", near=60, certain=1.8, kinds=orders.KINDS)
_OVERRIDE: Final = "override"
_WORD: Final = re.compile(r"[^\W\d_]+")
_QUOTED: Final = frozenset('"“”„«»‘’`')
_MOST_CHARS: Final = 100
_INSTRUCTIONS: Final = frozenset(
    _WORD.findall(
        "instruction instructions prompt prompts directives anweisung anweisungen instrucciones consignes istruzioni "
        "instruções"
    )
)
_ORDERED: Final = _INSTRUCTIONS.union(
    _WORD.findall(
        "please just now ignore disregard forget all any of your the these those previous prior above earlier "
        "preceding bitte jetzt ignoriere ignorieren vergiss missachte sie alle aller deine ihre die vorherigen "
        "bisherigen obigen "
        "ignora olvida todas las tus anteriores ignorez oublie oubliez toutes les tes vos précédentes dimentica tutte "
        "le tue precedenti esqueça as suas"
    )
)


def scan(text: str, subject: Subject) -> Sequence[Finding]:
    found = _WEIGHER.findings(text)
    if found and _is_bare(text):
        return [replace(one, certainty=Certainty.CERTAIN) if one.kind == _OVERRIDE else one for one in found]
    return found


def _is_bare(text: str) -> bool:
    """Whether it says to ignore the instructions and not a word more: nobody's mail, question or page is that. "My"
    instructions are whoever's who asks, and "the previous order" may be one of a shop."""
    words = set(_WORD.findall(text.lower())) if len(text) <= _MOST_CHARS else set()
    return words <= _ORDERED and not words.isdisjoint(_INSTRUCTIONS) and _QUOTED.isdisjoint(text)


SCANNER: Final = Scanner("injection", frozenset({Place.INPUT, Place.CONTENT}), scan, order=10)
