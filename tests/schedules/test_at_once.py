"""What two do at once to a schedule: neither takes back what the other has said."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import transaction

from conversations.schedules import actions
from conversations.schedules.models import Schedule
from hyperagent.accounts.scopes import Scope
from tests.at_once import elsewhere, somebody_waits
from tests.house.waiting import until
from tests.schedules.making import hourly, made

pytestmark = pytest.mark.django_db(transaction=True)
TARGET = [{"tool": "send_mail", "conditions": [{"path": "to", "op": "domain", "value": "example.org"}]}]


@pytest.mark.spec("B27")
def test_what_a_program_leaves_out_stays_as_somebody_has_just_changed_it(alice: Any, api_of: Any) -> None:
    schedule, api = made(alice), api_of(alice)
    one = f"/api/v1/schedules/{schedule.pk}"

    with ThreadPoolExecutor(1) as program:
        with transaction.atomic():
            actions.change(alice, schedule.pk, hourly(title="By Alice"))
            changed = program.submit(elsewhere, lambda: api.patch(one, {"question": "What is old?"}, format="json"))
            until(somebody_waits, what="the program to wait")
        answer = changed.result(20)

    assert (answer.status_code, answer.json()["title"], answer.json()["question"]) == (200, "By Alice", "What is old?")


@pytest.mark.spec("B8")
def test_a_yes_that_was_just_given_is_for_nothing_that_another_program_says(alice: Any, api_of: Any) -> None:
    schedule, api = made(alice), api_of(alice, scopes=[Scope.RUN, Scope.READ])
    one = f"/api/v1/schedules/{schedule.pk}"

    with ThreadPoolExecutor(1) as program:
        with transaction.atomic():
            actions.change(alice, schedule.pk, hourly(on_approval="preapproved", preapproved=TARGET))
            changed = program.submit(elsewhere, lambda: api.patch(one, {"question": "Mail this."}, format="json"))
            until(somebody_waits, what="the program to wait")
        answer = changed.result(20)

    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "scope_missing")
    assert Schedule.objects.get().on_approval == "preapproved"
