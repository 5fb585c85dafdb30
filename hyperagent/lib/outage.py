"""Which exceptions say that Postgres, Redis or the file storage is away for the moment: the answer is "again later"."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from django.db import InterfaceError, OperationalError, connection

# Marks a text, and needs no settings yet.
from django.utils.translation.trans_null import gettext_noop
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

RETRY_AFTER_S = 5
HEALED_WITHIN_S = 1.0
_looking = threading.Lock()
CODE = "unavailable"
MESSAGE = gettext_noop("A part of the server is not there at the moment. Nothing is lost; try again in a few seconds.")


class StorageAway(OSError):
    """The bucket that files lie in does not answer, or refuses us."""


AWAY = (
    StorageAway,
    OperationalError,
    InterfaceError,
    PoolClosed,
    PoolTimeout,
    TooManyRequests,
    RedisConnectionError,
    RedisTimeoutError,
)


def is_outage(error: BaseException | None) -> bool:
    return isinstance(error, AWAY)


def database_was_away(error: BaseException) -> bool:
    """Whether a connection broke, or none was to be had, so that the same may well work a moment later. False of what
    the database refused: a statement that took too long would be refused again."""
    if not isinstance(error, (OperationalError, psycopg.OperationalError)):
        return False
    told_by = error if isinstance(error, psycopg.Error) else error.__cause__
    # Of SQL's classes "connection exception" and "operator intervention"; without any it never came to the server.
    state = getattr(told_by, "sqlstate", None)
    return state is None or state.startswith(("08", "57P"))


@contextmanager
def or_undo(undo: Callable[[], None]) -> Iterator[None]:
    """Around a transaction: undoes what was done outside of it where it fails. Not where the line to the database
    broke, for then it may have been committed all the same: what is left over is for a sweep to find."""
    try:
        yield
    except BaseException as error:
        if not database_was_away(error):
            undo()
        raise


def heal() -> None:
    """After an outage: looks at all connections that lie in the pool at once, and replaces those that are dead.

    Left to itself the pool finds them one by one, with a pause of a second and more after each, so that the next
    requests would wait in vain as well. Of a server that refuses this is done at once; where it says nothing each
    connection has to run out, and nobody waits for that.
    """
    pool = getattr(connection, "pool", None)
    if pool is not None and not pool.closed and _looking.acquire(blocking=False):
        looking = threading.Thread(target=_look, args=(pool,), daemon=True, name="heal")
        looking.start()
        looking.join(HEALED_WITHIN_S)


def _look(pool: Any) -> None:
    try:
        pool.check()
    finally:
        _looking.release()
