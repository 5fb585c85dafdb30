"""Vectors of a provider cost money: each call is in the ledger and in the budgets of whoever it is for, and refused at
their end, while others go on."""

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape

from agents.usage import purse_sql, purses, reading
from agents.usage.embedding import Till
from agents.usage.models import ModelCall, ModelPrice
from agents.usage.spans import Span, last_days
from agents.usage.spent import GroupBy
from hyperagent.accounts.budget_models import Budget, Hold, Purse
from hyperagent.lib.llm.prices import Price
from memory.embedding import chosen
from memory.embedding.answering import answer_to
from memory.embedding.messages import Ask, reply_name
from memory.embedding.remote import RemoteModel
from memory.embedding.work import Work
from memory.kinds import DocumentStatus, Visibility
from memory.models import Document
from memory.shapes import document_shape
from tests.memory.embedding.driving import document_of
from tests.scripted.server import ScriptedServer

pytestmark = [pytest.mark.spec("B11"), pytest.mark.django_db(transaction=True)]
MODEL = "scripted/small"


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    server = ScriptedServer()
    server.start()
    named = {"name": "scripted", "base_url": f"{server.url}/v1", "api_key": "k", "tier_models": {"pro": "big"}}
    monkeypatch.setenv("OPENAI_COMPATIBLE_PROVIDERS", json.dumps([named]))
    chosen.choose(MODEL)
    purses.look_anew()
    yield server
    purses.look_anew()
    server.stop()


def model() -> RemoteModel:
    return RemoteModel(MODEL, dimensions=lambda: 0, till=Till())


def work() -> None:
    working = Work(model())
    while working.step():
        pass


def ask(payer: Any) -> Ask:
    return Ask(reply_to=reply_name("0" * 32), texts=("What is new?",), timeout_s=5, payer=payer)


def budget(amount: str, unit: str = "usd", **whose: Any) -> None:
    Budget.objects.create(**{"whose": "user", **whose}, period="day", unit=unit, amount=Decimal(amount))
    purses.look_anew()


def priced() -> None:
    """$1,000 a million tokens, so a tenth of a cent each. The scripted provider counts a token for each text."""
    ModelPrice.objects.create(model=MODEL, input_usd=1000, output_usd=0)


def this_month() -> Span:
    return last_days(30, timezone.now().date(), ZoneInfo("UTC"))


def test_what_a_documents_vectors_took_is_in_the_ledger_for_good_and_is_no_run(
    provider: ScriptedServer, alice: Any
) -> None:
    priced()
    document = document_of(alice, ["one", "two", "three"], filename="prices.txt")

    work()

    document.refresh_from_db()
    assert document.status == DocumentStatus.READY
    calls = list(ModelCall.objects.order_by("at"))
    assert {(call.user_id, call.execution_id, call.agent_name, call.model) for call in calls} == {
        (alice.pk, None, "embedder", "small")
    }
    # Three chunks, and the document as a whole.
    assert sum(call.prompt_tokens for call in calls) == 4
    assert sum(call.cost_usd or 0 for call in calls) == Decimal("0.004")
    assert all(call.step_id < 0 for call in calls)
    spent = reading.total(this_month(), alice.pk)
    assert (spent.tokens, spent.cost_usd, spent.runs) == (4, Decimal("0.004"), 0)
    (share,) = reading.shares(GroupBy.AGENT, this_month(), None)
    assert (share.key, share.spent.runs) == ("embedder", 0)
    assert reading.dearest(this_month(), None, limit=5) == []


def test_a_model_without_a_price_is_flagged(provider: ScriptedServer, alice: Any) -> None:
    answer = answer_to(ask(alice.pk), [model()])

    assert len(answer.models) == 1
    assert [(one.model, one.calls) for one in reading.unpriced_models()] == [("small", 1)]
    assert reading.total(this_month(), alice.pk).known_cost_usd is None


def test_it_counts_in_the_budgets_of_whoever_it_is_for(provider: ScriptedServer, alice: Any) -> None:
    priced()
    budget("10", user=alice)
    budget("1000", "tokens", whose="installation")

    answer_to(ask(alice.pk), [model()])

    standing = {(limit.purse, limit.unit.value): limit for limit in purses.standing_of(alice.pk)}
    own, all_ = standing[(f"user:{alice.pk}", "usd")], standing[("installation", "tokens")]
    assert (own.used, own.reserved) == (Decimal("0.001"), Decimal(0))
    assert (all_.used, all_.reserved) == (Decimal(1), Decimal(0))
    assert not Hold.objects.exists()


def test_at_the_end_of_a_budget_nobody_is_asked_and_others_go_on(
    provider: ScriptedServer, alice: Any, bob: Any
) -> None:
    priced()
    budget("0.0001", user=alice)
    mine = [document_of(alice, ["a", "b"], filename=f"{number}.txt") for number in range(20)]
    theirs = document_of(bob, ["c"], filename="c.txt")

    work()
    refused, answered = answer_to(ask(alice.pk), [model()]), answer_to(ask(bob.pk), [model()])

    theirs.refresh_from_db()
    assert theirs.status == DocumentStatus.READY
    assert set(Document.objects.filter(pk__in=[one.pk for one in mine]).values_list("status", flat=True)) == {
        DocumentStatus.EMBEDDING
    }
    mine[0].refresh_from_db()
    theirs.refresh_from_db()
    assert "Your budget" in mine[0].delay
    assert theirs.delay == ""
    assert (refused.models, refused.is_unaffordable) == ((), True)
    assert "Your budget" in refused.problem
    assert len(answered.models) == 1
    assert set(ModelCall.objects.values_list("user_id", flat=True)) == {bob.pk}


def test_once_there_is_money_again_the_rest_is_done(provider: ScriptedServer, alice: Any) -> None:
    priced()
    budget("0.0001", user=alice)
    document = document_of(alice, ["a", "b"])
    work()

    Budget.objects.update(amount=10)
    work()

    document.refresh_from_db()
    assert (document.status, document.delay) == (DocumentStatus.READY, "")


def test_the_owner_is_told_why_a_document_is_not_found_by_its_meaning_and_nobody_else(
    provider: ScriptedServer, alice: Any, bob: Any
) -> None:
    priced()
    budget("0.0001", user=alice)
    document = document_of(alice, ["a", "b"], filename="shared.txt")
    Document.objects.filter(pk=document.pk).update(visibility=Visibility.EVERYONE)
    work()
    document.refresh_from_db()
    assert document.delay

    for path in (reverse("memory:documents"), reverse("memory:document", args=[document.pk])):
        own, others = Client(), Client()
        own.force_login(alice)
        others.force_login(bob)

        assert escape(document.delay) in own.get(path).content.decode()
        assert "budget" not in others.get(path).content.decode()
    assert document_shape(document, alice)["delay"] == document.delay
    assert document_shape(document, bob)["delay"] == ""


def test_what_a_killed_embedder_had_reserved_comes_free(provider: ScriptedServer, alice: Any) -> None:
    priced()
    budget("10", user=alice)
    Till().reserve(alice.pk, ["a text"], lambda: Price(input=Decimal(1000), output=Decimal(0)))

    with connection.cursor() as cursor:
        cursor.execute(purse_sql.FREE)
        cursor.execute(purse_sql.MOVE)
        held = Purse.objects.get(period="day", whose=f"user:{alice.pk}").held_usd
        cursor.execute("UPDATE accounts_hold SET made_at = made_at - interval '11 minutes'")
        cursor.execute(purse_sql.FREE)
        cursor.execute(purse_sql.MOVE)

    assert held > 0
    assert Purse.objects.get(period="day", whose=f"user:{alice.pk}").held_usd == 0
    assert not Hold.objects.exists()
