"""What people are asked, and their answers, over the API."""

import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agents.models import Execution
from hitl.ending import end_overdue
from hitl.models import Request
from tests.faces.runs import make_request, make_run

REQUESTS, RESPOND = "/api/v1/hitl/requests", "/api/v1/hitl/respond"
CHOICE = {"question": "Which city?", "options": ["Rome", "Paris"]}
PLAN = {"question": "Shall it run?", "plan": {"tasks": [{"id": "a"}]}}


@pytest.fixture
def run(alice: Any) -> Execution:
    return make_run(alice, status="awaiting_user")


@pytest.mark.spec("S119")
def test_an_answer_is_stored_with_who_gave_it_and_wakes_the_run(
    run: Execution, alice: Any, api_of: Callable[..., Any]
) -> None:
    asked = make_request(run, "decision", question=CHOICE)

    answered = api_of(alice).post(
        RESPOND, {"request_id": str(asked.request_id), "decision": "answered", "choice": "Rome", "instructions": "Soon"}
    )

    told = answered.json()
    assert answered.status_code == 200
    assert (told["status"], told["decided_by"], told["user_instructions"]) == ("answered", str(alice.id), "Soon")
    assert told["answer"] == {"choice": "Rome", "instructions": "Soon"}
    assert told["responded_at"]
    assert Execution.objects.get(id=run.id).woken_at is not None


@pytest.mark.spec("S120")
def test_an_equal_answer_is_taken_again_and_a_different_one_is_a_conflict_with_the_state(
    run: Execution, alice: Any, api_of: Callable[..., Any]
) -> None:
    asked, api = make_request(run, "decision", question=CHOICE), api_of(alice)
    said = {"request_id": str(asked.request_id), "decision": "answered", "choice": "Rome"}

    answers = [api.post(RESPOND, said), api.post(RESPOND, said), api.post(RESPOND, {**said, "choice": "Paris"}),
               api.post(RESPOND, {**said, "decision": "denied", "choice": None})]  # fmt: skip

    assert [answer.status_code for answer in answers] == [200, 200, 409, 409]
    assert answers[0].json() == answers[1].json()
    error = answers[2].json()["error"]
    assert (error["code"], error["request"]["status"]) == ("already_decided", "answered")
    assert Request.objects.get().answer == {"choice": "Rome"}


@pytest.mark.spec("S120", "S123", "B6")
def test_who_comes_too_late_is_told_so_and_the_request_is_timed_out_not_denied(
    run: Execution, alice: Any, api_of: Callable[..., Any]
) -> None:
    asked = make_request(run, expires_at=timezone.now() - timedelta(seconds=1))

    late = api_of(alice).post(RESPOND, {"request_id": str(asked.request_id), "decision": "answered", "text": "Yes"})

    assert late.status_code == 409
    assert late.json()["error"]["request"]["status"] == "timed_out"
    asked.refresh_from_db()
    assert (asked.status, asked.decided_by, asked.answer) == ("timed_out", None, None)
    assert Execution.objects.get(id=run.id).woken_at is not None


@pytest.mark.spec("B6", "S126")
def test_requests_whose_time_is_over_end_by_themselves_and_their_runs_go_on(run: Execution, alice: Any) -> None:
    late = make_request(run, expires_at=timezone.now() - timedelta(seconds=1))
    open_still = make_request(make_run(alice), expires_at=timezone.now() + timedelta(hours=1))
    for_ever = make_request(make_run(alice))

    assert (end_overdue(), end_overdue()) == (1, 0)

    statuses = dict(Request.objects.values_list("request_id", "status"))
    assert statuses == {late.request_id: "timed_out", open_still.request_id: "pending", for_ever.request_id: "pending"}
    woken = Execution.objects.filter(woken_at__isnull=False)
    assert [found.id for found in woken] == [run.id]


@pytest.mark.parametrize(
    ("kind", "question", "said", "field", "words"),
    [
        ("decision", CHOICE, {"decision": "answered", "choice": "Berlin"}, "choice", "Rome, Paris"),
        ("decision", CHOICE, {"decision": "answered"}, "choice", "Rome, Paris"),
        ("decision", CHOICE, {"decision": "answered", "text": "Berlin"}, "choice", "Rome, Paris"),
        ("decision", CHOICE, {"decision": "approved", "choice": "Rome"}, "decision", "answered, denied"),
        ("input", {"question": "?"}, {"decision": "answered"}, "text", "empty"),
        ("input", {"question": "?"}, {"decision": "answered", "text": " \n"}, "text", "empty"),
        ("input", {"question": "?"}, {"decision": "answered", "choice": "Rome"}, "choice", "no choices"),
        ("input", {"question": "?"}, {"decision": "answered", "text": "x" * 20_001}, "text", "20"),
        ("input", {"question": "?"}, {"decision": "denied", "instructions": "x" * 4_001}, "instructions", "4"),
        (
            "input",
            {"question": "?"},
            {"decision": "answered", "text": "x", "plan": {"tasks": [{}]}},
            "plan",
            "kind plan",
        ),
        ("approval", {}, {"decision": "answered", "text": "Yes"}, "decision", "approved, denied"),
        ("plan", PLAN, {"decision": "answered"}, "plan", "approve"),
        ("plan", PLAN, {"decision": "answered", "plan": {"tasks": []}}, "plan", "1 to 50"),
        ("plan", PLAN, {"decision": "answered", "plan": {"tasks": [{}] * 51}}, "plan", "51"),
        ("plan", PLAN, {"decision": "answered", "plan": {"tasks": "all"}}, "plan", '"tasks"'),
        ("plan", PLAN, {"decision": "answered", "plan": {"tasks": [{"task": "x" * 200_001}]}}, "plan", "200"),
        ("plan", PLAN, {"decision": "answered", "plan": [1]}, "plan", "dictionary"),
        ("plan", PLAN, {"decision": "answered", "plan": {"tasks": [{"id": 10**30}]}}, "plan", "18 digits"),
        ("input", {"question": "?"}, {"decision": "perhaps"}, "decision", "approved, denied, answered"),
        ("input", {"question": "?"}, {}, "decision", "required"),
        ("input", {"question": "?"}, {"decision": "answered", "text": {"a": 1}}, "text", "string"),
    ],
)
def test_an_answer_that_does_not_fit_its_question_is_refused_and_says_what_would(
    run: Execution, alice: Any, api_of: Callable[..., Any],
    kind: str, question: Any, said: dict[str, Any], field: str, words: str,
) -> None:  # fmt: skip
    asked = make_request(run, kind, question=question)

    refused = api_of(alice).post(RESPOND, {"request_id": str(asked.request_id), **said})

    assert refused.status_code == 400
    assert words in refused.json()["error"]["fields"][field][0]
    assert Request.objects.get().status == "pending"


def test_an_answer_with_a_number_that_no_database_keeps_is_refused(
    run: Execution, alice: Any, api_of: Callable[..., Any]
) -> None:
    asked = make_request(run, "plan", question=PLAN)
    body = f'{{"request_id": "{asked.request_id}", "decision": "answered", "plan": {{"tasks": [{{"id": 1e400}}]}}}}'

    refused = api_of(alice).post(RESPOND, body, content_type="application/json")

    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "not_json")
    assert refused.json()["error"]["message"].startswith("1e400 is no number that can be kept.")
    assert Request.objects.get().status == "pending"


@pytest.mark.parametrize("name", ["tasks", "steps"])
def test_a_changed_plan_is_handed_on_as_the_answer(
    run: Execution, alice: Any, api_of: Callable[..., Any], name: str
) -> None:
    asked = make_request(run, "plan", question=PLAN)
    tasks = [{"id": "a", "agent": "web", "task": "Look", "depends_on": []}]

    told = api_of(alice).post(
        RESPOND, {"request_id": str(asked.request_id), "decision": "answered", "plan": {name: tasks}}
    )

    assert told.json()["answer"] == {"plan": {"tasks": tasks}}


def test_a_choice_is_taken_as_it_was_offered(run: Execution, alice: Any, api_of: Callable[..., Any]) -> None:
    asked = make_request(run, "decision", question={"question": "Which?", "options": ["red", " blue\n"]})

    told = api_of(alice).post(
        RESPOND, {"request_id": str(asked.request_id), "decision": "answered", "choice": " blue\n"}
    )

    assert (told.status_code, told.json()["answer"]) == (200, {"choice": " blue\n"})


def test_declining_a_question_needs_no_words(run: Execution, alice: Any, api_of: Callable[..., Any]) -> None:
    asked = make_request(run, "decision", question=CHOICE)

    told = api_of(alice).post(RESPOND, {"request_id": str(asked.request_id), "decision": "denied"})

    assert (told.status_code, told.json()["status"], told.json()["answer"]) == (200, "denied", None)


def test_the_list_has_what_the_callers_runs_ask_newest_first(
    run: Execution, alice: Any, bob: Any, api_of: Callable[..., Any]
) -> None:
    first = make_request(run, "decision", question={**CHOICE, "why": "Two match"})
    second = make_request(run, "approval", status="approved",
                          question={"tool_names": ["send_email"], "task_description": "Write to Bob"})  # fmt: skip
    make_request(make_run(bob))
    api = api_of(alice)

    everything, pending = api.get(REQUESTS).json(), api.get(f"{REQUESTS}?status=pending&execution={run.id}").json()

    assert [one["request_id"] for one in everything["results"]] == [str(second.request_id), str(first.request_id)]
    assert set(everything) == {"next", "previous", "results"}
    (told,) = pending["results"]
    assert (told["question"], told["options"], told["details"]) == (
        "Which city?",
        ["Rome", "Paris"],
        {"why": "Two match"},
    )
    assert (told["kind"], told["execution_id"], told["tool_calls"]) == ("decision", str(run.id), [])
    assert everything["results"][0]["tool_names"] == ["send_email"]
    assert everything["results"][0]["task_description"] == "Write to Bob"
    assert api.get(f"{REQUESTS}?status=open").status_code == 400


def test_the_list_costs_the_same_number_of_queries_however_long_it_is(
    run: Execution, alice: Any, api_of: Callable[..., Any]
) -> None:
    api = api_of(alice)

    def queries() -> int:
        with CaptureQueriesContext(connection) as caught:
            assert api.get(REQUESTS).status_code == 200
        return len(caught)

    make_request(run)
    queries()
    few = queries()
    for _ in range(20):
        make_request(run)

    assert queries() == few == 3  # whose token it is, their groups, the requests


def test_bob_cannot_see_or_decide_what_alice_is_asked(run: Execution, bob: Any, api_of: Callable[..., Any]) -> None:
    asked, api = make_request(run), api_of(bob)

    foreign = api.post(RESPOND, {"request_id": str(asked.request_id), "decision": "denied"})
    missing = api.post(RESPOND, {"request_id": str(uuid.uuid4()), "decision": "denied"})

    assert foreign.status_code == missing.status_code == 404
    assert foreign.content == missing.content
    assert api.get(f"{REQUESTS}?execution={run.id}").json()["results"] == []
    assert Request.objects.get().status == "pending"


def test_each_needs_its_scope(run: Execution, alice: Any, api_of: Callable[..., Any]) -> None:
    said = {"request_id": str(make_request(run).request_id), "decision": "denied"}

    assert api_of(alice, scopes=["run", "read"]).post(RESPOND, said).status_code == 403
    assert api_of(alice, scopes=["run"]).get(REQUESTS).status_code == 403
    assert api_of(alice, scopes=["approve"]).post(RESPOND, said).status_code == 200
