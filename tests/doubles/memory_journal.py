"""A store of runs in memory, which can be told to die. It passes the same contract suite as the one on Postgres.

What is durable here is JSON: a value that JSON cannot hold does not survive in this store either.
"""

import asyncio
import json
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import Enum, auto
from typing import Any
from uuid import UUID, uuid4

from agents.engine.canonical import Written, canonical
from agents.engine.chain import GENESIS, link
from agents.engine.copying import Kept, PastAgent, PastStep
from agents.engine.errors import LeaseLost
from agents.engine.interventions import SAID
from agents.engine.journal import falls_to
from agents.engine.records import (
    AgentRecord,
    Announced,
    Applied,
    Asked,
    Cut,
    EffectRecord,
    Intervention,
    Loaded,
    Path,
    Record,
    StepRecord,
    Withdrawn,
)
from agents.engine.states import LIVE_AGENTS, InterventionKind, StepKind, StepStatus


class Killed(BaseException):
    """The process is gone: what this journal has not stored by now never will be."""


class Death(Enum):
    """What the write call at which the process dies leaves behind."""

    WRITE_IS_LOST = auto()
    WRITE_IS_STORED = auto()
    UNCOMMITTED_IS_LOST = auto()


@dataclass(frozen=True, slots=True)
class StoredEvent:
    seq: int
    agent_id: UUID | None
    body: str
    hash: bytes
    origin: str


@dataclass(slots=True)
class _Execution:
    """What is durable of a run. `history` has every record in the order in which it was stored."""

    epoch: int = 0
    agents: dict[UUID, AgentRecord] = field(default_factory=dict)
    steps: dict[tuple[UUID, Path], StepRecord] = field(default_factory=dict)
    effects: dict[str, EffectRecord] = field(default_factory=dict)
    events: list[StoredEvent] = field(default_factory=list)
    history: list[Record] = field(default_factory=list)
    interventions: dict[UUID, Intervention] = field(default_factory=dict)
    began: dict[tuple[UUID, Path], int] = field(default_factory=dict)
    ended: dict[UUID, int] = field(default_factory=dict)
    fallen: list[StepRecord] = field(default_factory=list)


class MemoryStore:
    """Every run by its id. One store outlives any number of journals, as a database outlives processes."""

    def __init__(self) -> None:
        self._executions: dict[UUID, _Execution] = {}
        self._requests: dict[UUID, Asked] = {}
        self._answers: dict[UUID, Any] = {}
        self._withdrawn: set[UUID] = set()

    def new_execution(self) -> UUID:
        execution_id = uuid4()
        self._executions[execution_id] = _Execution()
        return execution_id

    def take_over(
        self, execution_id: UUID, *, death: Death | None = None, at: int = 0
    ) -> tuple["MemoryJournal", Loaded]:
        """A new epoch, which fences older journals off, and what is durable. `death`: at write call `at`."""
        self._executions[execution_id].epoch += 1
        journal = MemoryJournal(self, execution_id, self._executions[execution_id].epoch, death=death, at=at)
        return journal, self._load(execution_id)

    def past(self, execution_id: UUID) -> list[PastAgent]:
        """The run as it was, for a copy. The times are the places in its history."""
        kept = self._executions[execution_id]
        began: dict[tuple[UUID, Path], int] = dict(kept.began)
        ended: dict[UUID, int] = dict(kept.ended)
        given = max([*began.values(), *ended.values()], default=-1)
        for place, record in enumerate(kept.history, given + 1):
            match record:
                case StepRecord():
                    began.setdefault((record.agent_id, record.path), place)
                case AgentRecord() if record.status not in LIVE_AGENTS:
                    ended[record.id] = place
                case Cut():
                    for at in [at for at in began if at[0] == record.agent_id and falls_to(record.path, at[1])]:
                        del began[at]
        steps: dict[UUID, list[PastStep]] = {}
        for (agent_id, path), step in kept.steps.items():
            is_fork = step.kind is StepKind.FORK and step.status is StepStatus.FINISHED
            place = began[agent_id, path]
            past = PastStep(place, path, step.kind, step.status, _at(place), step.response if is_fork else "")
            steps.setdefault(agent_id, []).append(past)
        return [
            PastAgent(
                agent.id,
                agent.parent_id,
                agent.lineage,
                agent.status,
                _at(ended[agent.id]) if agent.id in ended else None,
                agent.depends_on,
                tuple(steps.get(agent.id, ())),
            )
            for agent in kept.agents.values()
        ]

    def copy(self, execution_id: UUID, kept: Kept) -> UUID:
        """A new run that begins with what was kept, and shares the ledger of the old one."""
        old, new_id = self._executions[execution_id], self.new_execution()
        new = self._executions[new_id]
        new.effects = old.effects
        ids = {agent_id: uuid4() for agent_id in kept.agents}
        past = {agent.id: agent for agent in self.past(execution_id)}
        for agent_id, status in kept.agents.items():
            agent = old.agents[agent_id]
            live = status in LIVE_AGENTS
            new.agents[ids[agent_id]] = replace(
                agent,
                id=ids[agent_id],
                parent_id=ids[agent.parent_id] if agent.parent_id else None,
                status=status,
                depends_on=tuple(ids[other] for other in agent.depends_on),
                output=None if live else agent.output,
                error="" if live else agent.error,
            )
            ended_at = past[agent_id].ended_at
            if ended_at is not None and not live:
                new.ended[ids[agent_id]] = (ended_at - _at(0)) // timedelta(microseconds=1)
            for step in past[agent_id].steps:
                if step.id in kept.steps:
                    copied = replace(old.steps[agent_id, step.path], agent_id=ids[agent_id], usage=None)
                    new.steps[ids[agent_id], step.path] = copied
                    new.began[ids[agent_id], step.path] = step.id
        return new_id

    def answer(self, request_id: UUID, value: Any) -> None:
        if request_id not in self._requests:
            raise KeyError(f"nobody asked {request_id}")
        if request_id not in self._withdrawn:
            self._answers.setdefault(request_id, _through_json(value))

    def intervene(
        self, execution_id: UUID, kind: InterventionKind, text: str = "", *, agent_id: UUID | None = None
    ) -> Intervention:
        """A person wants something. It stands in the store; a driver hears of it in another way."""
        made = Intervention(uuid4(), agent_id, kind, text)
        self._executions[execution_id].interventions[made.id] = made
        return made

    # --- what is durable, to look at

    def open_requests(self, execution_id: UUID) -> list[Asked]:
        agents = self._executions[execution_id].agents
        return [
            asked
            for asked in self._requests.values()
            if asked.agent_id in agents and asked.request_id not in self._answers.keys() | self._withdrawn
        ]

    def agents(self, execution_id: UUID) -> list[AgentRecord]:
        return list(self._executions[execution_id].agents.values())

    def steps(self, execution_id: UUID) -> list[StepRecord]:
        return list(self._executions[execution_id].steps.values())

    def effects(self, execution_id: UUID) -> list[EffectRecord]:
        return list(self._executions[execution_id].effects.values())

    def events(self, execution_id: UUID) -> list[StoredEvent]:
        return list(self._executions[execution_id].events)

    def history(self, execution_id: UUID) -> list[Record]:
        return list(self._executions[execution_id].history)

    # --- for the journals

    def is_newest(self, execution_id: UUID, epoch: int) -> bool:
        return self._executions[execution_id].epoch == epoch

    def apply(self, execution_id: UUID, records: Iterable[Record]) -> None:
        """Stores the records of one write call. Nothing awaits in here: all of them, or none."""
        kept = self._executions[execution_id]
        for record in [_stored(record) for record in records]:
            kept.history.append(record)
            match record:
                case StepRecord():
                    kept.steps[record.agent_id, record.path] = record
                case EffectRecord():
                    kept.effects[record.key] = record
                case AgentRecord():
                    kept.agents[record.id] = record
                case Asked():
                    self._requests[record.request_id] = record
                case Withdrawn():
                    self._withdrawn.update(id_ for id_ in record.request_ids if id_ not in self._answers)
                case Applied():
                    made = kept.interventions[record.intervention_id]
                    kept.interventions[made.id] = replace(made, applied=True)
                case Cut():
                    _cut(kept, record)
                case Announced():
                    kept.events.append(_numbered(execution_id, kept.events, record))

    def _load(self, execution_id: UUID) -> Loaded:
        kept = self._executions[execution_id]
        loaded = Loaded(
            agents={agent.lineage: _stored(agent) for agent in kept.agents.values()},
            effects={key: _stored(effect) for key, effect in kept.effects.items()},
            answers={
                request_id: _through_json(value)
                for request_id, value in self._answers.items()
                if self._requests[request_id].agent_id in kept.agents
            },
            interventions={
                made.id: made for made in kept.interventions.values() if not made.applied or made.kind in SAID
            },
            origins={event.origin for event in kept.events if event.origin},
        )
        for (agent_id, path), step in kept.steps.items():
            loaded.steps.setdefault(agent_id, {})[path] = _stored(step).remembered()
        for step in kept.fallen:
            loaded.fell(_stored(step))
        for event in kept.events:
            _count_shown(loaded.shown, event)
        return loaded


class MemoryJournal:
    """The journal of one driver under one epoch.

    As a rule a write is durable at once. With `Death.UNCOMMITTED_IS_LOST` it only is once `committed` returned.
    """

    def __init__(self, store: MemoryStore, execution_id: UUID, epoch: int, *, death: Death | None, at: int) -> None:
        self.writes = 0
        self.dead = False
        self._store = store
        self._execution_id = execution_id
        self._epoch = epoch
        self._death = death
        self._at = at
        self._waiting: list[tuple[Record, ...]] = []

    def write(self, *records: Record) -> None:
        self._check()
        self.writes += 1
        dies = self._death is not None and self.writes == self._at
        if not (dies and self._death is Death.WRITE_IS_LOST):
            self._waiting.append(records)
        if self._death is not Death.UNCOMMITTED_IS_LOST:
            self._flush()
        if dies:
            self.dead = True
            raise Killed

    @property
    def has_events(self) -> bool:
        return bool(self._store.events(self._execution_id))

    async def committed(self) -> None:
        self._check()
        await asyncio.sleep(0)
        self._check()
        self._flush()

    def _check(self) -> None:
        if self.dead:
            raise Killed
        if not self._store.is_newest(self._execution_id, self._epoch):
            raise LeaseLost

    def _flush(self) -> None:
        for records in self._waiting:
            self._store.apply(self._execution_id, records)
        self._waiting.clear()


def _at(place: int) -> datetime:
    return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(microseconds=place)


def _through_json(value: Any) -> Any:
    return json.loads(value.text if isinstance(value, Written) else canonical(value))


def _stored(record: Any) -> Any:
    """The record as it comes back: a copy whose values went through JSON."""
    match record:
        case StepRecord():
            return replace(
                record,
                request=_through_json(record.request),
                response=_through_json(record.response),
                usage=_through_json(record.usage),
            )
        case EffectRecord():
            return replace(record, arguments=_through_json(record.arguments), response=_through_json(record.response))
        case AgentRecord():
            return replace(record, output=_through_json(record.output))
        case Asked():
            return replace(record, question=_through_json(record.question))
    return record


def _cut(kept: _Execution, cut: Cut) -> None:
    for agent_id, path in [place for place in kept.steps if place[0] == cut.agent_id and falls_to(cut.path, place[1])]:
        kept.fallen.append(kept.steps.pop((agent_id, path)))
    kept.events = [replace(event, origin="") if event.origin in cut.origins else event for event in kept.events]


def _numbered(execution_id: UUID, before: list[StoredEvent], announced: Announced) -> StoredEvent:
    head = {
        "seq": len(before) + 1,
        "execution_id": str(execution_id),
        "agent_id": str(announced.agent_id) if announced.agent_id else None,
        "timestamp": time.time_ns() // 1_000_000,
    }
    body = json.dumps(head | announced.body.model_dump(mode="json", exclude_none=True))
    previous = before[-1].hash if before else GENESIS
    return StoredEvent(len(before) + 1, announced.agent_id, body, link(previous, body), announced.origin)


def _count_shown(shown: dict[tuple[UUID, str], int], event: StoredEvent) -> None:
    body = json.loads(event.body)
    if event.agent_id is None or body["type"] not in ("token", "token_reset"):
        return
    place = (event.agent_id, body["channel"])
    shown[place] = body["keep"] if body["type"] == "token_reset" else shown.get(place, 0) + len(body["content"])
