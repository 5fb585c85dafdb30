"""Whether Redis was silent just now: it takes connections and says nothing, or its machine is gone. One that refuses
costs nobody anything.

Each call of such a Redis costs its time-out, and a request makes several. So a process that has just waited in vain
does without Redis for a moment; then one call finds out, while the others still do without.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from redis.exceptions import TimeoutError as RedisTimeoutError

SILENT_S = 2.0


class Silent(RedisTimeoutError):
    """Redis was not asked: it was silent just now."""


class _Silence:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until = 0.0

    def lasts(self) -> bool:
        with self._lock:
            return time.monotonic() < self._until

    def enter(self) -> None:
        """Raises Silent while it lasts. Who comes first after it finds out for all."""
        with self._lock:
            if time.monotonic() < self._until:
                raise Silent("it was silent just now")
            if self._until:
                self._until = time.monotonic() + SILENT_S

    def begin(self) -> None:
        with self._lock:
            self._until = time.monotonic() + SILENT_S

    def end(self) -> None:
        with self._lock:
            self._until = 0.0


_silence = _Silence()


def is_silent() -> bool:
    return _silence.lasts()


def forget_silence() -> None:
    """The next call asks Redis again."""
    _silence.end()


@contextmanager
def unless_silent() -> Iterator[None]:
    """Around calls of Redis by a client that has a time-out. Raises Silent, a TimeoutError of redis-py, where Redis is
    not to be asked."""
    _silence.enter()
    try:
        yield
    except RedisTimeoutError:
        _silence.begin()
        raise
    except BaseException:
        _silence.end()
        raise
    _silence.end()
