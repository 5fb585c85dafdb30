"""A call of a model that came to nothing was paid for all the same: in the ledger, the run and everybody's budgets."""

from decimal import Decimal
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db.models import F, Sum
from pydantic import BaseModel

from agents.engine.errors import StepFailed
from agents.models import Execution, Step
from agents.runtime.context import AgentContext
from agents.usage.models import ModelCall
from hyperagent.accounts.budget_models import Budget, Hold, Purse
from hyperagent.lib.llm.estimates import prompt_tokens_of
from hyperagent.lib.llm.types import Message, ModelRequest, Role, Tier
from tests.runtime.driving import Runners, ended, events, start, until
from tests.runtime.test_waiting import answer, request_of, waiting
from tests.scripted.script import Script, ScriptedUsage
from tests.scripted.server import ScriptedServer

pytestmark = [pytest.mark.spec("B11"), pytest.mark.django_db(transaction=True)]

EACH = ScriptedUsage(prompt_tokens=900, completion_tokens=100)
REQUEST = ModelRequest(tier=Tier.PRO, messages=(Message(role=Role.USER, content="Where to?"),))
PROMPT_TOKENS = prompt_tokens_of(REQUEST.model_dump(mode="json"))


class Way(BaseModel):
    way: int


async def asks(context: AgentContext, turn: dict[str, Any]) -> dict[str, Any]:
    try:
        await context.model(REQUEST, stage="agent")
    except StepFailed as failure:
        return {"answer": failure.code, "sources": []}
    return {"answer": "", "sources": []}


async def asks_for_a_value(context: AgentContext, turn: dict[str, Any]) -> dict[str, Any]:
    try:
        await context.structured(REQUEST, Way, stage="agent")
    except StepFailed as failure:
        return {"answer": failure.code, "sources": []}
    return {"answer": "", "sources": []}


PROGRAMS = {"asks": asks, "asks_for_a_value": asks_for_a_value}


def answered(text: str, **more: Any) -> Script:
    return Script(text=text, usage=EACH, cost_usd=0.01, **more)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "scripts", "calls"),
    [
        pytest.param("asks_for_a_value", [answered("I would rather walk.", times=3)], 3, id="prose"),
        pytest.param("asks", [answered("", times=2)], 2, id="empty"),
        pytest.param("asks", [answered("", finish_reason="content_filter")], 1, id="filtered"),
        pytest.param("asks", [answered("", thinking="hm", finish_reason="length")], 1, id="all thought"),
    ],
)
async def test_it_counts_for_the_run_its_person_and_the_installation(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners, program: str, scripts: list[Script], calls: int
) -> None:
    await Budget.objects.acreate(whose="user", user=alice, unit="tokens", period="day", amount=10**6)
    await Budget.objects.acreate(whose="installation", unit="usd", period="day", amount=100)
    scripted_server.script(*scripts)
    await make_runner(scripted_server.url, extra=PROGRAMS)

    run = await ended(await start(alice, "q", pipeline=program))

    assert (run.status, run.answer) == ("completed", "model_garbled")
    assert len(scripted_server.calls) == calls
    paid = (1000 * calls, Decimal("0.01") * calls)
    assert (run.prompt_tokens + run.completion_tokens, run.cost_usd) == paid
    assert (await events(run.id))[-1]["usage"]["prompt_tokens"] == 900 * calls
    assert await ledger() == paid
    assert await step_statuses(run) == ["failed"]
    for name in (f"user:{alice.pk}", "installation"):
        purse = await moved(name)
        assert (purse.used_tokens, purse.used_usd) == paid
        assert (purse.held_tokens, purse.held_usd) == (0, Decimal(0))


async def test_what_an_answer_took_before_it_could_be_used_is_told_with_it(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(answered(""), answered("That way."))
    await make_runner(scripted_server.url, extra=PROGRAMS)

    run = await ended(await start(alice, "q", pipeline="asks"))

    told = [event["usage"] for event in await events(run.id) if event["type"] == "usage"]
    assert [(usage["prompt_tokens"], usage["cost_usd"]) for usage in told] == [(1800, 0.02)]
    assert await ledger() == (2000, Decimal("0.02"))


async def test_a_stream_that_broke_counts_as_estimated(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    """Nobody was told what it took."""
    await Budget.objects.acreate(whose="user", user=alice, unit="tokens", period="day", amount=10**6)
    scripted_server.script(Script(text="one two three", cut_after=2, times=2))
    await make_runner(scripted_server.url, extra=PROGRAMS, env={"LLM_ATTEMPTS": "2"})

    run = await ended(await start(alice, "q", pipeline="asks"))

    assert (run.answer, run.completion_tokens) == ("model_busy", 4)
    assert run.prompt_tokens == 2 * PROMPT_TOKENS
    assert await ledger() == (2 * (PROMPT_TOKENS + 2), None)
    assert await estimates_of(run) == [True]
    purse = await moved(f"user:{alice.pk}")
    assert (purse.used_tokens, purse.held_tokens) == (2 * (PROMPT_TOKENS + 2), 0)


async def test_what_was_refused_counts_nothing(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(Script(status=500, times=2))
    await make_runner(scripted_server.url, extra=PROGRAMS, env={"LLM_ATTEMPTS": "2"})

    run = await ended(await start(alice, "q", pipeline="asks"))

    assert (run.answer, run.prompt_tokens, run.completion_tokens) == ("model_busy", 0, 0)
    assert await ledger() == (None, None)


@pytest.mark.slow
async def test_a_call_stopped_in_a_repair_counts_exactly_what_is_known(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    async def asks_for_a_while(context: AgentContext, turn: dict[str, Any]) -> dict[str, Any]:
        try:
            await context.within(1.5, lambda inside: asks_for_a_value(inside, turn), name="slow")
        except StepFailed as failure:
            return {"answer": failure.code, "sources": []}
        return {"answer": "", "sources": []}

    scripted_server.script(answered("I would rather walk."), Script(text='{"way": "to the left"}', held_after=2))
    await make_runner(scripted_server.url, extra={"asks": asks_for_a_while})

    run = await ended(await start(alice, "q", pipeline="asks"))

    assert run.answer == "timed_out"
    assert run.completion_tokens == 100 + 3
    assert 900 + PROMPT_TOKENS < run.prompt_tokens < 900 + 1_000
    assert await ledger() == (run.prompt_tokens + run.completion_tokens, None)
    assert True in await estimates_of(run)


async def test_a_replay_neither_asks_again_nor_counts_again(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    async def asks_and_waits(context: AgentContext, turn: dict[str, Any]) -> dict[str, Any]:
        result = await asks_for_a_value(context, turn)
        await context.ask("input", {"question": "And now?"})
        return result

    scripted_server.script(answered("I would rather walk.", times=3))
    await make_runner(scripted_server.url, extra={"asks": asks_and_waits})
    id_ = await start(alice, "q", pipeline="asks")
    await waiting(id_)

    await answer(await request_of(id_), alice)
    run = await ended(id_)

    assert (run.status, run.prompt_tokens) == ("completed", 2700)
    assert (await events(id_))[-1]["usage"]["prompt_tokens"] == 2700
    assert await ledger() == (3000, Decimal("0.03"))


@sync_to_async
def ledger() -> tuple[int | None, Decimal | None]:
    found = ModelCall.objects.aggregate(tokens=Sum(F("prompt_tokens") + F("completion_tokens")), usd=Sum("cost_usd"))
    return found["tokens"], found["usd"]


@sync_to_async
def estimates_of(run: Execution) -> list[bool]:
    """Of each step that took something, whether that is estimated."""
    used = Step.objects.filter(agent__execution=run, kind="model", usage__isnull=False).values_list("usage", flat=True)
    return ["is_estimate" in (usage or {}) for usage in used]


@sync_to_async
def step_statuses(run: Execution) -> list[str]:
    return list(Step.objects.filter(agent__execution=run, kind="model").values_list("status", flat=True))


async def moved(name: str) -> Purse:
    """The purse, once everything that is over has come to it."""

    async def settled() -> Purse | None:
        return None if await Hold.objects.aexists() else await Purse.objects.filter(whose=name).afirst()

    found: Purse = await until(settled)
    return found
