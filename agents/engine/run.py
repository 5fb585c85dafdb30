"""What the contexts of one execution share while a driver has it: what is recorded, what runs, who waits.

Knows nothing of databases: everything that is to last goes to the `Journal` port, in order.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol
from uuid import UUID

from agents.engine.canonical import plain
from agents.engine.errors import GivenBack, StepFailed, Suspended
from agents.engine.events import AgentState, Body
from agents.engine.journal import falls_to, is_within
from agents.engine.records import AgentRecord, Announced, Cut, EffectRecord, Loaded, Path, Record, StepRecord
from agents.engine.states import LIVE_AGENTS, AgentStatus, StepKind

if TYPE_CHECKING:
    from agents.engine.context import Context

Program = Callable[["Context", Any], Awaitable[Any]]


class Journal(Protocol):
    """Where a run is written down. Writes keep their order; nothing later lasts unless all before it does."""

    def write(self, *records: Record) -> None:
        """Queues records. Raises LeaseLost once it is known that another driver owns the run."""

    async def committed(self) -> None:
        """Returns when everything written so far is durable; raises LeaseLost if it never will be."""


class Run:
    """One execution under its driver: the recorded state, the live agents, and who waits for a person.

    `busy` counts the tasks that can go on by themselves. When it falls to zero while questions are open, all that
    could run is waiting for people, and every waiter is told `Suspended`. While the process stops, what came to rest
    may only have stopped at a boundary, so they are told `GivenBack`: whoever takes the run over finds out.
    """

    def __init__(
        self, execution_id: UUID, *, journal: Journal, programs: Mapping[str, Program], loaded: Loaded | None = None
    ) -> None:
        self.execution_id = execution_id
        self.journal = journal
        self.programs = programs
        self.loaded = loaded or Loaded()
        self.draining = False
        self._busy = 1
        self._parked: dict[UUID, asyncio.Future[Any]] = {}
        self._children: dict[UUID, asyncio.Task[Any]] = {}
        self._waiting_for: dict[UUID, int] = {}

    # --- what is recorded

    def steps_of(self, agent_id: UUID) -> dict[Path, StepRecord]:
        return self.loaded.steps.setdefault(agent_id, {})

    def record(self, *records: Record) -> None:
        """Writes records that belong together: all of them last, or none."""
        for record in records:
            match record:
                case StepRecord():
                    self.steps_of(record.agent_id)[record.path] = record
                case EffectRecord():
                    self.loaded.effects[record.key] = record
                case AgentRecord():
                    self.loaded.agents[record.lineage] = record
        self.journal.write(*records)

    def cut(self, cut: Cut, because: Body) -> None:
        """The journal ends here: forgets the steps from there on, ends the agents forked there, tells people why."""
        steps = self.steps_of(cut.agent_id)
        fallen = [steps.pop(path) for path in list(steps) if falls_to(cut.path, path)]
        self.loaded.origins.difference_update(cut.origins)
        forked = [step.response for step in fallen if step.kind is StepKind.FORK]
        ends = [
            record
            for lineage, agent in self.loaded.agents.items()
            if agent.status in LIVE_AGENTS and any(is_within(lineage, root) for root in forked)
            for record in with_event(ended(agent, AgentStatus.CANCELLED, None))
        ]
        self.record(cut, Announced(cut.agent_id, because), *ends)

    def announce_once(self, agent_id: UUID, body: Body, origin: str) -> None:
        """Emits an event unless this very emission was already made before a crash."""
        if origin not in self.loaded.origins:
            self.loaded.origins.add(origin)
            self.journal.write(Announced(agent_id, body, origin))

    # --- what runs and what waits

    def enter(self, tasks: int = 1) -> None:
        self._busy += tasks

    def leave(self) -> None:
        """One task can no longer go on by itself. Without any that can, the waiting ones are told to suspend."""
        self._busy -= 1
        if self._busy == 0:
            for future in self._parked.values():
                if not future.done():
                    future.set_exception(GivenBack() if self.draining else Suspended())

    def check_boundary(self) -> None:
        """Between two steps is where a run may be given back."""
        if self.draining:
            raise GivenBack

    async def answer_to(self, request_id: UUID) -> Any:
        """The person's answer, once there is one. Holds nothing but memory; raises Suspended when nothing else runs."""
        if request_id in self.loaded.answers:
            return self.loaded.answers[request_id]
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._parked[request_id] = future
        self.leave()
        try:
            return await future
        finally:
            del self._parked[request_id]
            if future.cancelled():
                self.enter()

    def answer(self, request_id: UUID, value: Any) -> None:
        """Hands a person's answer to whoever waits for it here; kept for one who will ask later."""
        self.loaded.answers[request_id] = value
        future = self._parked.get(request_id)
        if future is not None and not future.done():
            self.enter()
            future.set_result(value)

    @property
    def open_questions(self) -> tuple[UUID, ...]:
        return tuple(self._parked)

    # --- child agents

    def start_child(self, agent: AgentRecord, context: "Context", value: Any) -> None:
        """Runs a child agent's program beside its parent. One that had ended gives its recorded result."""
        self.enter()
        self._children[agent.id] = asyncio.create_task(self._drive_child(agent, context, value))

    async def _drive_child(self, agent: AgentRecord, context: "Context", value: Any) -> Any:
        try:
            if agent.status is AgentStatus.COMPLETED:
                return agent.output
            if agent.status is AgentStatus.FAILED:
                raise StepFailed(**agent.output)
            try:
                output = plain(await self.programs[agent.name](context, value))
            except StepFailed as error:
                self.record(*with_event(ended(agent, AgentStatus.FAILED, error.as_json(), error=error.message)))
                raise
            self.record(*with_event(ended(agent, AgentStatus.COMPLETED, output)))
            return output
        finally:
            self.enter(self._waiting_for.pop(agent.id, 0))
            self.leave()

    async def child_result(self, agent_id: UUID) -> Any:
        """A child's output, when it has one. Raises the StepFailed that ended it."""
        task = self._children[agent_id]
        if not task.done():
            self._waiting_for[agent_id] = self._waiting_for.get(agent_id, 0) + 1
            self.leave()
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if agent_id in self._waiting_for:
                self._waiting_for[agent_id] -= 1
                self.enter()
            raise

    async def stop_children(self) -> None:
        """Ends what still runs when the root has ended: a child that nobody waits for any more is cancelled."""
        for task in self._children.values():
            task.cancel()
        await asyncio.gather(*self._children.values(), return_exceptions=True)


def ended(agent: AgentRecord, status: AgentStatus, output: Any, *, error: str = "") -> AgentRecord:
    return replace(agent, status=status, output=output, error=error)


def with_event(agent: AgentRecord) -> tuple[AgentRecord, Announced]:
    """The agent's new state together with what people are told of it."""
    event = AgentState(
        agent_name=agent.name,
        parent_id=str(agent.parent_id) if agent.parent_id else None,
        status=agent.status,
        task=agent.task or None,
        error=agent.error or None,
    )
    return agent, Announced(agent.id, event)
