"""Drives programs for the tests of the engine as a runner does, with as many drivers as it takes, one after another."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

from agents.engine.context import Context, Outcome
from agents.engine.copying import Kept
from agents.engine.errors import GivenBack, LeaseLost, OutsideError, StepFailed, Suspended
from agents.engine.events import Title
from agents.engine.interventions import apply_all, intervene
from agents.engine.limits import Limits
from agents.engine.records import AgentRecord, Asked
from agents.engine.run import Program, Run
from agents.engine.states import AgentStatus, InterventionKind, StepKind
from agents.engine.tree import ended, with_event
from tests.doubles.memory_journal import Death, Killed, MemoryJournal, MemoryStore

ROOT = "root"


@dataclass(frozen=True, slots=True)
class End:
    """How a driver left a run: completed, failed, waiting, given_back, lost or killed."""

    how: str
    value: Any = None


async def drive(run: Run, journal: MemoryJournal, value: Any = None) -> End:
    """One driver's turn. The children have ended when it returns, and what was written is durable unless it died."""
    try:
        end = await _drive_root(run, value)
    except Killed:
        return End("killed")
    except Suspended:
        end = End("waiting")
    except GivenBack:
        end = End("given_back")
    except LeaseLost:
        return End("lost")
    finally:
        await run.stop_children()
    try:
        await journal.committed()
    except Killed:
        return End("killed")
    return end


async def _drive_root(run: Run, value: Any) -> End:
    root = run.loaded.agents.get(ROOT)
    if run.loaded.agents and isinstance(run.journal, MemoryJournal) and not run.journal.has_events:
        run.journal.write(*[with_event(agent)[1] for agent in run.loaded.agents.values()])
    apply_all(run)
    if root is None:
        root = AgentRecord(uuid4(), None, ROOT, ROOT, "", AgentStatus.RUNNING)
        run.record(*with_event(root))
    if root.status is AgentStatus.COMPLETED:
        return End("completed", root.output)
    if root.status is AgentStatus.FAILED:
        return End("failed", root.output)
    try:
        output = await run.programs[ROOT](Context(run, root), value)
    except StepFailed as error:
        now = run.agent(root.id)
        run.record(*with_event(ended(now, AgentStatus.FAILED, error.as_json(), error=error.message)))
        return End("failed", error.as_json())
    run.record(*with_event(ended(run.agent(root.id), AgentStatus.COMPLETED, output)))
    return End("completed", output)


@dataclass
class Case:
    """One run in a store of its own. `performed` names what was really contacted, in order."""

    programs: Mapping[str, Program]
    store: MemoryStore = field(default_factory=MemoryStore)
    performed: list[str] = field(default_factory=list)
    limits: Limits | None = None
    execution_id: UUID = field(init=False)
    effects_root: UUID = field(init=False)

    def __post_init__(self) -> None:
        self.execution_id = self.effects_root = self.store.new_execution()

    def take_over(self, *, death: Death | None = None, at: int = 0) -> tuple[Run, MemoryJournal]:
        journal, loaded = self.store.take_over(self.execution_id, death=death, at=at)
        run = Run(
            self.execution_id,
            journal=journal,
            programs=self.programs,
            loaded=loaded,
            limits=self.limits,
            effects_root=self.effects_root,
        )
        return run, journal

    def copy(self, kept: Kept) -> None:
        """From here on the case is a copy of the run that it was."""
        self.execution_id = self.store.copy(self.execution_id, kept)

    async def drive(self, value: Any = None, *, death: Death | None = None, at: int = 0) -> End:
        run, journal = self.take_over(death=death, at=at)
        return await drive(run, journal, value)

    @asynccontextmanager
    async def driving(self, value: Any = None) -> AsyncIterator[tuple[Run, "asyncio.Task[End]"]]:
        """A driver that runs beside the test. It is over at the end of the block, whatever happened."""
        run, journal = self.take_over()
        task = asyncio.create_task(drive(run, journal, value))
        try:
            yield run, task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    # --- what programs contact

    async def model(self, ctx: Context, name: str, request: Any = None, *, response: Any = None) -> Any:
        async def perform() -> Outcome:
            self.performed.append(name)
            await asyncio.sleep(0)
            return Outcome(f"{name}!" if response is None else response, {"prompt_tokens": 3})

        return await ctx.step(StepKind.MODEL, name, request, perform)

    async def failing(self, ctx: Context, name: str, error: OutsideError) -> Any:
        async def perform() -> Outcome:
            self.performed.append(name)
            raise error

        return await ctx.step(StepKind.MODEL, name, None, perform)

    # --- what is stored, and the people

    @property
    def open_requests(self) -> list[Asked]:
        return self.store.open_requests(self.execution_id)

    def answer(self, value: Any, *, to: int = 0) -> None:
        self.store.answer(self.open_requests[to].request_id, value)

    def intervene(
        self, kind: InterventionKind, text: str = "", *, lineage: str | None = None, run: Run | None = None
    ) -> None:
        """A person wants something of an agent, or of all; the driver of `run` hears of it at once."""
        agent_id = self.agent(lineage).id if lineage else None
        made = self.store.intervene(self.execution_id, kind, text, agent_id=agent_id)
        if run is not None:
            intervene(run, made)

    def events(self, kind: str) -> list[dict[str, Any]]:
        bodies = [json.loads(event.body) for event in self.store.events(self.execution_id)]
        return [body for body in bodies if body["type"] == kind]

    @property
    def titles(self) -> list[str]:
        return [body["title"] for body in self.events("title")]

    def agent(self, lineage: str = ROOT) -> AgentRecord:
        return next(agent for agent in self.store.agents(self.execution_id) if agent.lineage == lineage)


def say(ctx: Context, text: str) -> None:
    ctx.emit(Title(title=text))


async def until(holds: Any, *, turns: int = 1000) -> None:
    """Lets the other tasks run until `holds()`. Counts turns of the loop, not time."""
    for _ in range(turns):
        if holds():
            return
        await asyncio.sleep(0)
    raise AssertionError(f"did not come true within {turns} turns of the loop")


async def until_it_waits(case: Case, program: Any, value: Any = None) -> None:
    """Records all that the program does before its first question, so that the next driver replays it."""
    case.programs = {**case.programs, "root": program}
    end = await case.drive(value)
    assert end.how == "waiting"
    case.performed.clear()


class Gate:
    """A contact with the outside that ends when the test says so."""

    def __init__(self) -> None:
        self.entered = 0
        self.cancelled = 0
        self._open = asyncio.Event()

    def open(self) -> None:
        self._open.set()

    async def step(self, ctx: Context, name: str = "slow") -> Any:
        async def perform() -> Outcome:
            self.entered += 1
            try:
                await self._open.wait()
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
            return Outcome(name)

        return await ctx.step(StepKind.MODEL, name, None, perform)
