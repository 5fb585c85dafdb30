"""When long streams are read: all of them together, some times a second. Knows nothing of what they say.

Each chunk that is read by itself wakes the process. Those that come between two beats wait in the kernel's buffers,
where they cost nothing, and are read as one.
"""

import asyncio
from collections.abc import Callable


class Pace:
    """One for a process's event loop. `interval_s`: the time between two beats, by how many waited for the last one.
    `struck`: called at each beat, before anything is read."""

    def __init__(self, interval_s: Callable[[int], float], struck: Callable[[], None] = lambda: None) -> None:
        self._interval_s = interval_s
        self.struck = struck
        self._waiting: list[asyncio.Future[None]] = []
        self._crowd = 0
        self._struck_at = float("-inf")

    async def beat(self) -> None:
        """Returns at the next beat; at once after a pause in which nobody waited for one."""
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_at(max(loop.time(), self._struck_at + self._interval_s(self._crowd)), self._strike, loop)
        future: asyncio.Future[None] = loop.create_future()
        self._waiting.append(future)
        await future

    def _strike(self, loop: asyncio.AbstractEventLoop) -> None:
        waiting, self._waiting = self._waiting, []
        self._crowd = len(waiting)
        self._struck_at = loop.time()
        self.struck()
        for future in waiting:
            if not future.done():
                future.set_result(None)
