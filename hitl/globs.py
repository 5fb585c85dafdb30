"""Patterns with wildcards, matched in time that grows with the text alone. Pure; no regular expressions.

`*` stands for any characters but slashes, `**` for any characters, `?` for one that is no slash. A pattern has to
fit the whole text.
"""

from typing import Final

_SLASHES: Final = frozenset("/\\")


def glob_fits(pattern: str, text: str) -> bool:
    """Every place in the pattern that the text may have come to is one bit, and all of them move at once."""
    tokens = tokens_of(pattern)
    literal: dict[str, int] = {}
    one = star = anything = 0
    for place, token in enumerate(tokens):
        bit = 1 << place
        match token:
            case "*":
                star |= bit
            case "**":
                star |= bit
                anything |= bit
            case "?":
                one |= bit
            case _:
                letter = token[-1]
                literal[letter] = literal.get(letter, 0) | bit
    at = _past_stars(1, star)
    for letter in text:
        stay, step = (anything, 0) if letter in _SLASHES else (star, one)
        at = _past_stars((at & stay) | ((at & (literal.get(letter, 0) | step)) << 1), star)
        if not at:
            return False
    return bool(at >> len(tokens) & 1)


def tokens_of(pattern: str) -> list[str]:
    """Letters (marked by a leading backslash), `?`, `*` and `**`; neighbouring stars are one."""
    tokens: list[str] = []
    for letter in pattern:
        if letter == "*" and tokens and tokens[-1] in ("*", "**"):
            tokens[-1] = "**"
        elif letter in ("*", "?"):
            tokens.append(letter)
        else:
            tokens.append("\\" + letter)
    return tokens


def _past_stars(at: int, star: int) -> int:
    """A star may stand for nothing. No two of them are neighbours, so one step passes each."""
    return at | ((at & star) << 1)
