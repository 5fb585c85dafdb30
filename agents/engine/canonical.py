"""One way to write a JSON value down, so that equal values have equal hashes on every machine."""

import hashlib
import json
import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from pydantic_core import from_json

INT_END: Final = 2**63
_ENCODING: Final = ("utf-8", "surrogatepass")
_LONG: Final = b"0" * 18
_DIGITS: Final = bytes(ord("0") if byte in b"0123456789" else ord(" ") for byte in range(256))


@dataclass(frozen=True, slots=True, eq=False)
class Written:
    """A JSON value in its canonical form, as bytes: for what is long, and only hashed and stored. As a value it takes
    twice the place, and many runs hold theirs while they wait for an answer. `parts`: pieces of the text, which may be
    others' too. `kept`: what is stored of it, where that is not all; the hash is always that of all."""

    parts: tuple[bytes, ...]
    kept: tuple[bytes, ...] = ()

    @classmethod
    def of(cls, value: Any) -> "Written":
        """Of the value as `plain` gives it. Raises as `canonical` does."""
        return cls.in_form(canonical(value).encode(*_ENCODING))

    @classmethod
    def in_form(cls, *parts: bytes) -> "Written":
        """Of a value that is in its canonical form already."""
        text = b"".join(parts)
        return cls((canonical(_value(text)).encode(*_ENCODING),) if _may_change(text) else parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Written) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    @property
    def text(self) -> bytes:
        return b"".join(self.parts)

    @property
    def stored(self) -> bytes:
        return b"".join(self.kept) if self.kept else self.text

    @property
    def value(self) -> Any:
        return _value(self.stored)


def canonical(value: Any) -> str:
    """The value as JSON with sorted keys, without spaces. Raises ValueError for NaN, TypeError for what is not JSON."""
    return _WRITE.encode(value)


def digest(value: Any) -> bytes:
    """SHA-256 of the canonical form: 32 bytes."""
    if value is None:
        return _OF_NOTHING
    text = value.text if isinstance(value, Written) else canonical(value).encode(*_ENCODING)
    return hashlib.sha256(text).digest()


def _value(text: bytes) -> Any:
    if not _may_change(text):
        try:
            # Holds the names of fields once for all values; each of ours would have its own.
            return from_json(text, cache_strings="keys")
        except ValueError:  # a lone surrogate, or very deep
            pass
    return _READ.decode(text.decode(*_ENCODING))


def plain(value: Any) -> Any:
    """The value as it comes back from storage, so that the first run and a replay see the same.

    Tuples become lists. Storage may hand 1e16 back as an int and -0.0 without its sign, and its ints end at 64 bits:
    what is whole and large is an int up to there, and a float beyond.
    """
    if value is None:
        return None
    return _value(canonical(value).encode(*_ENCODING))


def _may_change(text: bytes) -> bool:
    """Whether storage may hand a number in it back as another. Looks for plain bytes, which takes a fortieth of what a
    pattern takes; words that look like such a number do no harm."""
    return b"e+" in text or b"-0.0" in text or _LONG in text.translate(_DIGITS)


def _int_or_float(text: str) -> int | float:
    if len(text) <= 18:
        return int(text)
    return _whole(int(text), text)


def _float_or_int(text: str) -> int | float:
    number = float(text)
    if "e" in text and number.is_integer():
        return _whole(int(Decimal(text)), text)
    return number or 0.0


def _whole(number: int, text: str) -> int | float:
    if -INT_END <= number < INT_END:
        return number
    rounded = float(text)
    if math.isinf(rounded):
        raise ValueError(f"a number of {len(text)} digits cannot be stored; give it as text")
    return rounded


# Most notes ask for nothing.
_OF_NOTHING: Final = hashlib.sha256(b"null").digest()
# Made once: most values are small, and making these takes longer than writing and reading one.
_WRITE: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
_READ: Final = json.JSONDecoder(parse_int=_int_or_float, parse_float=_float_or_int)
