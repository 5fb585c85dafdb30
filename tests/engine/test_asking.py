"""Questions to people, children that ask, answers that come early or late; draining, cancelling, losing the lease."""

import asyncio
from typing import Any
from uuid import UUID, uuid4

import pytest

from agents.engine.context import Context
from agents.engine.errors import OutsideError, StepFailed
from agents.engine.states import AgentStatus
from tests.engine.driving import Case, End, Gate, until


async def ask(ctx: Context, question: str = "?") -> Any:
    return await ctx.ask("input", {"question": question})


# --- waiting


async def test_a_question_waits_while_anything_else_can_go_on() -> None:
    gate = Gate()

    async def root(ctx: Context, value: Any) -> Any:
        return await ctx.all(ask, gate.step)

    case = Case({"root": root})
    async with case.driving() as (run, driver):
        await until(lambda: case.open_requests and gate.entered)
        for _ in range(50):
            await asyncio.sleep(0)
        assert not driver.done()
        assert run.open_questions == (case.open_requests[0].request_id,)

        gate.open()

        assert (await driver).how == "waiting"
    assert case.agent().status is AgentStatus.AWAITING_USER


async def test_an_answer_that_comes_while_others_run_is_taken_up_at_once() -> None:
    gate = Gate()

    async def branch(ctx: Context) -> Any:
        answer = await ask(ctx)
        return [answer, await case.model(ctx, "after the answer")]

    async def root(ctx: Context, value: Any) -> Any:
        return await ctx.all(branch, gate.step)

    case = Case({"root": root})
    async with case.driving() as (run, driver):
        await until(lambda: case.open_requests)
        request_id = case.open_requests[0].request_id
        case.answer({"text": "yes"})
        run.answer(request_id, {"text": "yes"})
        await until(lambda: "after the answer" in case.performed)
        assert not driver.done()

        gate.open()

        assert await driver == End("completed", [[{"text": "yes"}, "after the answer!"], "slow"])


async def test_all_questions_of_the_branches_are_open_at_once_and_answered_in_any_order() -> None:
    async def root(ctx: Context, value: Any) -> Any:
        return await ctx.all(*[lambda c, n=number: ask(c, f"{n}") for number in range(3)])

    case = Case({"root": root})
    ends = [await case.drive()]
    while case.open_requests:
        last = case.open_requests[-1]
        case.store.answer(last.request_id, last.question["question"])
        ends.append(await case.drive())

    assert [end.how for end in ends] == ["waiting", "waiting", "waiting", "completed"]
    assert ends[-1].value == ["0", "1", "2"]


async def test_a_question_is_asked_once_however_often_the_run_is_resumed() -> None:
    async def root(ctx: Context, value: Any) -> Any:
        return await ask(ctx)

    case = Case({"root": root})
    for _ in range(3):
        assert (await case.drive()).how == "waiting"

    assert len(case.open_requests) == 1


async def test_an_answer_that_came_between_two_drivers_is_there_for_the_next() -> None:
    async def root(ctx: Context, value: Any) -> Any:
        return [await ask(ctx, "one"), await ask(ctx, "two")]

    case = Case({"root": root})
    await case.drive()
    case.answer("1")
    assert (await case.drive()).how == "waiting"
    case.answer("2")

    assert (await case.drive()).value == ["1", "2"]


async def test_an_answer_for_nobody_here_is_kept_and_disturbs_nothing() -> None:
    gate = Gate()

    async def root(ctx: Context, value: Any) -> Any:
        return await gate.step(ctx)

    case = Case({"root": root})
    async with case.driving() as (run, driver):
        await until(lambda: gate.entered)
        run.answer(UUID(int=7), "who asked?")
        gate.open()

        assert (await driver).value == "slow"
        assert run.loaded.answers[UUID(int=7)] == "who asked?"


# --- children


@pytest.mark.spec("S110")
async def test_a_childs_question_suspends_the_root_and_its_answer_flows_back() -> None:
    async def grandchild(ctx: Context, value: Any) -> Any:
        return await ctx.ask("approval", {"tool": "send_mail", "to": value})

    async def child(ctx: Context, value: Any) -> Any:
        before = await case.model(ctx, "of the child")
        return [before, await ctx.wait(await ctx.fork("grandchild", value))]

    async def root(ctx: Context, value: Any) -> Any:
        handle = await ctx.fork("child", "bob")
        own = await case.model(ctx, "of the root")
        return [own, *await ctx.wait(handle)]

    case = Case({"root": root, "child": child, "grandchild": grandchild})
    first = await case.drive()
    asked = case.open_requests[0]
    case.answer({"decision": "approved"})
    second = await case.drive()

    assert first.how == "waiting"
    assert (asked.agent_name, asked.agent_id) == ("grandchild", case.agent("root.child-0.grandchild-0").id)
    assert second.value == ["of the root!", "of the child!", {"decision": "approved"}]
    assert sorted(case.performed) == ["of the child", "of the root"]
    assert {
        step.name for step in case.store.steps(case.execution_id) if step.agent_id == case.agent("root.child-0").id
    } == {
        "of the child",
        "grandchild",
    }


async def test_a_child_that_asks_does_not_hold_up_its_parent() -> None:
    gate = Gate()

    async def child(ctx: Context, value: Any) -> Any:
        return await ask(ctx)

    async def root(ctx: Context, value: Any) -> Any:
        handle = await ctx.fork("child", None)
        own = await gate.step(ctx)
        return [own, await ctx.wait(handle)]

    case = Case({"root": root, "child": child})
    async with case.driving() as (run, driver):
        await until(lambda: case.open_requests and gate.entered)
        run.answer(case.open_requests[0].request_id, "yes")
        await until(lambda: case.agent("root.child-0").status is AgentStatus.COMPLETED)
        gate.open()

        assert (await driver).value == ["slow", "yes"]


async def test_two_branches_that_wait_for_one_child_both_get_its_result() -> None:
    async def child(ctx: Context, value: Any) -> Any:
        return await ask(ctx)

    async def root(ctx: Context, value: Any) -> Any:
        handle = await ctx.fork("child", None)
        return await ctx.all(lambda c: c.wait(handle), lambda c: c.wait(handle), ask)

    case = Case({"root": root, "child": child})
    while (await case.drive()).how == "waiting":
        case.answer(len(case.open_requests))

    assert (await case.drive()).value == [2, 2, 1] or (await case.drive()).value == [1, 1, 2]


async def test_a_waiting_branch_goes_on_when_the_child_it_waits_for_fails() -> None:
    gate = Gate()

    async def child(ctx: Context, value: Any) -> Any:
        await gate.step(ctx)
        await case.failing(ctx, "flash", OutsideError("busy", "the provider is busy"))

    async def waits(ctx: Context, handle: Any) -> Any:
        try:
            await ctx.wait(handle)
        except StepFailed as failure:
            return [failure.code, await case.model(ctx, "instead")]

    async def root(ctx: Context, value: Any) -> Any:
        handle = await ctx.fork("child", None)
        return await ctx.all(lambda c: waits(c, handle), ask)

    case = Case({"root": root, "child": child})
    async with case.driving() as (_, driver):
        await until(lambda: gate.entered and case.open_requests)
        gate.open()
        assert (await driver).how == "waiting"
    case.answer("yes")

    assert (await case.drive()).value == [["busy", "instead!"], "yes"]
    assert case.performed == ["flash", "instead"]


async def test_a_child_that_nobody_waits_for_ends_with_the_root() -> None:
    gate = Gate()

    async def child(ctx: Context, value: Any) -> Any:
        await gate.step(ctx)

    async def root(ctx: Context, value: Any) -> Any:
        await ctx.fork("child", None)
        await case.model(ctx, "flash")
        return "done"

    case = Case({"root": root, "child": child})

    assert (await case.drive()).value == "done"
    assert (gate.entered, gate.cancelled) == (1, 1)


@pytest.mark.parametrize("waits_for", ["a child", "an answer"])
async def test_a_time_limit_around_a_wait_leaves_the_count_of_what_runs_right(waits_for: str) -> None:
    """Whoever gives up waiting can go on again: the others' questions must not suspend the run under its feet."""
    gate, meanwhile = Gate(), Gate()

    async def child(ctx: Context, value: Any) -> Any:
        return await ask(ctx, "of the child")

    async def root(ctx: Context, value: Any) -> Any:
        handle = await ctx.fork("child", None)

        async def impatient(c: Context) -> Any:
            try:
                async with asyncio.timeout(0):
                    await (c.wait(handle) if waits_for == "a child" else ask(c, "too late"))
            except TimeoutError:
                return await gate.step(c)

        return await ctx.all(meanwhile.step, impatient, lambda c: ask(c, "last"))

    case = Case({"root": root, "child": child})
    async with case.driving() as (run, driver):
        await until(lambda: gate.entered and len(run.open_questions) == 2)
        meanwhile.open()
        await until(lambda: any(step.path == (1, 0, 0) for step in case.store.steps(case.execution_id)))
        for _ in range(20):
            await asyncio.sleep(0)
        assert len(run.open_questions) == 2

        gate.open()
        assert (await driver).how == "waiting"


async def test_an_unknown_handle_is_a_bug_and_not_a_wait_for_ever() -> None:
    async def root(ctx: Context, value: Any) -> Any:
        return await ctx.run.tree.ended(uuid4())

    with pytest.raises(KeyError):
        await Case({"root": root}).drive()
