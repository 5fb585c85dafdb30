"""Which exceptions say that Postgres, Redis or the file storage is away for the moment: the answer is "again later"."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import psycopg
from django.db import DatabaseError, InterfaceError, OperationalError, connection

# Marks a text, and needs no settings yet.
from django.utils.translation.trans_null import gettext_noop
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

RETRY_AFTER_S = 5
HEALED_WITHIN_S = 1.0
_READ_ONLY: Final = "25006"
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
    return isinstance(error, AWAY) or (error is not None and is_read_only(error))


def is_read_only(error: BaseException) -> bool:
    """Whether the database is there and takes nothing: another became the primary, or a host whose disk is all but full
    lets nobody write. It is away for all who write, and whoever connects anew may find the right one."""
    return isinstance(error, (DatabaseError, psycopg.Error)) and _state_of(error) == _READ_ONLY


def database_was_away(error: BaseException) -> bool:
    """Whether a connection broke, or none was to be had that takes anything, so that the same may well work a moment
    later. False of what the database refused: a statement that took too long would be refused again."""
    return _line_broke(error) or is_read_only(error)


def _line_broke(error: BaseException) -> bool:
    if not isinstance(error, (OperationalError, psycopg.OperationalError)):
        return False
    # Of SQL's classes "connection exception" and "operator intervention"; without any it never came to the server.
    state = _state_of(error)
    return state is None or state.startswith(("08", "57P"))


def _state_of(error: BaseException) -> str | None:
    told_by = error if isinstance(error, psycopg.Error) else error.__cause__
    return getattr(told_by, "sqlstate", None)


@contextmanager
def or_undo(undo: Callable[[], None]) -> Iterator[None]:
    """Around a transaction: undoes what was done outside of it where it fails. Not where the line to the database
    broke, for then it may have been committed all the same: what is left over is for a sweep to find."""
    try:
        yield
    except BaseException as error:
        if not _line_broke(error):
            undo()
        raise


def heal(error: BaseException | None) -> None:
    """After an outage: looks at all connections that lie in the pool at once, and replaces those that are dead; all of
    them where the database takes nothing, for they may be those of the wrong one.

    Left to itself the pool finds them one by one, with a pause of a second and more after each, so that the next
    requests would wait in vain as well. Of a server that refuses this is done at once; where it says nothing each
    connection has to run out, and nobody waits for that.
    """
    pool = getattr(connection, "pool", None)
    if pool is not None and not pool.closed and _looking.acquire(blocking=False):
        look = pool.drain if error is not None and is_read_only(error) else pool.check
        looking = threading.Thread(target=_look, args=(look,), daemon=True, name="heal")
        looking.start()
        looking.join(HEALED_WITHIN_S)


def _look(look: Callable[[], None]) -> None:
    try:
        look()
    finally:
        _looking.release()
