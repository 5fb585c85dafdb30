"""Where the code differs from the journal: what is cut, what stays, and that no effect is repeated."""

from typing import Any

import pytest

from agents.engine.context import Context, Outcome
from agents.engine.effects import Effect
from agents.engine.states import StepKind
from tests.doubles.memory_journal import Death
from tests.engine.driving import Case, say, until_it_waits


async def three_steps_and_a_question(case: Case, ctx: Context, *, second: Any) -> Any:
    first = await case.model(ctx, "first")
    changed = await second(ctx)
    third = await case.model(ctx, "third")
    return [first, changed, third, await ctx.ask("input", {"question": "?"})]


@pytest.mark.parametrize(
    ("now", "reason"),
    [
        pytest.param(
            lambda case: lambda ctx: ctx.note("second", lambda: "noted"),
            "was a model step, is now a note step",
            id="another kind",
        ),
        pytest.param(lambda case: lambda ctx: case.model(ctx, "other"), "was second, is now other", id="another name"),
        pytest.param(
            lambda case: lambda ctx: case.model(ctx, "second", {"prompt": "new"}),
            "second is called with another request than before",
            id="another request",
        ),
        pytest.param(
            lambda case: lambda ctx: ctx.all(lambda c: case.model(c, "in a branch")),
            "a single step is now a fan-out",
            id="a fan-out",
        ),
    ],
)
async def test_a_call_that_differs_cuts_the_journal_there_and_what_follows_is_done_anew(now: Any, reason: str) -> None:
    case = Case({})

    async def before(ctx: Context, value: Any) -> Any:
        return await three_steps_and_a_question(case, ctx, second=lambda c: case.model(c, "second"))

    async def after(ctx: Context, value: Any) -> Any:
        return await three_steps_and_a_question(case, ctx, second=now(case))

    await until_it_waits(case, before)
    await waits_again(case, after)

    cut = case.events("journal_cut")
    assert [(event["path"], event["reason"]) for event in cut] == [("1", reason)]
    names = [step.name for step in sorted(case.store.steps(case.execution_id), key=lambda step: step.path)]
    assert (names[0], names[-2:]) == ("first", ["third", "input"])
    assert "first" not in case.performed
    assert case.performed[-1] == "third"


async def waits_again(case: Case, program: Any) -> None:
    case.programs = {**case.programs, "root": program}
    assert (await case.drive()).how == "waiting"


async def test_a_fan_out_that_became_a_single_step_is_cut() -> None:
    case = Case({})

    async def before(ctx: Context, value: Any) -> Any:
        return await three_steps_and_a_question(
            case, ctx, second=lambda c: c.all(lambda d: case.model(d, "left"), lambda d: case.model(d, "right"))
        )

    async def after(ctx: Context, value: Any) -> Any:
        return await three_steps_and_a_question(case, ctx, second=lambda c: case.model(c, "second"))

    await until_it_waits(case, before)
    await waits_again(case, after)

    assert [event["reason"] for event in case.events("journal_cut")] == ["a fan-out is now a single step"]
    assert case.performed == ["second", "third"]
    assert sorted(step.path for step in case.store.steps(case.execution_id)) == [(0,), (1,), (2,), (3,)]


async def test_a_read_that_became_an_effect_is_cut_and_not_taken_for_done() -> None:
    case = Case({})
    sent: list[str] = []

    async def send(key: str) -> str:
        sent.append(key)
        return "sent"

    async def before(ctx: Context, value: Any) -> Any:
        async def perform() -> Outcome:
            return Outcome("looked")

        return [await ctx.step(StepKind.TOOL, "mail", {"to": "bob"}, perform), await ctx.ask("input", {})]

    async def after(ctx: Context, value: Any) -> Any:
        return [await ctx.effect(Effect("mail", {"to": "bob"}, send)), await ctx.ask("input", {})]

    await until_it_waits(case, before)
    await waits_again(case, after)

    assert len(sent) == 1
    assert len(case.events("journal_cut")) == 1


async def test_a_cut_in_one_branch_leaves_the_others_alone() -> None:
    case = Case({})

    def program_with(name: str) -> Any:
        async def program(ctx: Context, value: Any) -> Any:
            async def left(c: Context) -> None:
                await case.model(c, "left 0")
                await case.model(c, name)
                await case.model(c, "left 2")

            async def right(c: Context) -> None:
                await case.model(c, "right 0")
                await case.model(c, "right 1")

            await ctx.all(left, right)
            await case.model(ctx, "after")
            return await ctx.ask("input", {})

        return program

    await until_it_waits(case, program_with("old"))
    await waits_again(case, program_with("new"))

    assert case.performed == ["new", "left 2"]
    assert [event["path"] for event in case.events("journal_cut")] == ["0.0.1"]


async def test_a_second_replay_after_a_cut_finds_nothing_to_cut() -> None:
    case = Case({})

    async def before(ctx: Context, value: Any) -> Any:
        return await three_steps_and_a_question(case, ctx, second=lambda c: case.model(c, "second"))

    async def after(ctx: Context, value: Any) -> Any:
        return await three_steps_and_a_question(case, ctx, second=lambda c: case.model(c, "other"))

    await until_it_waits(case, before)
    await waits_again(case, after)
    case.performed.clear()
    await waits_again(case, after)

    assert len(case.events("journal_cut")) == 1
    assert case.performed == []


@pytest.mark.parametrize("death", list(Death))
@pytest.mark.parametrize("at", range(1, 8))
async def test_a_death_in_the_midst_of_a_cut_leaves_a_journal_that_goes_on(death: Death, at: int) -> None:
    case = Case({})
    sent: list[str] = []

    def program_with(name: str) -> Any:
        async def program(ctx: Context, value: Any) -> Any:
            async def send(key: str) -> str:
                sent.append(key)
                return "sent"

            say(ctx, "before")
            await case.model(ctx, name)
            say(ctx, "after")
            await ctx.effect(Effect("mail", {"to": "bob"}, send))
            return await ctx.ask("input", {"question": name})

        return program

    await until_it_waits(case, program_with("old"))
    case.programs = {"root": program_with("new")}
    await case.drive(death=death, at=at)
    await case.drive()
    for asked in case.open_requests:
        case.store.answer(asked.request_id, {"text": asked.question["question"]})
    end = await case.drive()

    assert (end.how, end.value) == ("completed", {"text": "new"})
    assert len(sent) == 1
    assert case.titles == ["before", "after", "after"]
    assert [event.seq for event in case.store.events(case.execution_id)] == list(
        range(1, len(case.store.events(case.execution_id)) + 1)
    )


# --- a cut and forks


@pytest.mark.spec("S90", "B2")
async def test_a_fork_that_was_cut_ends_as_cancelled_and_its_successor_repeats_no_effect() -> None:
    case = Case({})
    sent: list[str] = []

    async def send(key: str) -> str:
        sent.append(key)
        return "sent"

    async def child(ctx: Context, value: Any) -> Any:
        await ctx.effect(Effect("mail", {"to": "bob"}, send))
        grandchild = await ctx.fork("grandchild", None)
        return [value, await ctx.wait(grandchild)]

    async def grandchild(ctx: Context, value: Any) -> Any:
        await ctx.effect(Effect("mail", {"to": "bob"}, send))
        return await ctx.ask("input", {"question": "?"})

    def root_with(value: str) -> Any:
        async def root(ctx: Context, _: Any) -> Any:
            return await ctx.wait(await ctx.fork("child", value))

        return root

    case.programs = {"child": child, "grandchild": grandchild}
    await until_it_waits(case, root_with("old"))
    assert len(sent) == 2
    await waits_again(case, root_with("new"))
    for asked in case.open_requests:
        case.store.answer(asked.request_id, {"text": "yes"})
    end = await case.drive()

    assert (end.how, end.value) == ("completed", ["new", {"text": "yes"}])
    assert len(sent) == 2
    agents = case.store.agents(case.execution_id)
    assert sorted(f"{agent.name} {agent.status}" for agent in agents) == [
        "child cancelled",
        "child completed",
        "grandchild cancelled",
        "grandchild completed",
        "root completed",
    ]
    folded = {event["agent_id"]: event["status"] for event in case.events("agent_state")}
    assert folded == {str(agent.id): agent.status for agent in agents}


@pytest.mark.spec("B2")
async def test_a_step_inserted_before_an_effect_does_not_repeat_it() -> None:
    case = Case({})
    sent: list[str] = []

    def program_with(*names: str) -> Any:
        async def program(ctx: Context, value: Any) -> Any:
            async def send(key: str) -> Any:
                sent.append(key)
                return {"number": len(sent)}

            for name in names:
                await case.model(ctx, name)
            results = [await ctx.effect(Effect("mail", {"to": "bob"}, send)) for _ in range(2)]
            return [*results, await ctx.ask("input", {})]

        return program

    await until_it_waits(case, program_with("first"))
    await waits_again(case, program_with("inserted", "first", "another"))
    case.answer("ok", to=-1)
    end = await case.drive()

    assert end.value == [{"number": 1}, {"number": 2}, "ok"]
    assert len(set(sent)) == len(sent) == 2


@pytest.mark.spec("B2")
async def test_an_effect_of_a_branch_is_not_repeated_when_the_call_before_the_fan_out_changes() -> None:
    case = Case({})
    sent: list[str] = []

    def program_with(name: str) -> Any:
        async def program(ctx: Context, value: Any) -> Any:
            async def send(key: str) -> None:
                sent.append(key)

            await case.model(ctx, name)
            for _ in range(2):
                await ctx.all(*[lambda c: c.effect(Effect("mail", {"to": "bob"}, send)) for _ in range(2)])
            return await ctx.ask("input", {})

        return program

    await until_it_waits(case, program_with("old"))
    await waits_again(case, program_with("new"))

    assert len(set(sent)) == len(sent) == 4


@pytest.mark.spec("S90")
async def test_a_child_that_had_ended_stays_as_it_ended_when_its_fork_is_cut() -> None:
    case = Case({})

    async def child(ctx: Context, value: Any) -> Any:
        return value

    def root_with(value: str) -> Any:
        async def root(ctx: Context, _: Any) -> Any:
            return [await ctx.wait(await ctx.fork("child", value)), await ctx.ask("input", {"question": "?"})]

        return root

    case.programs = {"child": child}
    await until_it_waits(case, root_with("old"))
    await waits_again(case, root_with("new"))

    children = [agent for agent in case.store.agents(case.execution_id) if agent.name == "child"]
    assert sorted((agent.output, agent.status.value) for agent in children) == [
        ("new", "completed"),
        ("old", "completed"),
    ]


async def test_what_is_said_after_a_cut_is_said_again_by_the_driver_that_cut() -> None:
    case = Case({})

    def program_with(name: str) -> Any:
        async def program(ctx: Context, value: Any) -> Any:
            say(ctx, "before")
            await case.model(ctx, name)
            say(ctx, "after")
            return await ctx.ask("input", {"question": "?"})

        return program

    await until_it_waits(case, program_with("old"))
    await waits_again(case, program_with("new"))

    assert case.titles == ["before", "after", "after"]
