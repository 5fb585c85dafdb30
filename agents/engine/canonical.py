"""One way to write a JSON value down, so that equal values have equal hashes on every machine."""

import hashlib
import json
import math
from decimal import Decimal
from typing import Any, Final

INT_END: Final = 2**63


def canonical(value: Any) -> str:
    """The value as JSON with sorted keys, without spaces. Raises ValueError for NaN, TypeError for what is not JSON."""
    return _WRITE.encode(value)


def digest(value: Any) -> bytes:
    """SHA-256 of the canonical form: 32 bytes."""
    return hashlib.sha256(canonical(value).encode("utf-8", "surrogatepass")).digest()


def plain(value: Any) -> Any:
    """The value as it comes back from storage, so that the first run and a replay see the same.

    Tuples become lists. Storage may hand 1e16 back as an int and -0.0 without its sign, and its ints end at 64 bits:
    what is whole and large is an int up to there, and a float beyond.
    """
    return _READ.decode(canonical(value))


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


# Made once: most values are small, and making these takes longer than writing and reading one.
_WRITE: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
_READ: Final = json.JSONDecoder(parse_int=_int_or_float, parse_float=_float_or_int)
