"""The budget of a run as it is asked for: over the API, over the socket, and as the installation has it. And those of
people, groups and the installation: how they stand, who may set them, and who is told of their end.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from decimal import Decimal
from itertools import count
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group
from django.db import connection

from agents.models import Execution
from agents.usage import alerts, prices, purses
from agents.usage.models import ModelCall, ModelPrice
from conversations import actions
from conversations.frames import Say, checked
from conversations.options import chosen
from hitl.models import Request
from hyperagent.accounts.budget_models import Budget
from hyperagent.audit.models import AuditEvent
from hyperagent.lib.conf import BadConfig, is_secret, load
from hyperagent.lib.refusals import Refused
from hyperagent.management.model_checks import check_prices
from hyperagent.notices.models import Delivery, Endpoint, Mail
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
    said = checked({"type": "say", "text": "Hi", "options": {"budget": {"max_tokens": 5_000}}})

    assert isinstance(said, Say)
    assert said.options is not None
    assert said.options.budget is not None
    assert said.options.budget.max_tokens == 5_000
    for budget in ({"max_tokens": 0}, {"max_token": 5}, {"max_cost_usd": "much"}):
        with pytest.raises(Refused):
            checked({"type": "say", "text": "Hi", "options": {"budget": budget}})


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


# --- of people, groups and the installation

_numbers = count(1)


@pytest.fixture
def admin(bob: Any) -> Any:
    bob.is_staff = True
    bob.save()
    purses.look_anew()
    return bob


def spend(user: Any, usd: str | None, *, tokens: int = 100) -> None:
    ModelCall.objects.create(
        step_id=next(_numbers), user=user, execution_id=uuid4(), agent_name="chat", provider="mine", model="llama",
        prompt_tokens=tokens, completion_tokens=0, cost_usd=usd, at=datetime.now(UTC),
    )  # fmt: skip


def set_by(api: Any, **more: Any) -> Any:
    given = {"whose": "everybody", "period": "day", "unit": "usd", "amount": 5, **more}
    return api.put("/api/v1/budgets/all", given, format="json")


@pytest.mark.spec("B11")
def test_an_administrator_sets_budgets_over_the_api_and_people_see_how_theirs_stand(
    alice: Any, admin: Any, api_of: Callable[..., Any]
) -> None:
    group = Group.objects.create(name="sales")
    alice.groups.add(group)
    spend(alice, "1.25")
    spend(alice, None)
    api = api_of(admin, scopes=["read", "admin"])
    nobody = api_of(alice).get("/api/v1/me").json()["budget"]

    made = set_by(api)
    own = set_by(api, whose="user", user=str(alice.pk), amount=2)
    set_by(api, whose="group", group=group.pk, unit="tokens", period="month", amount=200)
    again = set_by(api, whose="user", user=str(alice.pk), amount=2.5)

    assert nobody is None
    assert (made.status_code, made.json()["amount"], made.json()["whose"]) == (200, 5.0, "everybody")
    assert again.json()["id"] == own.json()["id"]
    told = api_of(alice).get("/api/v1/me").json()["budget"]
    assert told == {"used_up": True, "limits": api_of(alice).get("/api/v1/budgets").json()["budgets"]}
    by_whose = {limit["whose"]: limit for limit in told["limits"]}
    assert {name: by_whose["user"][name] for name in ("amount", "used", "left", "used_up", "unpriced_calls")} == {
        "amount": 2.5, "used": 1.25, "left": 1.25, "used_up": False, "unpriced_calls": 1,
    }  # fmt: skip
    assert (by_whose["group"]["name"], by_whose["group"]["used"], by_whose["group"]["left"]) == ("sales", 200, 0)
    assert by_whose["user"]["starts_anew_at"].endswith("T00:00:00Z")
    assert len(api.get("/api/v1/budgets/all").json()["budgets"]) == 3
    assert api.delete(f"/api/v1/budgets/{own.json()['id']}").status_code == 204
    assert {one["amount"] for one in api_of(alice).get("/api/v1/me").json()["budget"]["limits"]} == {5.0, 200}
    changes = AuditEvent.objects.filter(kind="budget.changed").order_by("id").values_list("details", flat=True)
    assert [(one["before"], one["after"]) for one in changes] == [
        (None, "5"), (None, "2"), (None, "200"), ("2", "2.5"), ("2.5", None),
    ]  # fmt: skip


@pytest.mark.spec("B11")
def test_only_administrators_set_budgets_and_what_is_none_is_refused_by_its_name(
    alice: Any, admin: Any, api_of: Callable[..., Any]
) -> None:
    for api in (api_of(alice, scopes=["read", "run"]), api_of(admin, scopes=["read"])):
        assert set_by(api).status_code == 403
    api = api_of(admin, scopes=["admin"])
    for given, field in [
        ({"amount": -1}, "amount"),
        ({"unit": "tokens", "amount": 1.5}, "amount"),
        ({"amount": 2_000_000}, "amount"),
        ({"whose": "user"}, "whose"),
        ({"whose": "everybody", "user": str(alice.pk)}, "whose"),
        ({"period": "year"}, "period"),
    ]:
        answer = set_by(api, **given)  # type: ignore[arg-type]
        assert (answer.status_code, list(answer.json()["error"]["fields"])) == (400, [field]), given
    assert not Budget.objects.exists()


@pytest.mark.spec("B11", "B12")
def test_what_is_asked_when_nothing_is_left_is_refused_at_the_door_with_the_way_out(
    alice: Any, admin: Any, api_of: Callable[..., Any]
) -> None:
    url = f"/api/v1/conversations/{actions.create(alice).id}/messages"
    spend(alice, "4.99")
    set_by(api_of(admin, scopes=["admin"]))

    refused = api_of(alice).post(url, {"text": "What is known?"})

    assert refused.status_code == 429
    error = refused.json()["error"]
    assert error["code"] == "budget_used_up"
    assert error["message"].startswith("Your budget of $5.00 a day is used up: $4.99 are used. It starts anew on ")
    assert error["message"].endswith("An administrator can raise it.")
    assert int(refused.headers["Retry-After"]) == error["retry_after_s"] <= 86_400
    assert not Execution.objects.exists()


@pytest.mark.spec("B11", "B22")
@pytest.mark.django_db(transaction=True)
def test_each_threshold_is_told_once_however_many_look_at_it_at_once(
    alice: Any, admin: Any, charlie: Any, api_of: Callable[..., Any]
) -> None:
    for user in (None, alice, charlie):
        Endpoint.objects.create(user=user, url="https://example.org/", events=["budget.threshold"], secret_sealed="")
    api = api_of(admin, scopes=["admin"])
    set_by(api)
    set_by(api, whose="installation", amount=10)
    spend(alice, "4.2")

    def look(_: int) -> int:
        try:
            purses.standing_of(alice.pk)
            purses.recount_all()
            return alerts.tell_of_thresholds()
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        first = sum(pool.map(look, range(16)))
    spend(alice, "0.9")
    with ThreadPoolExecutor(8) as pool:
        second = sum(pool.map(look, range(16)))

    assert (first, second) == (1, 2)
    titles = {(mail.user_id, mail.title) for mail in Mail.objects.all()}
    assert titles == {
        (alice.pk, "Your budget of $5.00 a day: 80 % are used"),
        (alice.pk, "Your budget of $5.00 a day is used up"),
        (admin.pk, "The budget of this installation of $10.00 a day: 50 % are used"),
    }
    sent = Delivery.objects.values_list("endpoint__user", "payload__data__whose", "payload__data__percent")
    assert sorted((who == alice.pk, whose, percent) for who, whose, percent in sent) == [
        (False, "installation", 50), (False, "user", 80), (False, "user", 100), (True, "user", 80), (True, "user", 100),
    ]  # fmt: skip


@pytest.mark.spec("B11")
def test_prices_are_set_by_administrators_and_what_has_none_is_flagged(
    alice: Any, admin: Any, client_of: Callable[..., Any]
) -> None:
    spend(alice, None)
    page = client_of(admin)

    shown = page.get("/usage/prices/").content.decode()
    (finding,) = check_prices()
    refused = page.post("/usage/prices/", {"model": "mine/llama", "input_usd": "-1", "output_usd": "2"})
    done = page.post(
        "/usage/prices/", {"model": "mine/llama", "input_usd": "0.5", "output_usd": "2", "cached_usd": "0"}
    )

    assert "mine/llama" in shown
    assert "the price is not known of mine/llama" in str(finding)
    assert (refused.status_code, done.status_code) == (400, 302)
    assert "input_usd" in refused.context["form"].errors
    price = ModelPrice.objects.get()
    assert (price.input_usd, price.output_usd, price.cached_usd, price.reasoning_usd) == (
        Decimal("0.5"), Decimal(2), Decimal(0), None,
    )  # fmt: skip
    (finding,) = check_prices()
    assert str(finding).startswith("ok")
    assert "Without a known price" not in page.get("/usage/prices/").content.decode()
    assert AuditEvent.objects.filter(kind="price.changed", target_name="mine/llama").exists()
    assert client_of(alice).get("/usage/prices/").status_code == 403


@pytest.mark.spec("B11")
def test_an_own_price_is_taken_back_and_what_is_known_elsewhere_holds_again(
    alice: Any, admin: Any, client_of: Callable[..., Any], settings: Any
) -> None:
    page = client_of(admin)
    typed = {"model": "mine/llama", "input_usd": "10", "output_usd": "20"}
    page.post("/usage/prices/", typed)
    page.post("/usage/prices/", {**typed, "input_usd": "1"})
    held = page.get("/usage/prices/").content.decode()

    refused = client_of(alice).post("/usage/prices/back/", {"model": "mine/llama"})
    done = page.post("/usage/prices/back/", {"model": "mine/llama"})
    again = page.post("/usage/prices/back/", {"model": "mine/llama"}, follow=True).content.decode()

    assert (refused.status_code, done.status_code) == (403, 302)
    assert held.count("Holds now") == 1
    assert "1 price of earlier" in held
    assert prices.book().price_of("mine", "llama") is None
    assert "Holds now" not in again
    assert "3 prices of earlier" in again
    assert "No own price holds for this model any more." in again
    assert [event.details.get("taken_back") for event in AuditEvent.objects.filter(kind="price.changed")].count(
        True
    ) == 1
    settings.CONFIG = settings.CONFIG.model_copy(update={"model_prices": '{"mine/llama": {"input": 3, "output": 4}}'})
    told = prices.book().price_of("mine", "llama")
    assert told is not None
    assert told.input == 3
    page.post("/usage/prices/", typed)
    own = prices.book().price_of("mine", "llama")
    assert own is not None
    assert own.input == 10


@pytest.mark.spec("B11")
def test_the_pages_set_and_remove_budgets_and_show_people_theirs(
    alice: Any, admin: Any, client_of: Callable[..., Any]
) -> None:
    spend(alice, "4.5")
    page = client_of(admin)
    given = {"whose": "user", "person": alice.email.upper(), "amount": "5", "unit": "usd", "period": "day"}

    unknown = page.post("/usage/budgets/", {**given, "person": "nobody@example.org"})
    done = page.post("/usage/budgets/", given, follow=True)

    assert "Nobody here has this e-mail address." in unknown.content.decode()
    assert f"Set: {alice.email}, $5.00 a day." in done.content.decode()
    own = client_of(alice).get("/usage/").content.decode()
    assert "90 % of your budget of $5.00 a day are used." in own
    assert "$0.50 left" in own
    assert f'href="/usage/?user={alice.pk}' not in own
    assert client_of(alice).get("/usage/budgets/").status_code == 403
    page.post(f"/usage/budgets/{Budget.objects.get().pk}/end/")
    assert not Budget.objects.exists()
    assert "of your budget" not in client_of(alice).get("/usage/").content.decode()


def test_prices_and_alerts_that_cannot_be_read_stop_the_start() -> None:
    for name, value in (
        ("MODEL_PRICES", "[]"),
        ("MODEL_PRICES", '{"m": {"input": 1}}'),
        ("BUDGET_ALERTS", "50,120"),
        ("USER_BUDGET_USD_PER_DAY", "-1"),
        ("UNPRICED_MODELS", "free"),
        ("BUDGET_END", "stop"),
    ):
        with pytest.raises(BadConfig, match=name):
            load({name: value}, needs_servers=False)
    assert load({"BUDGET_ALERTS": "none"}, needs_servers=False).budget_alerts == ()
