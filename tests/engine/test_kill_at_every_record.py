"""Generated programs are killed at every record, and resumed, until they are done: as if nothing had been.

`ENGINE_EXAMPLES=2000 pytest tests/engine/test_kill_at_every_record.py --timeout=0` looks longer than CI does.
"""

import asyncio
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from agents.engine.chain import faults
from agents.engine.records import AgentRecord, EffectRecord, StepRecord
from agents.engine.run import Run
from agents.engine.states import AgentStatus, EffectStatus, StepStatus
from tests.doubles.memory_journal import Death, MemoryStore
from tests.engine.driving import Case, End, drive
from tests.engine.programs import (
    All,
    Ask,
    Body,
    Do,
    DoTheSame,
    Emit,
    Fork,
    Note,
    Now,
    Outside,
    Probe,
    Step,
    Wait,
    World,
    bodies,
    size,
)

EXAMPLES = int(os.environ.get("ENGINE_EXAMPLES") or 0)
MOST_DRIVERS = 300

LEGAL_MOVES: set[tuple[StrEnum, StrEnum]] = {
    (StepStatus.STARTED, StepStatus.FINISHED),
    (StepStatus.STARTED, StepStatus.FAILED),
    (AgentStatus.RUNNING, AgentStatus.COMPLETED),
    (AgentStatus.RUNNING, AgentStatus.FAILED),
    (EffectStatus.STARTED, EffectStatus.FINISHED),
    (EffectStatus.STARTED, EffectStatus.FAILED),
    (EffectStatus.STARTED, EffectStatus.IN_DOUBT),
    (EffectStatus.IN_DOUBT, EffectStatus.FINISHED),
    (EffectStatus.IN_DOUBT, EffectStatus.FAILED),
    (EffectStatus.IN_DOUBT, EffectStatus.STARTED),
}


@dataclass
class Life:
    """A run of a generated program from its start to its end, over as many drivers as it takes."""

    body: Body
    seed: int = 0
    writes: int = 0
    kills: int = 0
    drained: float = 0.0

    def __post_init__(self) -> None:
        self.store = MemoryStore()
        self.outside = Outside(self.store, self.body, self.seed)
        self.case = Case(self.outside.programs, self.store)

    @property
    def id(self) -> UUID:
        return self.case.execution_id

    async def live(self, deaths: Iterable[tuple[Death, int]] = ()) -> End:
        """Drives until it ended; each driver dies as the next of `deaths` says, counted over the drivers before."""
        dying = iter(deaths)
        death, left = next(dying, (None, 0))
        for _ in range(MOST_DRIVERS):
            run, journal = self.case.take_over(death=death, at=left)
            others = asyncio.create_task(self._disturb(run))
            end = await drive(run, journal)
            others.cancel()
            self.writes += journal.writes
            left -= journal.writes
            if end.how == "killed":
                self.kills += 1
                death, left = next(dying, (None, 0))
            elif end.how == "waiting":
                asked = self.outside.answer_one(self.id) or run.loaded.answers
                assert asked, "the run waits, and nobody was asked"
            elif end.how != "given_back":
                return end
        raise AssertionError(f"the run did not end with {MOST_DRIVERS} drivers")

    async def _disturb(self, run: Run) -> None:
        """People answer while it runs; and now and then the process is told to stop."""
        while True:
            await asyncio.sleep(0)
            run.draining = run.draining or self.outside.chance.random() < self.drained
            if self.outside.chance.random() < 0.05:
                answered = self.outside.answer_one(self.id)
                if answered:
                    run.answer(*answered)

    def check(self, end: End, reference: "Life", expected: End) -> None:
        assert end == expected
        assert self.outside.violations == []
        assert self.events("journal_cut") == []
        self._check_log()
        self._check_effects()
        self._check_moves()
        assert Counter(event["name"] for event in self.events("stage")) == Counter(
            event["name"] for event in reference.events("stage")
        )
        assert max(Counter(event["name"] for event in self.events("stage")).values(), default=1) == 1
        assert not self.store.open_requests(self.id)

    def _check_log(self) -> None:
        rows = [(event.seq, event.body, event.hash) for event in self.store.events(self.id)]
        assert list(faults(rows)) == []
        folded = {event["agent_id"]: event["status"] for event in self.events("agent_state")}
        assert folded == {str(agent.id): agent.status for agent in self.store.agents(self.id)}

    def _check_effects(self) -> None:
        """Each site once, and at most once more for each time that a person wanted what had happened again."""
        for site, times in self.outside.happened.items():
            assert times <= 1 + self.outside.repeated_on_demand[site], site
            assert len(self.outside.keys[site]) == 1, f"{site} had several keys"
        for row in self.store.effects(self.id):
            known = row.arguments.get("world") not in (World.WORKS, World.WORKS_SILENTLY)
            assert known or row.status is EffectStatus.FINISHED, row
        keys = [key for found in self.outside.keys.values() for key in found]
        assert len(keys) == len(set(keys)), "two effects share a key"

    def _check_moves(self) -> None:
        now: dict[Any, Any] = {}
        for record in self.store.history(self.id):
            place: Any
            match record:
                case StepRecord():
                    place = (record.agent_id, record.path)
                case EffectRecord():
                    place = record.key
                case AgentRecord():
                    place = record.id
                case _:
                    continue
            before = now.get(place, record.status)
            assert before == record.status or (before, record.status) in LEGAL_MOVES, (place, before, record.status)
            now[place] = record.status
        over = {StepStatus.FINISHED, StepStatus.FAILED, AgentStatus.COMPLETED, AgentStatus.FAILED}
        over |= {EffectStatus.FINISHED, EffectStatus.FAILED}
        assert set(now.values()) <= over

    def events(self, kind: str) -> list[dict[str, Any]]:
        return self.case.events(kind)


def deaths_from(first: Death, at: int, life: Life) -> Iterator[tuple[Death, int]]:
    """The first as told; then others, at random, a few times."""
    yield first, at
    while life.kills < 6 and life.outside.chance.random() < 0.7:
        yield life.outside.chance.choice(list(Death)), life.outside.chance.randrange(1, 12)


async def survives_every_kill(body: Body, seed: int) -> int:
    reference = Life(body, seed)
    expected = await reference.live()
    reference.check(expected, reference, expected)
    for at in range(1, reference.writes + 1):
        for death in Death:
            life = Life(body, seed * 10_007 + at, drained=0.005)
            end = await life.live(deaths_from(death, at, life))
            life.check(end, reference, expected)
    return reference.writes


@pytest.mark.spec("B1", "B2", "B9")
@pytest.mark.timeout(600)
@settings(
    max_examples=EXAMPLES or 100,
    derandomize=not EXAMPLES,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
@example(
    (Do(World.WORKS, Probe.NONE), Do(World.WORKS_SILENTLY, Probe.NONE), Do(World.FAILS_SILENTLY, Probe.TRUTHFUL)), 1
)
@example((Ask(), All(((Ask(), Emit()), (Step(), DoTheSame()), (DoTheSame(), Ask(), DoTheSame())))), 2)
@example((Fork((Fork((Ask(), Do())), DoTheSame(), Emit())), Fork((DoTheSame(), Ask())), Note(), Emit(), Wait()), 3)
@example(
    (All(((Fork((Now(), Ask())), Step(True, False)), (Do(World.REFUSES, caught=False),)), caught=False), Emit()), 4
)
@given(bodies().filter(lambda body: size(body) <= 16), st.integers(0, 2**16))
def test_a_run_that_is_killed_at_any_record_ends_as_if_it_had_not_been(body: Body, seed: int) -> None:
    asyncio.run(survives_every_kill(body, seed))
