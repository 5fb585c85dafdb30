"""What reports call the things that a question names by their everyday or short names, from `business.txt`. Pure after
the file is read, once."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

from memory.words.tokens import tokens_of

_FILE: Final = Path(__file__).with_name("business.txt")
_LONGEST: Final = 4


def other_names(tokens: Sequence[str]) -> list[str]:
    """Phrases that stand in reports for what these tokens of a question say, each once; none for most questions. A
    longer name is preferred: `cash flow statement` is not also `cash flow`."""
    table, taken, found = _table(), [False] * len(tokens), list[str]()
    for length in range(_LONGEST, 0, -1):
        for at in range(len(tokens) - length + 1):
            phrases = table.get(tuple(tokens[at : at + length]))
            if phrases and not any(taken[at : at + length]):
                taken[at : at + length] = [True] * length
                found += phrases
    return list(dict.fromkeys(found))


@cache
def _table() -> dict[tuple[str, ...], list[str]]:
    table: dict[tuple[str, ...], list[str]] = {}
    for line in _FILE.read_text(encoding="utf-8").splitlines():
        names, equals, phrases = line.partition("=")
        if not equals or line.startswith("#"):
            continue
        meant = [phrase.strip() for phrase in phrases.split("|")]
        for name in names.split("|"):
            table.setdefault(tuple(tokens_of(name)), []).extend(meant)
    return table
