"""A worker that is killed while it waits for models: what they had taken by then is paid for, and counted once."""

import os
import subprocess
import sys
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.db.models import F, Sum

from agents.engine.errors import StepFailed
from agents.models import Execution, Step
from agents.runtime.context import AgentContext
from agents.usage.models import ModelCall
from hyperagent.accounts.budget_models import Budget
from tests import template
from tests.faces.web import ROOT, database_url
from tests.runtime.driving import Runners, ended, events, execution, model_env, start, until
from tests.runtime.test_paid_in_vain import EACH, REQUEST, moved
from tests.runtime.test_waiting import answer, request_of, waiting
from tests.scripted.script import Script
from tests.scripted.server import ScriptedServer

pytestmark = [pytest.mark.spec("B1", "B11"), pytest.mark.django_db(transaction=True)]

CALL_ID = "5e1f"


@pytest.mark.slow
async def test_what_models_had_taken_counts_for_the_run_its_person_and_the_installation(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    await Budget.objects.acreate(whose="user", user=alice, unit="tokens", period="day", amount=10**6)
    scripted_server.script(Script(text="one two three four", held_after=3, usage=EACH, times=0))
    command = [sys.executable, "manage.py", "runner", "--name", "doomed"]
    env = {**os.environ, "DATABASE_URL": database_url(), "LEASE_SECONDS": "5", **model_env(scripted_server.url)}
    doomed = template.Process(command, cwd=ROOT, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    async def has_told() -> Any:
        return (await execution(id_)).underway

    try:
        id_ = await start(alice, "What is known?", mode="chat")
        await until(has_told, timeout_s=90)
    finally:
        doomed.kill()
        doomed.wait()
    lost = [call["usage"] for call in (await execution(id_)).underway["calls"]]
    scripted_server.release()
    await make_runner(scripted_server.url)
    run = await ended(id_, timeout_s=60)

    used = run.prompt_tokens + run.completion_tokens
    assert run.status == "completed"
    assert lost
    assert all(usage["prompt_tokens"] > 0 for usage in lost)
    assert await ledger(id_, is_estimate=True) == sum(usage["prompt_tokens"] + 3 for usage in lost)
    assert await ledger(id_, is_estimate=False) == used - await ledger(id_, is_estimate=True)
    told = (await events(id_))[-1]["usage"]
    assert told["prompt_tokens"] + told["completion_tokens"] == used

    async def is_counted() -> bool:
        return (await moved(f"user:{alice.pk}")).used_tokens == used

    await until(is_counted)


async def asks_and_waits(context: AgentContext, turn: dict[str, Any]) -> dict[str, Any]:
    await context.model(REQUEST, stage="agent")
    await context.ask("input", {"question": "And now?"})
    return {"answer": "", "sources": []}


async def gives_up_and_waits(context: AgentContext, turn: dict[str, Any]) -> dict[str, Any]:
    try:
        await context.within(1.5, lambda inside: inside.model(REQUEST, stage="agent"), name="slow")
    except StepFailed:
        await context.ask("input", {"question": "And now?"})
    return {"answer": "", "sources": []}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "script", "place", "counted"),
    [
        pytest.param(asks_and_waits, Script(text="So."), 0, 1, id="as it ended"),
        pytest.param(gives_up_and_waits, Script(text="one two", held_after=1), 0, 1, id="as it was interrupted"),
        pytest.param(asks_and_waits, Script(text="So."), 5, 2, id="not at all"),
    ],
)
async def test_a_call_that_was_on_its_way_at_the_last_heartbeat_and_is_recorded_counts_once(
    alice: Any,
    scripted_server: ScriptedServer,
    make_runner: Runners,
    program: Any,
    script: Script,
    place: int,
    counted: int,
) -> None:
    scripted_server.script(script)
    await make_runner(scripted_server.url, extra={"asks": program})
    id_ = await start(alice, "q", pipeline="asks")
    await waiting(id_)
    await tell_underway(id_, place)

    await answer(await request_of(id_), alice)
    run = await ended(id_)

    assert run.status == "completed"
    assert await ModelCall.objects.filter(execution_id=id_).acount() == counted
    assert run.underway is None


@sync_to_async
def tell_underway(id_: UUID, place: int) -> None:
    """As the runner would have left it, had it been killed before its next heartbeat. `place`: how far behind the
    run's only call."""
    step = Step.objects.get(agent__execution=id_, kind="model")
    call = {
        "agent_id": str(step.agent_id),
        "path": [step.path[0] + place, *step.path[1:]],
        "name": step.name,
        "request_hash": bytes(step.request_hash).hex(),
        "usage": {"call_id": CALL_ID, **step.usage},
    }
    Execution.objects.filter(id=id_).update(underway={"epoch": step.epoch, "calls": [call]})


@sync_to_async
def ledger(id_: UUID, *, is_estimate: bool) -> int:
    rows = ModelCall.objects.filter(execution_id=id_, is_estimate=is_estimate)
    found: int | None = rows.aggregate(tokens=Sum(F("prompt_tokens") + F("completion_tokens")))["tokens"]
    return found or 0
