"""Deactivation: by whatever door it happens nothing goes on, and what comes back comes by the person's own hand."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from agents import actions as runs
from agents.models import Execution
from conversations import actions as talk
from conversations.schedules import actions as schedules
from conversations.schedules.kinds import ApprovalRule, Kind
from conversations.schedules.validation import ScheduleInput
from hitl.models import Decision, Request
from hyperagent.accounts import actions, people, service_accounts
from hyperagent.accounts.models import User
from hyperagent.accounts.tasks import stop_the_inactive
from hyperagent.accounts.tokens import user_for_token
from hyperagent.audit.models import AuditEvent
from hyperagent.lib.refusals import NotAllowed
from tests.accounts.test_api import with_token
from tests.accounts.test_service_accounts import a_wish
from tests.faces.runs import make_request, make_run


@pytest.fixture
def root(db: None) -> User:
    return User.objects.create(email="root@example.org", is_staff=True, is_superuser=True)


def by_page(root: User, alice: User, api: Any) -> None:
    page = Client()
    page.force_login(root)
    page.post(f"/people/{alice.pk}/", {"verb": "deactivate"})


def by_api(root: User, alice: User, api: Any) -> None:
    with_token(api, root, "admin").post(f"/api/v1/people/{alice.pk}/deactivate")


def by_checkbox(root: User, alice: User, api: Any) -> None:
    page = Client()
    page.force_login(root)
    page.post(f"/admin/accounts/user/{alice.pk}/change/", {"email": alice.email, "display_name": "Alice"})


def by_action(root: User, alice: User, api: Any) -> None:
    page = Client()
    page.force_login(root)
    page.post("/admin/accounts/user/", {"action": "deactivate", "_selected_action": [str(alice.pk)]})


def by_command(root: User, alice: User, api: Any) -> None:
    call_command("deactivate", "ALICE@example.org")


def schedule_of(user: User) -> Any:
    rule = next(iter(ApprovalRule))
    wish = ScheduleInput(question="What is new?", on_approval=rule, kind=Kind.EVERY, time_zone="UTC", every_s=86_400)
    return schedules.create(user, wish)


@pytest.mark.slow
@pytest.mark.spec("F22", "B21")
@pytest.mark.parametrize("door", [by_page, by_api, by_checkbox, by_action, by_command])
def test_by_whatever_door_somebody_is_deactivated_all_that_is_theirs_stops(
    door: Callable[..., None], root: User, alice: Any, bob: Any, api: Any, django_capture_on_commit_callbacks: Any
) -> None:
    going, waiting, others = make_run(alice), make_run(alice, status="awaiting_user"), make_run(bob)
    asked = make_request(waiting)
    schedule = schedule_of(alice)
    _, raw = actions.make_token(alice)
    browser = Client()
    browser.force_login(alice)

    with django_capture_on_commit_callbacks(execute=True):
        door(root, alice, api)

    for run in (going, waiting, others):
        run.refresh_from_db()
    asked.refresh_from_db()
    schedule.refresh_from_db()
    assert not User.objects.get(pk=alice.pk).is_active
    assert None not in (going.cancel_requested_at, waiting.cancel_requested_at, waiting.woken_at)
    assert others.cancel_requested_at is None
    assert (asked.status, Decision.objects.get().happening) == ("cancelled", "cancelled")
    assert (schedule.next_due_at, schedule.paused_why) == (None, "owner_inactive")
    assert user_for_token(raw) is None
    assert browser.get("/settings/").status_code == 302
    told = AuditEvent.objects.get(kind="user.deactivated")
    assert (told.target_id, told.actor_id) == (str(alice.pk), None if door is by_command else root.pk)


@pytest.mark.spec("F22")
def test_nothing_begins_in_the_name_of_who_is_deactivated_and_what_slipped_through_is_swept(
    alice: Any, bob: Any
) -> None:
    program = service_accounts.make(bob, a_wish(alice))
    conversation = talk.create(alice)
    over = make_run(alice, status="failed", ended_at=timezone.now())
    live = make_run(alice)
    User.objects.filter(pk=alice.pk).update(is_active=False)

    for begin in (
        lambda: talk.say(alice, conversation.id, talk.Question("Go on")),
        lambda: runs.retry(over.pk, by=alice),
        lambda: runs.start(user=alice, conversation_id=None, question="Sum up", pipeline="summary"),
    ):
        with pytest.raises(NotAllowed, match="deactivated"):
            begin()
    stop_the_inactive()

    live.refresh_from_db()
    program.refresh_from_db()
    assert live.cancel_requested_at is not None
    assert Execution.objects.count() == 2
    assert not program.is_active


def test_activation_brings_back_the_way_in_and_nothing_that_was_stopped(
    root: User, alice: Any, django_capture_on_commit_callbacks: Any
) -> None:
    schedule = schedule_of(alice)
    _, raw = actions.make_token(alice)
    with django_capture_on_commit_callbacks(execute=True):
        people.deactivate(root, alice.pk)
        people.activate(root, alice.pk)

    schedule.refresh_from_db()
    paused = schedule.paused_why
    schedules.resume(User.objects.get(pk=alice.pk), schedule.pk)
    browser = Client()
    browser.force_login(User.objects.get(pk=alice.pk))
    schedule.refresh_from_db()

    assert paused == "owner_inactive"
    assert schedule.next_due_at is not None
    assert user_for_token(raw) is None
    assert browser.get("/settings/").status_code == 200
    assert AuditEvent.objects.filter(kind="user.activated", actor_id=root.pk).exists()


@pytest.mark.slow
def test_the_admin_page_keeps_the_last_administrator_and_oneself(root: User, bob: Any) -> None:
    page = Client()
    page.force_login(root)
    address = f"/admin/accounts/user/{root.pk}/change/"
    typed = {"email": root.email, "display_name": "Root", "is_staff": "on", "is_superuser": "on"}

    himself = page.post(address, typed)
    people.deactivate(root, bob.pk)
    last = page.post(address, {"email": root.email, "display_name": "Root", "is_active": "on", "is_superuser": "on"})
    with_all_rights = page.post(
        address, {"email": root.email, "display_name": "Root", "is_active": "on", "is_staff": "on"}
    )
    by_action = page.post(
        "/admin/accounts/user/", {"action": "deactivate", "_selected_action": [str(root.pk)]}, follow=True
    )
    with pytest.raises(CommandError, match="last administrator"):
        call_command("deactivate", root.email)

    assert "cannot deactivate yourself" in himself.content.decode()
    assert "last administrator" in last.content.decode()
    assert "last administrator" in with_all_rights.content.decode()
    assert "cannot deactivate yourself" in by_action.content.decode()
    assert re.search("root@example.org", by_action.content.decode())
    assert User.objects.get(pk=root.pk).is_active
    assert User.objects.get(pk=root.pk).is_staff
    assert User.objects.get(pk=root.pk).is_superuser


def test_two_administrators_who_deactivate_each_other_leave_one(transactional_db: None, together: Any) -> None:
    both = [User.objects.create(email=f"{name}@example.org", is_staff=True) for name in ("one", "two")]
    turns = iter([(both[0], both[1]), (both[1], both[0])])

    def one() -> str:
        by, whom = next(turns)
        try:
            people.deactivate(by, whom.pk)
        except NotAllowed as refused:
            return refused.code
        return ""

    assert sorted(together(one, times=2)) == ["", "not_yours"]
    assert User.objects.filter(is_staff=True, is_active=True).count() == 1
    assert Request.objects.count() == 0
