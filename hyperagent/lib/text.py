"""Text as it crosses a boundary: what people, models, tools and files send is cleaned here once. How much of it is kept
or shown is for whoever keeps or shows it.
"""

import codecs
import re
from typing import Any

import orjson

from hyperagent.lib.clipping import one_line

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
# As in static/js/plain_text.js: marks of direction, signs without width, fillers that look like nothing, tags, and
# control characters but tab and line ends.
_HIDDEN = re.compile(
    "[\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5"
    "\\u180b-\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff9-\\ufffb"
    "\\U000e0000-\\U000e0fff]"
)

_TEXT_ENCODING = re.compile(
    r"ascii|utf[-_](8|16|32).*|iso8859.*|latin.*|cp\d+|koi8.*|big5.*|gb.*|euc.*|shift.*|iso2022.*|mac-.*|hz|johab|kz1048|"
    r"ptcp154|tis-620"
)
# What browsers and mail programs take an encoding for: who names the smaller one very often writes the larger, as
# quotes and euros in what is called ISO 8859-1.
_MEANT = {
    "ascii": "utf-8",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
    "shift_jis": "cp932",
}
# Names that Python does not know.
_ALSO_CALLED = {
    "iso-8859-8-e": "iso8859-8",
    "iso-8859-8-i": "iso8859-8",
    "windows-31j": "cp932",
    "windows-874": "cp874",
    "x-gbk": "gb18030",
    "x-sjis": "cp932",
}


def clean_text(text: str) -> str:
    """Replaces what Postgres cannot store (NUL, lone surrogates) by U+FFFD; the rest stays as it was sent."""
    if str.isascii(text) and "\0" not in text:  # known at once, where the pattern would look at each sign
        return text
    return _UNSTORABLE.sub("\ufffd", text)


def text_encoding(name: str) -> str:
    """Python's name of an encoding that texts are written in, or of a larger one that is meant by it; empty for any
    other that a stranger names. Some that Python knows are none of these, and take a time that grows with the square
    of the text."""
    try:
        known = codecs.lookup(_ALSO_CALLED.get(name.lower(), name)).name
    except (LookupError, ValueError):
        return ""
    return _MEANT.get(known, known) if _TEXT_ENCODING.fullmatch(known) else ""


def named_sign(sign: str) -> str:
    """A sign that cannot be seen, by its name: ⟨U+202E⟩."""
    return f"⟨U+{ord(sign):04X}⟩"


def revealed(text: str) -> str:
    """The text with whatever is written to deceive shown by name, so that it reads as a machine reads it."""
    return _HIDDEN.sub(lambda found: named_sign(found[0]), text)


def without_hidden(text: str) -> str:
    """The text without whatever is written to deceive."""
    return _HIDDEN.sub("", text)


def title_from(text: str, *, limit: int = 60) -> str:
    """A one-line title: the first line that says something, cut at a word, with an ellipsis where it was cut."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    line = one_line(line)
    if len(line) <= limit:
        return line
    head = line[:limit].rsplit(" ", 1)[0] if " " in line[:limit] else line[:limit]
    return head.rstrip(" ,;:.-") + "…"


def clean_value(value: Any) -> Any:
    """The same for every string in a JSON value, keys included."""
    match value:
        case str():
            return clean_text(value)
        case dict():
            return {clean_text(key): clean_value(item) for key, item in value.items()}
        case list() | tuple():
            return [clean_value(item) for item in value]
        case _:
            return value


def json_text(value: Any) -> str:
    """The value as JSON that Postgres takes, fast. Raises TypeError for what JSON cannot hold."""
    try:
        encoded = orjson.dumps(value)
    except TypeError:  # a lone surrogate, or something worse, which fails again
        encoded = orjson.dumps(clean_value(value))
    if b"\\u0000" in encoded:
        encoded = orjson.dumps(clean_value(value))
    return encoded.decode()


class GrowingText:
    """Text that comes in many small pieces. A piece of a few letters has fifty bytes of string around it, and many
    answers grow at once, so pieces are joined now and then."""

    __slots__ = ("_pieces",)
    JOINED_AFTER = 32

    def __init__(self) -> None:
        self._pieces: list[str] = []

    def append(self, piece: str) -> None:
        self._pieces.append(piece)
        if len(self._pieces) > self.JOINED_AFTER:
            self._pieces[:] = ["".join(self._pieces)]

    def clear(self) -> None:
        self._pieces.clear()

    def __str__(self) -> str:
        return "".join(self._pieces)
