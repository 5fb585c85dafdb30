"""What happens when a time comes: once, in one conversation or many, under the rule that was chosen."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import Any
from zoneinfo import ZoneInfoNotFoundError

import pytest
from asgiref.sync import sync_to_async
from django.db import connection, connections
from django.db.models.functions import Now
from django.utils import timezone

from agents.engine.states import ExecutionStatus
from agents.models import Execution
from conversations import actions as talk
from conversations.models import Conversation, Message
from conversations.schedules import actions, clock, reading, starting
from conversations.schedules.kinds import (
    ApprovalRule,
    Cause,
    Kind,
    Outcome,
    PausedWhy,
    SkippedWhy,
    State,
    Talk,
    WhenMissed,
)
from conversations.schedules.models import Schedule, ScheduledRun
from conversations.schedules.starting import due_ids, start_due
from conversations.schedules.tasks import start_due as look_at_the_clock
from hyperagent.lib.queue import schedule_tasks
from hyperagent.lib.refusals import Conflict
from hyperagent.notices.kinds import MailKind
from hyperagent.notices.models import Delivery, Endpoint, Mail
from memory import projects
from tests.runtime.driving import Runners, ended, until
from tests.schedules.making import QUESTION, falls_due, finish_runs, hourly, made, wish
from tests.scripted.server import ScriptedServer

pytestmark = pytest.mark.django_db
TARGET = [{"tool": "send_mail", "conditions": [{"path": "to", "op": "domain", "value": "example.org"}]}]


def history(schedule: Schedule) -> list[tuple[str, str, int, str]]:
    """Oldest first."""
    return list(schedule.runs.order_by("created_at").values_list("cause", "outcome", "missed", "skipped_why"))


def come_again(schedule: Schedule, ago: timedelta = timedelta(seconds=30)) -> ScheduledRun:
    run = start_due(falls_due(schedule, ago).pk)
    assert run is not None
    return run


def fails(schedule: Schedule, ago: timedelta) -> State:
    """Its time comes, and its run fails. What becomes of the schedule."""
    run = come_again(schedule, ago)
    assert run.execution is not None
    Execution.objects.filter(pk=run.execution.pk).update(
        status=ExecutionStatus.FAILED, ended_at=Now(), error_code="model_unavailable", error_message="Nobody answers."
    )
    for _ in range(2):
        starting.ended(Execution.objects.get(pk=run.execution.pk))
    schedule.refresh_from_db()
    return schedule.state


@pytest.mark.spec("B27")
def test_when_its_time_comes_it_is_asked_once_and_the_next_time_is_set(alice: Any) -> None:
    schedule = made(alice, hourly(title="News", mode="chat"))
    assert (start_due(schedule.pk), due_ids()) == (None, [])
    due = falls_due(schedule).next_due_at
    assert due is not None

    run = start_due(schedule.pk)
    again = start_due(schedule.pk)

    assert run is not None
    assert again is None
    assert (run.cause, run.outcome, run.missed, run.due_at) == (Cause.TIME, Outcome.STARTED, 0, due)
    execution = Execution.objects.get()
    assert (execution.pk, execution.user, execution.question) == (run.execution_id, alice, QUESTION)
    assert execution.mode == "chat"
    conversation = Conversation.objects.get()
    assert conversation.title.startswith("News · ")
    assert Message.objects.get(role="user").client_id == f"schedule {schedule.pk} {due.isoformat()}"
    schedule.refresh_from_db()
    assert schedule.next_due_at == due + timedelta(hours=1)


def test_the_clock_gives_a_job_to_each_that_is_due(alice: Any) -> None:
    due, _later = falls_due(made(alice)), made(alice)

    schedule_tasks()
    look_at_the_clock()

    with connection.cursor() as cursor:
        cursor.execute("SELECT minutes FROM django_q_schedule WHERE func = 'conversations.schedules.tasks.start_due'")
        assert cursor.fetchall() == [(1,)]
        cursor.execute("SELECT count(*) FROM django_q_ormq")
        assert cursor.fetchone()[0] == 1
    assert due_ids() == [due.pk]


@pytest.mark.spec("B27")
def test_times_that_were_missed_are_made_up_for_once_and_the_history_says_so(alice: Any) -> None:
    schedule = made(alice)

    come_again(schedule, timedelta(hours=5, minutes=10))
    assert start_due(schedule.pk) is None
    finish_runs()
    come_again(schedule, timedelta(minutes=20))

    assert history(schedule) == [("catch_up", "started", 5, ""), ("catch_up", "started", 0, "")]
    schedule.refresh_from_db()
    assert schedule.next_due_at is not None
    assert timezone.now() < schedule.next_due_at < timezone.now() + timedelta(hours=1)


@pytest.mark.spec("B27")
def test_times_that_were_missed_are_left_out_where_that_was_chosen_but_for_one_of_the_last_minutes(alice: Any) -> None:
    schedule = made(alice, hourly(when_missed=WhenMissed.SKIP))

    come_again(schedule, timedelta(hours=5, minutes=20))
    assert start_due(schedule.pk) is None
    left_out = history(schedule)
    Schedule.objects.filter(pk=schedule.pk).update(counts_from=Now() - timedelta(hours=7, minutes=5))
    Schedule.objects.filter(pk=schedule.pk).update(next_due_at=Now() - timedelta(hours=3, minutes=5))
    start_due(schedule.pk)
    start_due(schedule.pk)

    assert left_out == [("time", "skipped", 5, "missed")]
    assert history(schedule)[1:] == [("time", "skipped", 2, "missed"), ("time", "started", 0, "")]
    assert Execution.objects.count() == 1
    schedule.refresh_from_db()
    assert schedule.next_due_at is not None
    assert timezone.now() < schedule.next_due_at < timezone.now() + timedelta(hours=1)


def test_what_comes_once_and_was_missed_is_over_where_that_was_chosen(alice: Any) -> None:
    asked = wish(kind=Kind.ONCE, cron="", at=timezone.now() + timedelta(hours=1), when_missed=WhenMissed.SKIP)
    schedule = made(alice, asked)

    come_again(schedule, timedelta(days=2))

    assert history(schedule) == [("time", "skipped", 0, "missed")]
    schedule.refresh_from_db()
    assert (schedule.state, Execution.objects.count()) == (State.OVER, 0)


@pytest.mark.spec("B27")
@pytest.mark.parametrize(
    ("status", "why"),
    [(ExecutionStatus.PENDING, SkippedWhy.STILL_RUNNING), (ExecutionStatus.AWAITING_USER, SkippedWhy.STILL_WAITING)],
)
def test_while_the_last_run_goes_on_the_next_is_left_out_and_the_history_says_so(
    alice: Any, status: ExecutionStatus, why: SkippedWhy
) -> None:
    schedule = made(alice)
    come_again(schedule)
    Execution.objects.update(status=status)

    come_again(schedule, timedelta(seconds=20))
    finish_runs()
    come_again(schedule, timedelta(seconds=10))

    assert [(one[1], one[3]) for one in history(schedule)] == [("started", ""), ("skipped", why), ("started", "")]
    assert Execution.objects.count() == 2


@pytest.mark.spec("B27")
def test_while_another_try_of_its_last_run_goes_on_the_next_is_left_out_too(alice: Any) -> None:
    schedule = made(alice, hourly(talk=Talk.SAME))
    first = come_again(schedule)
    Execution.objects.update(status=ExecutionStatus.FAILED, ended_at=Now())
    assert first.execution is not None
    talk.retry_run(alice, first.execution.pk)

    come_again(schedule, timedelta(seconds=20))
    with pytest.raises(Conflict):
        actions.run_now(alice, schedule.pk)
    finish_runs()
    come_again(schedule, timedelta(seconds=10))

    outcomes = [(one[1], one[3]) for one in history(schedule)]
    assert outcomes == [("started", ""), ("skipped", SkippedWhy.STILL_RUNNING), ("started", "")]


@pytest.mark.spec("B27")
def test_each_time_begins_a_conversation_or_all_go_on_in_one_and_in_a_new_one_if_that_was_deleted(alice: Any) -> None:
    apart, together = made(alice, hourly(title="A")), made(alice, hourly(title="T", talk=Talk.SAME))

    found: dict[Any, list[Any]] = {apart.pk: [], together.pk: []}
    for ago in (30, 20, 10):
        for schedule in (apart, together):
            found[schedule.pk].append(come_again(schedule, timedelta(seconds=ago)).conversation_id)
        finish_runs()
    talk.delete(alice, found[together.pk][0])
    another = come_again(together, timedelta(seconds=5)).conversation_id

    assert len(set(found[apart.pk])) == 3
    assert len(set(found[together.pk])) == 1
    assert Message.objects.filter(conversation=found[together.pk][0], role="user").count() == 3
    assert another is not None
    assert another not in found[together.pk]
    assert Conversation.objects.get(pk=another).title == "T"


def test_it_goes_on_in_a_conversation_that_was_chosen(alice: Any) -> None:
    chosen = talk.create(alice, title="Mine")
    schedule = made(alice, hourly(talk=Talk.SAME, conversation_id=chosen.pk))

    assert come_again(schedule).conversation_id == chosen.pk


@pytest.mark.spec("B8")
@pytest.mark.threat("T19")
@pytest.mark.parametrize(
    ("rule", "told"),
    [
        (ApprovalRule.WAIT, {"on_approval": "wait", "interactive": True}),
        (ApprovalRule.DENY, {"on_approval": "deny", "interactive": False}),
        (ApprovalRule.PREAPPROVED, {"on_approval": "deny", "interactive": False, "preapproved": TARGET}),
    ],
)
def test_the_run_is_told_the_one_rule_that_was_chosen(alice: Any, rule: ApprovalRule, told: dict[str, Any]) -> None:
    preapproved = TARGET if rule is ApprovalRule.PREAPPROVED else ()
    schedule = made(alice, hourly(on_approval=rule, preapproved=preapproved))

    come_again(schedule)

    assert Execution.objects.get().input["options"] == told


def test_what_was_there_when_it_was_made_and_is_not_now_is_told_and_in_the_end_it_stops(alice: Any, bob: Any) -> None:
    project = projects.create(bob, name="Ours")
    projects.add_member(bob, project.pk, alice.email)
    schedule = made(alice, hourly(project_id=project.pk))
    assert come_again(schedule).conversation.project == project  # type: ignore[union-attr]
    finish_runs()
    projects.remove_member(bob, project.pk, alice.pk)

    refused = [come_again(schedule, timedelta(seconds=20 - number)) for number in range(3)]

    assert {run.outcome for run in refused} == {Outcome.REFUSED}
    assert "nothing here that you may see" in refused[0].refusal
    schedule.refresh_from_db()
    assert (schedule.state, schedule.paused_why) == (State.PAUSED, PausedWhy.REFUSED)
    assert Execution.objects.count() == Conversation.objects.count() == 1


def test_what_is_too_much_now_is_tried_again_at_the_next_time(alice: Any, settings: Any) -> None:
    settings.CONFIG = settings.CONFIG.model_copy(update={"runs_at_once": 1})
    talk.say_in_new(alice, talk.Question("Something else?"))
    schedule = made(alice)

    for number in range(4):
        run = come_again(schedule, timedelta(seconds=20 - number))
        assert (run.outcome, "as many as may be" in run.refusal) == (Outcome.REFUSED, True)
    finish_runs()

    assert come_again(schedule, timedelta(seconds=5)).outcome == Outcome.STARTED


@pytest.mark.spec("B27")
def test_times_of_before_a_restore_are_passed_over_and_told_and_the_next_is_asked(alice: Any) -> None:
    hours, once = made(alice), made(alice, wish(kind=Kind.ONCE, at=timezone.now() + timedelta(hours=1)))
    to_come, unknown = made(alice), made(alice, hourly(time_zone="Europe/Rome"))
    for schedule in (hours, once, unknown):
        falls_due(schedule, timedelta(hours=2, minutes=30))
    Schedule.objects.filter(pk=unknown.pk).update(kind=Kind.CRON, cron="0 * * * *", time_zone="No/Where")
    stays = to_come.next_due_at

    clock.pass_over_due()
    clock.pass_over_due()

    for schedule in (hours, once, to_come):
        schedule.refresh_from_db()
    assert history(hours) == [(Cause.TIME, Outcome.SKIPPED, 2, SkippedWhy.RESTORED)]
    assert history(once) == [(Cause.TIME, Outcome.SKIPPED, 0, SkippedWhy.RESTORED)]
    assert hours.next_due_at is not None
    assert timedelta() < hours.next_due_at - timezone.now() <= timedelta(hours=1)
    assert (once.state, to_come.next_due_at, history(to_come)) == (State.OVER, stays, [])
    assert not Execution.objects.exists()
    assert come_again(hours).outcome == Outcome.STARTED


@pytest.mark.spec("B27")
def test_nothing_runs_in_the_name_of_who_is_deactivated_and_it_says_why(alice: Any) -> None:
    schedule = made(alice)
    alice.is_active = False
    alice.save()

    run = come_again(schedule)

    assert (run.outcome, run.skipped_why) == (Outcome.SKIPPED, SkippedWhy.OWNER_INACTIVE)
    schedule.refresh_from_db()
    assert (schedule.state, schedule.paused_why) == (State.PAUSED, PausedWhy.OWNER_INACTIVE)
    assert not Execution.objects.exists()
    assert not Conversation.objects.exists()


@pytest.mark.spec("B27")
def test_after_its_end_and_after_its_one_time_it_is_over(alice: Any) -> None:
    soon = timezone.now() + timedelta(minutes=90)
    ends, once = made(alice, hourly(ends_at=soon)), made(alice, wish(kind=Kind.ONCE, at=soon))
    Schedule.objects.filter(pk=ends.pk).update(ends_at=timezone.now() + timedelta(minutes=5))

    for schedule in (ends, once):
        come_again(schedule)
        schedule.refresh_from_db()

    assert (ends.state, once.state) == (State.OVER, State.OVER)
    assert Execution.objects.count() == 2


def test_the_history_keeps_its_newest_thousand_times(alice: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "KEPT_RUNS", 2)
    schedule = made(alice)

    runs = []
    for ago in (40, 30, 20, 10):
        runs.append(come_again(schedule, timedelta(seconds=ago)).pk)
        finish_runs()

    assert set(schedule.runs.values_list("pk", flat=True)) == set(runs[-2:])


@pytest.mark.spec("B27")
@pytest.mark.django_db(transaction=True)
def test_of_many_who_look_at_the_clock_at_once_one_asks(alice: Any) -> None:
    schedule = made(alice)
    together = Barrier(4)

    def look(_number: int) -> Any:
        try:
            together.wait(10)
            return start_due(schedule.pk)
        finally:
            connections.close_all()

    for ago in (30, 20, 10):
        falls_due(schedule, timedelta(seconds=ago))
        with ThreadPoolExecutor(4) as pool:
            came = [run for run in pool.map(look, range(4)) if run is not None]
        finish_runs()
        assert len(came) == 1

    assert Execution.objects.count() == ScheduledRun.objects.count() == Conversation.objects.count() == 3


@pytest.mark.spec("B27", "B22")
def test_its_person_and_their_webhook_are_told_of_what_could_not_be_asked_and_of_the_end(
    alice: Any, bob: Any, charlie: Any
) -> None:
    project = projects.create(bob, name="Ours")
    projects.add_member(bob, project.pk, alice.email)
    schedule = made(alice, hourly(title="News", project_id=project.pk))
    for person in (alice, charlie):
        Endpoint.objects.create(
            user=person, url="https://example.org/hook", events=["run.failed"], secret_sealed="sealed"
        )
    projects.remove_member(bob, project.pk, alice.pk)

    for number in range(3):
        come_again(schedule, timedelta(seconds=20 - number))

    mails = list(Mail.objects.all())
    assert {(mail.user, mail.kind, mail.title, mail.path) for mail in mails} == {
        (alice, MailKind.SCHEDULE_FAILED, "News", f"/schedules/{schedule.pk}/")
    }
    first, end = sorted((dict(mail.facts) for mail in mails), key=lambda facts: "State" in facts)
    assert "nothing here that you may see" in first["Why"]
    assert (end["Failures in a row"], end["State"]) == ("3", "paused")
    told = list(Delivery.objects.values_list("endpoint__user__email", "payload__data__error_code"))
    assert told == [(alice.email, "not_started")] * 3


@pytest.mark.spec("B27")
def test_one_whose_runs_fail_one_after_the_other_is_paused_and_its_person_is_told(alice: Any) -> None:
    schedule = made(alice, hourly(title="News"))

    states = [fails(schedule, timedelta(seconds=50 - number)) for number in range(starting.FAILED_IN_A_ROW)]

    assert states == [State.ACTIVE] * (starting.FAILED_IN_A_ROW - 1) + [State.PAUSED]
    assert reading.failed_by_itself(schedule)
    (mail,) = Mail.objects.all()
    assert (mail.user, dict(mail.facts)["Why"]) == (alice, "Nobody answers.")


@pytest.mark.spec("B27")
def test_one_that_is_resumed_may_fail_as_often_again_before_it_is_paused(alice: Any) -> None:
    schedule = made(alice)
    for number in range(starting.FAILED_IN_A_ROW):
        fails(schedule, timedelta(seconds=50 - number))
    actions.resume(alice, schedule.pk)

    states = [fails(schedule, timedelta(seconds=40 - number)) for number in range(starting.FAILED_IN_A_ROW)]

    assert states == [State.ACTIVE] * (starting.FAILED_IN_A_ROW - 1) + [State.PAUSED]


@pytest.mark.spec("B27")
def test_one_that_is_resumed_may_be_refused_as_often_again_and_its_person_is_told_again(alice: Any, bob: Any) -> None:
    project = projects.create(bob, name="Ours")
    projects.add_member(bob, project.pk, alice.email)
    schedule = made(alice, hourly(project_id=project.pk))
    projects.remove_member(bob, project.pk, alice.pk)
    for number in range(starting.REFUSED_IN_A_ROW):
        come_again(schedule, timedelta(seconds=50 - number))
    told = Mail.objects.count()
    actions.resume(alice, schedule.pk)

    states = []
    for number in range(starting.REFUSED_IN_A_ROW):
        come_again(schedule, timedelta(seconds=40 - number))
        schedule.refresh_from_db()
        states.append(schedule.state)

    assert states == [State.ACTIVE] * (starting.REFUSED_IN_A_ROW - 1) + [State.PAUSED]
    assert (told, Mail.objects.count()) == (2, 4)


@pytest.mark.spec("B27")
@pytest.mark.django_db(transaction=True)
async def test_a_runner_asks_when_the_time_comes_and_waits_for_no_job(
    alice: Any, echo_server: ScriptedServer, make_runner: Runners
) -> None:
    schedule = await sync_to_async(made)(alice, hourly(mode="chat"))
    await make_runner(echo_server.url)
    await sync_to_async(falls_due)(schedule, timedelta(seconds=-1))

    run = await until(lambda: ScheduledRun.objects.select_related("execution").filter(schedule=schedule).afirst())

    assert (run.cause, run.outcome) == (Cause.TIME, Outcome.STARTED)
    assert run.created_at >= run.due_at
    assert (await ended(run.execution_id)).status == ExecutionStatus.COMPLETED


def test_a_time_that_cannot_be_looked_at_holds_up_no_other(alice: Any) -> None:
    broken, whole = falls_due(made(alice), timedelta(seconds=60)), falls_due(made(alice))
    Schedule.objects.filter(pk=broken.pk).update(time_zone="Nowhere/AtAll", kind=Kind.CRON, cron="0 9 * * *")

    assert clock.start_due() == 1

    assert ScheduledRun.objects.get().schedule == whole
    with pytest.raises(ZoneInfoNotFoundError):
        clock.start_due()
