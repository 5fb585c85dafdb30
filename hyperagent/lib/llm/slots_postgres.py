"""A provider's limit shared by all workers: session-level advisory locks in Postgres, one per slot.

A slot is held by the connection, so it comes free by itself when its process dies. Providers without a limit never
come here, and no connection is opened before the first that has one.
"""

import asyncio
import hashlib
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import psycopg

from hyperagent.lib.llm.slots import SlotsTaken

# A session may take its own advisory lock twice, so only slots that it does not hold are offered. They cannot be left
# out by a condition: the planner may try the lock before it looks at the condition.
_TAKE = "SELECT slot FROM unnest(%s::int[]) AS slot WHERE pg_try_advisory_lock(%s, slot) LIMIT 1"
_GIVE_BACK = "SELECT pg_advisory_unlock(%s, %s)"
_POLL_S = (0.02, 0.08)


class PostgresSlots:
    """`connect` gives a connection in autocommit that nobody else uses."""

    def __init__(self, connect: Callable[[], Awaitable[psycopg.AsyncConnection]]) -> None:
        self._connect = connect
        self._connection: psycopg.AsyncConnection | None = None
        self._using = asyncio.Lock()
        # In this process the first to come is the first to try; between processes each poll is a fair draw.
        self._turn: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._held: dict[str, set[int]] = defaultdict(set)

    @asynccontextmanager
    async def hold(self, provider: str, *, limit: int, timeout_s: float) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(timeout_s):
                connection, slot = await self._wait_for(provider, limit)
        except TimeoutError as error:
            raise SlotsTaken(provider) from error
        try:
            yield
        finally:
            await asyncio.shield(self._give_back(connection, provider, slot))

    async def aclose(self) -> None:
        if self._connection is not None:
            await self._connection.close()
            self._connection = None

    async def _wait_for(self, provider: str, limit: int) -> tuple[psycopg.AsyncConnection, int]:
        async with self._turn[provider]:
            while True:
                # Not to be cut off between the lock in Postgres and our note of it.
                taking = asyncio.ensure_future(self._take(provider, limit))
                try:
                    taken = await asyncio.shield(taking)
                except asyncio.CancelledError:
                    await asyncio.shield(self._undo(taking, provider))
                    raise
                if taken is not None:
                    return taken
                await asyncio.sleep(random.uniform(*_POLL_S))  # noqa: S311 - spreads the polls

    async def _undo(self, taking: "asyncio.Future[tuple[psycopg.AsyncConnection, int] | None]", provider: str) -> None:
        with suppress(psycopg.Error):
            taken = await taking
            if taken is not None:
                connection, slot = taken
                await self._give_back(connection, provider, slot)

    async def _take(self, provider: str, limit: int) -> tuple[psycopg.AsyncConnection, int] | None:
        async with self._using:
            try:
                connection = await self._living_connection()
                held = self._held[provider]
                free = [slot for slot in range(1, limit + 1) if slot not in held]
                if not free:
                    return None
                cursor = await connection.execute(_TAKE, (free, _key(provider)))
                row = await cursor.fetchone()
            except psycopg.OperationalError:
                return None  # the server restarts: try again on a new connection until the time is up
            if row is None:
                return None
            held.add(row[0])
            return connection, row[0]

    async def _living_connection(self) -> psycopg.AsyncConnection:
        if self._connection is None or self._connection.closed:
            self._held.clear()  # Postgres freed them with the session
            self._connection = await self._connect()
        return self._connection

    async def _give_back(self, connection: psycopg.AsyncConnection, provider: str, slot: int) -> None:
        async with self._using:
            if connection is not self._connection:
                return
            self._held[provider].discard(slot)
            with suppress(psycopg.OperationalError):  # gone with its session, and the lock with it
                await connection.execute(_GIVE_BACK, (_key(provider), slot))


def _key(provider: str) -> int:
    """A signed 32-bit number: what Postgres takes as the first half of a lock's name."""
    return int.from_bytes(hashlib.sha256(f"llm:{provider}".encode()).digest()[:4], "big", signed=True)
