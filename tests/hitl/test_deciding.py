"""One place decides: what it takes, what it refuses, and what it leaves behind."""

import threading
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection, connections, transaction
from django.utils import timezone

from agents.models import Execution
from hitl import actions
from hitl.answers import Response
from hitl.ending import end_orphaned, end_overdue
from hitl.kinds import SNOOZED, Via
from hitl.models import Decision, Request, RequestStatus
from hitl.reading import pending_by_user
from hyperagent.lib.hashes import arguments_hash
from hyperagent.lib.refusals import Conflict, NotAllowed, NotThere, Refused
from tests.hitl.asking import MAIL, ROLE, ask, mail_question

APPROVE, DENY = Response(RequestStatus.APPROVED), Response(RequestStatus.DENIED)
Say = Callable[..., Request]


def say(user: Any, request: Request, response: Response = APPROVE) -> Request:
    return actions.respond(user, request.pk, response, via=Via.API)


def history(request: Request) -> list[str]:
    return [row.happening for row in request.decisions.order_by("id")]


# ── what an approval is of ──


@pytest.mark.spec("B5", "S119")
@pytest.mark.threat("T18")
def test_an_approval_names_the_hash_of_what_was_shown_and_who_gave_it_by_which_door(alice: Any) -> None:
    asked = ask(alice)

    done = say(alice, asked, Response(RequestStatus.APPROVED, arguments_hash=asked.arguments_hash))

    assert done.answer == {"arguments_hash": arguments_hash("send_email", MAIL)}
    assert (done.status, done.decided_by, done.decided_via, done.edited_arguments) == ("approved", alice, "api", None)
    (row,) = asked.decisions.all()
    assert (row.happening, row.actor, row.actor_name, row.via) == ("approved", alice, "alice@example.org", "api")
    assert Execution.objects.get(id=asked.execution_id).woken_at is not None


@pytest.mark.spec("B5", "S117", "S133")
def test_edited_arguments_stand_beside_the_original_with_what_was_changed(alice: Any) -> None:
    asked = ask(alice)
    edited = {
        "to": ["eve@corp.com"],
        "subject": "Hello",
        "body": "Hi",
        "options": {"copies": 2},
        "reply_to": "me@x.org",
    }

    done = say(alice, asked, Response(RequestStatus.APPROVED, instructions="Two", edited_arguments=edited))

    new_hash = arguments_hash("send_email", edited)
    assert done.answer == {"arguments": edited, "arguments_hash": new_hash, "instructions": "Two"}
    assert done.edited_arguments == edited
    assert done.question["tool_calls"][0]["arguments"] == MAIL
    assert done.arguments_hash == arguments_hash("send_email", MAIL)
    (row,) = asked.decisions.all()
    assert row.details["changes"] == [
        {"path": "to", "before": ["bob@corp.com"], "after": ["eve@corp.com"]},
        {"path": "options.copies", "before": 1, "after": 2},
        {"path": "reply_to", "after": "me@x.org"},
    ]
    assert (row.note, row.details["arguments_hash"]) == ("Two", new_hash)


def test_arguments_that_come_back_as_they_were_are_no_edit(alice: Any) -> None:
    asked = ask(alice)

    done = say(alice, asked, Response(RequestStatus.APPROVED, edited_arguments={**MAIL, "options": {"copies": 1.0}}))

    assert (done.edited_arguments, done.answer) == (None, {"arguments_hash": asked.arguments_hash})
    assert say(alice, asked).status == "approved", "and so the same as an approval without them"


@pytest.mark.parametrize(
    ("edited", "fields"),
    [
        ({"to": ["x@y.org"], "subject": "s"}, {"body"}),
        ({**MAIL, "to": "x@y.org"}, {"to"}),
        ({**MAIL, "to": []}, {"to"}),
        ({**MAIL, "to": ["a@b.org", 7]}, {"to.1"}),
        ({**MAIL, "bcc": ["me@x.org"]}, {"bcc"}),
        ({**MAIL, "subject": "x" * 300}, {"subject"}),
        ({**MAIL, "reply_to": 4}, {"reply_to"}),
        ({**MAIL, "options": {"copies": 9}}, {"options.copies"}),
        ({**MAIL, "options": {"copies": 10**30}}, {""}),
        ({**MAIL, "options": {"paper": 1}}, {"options.copies", "options.paper"}),
        ({**MAIL, "body": "x" * 200_001}, {""}),
        ({"to": 1, "subject": 2, "body": None}, {"to", "subject", "body"}),
        ({**MAIL, "options": {"copies": float("nan")}}, {""}),
        ({}, {"to", "subject", "body"}),
    ],
)
def test_arguments_that_the_tool_would_not_take_are_refused_place_by_place_and_the_request_stays_open(
    alice: Any, edited: dict[str, Any], fields: set[str]
) -> None:
    asked = ask(alice)

    with pytest.raises(Refused) as refused:
        say(alice, asked, Response(RequestStatus.APPROVED, edited_arguments=edited))

    assert set(refused.value.fields) == {f"edited_arguments.{field}".rstrip(".") for field in fields}
    assert len(str(refused.value.as_error())) < 2_000
    asked.refresh_from_db()
    assert (asked.status, history(asked)) == ("pending", [])


def test_deeply_nested_arguments_are_refused_and_not_walked_into(alice: Any) -> None:
    nested: Any = 1
    for _ in range(200):
        nested = [nested]

    with pytest.raises(Refused, match="deep"):
        say(alice, ask(alice), Response(RequestStatus.APPROVED, edited_arguments={**MAIL, "body": nested}))


@pytest.mark.parametrize("kind", ["decision", "input", "plan", "budget"])
def test_only_an_approval_that_is_given_takes_other_arguments_or_a_rule(alice: Any, kind: str) -> None:
    with pytest.raises(Refused) as denied:
        say(alice, ask(alice), Response(RequestStatus.DENIED, edited_arguments=MAIL))
    with pytest.raises(Refused) as other:
        say(alice, ask(alice, kind), Response(RequestStatus.DENIED, edited_arguments=MAIL))

    assert set(denied.value.fields) == set(other.value.fields) == {"edited_arguments"}


@pytest.mark.spec("S119")
@pytest.mark.parametrize("kind", ["approval", "plan"])
@pytest.mark.parametrize("decision", [RequestStatus.APPROVED, RequestStatus.DENIED])
def test_words_that_nobody_would_read_are_refused_with_the_field_that_is_read(
    alice: Any, kind: str, decision: RequestStatus
) -> None:
    asked = ask(alice, kind)

    with pytest.raises(Refused) as refused:
        say(alice, asked, Response(decision, text="only if Carol agrees"))

    assert set(refused.value.fields) == {"text"}
    assert "'instructions'" in refused.value.fields["text"][0]
    assert history(asked) == []
    assert say(alice, asked, Response(decision, text=" ")).status == decision, "who says nothing says nothing wrong"


@pytest.mark.spec("S119", "B2")
def test_a_budgets_answer_takes_no_instructions_and_its_no_a_reason(alice: Any) -> None:
    question = {
        "question": "More?",
        "options": ["raise", "finish", "stop"],
        "unit": "tokens",
        "used": 10,
        "suggested": 20,
    }
    asked = ask(alice, "budget", question=question)

    with pytest.raises(Refused) as refused:
        say(alice, asked, Response(RequestStatus.ANSWERED, choice="raise", instructions="and be brief"))

    assert set(refused.value.fields) == {"instructions"}
    assert history(asked) == []
    assert say(alice, asked, Response(RequestStatus.DENIED, instructions="Too dear")).status == "denied"


def test_a_request_about_an_agent_or_about_two_calls_takes_no_other_arguments(alice: Any) -> None:
    two = mail_question()
    two["tool_calls"] *= 2

    for question in ({**mail_question(), "tool_calls": [], "stage": "agent"}, two):
        with pytest.raises(Refused, match="one call"):
            say(alice, ask(alice, question=question), Response(RequestStatus.APPROVED, edited_arguments=MAIL))


@pytest.mark.spec("B5")
@pytest.mark.threat("T18")
def test_who_was_shown_something_else_approves_nothing(alice: Any) -> None:
    asked = ask(alice)

    with pytest.raises(Conflict) as refused:
        say(alice, asked, Response(RequestStatus.APPROVED, arguments_hash="0" * 64))

    assert (refused.value.code, refused.value.more["request"]["status"]) == ("arguments_changed", "pending")
    assert history(asked) == []


@pytest.mark.spec("B5")
@pytest.mark.threat("T18")
@pytest.mark.parametrize(
    "response", [APPROVE, Response(RequestStatus.APPROVED, edited_arguments={**MAIL, "body": "Hey"})]
)
def test_a_row_whose_arguments_were_changed_in_the_database_cannot_be_approved_and_the_try_is_kept(
    alice: Any, response: Response
) -> None:
    asked = ask(alice)
    asked.question["tool_calls"][0]["arguments"]["to"] = ["eve@evil.example"]
    asked.save()

    with pytest.raises(Conflict) as refused:
        say(alice, asked, response)

    assert refused.value.code == "arguments_changed"
    assert history(asked) == ["refused"]
    assert Execution.objects.get(id=asked.execution_id).woken_at is None
    assert say(alice, asked, DENY).status == "denied", "to say no is always safe"


@pytest.mark.threat("T18")
def test_a_row_whose_hash_was_changed_with_its_arguments_is_found_too(alice: Any) -> None:
    asked = ask(alice)
    call = asked.question["tool_calls"][0]
    call["arguments"]["to"] = ["eve@evil.example"]
    call["arguments_hash"] = arguments_hash("send_email", call["arguments"])
    asked.save()

    with pytest.raises(Conflict):
        say(alice, asked)

    assert history(asked) == ["refused"]


# ── who may ──


def reviewer(user: Any, *, group: str = "reviewer") -> Any:
    user.groups.add(Group.objects.get_or_create(name=group)[0])
    return user


def named(*users: Any) -> dict[str, Any]:
    return {"kind": "named", "name": "", "user_ids": [str(user.pk) for user in users], "different_person": False}


@pytest.mark.slow
@pytest.mark.spec("B4")
@pytest.mark.parametrize(
    ("approvers", "may"),
    [
        ({"kind": "self"}, {"alice"}),
        ({"kind": "self", "different_person": True}, set()),
        ({"kind": "role", "name": "reviewer"}, {"rita", "alice"}),
        ({"kind": "role", "name": "reviewer", "different_person": True}, {"rita"}),
        ({"kind": "role", "name": "administrator"}, {"bob"}),
        ({"kind": "role", "name": "legal"}, set()),
        ({"kind": "role", "name": "user"}, set()),
        ({"kind": "group", "name": "legal"}, {"lara", "charlie"}),
        ({"kind": "group", "name": "administrator"}, set()),
        ({"kind": "named", "user_ids": ["lara", "alice"]}, {"lara", "alice"}),
        ({"kind": "named", "user_ids": ["lara", "alice"], "different_person": True}, {"lara"}),
        ({"kind": "named", "user_ids": ["gone"]}, set()),
    ],
)
def test_who_approves_is_one_rule_for_deciding_counting_showing_and_telling(
    alice: Any, bob: Any, charlie: Any, approvers: dict[str, Any], may: set[str]
) -> None:
    from hitl.reading import deciders_of
    from hyperagent.accounts.models import User

    make = User.objects.create_user
    people = {"alice": reviewer(alice), "bob": bob, "charlie": reviewer(charlie, group="legal")}
    people |= {"rita": reviewer(make("rita@example.org")), "lara": reviewer(make("lara@example.org"), group="legal")}
    people |= {"gone": make("gone@example.org", is_active=False)}
    ids = {user.pk: name for name, user in people.items()}
    given = {**approvers, "user_ids": [str(people[name].pk) for name in approvers.get("user_ids", ())]}
    asked = ask(alice, approvers=given)

    active = {name: user for name, user in people.items() if name != "gone"}
    decidable = {name for name, user in active.items() if Request.objects.decidable_by(user).exists()}
    shown = {name for name, user in active.items() if any(one.may_decide for one in Request.objects.read_by(user))}
    visible = {name for name, user in active.items() if Request.objects.visible_to(user).exists()}
    counted = {ids[user_id] for user_id in pending_by_user(ids)}
    told = {ids[user_id] for user_id in deciders_of([asked.pk])[asked.pk]}

    assert decidable == shown == counted == told == may
    assert visible == may | {"alice"}
    for name, user in active.items():
        if name not in may:
            with pytest.raises(NotAllowed if name == "alice" else NotThere):
                say(user, asked)
    assert history(asked) == []


@pytest.mark.spec("B4")
def test_the_badge_of_many_people_costs_one_query_whoever_is_asked(
    alice: Any, bob: Any, charlie: Any, django_assert_num_queries: Any
) -> None:
    reviewer(bob)
    ask(alice)
    ask(alice, approvers=ROLE)
    ask(charlie, approvers=named(alice, bob))
    ask(alice, snoozed_until=timezone.now() + timedelta(hours=1))
    ask(alice, expires_at=timezone.now() - timedelta(seconds=1))
    ask(alice, status="denied")

    with django_assert_num_queries(1):
        counts = pending_by_user([alice.pk, bob.pk, charlie.pk])

    assert counts == {alice.pk: 2, bob.pk: 2}


@pytest.mark.spec("B4")
@pytest.mark.parametrize("loses", ["role", "activity"])
def test_who_lost_the_role_since_the_page_was_shown_decides_nothing(alice: Any, bob: Any, loses: str) -> None:
    from hyperagent.accounts.models import User

    asked = ask(alice, approvers={**ROLE, "name": "administrator"})
    assert Request.objects.decidable_by(bob).exists()

    User.objects.filter(pk=bob.pk).update(**{"is_staff" if loses == "role" else "is_active": False})

    with pytest.raises(NotThere):
        say(bob, asked)  # `bob` is as he was when his request came in
    asked.refresh_from_db()
    assert asked.status == "pending"


@pytest.mark.spec("B4")
@pytest.mark.parametrize("change", [{"is_active": False}, None])
def test_nobody_says_yes_in_the_name_of_somebody_who_is_gone(alice: Any, bob: Any, change: Any) -> None:
    from hyperagent.accounts.models import User

    asked = ask(alice, approvers=named(bob), expires_at=timezone.now() + timedelta(seconds=60))
    user = User.objects.filter(pk=alice.pk)
    user.update(**change) if change else user.delete()

    with pytest.raises(NotAllowed):
        say(bob, asked)

    assert Request.objects.visible_to(bob).exists()
    assert pending_by_user([bob.pk]) == {}
    if change:
        user.update(is_active=True)
        assert say(bob, asked).status == "approved"
    else:
        Request.objects.update(expires_at=timezone.now())
        assert end_overdue() == 1, "what is nobody's ends by its time"


@pytest.mark.django_db(transaction=True)
def test_an_approver_who_is_removed_while_their_answer_waits_for_the_row_is_refused(alice: Any, bob: Any) -> None:
    reviewer(bob)
    asked = ask(alice, approvers=ROLE)
    result: list[Any] = []

    with transaction.atomic():
        Execution.objects.select_for_update().get(id=asked.execution_id)
        answering = threading.Thread(target=_in_thread, args=(result, lambda: say(bob, asked)))
        answering.start()
        _until_one_waits()
        bob.groups.clear()
    answering.join(20)

    assert isinstance(result[0], NotThere)
    assert history(asked) == []


# ── only one ──


@pytest.mark.spec("S115", "S120")
@pytest.mark.django_db(transaction=True)
def test_of_many_deciders_at_once_one_wins_and_the_others_see_what_it_came_to(alice: Any, bob: Any) -> None:
    """F11."""
    reviewer(bob)
    asked = ask(alice, approvers=ROLE)
    reviewer(alice)
    together = threading.Barrier(8)
    results: list[Any] = []

    def answer(number: int) -> Request:
        together.wait(10)
        return say((alice, bob)[number % 2], asked, (APPROVE, DENY)[number // 2 % 2])

    threads = [threading.Thread(target=_in_thread, args=(results, answer, number)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    asked.refresh_from_db()
    agreeing = [result for result in results if isinstance(result, Request)]
    late = [result for result in results if isinstance(result, Conflict)]
    assert (len(agreeing), len(late)) == (4, 4), results
    assert {result.status for result in agreeing} == {asked.status}
    assert {refused.more["request"]["status"] for refused in late} == {asked.status}
    assert history(asked) == [asked.status]


@pytest.mark.django_db(transaction=True)
def test_a_decision_and_the_end_of_the_run_never_wait_for_each_other(alice: Any) -> None:
    """The driver has the run's row when it closes the requests. Who decides must not hold the request by then."""
    asked = ask(alice)
    result: list[Any] = []

    with transaction.atomic():
        Execution.objects.select_for_update().get(id=asked.execution_id)
        deciding = threading.Thread(target=_in_thread, args=(result, lambda: say(alice, asked)))
        deciding.start()
        _until_one_waits()
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = '2s'")
        Request.objects.filter(pk=asked.pk).update(status="expired", responded_at=timezone.now())
    deciding.join(20)

    assert isinstance(result[0], Conflict)
    assert result[0].more["request"]["status"] == "expired"


def _in_thread(results: list[Any], work: Callable[..., Any], *arguments: Any) -> None:
    try:
        results.append(work(*arguments))
    except Refused as refused:
        results.append(refused)
    finally:
        connections.close_all()


def _until_one_waits() -> None:
    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
    for _ in range(400):
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(0.02)")
            cursor.execute(waiting)
            if cursor.fetchone()[0]:
                return
    raise AssertionError("nobody waits for a lock")


@pytest.mark.spec("S120")
@pytest.mark.parametrize("status", ["timed_out", "expired", "cancelled", "denied"])
def test_who_comes_too_late_sees_the_state_whatever_they_send(alice: Any, status: str) -> None:
    asked = ask(alice, status=status)

    for response in (APPROVE, Response(RequestStatus.APPROVED, edited_arguments={}), Response(SNOOZED)):
        with pytest.raises(Conflict) as late:
            say(alice, asked, response)
        assert late.value.more["request"]["status"] == status

    assert history(asked) == []


# ── later ──


@pytest.mark.spec("S119", "B3")
def test_a_snoozed_request_leaves_the_badge_keeps_its_end_and_is_reminded_of_then(alice: Any) -> None:
    now = timezone.now()
    asked = ask(alice, expires_at=now + timedelta(days=3), remind_at=now, reminded_at=now)
    until = now + timedelta(hours=5)

    done = say(alice, asked, Response(SNOOZED, instructions="After lunch", snooze_until=until))
    again = say(alice, asked, Response(SNOOZED, snooze_until=until + timedelta(hours=1)))

    assert (done.status, done.snoozed_until, done.remind_at, done.reminded_at) == ("pending", until, until, None)
    assert again.snoozed_until == until + timedelta(hours=1)
    assert again.expires_at == asked.expires_at
    assert pending_by_user([alice.pk]) == {}
    assert history(asked) == ["snoozed", "snoozed"]
    assert asked.decisions.order_by("id").values_list("note", flat=True)[0] == "After lunch"
    assert Execution.objects.get(id=asked.execution_id).woken_at is None
    assert say(alice, asked).status == "approved", "put off, and decided all the same"


@pytest.mark.parametrize(("left_s", "at_most_s"), [(None, 3600), (86_400, 3600), (120, 60)])
def test_without_a_time_a_request_is_put_off_for_an_hour_or_half_of_what_is_left(
    alice: Any, left_s: int | None, at_most_s: int
) -> None:
    now = timezone.now()
    asked = ask(alice, expires_at=now + timedelta(seconds=left_s) if left_s else None)

    until = say(alice, asked, Response(SNOOZED)).snoozed_until

    assert until is not None
    assert timedelta(seconds=at_most_s * 0.8) < until - now < timedelta(seconds=at_most_s + 30)


@pytest.mark.parametrize("hours", [-1, 4])
def test_nobody_sleeps_past_the_end(alice: Any, hours: int) -> None:
    asked = ask(alice, expires_at=timezone.now() + timedelta(hours=3))

    with pytest.raises(Refused) as refused:
        say(alice, asked, Response(SNOOZED, snooze_until=timezone.now() + timedelta(hours=hours)))

    assert "before the request ends" in refused.value.fields["snooze_until"][0]
    assert history(asked) == []


# ── many at once ──


@pytest.mark.spec("B3")
def test_many_at_once_are_decided_each_for_itself(alice: Any, bob: Any) -> None:
    mine, others, late = ask(alice), ask(bob), ask(alice, status="expired")
    question = ask(alice, "decision", question={"question": "Which?", "options": ["a", "b"]})
    wanted = [mine.pk, others.pk, late.pk, question.pk, uuid.uuid4(), mine.pk]

    outcomes = actions.respond_to_many(alice, wanted, Response(RequestStatus.APPROVED, instructions="ok"), via=Via.PAGE)

    assert [outcome.request_id for outcome in outcomes] == wanted[:-1]
    codes = [outcome.refused.code if outcome.refused else "" for outcome in outcomes]
    assert codes == ["", "not_found", "already_decided", "one_by_one", "not_found"]
    assert history(mine) == ["approved"]
    assert Decision.objects.count() == 1


@pytest.mark.slow
@pytest.mark.spec("B3", "B12", "B13")
@pytest.mark.parametrize("decision", [RequestStatus.APPROVED, RequestStatus.DENIED])
def test_only_approvals_are_decided_many_at_once_and_whatever_is_open_may_be_put_off(
    alice: Any, decision: RequestStatus
) -> None:
    mine = ask(alice)
    others = [ask(alice, kind) for kind in ("plan", "budget", "decision", "input")]
    wanted = [one.pk for one in (*others, mine)]

    asleep = actions.respond_to_many(alice, wanted, Response(SNOOZED), via=Via.PAGE)
    outcomes = actions.respond_to_many(alice, wanted, Response(decision), via=Via.PAGE)

    assert [outcome.refused for outcome in asleep] == [None] * 5
    codes = [outcome.refused.code if outcome.refused else "" for outcome in outcomes]
    assert codes == ["one_by_one"] * 4 + [""]
    assert all("Open this request" in outcome.refused.message for outcome in outcomes if outcome.refused)
    assert set(Request.objects.pending()) == set(others)


@pytest.mark.parametrize(
    "response",
    [
        Response(RequestStatus.APPROVED, edited_arguments=MAIL),
        Response(RequestStatus.ANSWERED, text="yes"),
        Response(RequestStatus.APPROVED, arguments_hash="0" * 64),
    ],
)
def test_what_fits_one_request_only_is_not_said_to_many(alice: Any, response: Response) -> None:
    asked = ask(alice)

    with pytest.raises(Refused):
        actions.respond_to_many(alice, [asked.pk], response, via=Via.PAGE)
    with pytest.raises(Refused, match="100"):
        actions.respond_to_many(alice, [uuid.uuid4() for _ in range(101)], APPROVE, via=Via.PAGE)

    assert history(asked) == []


# ── what ends without anybody ──


@pytest.mark.spec("S117", "S126", "B6")
def test_what_ends_by_itself_has_its_row_and_is_nobodys_no(alice: Any) -> None:
    over = ask(alice, expires_at=timezone.now() - timedelta(seconds=1))
    orphan, fine = ask(alice), ask(alice, expires_at=timezone.now() + timedelta(days=1))
    Execution.objects.filter(id=orphan.execution_id).update(status="cancelled", ended_at=timezone.now())

    assert (end_overdue(), end_orphaned(), end_overdue(), end_orphaned()) == (1, 1, 0, 0)

    rows = {row.request_id: row for row in Decision.objects.all()}
    assert {request_id: row.happening for request_id, row in rows.items()} == {
        over.pk: "timed_out",
        orphan.pk: "expired",
    }
    assert {(row.actor, row.actor_name, row.via) for row in rows.values()} == {(None, "", "clock")}
    fine.refresh_from_db()
    assert fine.status == "pending"
    assert Request.objects.exclude(decided_by=None).count() == 0
