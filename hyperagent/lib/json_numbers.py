"""JSON with numbers that can be kept: NaN and infinity are none by the standard, which Postgres holds to, and what is
larger than a double would be read as infinity.
"""

import json
import math
from typing import Any, Final, NoReturn

from hyperagent.lib.clipping import beginning

_SHOWN_CHARS: Final = 40
_SURELY_SMALL_CHARS: Final = 300


class NotANumber(ValueError):
    """`shown`: how it was written, cut."""

    def __init__(self, written: str) -> None:
        super().__init__(written)
        self.shown = beginning(written, _SHOWN_CHARS)


def read_json(text: str) -> Any:
    """By the standard library, which takes lone surrogates. Raises ValueError, of which NotANumber is one, and
    RecursionError."""
    return json.loads(text, parse_constant=_refused, parse_float=_float, parse_int=_whole)


def _refused(word: str) -> NoReturn:
    raise NotANumber(word)


def _float(written: str) -> float:
    value = float(written)
    if math.isinf(value):
        raise NotANumber(written)
    return value


def _whole(written: str) -> int:
    if len(written) > _SURELY_SMALL_CHARS:
        _float(written)
    return int(written)
