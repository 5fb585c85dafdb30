"""Time that an agent takes, without the time in which a person is asked; and the life of what is limited by it."""

import asyncio
from collections.abc import Callable

from agents.engine.errors import Stopped


class Life:
    """Whether the contexts of an agent, or of a part of it, may still write. One inside another ends with it."""

    def __init__(self, outer: "Life | None" = None) -> None:
        self._outer = outer
        self._ended = False

    @property
    def is_over(self) -> bool:
        return self._ended or (self._outer is not None and self._outer.is_over)

    @property
    def has_ended(self) -> bool:
        """Whether this one was ended, and not only the one around it."""
        return self._ended

    def end(self) -> None:
        self._ended = True

    def check(self) -> None:
        """Raises Stopped in what still runs of an agent that is no more."""
        if self.is_over:
            raise Stopped


class Clock:
    """Calls `at_end` once when `limit_s` have passed; stands still while anybody of `lineage` or below it is asking."""

    def __init__(self, limit_s: float, lineage: str, at_end: Callable[[], None]) -> None:
        self.lineage = lineage
        self._left_s = limit_s
        self._at_end = at_end
        self._since_s = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._pauses = 0

    def start(self) -> None:
        if self._pauses == 0:
            loop = asyncio.get_running_loop()
            self._since_s = loop.time()
            self._timer = loop.call_later(max(self._left_s, 0), self._at_end)

    def pause(self) -> None:
        self._pauses += 1
        if self._timer is not None:
            self._left_s -= asyncio.get_running_loop().time() - self._since_s
            self.stop()

    def resume(self) -> None:
        self._pauses -= 1
        self.start()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
