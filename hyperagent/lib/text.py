"""Text as it crosses a boundary: what people, models, tools and files send is cleaned here once, and cut here."""

import re
from typing import Any

import orjson

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def clean_text(text: str) -> str:
    """Replaces what Postgres cannot store (NUL, lone surrogates) by U+FFFD; the rest stays as it was sent."""
    return _UNSTORABLE.sub("\ufffd", text)


def title_from(text: str, *, limit: int = 60) -> str:
    """A one-line title: the first line that says something, cut at a word, with an ellipsis where it was cut."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    line = " ".join(line.split())
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
