"""A text's tokens: folded words, numbers and identifiers, in their order. Knows no language and no stem. Pure.

An identifier stands for itself and for its parts, a number for its digits however it is grouped:
`INV-2023-0042` is inv20230042, inv, 2023, 0042; `$82,959` and `82.959` are 82959; `FY2018` is fy2018, fy, 2018.
A single Latin letter or digit is none: as terms they cost BM25 .005 to .025 nDCG@10 on four collections.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

LONGEST: Final = 64
# Accents; how Hebrew and Arabic are spoken, which is written in few texts; and what Arabic words are drawn out with.
_MARKS: Final = re.compile("[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u064b-\u0652\u0670]")
# Scripts that put no space between words: Thai, Lao, Burmese, Khmer, kana, Han, Hangul.
# No-break and thin spaces group digits in many countries.
_THIN: Final = re.compile(r"(?<=\d)[\u00a0\u2009\u202f](?=\d{3}(?!\d))")
_DASHES: Final = {ord(dash): "-" for dash in "\u2010\u2011\u2012\u2013\u2212"}
_UNSPACED: Final = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
# No digit may follow, though points and commas may. To look beyond the first one, or along groups without end, would
# look through the rest of a list of numbers from each of them: a question of 4,000 characters took a minute.
_NUMBER: Final = r"\d{1,3}(?:[,.'\u2019\u00a0\u202f]\d{3}){1,21}(?:[.,]\d{1,2})?(?![,.]*\d)|\d+[.,]\d+(?![.,]*\d)"
_JOINED: Final = r"[^\W_]+(?:[-_./@&+:#]+[^\W_]+)*"
_TOKEN: Final = re.compile(rf"[{_UNSPACED}]+|(?<![^\W_])(?:{_NUMBER})|{_JOINED}")
_IS_UNSPACED: Final = re.compile(rf"[{_UNSPACED}]+")
_IS_NUMBER: Final = re.compile(_NUMBER)
_PART: Final = re.compile(r"[^\W_]+")
_SPLIT: Final = re.compile(rf"[{_UNSPACED}]+")
_HUMP: Final = re.compile(r"(?<=[a-z\d])(?=[A-Z][a-z])|(?<=[a-z])(?=[A-Z])")
_LETTERS_DIGITS: Final = re.compile(r"([a-z]{2,})(\d{2,})|(\d{4})([a-z]{1,2}\d?)")
_DECIMALS: Final = re.compile(r"[.,]\d{1,2}$")


def fold(text: str) -> str:
    """Without accents and case; full-width and other variant letters as the usual ones."""
    return text.lower() if text.isascii() else _plain(text).casefold()


def marks(text: str) -> list[str]:
    """The stretches of the text that hold a token or several, as they stand there but for accents."""
    return _TOKEN.findall(_composed(text))


def tokens(mark: str) -> list[str]:
    """Of one of `marks`. None is longer than `LONGEST` characters; what is longer is cut."""
    return [token for token in _tokens(mark) if len(token) > 1 or not token.isascii()]


def tokens_of(text: str) -> list[str]:
    return [token for mark in marks(text) for token in tokens(mark)]


def _tokens(mark: str) -> Iterator[str]:
    if mark.isalpha() and (mark.islower() or mark.istitle() or mark.isupper()):
        yield from _spaced(fold(mark))
    elif _IS_UNSPACED.fullmatch(mark):
        yield from _bigrams(fold(mark))
    elif _IS_NUMBER.fullmatch(mark):
        yield _digits(mark)[:LONGEST]
    else:
        yield from _identifier(mark)


def _composed(text: str) -> str:
    return text if text.isascii() else _plain(_THIN.sub(",", text)).translate(_DASHES)


def _plain(text: str) -> str:
    """Composed again after the accents are gone: Hangul would stay in pieces."""
    return unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFKD", text)))


def _bigrams(text: str) -> Iterator[str]:
    if len(text) == 1:
        yield text
    for at in range(len(text) - 1):
        yield text[at : at + 2]


def _spaced(word: str) -> Iterator[str]:
    """A word that may end in a script without spaces, as `iPhone用` does."""
    if word.isascii() or not _SPLIT.search(word):
        yield word[:LONGEST]
        return
    for run in _SPLIT.findall(word):
        yield from _bigrams(run)
    for rest in _SPLIT.split(word):
        if rest:
            yield rest[:LONGEST]


def _digits(number: str) -> str:
    """82,959 · 82.959 · 82 959 -> 82959; 1,234.50 -> 1234.50; 3,5 -> 3.5."""
    decimals = _DECIMALS.search(number)
    if decimals is None and re.fullmatch(r"\d+[.,]\d+", number) and not re.fullmatch(r"\d{1,3}[.,]\d{3}", number):
        return number.replace(",", ".")
    whole = number[: decimals.start()] if decimals else number
    return re.sub(r"\D", "", whole) + (f".{decimals.group()[1:]}" if decimals else "")


def _identifier(token: str) -> Iterator[str]:
    parts = [part for word in _PART.findall(token) for part in _HUMP.split(word)]
    folded = [fold(part) for part in parts]
    is_one = len(parts) == 1
    if not is_one and _is_name(token, parts):
        yield "".join(folded)[:LONGEST]
    for part in folded:
        yield from _spaced(part)
        if not part.isalpha():
            yield from _around_year(part)


def _is_name(token: str, parts: list[str]) -> bool:
    """Whether somebody might look for it as a whole, unlike `boundary-layer` and `and/or`."""
    if all(len(part) == 1 for part in parts):
        return True  # U.S. and Q&A
    return any(character.isdigit() or character in "_@" for character in token) or len(_PART.findall(token)) < len(
        parts
    )


def _around_year(part: str) -> Iterator[str]:
    """fy2018 -> fy, 2018; fy18 -> fy, 2018; 2018q3 -> 2018, q3."""
    found = _LETTERS_DIGITS.fullmatch(part)
    if found is None:
        return
    letters, digits, year, rest = found.groups()
    if letters:
        yield letters
        yield f"20{digits}" if letters == "fy" and len(digits) == 2 else digits
    else:
        yield year
        yield rest
