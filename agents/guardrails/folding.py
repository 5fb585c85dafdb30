"""A text as a scanner reads it: one form for what looks alike, and what is hidden in it decoded.

Knows no phrases. Every step is linear in the text; what is decoded is capped in number and size.
"""

import base64
import binascii
import codecs
import html
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

MOST_DECODED: Final = 24
"""Pieces of one text that are decoded; the rest of them is left alone."""
MOST_DECODED_CHARS: Final = 20_000
"""Characters of all decoded pieces together."""


@dataclass(frozen=True, slots=True)
class View:
    """`starts`: for each character of `text` the offset in the given text that it came from; None: the same. A decoded
    view stands for all of `begin` to `end` of the given text, and `coding` says how it was hidden."""

    text: str
    coding: str = ""
    starts: Sequence[int] | None = None
    begin: int = 0
    end: int = -1

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where in the given text it stands. `end` is behind the last character; at least one character is meant."""
        if self.coding:
            return self.begin, self.end
        if self.starts is None:
            return start, end
        return self.starts[start], self.starts[end - 1] + 1


def fold(text: str) -> View:
    """Case, accents, widths and lookalikes are evened out, what cannot be seen is dropped, s p a c e d letters are put
    together."""
    if text.isascii():
        return _joined(text.lower(), None)
    folded = text.translate(_FOLDED)
    if _OTHER.search(folded):
        folded = _MIXED.sub(_latin, folded)
    return _joined(folded, _starts(text))


def _starts(text: str) -> list[int] | None:
    """For each folded character where it came from. None if each became one."""
    uneven = [one for one in set(text) if len(_FOLDED[ord(one)]) != 1]
    if not uneven:
        return None
    starts: list[int] = []
    at = 0
    for found in re.finditer(f"[{re.escape(''.join(uneven))}]", text):
        starts += range(at, found.start())
        starts += [found.start()] * len(_FOLDED[ord(found[0])])
        at = found.end()
    starts += range(at, len(text))
    return starts


def fold_word(word: str) -> str:
    """A word of a table, as it would stand in a folded text."""
    return word.translate(_FOLDED)


def plain_letters(word: str) -> str:
    """A word whose letters were swapped for figures and signs: `1gn0r3` is `ignore`."""
    return word.translate(_LEET)


@dataclass(frozen=True, slots=True)
class Disguises:
    """Words that are looked for, as they look when they were turned round or shifted by 13 letters. A text is only
    turned round or shifted if it has some of them."""

    backwards: frozenset[str]
    shifted: frozenset[str]

    @classmethod
    def of(cls, words: Iterable[str]) -> "Disguises":
        known = {word for word in words if len(word) > _SHORT and word.isalpha()}
        return cls(frozenset(map(_backwards, known)) - known, frozenset(map(_shifted, known)) - known)


def decoded(text: str, folded: View, *, disguises: Disguises) -> Iterator[View]:
    """What the text hides: base64, hexadecimal, binary, percent, entities and escapes, characters that nobody sees,
    letters shifted by 13 or written backwards."""
    left = MOST_DECODED_CHARS
    for count, (piece, coding, begin, end) in enumerate(_hidden(text)):
        if count >= MOST_DECODED or left <= 0:
            return
        yield View(fold(piece[:left]).text, coding, None, begin, end)
        left -= len(piece)
    part = folded.text[: max(left, 0)]
    words = {word.strip(_AROUND) for word in part.split()}
    if len(words & disguises.backwards) >= _ENOUGH_WORDS:
        yield View(_backwards(part), "reversed", None, 0, len(text))
    if len(words & disguises.shifted) >= _ENOUGH_WORDS:
        yield View(_shifted(part), "rot13", None, 0, len(text))


# ---- single characters ----


class _Folding(dict[int, str]):
    """Each character is looked at once in the life of a process; there are no more than Unicode has."""

    def __missing__(self, code: int) -> str:
        folded = self[code] = _fold_one(chr(code))
        return folded


def _fold_one(one: str) -> str:
    if (alike := _ALIKE.get(one)) is not None:
        return alike
    for first in _LETTERED:
        if 0 <= (at := ord(one) - first) < len(_ALPHABET):
            return _ALPHABET[at]
    if unicodedata.category(one) == "Cf" or _is_selector(one):
        return ""
    bare = "".join(part for part in unicodedata.normalize("NFKD", one) if not "\u0300" <= part <= "\u036f")
    return unicodedata.normalize("NFC", bare).casefold()


def _is_selector(one: str) -> bool:
    return "\ufe00" <= one <= "\ufe0f" or "\U000e0100" <= one <= "\U000e01ef"


_ALPHABET: Final = "abcdefghijklmnopqrstuvwxyz"
_LETTERED: Final = (0x1F130, 0x1F150, 0x1F170, 0x1F1E6)
"""Where an alphabet of squared, circled or flag letters begins that no normal form turns into letters."""
_ALIKE: Final = {
    **dict(zip("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ", "abcdefghijklmnoprstuvwyz", strict=True)),
    **dict(zip("ıȷɑɡɩɯ", "ijagiw", strict=True)),
    **dict(zip("łŁđĐøØ", "llddoo", strict=True)),
    **dict.fromkeys("‘’‛ʼ＇`´", "'"),
    **dict.fromkeys("“”„‟«»「」『』〝〞＂", '"'),
    **dict.fromkeys("‐‑‒–—―−", "-"),
}
_FOLDED: Final = _Folding()

_LOOKALIKES: Final = str.maketrans("авсԁеԍһіјкӏмнорԛѕтцѵԝхуαβεηικνορτυχωγ", "abcdeghijklmhopqstuvwxyabenikvoptuxwy")
# A word of Latin letters and lookalikes of other alphabets; a word of one alphabet stays what it is.
_MIXED: Final = re.compile(
    r"(?<![a-z\u0370-\u052f])(?:[a-z]++[\u0370-\u052f]|[\u0370-\u052f]++[a-z])[a-z\u0370-\u052f]*+"
)
_OTHER: Final = re.compile(r"[\u0370-\u052f]")
_LEET: Final = str.maketrans("013457@$!", "oieastasi")


def _latin(found: re.Match[str]) -> str:
    return found[0].translate(_LOOKALIKES)


# ---- s p a c e d letters ----

_SPACED: Final = re.compile(r"(?<![^\W_])[a-z\u0400-\u052f](?:[ \t.\-_*/|,]{1,3}[a-z\u0400-\u052f]){3,}(?![^\W_])")
_BETWEEN: Final = re.compile(r"[^a-z\u0400-\u052f]+")


def _joined(text: str, starts: Sequence[int] | None) -> View:
    """Where the gaps differ, the wider ones part words."""
    letters: list[str] = []
    kept: list[int] = []
    at = 0
    for run in _SPACED.finditer(text):
        letters.append(text[at : run.start()])
        kept += range(at, run.start())
        narrow = min(len(gap) for gap in _BETWEEN.findall(run[0]))
        for offset, one in enumerate(run[0], run.start()):
            if one.isalpha():
                letters.append(one)
                kept.append(offset)
            elif offset - kept[-1] == narrow + 1:
                letters.append(" ")
                kept.append(offset)
        at = run.end()
    if not at:
        return View(text, "", starts)
    letters.append(text[at:])
    kept += range(at, len(text))
    return View("".join(letters), "", kept if starts is None else [starts[one] for one in kept])


# ---- what is hidden ----

_SHORT: Final = 4
_ENOUGH_WORDS: Final = 2
_AROUND: Final = ".,:;!?\"'()[]"
_TAGS: Final = re.compile(r"[\U000e0020-\U000e007e]{8,}")
_SELECTORS: Final = re.compile(r"[\ufe00-\ufe0f\U000e0100-\U000e01ef]{8,}")
_BASE64: Final = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{16,}={0,2}")
_HEX: Final = re.compile(r"(?<![0-9A-Za-z])(?:[0-9a-fA-F]{2}[ :,]?){10,}")
_BINARY: Final = re.compile(r"(?<![01])(?:[01]{8} ?){8,}")
_ESCAPES: Final = re.compile(r"(?:\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}) ?){6,}")
_ENTITIES: Final = re.compile(r"(?:&#x?[0-9a-fA-F]{1,6}; ?){6,}")
_RUN: Final = re.compile(r"\S+")
_PERCENT: Final = re.compile(r"%[0-9a-fA-F]{2}")
_FEW: Final = 3
_READABLE: Final = 0.9


def _hidden(text: str) -> Iterator[tuple[str, str, int, int]]:
    """What was hidden, how, and where it stands."""
    for found in _TAGS.finditer(text) if not text.isascii() else ():
        yield "".join(chr(ord(one) - 0xE0000) for one in found[0]), "hidden", found.start(), found.end()
    for sign, pattern, coding, read in _READERS:
        for found in pattern.finditer(text) if sign in text else ():
            if (piece := _readable(read, found[0])) is not None:
                yield piece, coding, found.start(), found.end()
    if text.count("%") >= _FEW:
        for found in _RUN.finditer(text):
            if len(_PERCENT.findall(found[0])) >= _FEW:
                yield unquote(found[0], errors="ignore").replace("+", " "), "percent", found.start(), found.end()


def _readable(read: Callable[[str], bytes | str], found: str) -> str | None:
    """None if it is nothing that people write."""
    try:
        raw = read(found)
        piece = raw if isinstance(raw, str) else raw.decode()
    except (ValueError, binascii.Error):
        return None
    clear = sum(one.isalnum() or one.isspace() or one in "'\".,!?:;-()" for one in piece)
    return piece if clear >= _READABLE * len(piece) > 0 and " " in piece.strip() else None


def _of_base64(found: str) -> bytes:
    bare = found.rstrip("=").replace("-", "+").replace("_", "/")
    return base64.b64decode(bare[: len(bare) - (len(bare) % 4 == 1)] + "=" * (-len(bare) % 4 % 3))


def _of_hex(found: str) -> bytes:
    return bytes.fromhex(found.replace(":", " ").replace(",", " "))


def _of_binary(found: str) -> bytes:
    bits = found.replace(" ", "")
    return bytes(int(bits[at : at + 8], 2) for at in range(0, len(bits), 8))


def _of_selectors(found: str) -> bytes:
    codes = [ord(one) for one in found]
    return bytes(code - 0xFE00 if code < 0xFE10 else code - 0xE0100 + 16 for code in codes)


def _of_escapes(found: str) -> str:
    return codecs.decode(found, "unicode_escape")


_READERS: Final[tuple[tuple[str, re.Pattern[str], str, Callable[[str], bytes | str]], ...]] = (
    ("", _SELECTORS, "hidden", _of_selectors),
    ("", _BASE64, "base64", _of_base64),
    ("", _HEX, "hexadecimal", _of_hex),
    ("011", _BINARY, "binary", _of_binary),
    ("\\", _ESCAPES, "escapes", _of_escapes),
    ("&#", _ENTITIES, "entities", html.unescape),
)


def _backwards(text: str) -> str:
    return text[::-1]


def _shifted(text: str) -> str:
    return codecs.encode(text, "rot13")
