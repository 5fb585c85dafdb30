"""Agents that depend on each other, what becomes of those that end without a result, and how large a tree may grow."""

import asyncio
from typing import Any

import pytest

from agents.engine.context import Context, Ended
from agents.engine.errors import OutsideError, Skipped, StepFailed
from agents.engine.limits import Limits
from agents.engine.states import AgentStatus, StepStatus
from tests.doubles.memory_journal import Death
from tests.engine.driving import Case, End, Gate, until


async def given(ctx: Context, value: Any) -> Any:
    return value


def without_ids(dependencies: dict[str, Any]) -> list[Any]:
    return sorted(dependencies.values(), key=lambda found: str(found["name"]))


@pytest.mark.spec("S29", "S102")
async def test_an_agent_gets_what_came_of_those_that_it_depends_on() -> None:
    async def first(ctx: Context, value: Any) -> Any:
        return {"found": value["task"]}

    async def root(ctx: Context, value: Any) -> Any:
        one = await ctx.fork("first", {"task": "a"}, step_id="s1", task="Find a", label="rag")
        two = await ctx.fork("given", {"task": "b"}, after=[one], step_id="s2")
        return [str(one.agent_id), await ctx.wait(two)]

    case = Case({"root": root, "first": first, "given": given})
    end = await case.drive()

    one_id, handed = end.value
    assert handed == {
        "task": "b",
        "dependencies": {
            one_id: {"name": "rag", "step_id": "s1", "status": "completed", "output": {"found": "a"}, "error": None}
        },
    }
    two = case.agent("root.given-0")
    assert (two.step_id, [str(other) for other in two.depends_on]) == ("s2", [one_id])
    states = [
        (event["status"], event.get("depends_on")) for event in case.events("agent_state") if "s2" in event.values()
    ]
    assert states == [("pending", [one_id]), ("running", [one_id]), ("completed", [one_id])]


async def test_without_dependencies_an_agent_gets_its_value_as_it_is() -> None:
    async def root(ctx: Context, value: Any) -> Any:
        return [await ctx.wait(await ctx.fork("given", value)) for value in ({"a": 1}, None, [1])]

    assert (await Case({"root": root, "given": given}).drive()).value == [{"a": 1}, None, [1]]


@pytest.mark.spec("S28")
async def test_of_a_diamond_both_sides_run_at_once_and_the_last_waits_for_both() -> None:
    left, right = Gate(), Gate()

    async def side(ctx: Context, value: Any) -> Any:
        return await (left if value["side"] == "left" else right).step(ctx, value["side"])

    async def root(ctx: Context, value: Any) -> Any:
        top = await ctx.fork("given", {})
        sides = [await ctx.fork("side", {"side": name}, after=[top]) for name in ("left", "right")]
        return await ctx.wait(await ctx.fork("given", {}, after=sides))

    case = Case({"root": root, "side": side, "given": given})
    async with case.driving() as (_, driver):
        await until(lambda: left.entered and right.entered)
        left.open()
        await until(lambda: case.agent("root.side-0").status is AgentStatus.COMPLETED)
        for _ in range(20):
            await asyncio.sleep(0)
        assert case.agent("root.given-1").status is AgentStatus.PENDING

        right.open()
        end = await driver

    assert sorted(found["output"] for found in end.value["dependencies"].values()) == ["left", "right"]


async def test_an_agent_begins_as_soon_as_its_own_dependencies_are_done_and_not_a_stage() -> None:
    slow = Gate()

    async def after_quick(ctx: Context, value: Any) -> Any:
        return await case.model(ctx, "after quick")

    async def root(ctx: Context, value: Any) -> Any:
        quick = await ctx.fork("given", {})
        waits = await ctx.fork("slow", {})
        ctx_after = await ctx.fork("after_quick", {}, after=[quick])
        return [await ctx.wait(waits), await ctx.wait(ctx_after)]

    async def slow_one(ctx: Context, value: Any) -> Any:
        return await slow.step(ctx)

    case = Case({"root": root, "given": given, "slow": slow_one, "after_quick": after_quick})
    async with case.driving() as (_, driver):
        await until(lambda: "after quick" in case.performed)
        assert slow.entered == 1
        slow.open()
        assert (await driver).how == "completed"


@pytest.mark.spec("S107")
async def test_an_agent_whose_dependency_failed_or_was_skipped_begins_and_is_told() -> None:
    async def fails(ctx: Context, value: Any) -> Any:
        await case.failing(ctx, "flash", OutsideError("busy", "the provider is busy", retryable=True))

    async def skips(ctx: Context, value: Any) -> Any:
        raise Skipped("nothing to do")

    async def root(ctx: Context, value: Any) -> Any:
        others = [await ctx.fork("fails", {}), await ctx.fork("skips", {})]
        return without_ids((await ctx.wait(await ctx.fork("given", {}, after=others)))["dependencies"])

    case = Case({"root": root, "fails": fails, "skips": skips, "given": given})
    end = await case.drive()

    assert [(found["status"], found["output"], found["error"]) for found in end.value] == [
        ("failed", None, {"code": "busy", "message": "the provider is busy"}),
        ("skipped", None, {"code": "skipped", "message": "nothing to do"}),
    ]
    skipped = case.agent("root.skips-0")
    assert (skipped.status, skipped.error, skipped.output) == (AgentStatus.SKIPPED, "nothing to do", None)


async def test_a_run_whose_agents_all_wait_for_a_person_or_for_each_other_is_suspended_and_goes_on() -> None:
    async def asks(ctx: Context, value: Any) -> Any:
        return await ctx.ask("input", {"question": "Which?"})

    async def root(ctx: Context, value: Any) -> Any:
        first = await ctx.fork("asks", {})
        chain = first
        for _ in range(3):
            chain = await ctx.fork("given", {}, after=[chain])
        return without_ids((await ctx.wait(chain))["dependencies"])[0]["status"]

    case = Case({"root": root, "asks": asks, "given": given})
    assert (await case.drive()).how == "waiting"
    assert {agent.status for agent in case.store.agents(case.execution_id) if agent.depends_on} == {AgentStatus.PENDING}
    case.answer({"text": "this"})

    assert await case.drive() == End("completed", "completed")


@pytest.mark.parametrize("death", list(Death))
@pytest.mark.parametrize("at", range(1, 12))
async def test_a_chain_that_is_killed_anywhere_hands_on_the_same(death: Death, at: int) -> None:
    async def adds(ctx: Context, value: Any) -> Any:
        before = [found["output"] for found in value.get("dependencies", {}).values()]
        return sum(before) + await case.model(ctx, value["name"], response=1)

    async def root(ctx: Context, value: Any) -> Any:
        one = await ctx.fork("adds", {"name": "one"})
        two = await ctx.fork("adds", {"name": "two"}, after=[one])
        return await ctx.wait(await ctx.fork("adds", {"name": "three"}, after=[one, two]))

    case = Case({"root": root, "adds": adds})
    await case.drive(death=death, at=at)
    end = await case.drive()

    assert end == End("completed", 4)
    assert len(case.store.agents(case.execution_id)) == 4


# --- outcomes


async def test_an_outcome_says_how_a_child_ended_and_never_raises() -> None:
    async def fails(ctx: Context, value: Any) -> Any:
        raise StepFailed("wrong", "it went wrong", retryable=True)

    async def skips(ctx: Context, value: Any) -> Any:
        raise Skipped("not needed")

    seen: list[Ended] = []

    async def root(ctx: Context, value: Any) -> Any:
        for name in ("given", "fails", "skips"):
            seen.append(await ctx.outcome(await ctx.fork(name, "out", step_id=f"of {name}")))

    await Case({"root": root, "given": given, "fails": fails, "skips": skips}).drive()

    assert [(end.name, end.step_id, end.status, end.output, end.code, end.message) for end in seen] == [
        ("given", "of given", AgentStatus.COMPLETED, "out", "", ""),
        ("fails", "of fails", AgentStatus.FAILED, None, "wrong", "it went wrong"),
        ("skips", "of skips", AgentStatus.SKIPPED, None, "skipped", "not needed"),
    ]


async def test_to_wait_for_a_child_that_was_skipped_fails_with_its_reason_on_every_driver() -> None:
    async def skips(ctx: Context, value: Any) -> Any:
        raise Skipped("not needed")

    seen: list[Any] = []

    async def root(ctx: Context, value: Any) -> Any:
        try:
            await ctx.wait(await ctx.fork("skips", None))
        except StepFailed as failure:
            seen.append(failure.as_json())
        return await ctx.ask("input", {"question": "?"})

    case = Case({"root": root, "skips": skips})
    await case.drive()
    await case.drive()

    assert seen == [{"code": "skipped", "message": "not needed", "retryable": False}] * 2


# --- limits


async def refused_forks(case: Case, *, times: int, limited: bool = False) -> list[str]:
    """Codes and messages of the forks that a root is refused when it forks so often."""
    refused: list[str] = []

    async def root(ctx: Context, value: Any) -> Any:
        for _ in range(times):
            try:
                await ctx.fork("given", None, limited=limited)
            except StepFailed as failure:
                refused.append(f"{failure.code}: {failure.message}")
        return await ctx.ask("input", {"question": "?"})

    case.programs = {"root": root, "given": given}
    await case.drive()
    first = list(refused)
    refused.clear()
    await case.drive()
    assert refused == first
    return first


@pytest.mark.spec("S98")
async def test_an_agent_that_decides_by_itself_forks_four_and_the_fifth_is_refused_on_every_driver() -> None:
    case = Case({})

    refused = await refused_forks(case, times=6, limited=True)

    assert len(refused) == 2
    assert refused[0].startswith("too_many_agents: This agent has 4 subagents already")
    assert len(case.store.agents(case.execution_id)) == 5
    failed = [step for step in case.store.steps(case.execution_id) if step.status is StepStatus.FAILED]
    assert [step.name for step in failed] == ["given", "given"]


@pytest.mark.spec("S98")
async def test_a_run_has_twenty_agents_and_no_more() -> None:
    case = Case({})

    refused = await refused_forks(case, times=23)

    assert len(refused) == 3
    assert refused[0].startswith("too_many_agents: This run has 20 agents already")


async def test_agents_of_a_plan_do_not_count_towards_what_an_agent_may_fork_by_itself() -> None:
    made: list[Any] = []

    async def root(ctx: Context, value: Any) -> Any:
        for limited in (False, False, False, True):
            made.append(await ctx.fork("given", None, limited=limited))

    await Case({"root": root, "given": given}, limits=Limits(subagents=1)).drive()

    assert len(made) == 4


@pytest.mark.spec("S98")
async def test_agents_are_nested_three_deep_and_the_fourth_is_refused() -> None:
    async def nests(ctx: Context, value: Any) -> Any:
        try:
            return await ctx.wait(await ctx.fork("nests", value + 1))
        except StepFailed as failure:
            return [value, failure.code]

    async def root(ctx: Context, value: Any) -> Any:
        return await nests(ctx, 0)

    case = Case({"root": root, "nests": nests})

    assert (await case.drive()).value == [3, "too_many_agents"]
    assert len(case.store.agents(case.execution_id)) == 4


@pytest.mark.spec("S42")
async def test_an_agent_that_takes_over_is_not_nested_deeper_and_still_counts() -> None:
    async def hands_on(ctx: Context, value: Any) -> Any:
        try:
            return await ctx.wait(await ctx.fork("hands_on", value + 1, takes_over=True))
        except StepFailed as failure:
            return [value, failure.message]

    async def root(ctx: Context, value: Any) -> Any:
        return await hands_on(ctx, 0)

    handed, why = (await Case({"root": root, "hands_on": hands_on}).drive()).value

    assert handed == 20
    assert why.startswith("This run has 20 agents already")
