"""Waits of one process that end at the same moments.

What is looked at every few seconds costs more by waking the process than by the look. So all of it is looked at
together, on the beats of a clock of the process' own; those of others beat at other moments.
"""

import asyncio
import random
import time
from typing import Final

BEAT_S: Final = 1.0
_FIRST_S: Final = random.random() * BEAT_S  # noqa: S311 - only spreads the processes


def until_beat_s(seconds: float) -> float:
    """How long it is to the last beat that comes within so long; `seconds` itself where none does."""
    now_s = time.monotonic()
    last_s = _FIRST_S + (now_s + seconds - _FIRST_S) // BEAT_S * BEAT_S
    return last_s - now_s if last_s > now_s else seconds


async def sleep(seconds: float) -> None:
    """So long, or a little less: until a beat."""
    await asyncio.sleep(until_beat_s(seconds))
