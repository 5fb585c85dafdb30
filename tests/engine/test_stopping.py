"""Draining, cancelling, and losing the lease: how a driver leaves a run that is not over."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from agents.engine import tree
from agents.engine.context import Context
from agents.engine.effects import Effect
from tests.engine.driving import Case, Gate, until


async def ask(ctx: Context, question: str = "?") -> Any:
    return await ctx.ask("input", {"question": question})


async def test_draining_gives_the_run_back_at_the_next_boundary_and_another_goes_on() -> None:
    gate = Gate()

    async def root(ctx: Context, value: Any) -> Any:
        first = await gate.step(ctx, "first")
        return [first, await case.model(ctx, "second")]

    case = Case({"root": root})
    async with case.driving() as (run, driver):
        await until(lambda: gate.entered)
        run.draining = True
        gate.open()
        assert (await driver).how == "given_back"

    assert case.performed == []
    assert [step.name for step in case.store.steps(case.execution_id)] == ["first"]
    assert (await case.drive()).value == ["first", "second!"]
    assert gate.entered == 1


@pytest.mark.parametrize("kind", ["note", "ask", "effect", "fork"])
async def test_every_kind_of_step_is_a_boundary(kind: str) -> None:
    performed: list[str] = []

    async def send(key: str) -> None:
        performed.append(key)

    async def root(ctx: Context, value: Any) -> Any:
        match kind:
            case "note":
                await ctx.note("a", lambda: performed.append("note"))
            case "ask":
                await ask(ctx)
            case "effect":
                await ctx.effect(Effect("mail", {}, send))
            case "fork":
                await ctx.fork("root", None)

    case = Case({"root": root})
    async with case.driving() as (run, driver):
        run.draining = True
        assert (await driver).how == "given_back"

    assert performed == []
    assert case.store.steps(case.execution_id) == []
    assert case.open_requests == []


async def test_a_run_that_drains_while_a_branch_waits_for_a_person_is_given_back_and_not_left_waiting() -> None:
    """The other branch could go on: were the run to wait for the answer, nobody would take it up."""
    gate = Gate()

    async def goes_on(ctx: Context) -> Any:
        return [await gate.step(ctx), await case.model(ctx, "next")]

    async def root(ctx: Context, value: Any) -> Any:
        return await ctx.all(ask, goes_on)

    case = Case({"root": root})
    async with case.driving() as (run, driver):
        await until(lambda: gate.entered and case.open_requests)
        run.draining = True
        gate.open()
        assert (await driver).how == "given_back"

    assert (await case.drive()).how == "waiting"
    assert case.performed == ["next"]


async def test_a_run_that_drains_while_the_root_waits_and_a_child_goes_on_is_given_back() -> None:
    gate = Gate()

    async def child(ctx: Context, value: Any) -> Any:
        return [await gate.step(ctx), await case.model(ctx, "next")]

    async def root(ctx: Context, value: Any) -> Any:
        handle = await ctx.fork("child", None)
        return [await ask(ctx), await ctx.wait(handle)]

    case = Case({"root": root, "child": child})
    async with case.driving() as (run, driver):
        await until(lambda: gate.entered and case.open_requests)
        run.draining = True
        gate.open()
        assert (await driver).how == "given_back"


# --- cancelling, and losing the lease


async def test_cancelling_the_root_ends_its_branches_and_children_at_once() -> None:
    gate = Gate()

    async def child(ctx: Context, value: Any) -> Any:
        return await ctx.all(gate.step, gate.step)

    async def root(ctx: Context, value: Any) -> Any:
        handle = await ctx.fork("child", None)
        return await ctx.all(gate.step, ask, lambda c: c.wait(handle))

    case = Case({"root": root, "child": child})
    async with case.driving() as (run, driver):
        await until(lambda: gate.entered == 3 and case.open_requests)
        stored = len(case.store.history(case.execution_id))
        others = asyncio.all_tasks() - {driver, asyncio.current_task()}
        driver.cancel()
        await until(driver.done, turns=50)

        assert driver.cancelled()
        assert gate.cancelled == 3
        assert all(task.done() for task in others)
        assert len(case.store.history(case.execution_id)) == stored
        assert run.open_questions == ()


async def test_a_driver_whose_lease_was_lost_records_and_starts_nothing_more() -> None:
    gate = Gate()
    sent: list[str] = []

    async def send(key: str) -> str:
        sent.append(key)
        return "sent"

    async def sends(ctx: Context) -> Any:
        first = await gate.step(ctx)
        return [first, await ctx.effect(Effect("mail", {}, send))]

    async def root(ctx: Context, value: Any) -> Any:
        return await ctx.all(sends, ask)

    case = Case({"root": root})
    async with case.driving() as (_, frozen):
        await until(lambda: gate.entered and case.open_requests)
        case.take_over()
        stored = case.store.history(case.execution_id)
        gate.open()
        assert (await frozen).how == "lost"

    assert sent == []
    assert case.store.history(case.execution_id) == stored


async def test_a_program_that_catches_every_exception_lets_the_signals_through() -> None:
    async def root(ctx: Context, value: Any) -> Any:
        try:
            return await ask(ctx)
        except Exception:
            return "caught"

    case = Case({"root": root})

    assert (await case.drive()).how == "waiting"
    async with case.driving() as (run, driver):
        run.draining = True
        assert (await driver).how == "given_back"


async def test_an_agent_that_swallows_its_cancellation_and_asks_somebody_does_not_hold_up_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Seed 71, round 41 of a storm: a library swallowed it, and the run was driven for ever."""
    monkeypatch.setattr(tree, "AGAIN_S", 0.01)
    begun = asyncio.Event()

    async def child(ctx: Context, value: Any) -> Any:
        begun.set()
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(30)
        return await ask(ctx)

    async def root(ctx: Context, value: Any) -> Any:
        return await ctx.wait(await ctx.fork("child", None))

    async with Case({"root": root, "child": child}).driving() as (_, driver):
        await begun.wait()
        driver.cancel()
        done, _ = await asyncio.wait({driver}, timeout=2)

        assert done
