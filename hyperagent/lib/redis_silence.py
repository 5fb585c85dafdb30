"""Whether Redis was silent just now: it takes connections and says nothing, or its machine is gone. One that refuses
costs nobody anything.

Each call of such a Redis costs its time-out, and a request makes several. So a process that has just waited in vain
does without Redis for a moment; then one call finds out, while the others still do without.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from redis.exceptions import TimeoutError as RedisTimeoutError

from hyperagent.lib.pause import Pause

SILENT_S = 2.0


class Silent(RedisTimeoutError):
    """Redis was not asked: it was silent just now."""


_silence = Pause(SILENT_S)


def is_silent() -> bool:
    return _silence.lasts()


def forget_silence() -> None:
    """The next call asks Redis again."""
    _silence.end()


@contextmanager
def unless_silent() -> Iterator[None]:
    """Around calls of Redis by a client that has a time-out. Raises Silent, a TimeoutError of redis-py, where Redis is
    not to be asked."""
    if not _silence.may_try():
        raise Silent("it was silent just now")
    try:
        yield
    except RedisTimeoutError:
        _silence.begin()
        raise
    except BaseException:
        _silence.end()
        raise
    _silence.end()
