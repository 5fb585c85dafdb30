"""Generated programs are killed at every record, and resumed, until they are done: as if nothing had been.

`ENGINE_EXAMPLES=2000 pytest tests/engine/test_kill_at_every_record.py --timeout=0` looks longer than CI does.
"""

import asyncio
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from agents.engine.chain import faults
from agents.engine.errors import LeaseLost
from agents.engine.interventions import intervene
from agents.engine.journal import falls_to
from agents.engine.limits import Limits
from agents.engine.records import AgentRecord, Cut, EffectRecord, StepRecord
from agents.engine.run import Run
from agents.engine.states import LIVE_AGENTS, AgentStatus, EffectStatus, InterventionKind, StepStatus
from tests.doubles.memory_journal import Death, Killed, MemoryStore
from tests.engine.driving import Case, End, drive
from tests.engine.programs import (
    All,
    Ask,
    AskTogether,
    Body,
    Do,
    DoTheSame,
    Emit,
    Fork,
    Hear,
    Limited,
    Note,
    Now,
    Outside,
    Probe,
    Skip,
    Step,
    Wait,
    World,
    bodies,
    runs_out_of_time,
    size,
)

EXAMPLES = int(os.environ.get("ENGINE_EXAMPLES") or 0)
MOST_DRIVERS = 300

LEGAL_MOVES: set[tuple[StrEnum, StrEnum]] = {
    (StepStatus.STARTED, StepStatus.FINISHED),
    (StepStatus.STARTED, StepStatus.FAILED),
    (AgentStatus.RUNNING, AgentStatus.COMPLETED),
    (AgentStatus.RUNNING, AgentStatus.FAILED),
    (AgentStatus.RUNNING, AgentStatus.AWAITING_USER),
    (AgentStatus.RUNNING, AgentStatus.SKIPPED),
    (AgentStatus.AWAITING_USER, AgentStatus.RUNNING),
    (AgentStatus.PENDING, AgentStatus.RUNNING),
    *((live, over) for live in LIVE_AGENTS for over in (AgentStatus.CANCELLED, AgentStatus.DELETED)),
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
    interventions: int = 0

    def __post_init__(self) -> None:
        self.wished = self.interventions > 0
        self.drivers = 0
        self.wishes: dict[UUID, int] = {}
        self.store = MemoryStore()
        self.outside = Outside(self.store, self.body, self.seed)
        self.case = Case(self.outside.programs, self.store, limits=Limits(agents=200, depth=20))

    @property
    def id(self) -> UUID:
        return self.case.execution_id

    async def live(self, deaths: Iterable[tuple[Death, int]] = ()) -> End:
        """Drives until it ended; each driver dies as the next of `deaths` says, counted over the drivers before."""
        dying = iter(deaths)
        death, left = next(dying, (None, 0))
        for _ in range(MOST_DRIVERS):
            self._want_something()
            self.drivers += 1
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
            if self.outside.chance.random() < 0.05:
                self._want_something(run)
            if self.outside.chance.random() < 0.02:
                with suppress(Killed, LeaseLost):
                    await run.journal.committed()

    def _want_something(self, run: Run | None = None) -> None:
        """Now and then a person deletes, modifies or addresses some agent, live or not, or all."""
        agents = self.store.agents(self.id)
        if self.interventions and agents and self.outside.chance.random() < 0.5:
            self.interventions -= 1
            kind = self.outside.chance.choice(list(InterventionKind))
            agent = self.outside.chance.choice(agents)
            to = None if kind is InterventionKind.STEER else agent.id
            made = self.store.intervene(self.id, kind, f"wish {self.interventions}", agent_id=to)
            self.wishes[made.id] = self.drivers
            if run is not None and not run.at_rest:
                with suppress(Killed, LeaseLost):
                    intervene(run, made)

    def check(self, end: End, reference: "Life", expected: End) -> None:
        assert end == expected
        assert self.outside.violations == []
        assert self.events("journal_cut") == []
        self._check_log()
        self._check_effects()
        self._check_moves(left_open=runs_out_of_time(self.body))
        assert Counter(event["name"] for event in self.events("stage")) == Counter(
            event["name"] for event in reference.events("stage")
        )
        assert max(Counter(event["name"] for event in self.events("stage")).values(), default=1) == 1
        assert not self.store.open_requests(self.id)
        shared = Counter(event["details"]["site"] for event in self.events("interrupt") if event["kind"] == "budget")
        closed = Counter(event["request_id"] for event in self.events("interrupt_response"))
        assert max(closed.values(), default=1) == 1
        assert max(shared.values(), default=1) == 1 or runs_out_of_time(self.body)

    def check_with_wishes(self) -> None:
        """What holds whatever people did: how far the program came is not foreseen."""
        assert self.outside.violations == []
        self._check_log()
        self._check_effects()
        self._check_moves(left_open=True)
        assert not self.store.open_requests(self.id)
        _, loaded = self.store.take_over(self.id)
        unapplied = [wish.id for wish in loaded.interventions.values() if not wish.applied]
        assert all(self.wishes[wish] == self.drivers for wish in unapplied), "only the last driver may be too late"
        heard = [
            [
                said["id"]
                for step in loaded.steps.get(agent.id, {}).values()
                if step.name == "heard"
                for said in step.response
            ]
            for agent in loaded.agents.values()
        ]
        assert all(len(ids) == len(set(ids)) for ids in heard)

    def check_copy(self) -> None:
        """What holds of another try: it may begin with what was stopped in the first."""
        self.wished = True  # what was refused may be tried again
        assert self.outside.violations == []
        assert self.events("journal_cut") == []
        self._check_log()
        self._check_effects()
        self._check_moves(left_open=True)
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
            stopped = runs_out_of_time(self.body) or self.wished
            assert known or stopped or row.status is EffectStatus.FINISHED, row
        keys = [key for found in self.outside.keys.values() for key in found]
        assert len(keys) == len(set(keys)), "two effects share a key"

    def _check_moves(self, *, left_open: bool) -> None:
        """`left_open`: some of it was stopped in the midst of a step; then it stays so."""
        now: dict[Any, Any] = {}
        # What was refused may be tried by an agent that begins anew.
        legal = LEGAL_MOVES | ({(EffectStatus.FAILED, EffectStatus.STARTED)} if self.wished else set())
        for record in self.store.history(self.id):
            place: Any
            match record:
                case StepRecord():
                    place = (record.agent_id, record.path)
                case EffectRecord():
                    place = record.key
                case AgentRecord():
                    place = record.id
                case Cut():
                    fallen = [at for at in now if isinstance(at, tuple) and at[0] == record.agent_id]
                    for at in fallen:
                        if falls_to(record.path, at[1]):
                            del now[at]
                    continue
                case _:
                    continue
            before = now.get(place, record.status)
            assert before == record.status or (before, record.status) in legal, (place, before, record.status)
            now[place] = record.status
        over = {StepStatus.FINISHED, StepStatus.FAILED, AgentStatus.COMPLETED, AgentStatus.FAILED}
        over |= {EffectStatus.FINISHED, EffectStatus.FAILED, AgentStatus.SKIPPED}
        if left_open:
            over |= {StepStatus.STARTED, EffectStatus.STARTED, EffectStatus.IN_DOUBT, EffectStatus.SKIPPED}
            over |= {AgentStatus.CANCELLED, AgentStatus.DELETED}
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


@pytest.mark.slow
@pytest.mark.spec("B1", "B2", "B9")
@pytest.mark.timeout(600)
@settings(
    max_examples=EXAMPLES or 30,
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
@example((Fork((Ask(), Do())), Fork((Step(), Skip()), 1), Fork((Do(), Ask()), 2), Emit(), Wait()), 5)
@example(
    (Limited((Do(), Fork((Ask(), Step())), Step()), True), Fork((Do(),)), Limited((Ask(), DoTheSame())), Wait()), 6
)
@example((Fork((AskTogether(), Do())), Fork((Step(), AskTogether())), AskTogether("two"), AskTogether(), Wait()), 9)
@given(bodies().filter(lambda body: size(body) <= 16), st.integers(0, 2**16))
def test_a_run_that_is_killed_at_any_record_ends_as_if_it_had_not_been(body: Body, seed: int) -> None:
    asyncio.run(survives_every_kill(body, seed))


async def survives_people_and_kills(body: Body, seed: int) -> None:
    for number in range(12):
        life = Life(body, seed * 101 + number, drained=0.005, interventions=6)
        await life.live(deaths_from(life.outside.chance.choice(list(Death)), number * 3 + 1, life))
        life.check_with_wishes()


@pytest.mark.slow
@pytest.mark.spec("B1", "B2", "B15", "S94", "S100", "S106")
@pytest.mark.timeout(600)
@settings(
    max_examples=EXAMPLES or 40,
    derandomize=not EXAMPLES,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
@example((Fork((Fork((Ask(), Do())), DoTheSame(), Hear())), Fork((DoTheSame(), Ask()), 1), Emit(), Wait()), 7)
@example((Limited((Fork((Ask(), Do())), Wait())), All(((Fork((Do(), Ask())), Wait()), (Ask(), Fork((Do(),), 1))))), 8)
@example(
    (Fork((AskTogether(), Do())), Fork((AskTogether(), Ask())), Limited((AskTogether(), Fork((Ask(),)))), Wait()), 9
)
@given(bodies().filter(lambda body: size(body) <= 16), st.integers(0, 2**16))
def test_whatever_people_do_to_agents_a_run_that_is_killed_ends_in_order(body: Body, seed: int) -> None:
    asyncio.run(survives_people_and_kills(body, seed))
