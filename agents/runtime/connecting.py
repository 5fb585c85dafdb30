"""How a runner's connections to the database are opened, and how long is waited where it is away. Knows no statement of
runs."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import chain, repeat
from typing import Any, Final

import psycopg
from psycopg_pool import AsyncConnectionPool

from hyperagent.lib.outage import database_was_away, is_read_only

Connection = psycopg.AsyncConnection[Any]

_IDLE_IN_TRANSACTION_S: Final = 10
_WAITS_S: Final = (0.05, 0.1, 0.2, 0.5, 1.0)
# SQL's classes "insufficient resources" and "transaction rollback" (so that another could go on), and the end of who
# was cut off for too long (`bound`).
_PASSING: Final = ("53", "40", "25P03")


async def connect(dsn: str) -> Connection:
    """Raises psycopg.Error where the database is away."""
    connection = await psycopg.AsyncConnection.connect(dsn, autocommit=True)
    await bound(connection)
    return connection


@asynccontextmanager
async def lent(pool: AsyncConnectionPool[Any], *, timeout_s: float) -> AsyncIterator[Connection]:
    """One of the pool's connections. Raises psycopg.Error where there is none.

    Whoever is cancelled at the moment at which it is handed over is cancelled: the pool waits by asyncio's `wait_for`,
    which before Python 3.12 swallows that, and a run would go on that somebody stopped.
    """
    task = asyncio.current_task()
    assert task is not None, "a connection is lent to a task"
    cancels = task.cancelling()
    async with pool.connection(timeout=timeout_s) as connection:
        if task.cancelling() > cancels:
            raise asyncio.CancelledError
        try:
            yield connection
        except psycopg.Error as error:
            if is_read_only(error):
                # The next one may be of the primary.
                await connection.close()
            raise


async def bound(connection: Connection) -> None:
    """Cut off in the middle of a transaction, it would hold its rows, and nobody else could take them over."""
    await connection.execute(f"SET idle_in_transaction_session_timeout = '{_IDLE_IN_TRANSACTION_S}s'")


def waits_s() -> Iterator[float]:
    """How long to wait before each next try; without an end."""
    return chain(_WAITS_S, repeat(_WAITS_S[-1]))


def may_pass(error: psycopg.Error) -> bool:
    """Whether the same may well work a moment later. Not so what the database refused, such as a statement that took
    longer than its role may: it would be refused again, for ever."""
    if isinstance(error, psycopg.InterfaceError) or database_was_away(error):
        return True
    return error.sqlstate is not None and error.sqlstate.startswith(_PASSING)
