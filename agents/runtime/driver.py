"""Drives one claimed run to where it ends, waits for people, or goes back. The engine decides; this arranges."""

import asyncio
import math
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import psycopg
import structlog

from agents.engine.errors import Cancelled, GivenBack, LeaseLost, Skipped, StepFailed, Suspended
from agents.engine.events import AgentShutdown, StatusChanged
from agents.engine.ids import sibling_id
from agents.engine.interventions import apply_all, intervene
from agents.engine.journal import depth_of
from agents.engine.records import AgentRecord, Announced, Loaded
from agents.engine.run import Program
from agents.engine.states import (
    INPUT_VERSION,
    TERMINAL_STATUSES,
    AgentStatus,
    ExecutionStatus,
)
from agents.engine.tree import AGAIN_S, ended, with_event
from agents.runtime import endings, leases, loading, underway
from agents.runtime.connecting import may_pass
from agents.runtime.context import AgentContext
from agents.runtime.driven import About, DrivenRun, PipelineSettings
from agents.runtime.lacking import Lacks
from agents.runtime.leases import Claim
from agents.runtime.loading import End
from agents.runtime.lookups import Lookups
from agents.runtime.outbox import NotStored, Outbox, lost
from agents.runtime.shared_budgets import SharedBudgets
from agents.runtime.tool_door import ToolDoor
from agents.runtime.tracing import RunTrace, trace_id_of, without_trace
from agents.tuning.snapshot import tunings_of
from hitl.deadlines import Deadlines
from hyperagent.lib.llm.gateway import ModelGateway
from hyperagent.lib.outage import database_was_away
from hyperagent.lib.telemetry import measures
from hyperagent.lib.telemetry.tracing import NOTHING, TRACEPARENT

log = structlog.get_logger(__name__)

Connect = Callable[[], Any]
Load = Callable[[psycopg.AsyncConnection[Any], uuid.UUID], Awaitable[tuple[Loaded, End]]]
AWAY_S = 0.5


@dataclass(frozen=True, slots=True)
class Tools:
    """What every driver of a process shares."""

    models: ModelGateway
    programs: Mapping[str, Program]
    connection: Connect
    wake_writer: Callable[[Outbox, bool], None]
    finished: Callable[[str, uuid.UUID], Awaitable[None]]
    gateway: ToolDoor | None = None
    settings: PipelineSettings | None = None
    shared_budgets: SharedBudgets | None = None
    deadlines: Deadlines | None = None


class Driver:
    """One run under one lease."""

    def __init__(self, claim: Claim, tools: Tools) -> None:
        """It begins while the claim is on its way to the disk; until `claimed` nothing of what it says is stored."""
        self.claim = claim
        self._tools = tools
        self._claimed = asyncio.Event()
        self._is_lost = False
        self._waiting: Outbox | None = None
        self._wakes_at_once = False
        self._program: asyncio.Task[Any] | None = None
        self._interrupted_at = -math.inf
        self._draining = False
        self.is_leaving = False
        self._cancelled = claim.cancel_requested
        self._run: DrivenRun | None = None
        self._trace = RunTrace()
        self._is_over = False

    @property
    def is_suspect(self) -> bool:
        """Whether it may be what kills its runner. A run that got on since it was claimed is not, whatever it was."""
        if self._is_over or not self.claim.is_suspect:
            return False
        return self._run is None or self._run.under_suspicion

    @property
    def is_claimed(self) -> bool:
        return self._claimed.is_set()

    @property
    def underway(self) -> str | None:
        """Its calls of models as its row is to have them; None while what the row has may be of a driver before."""
        return None if self._run is None else underway.as_stored(self._run.calls.values(), epoch=self.claim.epoch)

    # --- what others ask of it

    def claimed(self) -> None:
        """The claim is there to stay."""
        self._claimed.set()
        if self._waiting is not None:
            self._tools.wake_writer(self._waiting, self._wakes_at_once)

    def cancel(self) -> None:
        """A person wants it to stop: now, wherever it is. Said at each look until it has."""
        self._cancelled = True
        self._interrupt()

    def drain(self) -> None:
        """The process is stopping: give the run back at its next step."""
        self._draining = True
        if self._run is not None:
            self._run.draining = True

    def give_back(self) -> None:
        """The process cannot wait for the next step."""
        self._interrupt()

    def lose(self) -> None:
        """The lease is known to be another's, or never was ours, or the run cannot be driven any further here."""
        self._is_lost = True
        if self._run is not None:
            self._run.outbox.refuse(lost())
        self._interrupt()

    async def hear(self) -> None:
        """Somebody answered, or wants something of an agent, while the run goes on.

        What is read is the run's before the mark that there is something is cleared for good; the mark stays where the
        connection breaks, and where it comes too late for this driver.
        """
        run = self._run
        if run is None or self._is_done_with(run):
            return
        async with self._tools.connection() as connection, connection.transaction():
            news = await loading.read_news(connection, self.claim.id, self.claim.epoch)
            if self._is_done_with(run):
                raise psycopg.Rollback
            for request_id, answer in news.answers.items():
                run.answer(request_id, answer)
            for intervention in news.interventions:
                intervene(run, intervention)

    def _is_done_with(self, run: DrivenRun) -> bool:
        return self.is_leaving or run.at_rest or run.outbox.error is not None

    def _wake_writer(self, outbox: Outbox, at_once: bool) -> None:
        if self.is_claimed:
            self._tools.wake_writer(outbox, at_once)
        else:
            self._waiting = outbox
            self._wakes_at_once |= at_once

    def _interrupt(self) -> None:
        """Only the program is interrupted; before and after it the flags are looked at. What clears up is let be, for
        a while."""
        now = time.monotonic()
        if self._program is not None and now - self._interrupted_at > AGAIN_S:
            self._interrupted_at = now
            self._program.cancel()

    @property
    def _trace_id(self) -> str:
        return trace_id_of(self.claim.id, asked=str(self.claim.input.get(TRACEPARENT, "")))

    # --- driving

    async def drive(self) -> bool:
        """True if the run is over; False if whoever is free may be to go on with it, now or once it is woken."""
        structlog.contextvars.bind_contextvars(
            execution_id=str(self.claim.id), epoch=self.claim.epoch, trace_id=self._trace_id
        )
        self._trace = RunTrace(self.claim)
        with self._trace.span.within():
            try:
                over = await self._drive()
            except (LeaseLost, psycopg.Error) as error:
                if isinstance(error, psycopg.Error) and not may_pass(error):
                    raise
                self._trace.end("lost", error="lease_lost" if isinstance(error, LeaseLost) else "database_away")
                log.warning("run.lost", why=str(error).split("\n")[0])
                # Of a claim that came to nothing, or nobody knows whether it did, the runner makes sure.
                if self.is_claimed:
                    await self._give_up()
                return False
            finally:
                self._trace.end("interrupted")
                self._let_go()
            if over and self.claim.on_finish:
                await self._tools.finished(self.claim.on_finish, self.claim.id)
            return over

    def _let_go(self) -> None:
        """A run holds its driver: if its driver held it, too, all that it has read would stay until cycles are next
        looked for, which is rarely."""
        self._is_over = True
        self._run = self._waiting = self._program = None

    async def _give_up(self) -> None:
        """Whether or not the lease is still ours. If not even that can be said, it runs out."""
        try:
            async with self._tools.connection() as connection:
                await leases.give_up(connection, self.claim)
        except psycopg.Error as error:
            log.warning("run.not_given_up", why=str(error).split("\n")[0])

    async def _drive(self) -> bool:
        """True if the run is over. Raises whatever cannot be told of it as its end: then its runner blames it."""
        refusal = self._refusal()
        loaded, end = await self._recorded(refusal)
        if self._is_lost:
            raise lost()
        outbox = Outbox(
            self.claim.id,
            epoch=self.claim.epoch,
            group=self.claim.group_name,
            wake_writer=self._wake_writer,
            last_seq=end.seq,
            last_hash=end.hash,
            first_token_ms=end.first_token_ms,
            thought_ms=end.thought_ms,
        )
        run = self._made_run(outbox, loaded)
        run.claimed = self._claimed.wait
        run.paid.extend(end.cut_usage)
        for agent_id, text in end.read.items():
            run.streamed[agent_id].append(text)
        run.trace = self._trace
        self._trace.know(loaded.agents)
        root = loaded.agents.get("root")
        if root is None:
            root = AgentRecord(sibling_id(self.claim.id), None, self.claim.pipeline, "root", "", AgentStatus.RUNNING)
            run.record(*with_event(root))
        elif end.seq == 0:
            _tell_of_copies(run)
        if refusal is None:
            apply_all(run)
        self._run = run
        if self.claim.lost_by:
            outbox.write(Announced(root.id, AgentShutdown(reason="crash")))
        outbox.write(Announced(root.id, StatusChanged(status=ExecutionStatus.RUNNING)))
        try:
            outcome = await self._outcome(run, root, refusal)
        finally:
            await run.stop_children()
        try:
            return await self._leave(run, root, outcome)
        except NotStored as error:
            return await self._leave(run, root, await self._refused(run, error))

    def _refusal(self) -> StepFailed | None:
        """Why the run is ended here and not driven; None if it is to be driven."""
        if self.claim.is_given_up:
            return StepFailed("crashed_worker", endings.why_given_up(self.claim))
        if (version := self.claim.input.get("version", INPUT_VERSION)) != INPUT_VERSION:
            return StepFailed(
                "other_version",
                f"This run was begun by another version of HyperAgent (its input has the form {version}, this worker "
                f"knows {INPUT_VERSION}), as while an update is under way. Try it again in a few minutes.",
            )
        if self.claim.pipeline not in self._tools.programs:
            return StepFailed("unknown_pipeline", f"This installation has no pipeline '{self.claim.pipeline}'.")
        return None

    async def _recorded(self, refusal: StepFailed | None) -> tuple[Loaded, End]:
        if self.claim.is_first:
            return Loaded(), End()
        return await self._load(loading.load if refusal is None else loading.load_remains)

    def _made_run(self, outbox: Outbox, loaded: Loaded) -> DrivenRun:
        run = DrivenRun(
            self.claim.id,
            outbox=outbox,
            models=self._tools.models,
            programs=self._tools.programs,
            loaded=loaded,
            about=About(self.claim.id, self.claim.user_id, self.claim.conversation_id, self._trace_id),
            tools=self._tools.gateway,
            settings=self._tools.settings,
            lookups=Lookups(self._tools.connection, Lacks(self.claim.lacks)),
        )
        run.turn = {"question": self.claim.question, "mode": self.claim.mode, **without_trace(self.claim.input)}
        run.tunings = tunings_of(self.claim.tuning)
        run.shared_budgets = self._tools.shared_budgets
        run.deadlines = self._tools.deadlines
        run.effects_root = self.claim.effects_root
        run.draining = self._draining
        run.interrupt = self._interrupt
        run.under_suspicion = self.claim.crashes > 0 or self.claim.suspicion > 0
        return run

    async def _outcome(self, run: DrivenRun, root: AgentRecord, refusal: StepFailed | None) -> endings.Ending:
        """How the program came to its end, as what is stored, what is said, and what becomes of the root."""
        try:
            result = await self._result(run, root, refusal)
        except (Suspended, GivenBack) as signal:
            return endings.paused(signal)
        except Cancelled as cancelled:
            return endings.cancelled(run, why=str(cancelled))
        except StepFailed as error:
            return endings.failed(error.code, error.message, retryable=error.retryable, run=run)
        except NotStored as error:
            return await self._refused(run, error)
        except Exception:
            number = uuid.uuid4().hex[:12]
            log.exception("run.failed", error_id=number)
            why = f"Something went wrong here. An administrator finds it under {number}."
            return endings.failed("internal", why, run=run)
        return endings.completed(run, result)

    async def _result(self, run: DrivenRun, root: AgentRecord, refusal: StepFailed | None) -> Any:
        """The program's result. A cancelled task means what whoever cancelled it meant."""
        if self._cancelled:
            raise Cancelled
        if refusal is not None:
            raise refusal
        program = self._tools.programs[self.claim.pipeline]
        self._program = asyncio.ensure_future(program(AgentContext(run, root), dict(run.turn)))
        try:
            try:
                return await self._program
            finally:
                # What its agents took until now belongs to how it ended.
                await run.stop_children()
        except Skipped as skipped:
            raise StepFailed("skipped", skipped.reason) from skipped
        except asyncio.CancelledError:
            if run.outbox.error is not None:
                raise run.outbox.error from None
            if run.broken_off and not self._cancelled:
                raise Cancelled(run.broken_off) from None
            raise (Cancelled if self._cancelled else GivenBack) from None
        except Exception as error:
            if not database_was_away(error):
                raise
            # A program looked into it meanwhile: whoever drives the run next looks again.
            log.warning("run.database_away", why=str(error).split("\n")[0])
            await asyncio.sleep(AWAY_S)
            raise GivenBack from error

    async def _leave(self, run: DrivenRun, root: AgentRecord, ending: endings.Ending) -> bool:
        """Stores the end; true if the run is over. From here on nothing more can be written under this lease."""
        self.is_leaving = True
        over = ending.moved.status in TERMINAL_STATUSES
        if over:
            if self._tools.gateway is not None:
                await self._tools.gateway.clear_up(run)
            now = run.agent(root.id)
            endings.end_agents(run, ended(now, ending.root, ending.moved.result, error=ending.moved.error_message))
        run.outbox.write(ending.moved, Announced(root.id, ending.last))
        await run.outbox.committed()
        status, error = ending.moved.status.value, ending.moved.error_code
        self._trace.end(status, error=error)
        if over:
            measures.RUNS_ENDED.labels(status, error).inc()
            log.info("run.ended", status=status, error=error)
        else:
            log.info("run.paused", status=status)
        return over

    async def _refused(self, run: DrivenRun, error: NotStored) -> endings.Ending:
        """Something of this run could not be stored: the rest of it is worth nothing, but its end must be told."""
        number = uuid.uuid4().hex[:12]
        log.error("run.not_stored", error_id=number, error=str(error))
        _, end = await self._load(loading.load_remains)
        run.outbox.reopen(last_seq=end.seq, last_hash=end.hash)
        return endings.failed(
            "not_stored", f"A part of this run could not be stored. An administrator finds it under {number}."
        )

    async def _load(self, load: Load) -> tuple[Loaded, End]:
        async with self._tools.connection() as connection:
            if self._trace.span is not NOTHING:
                await self._trace.look(connection, self.claim.id)
            await self._count_lost(connection, only_to_end=load is loading.load_remains)
            return await load(connection, self.claim.id)

    async def _count_lost(self, connection: psycopg.AsyncConnection[Any], *, only_to_end: bool) -> None:
        """What cannot be read of those calls is no reason for a run not to end."""
        try:
            lost_calls = await underway.count_lost(connection, self.claim.id, self.claim.epoch)
        except psycopg.Error as error:
            if not only_to_end or may_pass(error):
                raise
            log.error("run.calls_not_counted", why=str(error).split("\n")[0])
            return
        if lost_calls and self._tools.shared_budgets:
            self._tools.shared_budgets.count_late(self.claim.user_id)


def _tell_of_copies(run: DrivenRun) -> None:
    """The log of a copy begins with the agents that it was given: what people see is what the log says."""
    agents = sorted(run.loaded.agents.values(), key=lambda agent: depth_of(agent.lineage))
    run.outbox.write(*[with_event(agent)[1] for agent in agents])
