"""Time: what ends, who is reminded, and that each is done once, to the second, by the database's clock alone."""

import threading
from collections import Counter
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group
from django.db import connections
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone

from agents.models import Execution
from agents.runtime.context import AgentContext
from hitl import actions, sweeping
from hitl.answers import Response
from hitl.deadlines import Deadlines
from hitl.kinds import SNOOZED, RequestKind, RequestStatus, Via
from hitl.models import Decision, Request
from hitl.reading import deciders_of
from hitl.shapes import request_shape
from hitl.tasks import end_overdue
from hyperagent.accounts import people
from hyperagent.lib.times import iso
from hyperagent.notices import actions as webhooks
from hyperagent.notices.models import Delivery, Endpoint, Mail
from hyperagent.notices.tasks import sweep_deliveries, sweep_mails
from tests.hitl.asking import ROLE, ask
from tests.notices.receiver import Receiver
from tests.runtime.conftest import make_runner
from tests.runtime.driving import Runners, ended, events, start, until

__all__ = ["make_runner"]
NO_MODEL = "http://127.0.0.1:9"
DAY_S = 86_400


# ── when (pure) ──


@pytest.mark.spec("S111", "S118", "B6")
@pytest.mark.parametrize(
    ("kind", "remind_s"), [("approval", 120), ("decision", 300), ("input", 300), ("plan", 300), ("budget", 300)]
)
def test_the_durable_policy_reminds_soon_and_ends_after_days_and_the_interactive_one_ends_soon(
    kind: str, remind_s: int
) -> None:
    durable = Deadlines(expires_s=3 * DAY_S)
    interactive = Deadlines(expires_s=3 * DAY_S, interactive=True)

    assert (durable.remind_s(kind), durable.timeout_s(kind)) == (remind_s, 3 * DAY_S)
    assert (interactive.remind_s(kind), interactive.timeout_s(kind)) == (None, remind_s)


@pytest.mark.spec("B6")
@pytest.mark.parametrize("interactive", [True, False])
def test_what_is_open_for_long_is_reminded_of_an_hour_before_its_end_if_not_before(interactive: bool) -> None:
    def remind_s(life_s: float) -> float | None:
        return Deadlines(expires_s=life_s, interactive=interactive, approval_s=life_s).remind_s("approval")

    assert remind_s(6 * 3600) is None
    assert remind_s(6 * 3600 + 1) == 5 * 3600 + 1
    assert remind_s(DAY_S) == DAY_S - 3600


@pytest.mark.parametrize("kind", list(RequestKind))
def test_nobody_is_reminded_of_what_is_over_by_then(kind: str) -> None:
    assert Deadlines(expires_s=60).remind_s(kind) is None
    assert Deadlines().timeout_s(kind) is None


# ── once, however many look ──


@pytest.mark.slow
@pytest.mark.spec("S126", "S115")
@pytest.mark.django_db(transaction=True)
def test_a_thousand_requests_end_in_one_go_each_once_though_three_sweep_at_the_same_time(alice: Any) -> None:
    now = timezone.now()
    runs = Execution.objects.bulk_create(
        Execution(user=alice, status="awaiting_user", question="?", input={"version": 1}) for _ in range(1_000)
    )
    Request.objects.bulk_create(
        Request(
            execution_id=run.id,
            agent_id=run.id,
            agent_name="mail",
            user=alice,
            kind="approval",
            question={},
            announced_at=now,
            # Every tenth has time left.
            expires_at=now + timedelta(seconds=3600 if number % 10 == 0 else -1),
        )
        for number, run in enumerate(runs)
    )
    together, counts = threading.Barrier(3), []

    def sweep() -> None:
        together.wait(10)
        try:
            counts.append(sweeping.expire_stale_hitl_requests())
        finally:
            connections.close_all()

    threads = [threading.Thread(target=sweep) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert sum(counts) == 900
    assert Counter(Request.objects.values_list("status", flat=True)) == {"timed_out": 900, "pending": 100}
    assert Decision.objects.filter(happening="timed_out", actor=None, via="clock").count() == 900
    assert Decision.objects.values("request").distinct().count() == 900
    assert Execution.objects.filter(woken_at__isnull=False).count() == 900


@pytest.mark.spec("S126")
@pytest.mark.django_db
def test_a_restart_by_itself_expires_nothing(alice: Any) -> None:
    waits, for_ever = ask(alice, expires_at=timezone.now() + timedelta(seconds=60)), ask(alice)
    over = ask(alice, expires_at=timezone.now() - timedelta(days=2))

    assert (sweeping.expire_stale_hitl_requests(), sweeping.expire_stale_hitl_requests()) == (1, 0)

    assert dict(Request.objects.values_list("pk", "status")) == {
        waits.pk: "pending",
        for_ever.pk: "pending",
        over.pk: "timed_out",
    }


# ── who is told ──


def mails() -> list[tuple[str, str, str]]:
    return sorted(Mail.objects.values_list("user__email", "kind", "subject_id"))


def reviewer(user: Any) -> Any:
    user.groups.add(Group.objects.get_or_create(name="reviewer")[0])
    return user


@pytest.mark.spec("B6", "B22")
@pytest.mark.django_db
def test_approvers_hear_of_a_new_request_once_and_who_asked_does_not(alice: Any, bob: Any, charlie: Any) -> None:
    reviewer(alice)
    reviewer(bob)
    asked, own = ask(alice, approvers=ROLE), ask(alice)
    ask(alice, approvers=ROLE, status="denied")

    assert sweeping.sweep() == 2
    assert sweeping.sweep() == 0

    assert mails() == [("bob@example.org", "request_waiting", str(asked.pk))]
    assert Request.objects.filter(pk__in=[asked.pk, own.pk], announced_at__isnull=False).count() == 2
    mail = Mail.objects.get()
    assert (mail.path, mail.title) == (f"/inbox/{asked.pk}", "Send this mail?")
    assert ["Tool", "send_email"] in mail.facts


def no_account_any_more(alice: Any, group: Group) -> None:
    people.deactivate(None, alice.pk)


def no_member_any_more(alice: Any, group: Group) -> None:
    people.set_groups(None, alice.pk, [])


def no_group_any_more(alice: Any, group: Group) -> None:
    group.delete()


@pytest.mark.parametrize("gone", [no_account_any_more, no_member_any_more, no_group_any_more])
def test_what_nobody_can_decide_any_more_is_for_administrators(alice: Any, bob: Any, charlie: Any, gone: Any) -> None:
    legal, law = (Group.objects.create(name=name) for name in ("Legal", "Law"))
    alice.groups.add(legal)
    bob.groups.add(law)
    asked = [
        ask(charlie, approvers={"kind": "group", "name": name, "user_ids": [], "different_person": True})
        for name in ("Legal", "Law")
    ]
    by_name = ask(
        charlie, approvers={"kind": "named", "name": "", "user_ids": [str(alice.pk)], "different_person": True}
    )
    sweeping.sweep()

    gone(alice, legal)
    end_overdue()
    end_overdue()

    stays = {bob.pk} if gone is no_account_any_more else {alice.pk}
    assert deciders_of([asked[0].pk, asked[1].pk, by_name.pk]) == {
        asked[0].pk: {bob.pk},
        asked[1].pk: {bob.pk},
        by_name.pk: stays,
    }
    assert Request.objects.get(pk=asked[1].pk).approver_name == "Law"
    assert mails().count(("bob@example.org", "request_waiting", str(asked[0].pk))) == 1


@pytest.mark.spec("B6", "S111")
@pytest.mark.django_db
def test_people_are_reminded_once_and_again_only_of_what_they_put_off(alice: Any) -> None:
    now = timezone.now()
    asked = ask(alice, announced_at=now, remind_at=now, expires_at=now + timedelta(days=3))
    ask(alice, announced_at=now, remind_at=now + timedelta(hours=1))
    ask(alice, announced_at=now, remind_at=now - timedelta(hours=2), expires_at=now)

    sweeping.sweep()
    sweeping.sweep()
    actions.respond(alice, asked.pk, Response(SNOOZED), via=Via.API)
    sweeping.sweep()
    asleep = mails()
    Request.objects.filter(pk=asked.pk).update(remind_at=now, snoozed_until=now)
    sweeping.sweep()
    sweeping.sweep()

    assert asleep == [("alice@example.org", "request_reminder", str(asked.pk))]
    assert [mail for mail in mails() if mail not in asleep] == [
        ("alice@example.org", "request_reminder", f"{asked.pk}:2")
    ]
    happened = asked.decisions.order_by("id").values_list("happening", "via")
    assert list(happened) == [("reminded", "clock"), ("snoozed", "api"), ("reminded", "clock")]
    asked.refresh_from_db()
    assert (asked.status, asked.decided_by) == ("pending", None)


def heard() -> list[tuple[str, str]]:
    """What the installation's endpoint is to be told: the event and its request."""
    told = Delivery.objects.order_by("created_at")
    return [(one.type, one.payload["data"]["request_id"]) for one in told]


@pytest.fixture
def listening(db: None) -> None:
    Endpoint.objects.create(url="https://example.org/", events=["approval.expiring"], secret_sealed="")


def move(request: Request, *, hours: float) -> None:
    """So much later."""
    by = timedelta(hours=hours)
    times = {name: F(name) - by for name in ("created_at", "remind_at", "expires_at", "snoozed_until")}
    Request.objects.filter(pk=request.pk).update(**times)


def reminders(request: Request) -> int:
    return request.decisions.filter(happening="reminded").count()


@pytest.mark.spec("B4", "B6")
@pytest.mark.django_db
@pytest.mark.parametrize("meanwhile", ["lost the role", "decided", "timed out"])
def test_a_mail_that_waited_for_the_mail_server_does_not_go_to_who_has_nothing_to_decide_any_more(
    alice: Any, bob: Any, mailoutbox: list[Any], meanwhile: str
) -> None:
    reviewer(bob)
    kept, lost = ask(alice, approvers=ROLE), ask(alice, approvers=ROLE)
    Request.objects.filter(pk__in=[kept.pk, lost.pk]).update(remind_at=Now())
    sweeping.sweep()
    if meanwhile == "lost the role":
        Request.objects.filter(pk=kept.pk).update(approver_kind="named", approver_ids=[bob.pk])
        bob.groups.clear()
    elif meanwhile == "decided":
        actions.respond(bob, lost.pk, Response(RequestStatus.DENIED), via=Via.PAGE)
    else:
        Request.objects.filter(pk=lost.pk).update(expires_at=Now())
        sweeping.sweep()

    sweep_mails()

    unsent = Mail.objects.filter(sent_at=None).values_list("subject_id", "last_error")
    assert sorted(mail.subject.partition(":")[0] for mail in mailoutbox) == [
        "A request still waits for an answer",
        "A request waits for your decision",
    ]
    assert set(unsent) == {(str(lost.pk), "Nobody waits for it any more.")}


@pytest.mark.spec("B6", "B22")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("meanwhile", ["lost the role", "decided"])
def test_a_webhook_that_waited_for_its_receiver_is_not_told_of_what_its_owner_may_not_see_any_more(
    alice: Any, bob: Any, settings: Any, meanwhile: str
) -> None:
    settings.WEBHOOK_ALLOW_PRIVATE = True
    reviewer(bob)
    receiver = Receiver()
    for whose, name in ((alice, "alice"), (bob, "bob"), (None, "all")):
        webhooks.add_endpoint(whose, url=f"{receiver.url}/{name}", events=["approval.requested"])
    asked = ask(alice, approvers=ROLE)
    sweeping.sweep()
    if meanwhile == "lost the role":
        bob.groups.clear()
    else:
        actions.respond(bob, asked.pk, Response(RequestStatus.DENIED), via=Via.PAGE)

    sweep_deliveries()
    receiver.stop()

    given_up = Delivery.objects.filter(status="given_up").values_list("endpoint__user", "last_error")
    lost = [(bob.pk, "What it is about is not shown to this webhook's owner any more.")]
    assert list(given_up) == (lost if meanwhile == "lost the role" else [])
    told = {got.path.rpartition("/")[2] for got in receiver.got}
    assert told == {"alice", "bob", "all"} - ({"bob"} if given_up else set())


@pytest.mark.spec("B6", "B22")
@pytest.mark.usefixtures("listening")
def test_what_is_open_for_long_is_reminded_of_soon_and_once_more_before_its_end_when_programs_hear_of_it(
    alice: Any,
) -> None:
    now = timezone.now()
    asked = ask(alice, announced_at=now, remind_at=now, expires_at=now + timedelta(days=3))

    sweeping.sweep()
    asked.refresh_from_db()
    assert (reminders(asked), heard()) == (1, [])
    assert (asked.remind_at, asked.reminded_at) == (now + timedelta(days=3, hours=-1), None)
    for hours in (24, 24, 22.9):
        move(asked, hours=hours)
        assert sweeping.sweep() == 0
    move(asked, hours=0.2)
    assert (sweeping.sweep(), sweeping.sweep()) == (1, 0)

    assert reminders(asked) == 2
    assert heard() == [("approval.expiring", str(asked.pk))]
    assert [subject for _, kind, subject in mails() if kind == "request_reminder"] == [str(asked.pk), f"{asked.pk}:2"]
    move(asked, hours=1)
    sweeping.sweep()
    asked.refresh_from_db()
    assert (asked.status, reminders(asked)) == ("timed_out", 2)


@pytest.mark.spec("B6", "B22")
@pytest.mark.usefixtures("listening")
@pytest.mark.parametrize("life", [timedelta(hours=6), timedelta(minutes=20)])
def test_of_what_is_not_open_for_long_programs_hear_in_the_last_tenth_of_its_time(alice: Any, life: timedelta) -> None:
    now = timezone.now()
    remind_at = now + timedelta(seconds=120)
    asked = ask(alice, announced_at=now, created_at=now, remind_at=remind_at, expires_at=now + life)

    move(asked, hours=121 / 3600)
    assert (sweeping.sweep(), sweeping.sweep()) == (1, 0)
    assert (reminders(asked), heard()) == (1, [])
    asked.refresh_from_db()
    assert asked.expires_at is not None
    assert asked.remind_at == asked.expires_at - life / 10
    move(asked, hours=(0.89 * life.total_seconds() - 121) / 3600)
    assert sweeping.sweep() == 0
    move(asked, hours=0.02 * life.total_seconds() / 3600)
    assert (sweeping.sweep(), sweeping.sweep()) == (1, 0)

    assert (reminders(asked), heard()) == (2, [("approval.expiring", str(asked.pk))])


@pytest.mark.spec("B6", "B22")
@pytest.mark.usefixtures("listening")
@pytest.mark.parametrize("life", [timedelta(seconds=130), None])
def test_what_ends_soon_after_its_reminder_or_never_is_reminded_of_once_and_programs_hear_of_it(
    alice: Any, life: timedelta | None
) -> None:
    now = timezone.now()
    ends = None if life is None else now + life
    asked = ask(alice, announced_at=now, created_at=now, remind_at=now + timedelta(seconds=120), expires_at=ends)

    move(asked, hours=121 / 3600)
    assert (sweeping.sweep(), sweeping.sweep()) == (1, 0)

    assert (reminders(asked), heard()) == (1, [("approval.expiring", str(asked.pk))])


@pytest.mark.spec("B6", "S119")
@pytest.mark.usefixtures("listening")
@pytest.mark.parametrize(("until_h", "times"), [(10, 2), (71.5, 1)])
def test_what_was_put_off_is_reminded_of_at_its_time_and_before_its_end_if_that_is_later(
    alice: Any, until_h: float, times: int
) -> None:
    now = timezone.now()
    asked = ask(alice, announced_at=now, remind_at=now, expires_at=now + timedelta(days=3))
    sweeping.sweep()
    until = now + timedelta(hours=until_h)
    actions.respond(alice, asked.pk, Response(SNOOZED, snooze_until=until), via=Via.API)

    asked.refresh_from_db()
    assert asked.remind_at == until
    move(asked, hours=until_h)
    sweeping.sweep()
    move(asked, hours=71.9 - until_h)
    sweeping.sweep()

    assert reminders(asked) == 1 + times
    assert len(heard()) == 1


@pytest.mark.slow
@pytest.mark.spec("S115")
@pytest.mark.django_db(transaction=True)
def test_nobody_is_told_twice_though_three_look_at_the_same_time(alice: Any, bob: Any) -> None:
    reviewer(bob)
    now = timezone.now()
    for _ in range(20):
        ask(alice, approvers=ROLE)
        ask(alice, announced_at=now, remind_at=now)
    together = threading.Barrier(3)
    counts: list[int] = []

    def sweep() -> None:
        together.wait(10)
        try:
            counts.append(sweeping.sweep())
        finally:
            connections.close_all()

    threads = [threading.Thread(target=sweep) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert sum(counts) == 40
    told = Counter(Mail.objects.values_list("user__email", "kind"))
    assert told == {("bob@example.org", "request_waiting"): 20, ("alice@example.org", "request_reminder"): 20}
    assert Decision.objects.filter(happening="reminded").count() == 20


@pytest.mark.spec("B6", "S123")
@pytest.mark.django_db
def test_who_wants_to_know_is_told_once_that_nobody_answered(alice: Any, bob: Any) -> None:
    from hyperagent.notices.actions import set_preferences
    from hyperagent.notices.kinds import MailKind

    set_preferences(alice, {MailKind.REQUEST_TIMED_OUT: True})
    set_preferences(reviewer(bob), {MailKind.REQUEST_TIMED_OUT: True})
    over = ask(alice, approvers=ROLE, announced_at=timezone.now(), expires_at=timezone.now() - timedelta(seconds=1))
    ask(alice, status="denied")

    assert sweeping.sweep() == 2
    assert sweeping.sweep() == 0

    assert mails() == [("alice@example.org", "request_timed_out", str(over.pk))]


# ── runners keep it ──


async def asks(context: AgentContext, turn: dict[str, Any]) -> dict[str, Any]:
    answer = await context.ask("approval", {"question": "May I?", "tool_names": ["send_email"]})
    return {"answer": f"{answer['status']} by {answer['decided_by']}", "sources": []}


@sync_to_async
def the_request(id_: UUID) -> Request | None:
    return Request.objects.filter(execution_id=id_).first()


@sync_to_async
def history(id_: UUID) -> list[str]:
    rows = Decision.objects.filter(request__execution_id=id_).order_by("id")
    return list(rows.values_list("happening", flat=True))


@pytest.mark.slow
@pytest.mark.spec("S111", "S118", "S121", "S123", "B6")
async def test_under_the_interactive_policy_a_runner_ends_what_nobody_answers_and_the_run_goes_on(
    alice: Any, make_runner: Runners
) -> None:
    await make_runner(NO_MODEL, extra={"asks": asks}, deadlines=Deadlines(interactive=True, approval_s=1))
    id_ = await start(alice, "?", pipeline="asks")

    run = await ended(id_, timeout_s=30)

    request = await the_request(id_)
    assert request is not None
    assert (run.answer, request.status, request.decided_by_id) == ("timed_out by None", "timed_out", None)
    assert request.expires_at == request.created_at + timedelta(seconds=1)
    assert request.responded_at is not None
    assert request.responded_at >= request.expires_at
    told = request_shape(request)
    assert (told["responded_at"], told["ended_at"]) == (None, iso(request.responded_at))
    types = [event["type"] for event in await events(id_)]
    assert ("hitl_timeout" in types, "hitl_denied" in types) == (True, False)
    assert await history(id_) == ["timed_out"]


@pytest.mark.slow
@pytest.mark.spec("S111", "B6")
async def test_under_the_durable_policy_a_runner_reminds_and_the_run_waits_on(alice: Any, make_runner: Runners) -> None:
    await make_runner(NO_MODEL, extra={"asks": asks}, deadlines=Deadlines(expires_s=3 * DAY_S, approval_s=1))
    id_ = await start(alice, "?", pipeline="asks")

    async def reminded() -> Request | None:
        return await the_request(id_) if await history(id_) else None

    request = await until(reminded, timeout_s=30)

    assert (request.status, request.expires_at - request.created_at) == ("pending", timedelta(days=3))
    assert request.remind_at == request.expires_at - timedelta(hours=1), "once more before its end"
    assert await history(id_) == ["reminded"]
    assert await sync_to_async(mails)() == [("alice@example.org", "request_reminder", str(request.pk))]


@pytest.mark.spec("S115", "S126")
async def test_a_runner_that_starts_ends_what_was_over_meanwhile_and_nothing_else(
    alice: Any, make_runner: Runners
) -> None:
    @sync_to_async
    def prepare() -> tuple[UUID, UUID, UUID]:
        now = timezone.now()
        over, waits = ask(alice, expires_at=now - timedelta(hours=5)), ask(alice, expires_at=now + timedelta(days=1))
        orphan = ask(alice)
        Execution.objects.filter(id=orphan.execution_id).update(status="cancelled", ended_at=now)
        Execution.objects.exclude(id=orphan.execution_id).update(pipeline="asks")
        return over.pk, waits.pk, orphan.pk

    over, waits, orphan = await prepare()
    await make_runner(NO_MODEL, extra={"asks": asks})

    @sync_to_async
    def statuses() -> dict[UUID, str]:
        return dict(Request.objects.filter(pk__in=[over, waits, orphan]).values_list("pk", "status"))

    async def both_ended() -> bool:
        found = await statuses()
        return "pending" not in (found[over], found[orphan])

    await until(both_ended, timeout_s=30)
    assert await statuses() == {over: "timed_out", waits: "pending", orphan: "expired"}


@pytest.mark.spec("S117")
async def test_what_a_run_leaves_open_or_takes_back_has_its_row(alice: Any, make_runner: Runners) -> None:
    from agents import actions as runs

    await make_runner(NO_MODEL, extra={"asks": asks})
    id_ = await start(alice, "?", pipeline="asks")
    await until(lambda: the_request(id_))

    await sync_to_async(runs.cancel)(id_, by=alice)
    await ended(id_)

    request = await the_request(id_)
    assert request is not None
    assert (request.status, request.decided_via, await history(id_)) == ("expired", "run", ["expired"])
