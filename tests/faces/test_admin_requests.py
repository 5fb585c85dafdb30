"""What a reviewer's browser may send to the queue, whatever it is: it is told in words, and decides nothing else."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.utils import timezone

from hitl.models import Request, RequestStatus, Switch
from tests.hitl.asking import MAIL, ROLE, ask, mail_question

QUEUE = "/admin/hitl/request/"
ClientOf = Callable[[Any], Client]


@pytest.fixture
def reviewer(bob: Any) -> Any:
    bob.groups.add(Group.objects.get_or_create(name="reviewer")[0])
    return bob


def sent(client: Client, request: Request, **given: str) -> str:
    answer = client.post(f"{QUEUE}{request.pk}/change/", {"decision": "approved", **given})
    assert answer.status_code == 200
    request.refresh_from_db()
    return answer.content.decode()


def test_a_note_for_many_with_what_cannot_be_stored_is_cleaned(alice: Any, reviewer: Any, client_of: ClientOf) -> None:
    request = ask(alice, approvers=ROLE)
    chosen = {"action": "deny", "_selected_action": [str(request.pk)], "confirmed": "yes"}

    answer = client_of(reviewer).post(QUEUE, {**chosen, "instructions": "not\x00today"})

    assert answer.status_code == 302
    request.refresh_from_db()
    assert (request.status, request.user_instructions) == (RequestStatus.DENIED, "not\ufffdtoday")


@pytest.mark.parametrize("given", ["", "null"])
def test_arguments_that_were_taken_away_are_no_yes_to_those_that_were_asked_about(
    given: str, alice: Any, reviewer: Any, client_of: ClientOf
) -> None:
    request = ask(alice, approvers=ROLE)

    page = sent(client_of(reviewer), request, edited_arguments=given)

    assert "Send an object with every argument of the call." in page
    assert request.status == RequestStatus.PENDING


@pytest.mark.parametrize("given", ["[" * 100_000, '{"to": ' + "9" * 5_000 + "}", '{"to": NaN}'])
def test_json_that_nothing_can_hold_is_told_at_its_field(
    given: str, alice: Any, reviewer: Any, client_of: ClientOf
) -> None:
    request = ask(alice, approvers=ROLE)

    page = sent(client_of(reviewer), request, edited_arguments=given)

    assert "errorlist" in page
    assert request.status == RequestStatus.PENDING


def test_true_in_the_place_of_one_is_an_edited_argument(alice: Any, reviewer: Any, client_of: ClientOf) -> None:
    request = ask(alice, approvers=ROLE)
    edited = {**MAIL, "options": {"copies": True}}

    page = sent(client_of(reviewer), request, edited_arguments=json.dumps(edited))

    assert "options.copies: This has to be a whole number." in page
    assert request.status == RequestStatus.PENDING


def test_what_cannot_be_decided_now_is_put_off(alice: Any, reviewer: Any, client_of: ClientOf) -> None:
    request = ask(alice, approvers=ROLE)
    until = timezone.localtime(timezone.now() + timedelta(hours=5)).replace(second=0, microsecond=0)

    answer = client_of(reviewer).post(
        f"{QUEUE}{request.pk}/change/",
        {"decision": "snoozed", "snooze_until": until.strftime("%Y-%m-%dT%H:%M"), "instructions": "After lunch"},
        follow=True,
    )

    request.refresh_from_db()
    assert (request.status, request.snoozed_until) == (RequestStatus.PENDING, until)
    assert "is put off until" in answer.content.decode()


def test_a_time_that_is_over_is_told_at_its_field_and_a_yes_takes_none(
    alice: Any, reviewer: Any, client_of: ClientOf
) -> None:
    request = ask(alice, approvers=ROLE)

    over = sent(client_of(reviewer), request, decision="snoozed", snooze_until="2020-01-01T00:00")
    late = sent(client_of(reviewer), request, snooze_until="2020-01-01T00:00")

    assert "Choose a time that is still to come" in over
    assert "takes a time" in late
    assert (request.status, request.snoozed_until) == (RequestStatus.PENDING, None)


@pytest.mark.spec("B5")
def test_a_long_argument_is_shown_to_its_end(alice: Any, reviewer: Any, client_of: ClientOf) -> None:
    question = mail_question()
    question["tool_calls"][0]["arguments"]["body"] = "Hi " * 10_000 + "THE TAIL"
    request = ask(alice, approvers=ROLE, question=question)
    chosen = {"action": "approve", "_selected_action": [str(request.pk)]}

    page = client_of(reviewer).post(QUEUE, chosen).content.decode()

    assert "THE TAIL" in page


def test_a_reason_for_a_switch_that_is_too_long_is_told_at_its_field(admin_user: Any, client_of: ClientOf) -> None:
    given = {"scope": "installation", "target": "", "reason": "x" * 1_001}

    answer = client_of(admin_user).post("/admin/hitl/switch/add/", given)

    assert answer.status_code == 200
    assert "errorlist" in answer.content.decode()
    assert not Switch.objects.exists()
