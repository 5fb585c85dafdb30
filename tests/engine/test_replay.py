"""What a replay gives back, and what is shown once; the tree of agents."""

from collections.abc import Callable
from typing import Any

import pytest

from agents.engine.context import Context
from agents.engine.effects import Effect
from agents.engine.errors import OutsideError, StepFailed
from agents.engine.records import AgentRecord
from agents.engine.states import AgentStatus, StepStatus
from tests.doubles.memory_journal import Death
from tests.engine.driving import Case, say, until_it_waits

BUSY = OutsideError("busy", "the provider is busy", retryable=True)


@pytest.mark.spec("B1", "S67")
async def test_a_replay_returns_what_was_recorded_and_performs_nothing() -> None:
    case = Case({})
    seen: list[Any] = []

    async def program(ctx: Context, value: Any) -> Any:
        model = await case.model(ctx, "flash", response={"text": ["yes", 1.5, None]})
        chance = await ctx.note("chance", lambda: len(seen) + 1)
        now = await ctx.now()
        branches = await ctx.all(lambda c: case.model(c, "left"), lambda c: case.model(c, "right"))
        seen.append((model, chance, now, branches))
        return await ctx.ask("input", {"question": "And now?"})

    await until_it_waits(case, program)
    case.answer({"text": "go on"})
    end = await case.drive()

    assert (end.how, end.value) == ("completed", {"text": "go on"})
    assert case.performed == []
    assert seen[0] == seen[1]
    assert seen[0][1] == 1


async def test_the_first_run_sees_a_value_as_the_replay_does() -> None:
    case = Case({})
    seen: list[Any] = []

    async def program(ctx: Context, value: Any) -> None:
        seen.append(await case.model(ctx, "flash", response={"pair": (1, 2), "3": 1e16, "zero": -0.0}))
        seen.append(await ctx.effect(Effect("send", {"to": ("a", "b")}, _returns({"ids": (1,)}))))
        await ctx.ask("input", {"options": ("x", "y")})

    await until_it_waits(case, program)
    await case.drive()

    assert seen[:2] == seen[2:] == [{"pair": [1, 2], "3": 10**16, "zero": 0.0}, {"ids": [1]}]
    assert [type(value) for value in seen[0].values()] == [type(value) for value in seen[2].values()]


def _returns(value: Any) -> Any:
    async def perform(key: str) -> Any:
        return value

    return perform


@pytest.mark.spec("S68")
async def test_every_step_is_saved_as_soon_as_it_is_done() -> None:
    case = Case({})

    async def program(ctx: Context, value: Any) -> str:
        for number in range(4):
            await case.model(ctx, f"step {number}")
            saved = [step.name for step in case.store.steps(case.execution_id)]
            assert saved == [f"step {done}" for done in range(number + 1)]
        return "done"

    case.programs = {"root": program}

    assert (await case.drive()).value == "done"


async def test_a_failure_is_recorded_and_raised_again_the_same() -> None:
    case = Case({})
    seen: list[StepFailed] = []

    async def program(ctx: Context, value: Any) -> None:
        try:
            await case.failing(ctx, "flash", BUSY)
        except StepFailed as failure:
            seen.append(failure)
        await ctx.ask("input", {})

    await until_it_waits(case, program)
    await case.drive()

    first, replayed = seen
    assert case.performed == []
    assert (
        first.as_json() == replayed.as_json() == {"code": "busy", "message": "the provider is busy", "retryable": True}
    )
    assert str(first) == str(replayed)


async def test_a_failure_that_nobody_catches_is_the_runs_own_on_every_driver() -> None:
    case = Case({})

    async def program(ctx: Context, value: Any) -> None:
        await case.failing(ctx, "flash", BUSY)

    case.programs = {"root": program}
    killed = await case.drive(death=Death.WRITE_IS_LOST, at=3)
    end = await case.drive()

    assert (killed.how, end.how) == ("killed", "failed")
    assert end.value["code"] == "busy"
    assert case.performed == ["flash"]
    assert case.agent().status is AgentStatus.FAILED


async def test_a_bug_of_the_program_is_not_recorded_as_a_step() -> None:
    case = Case({})

    async def program(ctx: Context, value: Any) -> Any:
        return await ctx.note("wrong", lambda: 1 // 0)

    case.programs = {"root": program}

    with pytest.raises(ZeroDivisionError):
        await case.drive()
    assert case.store.steps(case.execution_id) == []


# --- all


@pytest.mark.parametrize("slow", [0, 1, 2])
async def test_all_raises_the_first_failure_in_order_whatever_the_timing(slow: int) -> None:
    case = Case({})
    seen: list[str] = []

    def branch(number: int) -> Callable[[Any], Any]:
        async def body(ctx: Context) -> str:
            for turn in range(5 if number == slow else 1):
                await case.model(ctx, f"{number}.{turn}")
            if number:
                await case.failing(ctx, "fails", OutsideError(f"code {number}", "no"))
            return "well"

        return body

    async def program(ctx: Context, value: Any) -> None:
        try:
            await ctx.all(branch(0), branch(1), branch(2))
        except StepFailed as failure:
            seen.append(failure.code)
        await ctx.ask("input", {})

    await until_it_waits(case, program)
    await case.drive()

    assert seen == ["code 1", "code 1"]
    assert len(case.store.steps(case.execution_id)) == 3 + 4 + 2 + 1
    assert case.performed == []


async def test_all_gives_the_results_in_the_order_of_the_branches() -> None:
    case = Case({})

    async def slow(ctx: Context) -> str:
        for turn in range(5):
            await case.model(ctx, f"{turn}")
        return "slow"

    async def program(ctx: Context, value: Any) -> Any:
        assert await ctx.all() == []
        return await ctx.all(slow, lambda c: case.model(c, "fast"))

    case.programs = {"root": program}

    assert (await case.drive()).value == ["slow", "fast!"]


async def test_a_branch_may_give_a_failure_back_as_its_value() -> None:
    case = Case({})

    async def branch(ctx: Context) -> StepFailed | None:
        try:
            await case.failing(ctx, "flash", BUSY)
        except StepFailed as failure:
            return failure
        return None

    async def program(ctx: Context, value: Any) -> Any:
        failure, well = await ctx.all(branch, lambda c: case.model(c, "pro"))
        return [failure.code, well]

    case.programs = {"root": program}

    assert (await case.drive()).value == ["busy", "pro!"]


# --- emissions


async def test_what_is_said_is_said_once_over_all_replays() -> None:
    case = Case({})

    async def program(ctx: Context, value: Any) -> Any:
        say(ctx, "a")
        say(ctx, "a")
        await case.model(ctx, "flash")
        say(ctx, "b")

        async def branch(c: Context) -> None:
            say(c, "in a branch")
            await case.model(c, "flash")
            say(c, "in a branch")

        await ctx.all(branch, branch)
        for number in range(3):
            await ctx.ask("input", {"number": number})
            say(ctx, f"{number}")
        return "done"

    case.programs = {"root": program}
    while (await case.drive()).how == "waiting":
        case.answer({"text": "yes"})

    assert case.titles == ["a", "a", "b", *["in a branch"] * 4, "0", "1", "2"]


@pytest.mark.parametrize("dying", [Death.WRITE_IS_LOST, Death.WRITE_IS_STORED])
async def test_what_a_performer_says_does_not_swallow_or_double_what_is_said_after_it(dying: Death) -> None:
    case = Case({})

    async def program(ctx: Context, value: Any) -> Any:
        async def send(key: str) -> str:
            say(ctx, "sending")
            return "sent"

        say(ctx, "before")
        await ctx.effect(Effect("mail", {}, send))
        say(ctx, "after")
        return await ctx.ask("input", {"question": "?"})

    case.programs = {"root": program}
    # The driver's writes: the agent, "before", the effect as started, "sending", the effect as finished, "after".
    killed = await case.drive(death=dying, at=6)
    for _ in range(2):
        assert (await case.drive()).how == "waiting"

    assert killed.how == "killed"
    assert case.titles == ["before", "sending", "after"]


async def test_an_emission_inserted_before_a_step_hides_none_behind_it() -> None:
    case = Case({})

    def program_with(*first: str) -> Any:
        async def program(ctx: Context, value: Any) -> Any:
            for text in first:
                say(ctx, text)
            await case.model(ctx, "flash")
            await ctx.ask("input", {})
            say(ctx, "one")
            say(ctx, "two")

        return program

    await until_it_waits(case, program_with())
    case.answer("go on")
    case.programs = {"root": program_with("new", "newer")}
    await case.drive(death=Death.WRITE_IS_LOST, at=5)
    await case.drive()

    assert case.titles == ["new", "newer", "one", "two"]


# --- the tree


@pytest.mark.spec("S90")
async def test_every_agent_has_an_id_of_its_own_and_its_parents() -> None:
    async def leaf(ctx: Context, value: Any) -> Any:
        return value

    async def branch(ctx: Context, value: Any) -> Any:
        handles = [await ctx.fork("leaf", number) for number in range(2)]
        return [await ctx.wait(handle) for handle in handles]

    async def root(ctx: Context, value: Any) -> Any:
        handles = [await ctx.fork("branch", None, task="count"), await ctx.fork("branch", None)]
        return [await ctx.wait(handle) for handle in handles]

    case = Case({"root": root, "branch": branch, "leaf": leaf})
    end = await case.drive()

    agents = {agent.lineage: agent for agent in case.store.agents(case.execution_id)}
    assert end.value == [[0, 1], [0, 1]]
    assert len({agent.id for agent in agents.values()}) == len(agents) == 7

    def parent_of(agent: AgentRecord) -> str | None:
        return next((other.lineage for other in agents.values() if other.id == agent.parent_id), None)

    assert {lineage: parent_of(agent) for lineage, agent in agents.items()} == {
        "root": None,
        "root.branch-0": "root",
        "root.branch-1": "root",
        "root.branch-0.leaf-0": "root.branch-0",
        "root.branch-0.leaf-1": "root.branch-0",
        "root.branch-1.leaf-0": "root.branch-1",
        "root.branch-1.leaf-1": "root.branch-1",
    }
    assert {event["parent_id"] for event in case.events("agent_state") if event["agent_name"] == "leaf"} == {
        str(agents["root.branch-0"].id),
        str(agents["root.branch-1"].id),
    }


@pytest.mark.spec("S69")
async def test_a_child_starts_from_its_input_as_it_was_at_the_fork() -> None:
    context = {"tenant_id": "acme", "trace_id": "t-1", "notes": ["first"]}

    async def child(ctx: Context, value: Any) -> Any:
        await ctx.note("a turn", lambda: None)
        return value

    async def root(ctx: Context, value: Any) -> Any:
        handle = await ctx.fork("child", context)
        context["notes"].append("later")  # type: ignore[attr-defined]
        return await ctx.wait(handle)

    end = await Case({"root": root, "child": child}).drive()

    assert end.value == {"tenant_id": "acme", "trace_id": "t-1", "notes": ["first"]}


@pytest.mark.spec("B1", "S67")
async def test_a_child_that_ended_is_not_run_again_by_the_code_of_today() -> None:
    ran: list[str] = []

    def child_of(version: str) -> Any:
        async def child(ctx: Context, value: Any) -> Any:
            ran.append(version)
            if value == "fails":
                raise StepFailed("no", "it cannot be done")
            return version

        return child

    async def root(ctx: Context, value: Any) -> Any:
        well, failing = await ctx.fork("child", "works"), await ctx.fork("child", "fails")
        results = [await ctx.wait(well)]
        try:
            await ctx.wait(failing)
        except StepFailed as failure:
            results.append(failure.as_json())
        return [*results, await ctx.ask("input", {})]

    case = Case({"child": child_of("old")})
    await until_it_waits(case, root)
    case.programs = {"root": root, "child": child_of("new")}
    case.answer("go on")
    end = await case.drive()

    assert end.value == ["old", {"code": "no", "message": "it cannot be done", "retryable": False}, "go on"]
    assert ran == ["old", "old"]
    child = case.agent("root.child-1")
    assert (child.status, child.error) == (AgentStatus.FAILED, "it cannot be done")


@pytest.mark.spec("S66")
async def test_a_run_goes_on_from_json_alone() -> None:
    """The store keeps nothing but JSON; objects of the first process (here a secret) are in none of it."""
    case = Case({})

    class Model:
        secret = "sk-very-secret"

    async def program(ctx: Context, value: Any) -> Any:
        model = Model()
        text = await case.model(
            ctx, "flash", {"messages": [{"role": "user", "content": "hi"}]}, response=len(model.secret)
        )
        return [text, await ctx.ask("input", {"title": "A title"})]

    await until_it_waits(case, program)
    kept = repr(case.store.history(case.execution_id)) + repr(case.store.events(case.execution_id))
    case.answer("go on")

    assert (await case.drive()).value == [14, "go on"]
    assert "A title" in kept
    assert "sk-very-secret" not in kept
    assert all(step.status is StepStatus.FINISHED for step in case.store.steps(case.execution_id))
