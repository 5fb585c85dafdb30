"""When long streams are read: all of them together, some times a second. Knows nothing of what they say.

Each chunk that is read by itself wakes the process. Those that come between two beats wait in the kernel's buffers,
where they cost nothing, and are read as one.
"""

import asyncio
import math
from collections import deque
from collections.abc import Callable


class Pace:
    """One for a process's event loop. `interval_s`: the time between two looks at a stream, by how many waited at the
    last beat. `at_once`: the most that are read at one beat; of more each beat has its part, those that wait longest,
    and there are so many more beats. `struck`: called at each beat, before anything is read."""

    def __init__(
        self, interval_s: Callable[[int], float], struck: Callable[[], None] = lambda: None, *, at_once: int = 64
    ) -> None:
        self._interval_s = interval_s
        self._at_once = at_once
        self.struck = struck
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._crowd = 0
        self._struck_at = float("-inf")
        self._is_set = False

    async def beat(self) -> None:
        """Returns at the next beat, or where there are many at one of the next; at once after a pause in which nobody
        waited for one."""
        loop = asyncio.get_running_loop()
        if not self._is_set:
            self._set(loop)
        future: asyncio.Future[None] = loop.create_future()
        self._waiting.append(future)
        await future

    def _set(self, loop: asyncio.AbstractEventLoop) -> None:
        self._is_set = True
        pause_s = self._interval_s(self._crowd) / self._beats()
        loop.call_at(max(loop.time(), self._struck_at + pause_s), self._strike, loop)

    def _strike(self, loop: asyncio.AbstractEventLoop) -> None:
        self._is_set = False
        self._crowd = len(self._waiting)
        self._struck_at = loop.time()
        self.struck()
        for _ in range(math.ceil(self._crowd / self._beats())):
            future = self._waiting.popleft()
            if not future.done():
                future.set_result(None)
        if self._waiting:
            self._set(loop)

    def _beats(self) -> int:
        """How many there are while each stream is looked at once."""
        return max(1, math.ceil(self._crowd / self._at_once))
