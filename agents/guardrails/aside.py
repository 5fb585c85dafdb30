"""Where a text is looked at: a short one at once, a long one beside the loop that drives all runs of this process.
Knows no scanner.
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

R = TypeVar("R")
Clock = Callable[[], float]

# 200,000 characters take 125 ms, 20,000 of them 13: so long nobody's words come, whoever asked.
LONG_CHARS: Final = 20_000
# One at a time: they share the interpreter's lock with the loop, and each would only be slower.
_BESIDE: Final = ThreadPoolExecutor(1, thread_name_prefix="scanning")


async def look(looking: Callable[[Clock], R], *, chars: int) -> R:
    """What `looking` gives, by the clock that its time limit goes by. Beside the loop that is the thread's own: what
    it waits for the others is not its fault."""
    if chars <= LONG_CHARS:
        return looking(time.perf_counter)
    return await asyncio.get_running_loop().run_in_executor(_BESIDE, looking, time.thread_time)
