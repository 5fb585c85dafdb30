"""Another try of a run that is over: what is reused, what is done again, and that no effect is repeated."""

from contextlib import suppress
from typing import Any
from uuid import UUID

import pytest

from agents.engine.context import Context
from agents.engine.copying import comes_after, failed_agents, kept_for_fork, kept_for_retry
from agents.engine.effects import Effect
from agents.engine.errors import OutsideError, Skipped, StepFailed
from agents.engine.states import AgentStatus
from agents.engine.tree import Undone
from tests.engine.driving import Case, End, until


class Weather:
    """A provider that is away until it is told to be there."""

    def __init__(self) -> None:
        self.is_there = False
        self.sent: list[str] = []

    async def step(self, case: Case, ctx: Context, name: str) -> Any:
        if self.is_there:
            return await case.model(ctx, name)
        return await case.failing(ctx, name, OutsideError("away", "it is away", retryable=True))

    async def mail(self, ctx: Context, to: str) -> Any:
        async def send(key: str) -> Any:
            self.sent.append(key)
            return {"number": len(self.sent)}

        return await ctx.effect(Effect("mail", {"to": to}, send))


def diamond(case: Case, weather: Weather) -> None:
    """alpha; then beta, which fails in bad weather, and gamma; then delta. Each sends a mail and asks a model."""

    async def works(ctx: Context, value: Any) -> Any:
        needs = value.get("dependencies", {}).values()
        if any(found["status"] != "completed" for found in needs):
            raise Skipped("something is missing")
        await weather.mail(ctx, value["name"])
        if value["name"] == "beta":
            return await weather.step(case, ctx, "beta")
        return await case.model(ctx, value["name"])

    async def root(ctx: Context, value: Any) -> Any:
        handles: dict[str, Any] = {}
        for name, after in {"alpha": [], "beta": ["alpha"], "gamma": ["alpha"], "delta": ["beta", "gamma"]}.items():
            needs = [handles[other] for other in after]
            handles[name] = await ctx.fork("works", {"name": name}, after=needs, step_id=name, label=name)
        ends = await ctx.all(*[lambda c, handle=handle: c.outcome(handle) for handle in handles.values()])
        told = await ctx.note("told", lambda: [end.status.value for end in ends])
        return [told, await case.model(ctx, "compose", told)]

    case.programs = {"root": root, "works": works}


def agent_called(case: Case, name: str) -> UUID:
    return next(agent.id for agent in case.store.agents(case.execution_id) if agent.name == name)


@pytest.mark.spec("B14")
async def test_a_retry_does_again_what_failed_and_what_needed_it_and_reuses_the_rest() -> None:
    case, weather = Case({}), Weather()
    diamond(case, weather)
    assert (await case.drive()).value[0] == ["completed", "failed", "completed", "skipped"]
    case.performed.clear()
    weather.is_there = True

    past = case.store.past(case.execution_id)
    case.copy(kept_for_retry(past, failed_agents(past)))
    end = await case.drive()

    assert end.value == [["completed"] * 4, "compose!"]
    assert case.performed == ["beta", "delta", "compose"]
    assert len(weather.sent) == len(set(weather.sent)) == 4
    folded = {event["agent_id"]: event["status"] for event in case.events("agent_state")}
    assert folded == {str(agent.id): agent.status for agent in case.store.agents(case.execution_id)}


@pytest.mark.spec("S161", "B14")
async def test_a_task_that_was_not_done_is_recorded_as_failed_and_its_output_is_there_for_others() -> None:
    case, works = Case({}), False

    async def coder(ctx: Context, value: Any) -> Any:
        said = await case.model(ctx, "code")
        return said if works else Undone({"partial": said}, "no_code")

    async def writer(ctx: Context, value: Any) -> Any:
        (needed,) = value["dependencies"].values()
        return [needed["status"], needed["output"]]

    async def root(ctx: Context, value: Any) -> Any:
        first = await ctx.fork("coder", None)
        return await ctx.wait(await ctx.fork("writer", {}, after=[first]))

    case.programs = {"root": root, "coder": coder, "writer": writer}
    end = await case.drive()
    again = await case.drive()
    recorded = {agent.name: (agent.status, agent.error) for agent in case.store.agents(case.execution_id)}
    told = [event for event in case.events("agent_state") if event["agent_name"] == "coder"][-1]
    past = case.store.past(case.execution_id)
    works = True
    case.performed.clear()
    case.copy(kept_for_retry(past, failed_agents(past)))
    better = await case.drive()

    assert end.value == again.value == ["completed", {"partial": "code!"}]
    assert recorded["coder"] == (AgentStatus.FAILED, "no_code")
    assert recorded["writer"] == (AgentStatus.COMPLETED, "")
    assert (told["status"], told["error"]) == ("failed", "no_code")
    assert better.value == ["completed", "code!"]
    assert case.performed == ["code"]


@pytest.mark.spec("B14")
async def test_one_agent_that_had_ended_well_works_again_with_all_that_depends_on_it() -> None:
    case, weather = Case({}), Weather()
    weather.is_there = True
    diamond(case, weather)
    await case.drive()
    case.performed.clear()

    case.copy(kept_for_retry(case.store.past(case.execution_id), [agent_called(case, "gamma")]))
    end = await case.drive()

    assert end.value == [["completed"] * 4, "compose!"]
    assert case.performed == ["gamma", "delta", "compose"]
    assert len(weather.sent) == 4


@pytest.mark.spec("B14")
@pytest.mark.parametrize(
    ("path", "performed", "mails"),
    [
        ((0,), ["one", "two", "of the child", "three"], 1),
        ((1,), ["two", "of the child", "three"], 1),
        ((4,), ["three"], 1),
    ],
)
async def test_a_fork_goes_the_same_way_up_to_its_step(path: Any, performed: Any, mails: int) -> None:
    case, weather = Case({}), Weather()

    async def child(ctx: Context, value: Any) -> Any:
        await weather.mail(ctx, "bob")
        return await case.model(ctx, "of the child")

    async def root(ctx: Context, value: Any) -> Any:
        first = await case.model(ctx, "one")
        second = await case.model(ctx, "two")
        chance = await ctx.note("chance", lambda: len(case.performed))
        handle = await ctx.fork("child", None)
        found = await ctx.wait(handle)
        return [first, second, found, await case.model(ctx, "three", chance)]

    case.programs = {"root": root, "child": child}
    expected = await case.drive()
    case.performed.clear()

    case.copy(kept_for_fork(case.store.past(case.execution_id), case.agent().id, path))

    assert await case.drive() == expected
    assert case.performed == performed
    assert len(weather.sent) == mails


@pytest.mark.spec("B14")
async def test_a_fork_within_a_child_opens_those_above_it_from_its_end_on() -> None:
    case = Case({})

    async def child(ctx: Context, value: Any) -> Any:
        return [await case.model(ctx, f"{value}.{number}") for number in range(3)]

    async def root(ctx: Context, value: Any) -> Any:
        first = await ctx.wait(await ctx.fork("child", "a"))
        between = await case.model(ctx, "between")
        second = await ctx.wait(await ctx.fork("child", "b"))
        return [first, between, second, await case.model(ctx, "last")]

    case.programs = {"root": root, "child": child}
    expected = await case.drive()
    case.performed.clear()

    case.copy(kept_for_fork(case.store.past(case.execution_id), case.agent("root.child-1").id, (1,)))

    assert await case.drive() == expected
    assert case.performed == ["b.1", "b.2", "last"]


@pytest.mark.spec("B14")
async def test_a_root_that_failed_by_itself_goes_on_where_it_did() -> None:
    case, weather = Case({}), Weather()

    async def root(ctx: Context, value: Any) -> Any:
        return [await case.model(ctx, "one"), await weather.step(case, ctx, "two")]

    case.programs = {"root": root}
    assert (await case.drive()).how == "failed"
    weather.is_there = True
    past = case.store.past(case.execution_id)
    case.copy(kept_for_retry(past, failed_agents(past)))

    assert await case.drive() == End("completed", ["one!", "two!"])
    assert case.performed == ["one", "two", "two"]


@pytest.mark.spec("B14")
async def test_a_question_that_nobody_answered_is_asked_anew_and_one_that_was_answered_is_not() -> None:
    case = Case({})

    async def child(ctx: Context, value: Any) -> Any:
        return [await ctx.ask("input", {"question": "one"}), await ctx.ask("input", {"question": "two"})]

    async def root(ctx: Context, value: Any) -> Any:
        return await ctx.wait(await ctx.fork("child", None))

    case.programs = {"root": root, "child": child}
    await case.drive()
    case.answer("1")
    await case.drive()

    case.copy(kept_for_retry(case.store.past(case.execution_id), []))
    assert (await case.drive()).how == "waiting"
    asked = case.open_requests
    case.answer("2")

    assert [one.question["question"] for one in asked] == ["two"]
    assert await case.drive() == End("completed", ["1", "2"])


async def test_an_agent_whose_time_was_up_stays_cancelled_and_one_that_the_end_interrupted_goes_on() -> None:
    case, weather = Case({}), Weather()

    async def hangs(ctx: Context, value: Any) -> Any:
        await case.model(ctx, "hangs")
        return await ctx.ask("input", {"question": "?"})

    async def fails(ctx: Context, value: Any) -> Any:
        return await weather.step(case, ctx, "fails")

    async def root(ctx: Context, value: Any) -> Any:
        async def body(c: Context) -> Any:
            await c.fork("works", None)
            await until(lambda: False, turns=1_000_000)

        with suppress(StepFailed):
            await ctx.within(0, body, name="attempt")
        other = await ctx.fork("hangs", None)
        return [await ctx.wait(await ctx.fork("fails", None)), await ctx.wait(other)]

    async def works(ctx: Context, value: Any) -> Any:
        await until(lambda: False, turns=1_000_000)

    case.programs = {"root": root, "hangs": hangs, "fails": fails, "works": works}
    assert (await case.drive()).how == "failed"
    weather.is_there = True
    past = case.store.past(case.execution_id)
    case.copy(kept_for_retry(past, failed_agents(past)))
    assert (await case.drive()).how == "waiting"

    now = {agent.name: agent.status for agent in case.store.agents(case.execution_id)}
    assert now["hangs"] is AgentStatus.AWAITING_USER
    assert now["fails"] is AgentStatus.COMPLETED
    assert now.get("works", AgentStatus.CANCELLED) is AgentStatus.CANCELLED
    assert case.performed.count("hangs") == 1


@pytest.mark.parametrize(
    ("path", "after", "before"),
    [
        ((2,), [(2,), (3,), (2, 0, 0), (4, 1, 0)], [(0,), (1,), (1, 5, 5)]),
        ((1, 0, 2), [(1, 0, 2), (1, 0, 3), (2,), (2, 0, 0), (1,)], [(0,), (1, 0, 1), (1, 1, 7), (0, 9, 9)]),
    ],
)
def test_what_comes_after_a_step_may_have_seen_it_and_branches_beside_it_have_not(
    path: Any, after: list[Any], before: list[Any]
) -> None:
    assert [other for other in after + before if comes_after(path, other)] == after
