"""The event log and the journal cut by months: where rows lie, months that are made ahead, and one table made many."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import NAMESPACE_OID, UUID, uuid4, uuid5

import psycopg
import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction

from agents.engine.events import Complete
from agents.engine.ids import sibling_id
from agents.log import partitions, reading
from agents.log.folding import fold
from agents.log.partitions import EVENTS, LOGS, STEPS, Month
from agents.management.commands.verify_log import verify
from agents.models import AgentExecution, Event, Execution, Step
from hyperagent.lib.ids import earliest, new_id
from hyperagent.management.commands.doctor import check_months
from hyperagent.management.findings import State
from tests.faces.runs import append, make_agent, make_run, make_step, tokens
from tests.runtime.driving import database_dsn

FUTURE = datetime(2031, 3, 15, tzinfo=UTC)
"""Nobody has made its months."""
TIMELESS = UUID("c7a1b1de-5e0f-5f9e-8f43-0b6f1d1f7a11")


def rows_in(part: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {part}")
        return int(cursor.fetchone()[0])


def run_of(user: Any, id_: UUID) -> Execution:
    """One with a log of three events, and an agent with two steps."""
    run = make_run(user, id=id_)
    agent = make_agent(run, id=sibling_id(run.id))
    for path in ([0], [1]):
        make_step(agent, path, "note", "now")
    append(run, *tokens("a", "b"), Complete(answer="ab"))
    return run


def moment_of(id_: UUID) -> datetime:
    """As RFC 9562 has it: the first 48 bits are milliseconds since 1970."""
    return datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=id_.int >> 80)


def test_ids_are_in_the_order_of_time_and_tell_it() -> None:
    before, after = FUTURE, FUTURE + timedelta(milliseconds=1)

    made = [new_id(before) for _ in range(100)] + [new_id(after) for _ in range(100)]

    assert len(set(made)) == 200
    assert max(made[:100]) < earliest(after) <= min(made[100:])
    assert earliest(before) <= min(made[:100])
    assert {moment_of(id_) for id_ in made} == {before, after}
    assert {(id_.version, id_.variant) for id_ in made} == {(7, "specified in RFC 4122")}
    assert abs(moment_of(new_id()) - datetime.now(UTC)) < timedelta(minutes=1)


@pytest.mark.parametrize("of_run", [new_id(FUTURE), uuid4(), uuid5(NAMESPACE_OID, "a reply")])
def test_agents_have_ids_of_their_own_that_begin_as_the_runs(of_run: UUID) -> None:
    made = [sibling_id(of_run) for _ in range(100)]

    assert len({*made, of_run}) == 101
    assert {id_.bytes[:6] for id_ in made} == {of_run.bytes[:6]}
    assert {(id_.version, id_.variant) for id_ in made} == {(of_run.version, of_run.variant)}


@pytest.mark.django_db
def test_months_are_made_ahead_once_and_the_doctor_names_those_that_are_missing() -> None:
    wanted = [Month(2031, 3), Month(2031, 4), Month(2031, 5)]

    assert partitions.missing(FUTURE) == wanted
    assert partitions.make_months(FUTURE) == wanted
    assert partitions.make_months(FUTURE) == partitions.missing(FUTURE) == []
    assert partitions.make_months(FUTURE.replace(month=12)) == [Month(2031, 12), Month(2032, 1), Month(2032, 2)]
    assert set(wanted) < set(partitions.months_of(EVENTS)) & set(partitions.months_of(STEPS))

    now = datetime.now(UTC)
    partitions.make_months(now)
    assert [finding.state for finding in check_months()] == [State.FINE]
    partitions.drop_month(following := Month.of(now).later())
    [finding] = check_months()
    assert (finding.state, str(following) in finding.what) == (State.WARNING, True)
    call_command("prepare")
    assert [finding.state for finding in check_months()] == [State.FINE]


@pytest.mark.django_db
def test_all_of_a_run_lies_in_the_month_in_which_it_was_asked_for_however_long_it_goes_on(alice: Any) -> None:
    partitions.make_months(FUTURE)
    last_moment = Month(2031, 3).ends - timedelta(milliseconds=1)

    run = run_of(alice, new_id(last_moment))
    Event.objects.filter(execution=run).update(created_at=last_moment + timedelta(days=3))
    run_of(alice, new_id(Month(2031, 4).begins))

    for log, count in ((EVENTS, 3), (STEPS, 2)):
        assert [rows_in(log.of(Month(2031, month))) for month in (3, 4, 5)] == [count, count, 0]


@pytest.mark.django_db
def test_the_database_refuses_a_second_event_of_a_number_and_a_second_step_at_a_place(alice: Any) -> None:
    partitions.make_months(FUTURE)

    for id_ in (new_id(FUTURE), uuid4(), UUID(int=5), new_id(FUTURE.replace(year=2033))):
        run = run_of(alice, id_)
        agent = run.agents.get()
        again = {"type": "token", "body": "{}", "hash": bytes(32), "created_at": FUTURE}
        with pytest.raises(IntegrityError), transaction.atomic():
            Event.objects.create(execution=run, seq=3, **again)
        with pytest.raises(IntegrityError), transaction.atomic():
            make_step(agent, [1], "note", "now")
        make_step(agent, [1], "note", "now", cut_at=FUTURE)
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    with pytest.raises(IntegrityError), transaction.atomic():
        make_step(AgentExecution(id=new_id(FUTURE)), [1], "note", "now")
    ids = list(Step.objects.values_list("id", flat=True))
    assert len(set(ids)) == len(ids) == 12


@pytest.mark.django_db
def test_what_came_before_its_month_was_made_is_moved_when_it_is(alice: Any) -> None:
    early, other = run_of(alice, new_id(FUTURE)), run_of(alice, new_id(FUTURE.replace(year=2033)))
    assert [rows_in(log.default) for log in LOGS] == [6, 4]

    partitions.make_months(FUTURE)

    assert [rows_in(log.default) for log in LOGS] == [3, 2]
    assert [rows_in(log.of(Month(2031, 3))) for log in LOGS] == [3, 2]
    for run in (early, other):
        assert list(verify(run)) == []
        assert [event.seq for event in reading.events_after(run.id, 0)] == [1, 2, 3]
    append(early, *tokens("c"))
    assert rows_in(EVENTS.of(Month(2031, 3))) == 4


@pytest.mark.django_db
def test_an_id_that_carries_no_time_does_as_well(alice: Any) -> None:
    run = run_of(alice, TIMELESS)

    assert [rows_in(log.untimed) for log in LOGS] == [3, 2]
    assert list(verify(run)) == []


@pytest.mark.django_db(transaction=True)
def test_who_reads_is_not_waited_for_and_nothing_is_dropped_meanwhile() -> None:
    partitions.make_months(FUTURE)
    months = [Month(2031, month) for month in (3, 4, 5)]
    try:
        with psycopg.connect(database_dsn()) as reader:
            reader.execute(f"SELECT FROM {STEPS.of(months[0])}")
            with pytest.raises(partitions.Busy):
                partitions.drop_month(months[0], tries=1)
            assert months[0] in {*partitions.months_of(EVENTS)} & {*partitions.months_of(STEPS)}
    finally:
        for month in months:
            partitions.drop_month(month)

    assert not set(months) & {*partitions.months_of(EVENTS), *partitions.months_of(STEPS)}


@pytest.mark.django_db(transaction=True)
def test_who_writes_to_another_month_is_not_held_up_while_one_is_made(alice: Any) -> None:
    run = run_of(alice, TIMELESS)
    try:
        with psycopg.connect(database_dsn()) as writer:
            writer.execute("UPDATE agents_event SET origin = 'x' WHERE execution_id = %s", [run.id])
            made = partitions.make_months(FUTURE)
    finally:
        for month in made:
            partitions.drop_month(month)

    assert made == [Month(2031, 3), Month(2031, 4), Month(2031, 5)]


# --- the migration


@pytest.fixture
def one_table_each(alice: Any) -> Iterator[None]:
    """Both tables as they were before there were months, in a schema of their own, and filled."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("CREATE SCHEMA before")
        for log in LOGS:
            cursor.execute(f"CREATE TABLE before.{log.table} (LIKE {log.untimed} INCLUDING ALL)")
            cursor.execute(f"ALTER TABLE before.{log.table} ALTER id ADD GENERATED BY DEFAULT AS IDENTITY")
        cursor.execute(
            f"ALTER TABLE before.{STEPS.table} ADD CONSTRAINT of_agent FOREIGN KEY (agent_id)"
            " REFERENCES agents_agentexecution (id) DEFERRABLE INITIALLY DEFERRED"
        )
        cursor.execute("SET LOCAL search_path = before, public")
        yield
        cursor.execute("SET LOCAL search_path = DEFAULT")
        transaction.set_rollback(True)


@pytest.mark.django_db
def test_a_filled_log_is_cut_where_it_lies_and_reads_verifies_and_folds_as_before(
    alice: Any, one_table_each: None
) -> None:
    ids = [UUID(int=5), UUID("00f00000-0000-4000-8000-000000000001"), new_id(FUTURE), *(uuid4() for _ in range(20))]
    runs = [run_of(alice, id_) for id_ in ids]
    last = make_step(runs[0].agents.get(), [7], "note", "now").id
    Step.objects.filter(id=last).delete()
    before = {run.id: reading.events_after(run.id, 0) for run in runs}
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED")
        cursor.execute("SELECT 'agents_event'::regclass::oid, 'agents_event'::regclass::text")
        was = cursor.fetchone()

        for log in LOGS:
            partitions.split(cursor, log)
        partitions.make_months(FUTURE)

        cursor.execute("SELECT 'agents_event_untimed'::regclass::oid, 'agents_event_untimed'::regclass::text")
        stayed = cursor.fetchone()

    untimed = sum(id_ >= partitions.UNTIMED_FROM for id_ in ids)
    assert (was[0], was[1], stayed[1]) == (stayed[0], "agents_event", "agents_event_untimed")
    assert [rows_in(log.untimed) for log in LOGS] == [3 * untimed, 2 * untimed]
    assert [rows_in(log.of(Month.of(FUTURE))) for log in LOGS] == [3, 2]
    assert [rows_in(log.default) for log in LOGS] == [3 * (22 - untimed), 2 * (22 - untimed)]
    for run in runs:
        assert reading.events_after(run.id, 0) == before[run.id]
        assert fold(run.id) == 1
        assert reading.events_after(run.id, 0) == before[run.id]
        assert list(verify(run)) == []
    assert make_step(runs[-1].agents.get(), [8], "note", "now").id == last + 1
    with pytest.raises(IntegrityError), transaction.atomic():
        make_step(runs[-1].agents.get(), [1], "note", "now")
