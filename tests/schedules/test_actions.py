"""What people do with their schedules, and what is refused."""

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from agents.models import Execution
from conversations import actions as talk
from conversations.models import Conversation
from conversations.schedules import actions
from conversations.schedules.kinds import MOST_ACTIVE, ApprovalRule, Cause, Kind, PausedWhy, State, Talk
from conversations.schedules.models import Schedule
from conversations.schedules.reading import coming
from conversations.schedules.starting import start_due
from hyperagent.lib.database import db_now
from hyperagent.lib.refusals import Conflict, NotThere, Refused
from memory import projects
from tests.schedules.making import QUESTION, falls_due, finish_runs, hourly, made, wish

pytestmark = pytest.mark.django_db
TARGET = [{"tool": "send_mail", "conditions": [{"path": "to", "op": "domain", "value": "example.org"}]}]


def faults_of(user: Any, **changes: Any) -> dict[str, list[str]]:
    with pytest.raises(Refused) as refused:
        actions.create(user, wish(**changes))
    assert not Schedule.objects.exists()
    return refused.value.fields


@pytest.mark.spec("B27")
def test_a_schedule_knows_its_next_times_in_its_own_zone(alice: Any) -> None:
    schedule = actions.create(alice, wish(title="News"))

    shown = [schedule.local(moment) for moment in coming(schedule, now=db_now())]
    assert [(moment.hour, moment.minute) for moment in shown] == [(9, 0)] * 5
    assert shown[0] > timezone.now()
    assert (schedule.state, schedule.title) == (State.ACTIVE, "News")
    assert actions.create(alice, wish()).title == QUESTION


@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        ({"question": " "}, "question", "empty"),
        ({"mode": "dance"}, "mode", "no mode 'dance'"),
        ({"title": "x" * 121}, "title", "at most 120"),
        ({"cron": "0 9 * *"}, "cron", "five fields"),
        ({"cron": "*/4 * * * *"}, "cron", "4 min apart"),
        ({"cron": "0 0 31 2 *"}, "cron", "never come"),
        ({"time_zone": "Mars/Olympus"}, "time_zone", "no time zone 'Mars/Olympus'"),
        ({"time_zone": "../etc"}, "time_zone", "no time zone"),
        ({"time_zone": "Europe"}, "time_zone", "no time zone"),
        ({"kind": Kind.EVERY, "every_s": 299}, "every_s", "at least five"),
        ({"kind": Kind.EVERY, "every_s": 330}, "every_s", "whole minutes"),
        ({"kind": Kind.EVERY}, "every_s", "whole minutes"),
        ({"kind": Kind.ONCE}, "at", "Say when"),
        ({"kind": Kind.ONCE, "at": datetime(2020, 1, 1, 9)}, "at", "still to come"),
        ({"kind": Kind.ONCE, "at": datetime(2999, 1, 1, 9)}, "at", "within ten years"),
        ({"kind": Kind.ONCE, "at": datetime(1, 1, 1)}, "at", "can be kept"),
        ({"ends_at": datetime(9999, 12, 31, 23), "time_zone": "America/New_York"}, "ends_at", "can be kept"),
        ({"ends_at": datetime(2020, 1, 1, tzinfo=UTC)}, "ends_at", "before its first time"),
        ({"document_ids": (uuid.uuid4(),)}, "document_ids", ""),
        ({"project_id": uuid.uuid4()}, "project_id", "no such project"),
        ({"talk": Talk.SAME, "conversation_id": uuid.uuid4()}, "conversation_id", "no such conversation"),
        ({"on_approval": ApprovalRule.PREAPPROVED}, "preapproved", "which calls are approved"),
        ({"on_approval": ApprovalRule.PREAPPROVED, "preapproved": 5}, "preapproved", "Send a list"),
        (
            {"on_approval": ApprovalRule.PREAPPROVED, "preapproved": [{"tool": "send_mail"}]},
            "preapproved.0.conditions",
            "Say for which calls",
        ),
    ],
)
def test_what_cannot_be_is_refused_at_its_field(alice: Any, changes: dict[str, Any], field: str, said: str) -> None:
    faults = faults_of(alice, **changes)

    assert list(faults) == [field]
    assert said in faults[field][0]


def test_every_fault_is_told_at_once(alice: Any) -> None:
    assert set(faults_of(alice, question="", cron="x", mode="dance")) == {"question", "cron", "mode"}


def test_what_is_charlies_cannot_be_a_part_of_alices_schedule(alice: Any, charlie: Any) -> None:
    theirs = projects.create(charlie, name="Theirs")
    said = talk.create(charlie)

    faults = faults_of(alice, project_id=theirs.pk, talk=Talk.SAME, conversation_id=said.pk)

    assert set(faults) == {"project_id", "conversation_id"}


def test_fifty_are_active_at_most_and_paused_ones_make_room(alice: Any, bob: Any) -> None:
    first = made(alice)
    twins = [Schedule(**{**_columns(first), "id": uuid.uuid4()}) for _ in range(MOST_ACTIVE - 1)]
    Schedule.objects.bulk_create(twins)

    with pytest.raises(Conflict) as refused:
        made(alice)
    actions.pause(alice, first.pk)
    made(alice)
    with pytest.raises(Conflict):
        actions.resume(alice, first.pk)

    assert refused.value.code == "too_many_schedules"
    assert made(bob).state is State.ACTIVE


def _columns(schedule: Schedule) -> dict[str, Any]:
    names = [field.attname for field in schedule._meta.concrete_fields if field.attname != "created_at"]
    return {name: getattr(schedule, name) for name in names}


@pytest.mark.spec("B27")
def test_what_is_paused_does_not_come_and_goes_on_from_now(alice: Any) -> None:
    schedule = falls_due(made(alice), timedelta(hours=5))

    paused = actions.pause(alice, schedule.pk)
    again = actions.pause(alice, schedule.pk)
    came = start_due(schedule.pk)
    resumed = actions.resume(alice, schedule.pk)

    assert (paused.state, paused.paused_why, again.paused_at) == (State.PAUSED, PausedWhy.PERSON, paused.paused_at)
    assert came is None
    assert resumed.state is State.ACTIVE
    assert resumed.next_due_at is not None
    assert resumed.next_due_at > timezone.now()
    assert actions.resume(alice, schedule.pk).next_due_at == resumed.next_due_at
    assert not Execution.objects.exists()


@pytest.mark.spec("B27")
def test_it_is_asked_now_even_if_paused_and_its_times_stay(alice: Any) -> None:
    schedule = made(alice, wish(title="News"))
    due = schedule.next_due_at
    actions.pause(alice, schedule.pk)

    run = actions.run_now(alice, schedule.pk)
    with pytest.raises(Conflict) as refused:
        actions.run_now(alice, schedule.pk)
    finish_runs()
    second = actions.run_now(alice, schedule.pk)

    assert run.cause == Cause.NOW
    assert run.execution is not None
    assert run.execution.question == QUESTION
    assert refused.value.code == "still_running"
    assert second.conversation_id != run.conversation_id
    assert actions.resume(alice, schedule.pk).next_due_at == due


def test_other_words_leave_its_times_and_other_times_count_from_now(alice: Any) -> None:
    schedule = falls_due(made(alice))

    words = actions.change(alice, schedule.pk, hourly(question="Another?"))
    times = actions.change(alice, schedule.pk, hourly(question="Another?", ends_at=timezone.now() + timedelta(days=2)))
    moved = actions.change(alice, schedule.pk, wish())

    assert (words.question, words.next_due_at) == ("Another?", schedule.next_due_at)
    assert times.next_due_at == schedule.next_due_at
    assert moved.next_due_at is not None
    assert moved.next_due_at > timezone.now()
    assert (moved.kind, moved.every_s, moved.cron) == ("cron", None, "0 9 * * *")


def test_what_is_over_goes_on_with_other_times(alice: Any) -> None:
    at = timezone.now() + timedelta(minutes=10)
    schedule = falls_due(made(alice, wish(kind=Kind.ONCE, at=at)))
    start_due(schedule.pk)
    schedule.refresh_from_db()
    over = schedule.state

    for verb in (actions.pause, actions.resume):
        with pytest.raises(Conflict):
            verb(alice, schedule.pk)
    again = actions.change(alice, schedule.pk, wish(kind=Kind.ONCE, at=at))

    assert over is State.OVER
    assert (again.state, again.next_due_at) == (State.ACTIVE, at)


@pytest.mark.parametrize("state", [State.OVER, State.PAUSED], ids=str)
def test_other_words_of_what_came_once_leave_its_past_time_and_its_state(alice: Any, state: State) -> None:
    schedule = made(alice, wish(kind=Kind.ONCE, at=timezone.now() + timedelta(minutes=10)))
    if state is State.PAUSED:
        actions.pause(alice, schedule.pk)
        Schedule.objects.update(at=timezone.now() - timedelta(minutes=1))
    else:
        start_due(falls_due(schedule).pk)
    before = Schedule.objects.get()

    changed = actions.change_some(alice, schedule.pk, check=lambda _: None, title="Done", question="What was new?")

    assert before.state is state
    assert (changed.title, changed.question, changed.state) == ("Done", "What was new?", state)
    assert (changed.at, changed.ended_at, changed.next_due_at) == (before.at, before.ended_at, None)


def test_other_words_of_what_has_ended_leave_it_over_and_a_later_end_sets_it_going(alice: Any) -> None:
    schedule = made(alice, hourly(ends_at=timezone.now() + timedelta(minutes=90)))
    Schedule.objects.update(ends_at=timezone.now() + timedelta(minutes=5))
    start_due(falls_due(schedule).pk)
    over = Schedule.objects.get()

    def changed(**given: Any) -> Schedule:
        return actions.change_some(alice, schedule.pk, check=lambda _: None, **given)

    renamed = changed(title="Done")
    with pytest.raises(Refused):
        changed(ends_at=timezone.now() - timedelta(minutes=1))
    later = changed(ends_at=timezone.now() + timedelta(days=1))

    assert (over.state, renamed.state, renamed.title) == (State.OVER, State.OVER, "Done")
    assert later.state is State.ACTIVE
    assert later.next_due_at is not None


def test_whoever_else_it_is_finds_nothing(alice: Any, charlie: Any) -> None:
    schedule = made(alice)

    for verb in (actions.pause, actions.resume, actions.run_now, actions.delete, actions.own):
        with pytest.raises(NotThere):
            verb(charlie, schedule.pk)
    with pytest.raises(NotThere):
        actions.change(charlie, schedule.pk, wish())

    assert Schedule.objects.get().state is State.ACTIVE


def test_what_is_deleted_is_gone_with_its_history_and_its_conversations_stay(alice: Any) -> None:
    schedule = made(alice)
    actions.run_now(alice, schedule.pk)

    actions.delete(alice, schedule.pk)

    assert not Schedule.objects.exists()
    assert Conversation.objects.count() == Execution.objects.count() == 1


@pytest.mark.spec("B8")
def test_what_was_approved_beforehand_is_kept_only_with_the_rule_that_says_so(alice: Any) -> None:
    schedule = made(alice, wish(on_approval=ApprovalRule.PREAPPROVED, preapproved=TARGET))
    approved = schedule.preapproved

    changed = actions.change(alice, schedule.pk, wish(on_approval=ApprovalRule.DENY, preapproved=TARGET))

    assert approved == TARGET
    assert changed.preapproved == []
