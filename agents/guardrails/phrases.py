"""Phrases of several words as patterns: one that finds them, one that knows when one may have begun. Pure.

A phrase is written as slots with blanks between: `kill|hang yourself`. `_` is a blank within a slot. What stands before
`>>` must come before the phrase and is common enough that nobody would wait for it: only behind it a phrase begins.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_GAP: Final = r"[\s,*_]{1,4}"
_ENDS: Final = r"(?!\w)"
_STARTS: Final = r"(?<!\w)"


@dataclass(frozen=True, slots=True)
class Phrases:
    """`found`: what finds them; group 1 is all of one. `pending`: matches at the end of a text where one may have
    begun, None if each is one word. `begins`: the lower-case words with which they begin."""

    found: re.Pattern[str]
    pending: re.Pattern[str] | None
    begins: frozenset[str]


def phrases(*templates: str) -> Phrases:
    parted = [_parted(template) for template in templates]
    wholes = [_whole(before, slots) for before, slots in parted]
    begun = [_begun(slots) for _, slots in parted if len(slots) > 1]
    firsts = {one.replace("_", " ").split()[0] for _, slots in parted for one in slots[0].split("|")}
    pending = rf"{_STARTS}(?:{'|'.join(begun)})[\s,*_]{{0,4}}\Z" if begun else None
    return Phrases(
        found=re.compile(rf"{_STARTS}((?:{'|'.join(wholes)})){_ENDS}", re.IGNORECASE),
        pending=None if pending is None else re.compile(pending, re.IGNORECASE),
        begins=frozenset(firsts),
    )


def either(*patterns: re.Pattern[str] | None) -> re.Pattern[str] | None:
    """What matches where one of these does; None if there is none."""
    given = [pattern.pattern for pattern in patterns if pattern is not None]
    return re.compile("|".join(given), re.IGNORECASE) if given else None


def _parted(template: str) -> tuple[str, list[str]]:
    before, mark, after = template.partition(">>")
    slots = [one for slot in (after if mark else before).split() for one in _unfolded(slot)]
    return (before.strip() if mark else ""), slots


def _unfolded(slot: str) -> list[str]:
    """`in_the_end` alone is three slots: each of its words may be the last that has come."""
    return slot.split("_") if "|" not in slot else [slot]


def _whole(before: str, slots: Sequence[str]) -> str:
    return _GAP.join(map(_slot, [*before.split(), *slots]))


def _begun(slots: Sequence[str]) -> str:
    """The first slots of a phrase, as many as have come, but never all."""
    pattern = _begun_slot(slots[-2])
    for slot in reversed(slots[:-2]):
        pattern = rf"{_begun_slot(slot)}(?:{_GAP}{pattern})?"
    return pattern if len(slots[-1].split("_")) == 1 else f"{pattern}(?:{_GAP}(?:{_begun_words(slots[-1])}))?"


def _begun_slot(slot: str) -> str:
    """The slot, or the first words of what has several in it."""
    words = _begun_words(slot)
    return f"(?:{_slot(slot)}|{words})" if words else _slot(slot)


def _begun_words(slot: str) -> str:
    several = [one.split("_") for one in slot.split("|") if "_" in one]
    return "|".join(_GAP.join(map(_word, one[:size])) for one in several for size in range(1, len(one)))


def _slot(slot: str) -> str:
    return f"(?:{'|'.join(_GAP.join(map(_word, one.split('_'))) for one in slot.split('|'))})"


def _word(word: str) -> str:
    return re.escape(word).replace("'", "['’]")
