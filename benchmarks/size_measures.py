"""What is measured on a database of any size: pages and API through the real Django app, the runners' own statements,
every job that the queue does by the clock, and what updates leave behind. Read after Django is set up.
"""

import asyncio
import json
import random
import time
import uuid
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import psycopg
from django.contrib.auth.models import Group
from django.db import connection as django_connection
from django.test import Client
from django.utils.module_loading import autodiscover_modules, import_string
from psycopg.conninfo import conninfo_to_dict

from agents.engine.chain import GENESIS
from agents.engine.states import ExecutionStatus
from agents.log import folding
from agents.models import Execution
from agents.runtime import leases, store
from agents.runtime.loading import load
from agents.runtime.outbox import Moved, Outbox, Parcel, Progressed, Row
from benchmarks.size_report import Churned, Line, Took
from benchmarks.size_rows import DIMENSIONS, LONG_EVENTS, LONG_STEPS, MODEL, TURNS, term
from conversations.models import Conversation
from hitl.deadlines import Deadlines
from hyperagent.accounts.models import User
from hyperagent.lib import queue
from memory.embedding.asking import QueryVector
from memory.models import Document
from memory.sight import Scope
from memory.vectors.nearest import nearest

Act = Callable[[], object]
RUNNER = "size-bench"
LEASE_S = 60.0
DRIVEN = 20
"""Runs that one tick of the writer stores events of, and that a heartbeat renews."""
EVENTS_A_TICK = 2
AT_ONCE = 100
"""Runs that come and go together; a claim looks at no more than 128."""
BEATS = 3
PROGRESS = 4
SWEEPS_AT_MOST = 5
HOT_TABLES = ("agents_execution", "agents_agentexecution", "agents_step", "agents_event")

_PENDING = """
INSERT INTO agents_execution
    (id, user_id, status, pipeline, mode, question, input, answer, error_code, error_message, on_finish, epoch,
     leased_by, crashes, suspicion, lost_by, last_seq, last_hash, prompt_tokens, completion_tokens, cost_usd,
     created_at)
SELECT uuidv7(), %(user)s, 'pending', 'turn', 'auto', 'a question', json_build_object('version', 1, 'history',
       repeat('What was said before. ', 60)), '', '', '', '', 0, '', 0, 0, '', 0, decode(repeat('00', 32), 'hex'), 0, 0,
       0, clock_timestamp()
FROM generate_series(1, %(count)s)
"""


@dataclass(frozen=True, slots=True)
class House:
    """A database that has the person of `size_rows.HOUSE` and their long run."""

    long_run: uuid.UUID
    dsn: str

    @property
    def database(self) -> str:
        return str(conninfo_to_dict(self.dsn)["dbname"])


@dataclass(frozen=True, slots=True)
class Things:
    """Who and what is looked at in a house."""

    user: User
    reviewer: User
    conversation: Conversation
    execution: Execution
    document: Document

    @classmethod
    def find(cls) -> "Things":
        user = User.objects.get(email="house1@example.org")
        reviewer, is_new = User.objects.get_or_create(email="reviewer@example.org")
        if is_new:
            reviewer.groups.add(Group.objects.get_or_create(name="reviewer")[0])
        conversation = Conversation.objects.filter(user=user).order_by("created_at")[0]
        runs = Execution.objects.filter(conversation_id=conversation.pk, status="completed")
        document = Document.objects.filter(owner=user).order_by("created_at")[0]
        return cls(user, reviewer, conversation, runs.order_by("created_at")[0], document)


@contextmanager
def inside(house: House) -> Iterator[None]:
    """Django speaks to the database of this house."""
    settings = django_connection.settings_dict
    django_connection.close()
    before, settings["NAME"] = settings["NAME"], house.database
    try:
        yield
    finally:
        django_connection.close()
        settings["NAME"] = before


def in_turns(empty: House, full: House, *, times: int) -> Iterator[Line]:
    """Each act in the one database and at once in the other: what else the machine does, it does to both."""
    ways = acts(empty, times=times), acts(full, times=times)
    while True:
        with inside(empty):
            before = next(ways[0], None)
        with inside(full):
            after = next(ways[1], None)
        if before is None or after is None:
            return
        yield Line(before, after)


def acts(house: House, *, times: int) -> Iterator[Took]:
    """Each done `times` + 1 times, the first to fill caches; what is slow for a job, less often."""
    things = Things.find()
    yield from _pages(things, times)
    yield from _searches(things, times)
    with asyncio.Runner() as runner:
        yield from _runner_acts(house, things.user, times, runner)
    yield from _sweeps(min(times, SWEEPS_AT_MOST))


def _pages(things: Things, times: int) -> Iterator[Took]:
    conversation, run = things.conversation.pk, things.execution.pk
    own = {
        "the list of conversations, page": "/",
        "the list of conversations, API": "/api/v1/conversations",
        "a conversation, page": f"/c/{conversation}/",
        "a conversation's messages, API": f"/api/v1/conversations/{conversation}/messages?limit=50",
        "the inbox, page": "/inbox/",
        "the inbox, what is over, page": "/inbox/?tab=done",
        "the inbox, API": "/api/v1/hitl/requests",
        "a run, API": f"/api/v1/executions/{run}",
        "a run's events, API": f"/api/v1/executions/{run}/events?limit=200",
        "a run's agents, API": f"/api/v1/agents/tree?execution={run}",
        "the list of runs, API": "/api/v1/executions",
        "the list of documents, page": "/documents/",
        "a document, page": f"/documents/{things.document.pk}/",
        "the list of memories, page": "/memory/",
        "usage, page": "/usage/",
    }
    client = _client(things.user)
    for name, url in own.items():
        yield _took(name, _ask(client, url), times)
    client = _client(things.reviewer)
    yield _took("a reviewer's inbox, page", _ask(client, "/inbox/"), times)
    yield _took("a reviewer's inbox, what is over, page", _ask(client, "/inbox/?tab=done"), times)


def _searches(things: Things, times: int) -> Iterator[Took]:
    client = _client(things.user)
    # One word of a message and one of a passage, as `size_rows` spreads them.
    words = f"{term(7919 * (TURNS + 1) % 4096)} {term(3)}"
    yield _took("search in everything, API", _ask(client, f"/api/v1/search/all?{urlencode({'q': words})}"), times)
    numbers = random.Random(7)
    vector = [numbers.gauss(0, 0.05) for _ in range(DIMENSIONS)]

    def look() -> None:
        with django_connection.cursor() as cursor:
            nearest(cursor, Scope(things.user.pk), QueryVector(MODEL, vector), limit=20)

    yield _took("search by meaning, nearest of 1,000", look, times)


def _client(user: User) -> Client:
    client = Client(headers={"host": "127.0.0.1"})
    client.force_login(user)
    return client


def _ask(client: Client, url: str) -> Act:
    def ask() -> None:
        answer = client.get(url)
        if answer.status_code != 200:
            raise RuntimeError(f"GET {url} answered {answer.status_code}: {answer.content[:300]!r}")

    return ask


# --- what a runner says to the database


class Lives:
    """Runs of nobody's conversation that are claimed, written to and ended by a runner's statements."""

    def __init__(self, dsn: str, user: uuid.UUID) -> None:
        self._dsn, self._user = dsn, user
        self.held: list[leases.Claim] = []
        self._seq: dict[uuid.UUID, int] = {}

    async def open(self) -> None:
        self.connection = await psycopg.AsyncConnection.connect(self._dsn, autocommit=True)
        # As the writer's connection for frames: the disk's pace is not what is asked here.
        await self.connection.execute("SET synchronous_commit = off")

    async def close(self) -> None:
        await self.connection.execute("SELECT pg_stat_force_next_flush()")
        await self.connection.close()

    async def ask_for(self, count: int) -> None:
        await self.connection.execute(_PENDING, {"user": self._user, "count": count})

    async def claim(self, limit: int = 1) -> None:
        """Raises RuntimeError where nobody waits: the time of that is not a claim's."""
        taken = await leases.claim(self.connection, runner=RUNNER, limit=limit, lease_s=LEASE_S, suspects=False)
        if not taken:
            raise RuntimeError("no run waits for a driver, though some were asked for")
        self.held += taken

    async def claim_all(self) -> None:
        while taken := await leases.claim(
            self.connection, runner=RUNNER, limit=AT_ONCE, lease_s=LEASE_S, suspects=False
        ):
            self.held += taken

    async def claim_nothing(self) -> None:
        await leases.claim(self.connection, runner=RUNNER, limit=1, lease_s=LEASE_S, suspects=True)

    async def beat(self) -> None:
        held = {claim.id: claim.epoch for claim in self.held}
        await leases.heartbeat(
            self.connection, name=RUNNER, host="", pid=1, concurrency=200, held=held, lease_s=LEASE_S
        )

    async def append(self) -> None:
        """One tick's events of DRIVEN runs, as `agents.runtime.writer` stores them."""
        parcels = [self._parcel(claim, events=EVENTS_A_TICK) for claim in self.held[:DRIVEN]]
        cursor = await self.connection.execute(store.APPEND_EVENTS, store.append_values(parcels), prepare=True)
        if len(await cursor.fetchall()) != len(parcels):
            raise RuntimeError("the events of some runs were not stored: they are not this runner's")

    async def progress(self) -> None:
        await self._store([self._parcel(claim, records=(Progressed(),)) for claim in self.held])

    async def end(self) -> None:
        moved = Moved(ExecutionStatus.COMPLETED, answer="An answer in some words. " * 40)
        await self._store([self._parcel(claim, records=(moved,)) for claim in self.held])
        self.held = []

    async def end_one(self) -> None:
        last = self.held.pop()
        await self._store([self._parcel(last, records=(Moved(ExecutionStatus.COMPLETED, answer="Words. " * 100),))])

    async def _store(self, parcels: list[Parcel]) -> None:
        async with self.connection.transaction(), self.connection.pipeline():
            for parcel in parcels:
                for query, arguments in store.statements(parcel, deadlines=Deadlines()):
                    await self.connection.execute(query, arguments)

    def _parcel(self, claim: leases.Claim, *, events: int = 0, records: tuple[Any, ...] = ()) -> Parcel:
        outbox = Outbox(claim.id, epoch=claim.epoch, group="", wake_writer=lambda _outbox, _at_once: None)
        first = self._seq.get(claim.id, 0) + 1
        last = self._seq[claim.id] = first + events - 1
        rows = [
            Row(seq, claim.id, "token", _body(seq), GENESIS, "", 1_790_000_000_000 + seq)
            for seq in range(first, last + 1)
        ]
        return Parcel(outbox, list(records), rows, marks=0, last_seq=last, last_hash=GENESIS, is_awaited=False)


def _body(seq: int) -> str:
    return json.dumps({"type": "token", "channel": "answer", "content": "words " * 25, "seq": seq})


def _runner_acts(house: House, user: User, times: int, runner: asyncio.Runner) -> Iterator[Took]:
    lives = Lives(house.dsn, user.pk)
    runner.run(lives.open())

    def act(name: str, make: Callable[[], Coroutine[Any, Any, object]]) -> Took:
        return _took(name, lambda: runner.run(make()), times)

    runner.run(lives.ask_for(max(times + 1, DRIVEN) + 5))
    yield act("the claim of one run", lives.claim)
    yield act("a claim that finds nothing", lives.claim_nothing)
    runner.run(lives.claim_all())
    yield act(f"the heartbeat of {DRIVEN} runs or more", lives.beat)
    yield act(f"a tick's events of {DRIVEN} runs", lives.append)
    yield act("the recovery of lost runs", lambda: leases.look(lives.connection, lease_s=15))
    yield act("the end of a run", lives.end_one)
    runner.run(lives.end())

    async def replay() -> None:
        loaded, end = await load(lives.connection, house.long_run)
        steps = sum(map(len, loaded.steps.values()))
        if (steps, end.seq) != (LONG_STEPS, LONG_EVENTS):
            raise RuntimeError(f"the replay read {steps} steps and {end.seq} events")

    yield act(f"the replay of {LONG_STEPS} steps and {LONG_EVENTS:,} events", replay)
    runner.run(lives.close())


def _sweeps(times: int) -> Iterator[Took]:
    """What the queue does by the clock. Nothing is due, as at most times: it is the looking that is measured."""
    autodiscover_modules("tasks")
    for name, every_s in sorted((name, every_s) for name, every_s in queue._tasks.items() if every_s):
        yield _took(f"{name.replace('.tasks.', ': ')}, each {every_s} s", import_string(name), times)


def _took(name: str, act: Act, times: int) -> Took:
    whole, queries = [], []
    act()
    for _ in range(times):
        clock = _Clock()
        with django_connection.execute_wrapper(clock):
            begun = time.perf_counter()
            act()
            whole.append(1000 * (time.perf_counter() - begun))
        queries.append(clock.ms)
    return Took(name, tuple(whole), tuple(queries) if any(queries) else ())


class _Clock:
    """Adds up what queries take: `execute_wrapper` of Django's connection."""

    def __init__(self) -> None:
        self.ms = 0.0

    def __call__(
        self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Mapping[str, Any]
    ) -> Any:
        begun = time.perf_counter()
        try:
            return execute(sql, params, many, context)
        finally:
            self.ms += 1000 * (time.perf_counter() - begun)


# --- what updates leave behind


def churn(house: House, lives_count: int) -> list[Churned]:
    """So many runs come, are claimed, renewed, written to, ended and folded; then each hot table is vacuumed."""
    before = {table: _counted(table) for table in HOT_TABLES}
    with asyncio.Runner() as runner:
        runner.run(_live(Lives(house.dsn, Things.find().user.pk), lives_count))
    for execution_id in Execution.objects.filter(ended_at__isnull=False, log_folded_at=None).values_list(
        "pk", flat=True
    ):
        folding.fold(execution_id)
    return [_vacuumed(table, before[table]) for table in HOT_TABLES]


async def _live(lives: Lives, count: int) -> None:
    await lives.open()
    for begun in range(0, count, AT_ONCE):
        await lives.ask_for(min(AT_ONCE, count - begun))
        await lives.claim_all()
        for _ in range(BEATS):
            await lives.beat()
        for _ in range(PROGRESS):
            await lives.append()
            await lives.progress()
        await lives.end()
    await lives.close()


@dataclass(frozen=True, slots=True)
class _Counted:
    updated: int
    hot: int
    dead: int
    size: int


def _counted(table: str) -> _Counted:
    """By the database's own statistics, partitions added up. `size`: of the heap and all of its indexes."""
    with django_connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")
        cursor.execute(
            """
            SELECT coalesce(sum(s.n_tup_upd), 0)::bigint, coalesce(sum(s.n_tup_hot_upd), 0)::bigint,
                   coalesce(sum(s.n_dead_tup), 0)::bigint, coalesce(sum(pg_total_relation_size(s.relid)), 0)::bigint
            FROM (SELECT relid FROM pg_partition_tree(%s::regclass) UNION SELECT %s::regclass) p
            JOIN pg_stat_user_tables s USING (relid)
            """,
            [table, table],
        )
        return _Counted(*cursor.fetchone())


def _vacuumed(table: str, before: _Counted) -> Churned:
    after = _counted(table)
    begun = time.perf_counter()
    with django_connection.cursor() as cursor:
        cursor.execute(f"VACUUM {table}")
    took_s = time.perf_counter() - begun
    size = _counted(table).size
    return Churned(table, after.updated - before.updated, after.hot - before.hot, after.dead, took_s, before.size, size)
