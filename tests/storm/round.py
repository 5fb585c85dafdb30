"""One round of a storm: its runs are begun, its faults are done, and when all has come to rest all is looked at."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

import psycopg

from tests.invariants import Answered, Seen, faults, take_overs_s
from tests.storm.expecting import faults_of_end
from tests.storm.house import LEASE_S, Hit, House
from tests.storm.model import ORDER_TOOL
from tests.storm.people import Begun, People, faults_of_sockets
from tests.storm.plan import Fault, PlannedFault, PlannedRun, Round

SETTLE_S: Final = 240.0
CAUGHT_UP_S: Final = 30.0
# A job that was lost with its cluster is found by the next one, or by a sweep.
FOLLOWED_UP_S: Final = 180.0
# On a machine that does other work as well a process needs many seconds to begin.
SLACK_S: Final = 40.0
RESUME_WITHIN_S: Final = 10.0
# By which a run may fail here, though nothing is wrong.
FAILURES: Final[frozenset[str]] = frozenset()
_LIVE: Final = "SELECT id, status, question FROM agents_execution WHERE ended_at IS NULL"
_NOT_FOLLOWED_UP: Final = """
    SELECT id FROM agents_execution
    WHERE id = ANY(%s) AND ended_at IS NOT NULL AND on_finish <> '' AND finish_handled_at IS NULL
"""


@dataclass
class Outcome:
    """What came of a round."""

    number: int
    runs: int = 0
    took_s: float = 0.0
    statuses: Counter[str] = field(default_factory=Counter)
    hits: list[Hit] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    take_overs_s: list[float] = field(default_factory=list)
    resumes_s: list[float] = field(default_factory=list)
    reconnects: int = 0
    tracebacks: Counter[str] = field(default_factory=Counter)
    executions: list[UUID] = field(default_factory=list)


class RoundUnderWay:
    """`late`: runs of the round before that wait for their answer."""

    def __init__(self, house: House, people: People, plan: Round, *, late: Sequence[UUID] = ()) -> None:
        self._house = house
        self._people = people
        self._plan = plan
        self._late = list(late)
        self._begun: list[Begun] = []
        self._outcome = Outcome(plan.number)
        self._log_marks = house.log_sizes()

    async def go(self) -> Outcome:
        try:
            return await self._go()
        finally:
            await self._people.look_away()

    async def _go(self) -> Outcome:
        began = time.monotonic()
        house, plan = self._house, self._plan
        house.skew = plan.skew
        self._people.round_number = plan.number
        since = house.query("SELECT clock_timestamp() AS now")[0]["now"]
        runs = [asyncio.create_task(self._run(planned)) for planned in plan.runs]
        breaking = [asyncio.create_task(self._break(fault)) for fault in plan.faults]
        mending = asyncio.create_task(self._mend())
        answering = asyncio.create_task(self._people.answer_all())
        try:
            await asyncio.gather(*breaking)
            _, unfinished = await asyncio.wait(runs, timeout=SETTLE_S)
            self._outcome.faults += [f"I1: {task.get_name()} is not done" for task in unfinished]
            for task in runs:
                task.cancel()
            for failed in await asyncio.gather(*runs, return_exceptions=True):
                if isinstance(failed, Exception):
                    raise failed
            await self._come_to_rest(began)
        finally:
            for task in (*runs, *breaking, mending, answering):
                task.cancel()
            ended = await asyncio.gather(mending, answering, return_exceptions=True)
        for error in ended:
            if isinstance(error, Exception):
                raise error
        await self._look(since)
        self._outcome.took_s = round(time.monotonic() - began, 1)
        return self._outcome

    @property
    def still_waiting(self) -> list[UUID]:
        return [row["id"] for row in self._house.query(_LIVE) if self._people.waits_for_later(row["question"])]

    # --- what happens

    async def _run(self, planned: PlannedRun) -> None:
        await asyncio.sleep(planned.at_s)
        begun = await self._people.begin(planned)
        if begun is not None:
            self._begun.append(begun)

    async def _break(self, fault: PlannedFault) -> None:
        """On this thread: what it starts ends with the thread."""
        await asyncio.sleep(fault.at_s)
        hit = self._house.hit(fault)
        # What waits for an effect is told of when it is done.
        if fault.kind is not Fault.KILL_AT_EFFECT:
            self._outcome.hits.append(hit)
        if not hit.held:
            await asyncio.sleep(fault.lasts_s)
            self._house.heal(fault)

    async def _mend(self) -> None:
        while True:
            await asyncio.sleep(0.5)
            self._house.mend()

    async def _come_to_rest(self, began: float) -> None:
        """All that goes on has ended, or waits for the next round; nobody answers any more."""
        deadline = began + self._plan_length_s() + SETTLE_S
        while time.monotonic() < deadline:
            with suppress(psycopg.Error):
                going = [
                    row
                    for row in self._house.query(_LIVE)
                    if not (row["status"] == "awaiting_user" and self._people.waits_for_later(row["question"]))
                ]
                if not going and not self._people.is_answering:
                    return
            await asyncio.sleep(0.5)

    def _plan_length_s(self) -> float:
        return max((fault.at_s + fault.lasts_s for fault in self._plan.faults), default=0.0)

    # --- what is looked at

    async def _look(self, since: Any) -> None:
        house, outcome = self._house, self._outcome
        await self._until_caught_up()
        await self._until_followed_up()
        wanted = "SELECT id, status FROM agents_execution WHERE created_at >= %s OR id = ANY(%s)"
        rows = house.query(wanted, since, self._late)
        outcome.executions = [row["id"] for row in rows]
        outcome.statuses = Counter(row["status"] for row in rows)
        accepted = {id_ for begun in self._begun for id_ in begun.executions}
        outcome.runs = len(outcome.executions)
        for begun in self._begun:
            await begun.watcher.stop()
            outcome.reconnects += max(0, begun.watcher.connects - 1)
            outcome.resumes_s += begun.watcher.resumes_s
            outcome.faults += [f"I3: {fault}" for fault in faults_of_sockets(begun, self._events)]
            outcome.faults += self._faults_of_ends(begun)
        outcome.hits += house.take_struck()
        outcome.faults += self._people.faults
        self._people.faults = []
        text = house.logs_since(self._log_marks)
        outcome.tracebacks = tracebacks_in(text)
        runs = sorted(accepted | set(outcome.executions))
        keys = {row["key"] for row in house.query("SELECT key FROM agents_effect WHERE execution_id = ANY(%s)", runs)}
        seen = Seen(
            runs=runs,
            sinks=house.sinks.counted(keys=keys),
            answers=self._people.taken_answers(),
            logs=text,
            secrets=house.secret_texts,
            failures=FAILURES,
            approved_only=("send_email", ORDER_TOOL),
            lease_s=LEASE_S,
            slack_s=SLACK_S,
            outages=tuple(house.outages),
            resumes_s=tuple(outcome.resumes_s),
            resume_within_s=RESUME_WITHIN_S,
        )
        outcome.faults += await asyncio.to_thread(faults, house.dsn, seen)
        outcome.take_overs_s = take_overs_s(house.dsn, outcome.executions)

    def _faults_of_ends(self, begun: Begun) -> list[str]:
        rows = self._house.query("SELECT * FROM agents_execution WHERE id = ANY(%s)", begun.executions)
        has_arrived = self._house.sinks.has(begun.planned.tag)
        return [fault for row in rows for fault in faults_of_end(begun.planned, row, has_arrived=has_arrived)]

    async def _until_caught_up(self) -> None:
        """Sockets come back and read what they missed."""
        deadline = time.monotonic() + CAUGHT_UP_S
        ids = [id_ for begun in self._begun for id_ in begun.executions]
        rows = self._house.query("SELECT execution_id, max(seq) AS n FROM agents_event GROUP BY 1")
        last = {row["execution_id"]: row["n"] for row in rows if row["execution_id"] in set(ids)}
        while time.monotonic() < deadline:
            behind = [
                id_ for begun in self._begun for id_ in begun.executions if begun.watcher.has(str(id_)) < last[id_]
            ]
            if not behind:
                return
            await asyncio.sleep(0.2)

    async def _until_followed_up(self) -> None:
        """What is to be done after a run's end is done, by whichever cluster of jobs there is then."""
        deadline = time.monotonic() + FOLLOWED_UP_S
        ids = [id_ for begun in self._begun for id_ in begun.executions]
        while left := self._house.query(_NOT_FOLLOWED_UP, ids):
            if time.monotonic() > deadline:
                self._outcome.faults += [f"I1: nothing followed the end of run {row['id']}" for row in left]
                return
            self._house.mend()
            await asyncio.sleep(0.5)

    def _events(self, id_: UUID) -> list[dict[str, Any]]:
        rows = self._house.query("SELECT body FROM agents_event WHERE execution_id = %s ORDER BY seq", id_)
        return [json.loads(line) for row in rows for line in row["body"].split("\n")]


def tracebacks_in(text: str) -> Counter[str]:
    """The last line of each traceback in a log: what was raised, without what it was about."""
    found: Counter[str] = Counter()
    for part in text.split("Traceback (most recent call last)")[1:]:
        lines = [line.split("| ", 1)[-1] for line in part.splitlines()[1:200]]
        last = next((line for line in lines if line.strip() and not line.startswith((" ", "\t"))), "?")
        found[last[:160]] += 1
    return found


def answers_of(answers: Sequence[Answered]) -> Counter[int]:
    return Counter(answer.status for answer in answers)
