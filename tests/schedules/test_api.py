"""Schedules over the API: shapes, faults by field, scopes, and nobody else's."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agents.models import Execution
from conversations import actions
from conversations.schedules.models import Schedule
from conversations.schedules.starting import start_due
from hyperagent.accounts.scopes import Scope
from tests.schedules.making import QUESTION, falls_due, made, wish

pytestmark = pytest.mark.django_db
SCHEDULES = "/api/v1/schedules"
WANTED = {
    "question": QUESTION,
    "on_approval": "wait",
    "kind": "cron",
    "cron": "0 9 * * 1-5",
    "time_zone": "Europe/Berlin",
}
TARGET = [{"tool": "send_mail", "conditions": [{"path": "to", "op": "domain", "value": "example.org"}]}]


def test_a_schedule_can_be_sent_back_as_it_is_shown(alice: Any, api_of: Any) -> None:
    api = api_of(alice)
    once = {**WANTED, "kind": "once", "cron": None, "mode": None, "at": "2031-01-01T09:00:00"}
    made_ = api.post(SCHEDULES, once, format="json")
    one = f"{SCHEDULES}/{made_.json()['id']}"

    same = api.patch(one, api.get(one).json(), format="json")

    assert (made_.status_code, same.status_code) == (201, 200), same.json()
    assert same.json() == made_.json()


@pytest.mark.spec("B27", "B8")
def test_a_program_makes_reads_changes_runs_pauses_and_deletes_a_schedule(alice: Any, api_of: Any) -> None:
    api = api_of(alice, scopes=[Scope.RUN, Scope.READ])

    made_ = api.post(SCHEDULES, WANTED, format="json")
    one = f"{SCHEDULES}/{made_.json()['id']}"
    ran = api.post(f"{one}/run")
    again = api.post(f"{one}/run")
    paused, resumed = api.post(f"{one}/pause"), api.post(f"{one}/resume")
    changed = api.patch(
        one, {"kind": "every", "every_s": 7200, "talk": "same", "title": "News", "when_missed": "skip"}, format="json"
    )
    listed, history = api.get(SCHEDULES).json(), api.get(f"{one}/runs").json()

    assert made_.status_code == 201
    shown = made_.json()
    assert (shown["words"], shown["state"], shown["talk"]) == ("Monday to Friday at 09:00", "active", "new")
    assert (len(shown["next_at"]), shown["last_run"], shown["title"]) == (5, None, QUESTION)
    assert all(moment.endswith("Z") for moment in shown["next_at"])
    assert (shown["when_missed"], changed.json()["when_missed"]) == ("once", "skip")
    assert (ran.status_code, ran.json()["cause"], ran.json()["status"]) == (202, "now", "pending")
    assert (again.status_code, again.json()["error"]["code"]) == (409, "still_running")
    assert (paused.json()["state"], paused.json()["next_at"], resumed.json()["state"]) == ("paused", [], "active")
    assert (changed.json()["words"], changed.json()["cron"], changed.json()["question"]) == (
        "Every 2 hours",
        None,
        QUESTION,
    )
    assert listed["results"][0]["last_run"]["execution_id"] == str(Execution.objects.get().pk)
    assert history["results"] == [ran.json()]
    assert api.delete(one).status_code == 204
    assert api.get(one).status_code == 404


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({"on_approval": None}, {"on_approval"}),
        ({"on_approval": "yes"}, {"on_approval"}),
        ({"kind": "sometimes"}, {"kind"}),
        ({"when_missed": "never"}, {"when_missed"}),
        ({"cron": "* * * * *"}, {"cron"}),
        ({"kind": "once", "at": "tomorrow"}, {"at"}),
        ({"kind": "every", "every_s": 60}, {"every_s"}),
        ({"talk": "new", "conversation_id": "00000000-0000-0000-0000-000000000000"}, {"conversation_id"}),
        ({"conversation_id": "00000000-0000-0000-0000-000000000000"}, {"conversation_id"}),
        ({"question": "", "time_zone": "Mars"}, {"question", "time_zone"}),
        ({"ends_at": "2020-01-01T00:00:00Z"}, {"ends_at"}),
        # In Berlin that is a day which no calendar has.
        ({"ends_at": "9999-12-31T23:59:59Z"}, {"ends_at"}),
    ],
)
def test_what_cannot_be_is_told_by_its_field(
    alice: Any, api_of: Any, changes: dict[str, Any], fields: set[str]
) -> None:
    asked = {name: value for name, value in {**WANTED, **changes}.items() if value is not None}

    answer = api_of(alice).post(SCHEDULES, asked, format="json")

    assert answer.status_code == 400
    assert set(answer.json()["error"]["fields"]) == fields
    assert not Schedule.objects.exists()


def test_a_moment_without_an_offset_is_of_the_schedules_zone(alice: Any, api_of: Any) -> None:
    asked = {"question": QUESTION, "on_approval": "deny", "kind": "once", "at": "2035-07-01T09:00:00"}

    there = api_of(alice).post(SCHEDULES, {**asked, "time_zone": "Europe/Berlin"}, format="json")
    alice.time_zone = "Asia/Tokyo"
    alice.save()
    own = api_of(alice).post(SCHEDULES, asked, format="json")

    assert there.json()["at"] == "2035-07-01T07:00:00Z"
    assert (own.json()["at"], own.json()["time_zone"]) == ("2035-07-01T00:00:00Z", "Asia/Tokyo")


@pytest.mark.spec("B8")
def test_only_who_may_approve_gives_a_yes_beforehand_or_changes_what_it_is_for(alice: Any, api_of: Any) -> None:
    asked = {**WANTED, "on_approval": "preapproved", "preapproved": TARGET}
    without, with_it = api_of(alice, scopes=[Scope.RUN, Scope.READ]), api_of(alice, scopes=[Scope.RUN, Scope.APPROVE])

    refused = without.post(SCHEDULES, asked, format="json")
    made_ = with_it.post(SCHEDULES, asked, format="json")
    one = f"{SCHEDULES}/{made_.json()['id']}"
    changed = [
        without.patch(one, change, format="json") for change in ({"question": "Other?"}, {"on_approval": "deny"})
    ]

    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "scope_missing")
    assert (made_.status_code, made_.json()["preapproved"]) == (201, TARGET)
    assert [answer.status_code for answer in changed] == [403, 403]
    assert with_it.patch(one, {"on_approval": "wait"}, format="json").json()["preapproved"] == []


@pytest.mark.threat("T16")
def test_whoever_else_it_is_or_has_not_the_scope_gets_nowhere(alice: Any, charlie: Any, bob: Any, api_of: Any) -> None:
    schedule = falls_due(made(alice))
    start_due(schedule.pk)
    one = f"{SCHEDULES}/{schedule.pk}"
    reader = api_of(alice, scopes=[Scope.READ])

    for stranger in (charlie, bob):
        api = api_of(stranger)
        assert api.get(SCHEDULES).json()["results"] == []
        answers = [api.get(one), api.get(f"{one}/runs"), api.patch(one, {"question": "Mine?"}, format="json")]
        answers += [api.post(f"{one}/{verb}") for verb in ("run", "pause", "resume")]
        assert {answer.status_code for answer in [*answers, api.delete(one)]} == {404}
    changing = [reader.post(SCHEDULES, WANTED, format="json"), reader.post(f"{one}/run"), reader.delete(one)]
    assert {answer.status_code for answer in changing} == {403}
    assert reader.get(one).status_code == 200
    assert Schedule.objects.get().question == QUESTION


@pytest.mark.slow
def test_lists_ask_the_same_number_of_queries_however_long(alice: Any, api_of: Any, client_of: Any) -> None:
    api, page = api_of(alice), client_of(alice)

    def asked(client: Any, path: str) -> int:
        client.get(path)
        with CaptureQueriesContext(connection) as caught:
            assert client.get(path).status_code == 200
        return len(caught)

    def lists() -> tuple[int, int]:
        return asked(api, SCHEDULES), asked(page, "/schedules/")

    start_due(falls_due(made(alice)).pk)
    made(alice, wish())
    of_two = lists()
    for _ in range(3):
        start_due(falls_due(made(alice)).pk)
        made(alice, wish())

    assert lists() == of_two
    assert len(api.get(SCHEDULES).json()["results"]) == 8


def test_a_schedule_whose_conversation_was_deleted_is_changed_and_begins_another(alice: Any, api_of: Any) -> None:
    api = api_of(alice)
    talk = actions.create(alice)
    made_ = api.post(SCHEDULES, {**WANTED, "conversation_id": str(talk.pk)}, format="json").json()
    one = f"{SCHEDULES}/{made_['id']}"
    actions.delete(alice, talk.pk)

    changed = api.patch(one, {"title": "News"}, format="json")
    ran = api.post(f"{one}/run").json()

    assert (changed.status_code, changed.json()["conversation_id"], changed.json()["talk"]) == (200, None, "same")
    assert ran["conversation_id"] not in (None, str(talk.pk))
    assert api.get(one).json()["conversation_id"] == ran["conversation_id"]
