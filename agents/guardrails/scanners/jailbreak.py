"""Questions that would talk the assistant out of its limits, its role or its secrets, or drown its instructions."""

import re
from collections.abc import Sequence
from itertools import islice
from typing import Final

from agents.guardrails.scanner import Certainty, Finding, Place, Scanner, Subject
from agents.guardrails.wording import unbinding
from agents.guardrails.wording.weighing import Weigher

_WEIGHER: Final = Weigher(
    "jailbreak",
    near=120,
    certain=2.2,
    kinds=unbinding.KINDS,
    ordinary=unbinding.ROLE,
    beside=unbinding.OF_ROLES,
)

_PIECE: Final = re.compile(r"\S+")
_BLOCK: Final = 60
_FEW: Final = 4
_LONG_PIECE: Final = re.compile(r"\S{120,}+")
_MOST_LONG: Final = 100
# What tables, rulers and rows of figures are made of.
_OF_TABLES: Final = frozenset("^|-=_.*#+~0123456789:,/ \\<>")


def scan(text: str, subject: Subject) -> Sequence[Finding]:
    return [*_WEIGHER.findings(text), *_flood(text)]


def _flood(text: str) -> list[Finding]:
    """The same few words or signs over and over."""
    place = _flooded(text)
    if place is None:
        return []
    return [Finding("jailbreak", "flood", *place, Certainty.SUSPECTED, unbinding.KINDS["flood"])]


def _flooded(text: str) -> tuple[int, int] | None:
    pieces = text.split() if len(text) > _BLOCK else []
    for first in range(0, len(pieces) - _BLOCK + 1, _BLOCK):
        if _is_flood(set(pieces[first : first + _BLOCK])):
            places = [found.span() for found in islice(_PIECE.finditer(text), first, first + _BLOCK)]
            return places[0][0], places[-1][1]
    long = (found.span() for found in islice(_LONG_PIECE.finditer(text), _MOST_LONG) if _is_flood(set(found[0])))
    return next(long, None)


def _is_flood(seen: set[str]) -> bool:
    return len(seen) <= _FEW and not _OF_TABLES.issuperset("".join(seen))


SCANNER: Final = Scanner("jailbreak", frozenset({Place.INPUT}), scan, order=11)
