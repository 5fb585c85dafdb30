"""How much of a tool's result is kept, and how much of it a model reads. Pure."""

import json
from functools import partial
from typing import Any, Final

from hyperagent.lib.clipping import in_strings

MODEL_CHARS: Final = 20_000
STORED_CHARS: Final = 200_000
_SHORTEST: Final = 200


def clip(text: str, limit: int, *, total: int | None = None) -> str:
    """At most `limit` characters: the beginning and the end, and between them how much is left out.

    The end stays because errors stand there. `total`: how long it was before somebody else cut it.
    """
    if len(text) <= limit:
        return text
    note = f"\n[… {total or len(text):,} characters in all: the middle is left out here …]\n"
    room = min(len(text), limit - len(note))
    if room <= 0:
        return text[:limit]
    tail = room // 4
    return f"{text[: room - tail]}{note}{text[len(text) - tail :]}"


def clip_value(value: Any, limit: int) -> Any:
    """A JSON value whose JSON text has at most `limit` characters: its long strings are cut, the longest first.

    None if there is so much in it that short strings do not help.
    """
    each = limit
    while len(json.dumps(value, ensure_ascii=False)) > limit:
        each //= 2
        if each < _SHORTEST:
            return None
        value = in_strings(value, partial(clip, limit=each))
    return value
