"""What the contexts of one execution share while a driver has it: what is recorded, what runs, who waits.

Knows nothing of databases: everything that is to last goes to the `Journal` port, in order.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol
from uuid import UUID

from agents.engine.clock import Clock
from agents.engine.errors import GivenBack, Suspended
from agents.engine.events import Body
from agents.engine.journal import asks_open, falls_to, is_within
from agents.engine.limits import Limits
from agents.engine.questions import is_said
from agents.engine.records import (
    AgentRecord,
    Announced,
    Cut,
    EffectRecord,
    Loaded,
    Path,
    Record,
    StepRecord,
    Withdrawn,
)
from agents.engine.states import LIVE_AGENTS, AgentStatus, StepKind, StepStatus
from agents.engine.tree import Tree, ended, with_event

if TYPE_CHECKING:
    from agents.engine.context import Context

Program = Callable[["Context", Any], Awaitable[Any]]


class Journal(Protocol):
    """Where a run is written down. Writes keep their order; nothing later lasts unless all before it does."""

    def write(self, *records: Record) -> None:
        """Queues records. Raises LeaseLost once it is known that another driver owns the run."""

    async def committed(self) -> None:
        """Returns when everything written so far is durable; raises LeaseLost if it never will be."""


@dataclass(slots=True, eq=False)
class _Waiter:
    """A task that waits for the answer to a request. Several may wait for the same."""

    request_id: UUID
    lineage: str
    answer: asyncio.Future[Any]


class Run:
    """One execution under its driver: the recorded state, the live agents, and who waits for a person.

    `busy` counts the tasks that can go on by themselves. When it falls to zero while questions are open, all that
    could run is waiting for people, and every waiter is told `Suspended`. While the process stops, what came to rest
    may only have stopped at a boundary, so they are told `GivenBack`: whoever takes the run over finds out.

    `effects_root` names the run whose effects these are, where this one is a copy of it.
    """

    def __init__(
        self,
        execution_id: UUID,
        *,
        journal: Journal,
        programs: Mapping[str, Program],
        loaded: Loaded | None = None,
        limits: Limits | None = None,
        effects_root: UUID | None = None,
    ) -> None:
        self.execution_id = execution_id
        self.effects_root = effects_root or execution_id
        self.journal = journal
        self.programs = programs
        self.loaded = loaded or Loaded()
        self.limits = limits or Limits()
        self.draining = False
        self.at_rest = False
        self.tree = Tree(self)
        self._lineages = {agent.id: lineage for lineage, agent in self.loaded.agents.items()}
        self._busy = 1
        self._waiters: list[_Waiter] = []
        self._clocks: set[Clock] = set()

    # --- what is recorded

    def steps_of(self, agent_id: UUID) -> dict[Path, StepRecord]:
        return self.loaded.steps.setdefault(agent_id, {})

    def agent(self, agent_id: UUID) -> AgentRecord:
        """The agent's newest record. Raises KeyError for one that is not of this run."""
        return self.loaded.agents[self._lineages[agent_id]]

    @property
    def root(self) -> AgentRecord:
        return next(agent for agent in self.loaded.agents.values() if agent.parent_id is None)

    def find(self, agent_id: UUID | None) -> AgentRecord | None:
        return self.agent(agent_id) if agent_id in self._lineages else None

    def record(self, *records: Record) -> None:
        """Writes records that belong together: all of them last, or none."""
        for record in records:
            match record:
                case StepRecord():
                    self.steps_of(record.agent_id)[record.path] = record.remembered()
                case EffectRecord():
                    self.loaded.effects[record.key] = record
                case AgentRecord():
                    self.loaded.agents[record.lineage] = record
                    self._lineages[record.id] = record.lineage
        self.journal.write(*records)

    def cut(self, cut: Cut, because: Body) -> None:
        """The journal ends here: forgets the steps from there on, ends the agents forked there, tells people why."""
        records, stopped = self.cutting(cut, because)
        agent = self.agent(cut.agent_id)
        if agent.status is AgentStatus.AWAITING_USER and not asks_open(self.steps_of(agent.id).values()):
            records += with_event(replace(agent, status=AgentStatus.RUNNING))
        self.record(*records)
        self.stop(stopped)

    def cutting(self, cut: Cut, because: Body) -> tuple[list[Record], list[AgentRecord]]:
        """Forgets the steps that fall; returns what is to be written of it, and the agents that then are to stop."""
        steps = self.steps_of(cut.agent_id)
        fallen = [steps.pop(path) for path in sorted(steps) if falls_to(cut.path, path)]
        for step in fallen:
            self.loaded.fell(step)
        self.loaded.origins.difference_update(cut.origins)
        self.forgot(cut, fallen)
        stopped = self.live_below(forked_in(fallen))
        ends = self.ending(stopped, AgentStatus.CANCELLED, asks=asks_open(fallen))
        return [cut, Announced(cut.agent_id, because), *ends], stopped

    def forgot(self, cut: Cut, fallen: Sequence[StepRecord]) -> None:
        """For those who keep sums over the steps: these no longer count. A cut at (0,) begins the agent anew."""

    def live_below(self, lineages: Iterable[str]) -> list[AgentRecord]:
        """These agents and all below them, as far as they are not over."""
        roots = tuple(lineages)
        return [
            agent
            for lineage, agent in self.loaded.agents.items()
            if agent.status in LIVE_AGENTS and any(is_within(lineage, root) for root in roots)
        ]

    def ending(
        self, agents: Sequence[AgentRecord], status: AgentStatus, *, why: str = "", asks: Iterable[StepRecord] = ()
    ) -> list[Record]:
        """The records by which these agents end without a result. Their open questions, and `asks`, are withdrawn."""
        asks = [*asks, *(ask for agent in agents for ask in asks_open(self.steps_of(agent.id).values()))]
        records: list[Record] = [*self._withdrawn(asks, ending=agents)]
        for agent in agents:
            records += with_event(ended(agent, status, None, error=why))
        return records

    def _withdrawn(self, asks: Iterable[StepRecord], *, ending: Iterable[AgentRecord]) -> tuple[Withdrawn, ...]:
        """Nobody waits for these any more; but for those that an agent which goes on waits for, too."""
        asks = list(asks)
        places = {(ask.agent_id, ask.path) for ask in asks}
        over = {agent.id for agent in ending}
        others = {
            request_of(ask)
            for agent in self.loaded.agents.values()
            if agent.status in LIVE_AGENTS and agent.id not in over
            for ask in asks_open(self.steps_of(agent.id).values())
            if (agent.id, ask.path) not in places
        }
        left = tuple(dict.fromkeys(request_of(ask) for ask in asks if request_of(ask) not in others))
        return (Withdrawn(left),) if left else ()

    def answered_together(self, key: str) -> StepRecord | None:
        """The step of some agent, or of one before a cut, that has the answer to the question of this key."""
        steps = (step for steps in self.loaded.steps.values() for step in steps.values())
        found = (step for step in steps if step.effect_key == key and step.status is StepStatus.FINISHED)
        return next(found, self.loaded.answered.get(key))

    def asked_together(self, key: str) -> UUID | None:
        """The request of this key that is open; or that was answered, and whoever waited was stopped before."""
        for agent in self.loaded.agents.values():
            for ask in asks_open(self.steps_of(agent.id).values()):
                request_id = request_of(ask)
                answered = request_id in self.loaded.answers and is_said(self.loaded.answers[request_id])
                if ask.effect_key == key and (agent.status in LIVE_AGENTS or answered):
                    return request_id
        return None

    def stop(self, agents: Iterable[AgentRecord]) -> None:
        """What still runs of agents whose end is recorded ends too."""
        for agent in agents:
            self.tree.stop(agent.id)

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
        waiting = [waiter.answer for waiter in self._waiters if not waiter.answer.done()]
        if self._busy == 0 and waiting:
            self.at_rest = True
            for clock in self._clocks:
                clock.stop()
            for future in waiting:
                future.set_exception(self._at_rest())

    def _at_rest(self) -> GivenBack | Suspended:
        return GivenBack() if self.draining else Suspended()

    def check_boundary(self) -> None:
        """Between two steps is where a run may be given back."""
        if self.draining:
            raise GivenBack

    async def answer_to(self, request_id: UUID, lineage: str) -> Any:
        """The person's answer to an agent's question, once there is one. Holds nothing but memory.

        Raises Suspended when nothing else runs.
        """
        if request_id in self.loaded.answers:
            return self.loaded.answers[request_id]
        if self.at_rest:
            raise self._at_rest()
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        waiter = _Waiter(request_id, lineage, future)
        self._waiters.append(waiter)
        for clock in self._clocks_over(lineage):
            clock.pause()
        self.leave()
        try:
            return await future
        finally:
            self._waiters.remove(waiter)
            if not self.at_rest:
                for clock in self._clocks_over(lineage):
                    clock.resume()
            if future.cancelled():
                self.enter()

    def answer(self, request_id: UUID, value: Any) -> None:
        """Hands a person's answer to all who wait for it here; kept for one who will ask later."""
        self.loaded.answers[request_id] = value
        for waiter in self._waiters:
            if waiter.request_id == request_id and not waiter.answer.done():
                self.enter()
                waiter.answer.set_result(value)

    def answered_within_s(self, kind: str) -> int | None:
        """After how long a question of this kind ends by itself, as people are told with it; None: never, as far as is
        known."""
        return None

    @property
    def open_questions(self) -> tuple[UUID, ...]:
        return tuple(dict.fromkeys(waiter.request_id for waiter in self._waiters))

    @contextmanager
    def timed(self, clock: Clock) -> Iterator[None]:
        """Lets the clock run, and stand still whenever somebody of its agents waits for a person."""
        self._clocks.add(clock)
        for waiter in self._waiters:
            if is_within(waiter.lineage, clock.lineage):
                clock.pause()
        clock.start()
        try:
            yield
        finally:
            self._clocks.discard(clock)
            clock.stop()

    def _clocks_over(self, lineage: str) -> list[Clock]:
        return [clock for clock in self._clocks if is_within(lineage, clock.lineage)]

    async def stop_children(self) -> None:
        """Ends what still runs when the root has ended: a child that nobody waits for any more is cancelled."""
        await self.tree.close()


def forked_in(steps: Iterable[StepRecord]) -> list[str]:
    """The lineages of the agents that these steps forked."""
    return [step.response for step in steps if step.kind is StepKind.FORK and step.status is StepStatus.FINISHED]


def request_of(ask: StepRecord) -> UUID:
    """The request that an open question waits for."""
    return UUID(ask.response["request_id"])
