"""A runner: one asyncio loop that claims runs and drives many of them at once.

It is woken by NOTIFY, and looks by itself every few seconds, since a wake-up is only a hint. It owns no truth: kill it
at any instant and others go on with what it drove.
"""

import asyncio
import os
import select
import socket
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

import psycopg
import structlog
from django.conf import settings as django_settings
from psycopg_pool import AsyncConnectionPool

from agents.engine.run import Program
from agents.runtime import leases
from agents.runtime.announcer import Announcer
from agents.runtime.connecting import bound, lent
from agents.runtime.driven import PipelineSettings
from agents.runtime.driver import Driver, Tools
from agents.runtime.jobs import Jobs
from agents.runtime.own_connection import OwnConnection
from agents.runtime.shared_budgets import SharedBudgets
from agents.runtime.tool_door import ToolDoor
from agents.runtime.wall_clock import WALL_CLOCK
from agents.runtime.writer import Writer
from hitl import sweeping
from hitl.deadlines import Deadlines
from hitl.kinds import RequestKind
from hyperagent.lib import beats, clocks
from hyperagent.lib.llm.gateway import ModelGateway
from hyperagent.lib.telemetry import measures
from hyperagent.lib.wake import CHANNEL

log = structlog.get_logger(__name__)

LOOK_EVERY_S = 4.0  # at most; a lease is renewed three times before it would run out
CLAIM_AT_ONCE = 16
DRAIN_S = 6.0
SHUTDOWN_S = 8.0


@dataclass(frozen=True, slots=True)
class Options:
    """How a runner runs. `dsn` is a libpq connection string; times in seconds."""

    name: str
    dsn: str
    redis_url: str
    concurrency: int
    lease_s: float
    deadlines: Deadlines = field(default_factory=Deadlines)


class Runner:
    """Call `run`; `stop` makes it give everything back and return within ten seconds."""

    def __init__(
        self,
        options: Options,
        *,
        models: ModelGateway,
        programs: dict[str, Program],
        gateway: ToolDoor | None = None,
        settings: PipelineSettings | None = None,
    ) -> None:
        self.options = options
        self._announcer = Announcer(options.redis_url)
        self._shared_budgets = SharedBudgets(
            self._connection, django_settings.CONFIG, priced=lambda book: setattr(models, "prices", book)
        )
        self.writer = Writer(
            options.dsn,
            announcer=self._announcer,
            deadlines=options.deadlines,
            on_settled=self._shared_budgets.wake,
        )
        self._jobs = Jobs()
        self._models = models
        self._pool: AsyncConnectionPool[Any] | None = None
        self._line = OwnConnection(options.dsn)
        self._tools = Tools(
            models=models,
            programs=programs,
            connection=self._connection,
            wake_writer=self.writer.wake,
            finished=self._jobs.enqueue,
            gateway=gateway,
            shared_budgets=self._shared_budgets,
            settings=_with_deadlines(settings or PipelineSettings(), options.deadlines),
            deadlines=options.deadlines,
        )
        self.driving: dict[UUID, Driver] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._claimable = asyncio.Event()
        self._stopping = asyncio.Event()
        self._one_suspect = asyncio.Lock()
        self._unsure: list[leases.Claim] = []
        """Claims of which it is not known whether they came to something: the connection broke in the midst of them."""

    # --- life

    async def run(self) -> None:
        kwargs = {"autocommit": True}
        async with AsyncConnectionPool(
            self.options.dsn, min_size=1, max_size=3, kwargs=kwargs, open=False, configure=bound, check=_is_alive
        ) as self._pool:
            await self._line.ask(WALL_CLOCK.compare)
            self._announcer.start()
            writing = self.writer.start()
            await self._shared_budgets.begin()
            loops = [
                asyncio.create_task(loop, name=name)
                for name, loop in (
                    ("listen", self._listen()),
                    ("claim", self._claim_loop()),
                    ("look", self._look_loop()),
                    ("requests", sweeping.keep_time(self._connection)),
                    ("clocks", clocks.keep_time(self._connection)),
                    ("shared_budgets", self._shared_budgets.keep()),
                )
            ]
            log.info("runner.ready", name=self.options.name, concurrency=self.options.concurrency)
            broken = await self._until_stopped(writing, loops)
            await self._drain()
            for loop in loops:
                loop.cancel()
            await asyncio.gather(*loops, return_exceptions=True)
            await self._sign_off()
            await self.writer.stop()
            await self._announcer.stop()
            await self._jobs.aclose()
            await self._models.aclose()
            await self._line.aclose()
            if broken is not None:
                broken.result()
        log.info("runner.stopped", name=self.options.name)

    def stop(self) -> None:
        self._stopping.set()

    async def _until_stopped(
        self, writing: asyncio.Task[None], loops: Sequence[asyncio.Task[None]]
    ) -> asyncio.Task[None] | None:
        """Which loop broke; None if it was told to stop. A runner ends with what broke, and is started again. Without
        its writer it would drive for nobody, and ends at once. Without a loop, such as the one that renews its leases,
        it would drive what others drive, too, and gives everything back before."""
        stopping = asyncio.create_task(self._stopping.wait())
        await asyncio.wait({stopping, writing, *loops}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if writing.done():
            writing.result()
        broken = None if self._stopping.is_set() else next(loop for loop in loops if loop.done())
        if broken is not None:
            log.error("runner.broken", loop=broken.get_name(), exc_info=broken.exception())
            self.stop()
        return broken

    async def _drain(self) -> None:
        """Gives each run back at its next step; what is still in the middle of one after a few seconds, at once."""
        began = time.monotonic()
        for driver in self.driving.values():
            driver.drain()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=DRAIN_S)
        for driver in self.driving.values():
            driver.give_back()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=SHUTDOWN_S - (time.monotonic() - began))

    async def _sign_off(self) -> None:
        try:
            await self._line.ask(
                lambda connection: leases.sign_off(connection, runner=self.options.name, pid=os.getpid())
            )
        except psycopg.Error as error:
            log.warning("runner.not_signed_off", error=str(error).split("\n")[0])

    # --- claiming

    async def _claim_loop(self) -> None:
        while not self._stopping.is_set():
            await self._claimable.wait()
            self._claimable.clear()
            try:
                await self._claim()
            except psycopg.Error as error:
                log.warning("runner.cannot_claim", error=str(error).split("\n")[0])

    async def _claim(self) -> None:
        """Until nobody waits or there is no room: runs that ended meanwhile made some."""
        while (room := self.options.concurrency - len(self.driving)) > 0 and not self._stopping.is_set():
            limit = min(room, CLAIM_AT_ONCE)
            if await self._claim_some(limit, suspects=False) < limit:
                return

    async def _claim_suspect(self) -> None:
        """One run at a time of those that may have killed a runner: so that the next death names it."""
        async with self._one_suspect:
            busy = any(driver.is_suspect for driver in self.driving.values())
            if not busy and not self._stopping.is_set() and len(self.driving) < self.options.concurrency:
                await self._claim_some(1, suspects=True)

    async def _claim_some(self, limit: int, *, suspects: bool) -> int:
        """Takes up to `limit` runs and drives them; how many. Those that are new begin while the claim is on its way to
        the disk, which takes as long as their first steps; none of what they say is stored before the claim is."""

        async def take(connection: psycopg.AsyncConnection[Any]) -> int:
            await self._make_sure(connection)
            claims: list[leases.Claim] = []
            early: list[Driver] = []
            try:
                async with connection.transaction():
                    claims += await leases.claim(
                        connection,
                        runner=self.options.name,
                        limit=limit,
                        lease_s=self.options.lease_s,
                        suspects=suspects,
                    )
                    early += [self._drive(claim) for claim in claims if claim.is_first]
            except BaseException:
                for driver in early:
                    driver.lose()
                self._unsure += claims
                raise
            late = [self._drive(claim) for claim in claims if not claim.is_first]
            for driver in (*early, *late):
                driver.claimed()
            return len(claims)

        return await self._line.ask(take)

    async def _make_sure(self, connection: psycopg.AsyncConnection[Any]) -> None:
        """Before anything is claimed anew, which may get the number of such a claim: that nobody drives those runs."""
        while self._unsure:
            await leases.give_up(connection, self._unsure[0])
            del self._unsure[0]

    def _drive(self, claim: leases.Claim) -> Driver:
        if claim.waited_s is not None:
            measures.CLAIM_WAIT.observe(claim.waited_s)
        driver = Driver(claim, self._tools)
        self.driving[claim.id] = driver
        if self._stopping.is_set():
            driver.drain()
        task = asyncio.create_task(driver.drive(), name=f"run {claim.id}")
        self._tasks.add(task)
        task.add_done_callback(lambda task: self._driven(driver, task))
        return driver

    def _driven(self, driver: Driver, task: asyncio.Task[bool]) -> None:
        """Looks for another where this one may wait again, or others did for room. Else whoever came meanwhile was
        heard of, and a look would find nobody."""
        was_full = len(self.driving) >= self.options.concurrency
        self._tasks.discard(task)
        if self.driving.get(driver.claim.id) is driver:
            del self.driving[driver.claim.id]
        if was_full or task.cancelled() or task.exception() is not None or not task.result():
            self._claimable.set()
        if not task.cancelled() and task.exception() is not None:
            log.error("run.driver_failed", execution_id=str(driver.claim.id), exc_info=task.exception())
            # Claimed again by looking, which others do as well: here it may break as before.
            self._spawn(self._blame(driver))
        elif driver.claim.is_suspect:
            self._spawn(self._claim_suspect())

    async def _blame(self, driver: Driver) -> None:
        async def blame(connection: psycopg.AsyncConnection[Any]) -> None:
            if driver.is_claimed:
                await leases.blame(connection, driver.claim)

        await self._line.ask(blame)

    # --- hearing and looking

    async def _listen(self) -> None:
        """Wake-ups, on a connection of its own. While it is broken the look every few seconds does its work."""
        while True:
            try:
                async with await psycopg.AsyncConnection.connect(self.options.dsn, autocommit=True) as connection:
                    await connection.execute(f"LISTEN {CHANNEL}")
                    self._claimable.set()
                    await self._hear_notes(connection)
            except psycopg.Error as error:
                log.warning("runner.deaf", error=str(error).split("\n")[0])
                await asyncio.sleep(1)

    async def _hear_notes(self, connection: psycopg.AsyncConnection[Any]) -> None:
        """Psycopg's own `notifies()` looks ten times a second; the socket itself says when there is something."""
        loop, readable, socket_number = asyncio.get_running_loop(), asyncio.Event(), connection.fileno()
        loop.add_reader(socket_number, readable.set)
        try:
            while True:
                await readable.wait()
                readable.clear()
                connection.pgconn.consume_input()
                while (note := connection.pgconn.notifies()) is not None:
                    self._hear(note.extra.decode())
        finally:
            loop.remove_reader(socket_number)

    def _hear(self, payload: str) -> None:
        """`payload`: a run's id; or nothing, where a runner died and what it drove was freed. The only run of one that
        died is a suspect, which is claimed by looking; and so is whatever says something else."""
        try:
            is_elsewhere = bool(payload) and UUID(payload) not in self.driving
        except ValueError:
            is_elsewhere = False
        if is_elsewhere:
            self._claimable.set()
        else:
            self._spawn(self._look())

    async def _look_loop(self) -> None:
        while True:
            try:
                await self._look()
            except psycopg.Error as error:
                log.warning("runner.cannot_look", error=str(error).split("\n")[0])
            await beats.sleep(min(LOOK_EVERY_S, self.options.lease_s / 4))

    async def _look(self) -> None:
        """Renews the leases, hears what is wanted of the runs driven here, and frees runs of lost runners."""
        held = {id_: driver.claim.epoch for id_, driver in self.driving.items()}
        underway = {id_: driver.underway for id_, driver in self.driving.items()}
        beats = await self._line.ask(
            lambda connection: leases.heartbeat(
                connection,
                name=self.options.name,
                host=socket.gethostname(),
                pid=os.getpid(),
                concurrency=self.options.concurrency,
                held=held,
                lease_s=self.options.lease_s,
                underway=underway,
            )
        )
        found = await self._line.ask(lambda connection: leases.look(connection, lease_s=self.options.lease_s))
        await self._line.ask(WALL_CLOCK.compare)
        for id_ in held.keys() - {beat.id for beat in beats}:
            self._lose(id_, held[id_])
        for beat in beats:
            await self._heed(beat)
        if found.freed:
            log.warning("runner.recovered", runs=found.freed)
        if found.is_any_waiting:
            self._claimable.set()
            await self._claim_suspect()

    def _lose(self, execution_id: UUID, epoch: int) -> None:
        """Its lease is gone. A run that ended between the two looks is no longer driven here anyway."""
        driver = self.driving.get(execution_id)
        if driver is not None and driver.claim.epoch == epoch and not driver.is_leaving:
            driver.lose()

    async def _heed(self, beat: leases.Beat) -> None:
        driver = self.driving.get(beat.id)
        if driver is None:
            return
        if beat.cancel_requested:
            driver.cancel()
        elif beat.woken:
            await self._have_heard(driver)

    @staticmethod
    async def _have_heard(driver: Driver) -> None:
        """What cannot be read of one run, as what a newer version wrote, is no trouble of the others here."""
        try:
            await driver.hear()
        except psycopg.Error:
            raise
        except Exception:
            log.exception("run.cannot_hear", execution_id=str(driver.claim.id))
            driver.lose()

    def _spawn(self, work: Any) -> None:
        task = asyncio.create_task(self._quietly(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @staticmethod
    async def _quietly(work: Any) -> None:
        try:
            await work
        except psycopg.Error as error:
            log.warning("runner.database_away", error=str(error).split("\n")[0])

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        assert self._pool is not None, "the runner is not running"
        async with lent(self._pool, timeout_s=10) as connection:
            yield connection


def _with_deadlines(settings: PipelineSettings, deadlines: Deadlines) -> PipelineSettings:
    """People are told with the question when its time is over."""
    timeout_s = deadlines.timeout_s(RequestKind.APPROVAL)
    return replace(settings, approval_timeout_s=None if timeout_s is None else int(timeout_s))


async def _is_alive(connection: psycopg.AsyncConnection[Any]) -> None:
    """Before it is lent: a connection that a restart of the database killed is replaced. Its server says nothing
    unasked but that it ends: only where there is something to hear is it asked (`hyperagent.lib.pooled`)."""
    if connection.closed or connection.pgconn.status != psycopg.pq.ConnStatus.OK:
        raise psycopg.OperationalError("the connection is closed")
    said = select.poll()
    said.register(connection.fileno(), select.POLLIN)
    if said.poll(0):
        await AsyncConnectionPool.check_connection(connection)
