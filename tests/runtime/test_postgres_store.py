"""The contract suite on Postgres, through the runner's own writer."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import connections

from agents import actions, models
from agents.engine.errors import LeaseLost
from agents.engine.events import ToolCall
from agents.engine.records import AgentRecord, Announced, Asked, EffectRecord, Intervention, Loaded, StepRecord
from agents.engine.states import AgentStatus, ExecutionStatus, InterventionKind, StepKind, StepStatus
from agents.models import Event, Execution
from agents.runtime import loading as sql
from agents.runtime import writer as writer_module
from agents.runtime.announcer import Announcer
from agents.runtime.outbox import BrokenOff, Moved, NotStored, Outbox
from agents.runtime.store import APPEND_EVENTS, append_values, statements
from agents.runtime.writer import Writer
from agents.usage.models import ModelCall
from hitl.deadlines import Deadlines
from hitl.models import Request, RequestStatus
from tests.engine.contract import *  # noqa: F403
from tests.engine.contract import StoreUnderTest, agent, said, step, stored
from tests.runtime.driving import database_dsn


class PostgresUnderTest:
    def __init__(self, user: Any) -> None:
        self._user = user
        self.announcer = Announcer(settings.CONFIG.redis_url.get_secret_value())
        self.writer = Writer(database_dsn(), announcer=self.announcer, deadlines=Deadlines())

    async def new_execution(self) -> UUID:
        made = await sync_to_async(actions.start)(user=self._user, conversation_id=None, question="q")
        return made.id

    async def take_over(self, execution_id: UUID) -> tuple[Outbox, Loaded]:
        @sync_to_async
        def claim() -> int:
            execution = Execution.objects.get(id=execution_id)
            execution.epoch += 1
            execution.status = "running"
            execution.save()
            return execution.epoch

        epoch = await claim()
        loaded, end = await self._load(execution_id)
        journal = Outbox(
            execution_id,
            epoch=epoch,
            group=f"test.{execution_id}",
            wake_writer=self.writer.wake,
            last_seq=end.seq,
            last_hash=end.hash,
        )
        return journal, loaded

    async def answer(self, request_id: UUID, value: Any) -> None:
        await sync_to_async(Request.objects.pending().filter(request_id=request_id).update)(
            status=RequestStatus.ANSWERED, answer=value
        )

    async def intervene(
        self, execution_id: UUID, kind: InterventionKind, text: str, *, agent_id: UUID | None = None
    ) -> Intervention:
        made = await models.Intervention.objects.acreate(
            execution_id=execution_id, agent_id=agent_id, kind=kind, text=text, by=self._user
        )
        return Intervention(made.id, agent_id, kind, text)

    async def events(self, execution_id: UUID) -> list[tuple[int, str, bytes]]:
        rows = Event.objects.filter(execution_id=execution_id).order_by("seq")
        return [(row.seq, row.body, bytes(row.hash)) async for row in rows]

    async def steps(self, execution_id: UUID) -> list[StepRecord]:
        loaded, _ = await self._load(execution_id)
        steps = [step for steps in loaded.steps.values() for step in steps.values()]
        rows = models.Step.objects.filter(agent__execution_id=execution_id, cut_at=None)
        requests = {(row.agent_id, tuple(row.path)): row.request async for row in rows}
        return [replace(step, request=requests[step.agent_id, step.path]) for step in steps]

    async def effects(self, execution_id: UUID) -> list[EffectRecord]:
        loaded, _ = await self._load(execution_id)
        return list(loaded.effects.values())

    async def _load(self, execution_id: UUID) -> tuple[Loaded, sql.End]:
        async with await psycopg.AsyncConnection.connect(database_dsn(), autocommit=True) as connection:
            loaded, end = await sql.load(connection, execution_id)
        # What hitl adds to every answer is its own; the suite asks for what was given.
        own = {"status", "decided_by"}
        loaded.answers = {
            id_: {name: value for name, value in answer.items() if name not in own}
            for id_, answer in loaded.answers.items()
        }
        return loaded, end


@pytest.fixture
async def store(transactional_db: None, alice: Any) -> AsyncIterator[StoreUnderTest]:
    under_test = PostgresUnderTest(alice)
    under_test.announcer.start()
    under_test.writer.start()
    yield under_test
    await under_test.writer.stop()
    await under_test.announcer.stop()
    await sync_to_async(connections.close_all)()


@pytest.mark.slow
async def test_what_a_tick_stores_is_looked_up_once_a_run_whatever_the_database_believes(
    store: PostgresUnderTest,
) -> None:
    """It believes what it counted last: that nothing is running, and that the log is empty."""
    async with await psycopg.AsyncConnection.connect(database_dsn(), autocommit=True) as connection:
        await connection.execute("ANALYZE agents_execution, agents_event")
        runs = [(await store.take_over(await store.new_execution()))[0] for _ in range(12)]
        for run in runs:
            run.write(Announced(None, ToolCall(tool="t", args={}), ""))
            await run.committed()
        for run in runs:
            run.write(Announced(None, ToolCall(tool="t", args={}), ""))
        values = append_values(run.take() for run in runs)

        cursor = await connection.execute("EXPLAIN (ANALYZE, FORMAT JSON) " + APPEND_EVENTS, values)
        ((plan,),) = await cursor.fetchall()

    assert max(node["Actual Loops"] for node in _nodes(plan[0]["Plan"])) == len(runs)


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", ()):
        yield from _nodes(inner)


async def test_a_record_that_postgres_refuses_harms_no_other_run(store: PostgresUnderTest) -> None:
    """Both go out in one transaction; one has an agent that no table knows."""
    good, bad = await store.new_execution(), await store.new_execution()
    (good_journal, _), (bad_journal, _) = await store.take_over(good), await store.take_over(bad)
    root = agent()

    good_journal.write(root)
    bad_journal.write(step(agent(), (0,)))
    await good_journal.committed()

    with pytest.raises(NotStored):
        await bad_journal.committed()
    loaded, _ = await store._load(good)
    assert loaded.agents["root"].id == root.id


async def test_a_statement_that_takes_longer_than_its_role_may_is_refused_and_harms_no_other_run(
    store: PostgresUnderTest,
) -> None:
    """The database is there: to try again for ever would stop all runs of the process."""
    good, bad = await store.new_execution(), await store.new_execution()
    (good_journal, _), (bad_journal, _) = await store.take_over(good), await store.take_over(bad)
    store.writer._dsn += " options='-c statement_timeout=300'"
    async with await psycopg.AsyncConnection.connect(database_dsn()) as holding:
        await holding.execute("SELECT FROM agents_execution WHERE id = %s FOR UPDATE", [bad])

        bad_journal.write(agent())
        good_journal.write(root := agent())

        async with asyncio.timeout(10):
            await good_journal.committed()
            with pytest.raises(NotStored, match="statement timeout"):
                await bad_journal.committed()
    loaded, _ = await store._load(good)
    assert loaded.agents["root"].id == root.id


async def test_a_writer_whose_database_is_gone_for_good_ends_when_it_is_told_to() -> None:
    announcer = Announcer(settings.CONFIG.redis_url.get_secret_value())
    writer = Writer("postgresql://127.0.0.1:1/nowhere", announcer=announcer, deadlines=Deadlines())
    outbox = Outbox(uuid4(), epoch=1, group="test.gone", wake_writer=writer.wake)
    announcer.start()
    writing = writer.start()
    outbox.write(agent())

    async with asyncio.timeout(30):
        await writer.stop(within_s=0.2)

    assert writing.cancelled()
    await announcer.stop()


async def test_a_driver_whose_last_frames_went_with_a_crash_of_postgres_does_not_count_on(
    store: PostgresUnderTest,
) -> None:
    id_ = await store.new_execution()
    journal, _ = await store.take_over(id_)
    root = agent()
    await stored(journal, root, said(root, "one"), said(root, "two"))
    await sync_to_async(Event.objects.filter(execution_id=id_, seq=2).delete)()

    journal.write(said(root, "three"))

    with pytest.raises(LeaseLost):
        await journal.committed()
    assert [seq for seq, _, _ in await store.events(id_)] == [1]


async def test_nor_where_its_last_notes_went_and_it_has_nothing_to_say(store: PostgresUnderTest) -> None:
    """As a crash takes them: the commit whole, with the events that told of them."""
    id_ = await store.new_execution()
    journal, _ = await store.take_over(id_)
    root = agent()
    await stored(journal, root, said(root, "one"))
    journal.write(said(root, "two"), replace(step(root, (0,)), kind=StepKind.NOTE))
    async with asyncio.timeout(10):
        while not await store.steps(id_):
            await asyncio.sleep(0.01)
    await sync_to_async(Event.objects.filter(execution_id=id_, seq=2).delete)()
    await sync_to_async(models.Step.objects.filter(agent_id=root.id).delete)()

    journal.write(step(root, (1,)))

    with pytest.raises(LeaseLost):
        await journal.committed()
    assert await store.steps(id_) == []


async def test_nor_does_it_end_its_run_with_a_gap_in_the_log(store: PostgresUnderTest) -> None:
    """What leaves with the frames that cannot follow is not stored either, and of others in the same tick all is."""
    cut, whole = await store.new_execution(), await store.new_execution()
    (journal, _), (other, _) = await store.take_over(cut), await store.take_over(whole)
    root, another = agent(), agent()
    await stored(journal, root, said(root, "one"), said(root, "two"))
    await sync_to_async(Event.objects.filter(execution_id=cut, seq=2).delete)()

    journal.write(Moved(ExecutionStatus.COMPLETED, "one two"), said(root, "the end"))
    other.write(another, said(another, "one"))
    await other.committed()

    with pytest.raises(LeaseLost):
        await journal.committed()
    assert (await sync_to_async(Execution.objects.get)(id=cut)).status == ExecutionStatus.RUNNING
    assert [seq for seq, _, _ in await store.events(whole)] == [1]


async def test_an_older_driver_closes_no_question(store: PostgresUnderTest) -> None:
    id_ = await store.new_execution()
    old, _ = await store.take_over(id_)
    new, _ = await store.take_over(id_)
    root, request_id = agent(), uuid4()
    await stored(new, root, Asked(request_id, root.id, root.name, "input", {"question": "?"}))

    old.write(Moved(ExecutionStatus.COMPLETED, "stale"))

    with pytest.raises(LeaseLost):
        await old.committed()
    assert await sync_to_async(Request.objects.get)(request_id=request_id, status=RequestStatus.PENDING)


async def test_a_value_that_json_cannot_hold_harms_no_other_run(store: PostgresUnderTest) -> None:
    good, bad = await store.new_execution(), await store.new_execution()
    (good_journal, _), (bad_journal, _) = await store.take_over(good), await store.take_over(bad)
    root = agent()

    bad_journal.write(Announced(root.id, ToolCall(tool="count", args={"to": 1 << 70})))
    good_journal.write(root, said(root, "still here"))
    await good_journal.committed()

    with pytest.raises(NotStored):
        await bad_journal.committed()
    assert len(await store.events(good)) == 1


async def test_what_is_read_at_a_beat_is_stored_right_after_it(
    store: PostgresUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With ticks of an hour: the first words leave at once, and the first tick; what follows waits for a beat."""
    monkeypatch.setattr(writer_module, "TICK_S", 3600.0)
    id_ = await store.new_execution()
    journal, _ = await store.take_over(id_)
    root = agent()
    await stored(journal, root)

    async def shown() -> list[str]:
        return [json.loads(body)["content"] for _, body, _ in await store.events(id_)]

    async def until(words: list[str]) -> None:
        async with asyncio.timeout(10):
            while await shown() != words:
                await asyncio.sleep(0.01)

    for word, said_by_now in (("one ", ["one "]), ("two ", ["one ", "two "])):
        journal.add_token(root.id, "answer", word)
        await until(said_by_now)
    journal.add_token(root.id, "answer", "three ")
    await asyncio.sleep(0.2)
    assert await shown() == ["one ", "two "]

    store.writer.tick()
    journal.add_token(root.id, "answer", "four ")

    await until(["one ", "two ", "three four "])


async def first_words(store: PostgresUnderTest, journal: Outbox, agent_id: UUID) -> None:
    """Says "one " and "two ", each of which leaves at once; what follows waits for a tick or a beat."""
    for word in ("one ", "two "):
        commits = store.writer.commits
        journal.add_token(agent_id, "answer", word)
        async with asyncio.timeout(10):
            while store.writer.commits == commits:
                await asyncio.sleep(0)


async def test_words_leave_however_soon_the_next_beats_come(
    store: PostgresUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a thousand streams, some of which are read every few milliseconds."""
    monkeypatch.setattr(writer_module, "TICK_S", 3600.0)
    journal, _ = await store.take_over(await store.new_execution())
    root = agent()
    await stored(journal, root)
    await first_words(store, journal, root.id)
    commits = store.writer.commits
    journal.add_token(root.id, "answer", "three ")

    async with asyncio.timeout(10):
        while store.writer.commits == commits:
            store.writer.tick()
            await asyncio.sleep(0.001)


async def test_a_beat_at_the_instant_of_a_tick_makes_no_frame_wait_for_the_next(
    store: PostgresUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beats are as far apart as ticks: where both fell together once they would for good, and each word be late."""
    monkeypatch.setattr(writer_module, "TICK_S", 1.0)
    id_ = await store.new_execution()
    journal, _ = await store.take_over(id_)
    root = agent()
    await stored(journal, root)
    await first_words(store, journal, root.id)
    journal.add_token(root.id, "answer", "three ")
    await asyncio.sleep(0.01)

    time.sleep(1.1)  # the tick is over, and the loop has not seen it yet
    store.writer.tick()
    for _ in range(5):  # a stream is read some turns of the loop after its beat
        await asyncio.sleep(0)
    journal.add_token(root.id, "answer", "four ")
    await stored(journal)

    assert [json.loads(body)["content"] for _, body, _ in await store.events(id_)] == ["one ", "two ", "three four "]


async def test_a_step_that_begins_and_ends_within_one_commit_is_stored_as_it_ended(store: PostgresUnderTest) -> None:
    id_ = await store.new_execution()
    journal, _ = await store.take_over(id_)
    root = agent()
    begun = step(root, (0,))
    other = step(root, (1,))

    journal.write(root, replace(begun, status=StepStatus.STARTED, response=None), other, begun)
    await journal.committed()

    assert [(one.path, one.status, one.response) for one in await store.steps(id_)] == [
        (one.path, one.status, one.response) for one in (begun, other)
    ]


async def test_agents_and_steps_that_follow_each_other_are_two_statements(store: PostgresUnderTest) -> None:
    id_ = await store.new_execution()
    journal, _ = await store.take_over(id_)
    root, child = agent(), agent("root/a")
    steps = [step(root, (0,)), step(child, (0,)), step(root, (1,))]

    journal.write(root, steps[0], child, *steps[1:])
    parcel = journal.take()

    assert [query.split()[2] for query, _ in statements(parcel, deadlines=Deadlines())] == [
        "agents_agentexecution",
        "agents_step",
    ]


@pytest.mark.spec("B11")
async def test_an_interrupted_call_whose_commit_nobody_was_told_of_counts_once(store: PostgresUnderTest) -> None:
    """The writer stores the same parcel again where the connection broke in the midst of the commit."""
    id_ = await store.new_execution()
    journal, _ = await store.take_over(id_)
    root = agent()
    await stored(journal, root)
    calls = [broken_off(root, (1,), call_id="first"), broken_off(root, (1,), call_id="second")]
    journal.write(*calls)
    again = statements(journal.take(), deadlines=Deadlines())

    async with await psycopg.AsyncConnection.connect(database_dsn(), autocommit=True) as connection:
        for query, arguments in (*again, *again):
            await connection.execute(query, arguments)

    assert await sync_to_async(models.Step.objects.filter(agent__execution_id=id_).count)() == len(calls)
    paid = ModelCall.objects.filter(execution_id=id_).values_list("prompt_tokens", flat=True)
    assert [tokens async for tokens in paid] == [10, 10]


def broken_off(of: AgentRecord, path: tuple[int, ...], *, call_id: str) -> BrokenOff:
    usage = {"model": "m", "provider": "p", "prompt_tokens": 10, "completion_tokens": 1, "cost_usd": None}
    return BrokenOff(replace(step(of, path, status=StepStatus.FAILED), usage={**usage, "call_id": call_id}))


async def test_an_agent_that_begins_and_ends_within_one_commit_is_stored_as_it_ended(store: PostgresUnderTest) -> None:
    """Its states are stored one after the other: of the first there is when it began."""
    id_ = await store.new_execution()
    journal, _ = await store.take_over(id_)
    root, child = agent(), agent("root/a")
    ended = replace(child, status=AgentStatus.COMPLETED, output={"a": [1, None, "ü"]}, error="e")

    journal.write(root, child, step(child, (0,)), ended, replace(root, status=AgentStatus.FAILED))
    await journal.committed()

    rows = {row.lineage: row async for row in models.AgentExecution.objects.filter(execution_id=id_)}
    assert {name: row.status for name, row in rows.items()} == {"root": "failed", "root/a": "completed"}
    assert (rows["root/a"].output, rows["root/a"].error) == (ended.output, "e")
    assert all(row.started_at and row.ended_at and row.started_at < row.ended_at for row in rows.values())
    assert [one.path for one in await store.steps(id_)] == [(0,)]


async def test_what_a_run_notes_and_forks_before_its_first_word_is_stored_with_it(
    store: PostgresUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With ticks of an hour: nothing but the word can have stored it."""
    monkeypatch.setattr(writer_module, "TICK_S", 3600.0)
    id_ = await store.new_execution()
    journal, _ = await store.take_over(id_)
    root = agent()
    noted = replace(step(root, (0,)), kind=StepKind.NOTE)
    forked = replace(step(root, (1,)), kind=StepKind.FORK)

    journal.write(root, said(root, "begun"), noted, forked)
    await asyncio.sleep(0.1)
    assert (store.writer.commits, await store.events(id_)) == (0, [])
    journal.add_token(root.id, "answer", "one")

    async with asyncio.timeout(10):
        while len(await store.events(id_)) < 2:
            await asyncio.sleep(0.01)
    assert store.writer.commits == 1
    assert [one.kind for one in await store.steps(id_)] == [StepKind.NOTE, StepKind.FORK]


async def test_what_a_run_notes_is_stored_a_tick_later_though_no_word_follows(store: PostgresUnderTest) -> None:
    id_ = await store.new_execution()
    journal, _ = await store.take_over(id_)
    root = agent()

    journal.write(root, said(root, "begun"))

    async with asyncio.timeout(10):
        while not await store.events(id_):
            await asyncio.sleep(0.01)

    assert store.writer.commits == 1
