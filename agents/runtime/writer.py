"""Stores what the runs of this process said: one transaction a tick for all of them, then one announcement.

What somebody waits for is stored at once; whoever writes meanwhile shares the next commit. Token frames wait for the
tick; notes and events for the next from when they were written, or for whatever is stored before it: what a run does
between its claim and its first word is one commit with that word, not one before it. A commit of frames and notes does
not wait for the disk: after a power cut they would be generated again.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from uuid import UUID

import psycopg
import structlog

from agents.runtime import store
from agents.runtime.announcer import Announcer
from agents.runtime.connecting import Connection, connect, may_pass, waits_s
from agents.runtime.outbox import NotStored, Outbox, Parcel, Settled, lost
from hitl.deadlines import Deadlines
from hyperagent.lib.telemetry import measures

log = structlog.get_logger(__name__)

TICK_S = 0.04
CROWDED_TICK_S = 0.06
CROWDED = 16
NOW = float("-inf")
"""When the next words leave that need not wait for a tick."""
READ_WITHIN_S = 0.005
LAST_WORDS_S = 3.0
# All that is looked for here has an index. A plan that was made while a month was empty would read all of the month.
BY_INDEX = "SET enable_seqscan = off"


def tick_s(crowd: int) -> float:
    """How long what this many runs say is gathered into one frame each."""
    return CROWDED_TICK_S if crowd > CROWDED else TICK_S


class _NotHeld(Exception):
    """Some of the parcels may not be stored, so nothing was; `held`: the runs that are still ours."""

    def __init__(self, held: set[UUID]) -> None:
        super().__init__()
        self.held = held


class Writer:
    """Owns two connections: one whose commits wait for the disk, one whose commits do not."""

    def __init__(
        self,
        dsn: str,
        *,
        announcer: Announcer,
        deadlines: Deadlines,
        on_settled: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_settled` is called when something that calls took of budgets is committed."""
        self._dsn = dsn
        self._announcer = announcer
        self._deadlines = deadlines
        self._on_settled = on_settled
        self._dirty: dict[UUID, Outbox] = {}
        self._awake = asyncio.Event()
        self._at_once = False
        # Words wait, and the loop below knows of them.
        self._has_words = False
        self._due_s = NOW
        self._is_put_off = False
        self._waiting_since_s = 0.0
        # Runs in the last tick: when a wait begins, only the first of the next has come.
        self._crowd = 0
        self._durable_connection: Connection | None = None
        self._quick_connection: Connection | None = None
        self._task: asyncio.Task[None] | None = None
        self._stopping = False
        self.commits = 0

    def start(self) -> asyncio.Task[None]:
        """The task ends with `stop`, or with a bug: then nothing of this process is stored any more."""
        self._task = asyncio.create_task(self._run(), name="writer")
        return self._task

    async def stop(self, *, within_s: float = LAST_WORDS_S) -> None:
        """Stores what is left, then closes. What cannot be stored within this time is left to whoever drives next."""
        self._stopping = True
        self._awake.set()
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=within_s)
            if not self._task.done():
                log.warning("writer.gave_up", within_s=within_s)
                self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        for connection in (self._durable_connection, self._quick_connection):
            if connection is not None:
                await connection.close()

    def wake(self, outbox: Outbox, at_once: bool) -> None:
        """Something is to be stored: with the next tick, or before it (what somebody waits for)."""
        if not self._dirty:
            self._waiting_since_s = time.monotonic()
            if not at_once:
                asyncio.get_running_loop().call_later(TICK_S, self._awake.set)
        self._dirty[outbox.execution_id] = outbox
        if at_once and not self._at_once:
            self._at_once = True
            self._awake.set()
        elif outbox.ends_in_words and (not self._has_words or self._due_s == NOW):
            self._has_words = True
            self._awake.set()

    def tick(self) -> None:
        """What is said next need not wait: now all long streams are read (`hyperagent.lib.llm.pace`), one after the
        other before the writer has its turn. What waits already leaves with it, and not before: else the frames of this
        beat would wait for the next, as would those of each that follows. Once: of very many streams some are read
        sooner than that again."""
        if not self._dirty:
            self._due_s = NOW
        elif not self._is_put_off:
            self._is_put_off = True
            self._due_s = time.monotonic() + READ_WITHIN_S
            # What joins a frame that waits already wakes nobody.
            asyncio.get_running_loop().call_later(READ_WITHIN_S, self._awake.set)

    async def _run(self) -> None:
        while not self._stopping or self._dirty:
            await self._awake.wait()
            self._awake.clear()
            await self._wait_for_tick()
            if self._dirty:
                await self._store_all()

    async def _wait_for_tick(self) -> None:
        """Frames wait until they are due, which may change meanwhile; a record that comes ends the wait."""
        while not (self._at_once or self._stopping) and (wait_s := self._due_s - time.monotonic()) > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._awake.wait()
            self._awake.clear()

    async def _store_all(self) -> None:
        dirty, self._dirty = self._dirty, {}
        self._has_words = self._is_put_off = False
        waiting_since_s = self._waiting_since_s
        if not self._at_once:
            self._crowd = len(dirty)
            self._due_s = time.monotonic() + tick_s(self._crowd)
        self._at_once = False
        parcels = [parcel for outbox in dirty.values() if (parcel := _taken(outbox)) is not None]
        full = [parcel for parcel in parcels if parcel.records or parcel.rows]
        if full:
            await self._store(full)
            measures.WRITER_LAG.observe(time.monotonic() - waiting_since_s)

    async def _store(self, parcels: list[Parcel]) -> None:
        """Stores parcels together; one that Postgres refuses is found by storing each alone."""
        try:
            held = await self._store_patiently(parcels)
        except psycopg.Error as error:
            if len(parcels) > 1:
                for parcel in parcels:
                    await self._store([parcel])
                return
            log.error("writer.refused", execution_id=str(parcels[0].outbox.execution_id), error=str(error))
            parcels[0].outbox.refuse(NotStored(str(error)))
            return
        kept = [parcel for parcel in parcels if parcel.outbox.execution_id in held]
        for parcel in parcels:
            if parcel.outbox.execution_id in held:
                parcel.outbox.stored(parcel.marks)
            else:
                parcel.outbox.refuse(lost())
        self._announcer.announce(kept)
        if any(type(record) is Settled for parcel in kept for record in parcel.records):
            self._on_settled()

    async def _store_patiently(self, parcels: list[Parcel]) -> set[UUID]:
        """Tries until the database is there again. Storing the same parcels twice changes nothing. Raises psycopg.Error
        where it is there and refuses them."""
        waits = waits_s()
        while True:
            try:
                return await self._commit(parcels)
            except _NotHeld as refusal:
                parcels = [parcel for parcel in parcels if parcel.outbox.execution_id in refusal.held]
                if not parcels:
                    return set()
            except psycopg.Error as error:
                if not may_pass(error):
                    raise
                await self._drop_connections()
                wait_s = next(waits)
                log.warning("writer.database_away", retry_in_s=wait_s, error=str(error).split("\n")[0])
                await asyncio.sleep(wait_s)

    async def _commit(self, parcels: list[Parcel]) -> set[UUID]:
        self.commits += 1
        values = store.append_values(parcels)
        connection = await (self._quick() if all(parcel.may_be_lost for parcel in parcels) else self._durable())
        if not any(parcel.records for parcel in parcels):
            cursor = await connection.execute(store.APPEND_EVENTS, values, prepare=True)
            return {id_ for (id_,) in await cursor.fetchall()}
        async with connection.transaction(), connection.pipeline():
            cursor = await connection.execute(store.APPEND_EVENTS, values, prepare=True)
            for parcel in parcels:
                for query, arguments in store.statements(parcel, deadlines=self._deadlines):
                    await connection.execute(query, arguments)
            held = {id_ for (id_,) in await cursor.fetchall()}
            if any(parcel.records and parcel.outbox.execution_id not in held for parcel in parcels):
                # A lease that is still ours is not enough: after a crash of Postgres the events that were to follow
                # frames that are gone are not stored, and a run would end with a gap in its log.
                raise _NotHeld(held)
            return held

    async def _durable(self) -> Connection:
        if self._durable_connection is None:
            connection = await connect(self._dsn)
            await connection.execute(BY_INDEX)
            self._durable_connection = connection
        return self._durable_connection

    async def _quick(self) -> Connection:
        if self._quick_connection is None:
            connection = await connect(self._dsn)
            await connection.execute("SET synchronous_commit = off")
            await connection.execute(BY_INDEX)
            self._quick_connection = connection
        return self._quick_connection

    async def _drop_connections(self) -> None:
        for connection in (self._durable_connection, self._quick_connection):
            if connection is not None:
                await connection.close()
        self._durable_connection = self._quick_connection = None


def _taken(outbox: Outbox) -> Parcel | None:
    """What waits in it. A value that cannot be encoded is the trouble of its own run, and of no other."""
    if outbox.error is not None:
        return None
    try:
        return outbox.take()
    except (TypeError, ValueError) as error:
        log.error("writer.cannot_encode", execution_id=str(outbox.execution_id), error=str(error))
        outbox.refuse(NotStored(str(error)))
        return None
