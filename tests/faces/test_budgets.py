"""The budget of a run as it is asked for: over the API, over the socket, and as the installation has it."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from agents.models import Execution
from conversations import actions
from conversations.frames import Say, read
from conversations.options import chosen
from hitl.models import Request
from hyperagent.lib.conf import BadConfig, is_secret, load
from hyperagent.lib.refusals import Refused
from tests.faces.runs import make_run

QUESTION = {
    "question": "?",
    "options": ["raise", "finish", "stop"],
    "unit": "tokens",
    "used": 1_200,
    "suggested": 2_000,
}


@pytest.mark.spec("B12")
def test_a_question_carries_the_budget_of_its_run(alice: Any, api_of: Callable[..., Any]) -> None:
    url = f"/api/v1/conversations/{actions.create(alice).id}/messages"
    budget = {"max_tokens": 5_000, "max_cost_usd": 0.25}

    asked = api_of(alice).post(url, {"text": "What is known?", "options": {"budget": budget}})

    assert asked.status_code == 201
    assert Execution.objects.get().input["options"] == {"budget": budget}


@pytest.mark.spec("B12")
@pytest.mark.usefixtures("in_threads")
@pytest.mark.parametrize(
    ("budget", "field"),
    [
        ({"max_tokens": 0}, "budget.max_tokens"),
        ({"max_tokens": "many"}, "budget.max_tokens"),
        ({"max_tokens": 10**13}, "budget.max_tokens"),
        ({"max_cost_usd": -1}, "budget.max_cost_usd"),
        ({"max_cost": 1}, "budget.max_cost"),
        (5, "budget"),
    ],
)
def test_a_limit_that_is_none_is_refused_by_its_name(
    alice: Any, api_of: Callable[..., Any], budget: Any, field: str
) -> None:
    answer = api_of(alice).post("/api/v1/query", {"query": "Hi", "budget": budget}, format="json")

    assert answer.status_code == 400
    assert any(name.startswith(field) for name in answer.json()["error"]["fields"])
    assert not Execution.objects.filter(user=alice).exists()


@pytest.mark.spec("B12")
def test_the_socket_takes_the_same_and_refuses_the_same() -> None:
    said = read('{"type": "say", "text": "Hi", "options": {"budget": {"max_tokens": 5000}}}')

    assert isinstance(said, Say)
    assert said.options is not None
    assert said.options.budget is not None
    assert said.options.budget.max_tokens == 5_000
    for budget in ('{"max_tokens": 0}', '{"max_token": 5}', '{"max_cost_usd": "much"}'):
        with pytest.raises(Refused):
            read(f'{{"type": "say", "text": "Hi", "options": {{"budget": {budget}}}}}')


@pytest.mark.spec("B12")
def test_what_is_left_open_is_as_the_installation_has_it(settings: Any) -> None:
    assert chosen({"budget": None}) == chosen({"budget": {}}) == chosen({}) == {}
    own = {"run_budget_tokens": 9_000, "run_budget_usd": 0.5}
    settings.CONFIG = settings.CONFIG.model_copy(update=own)

    assert chosen({}) == {"budget": {"max_tokens": 9_000, "max_cost_usd": 0.5}}
    assert chosen({"budget": {"max_tokens": 20_000, "max_cost_usd": None}}) == {
        "budget": {"max_tokens": 20_000, "max_cost_usd": 0.5}
    }


def test_a_budget_that_cannot_be_read_stops_the_start() -> None:
    for name, value in (("RUN_BUDGET_TOKENS", "-1"), ("RUN_BUDGET_USD", "cheap"), ("RUN_BUDGET_USD", "nan")):
        with pytest.raises(BadConfig, match=f"{name}={value!r} is not allowed; allowed: .*0 for no limit"):
            load({name: value}, needs_servers=False)
    assert not is_secret("RUN_BUDGET_TOKENS")


@pytest.mark.spec("B12")
@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ({"decision": "answered", "choice": "raise", "text": "5000"}, {"choice": "raise", "text": "5000"}),
        ({"decision": "approved"}, {"choice": "raise", "text": "2000"}),
        ({"decision": "denied"}, {"choice": "finish"}),
        ({"decision": "answered", "choice": "stop"}, {"choice": "stop"}),
    ],
)
def test_a_request_about_a_budget_is_answered_over_the_api(
    alice: Any, api_of: Callable[..., Any], said: Any, answer: Any
) -> None:
    request = asked(alice)

    told = api_of(alice).post("/api/v1/hitl/respond", {"request_id": str(request.request_id), **said}, format="json")

    assert told.status_code == 200
    assert told.json()["details"]["unit"] == "tokens"
    request.refresh_from_db()
    assert request.answer == {**answer, "unit": "tokens"}


@pytest.mark.spec("B12")
@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"decision": "answered", "choice": "raise", "text": "1200"}, "text"),
        ({"decision": "answered", "choice": "raise", "text": "-5"}, "text"),
        ({"decision": "answered", "choice": "more"}, "choice"),
        ({"decision": "answered"}, "choice"),
    ],
)
def test_what_is_no_answer_leaves_the_request_open(
    alice: Any, api_of: Callable[..., Any], said: Any, field: str
) -> None:
    request = asked(alice)

    told = api_of(alice).post("/api/v1/hitl/respond", {"request_id": str(request.request_id), **said}, format="json")

    assert (told.status_code, list(told.json()["error"]["fields"])) == (400, [field])
    request.refresh_from_db()
    assert request.status == "pending"


def asked(user: Any) -> Request:
    run = make_run(user)
    return Request.objects.create(
        execution_id=run.id, agent_id=uuid4(), agent_name="turn", user=user, kind="budget", question=QUESTION
    )
