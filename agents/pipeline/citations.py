"""Numbers in square brackets that name sources: given, changed, checked and read. Pure.

A citation is `[1]`, `[1][2]`, `[1, 2]` or `[1-3]` in prose. What stands in code or in a formula is none, nor is
the text of a link.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from agents.engine.events import Source

CHECKS: Final = 10
# A fence that nobody closes goes on to the end; a code span does not go beyond its paragraph. Formulas are what the
# page sets as such (static/js/math.js): "$5 and $6" are prices.
_CODE = re.compile(
    r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|(?<!`)(`{1,2})(?!`)(?:(?!\n\n).)+?(?<!`)\1(?!`)"
    r"|(?<!\\)(?:\$\$(?:\\.|[^\\$])+?\$\$|\\\[(?:(?!\\\[).)+?\\\]|\\\((?:(?!\\\(|\n\n).)+?\\\))"
    r"|(?<![\\$])\$(?![\s$]|\d[\d.,]*\s)(?:\\[^\n]|[^\\$\n])+?(?<![\s\\])\$(?!\w)",
    re.DOTALL,
)
# The spaces are taken from their first one only: tried from each of them, a long run would take minutes.
_CITATION = re.compile(r"(?<![ \t])([ \t]*+)\[(\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*)\](?!\()")
_RANGE = re.compile(r"(\d+)\s*[–-]\s*(\d+)")


@dataclass(frozen=True, slots=True)
class Numbered:
    """`sources`: all of them without doubles, the first is number 1. `mappings`: for each group that was given, from
    its own numbers to these."""

    sources: tuple[Source, ...]
    mappings: tuple[dict[int, int], ...]


def number(groups: Iterable[Sequence[Source]]) -> Numbered:
    """Puts the sources of several texts, each numbered for itself, into one numbering."""
    numbers: dict[tuple[object, ...], int] = {}
    sources: list[Source] = []
    mappings = []
    for group in groups:
        mapping = {}
        for own, source in enumerate(group, start=1):
            identity = _identity(source)
            if identity not in numbers:
                sources.append(source)
                numbers[identity] = len(sources)
            mapping[own] = numbers[identity]
        mappings.append(mapping)
    return Numbered(tuple(sources), tuple(mappings))


def renumber(text: str, mapping: Mapping[int, int]) -> str:
    """The text with every citation by its new number; those that have none are taken out."""

    def renumbered(match: re.Match[str]) -> str:
        numbers = _numbers_in(match[2], mapping)
        if numbers is None:
            return match[0]
        new = dict.fromkeys(mapping[number] for number in numbers if number in mapping)
        return match[1] + "".join(f"[{number}]" for number in new) if new else ""

    return _in_prose(text, lambda prose: _CITATION.sub(renumbered, prose))


def check(text: str, count: int) -> str:
    """The text without citations of sources that do not exist; there are `count` of them."""
    known = {number: number for number in range(1, count + 1)}
    # What stood around a number that was taken out may be a citation now; a text made of nothing else has to end.
    for _ in range(CHECKS):
        before, text = text, renumber(text, known)
        if text == before:
            break
    return text


def cited(text: str, count: int) -> tuple[int, ...]:
    """The numbers, of 1 to `count`, that the text names, in order."""
    known = {number: number for number in range(1, count + 1)}
    found: set[int] = set()

    def collect(prose: str) -> str:
        for match in _CITATION.finditer(prose):
            found.update(_numbers_in(match[2], known) or ())
        return prose

    _in_prose(text, collect)
    return tuple(sorted(found & known.keys()))


def _identity(source: Source) -> tuple[object, ...]:
    place = source.url.partition("#")[0].rstrip("/") if source.url else source.source
    return source.type, place, source.document_id, source.page, source.section


def _numbers_in(inside: str, known: Mapping[int, int]) -> list[int] | None:
    """The numbers of a bracket; None if it is none of ours: it has a zero, or a range that is not all known."""
    numbers: list[int] = []
    for part in re.split(r"[,;]", inside):
        span = _RANGE.fullmatch(part.strip())
        if span is not None:
            first, last = int(span[1]), int(span[2])
            if first >= last or first not in known or last not in known:
                return None
            numbers.extend(range(first, last + 1))
        elif part.strip().isdecimal() and int(part) > 0:
            numbers.append(int(part))
        else:
            return None
    return numbers


def _in_prose(text: str, change: Callable[[str], str]) -> str:
    """The text with what is neither code nor a formula changed."""
    pieces = []
    at = 0
    for code in _CODE.finditer(text):
        pieces += [change(text[at : code.start()]), code[0]]
        at = code.end()
    return "".join([*pieces, change(text[at:])])
