"""Whole turns under budgets that are not their own, through the real runner: what is held, said, asked and counted."""

from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async

from agents.usage import purses, setting
from agents.usage.models import ModelCall
from hitl import actions
from hitl.answers import Response
from hitl.kinds import RequestStatus, Via
from hitl.models import Request
from hyperagent.accounts.budget_models import Hold, Purse
from hyperagent.accounts.budgets import Period, Unit, Whose
from hyperagent.lib.conf import BudgetEnd, UnpricedModels
from hyperagent.lib.refusals import TooMuch
from tests.runtime.driving import Runners, ended, events, execution, start, until
from tests.scripted.script import Script, ScriptedUsage
from tests.scripted.server import ScriptedServer

EACH = ScriptedUsage(prompt_tokens=900, completion_tokens=100)
FINE = Script(text="It was found.", usage=EACH, times=0)


@pytest.fixture
def with_settings(settings: Any) -> Any:
    def change(**more: Any) -> None:
        settings.CONFIG = settings.CONFIG.model_copy(update=more)

    return change


@sync_to_async
def allow(by: Any, whose: Whose, amount: Any, *, unit: Unit = Unit.TOKENS, user: Any = None) -> Any:
    return setting.set_budget(
        by=by,
        whose=whose,
        period=Period.DAY,
        unit=unit,
        amount=Decimal(amount),
        user=user if whose is Whose.USER else None,
    )


@sync_to_async
def ledger() -> tuple[int, Decimal]:
    calls = list(ModelCall.objects.all())
    return sum(one.prompt_tokens + one.completion_tokens for one in calls), sum(
        (one.cost_usd or Decimal(0) for one in calls), Decimal(0)
    )


@sync_to_async
def _purse(name: str) -> Purse | None:
    return Purse.objects.filter(whose=name).first()


async def moved(name: str) -> Purse:
    """The purse, once everything that is over has come to it."""

    async def settled() -> Purse | None:
        return await _purse(name) if not await sync_to_async(Hold.objects.exists)() else None

    found: Purse = await until(settled)
    return found


@pytest.mark.spec("B11")
async def test_what_a_run_took_is_counted_for_its_person_and_the_installation_and_nothing_stays_reserved(
    alice: Any, bob: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    await allow(bob, Whose.EVERYBODY, 1_000_000)
    await allow(bob, Whose.INSTALLATION, 5, unit=Unit.USD)
    await sync_to_async(setting.set_price)(
        by=bob, model="scripted/scripted-pro", input_usd=Decimal(2), output_usd=Decimal(10)
    )
    scripted_server.script(FINE)
    await make_runner(scripted_server.url)

    run = await ended(await start(alice, "What is known of it?", mode="chat"))
    of_alice, of_all = await moved(f"user:{alice.pk}"), await moved("installation")

    tokens, usd = await ledger()
    assert run.status == "completed"
    assert tokens >= 1_000
    assert usd == tokens // 1_000 * Decimal("0.0028")
    assert (of_alice.used_tokens, of_all.used_usd) == (tokens, usd)
    assert (of_alice.held_tokens, of_all.held_usd, of_all.unpriced_calls) == (0, Decimal(0), 0)
    # What a call may write is what was reserved for it.
    assert {call.body.get("max_tokens") for call in scripted_server.calls} == {16_384}


@pytest.mark.slow
@pytest.mark.spec("B11")
async def test_a_call_that_began_before_a_budget_was_set_is_counted_in_it_within_seconds(
    alice: Any, bob: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(Script(text="word " * 30, tokens_per_s=20))
    await make_runner(scripted_server.url)

    id_ = await start(alice, "What is known of it?", mode="chat")
    await until(sync_to_async(lambda: bool(scripted_server.calls)))
    await allow(bob, Whose.USER, 1_000_000, user=alice)
    # As a page does, which opens the purse while there is nothing in the ledger yet.
    await sync_to_async(purses.standing_of)(alice.pk)
    await ended(id_)

    async def counted() -> bool:
        purse = await _purse(f"user:{alice.pk}")
        return purse is not None and purse.used_tokens == (await ledger())[0] > 0

    await until(counted, timeout_s=20)


@pytest.mark.spec("B11", "B12")
async def test_at_the_end_of_a_persons_budget_the_run_finishes_says_which_and_the_next_is_refused_at_the_door(
    alice: Any, bob: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    await allow(bob, Whose.USER, 1_500, user=alice)
    scripted_server.script(FINE)
    await make_runner(scripted_server.url)

    first = await ended(await start(alice, "What is known of it?", mode="chat"))
    second = await ended(await start(alice, "And of the other?", mode="chat")) if first.status == "completed" else first

    spent = (await moved(f"user:{alice.pk}")).used_tokens
    assert spent <= 1_500
    assert (
        "Your budget of 1,500 tokens a day does not suffice: 1,000 tokens are used."
        in second.answer + second.error_message
    )
    assert "It starts anew on " in second.answer + second.error_message
    assert not await sync_to_async(Request.objects.exists)()
    await sync_to_async(setting.set_budget)(
        by=bob, whose=Whose.USER, period=Period.DAY, unit=Unit.TOKENS, amount=Decimal(1_000), user=alice
    )
    with pytest.raises(TooMuch) as refused:
        await start(alice, "Once more?")
    assert refused.value.code == "budget_used_up"
    assert refused.value.message.startswith("Your budget of 1,000 tokens a day is used up: 1,000 tokens are used.")
    assert refused.value.message.endswith("00:00 UTC. An administrator can raise it.")
    assert refused.value.retry_after_s is not None
    assert 0 < refused.value.retry_after_s <= 86_400
    assert refused.value.more["budget"] == {"whose": "user", "period": "day", "unit": "tokens"}


async def asked(id_: UUID) -> Request:
    @sync_to_async
    def pending() -> Request | None:
        return Request.objects.filter(execution_id=id_, status="pending").first()

    async def waits() -> Request | None:
        return await pending() if (await execution(id_)).status == "awaiting_user" else None

    found: Request = await until(waits)
    return found


@pytest.mark.spec("B11", "B12")
async def test_where_it_shall_wait_it_asks_and_goes_on_once_an_administrator_raised_it(
    alice: Any, bob: Any, scripted_server: ScriptedServer, make_runner: Runners, with_settings: Any
) -> None:
    with_settings(budget_end=BudgetEnd.WAIT)
    await allow(bob, Whose.INSTALLATION, 600)
    scripted_server.script(FINE)
    await make_runner(scripted_server.url)
    id_ = await start(alice, "What is known of it?", mode="chat")

    request = await asked(id_)
    assert request.kind == "budget"
    assert request.question["why"].startswith(
        "The budget of this installation of 600 tokens a day does not suffice: 0 tokens"
    )
    assert request.question["labels"]["raise"] == "Go on, it was raised or starts anew"
    assert scripted_server.calls == []
    await allow(bob, Whose.INSTALLATION, 1_000_000)
    await sync_to_async(actions.respond)(
        alice, request.request_id, Response(RequestStatus.ANSWERED, choice="raise"), via=Via.API
    )
    run = await ended(id_)

    assert run.status == "completed"
    assert "It was found." in run.answer
    said = [event["type"] for event in await events(id_)]
    assert (said.count("interrupt"), said.count("interrupt_response")) == (1, 1)


@pytest.mark.spec("B11")
@pytest.mark.parametrize("choice", [UnpricedModels.ALLOW, UnpricedModels.REFUSE])
async def test_a_model_without_a_known_price_is_never_free(
    alice: Any,
    bob: Any,
    scripted_server: ScriptedServer,
    make_runner: Runners,
    with_settings: Any,
    choice: UnpricedModels,
) -> None:
    with_settings(unpriced_models=choice)
    await allow(bob, Whose.EVERYBODY, 1, unit=Unit.USD)
    scripted_server.script(FINE)
    await make_runner(scripted_server.url)

    run = await ended(await start(alice, "What is known of it?", mode="chat"))

    told = [event.get("description", "") for event in await events(run.id)]
    if choice is UnpricedModels.REFUSE:
        assert scripted_server.calls == []
        assert "The price of scripted/scripted-pro is not known" in run.answer + run.error_message
        return
    assert "It was found." in run.answer
    assert (await moved(f"user:{alice.pk}")).unpriced_calls == len(scripted_server.calls) > 0
    assert any("is not known: what it costs is not counted" in said for said in told)
    (limit,) = await sync_to_async(purses.standing_of)(alice.pk)
    assert limit.unpriced_calls > 0
