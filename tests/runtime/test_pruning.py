"""Every question to the event log and the journal about a run reads one month of it, whatever lies in the others."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from asgiref.sync import sync_to_async
from django.db import connection, connections

from agents import copies
from agents.engine.copying import Kept
from agents.engine.events import Complete
from agents.engine.ids import sibling_id
from agents.engine.records import AgentRecord, Announced, Cut, StepRecord
from agents.engine.states import AgentStatus, ExecutionStatus, StepKind, StepStatus
from agents.log import agent_reading, blanking, folding, partitions, plan_reading, reading
from agents.log.partitions import EVENTS, STEPS, Month
from agents.management.commands.verify_log import verify
from agents.models import AgentExecution, Event, Execution, Step
from agents.runtime import loading, store
from agents.runtime.outbox import Moved, Outbox, PlacedCut
from conversations.a2a import turns
from hitl.deadlines import Deadlines
from hyperagent.lib.ids import new_id
from tests.faces.runs import append, make_agent, make_run, make_step, tokens
from tests.runtime.driving import database_dsn

MONTHS = [Month(2031, month) for month in (1, 2, 3)]
# How often each part was read in this transaction, as the server counts.
READS = (
    "SELECT relname, seq_scan + coalesce(idx_scan, 0) FROM pg_stat_xact_user_tables"
    " WHERE relname LIKE 'agents\\_event%%' OR relname LIKE 'agents\\_step%%'"
)


def furnish(user: Any) -> dict[Month, Execution]:
    """In each month some runs with agents, steps and events; gives one of each."""
    runs = {}
    for month in MONTHS:
        partitions.make_months(month.begins)
        for day in range(3):
            run = make_run(user, id=new_id(month.begins + timedelta(days=day)), epoch=1)
            root = None
            for name in ("root", "chat"):
                agent = make_agent(run, name, parent=root, id=sibling_id(run.id))
                root = root or agent
                make_step(agent, [0], "model", "agent", usage={"prompt_tokens": 1, "completion_tokens": 1})
                make_step(agent, [1], "model", "agent", usage={"prompt_tokens": 1, "completion_tokens": 1})
                make_step(agent, [2], "tool", "send", cut_at=month.begins, effect_key="k")
            append(run, *tokens("a", "b", "c"))
            runs[month] = run
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE agents_execution, agents_agentexecution, agents_event, agents_step")
    return runs


def parts_read(act: Callable[[], Any]) -> set[str]:
    def counts() -> dict[str, int]:
        with connection.cursor() as cursor:
            cursor.execute(READS, [])
            return dict(cursor.fetchall())

    before = counts()
    act()
    return {part for part, count in counts().items() if count > before.get(part, 0)}


def copied(run: Execution) -> None:
    past = copies.past_of(run)
    steps = frozenset(step.id for agent in past for step in agent.steps)
    copies.begin(run, Kept({agent.id: AgentStatus.COMPLETED for agent in past}, steps))


def blanked(run: Execution) -> None:
    while blanking.blank_runs(Execution.objects.filter(id=run.id)):
        pass


ASKED: dict[str, tuple[Callable[[Execution], Any], tuple[partitions.Log, ...]]] = {
    "a page of events": (lambda run: reading.events_after(run.id, 1), (EVENTS,)),
    "a page without tokens": (lambda run: reading.events_without("token", run.id, 0), (EVENTS,)),
    "how far it is": (lambda run: reading.progress_of(run.id), (EVENTS,)),
    "its plan": (lambda run: plan_reading.told_by_log(run.id), (EVENTS,)),
    "its files": (lambda run: turns.files_of([run]), (EVENTS,)),
    "its hashes": (lambda run: list(verify(run)), (EVENTS,)),
    "folding": (lambda run: folding.fold(run.id), (EVENTS,)),
    "what agents used": (lambda run: agent_reading.with_usage(run.agents.all()), (STEPS,)),
    "an agent's steps": (lambda run: agent_reading.steps_of(run.agents.all()[0]), (STEPS,)),
    "an agent's words": (lambda run: agent_reading.messages_of(run.agents.get(agent_name="chat")), (STEPS,)),
    "erasing": (blanked, (EVENTS, STEPS)),
}


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize("asked", ASKED)
def test_what_is_asked_of_a_run_reads_its_month_only(alice: Any, asked: str) -> None:
    ask, logs = ASKED[asked]
    month = MONTHS[1]
    run = furnish(alice)[month]

    assert parts_read(lambda: ask(run)) == {log.of(month) for log in logs}


@pytest.mark.django_db
def test_a_copy_reads_the_month_of_the_old_run_and_is_written_to_the_present_one(alice: Any) -> None:
    runs = furnish(alice)

    read = parts_read(lambda: copied(runs[MONTHS[1]]))

    assert read == {STEPS.of(MONTHS[1])}
    new = Execution.objects.get(forked_from=runs[MONTHS[1]])
    assert Step.objects.filter(agent__execution=new).count() == 4


@pytest.mark.django_db
def test_the_planner_itself_leaves_the_other_months_out(alice: Any) -> None:
    run = furnish(alice)[MONTHS[0]]

    agents = list(run.agents.values_list("id", flat=True))
    for rows, log in ((Event.objects.filter(execution=run), EVENTS), (Step.objects.filter(agent__in=agents), STEPS)):
        plan = json.loads(rows.order_by().explain(format="json"))[0]["Plan"]
        assert relations(plan) == {log.of(MONTHS[0])}


def relations(plan: dict[str, Any]) -> set[str]:
    own = {plan["Relation Name"]} if "Relation Name" in plan else set()
    return own.union(*(relations(part) for part in plan.get("Plans", [])))


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("plans", ["force_custom_plan", "force_generic_plan"])
async def test_a_runner_reads_and_writes_the_month_of_its_run_only(alice: Any, plans: str) -> None:
    try:
        run = (await sync_to_async(furnish)(alice))[MONTHS[1]]
        root = await AgentExecution.objects.aget(execution=run, agent_name="root")
        async with await psycopg.AsyncConnection.connect(database_dsn(), prepare_threshold=0) as own:
            await own.execute(f"SET LOCAL plan_cache_mode = {plans}")
            await loading.load(own, run.id)
            outbox = Outbox(run.id, epoch=1, group="g", wake_writer=lambda outbox, durable: None, last_seq=3)
            outbox.write(*records_of(root))
            parcel = outbox.take()
            for statement, values in store.statements(parcel, deadlines=Deadlines()):
                await own.execute(statement, values)
            await own.execute(store.APPEND_EVENTS, store.append_values([parcel]))
            found = await (await own.execute(READS.replace("%%", "%"))).fetchall()
            await own.rollback()
    finally:
        await sync_to_async(drop_months)()
        await sync_to_async(connections.close_all)()

    assert len(parcel.rows) == 1
    assert {part for part, count in found if count} == {EVENTS.of(MONTHS[1]), STEPS.of(MONTHS[1])}


def records_of(root: AgentExecution) -> list[Any]:
    """One of each that is stored in the log or the journal."""
    step = StepRecord(
        root.id, (3,), StepKind.MODEL, "m", {}, bytes(32), StepStatus.FINISHED, None, "", {"prompt_tokens": 1}
    )
    return [
        AgentRecord(root.id, None, "root", root.lineage, "", AgentStatus.RUNNING),
        step,
        PlacedCut(Cut(root.id, (3,), ()), 3),
        Announced(root.id, Complete(answer="a")),
        Moved(ExecutionStatus.COMPLETED),
    ]


def drop_months() -> None:
    for month in partitions.months_of(EVENTS):
        if month >= MONTHS[0]:
            partitions.drop_month(month)
