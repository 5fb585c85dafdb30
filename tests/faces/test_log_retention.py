"""Event logs and journals go after LOG_RETENTION_DAYS, by whole months; who asks for one that is gone is told so."""

from collections.abc import Callable
from datetime import datetime, timedelta
from io import StringIO
from typing import Any
from uuid import uuid4

import pytest
import time_machine
from django.conf import settings as django_settings
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.utils import timezone

from agents import actions
from agents.engine.events import Complete
from agents.engine.ids import sibling_id
from agents.log import log_retention, partitions, reading
from agents.log.partitions import EVENTS, STEPS, Month
from agents.models import Event, Execution, Step
from conversations.actions import Question, say_in_new
from hyperagent.audit.kinds import AuditKind
from hyperagent.audit.models import AuditCut, AuditEvent
from hyperagent.audit.recording import record
from hyperagent.audit.sealing import seal
from hyperagent.lib.ids import new_id
from hyperagent.lib.refusals import Conflict
from tests.faces.runs import append, make_agent, make_run, make_step, tokens

pytestmark = pytest.mark.django_db
DAYS = 90


@pytest.fixture(autouse=True)
def _keeps_for_days(settings: Any) -> None:
    settings.CONFIG = django_settings.CONFIG.model_copy(update={"log_retention_days": DAYS})


@pytest.fixture
def old() -> Month:
    """A month of long ago, with its parts."""
    month = Month.of(timezone.now()).later(-8)
    partitions.make_months(month.begins)
    return month


def run_of(user: Any, begun: datetime, *, ended: datetime | None, id_: Any = None) -> Execution:
    """A run with an agent, a step and three events."""
    run = make_run(user, id=id_ or new_id(begun), created_at=begun)
    agent = make_agent(run, "root", id=sibling_id(run.id), lineage="root", status="completed")
    make_step(agent, [0], "note", "now")
    append(run, *tokens("a", "b"), *([Complete(answer="The answer")] if ended else []))
    if ended:
        Execution.objects.filter(id=run.id).update(ended_at=ended, log_folded_at=ended)
    with connection.cursor() as cursor:
        # As at a commit: while a key is still to be checked, no table goes.
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED")
    return Execution.objects.get(id=run.id)


def is_kept(run: Execution) -> bool:
    """Whether all of it is there; nothing must be, if not."""
    run.refresh_from_db()
    left = (Event.objects.filter(execution=run).exists(), Step.objects.filter(agent__execution=run).exists())
    assert left in ((True, True), (False, False))
    assert left[0] == (run.log_dropped_at is None)
    return left[0]


def test_a_month_goes_once_no_run_of_it_is_live_or_ended_lately(alice: Any, old: Month) -> None:
    begun, long_ago = old.begins + timedelta(days=2), old.begins + timedelta(days=3)
    over, waits = run_of(alice, begun, ended=long_ago), run_of(alice, begun, ended=None)
    later = run_of(alice, old.ends, ended=timezone.now() - timedelta(days=DAYS - 1))
    fresh = run_of(alice, timezone.now(), ended=timezone.now())

    log_retention.keep_no_longer()
    assert [is_kept(run) for run in (over, waits, later, fresh)] == [True] * 4
    assert not AuditEvent.objects.filter(kind="retention.ran", details__runs__gt=0).exists()

    Execution.objects.filter(id=waits.id).update(status="cancelled", ended_at=timezone.now())
    log_retention.keep_no_longer()
    assert is_kept(over), "one of its month ended lately"

    Execution.objects.filter(id=waits.id).update(ended_at=long_ago)
    log_retention.keep_no_longer()
    log_retention.keep_no_longer()

    assert [is_kept(run) for run in (over, waits, later, fresh)] == [False, False, True, True]
    assert old not in {*partitions.months_of(EVENTS), *partitions.months_of(STEPS)}
    assert old.later() in partitions.months_of(EVENTS)
    assert (over.answer, over.last_seq) == ("The answer", 3)
    told = AuditEvent.objects.get(kind="retention.ran", details__runs__gt=0).details
    assert told == {"what": "logs", "days": DAYS, "runs": 2, "months": [str(old)]}


def test_one_machine_with_a_wrong_clock_drops_nothing(alice: Any) -> None:
    lately = timezone.now() - timedelta(days=5)
    runs = [run_of(alice, lately, ended=lately), run_of(alice, lately, ended=lately, id_=uuid4())]

    with time_machine.travel(timezone.now() + timedelta(days=365)):
        log_retention.keep_no_longer()

    assert [is_kept(run) for run in runs] == [True, True]


def test_nothing_goes_by_default(alice: Any, old: Month, settings: Any) -> None:
    settings.CONFIG = django_settings.CONFIG.model_copy(update={"log_retention_days": 0})
    run = run_of(alice, old.begins, ended=old.begins)

    log_retention.keep_no_longer()

    assert is_kept(run)


@pytest.mark.slow
def test_what_lies_in_no_month_goes_run_by_run(alice: Any) -> None:
    long_ago = timezone.now() - timedelta(days=DAYS + 1)
    gone = [run_of(alice, long_ago, ended=long_ago, id_=uuid4()) for _ in range(log_retention.RUNS_AT_ONCE + 3)]
    kept = [
        run_of(alice, long_ago, ended=None, id_=uuid4()),
        run_of(alice, long_ago, ended=long_ago + timedelta(days=2), id_=uuid4()),
    ]

    log_retention.keep_no_longer()

    assert not any(is_kept(run) for run in gone)
    assert all(is_kept(run) for run in kept)


def test_an_agent_that_lies_in_a_month_keeps_it_while_its_run_is_kept(alice: Any, old: Month) -> None:
    run = run_of(alice, timezone.now(), ended=timezone.now())
    make_step(make_agent(run, id=new_id(old.begins)), [0], "note", "now")

    log_retention.keep_no_longer()

    assert (is_kept(run), Step.objects.filter(agent__execution=run).count()) == (True, 2)
    assert old in partitions.months_of(STEPS)


def test_a_month_whose_runs_were_marked_before_something_fell_goes_the_next_time(alice: Any, old: Month) -> None:
    run = run_of(alice, old.begins, ended=old.begins)
    Execution.objects.filter(id=run.id).update(log_dropped_at=timezone.now())

    log_retention.keep_no_longer()

    assert not is_kept(run)
    assert old not in partitions.months_of(EVENTS)


# --- who asks for it


@pytest.fixture
def dropped(alice: Any, old: Month) -> Execution:
    """The run of a reply in a conversation of Alice's, whose log is gone."""
    said = say_in_new(alice, Question("What is it?"))
    run = run_of(alice, old.begins, ended=old.begins)
    Execution.objects.filter(id=run.id).update(conversation_id=said.conversation.id)
    said.reply.execution = run
    said.reply.save()
    said.execution.delete()
    log_retention.keep_no_longer()
    run.refresh_from_db()
    return run


@pytest.mark.django_db(transaction=True)
def test_who_asks_for_the_events_is_told_that_they_are_gone(alice: Any, api_of: Callable[..., Any]) -> None:
    long_ago = timezone.now() - timedelta(days=DAYS + 1)
    run = run_of(alice, long_ago, ended=long_ago, id_=uuid4())
    log_retention.keep_no_longer()
    api = api_of(alice)

    for accepts in ("application/json", "text/event-stream"):
        answer = api.get(f"/api/v1/executions/{run.id}/events?after=2", HTTP_ACCEPT=accepts)
        assert (answer.status_code, answer.json()["error"]["code"]) == (410, "log_not_kept")
        assert "no longer kept" in answer.json()["error"]["message"]


def test_the_run_itself_is_there_still(dropped: Execution, alice: Any, api_of: Callable[..., Any]) -> None:
    api, agent = api_of(alice), dropped.agents.get()

    run = api.get(f"/api/v1/executions/{dropped.id}").json()

    assert (run["answer"], run["status"], run["last_seq"]) == ("The answer", "completed", 0)
    assert datetime.fromisoformat(run["log_dropped_at"]) == dropped.log_dropped_at
    assert api.get(f"/api/v1/agents/{agent.id}").json()["steps"] == []
    assert reading.progress_of(dropped.id) == reading.Progress(0, is_over=True)


def test_no_run_begins_with_steps_that_are_gone(dropped: Execution, alice: Any) -> None:
    agent = dropped.agents.get()

    with pytest.raises(Conflict, match="no longer kept"):
        actions.retry(dropped.id, by=alice, agent_id=agent.id)
    with pytest.raises(Conflict, match="no longer kept") as refused:
        actions.fork_from(dropped.id, by=alice, agent_id=agent.id, step="0")

    assert (refused.value.code, refused.value.status) == ("log_not_kept", 409)
    assert Execution.objects.filter(forked_from=dropped).count() == 0


@pytest.mark.spec("B9")
@pytest.mark.parametrize("had_run", [False, True])
def test_a_log_that_somebody_deleted_is_not_taken_for_one_whose_time_was_over(
    alice: Any, old: Month, had_run: bool
) -> None:
    if had_run:
        run_of(alice, old.begins + timedelta(days=2), ended=old.begins + timedelta(days=3))
        log_retention.keep_no_longer()
    lately = run_of(alice, timezone.now(), ended=timezone.now() - timedelta(days=DAYS - 1))
    Event.objects.filter(execution=lately).delete()
    Execution.objects.filter(id=lately.id).update(log_dropped_at=timezone.now())
    told = StringIO()

    with pytest.raises(SystemExit):
        call_command("verify_log", stdout=StringIO(), stderr=told)

    assert f"execution {lately.id}, event 3: the log is marked as no longer kept" in told.getvalue()
    assert told.getvalue().count("no longer kept") == 1


@pytest.mark.spec("B9")
def test_what_was_dropped_before_the_kept_audit_log_begins_is_believed(dropped: Execution) -> None:
    AuditCut.objects.create(number=seal(), hash=bytes(32), kept_days=365)
    AuditEvent.objects.filter(kind="retention.ran").delete()
    record(AuditKind.RETENTION_RAN, actor=None, details={"what": "audit", "until": 2, "days": 365})
    Execution.objects.filter(id=dropped.id).update(log_dropped_at=timezone.now() - timedelta(days=1))

    call_command("verify_log", str(dropped.id), stdout=StringIO())


def test_reviewers_and_verify_log_are_told(dropped: Execution, bob: Any, client_of: Callable[[Any], Client]) -> None:
    told = StringIO()

    call_command("verify_log", str(dropped.id), stdout=told)
    page = client_of(bob).get(f"/admin/agents/execution/{dropped.id}/change/").content.decode()

    assert "1 executions whose log is no longer kept" in told.getvalue()
    assert page.count("The log of this run, with its steps, is no longer kept.") == 2
