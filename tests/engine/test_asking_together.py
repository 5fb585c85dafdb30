"""A question that all agents of a run share: opened once, at the root, answered for all, open as long as one waits."""

import asyncio
from typing import Any

import pytest

from agents.engine.context import Context
from agents.engine.copying import failed_agents, kept_for_retry
from agents.engine.errors import StepFailed
from agents.engine.states import AgentStatus, InterventionKind
from tests.doubles.memory_journal import Death
from tests.engine.driving import Case, End, Gate, until

RAISED = {"status": "answered", "choice": "raise"}


async def ask(ctx: Context, name: str = "budget:1") -> Any:
    return await ctx.ask_together("budget", name, lambda: {"question": f"{ctx.agent.name} needs more"})


def tree(*children: Any) -> Case:
    """A root that forks these and waits for all of them; it does not ask itself."""

    async def root(ctx: Context, value: Any) -> Any:
        handles = [await ctx.fork(f"child{number}", None) for number in range(len(children))]
        ends = [await ctx.outcome(handle) for handle in handles]
        return [end.output if end.status is AgentStatus.COMPLETED else end.status.value for end in ends]

    return Case({"root": root, **{f"child{number}": child for number, child in enumerate(children)}})


async def asks(ctx: Context, value: Any) -> Any:
    return await ask(ctx)


@pytest.mark.spec("B12")
async def test_agents_that_ask_the_same_at_once_wait_for_one_request_at_the_root() -> None:
    case = tree(asks, asks, asks)

    assert (await case.drive()).how == "waiting"
    (request,) = case.open_requests
    waiting = [agent.lineage for agent in case.store.agents(case.execution_id) if agent.status == "awaiting_user"]
    case.answer(RAISED)
    end = await case.drive()

    assert (request.agent_id, request.agent_name, request.kind) == (case.agent("root").id, "root", "budget")
    assert waiting == ["root.child0-0", "root.child1-0", "root.child2-0"]
    assert end == End("completed", [RAISED] * 3)
    assert len(case.events("interrupt")) == len(case.events("interrupt_response")) == 1


async def test_who_comes_after_the_answer_has_it_without_another_question() -> None:
    gate = Gate()

    async def late(ctx: Context, value: Any) -> Any:
        await gate.step(ctx)
        return await ask(ctx)

    case = tree(asks, late)
    async with case.driving() as (run, driver):
        await until(lambda: case.open_requests and gate.entered)
        request_id = case.open_requests[0].request_id
        case.answer(RAISED)
        run.answer(request_id, RAISED)
        await until(lambda: case.agent("root.child0-0").status is AgentStatus.COMPLETED)
        gate.open()

        assert (await driver).value == [RAISED, RAISED]
    assert len(case.events("interrupt")) == 1


async def test_another_name_is_another_question() -> None:
    async def twice(ctx: Context, value: Any) -> Any:
        return [await ask(ctx), await ask(ctx, "budget:2")]

    case = tree(twice)
    await case.drive()
    case.answer("1")
    await case.drive()
    case.answer("2")

    assert (await case.drive()).value == [["1", "2"]]


@pytest.mark.parametrize("death", list(Death))
@pytest.mark.parametrize("at", range(1, 14))
async def test_a_shared_question_is_asked_and_told_once_over_any_kill(death: Death, at: int) -> None:
    case = tree(asks, asks)

    await case.drive(death=death, at=at)
    await case.drive()
    for request in case.open_requests:
        case.store.answer(request.request_id, RAISED)
    await case.drive(death=death, at=at)
    end = await case.drive()

    assert end.value == [RAISED, RAISED]
    assert len(case.events("interrupt")) == len(case.events("interrupt_response")) == 1


@pytest.mark.spec("B12", "S106")
async def test_the_question_stays_open_when_the_agent_that_opened_it_is_deleted() -> None:
    case = tree(asks, asks)
    opener = "root.child0-0"
    await case.drive()
    (request,) = case.open_requests

    async with case.driving() as (run, driver):
        case.intervene(InterventionKind.DELETE, lineage=opener, run=run)
        await driver
    assert [asked.request_id for asked in case.open_requests] == [request.request_id]
    case.answer(RAISED)

    assert (await case.drive()).value == ["deleted", RAISED]


async def test_a_question_that_nobody_waits_for_any_more_is_withdrawn_and_may_be_asked_again() -> None:
    gate = Gate()

    async def late(ctx: Context, value: Any) -> Any:
        await gate.step(ctx)
        return await ask(ctx)

    case = tree(asks, asks, late)
    async with case.driving() as (run, driver):
        await until(lambda: len(case.open_requests) == 1 and gate.entered and len(run._waiters) == 2)
        for lineage in ("root.child0-0", "root.child1-0"):
            case.intervene(InterventionKind.DELETE, lineage=lineage, run=run)
        assert case.open_requests == []
        gate.open()
        assert (await driver).how == "waiting"
    case.answer(RAISED)

    assert (await case.drive()).value == ["deleted", "deleted", RAISED]
    assert len(case.events("interrupt")) == 2


async def test_an_answer_that_was_given_before_its_asker_was_deleted_holds_for_the_others() -> None:
    gate = Gate()

    async def late(ctx: Context, value: Any) -> Any:
        await gate.step(ctx)
        return await ask(ctx)

    async with (case := tree(asks, late)).driving() as (_, driver):
        await until(lambda: case.open_requests and gate.entered)
        driver.cancel()
    case.answer(RAISED)
    case.intervene(InterventionKind.DELETE, lineage="root.child0-0")
    gate.open()

    assert (await case.drive()).value == ["deleted", RAISED]
    assert len(case.events("interrupt")) == 1


@pytest.mark.spec("S95")
async def test_waiting_for_the_others_question_does_not_count_towards_a_time_limit() -> None:
    async def limited(ctx: Context, value: Any) -> Any:
        await asyncio.sleep(0)
        try:
            return await ctx.within(0.05, ask, name="attempt")
        except StepFailed as failure:
            return failure.code

    gate = Gate()
    case = tree(asks, limited, lambda ctx, value: gate.step(ctx))
    async with case.driving() as (run, driver):
        await until(lambda: len(run._waiters) == 2)
        loop = asyncio.get_running_loop()
        passed = loop.create_future()
        loop.call_later(0.1, passed.set_result, None)
        await passed
        run.answer(case.open_requests[0].request_id, RAISED)
        gate.open()

        assert (await driver).value == [RAISED, RAISED, "slow"]


async def test_a_copy_of_a_run_asks_anew() -> None:
    async def asks_and_fails(ctx: Context, value: Any) -> Any:
        answer = await ask(ctx)
        raise StepFailed("no", str(answer))

    case = tree(asks, asks_and_fails)
    await case.drive()
    case.answer(RAISED)
    await case.drive()
    past = case.store.past(case.execution_id)
    case.copy(kept_for_retry(past, failed_agents(past)))

    assert (await case.drive()).how == "waiting"
    (request,) = case.open_requests
    assert request.agent_id == case.agent("root").id


async def test_the_answer_of_a_journal_that_was_cut_is_still_the_runs() -> None:
    def root_with(name: str) -> Any:
        async def root(ctx: Context, value: Any) -> Any:
            await case.model(ctx, name)
            return [await ask(ctx), await ctx.ask("input", {"question": "?"})]

        return root

    case = Case({})
    case.programs = {"root": root_with("old")}
    await case.drive()
    case.answer(RAISED)
    await case.drive()
    case.programs = {"root": root_with("new")}
    await case.drive()
    case.answer("bye", to=-1)

    assert (await case.drive()).value == [RAISED, "bye"]
    assert [event["kind"] for event in case.events("interrupt")].count("budget") == 1
