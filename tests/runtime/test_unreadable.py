"""What one run has, and nobody here can read, is its own trouble: it ends, and says so; nothing else stands still."""

import asyncio
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import connection
from django.db.models.functions import Now

from agents.engine.context import Context
from agents.models import AgentExecution, Event, Execution
from agents.runtime.context import AgentContext
from agents.runtime.runner import Options, Runner
from hitl.models import Request
from hyperagent.lib.llm.config import LLMSettings
from hyperagent.lib.llm.gateway import ModelGateway
from hyperagent.lib.llm.prices import PriceBook
from tests.runtime.driving import Runners, database_dsn, ended, events, execution, model_env, start, until
from tests.runtime.test_waiting import NO_MODEL, PROGRAMS, answer, request_of, waiting

pytestmark = [pytest.mark.spec("B1"), pytest.mark.django_db(transaction=True)]

LEASE_S = 2.0


async def never(context: Context, turn: Any) -> dict[str, Any]:
    """Goes on from step to step."""
    while True:
        await context.now()
        await asyncio.sleep(0.05)


async def spoil(id_: UUID) -> None:
    """As a fault or another version may have written it: a frame that is none."""
    last = await Event.objects.filter(execution_id=id_).order_by("-seq").afirst()
    assert last is not None
    await Event.objects.acreate(
        execution_id=id_, seq=last.seq + 1, type="token", body="{", hash=bytes(32), created_at=datetime.now(UTC)
    )


async def check_end(id_: UUID, code: str) -> Execution:
    run = await ended(id_, timeout_s=30)
    assert (run.status, run.error_code) == ("failed", code)
    [*_, last] = [
        body async for body in Event.objects.filter(execution_id=id_).order_by("seq").values_list("body", flat=True)
    ]
    assert run.error_message in last
    agents = {agent.agent_name: agent.status async for agent in AgentExecution.objects.filter(execution=id_)}
    assert agents == {"asks": "failed", "asks_below": "cancelled"}
    assert not await Request.objects.filter(execution_id=id_, status="pending").aexists()
    return run


@pytest.mark.slow
async def test_a_run_whose_journal_cannot_be_read_ends_after_three_tries(alice: Any, make_runner: Runners) -> None:
    await make_runner(NO_MODEL, lease_s=LEASE_S, extra=PROGRAMS)
    id_ = await start(alice, "May I?", pipeline="asks")
    await waiting(id_)
    await spoil(id_)

    await answer(await request_of(id_), alice)

    run = await check_end(id_, "crashed_worker")
    assert "crashed the worker 3 times" in run.error_message
    assert run.crashes == 3


@pytest.mark.slow
async def test_so_does_one_of_which_the_database_itself_cannot_read_something(alice: Any, make_runner: Runners) -> None:
    await make_runner(NO_MODEL, lease_s=LEASE_S, extra=PROGRAMS)
    id_ = await start(alice, "May I?", pipeline="asks")
    await waiting(id_)
    # Calls of a driver before, in a form that only another version knows.
    await Execution.objects.filter(id=id_).aupdate(underway={"epoch": 1, "calls": 5})

    await answer(await request_of(id_), alice)

    assert (await check_end(id_, "crashed_worker")).crashes == 3


async def test_a_run_of_another_version_is_not_read_at_all(alice: Any, make_runner: Runners) -> None:
    await make_runner(NO_MODEL, lease_s=LEASE_S, extra=PROGRAMS)
    id_ = await start(alice, "May I?", pipeline="asks")
    await waiting(id_)
    await spoil(id_)
    await Execution.objects.filter(id=id_).aupdate(input={"version": 99, "history": [], "options": {}})

    await answer(await request_of(id_), alice)

    assert (await check_end(id_, "other_version")).crashes == 0


@pytest.mark.slow
async def test_news_that_cannot_be_read_end_their_own_run_and_no_other(alice: Any, make_runner: Runners) -> None:
    """The loop that reads them renews the leases of all."""

    async def asks_beside(context: AgentContext, turn: dict[str, Any]) -> dict[str, Any]:
        async def ask(branch: AgentContext) -> Any:
            return await branch.ask("input", {"question": "?"})

        async def work(branch: AgentContext) -> Any:
            return await never(branch, turn)

        await context.all(ask, work)
        return {"answer": "", "sources": []}

    runner = await make_runner(NO_MODEL, lease_s=LEASE_S, extra={"asks_beside": asks_beside, "never": never})
    other = await start(alice, "q", pipeline="never")
    id_ = await start(alice, "q", pipeline="asks_beside")
    request = await request_of(id_)

    # An answer in a form that only another version knows.
    await Request.objects.filter(request_id=request.request_id).aupdate(status="answered", answer="yes")
    await Execution.objects.filter(id=id_).aupdate(woken_at=Now())

    run = await ended(id_, timeout_s=30)
    assert (run.status, run.error_code) == ("failed", "crashed_worker")
    going_on = await execution(other)
    assert (going_on.status, going_on.epoch, list(runner.driving)) == ("running", 1, [other])


async def test_a_note_that_says_nothing_known_leaves_a_runner_hearing(
    alice: Any, make_runner: Runners, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agents.runtime.runner.LOOK_EVERY_S", 3600)

    async def ends(context: AgentContext, turn: dict[str, Any]) -> dict[str, Any]:
        return {"answer": "heard", "sources": []}

    runner = await make_runner(NO_MODEL, lease_s=36_000, extra={"ends": ends})
    await ended(await start(alice, "q", pipeline="ends"))

    async def is_idle() -> bool:
        return not runner.driving

    await until(is_idle)
    await sync_to_async(_note)("of another version")

    assert (await ended(await start(alice, "q", pipeline="ends"))).answer == "heard"


def _note(text: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify('hyperagent_runs', %s)", [text])


class FailingGateway(ModelGateway):
    """Takes prices twice: when it is made, and when its runner begins."""

    taken = 0

    @property
    def prices(self) -> PriceBook:
        return self._prices

    @prices.setter
    def prices(self, book: PriceBook) -> None:
        self.taken += 1
        if self.taken > 2:
            raise RuntimeError("no more prices")
        self._prices = book


@pytest.mark.slow
async def test_a_runner_one_of_whose_loops_ends_gives_its_runs_back_and_ends_with_that_error(
    alice: Any, make_runner: Runners
) -> None:
    """Without the one that renews leases, all that it drives would be driven twice."""
    options = Options(
        name="failing",
        dsn=database_dsn(),
        redis_url=settings.CONFIG.redis_url.get_secret_value(),
        concurrency=8,
        lease_s=3600,
    )
    models = FailingGateway(LLMSettings.from_env(model_env(NO_MODEL)))
    runner = Runner(options, models=models, programs={"never": never})
    running = asyncio.create_task(runner.run())
    id_ = await start(alice, "q", pipeline="never")

    async def has_begun() -> bool:
        return "status_changed" in [event["type"] for event in await events(id_)]

    await until(has_begun)
    async with asyncio.timeout(30):
        with pytest.raises(RuntimeError, match="no more prices"):
            await running

    run = await execution(id_)
    assert (run.status, run.leased_by, run.crashes, run.suspicion) == ("pending", "", 0, 0)
