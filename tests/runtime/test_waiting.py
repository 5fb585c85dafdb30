"""Runs that wait for people: they hold nothing, survive everything, and go on with the answer."""

import asyncio
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.db import connection

from agents import actions
from agents.models import Execution
from agents.runtime.context import AgentContext
from hitl.actions import Decided, decide
from hitl.models import Request, RequestStatus
from hyperagent.lib.refusals import NotThere
from tests.runtime.cutting import cut_off_at
from tests.runtime.driving import Runners, ended, events, execution, start, until

NO_MODEL = "http://127.0.0.1:9"


async def asks(context: AgentContext, turn: dict[str, Any]) -> dict[str, Any]:
    handle = await context.fork("asks_below", turn["question"])
    answer = await context.wait(handle)
    return {"answer": f"They said {answer['text']}", "sources": []}


async def asks_below(context: AgentContext, question: str) -> Any:
    return await context.ask("input", {"question": question})


PROGRAMS = {"asks": asks, "asks_below": asks_below}


async def request_of(id_: UUID) -> Request:
    @sync_to_async
    def find() -> Request | None:
        return Request.objects.filter(execution_id=id_).first()

    found: Request = await until(find)
    return found


def answer_now(request: Request, by: Any, text: str = "yes") -> Decided:
    return decide(request.request_id, by=by, status=RequestStatus.ANSWERED, answer={"text": text})


answer = sync_to_async(answer_now)


async def waiting(id_: UUID) -> Execution:
    async def waits() -> Execution | None:
        now = await execution(id_)
        return now if now.status == "awaiting_user" else None

    found: Execution = await until(waits)
    return found


@pytest.mark.spec("B6", "S80", "S110")
async def test_a_run_that_waits_holds_no_runner_and_goes_on_with_the_answer(alice: Any, make_runner: Runners) -> None:
    runner = await make_runner(NO_MODEL, extra=PROGRAMS)
    id_ = await start(alice, "May I?", pipeline="asks")
    held = await waiting(id_)
    await until(lambda: _nothing(runner))

    await answer(await request_of(id_), alice)

    assert (held.leased_by, held.lease_until) == ("", None)
    run = await ended(id_)
    assert (run.status, run.answer) == ("completed", "They said yes")


async def test_an_answer_given_while_no_runner_lives_is_not_lost(alice: Any, make_runner: Runners) -> None:
    await make_runner(NO_MODEL, extra=PROGRAMS)
    id_ = await start(alice, "May I?", pipeline="asks")
    await waiting(id_)
    await make_runner.stop()

    await answer(await request_of(id_), alice, "later")
    await make_runner(NO_MODEL, name="runner-2", extra=PROGRAMS)

    run = await ended(id_)
    assert run.answer == "They said later"
    numbers = [event["seq"] for event in await events(id_)]
    assert numbers == list(range(1, len(numbers) + 1))


async def test_nobody_else_can_answer(alice: Any, charlie: Any, make_runner: Runners) -> None:
    await make_runner(NO_MODEL, extra=PROGRAMS)
    id_ = await start(alice, "May I?", pipeline="asks")
    request = await request_of(id_)

    with pytest.raises(NotThere):
        await answer(request, charlie)

    assert (await waiting(id_)).status == "awaiting_user"


@pytest.mark.slow
async def test_of_many_decisions_at_once_one_wins(alice: Any, make_runner: Runners) -> None:
    await make_runner(NO_MODEL, extra=PROGRAMS)
    id_ = await start(alice, "May I?", pipeline="asks")
    request = await request_of(id_)

    def decide_in_thread(number: int) -> Any:
        try:
            return answer_now(request, alice, f"number {number}")
        finally:
            connection.close()

    results = await asyncio.gather(*(asyncio.to_thread(decide_in_thread, number) for number in range(8)))

    assert sum(result.changed for result in results) == 1
    winner = next(result for result in results if result.changed)
    assert (await ended(id_)).answer == f"They said {winner.request.answer['text']}"


async def test_a_run_that_waits_can_be_cancelled_and_its_question_is_closed(alice: Any, make_runner: Runners) -> None:
    await make_runner(NO_MODEL, extra=PROGRAMS)
    id_ = await start(alice, "May I?", pipeline="asks")
    await waiting(id_)

    await sync_to_async(actions.cancel)(id_, by=alice)

    assert (await ended(id_)).status == "cancelled"
    assert (await request_of(id_)).status == "expired"
    late = await answer(await request_of(id_), alice)
    assert (late.changed, late.request.status) == (False, "expired")


async def _nothing(runner: Any) -> bool:
    return not runner.driving


async def test_an_answer_is_heard_though_the_connection_broke_while_it_was_read(
    alice: Any, make_runner: Runners
) -> None:
    """The run comes to rest after it; the mark that there is something is all by which another driver finds it."""
    go_on = asyncio.Event()

    async def asks_beside(context: AgentContext, turn: dict[str, Any]) -> dict[str, Any]:
        async def ask(branch: AgentContext) -> Any:
            return await branch.ask("input", {"question": turn["question"]})

        async def work(branch: AgentContext) -> None:
            await go_on.wait()

        said, _ = await context.all(ask, work)
        return {"answer": f"They said {said['text']}", "sources": []}

    await make_runner(NO_MODEL, lease_s=3600, extra={"asks_beside": asks_beside})
    id_ = await start(alice, "May I?", pipeline="asks_beside")
    request = await request_of(id_)

    async with cut_off_at("agents_intervention"):
        await answer(request, alice)
    go_on.set()

    run = await ended(id_)
    assert (run.status, run.answer) == ("completed", "They said yes")
