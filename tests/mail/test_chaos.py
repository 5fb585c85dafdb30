"""Mails of runs whose runners are killed all the time: each arrives once, or a person is asked about it.

Real processes, Postgres, mail server and mailbox. The seed decides when who dies; the timing of processes does not
repeat, and what must hold holds for every timing. `CHAOS_SEED` runs it with another one; `make campaign` with 300
mails in place of 100.
"""

import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings
from django.db import connection, transaction

from agents import actions
from agents.models import Effect, Execution
from hitl.actions import respond
from hitl.answers import Response
from hitl.kinds import RequestKind, Via
from hitl.models import Request, RequestStatus
from tests.mail.dovecot import Dovecot, Inside
from tests.mail.falling import Herd, Setting
from tests.mail.sink import Arrived, Sink
from tests.runtime.driving import database_dsn

FEW, MANY = 10, 30
MAILS_A_RUN, RUNNERS = 10, 3
DENIED_EVERY = 25
# How likely a runner dies at one of the seven moments of a mail.
DEADLINESS = 0.004
# All of them die, each time that so many mails have arrived, when the server has one and has not said so yet.
ALL_DIE_EVERY = 20
# And one is killed from outside, wherever it is, each time that so many mails have arrived.
KILLS_EVERY = (10, 30)
ANSWERS_AT_ONCE = 20
TIMEOUT_S = 270
SEEDS = [int(seed) for seed in os.environ.get("CHAOS_SEED", "1").split(",")]

pytestmark = [pytest.mark.timeout(330), pytest.mark.filterwarnings("ignore:Requiring AUTH")]


def number_of(subject: str) -> int:
    return int(subject.removeprefix("Mail "))


@dataclass
class Person:
    """Alice: approves her mails but for some, and when asked whether a mail left she looks at who should have it.

    `asked_about`: how many of each mail had arrived when she was asked.
    """

    user: Any
    sink: Sink
    approved: set[int] = field(default_factory=set)
    denied: set[int] = field(default_factory=set)
    asked_about: dict[int, list[int]] = field(default_factory=dict)

    def answer_some(self) -> None:
        for request in Request.objects.filter(status=RequestStatus.PENDING)[:ANSWERS_AT_ONCE]:
            if request.kind == RequestKind.APPROVAL:
                self._approve(request)
            else:
                self._tell(request)

    def _approve(self, request: Request) -> None:
        (call,) = request.question["tool_calls"]
        number = number_of(call["arguments"]["subject"])
        no = number % DENIED_EVERY == 0
        (self.denied if no else self.approved).add(number)
        decision = RequestStatus.DENIED if no else RequestStatus.APPROVED
        respond(self.user, request.request_id, Response(decision=decision), via=Via.API)

    def _tell(self, request: Request) -> None:
        assert request.kind == RequestKind.DECISION
        number = number_of(request.question["arguments"]["subject"])
        arrived = arrivals(self.sink)[number]
        self.asked_about.setdefault(number, []).append(arrived)
        choice = "done" if arrived else "again"
        respond(self.user, request.request_id, Response(decision=RequestStatus.ANSWERED, choice=choice), via=Via.API)


def arrivals(sink: Sink) -> Counter[int]:
    return Counter(number_of(str(mail.message["Subject"])) for mail in list(sink.arrived))


@pytest.fixture
def herd(transactional_db: None, dovecot: Dovecot, sink: Sink, seed: int) -> Iterator[Herd]:
    setting = Setting(
        "", database_dsn(), settings.CONFIG.redis_url.get_secret_value(), sink.url, dovecot.url, seed, DEADLINESS
    )
    running = Herd(setting, count=RUNNERS)
    yield running
    running.stop()


@pytest.mark.slow
@pytest.mark.spec("B2", "S178")
@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.campaign)])
@pytest.mark.parametrize("seed", SEEDS)
def test_f02_f03_of_many_mails_each_arrives_once_or_a_person_is_asked_about_it(
    alice: Any, herd: Herd, sink: Sink, mailbox: Inside, seed: int, count: int
) -> None:
    chance = random.Random(seed)
    person = Person(alice, sink)

    def killing(_: Arrived) -> None:
        if len(sink.arrived) % ALL_DIE_EVERY == 0:
            herd.kill_all()

    sink.on_arrival = killing
    runs = start_runs(alice, count)
    dead = drive(herd, person, runs, chance)

    wanted = count * MAILS_A_RUN
    ends = Counter(Execution.objects.filter(id__in=runs).values_list("status", flat=True))
    report = f"{dead} runners died; {len(person.asked_about)} mails were asked about; runs: {dict(ends)}"
    print(report)
    assert ends == {"completed": count}, report
    assert person.approved | person.denied == set(range(wanted))
    assert arrivals(sink) == dict.fromkeys(person.approved, 1), report
    assert {before for asked in person.asked_about.values() for before in asked} <= {0, 1}
    kept = mailbox.message_ids("Sent")
    assert set(kept.values()) == {1}
    assert kept.keys() <= sink.count().keys()
    assert len(kept) >= len(person.approved) - len(person.asked_about)
    assert not Effect.objects.filter(status__in=["started", "in_doubt"]).exists()
    # Else it has shown nothing.
    assert dead >= count // 3, report
    assert len(person.asked_about) >= count // 10, report


def start_runs(user: Any, count: int) -> list[UUID]:
    with transaction.atomic():
        return [
            actions.start(
                user=user,
                conversation_id=None,
                question=f"{number * MAILS_A_RUN}-{(number + 1) * MAILS_A_RUN}",
                pipeline="mail",
            ).id
            for number in range(count)
        ]


def drive(herd: Herd, person: Person, runs: list[UUID], chance: random.Random) -> int:
    """Until all runs are over; how many runners died."""
    deadline = time.monotonic() + TIMEOUT_S
    died, next_kill = 0, chance.randint(*KILLS_EVERY)
    while Execution.objects.filter(id__in=runs, ended_at=None).exists():
        assert time.monotonic() < deadline, state_of(runs)
        for name in herd.tend():
            died += 1
            # As their supervisor would, and as when a whole machine is gone: then the lease has to run out.
            if chance.random() < 0.7:
                actions.release_runner(name)
        person.answer_some()
        if len(person.sink.arrived) >= next_kill:
            herd.kill(chance.randrange(RUNNERS))
            next_kill = len(person.sink.arrived) + chance.randint(*KILLS_EVERY)
        time.sleep(0.05)
    return died


def state_of(runs: list[UUID]) -> str:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT status, crashes, suspicion, count(*) FROM agents_execution WHERE id = ANY(%s) GROUP BY 1, 2, 3",
            [runs],
        )
        executions = cursor.fetchall()
        cursor.execute("SELECT status, response::text, count(*) FROM agents_effect GROUP BY 1, 2 LIMIT 20")
        effects = cursor.fetchall()
    pending = Counter(Request.objects.values_list("kind", "status"))
    return f"runs {executions}\neffects {effects}\nrequests {pending}"
