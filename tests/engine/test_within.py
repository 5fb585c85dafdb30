"""Time limits: what runs out of time stops whole, counts for nothing, and is so on every driver."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from agents.engine import tree
from agents.engine.context import Context, Outcome
from agents.engine.effects import Effect
from agents.engine.errors import OutsideError, StepFailed
from agents.engine.scripts import Script
from agents.engine.states import AgentStatus, EffectStatus, InterventionKind, StepStatus
from tests.doubles.memory_journal import Death
from tests.engine.driving import Case, End, Gate, until

AT_ONCE = 0.0
NEVER = 3600.0
BY_THEN_SENT = 0.3  # on a machine that is busy with something else, too


async def limited(ctx: Context, body: Any, *, timeout_s: float = AT_ONCE) -> Any:
    try:
        return await ctx.within(timeout_s, body, name="attempt")
    except StepFailed as failure:
        return failure.code


async def test_a_body_that_is_done_in_time_gives_what_it_gives_also_on_a_replay() -> None:
    async def root(ctx: Context, value: Any) -> Any:
        found = await ctx.within(NEVER, lambda c: case.model(c, "quick"), name="attempt")
        return [found, await ctx.ask("input", {"question": "?"})]

    case = Case({"root": root})
    await case.drive()
    case.answer("yes")

    assert (await case.drive()).value == ["quick!", "yes"]
    assert case.performed == ["quick"]
    assert sorted(step.path for step in case.store.steps(case.execution_id)) == [(0, 0, 0), (1,)]


async def test_a_body_that_fails_in_time_fails_as_itself() -> None:
    async def root(ctx: Context, value: Any) -> Any:
        return await limited(ctx, lambda c: case.failing(c, "flash", OutsideError("busy", "no")), timeout_s=NEVER)

    case = Case({"root": root})

    assert (await case.drive()).value == "busy"


async def deaf(ctx: Context, value: Any = None) -> Any:
    """Works with a library that swallows a cancellation, and goes on."""
    with suppress(asyncio.CancelledError):
        await asyncio.Event().wait()
    await asyncio.Event().wait()


@pytest.mark.spec("B1")
async def test_a_body_that_swallows_its_cancellation_is_stopped_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    async def root(ctx: Context, value: Any) -> Any:
        return await limited(ctx, deaf)

    monkeypatch.setattr(tree, "AGAIN_S", 0.01)
    case = Case({"root": root})

    async with asyncio.timeout(20):
        assert (await case.drive()).value == "timed_out"


@pytest.mark.spec("B1", "S106")
@pytest.mark.parametrize(
    ("kind", "value"),
    [
        pytest.param(InterventionKind.DELETE, "deleted", id="deleted"),
        pytest.param(InterventionKind.MODIFY, "Do this instead.", id="modified"),
    ],
)
async def test_so_is_an_agent_that_a_person_stops(
    monkeypatch: pytest.MonkeyPatch, kind: InterventionKind, value: str
) -> None:
    begun: list[Any] = []

    async def child(ctx: Context, task: Any) -> Any:
        begun.append(task)
        if not task.get("modified"):
            await deaf(ctx)
        return task["task"]

    async def root(ctx: Context, _: Any) -> Any:
        end = await ctx.outcome(await ctx.fork("child", {}))
        return end.output or end.code

    monkeypatch.setattr(tree, "AGAIN_S", 0.01)
    case = Case({"root": root, "child": child})

    async with asyncio.timeout(20), case.driving() as (run, driver):
        await until(lambda: begun)
        case.intervene(kind, "Do this instead.", lineage="root.child-0", run=run)
        assert (await driver).value == value


@pytest.mark.spec("B1")
async def test_so_is_a_call_of_a_script_that_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[Any] = []

    async def call(ctx: Context) -> Any:
        begun.append(ctx)
        await deaf(ctx)

    async def perform(script: Script) -> Outcome:
        begun.append(asyncio.ensure_future(script.call("slow", {}, call)))
        await until(lambda: len(begun) == 2)
        return Outcome("over")

    async def root(ctx: Context, value: Any) -> Any:
        return await ctx.script("program", {}, perform)

    monkeypatch.setattr(tree, "AGAIN_S", 0.01)
    case = Case({"root": root})

    async with asyncio.timeout(20):
        assert (await case.drive()).value == "over"
    begun[0].cancel()


async def test_a_body_that_takes_too_long_is_stopped_and_never_run_again() -> None:
    gate, entered = Gate(), []

    async def body(ctx: Context) -> Any:
        entered.append(1)
        await case.model(ctx, "before")
        return await gate.step(ctx)

    async def root(ctx: Context, value: Any) -> Any:
        first = await limited(ctx, body)
        return [first, await case.model(ctx, "after"), await ctx.ask("input", {"question": "?"})]

    case = Case({"root": root})
    assert (await case.drive()).how == "waiting"
    case.answer("yes")

    assert (await case.drive()).value == ["timed_out", "after!", "yes"]
    assert (len(entered), gate.cancelled) == (1, gate.entered)
    failed = [step for step in case.store.steps(case.execution_id) if step.status is StepStatus.FAILED]
    assert [(step.path, step.response["retryable"]) for step in failed] == [((0,), True)]


@pytest.mark.spec("S80", "S96")
@pytest.mark.parametrize("who", ["the agent itself", "a child", "a branch"])
async def test_time_in_which_a_person_is_asked_does_not_count(who: str) -> None:
    async def asks(ctx: Context, value: Any = None) -> Any:
        return await ctx.ask("input", {"question": "?"})

    async def body(ctx: Context) -> Any:
        match who:
            case "a child":
                return await ctx.wait(await ctx.fork("asks", None))
            case "a branch":
                return (await ctx.all(asks, asks))[0]
            case _:
                return await asks(ctx)

    async def root(ctx: Context, value: Any) -> Any:
        return await ctx.within(0.05, body, name="attempt")

    case = Case({"root": root, "asks": asks})
    assert (await case.drive()).how == "waiting"
    while case.open_requests:
        case.answer("yes")

    assert await case.drive() == End("completed", "yes")


async def test_the_clock_goes_on_when_the_answer_is_there() -> None:
    gate, meanwhile = Gate(), Gate()

    async def body(ctx: Context) -> Any:
        return [await ctx.ask("input", {"question": "?"}), await gate.step(ctx)]

    async def root(ctx: Context, value: Any) -> Any:
        return await ctx.all(lambda c: limited(c, body), meanwhile.step)

    case = Case({"root": root})
    async with case.driving() as (run, driver):
        await until(lambda: run.open_questions and meanwhile.entered)
        for _ in range(20):
            await asyncio.sleep(0)
        run.answer(case.open_requests[0].request_id, "yes")
        await until(lambda: any(step.status is StepStatus.FAILED for step in case.store.steps(case.execution_id)))
        meanwhile.open()

        assert (await driver).value == ["timed_out", "slow"]
    assert case.agent().status is AgentStatus.COMPLETED


async def test_children_that_the_body_forked_are_cancelled_with_it_and_others_are_not() -> None:
    gate, other = Gate(), Gate()

    async def child(ctx: Context, value: Any) -> Any:
        grandchild = await ctx.fork("grandchild", None)
        return await ctx.all(gate.step, lambda c: c.wait(grandchild))

    async def grandchild(ctx: Context, value: Any) -> Any:
        return await gate.step(ctx)

    async def stays(ctx: Context, value: Any) -> Any:
        return await other.step(ctx, "stayed")

    async def body(ctx: Context) -> Any:
        handle = await ctx.fork("child", None)
        await until(lambda: gate.entered == 2)
        return await ctx.wait(handle)

    async def root(ctx: Context, value: Any) -> Any:
        staying = await ctx.fork("stays", None)
        first = await limited(ctx, body)
        other.open()
        return [first, await ctx.wait(staying)]

    case = Case({"root": root, "child": child, "grandchild": grandchild, "stays": stays})
    end = await case.drive()

    assert end.value == ["timed_out", "stayed"]
    assert gate.cancelled == gate.entered
    assert {agent.name: agent.status.value for agent in case.store.agents(case.execution_id)} == {
        "root": "completed",
        "stays": "completed",
        "child": "cancelled",
        "grandchild": "cancelled",
    }
    folded = {event["agent_id"]: event["status"] for event in case.events("agent_state")}
    assert folded == {str(agent.id): agent.status for agent in case.store.agents(case.execution_id)}


@pytest.mark.spec("B2")
async def test_an_effect_in_the_midst_of_which_time_is_up_is_in_doubt_and_looked_up_by_the_next_attempt() -> None:
    arrived: list[str] = []
    hangs = asyncio.Event()

    async def send(key: str) -> Any:
        arrived.append(key)
        await hangs.wait()

    async def has(key: str) -> bool:
        return key in arrived

    async def body(ctx: Context) -> Any:
        return await ctx.effect(Effect("mail", {"to": "bob"}, send, has))

    async def root(ctx: Context, value: Any) -> Any:
        first = await limited(ctx, body, timeout_s=BY_THEN_SENT)
        statuses = [row.status for row in case.store.effects(case.execution_id)]
        return [first, statuses, await limited(ctx, body, timeout_s=NEVER)]

    case = Case({"root": root})
    end = await case.drive()

    assert end.value == ["timed_out", ["started"], {"settled": "done", "tool": "mail"}]
    assert len(arrived) == 1
    assert [row.status for row in case.store.effects(case.execution_id)] == [EffectStatus.FINISHED]


@pytest.mark.spec("B2")
@pytest.mark.parametrize("killed_at", [0, 5, 6, 7, 8])
async def test_an_effect_that_happened_before_time_was_up_is_not_repeated_by_the_next_attempt(killed_at: int) -> None:
    arrived: list[str] = []
    gate = Gate()

    async def send(key: str) -> Any:
        arrived.append(key)
        return {"number": len(arrived)}

    async def body(ctx: Context) -> Any:
        sent = await ctx.effect(Effect("mail", {"to": "bob"}, send))
        return [sent, await gate.step(ctx)]

    async def root(ctx: Context, value: Any) -> Any:
        first = await limited(ctx, body, timeout_s=BY_THEN_SENT)
        gate.open()
        return [first, await limited(ctx, body, timeout_s=NEVER)]

    case = Case({"root": root})
    if killed_at:
        await case.drive(death=Death.WRITE_IS_STORED, at=killed_at)
    end = await case.drive()

    assert end.value[1] == [{"number": 1}, "slow"]
    assert len(arrived) == 1


async def test_a_body_that_ignores_that_it_is_stopped_writes_nothing_more() -> None:
    gate = Gate()

    async def body(ctx: Context) -> Any:
        try:
            await gate.step(ctx)
        except asyncio.CancelledError:
            return await case.model(ctx, "too late")

    async def root(ctx: Context, value: Any) -> Any:
        return await limited(ctx, body)

    case = Case({"root": root})

    assert (await case.drive()).value == "timed_out"
    assert case.performed == []


async def test_a_limit_within_a_limit_ends_with_the_outer_one() -> None:
    gate = Gate()

    async def outer(ctx: Context) -> Any:
        return await ctx.within(NEVER, gate.step, name="inner")

    async def root(ctx: Context, value: Any) -> Any:
        return [await limited(ctx, outer), await case.model(ctx, "after")]

    case = Case({"root": root})

    assert (await case.drive()).value == ["timed_out", "after!"]


@pytest.mark.parametrize("now", ["a step", "a fan-out", "another name"])
async def test_a_limit_that_became_something_else_is_cut(now: str) -> None:
    gate = Gate()

    def program(changed: bool) -> Any:
        async def root(ctx: Context, value: Any) -> Any:
            if not changed:
                first = await limited(ctx, gate.step)
            elif now == "a step":
                first = await case.model(ctx, "attempt")
            elif now == "a fan-out":
                first = await ctx.all(lambda c: case.model(c, "branch"))
            else:
                first = await ctx.within(NEVER, lambda c: case.model(c, "inside"), name="other")
            return [first, await ctx.ask("input", {"question": "?"})]

        return root

    case = Case({"root": program(False)})
    assert (await case.drive()).how == "waiting"
    case.programs = {"root": program(True)}
    assert (await case.drive()).how == "waiting"
    case.performed.clear()
    assert (await case.drive()).how == "waiting"

    assert len(case.events("journal_cut")) == 1
    assert case.performed == []


async def test_a_limit_leaves_the_count_of_what_runs_right() -> None:
    """A body that waited for a child when its time was up: the others' questions must not suspend the run."""
    gate, meanwhile = Gate(), Gate()

    async def child(ctx: Context, value: Any) -> Any:
        return await gate.step(ctx)

    async def body(ctx: Context) -> Any:
        return await ctx.wait(await ctx.fork("child", None))

    async def impatient(ctx: Context, value: Any) -> Any:
        return [await limited(ctx, body), await meanwhile.step(ctx)]

    async def asks(ctx: Context, value: Any) -> Any:
        return await ctx.ask("input", {"question": "?"})

    async def root(ctx: Context, value: Any) -> Any:
        handles = [await ctx.fork("asks", None), await ctx.fork("impatient", None)]
        return [await ctx.wait(handle) for handle in handles]

    case = Case({"root": root, "child": child, "asks": asks, "impatient": impatient})
    async with case.driving() as (run, driver):
        await until(lambda: meanwhile.entered)
        for _ in range(20):
            await asyncio.sleep(0)
        assert len(run.open_questions) == 1
        assert not driver.done()

        meanwhile.open()
        assert (await driver).how == "waiting"
