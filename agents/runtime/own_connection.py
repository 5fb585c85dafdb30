"""A runner's own line to the database, by which it claims runs and renews their leases.

Not of a pool: one that found the database away tries again after one, two, four, eight seconds, and by then the leases
of all that the runner drives would have run out.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import psycopg

from agents.runtime.connecting import Connection, connect

T = TypeVar("T")


class OwnConnection:
    """One connection, used by one at a time, and made anew where it broke."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._connection: Connection | None = None
        self._free = asyncio.Lock()

    async def ask(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """What `work` gives, which may be called twice: a connection that broke is found out only by its use. Raises
        psycopg.Error where the database is away."""
        async with self._free:
            if self._connection is not None:
                try:
                    return await self._asked(self._connection, work)
                except psycopg.OperationalError:
                    pass
            self._connection = await connect(self._dsn)
            return await self._asked(self._connection, work)

    async def aclose(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def _asked(self, connection: Connection, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Whatever is wrong, and also who is cut off in the middle, leaves no connection behind that nobody knows."""
        try:
            return await work(connection)
        except BaseException:
            await self.aclose()
            raise
