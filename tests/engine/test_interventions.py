"""What people do to agents while a run goes on: delete, modify, tell them something. Once, whatever is killed."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from agents.engine.context import Context, Outcome
from agents.engine.effects import Effect
from agents.engine.errors import StepFailed
from agents.engine.interventions import intervene
from agents.engine.records import AgentRecord
from agents.engine.states import AgentStatus, EffectStatus, InterventionKind, StepKind
from tests.doubles.memory_journal import Death
from tests.engine.driving import Case, End, Gate, say, until

DELETE, MODIFY, COMMENT, STEER = InterventionKind


def statuses(case: Case) -> dict[str, str]:
    return {agent.lineage: agent.status.value for agent in case.store.agents(case.execution_id)}


def has_agent(case: Case, lineage: str) -> bool:
    return lineage in statuses(case)


async def waits_for(ctx: Context, *handles: Any) -> list[Any]:
    async def one(c: Context, handle: Any) -> Any:
        try:
            return await c.wait(handle)
        except StepFailed as failure:
            return [failure.code, failure.message]

    return await ctx.all(*[lambda c, handle=handle: one(c, handle) for handle in handles])


def check_log(case: Case) -> None:
    """The states folded from the events are those of the tables, and every wish is applied."""
    folded = {event["agent_id"]: event["status"] for event in case.events("agent_state")}
    assert folded == {str(agent.id): agent.status for agent in case.store.agents(case.execution_id)}
    _, loaded = case.store.take_over(case.execution_id)
    assert all(wish.applied for wish in loaded.interventions.values())


# --- delete


@pytest.mark.spec("S94", "S100", "S106", "B15")
async def test_a_deleted_agent_stops_with_all_below_it_and_the_others_go_on_undisturbed() -> None:
    stopped, other = Gate(), Gate()

    async def child(ctx: Context, value: Any) -> Any:
        below = await ctx.fork("below", None)
        return await ctx.all(stopped.step, lambda c: c.wait(below))

    async def below(ctx: Context, value: Any) -> Any:
        return await stopped.step(ctx)

    async def bystander(ctx: Context, value: Any) -> Any:
        return await other.step(ctx, "undisturbed")

    async def root(ctx: Context, value: Any) -> Any:
        return await waits_for(ctx, await ctx.fork("child", None), await ctx.fork("bystander", None))

    case = Case({"root": root, "child": child, "below": below, "bystander": bystander})
    async with case.driving() as (run, driver):
        await until(lambda: stopped.entered == 2 and other.entered)
        case.intervene(DELETE, lineage="root.child-0", run=run)
        await until(lambda: stopped.cancelled == 2, turns=10)
        assert not driver.done()
        other.open()
        end = await driver

    assert end.value == [["deleted", "child was stopped by a person."], "undisturbed"]
    assert (stopped.entered, other.entered, other.cancelled) == (2, 1, 0)
    assert statuses(case) == {
        "root": "completed",
        "root.child-0": "deleted",
        "root.child-0.below-0": "deleted",
        "root.bystander-0": "completed",
    }
    assert case.agent("root.child-0").user_comment == "delete"
    check_log(case)


@pytest.mark.spec("S106")
async def test_an_agent_is_deleted_while_a_person_is_asked_and_its_question_is_withdrawn() -> None:
    other = Gate()

    async def child(ctx: Context, value: Any) -> Any:
        return await ctx.ask("input", {"question": "?"})

    async def root(ctx: Context, value: Any) -> Any:
        handle = await ctx.fork("child", None)
        return await ctx.all(lambda c: waits_for(c, handle), other.step)

    case = Case({"root": root, "child": child})
    async with case.driving() as (run, driver):
        await until(lambda: case.open_requests and other.entered)
        case.intervene(DELETE, lineage="root.child-0", run=run)
        await until(lambda: not run.open_questions)
        assert case.open_requests == []
        other.open()

        assert (await driver).value == [[["deleted", "child was stopped by a person."]], "slow"]
    check_log(case)


@pytest.mark.spec("S106")
async def test_an_agent_of_a_run_that_waits_is_deleted_at_the_next_load() -> None:
    async def child(ctx: Context, value: Any) -> Any:
        return await ctx.ask("input", {"question": "?"})

    async def root(ctx: Context, value: Any) -> Any:
        return [await waits_for(ctx, await ctx.fork("child", None)), await case.model(ctx, "after")]

    case = Case({"root": root, "child": child})
    assert (await case.drive()).how == "waiting"
    case.intervene(DELETE, lineage="root.child-0")

    assert (await case.drive()).value == [[["deleted", "child was stopped by a person."]], "after!"]
    assert case.open_requests == []
    check_log(case)


async def test_one_that_has_not_begun_is_deleted_and_never_begins() -> None:
    gate = Gate()

    async def first(ctx: Context, value: Any) -> Any:
        return await gate.step(ctx)

    async def second(ctx: Context, value: Any) -> Any:
        return await case.model(ctx, "of the second")

    async def third(ctx: Context, value: Any) -> Any:
        return [found["status"] for found in value["dependencies"].values()]

    async def root(ctx: Context, value: Any) -> Any:
        one = await ctx.fork("first", {})
        two = await ctx.fork("second", {}, after=[one])
        return await waits_for(ctx, one, two, await ctx.fork("third", {}, after=[two]))

    case = Case({"root": root, "first": first, "second": second, "third": third})
    async with case.driving() as (run, driver):
        await until(lambda: gate.entered and has_agent(case, "root.third-0"))
        case.intervene(DELETE, lineage="root.second-0", run=run)
        await until(lambda: statuses(case)["root.third-0"] == "completed")
        gate.open()
        end = await driver

    assert end.value == ["slow", ["deleted", "second was stopped by a person."], ["deleted"]]
    assert case.performed == []
    check_log(case)


async def test_a_child_that_is_deleted_before_its_first_step_ends_all_the_same() -> None:
    entered: list[str] = []

    async def child(ctx: Context, value: Any) -> Any:
        entered.append("child")

    async def root(ctx: Context, value: Any) -> Any:
        handle = await ctx.fork("child", None)
        case.intervene(DELETE, lineage="root.child-0", run=ctx.run)
        return await waits_for(ctx, handle)

    case = Case({"root": root, "child": child})

    assert (await case.drive()).value == [["deleted", "child was stopped by a person."]]
    assert entered == []
    check_log(case)


async def test_a_branch_that_is_deleted_before_its_first_step_leaves_the_count_right() -> None:
    """The run must come to rest when its last question is the only thing left, and not before."""
    other = Gate()

    async def child(ctx: Context, value: Any) -> Any:
        async def branch(c: Context) -> Any:
            return await case.model(c, "never")

        async def deletes(c: Context) -> Any:
            case.intervene(DELETE, lineage="root.child-0", run=c.run)
            await asyncio.Event().wait()

        return await ctx.all(deletes, branch, branch)

    async def asks(ctx: Context, value: Any) -> Any:
        return await ctx.ask("input", {"question": "?"})

    async def root(ctx: Context, value: Any) -> Any:
        handles = [await ctx.fork("child", None), await ctx.fork("asks", None)]
        return await ctx.all(lambda c: waits_for(c, *handles), other.step)

    case = Case({"root": root, "child": child, "asks": asks})
    async with case.driving() as (_, driver):
        await until(lambda: case.open_requests and statuses(case)["root.child-0"] == "deleted")
        for _ in range(20):
            await asyncio.sleep(0)
        assert not driver.done()
        other.open()

        assert (await driver).how == "waiting"


async def test_two_that_wait_for_an_agent_are_both_told_that_it_was_deleted() -> None:
    gate = Gate()

    async def child(ctx: Context, value: Any) -> Any:
        return await gate.step(ctx)

    async def root(ctx: Context, value: Any) -> Any:
        handle = await ctx.fork("child", None)
        outcome, waited = await ctx.all(lambda c: c.outcome(handle), lambda c: waits_for(c, handle))
        return [outcome.status, waited[0][0], await ctx.ask("input", {"question": "?"})]

    case = Case({"root": root, "child": child})
    async with case.driving() as (run, driver):
        await until(lambda: gate.entered)
        case.intervene(DELETE, lineage="root.child-0", run=run)
        assert (await driver).how == "waiting"
    case.answer("yes")

    assert (await case.drive()).value == ["deleted", "deleted", "yes"]


async def test_an_agent_that_ignores_that_it_is_stopped_writes_nothing_more() -> None:
    gate = Gate()

    async def child(ctx: Context, value: Any) -> Any:
        try:
            await gate.step(ctx)
        except asyncio.CancelledError:
            say(ctx, "still here")
        return "done after all"

    async def root(ctx: Context, value: Any) -> Any:
        return await waits_for(ctx, await ctx.fork("child", None))

    case = Case({"root": root, "child": child})
    async with case.driving() as (run, driver):
        await until(lambda: gate.entered)
        case.intervene(DELETE, lineage="root.child-0", run=run)
        end = await driver

    assert end.value == [["deleted", "child was stopped by a person."]]
    assert case.titles == []
    check_log(case)


async def test_an_agent_that_ends_well_although_it_was_stopped_stays_deleted() -> None:
    gate = Gate()

    async def child(ctx: Context, value: Any) -> Any:
        with suppress(asyncio.CancelledError):
            await gate.step(ctx)
        return "done after all"

    async def root(ctx: Context, value: Any) -> Any:
        return await waits_for(ctx, await ctx.fork("child", None))

    case = Case({"root": root, "child": child})
    async with case.driving() as (run, driver):
        await until(lambda: gate.entered)
        case.intervene(DELETE, lineage="root.child-0", run=run)
        end = await driver

    assert end.value == [["deleted", "child was stopped by a person."]]
    assert statuses(case)["root.child-0"] == "deleted"


async def test_what_comes_too_late_for_an_agent_changes_nothing() -> None:
    async def child(ctx: Context, value: Any) -> Any:
        return "done"

    async def root(ctx: Context, value: Any) -> Any:
        return [await ctx.wait(await ctx.fork("child", None)), await ctx.ask("input", {"question": "?"})]

    case = Case({"root": root, "child": child})
    await case.drive()
    for kind in (DELETE, MODIFY, COMMENT):
        case.intervene(kind, "late", lineage="root.child-0")
    case.answer("yes")

    assert (await case.drive()).value == ["done", "yes"]
    assert case.agent("root.child-0").modified is False
    check_log(case)


async def test_the_root_is_neither_deleted_nor_modified_by_its_engine() -> None:
    async def root(ctx: Context, value: Any) -> Any:
        return await ctx.ask("input", {"question": "?"})

    case = Case({"root": root})
    await case.drive()
    case.intervene(DELETE, lineage="root")
    case.intervene(MODIFY, "other", lineage="root")
    assert (await case.drive()).how == "waiting"
    case.answer("yes")

    assert (await case.drive()).value == "yes"
    check_log(case)


# --- modify


def works(case: Case, gate: Gate) -> Any:
    """A child that sends a mail, forks another one, and says what its task was."""

    async def child(ctx: Context, value: Any) -> Any:
        async def send(key: str) -> Any:
            case.performed.append("mail")
            return "sent"

        say(ctx, f"begins with {value['task']}")
        await ctx.effect(Effect("mail", {"to": "bob"}, send))
        below = await ctx.fork("below", None)
        await case.model(ctx, value["task"])
        if not value.get("modified"):
            await gate.step(ctx)
        return [value["task"], value.get("modified", False), await ctx.wait(below)]

    async def below(ctx: Context, value: Any) -> Any:
        return await case.model(ctx, "below")

    async def root(ctx: Context, value: Any) -> Any:
        return await waits_for(ctx, await ctx.fork("child", {"task": "old"}))

    return {"root": root, "child": child, "below": below}


@pytest.mark.spec("S94", "S100", "B15", "B2")
async def test_a_modified_agent_begins_anew_with_its_new_instructions_and_repeats_no_effect() -> None:
    case, gate = Case({}), Gate()
    case.programs = works(case, gate)
    async with case.driving() as (run, driver):
        await until(lambda: gate.entered)
        case.intervene(MODIFY, "new", lineage="root.child-0", run=run)
        end = await driver

    assert end.value == [["new", True, "below!"]]
    assert case.performed.count("mail") == 1
    assert case.titles == ["begins with old", "begins with new"]
    agent = case.agent("root.child-0")
    assert (agent.modified, agent.user_content, agent.user_comment) == (True, "new", "modify")
    assert [event["reason"] for event in case.events("journal_cut")] == ["a person gave it other instructions"]
    assert [event["modified"] for event in case.events("agent_state") if event["agent_name"] == "child"] == [
        False,
        True,
        True,
    ]
    check_log(case)


@pytest.mark.parametrize("death", list(Death))
@pytest.mark.parametrize("at", range(1, 16))
async def test_a_modified_agent_that_is_killed_anywhere_ends_the_same(death: Death, at: int) -> None:
    case, gate = Case({}), Gate()
    case.programs = works(case, gate)
    async with case.driving() as (_, driver):
        await until(lambda: gate.entered)
        driver.cancel()
    case.intervene(MODIFY, "new", lineage="root.child-0")
    await case.drive(death=death, at=at)
    end = await case.drive()

    assert end.value == [["new", True, "below!"]]
    assert case.performed.count("mail") == 1
    assert case.titles == ["begins with old", "begins with new"]
    assert sum(isinstance(step, str) and step == "old" for step in case.performed) == 1
    check_log(case)


async def test_one_that_has_not_begun_begins_with_its_new_instructions() -> None:
    gate = Gate()

    async def first(ctx: Context, value: Any) -> Any:
        return await gate.step(ctx)

    async def second(ctx: Context, value: Any) -> Any:
        return [value["task"], value["modified"], len(value["dependencies"])]

    async def root(ctx: Context, value: Any) -> Any:
        one = await ctx.fork("first", {})
        return await ctx.wait(await ctx.fork("second", {"task": "old"}, after=[one]))

    case = Case({"root": root, "first": first, "second": second})
    async with case.driving() as (run, driver):
        await until(lambda: gate.entered and has_agent(case, "root.second-0"))
        case.intervene(MODIFY, "new", lineage="root.second-0", run=run)
        gate.open()

        assert (await driver).value == ["new", True, 1]
    assert case.events("journal_cut") == []
    check_log(case)


async def test_an_agent_that_asks_is_modified_and_its_question_is_withdrawn() -> None:
    async def child(ctx: Context, value: Any) -> Any:
        if value.get("modified"):
            return value["task"]
        return await ctx.ask("input", {"question": "?"})

    async def root(ctx: Context, value: Any) -> Any:
        return await ctx.wait(await ctx.fork("child", {"task": "old"}))

    case = Case({"root": root, "child": child})
    assert (await case.drive()).how == "waiting"
    case.intervene(MODIFY, "new", lineage="root.child-0")

    assert await case.drive() == End("completed", "new")
    assert case.open_requests == []
    check_log(case)


async def test_an_agent_can_be_modified_again_and_then_deleted() -> None:
    async def child(ctx: Context, value: Any) -> Any:
        return await ctx.ask("input", {"question": value["task"]})

    async def root(ctx: Context, value: Any) -> Any:
        handle = await ctx.fork("child", {"task": "0"})
        return await ctx.all(lambda c: waits_for(c, handle), other.step)

    other = Gate()
    case = Case({"root": root, "child": child})
    async with case.driving() as (run, driver):
        for number in range(1, 4):
            await until(lambda: case.open_requests)
            assert [asked.question["question"] for asked in case.open_requests] == [f"{number - 1}"]
            case.intervene(MODIFY, f"{number}", lineage="root.child-0", run=run)
        await until(lambda: case.open_requests)
        case.intervene(DELETE, lineage="root.child-0", run=run)
        other.open()

        assert (await driver).value[0][0][0] == "deleted"
    check_log(case)


async def test_a_modified_agents_children_are_cancelled_and_stop() -> None:
    below_gate = Gate()

    async def child(ctx: Context, value: Any) -> Any:
        if value.get("modified"):
            return "alone"
        return await ctx.wait(await ctx.fork("below", None))

    async def below(ctx: Context, value: Any) -> Any:
        return await below_gate.step(ctx)

    async def root(ctx: Context, value: Any) -> Any:
        return await ctx.wait(await ctx.fork("child", {"task": "old"}))

    case = Case({"root": root, "child": child, "below": below})
    async with case.driving() as (run, driver):
        await until(lambda: below_gate.entered)
        case.intervene(MODIFY, "new", lineage="root.child-0", run=run)

        assert (await driver).value == "alone"
    assert statuses(case)["root.child-0.below-0"] == "cancelled"
    assert below_gate.cancelled == 1
    check_log(case)


@pytest.mark.spec("B2")
async def test_an_effect_in_the_midst_of_which_its_agent_is_stopped_stays_in_doubt_and_is_looked_up() -> None:
    hangs, arrived = asyncio.Event(), []

    async def child(ctx: Context, value: Any) -> Any:
        async def send(key: str) -> Any:
            arrived.append(key)
            await hangs.wait()

        async def has(key: str) -> bool:
            return key in arrived

        return await ctx.effect(Effect("mail", {"to": "bob"}, send, has))

    async def root(ctx: Context, value: Any) -> Any:
        return await waits_for(ctx, await ctx.fork("child", {"task": "old"}))

    case = Case({"root": root, "child": child})
    async with case.driving() as (run, driver):
        await until(lambda: arrived)
        case.intervene(MODIFY, "new", lineage="root.child-0", run=run)
        assert [row.status for row in case.store.effects(case.execution_id)] == [EffectStatus.STARTED]

        assert (await driver).value == [{"settled": "done", "tool": "mail"}]
    assert len(arrived) == 1


# --- comments and steering


@pytest.mark.spec("S93", "S109")
async def test_an_agent_hears_what_is_said_to_it_and_to_all_once_and_the_same_on_every_driver() -> None:
    heard: dict[str, list[Any]] = {}

    async def listens(ctx: Context, value: Any) -> Any:
        mine = heard[ctx.agent.lineage] = []
        for number in range(2):
            mine.append(await ctx.heard())
            await ctx.ask("input", {"question": f"{number}"})
        mine.append(await ctx.heard())
        return mine

    async def root(ctx: Context, value: Any) -> Any:
        return await waits_for(ctx, await ctx.fork("listens", 0), await ctx.fork("listens", 1))

    case = Case({"root": root, "listens": listens})
    await case.drive()
    case.intervene(COMMENT, "to the first", lineage="root.listens-0")
    case.intervene(STEER, "to all")
    case.answer("yes")
    case.answer("yes")
    await case.drive()
    case.intervene(STEER, "again to all")
    case.answer("yes")
    case.answer("yes")
    end = await case.drive()

    assert end.value == [[[], ["to the first", "to all"], ["again to all"]], [[], ["to all"], ["again to all"]]]
    assert heard == {"root.listens-0": end.value[0], "root.listens-1": end.value[1]}
    assert case.agent("root.listens-0").user_comment == "to the first"
    check_log(case)


async def test_what_is_said_while_an_agent_works_is_heard_by_it_at_its_next_look() -> None:
    gate = Gate()

    async def root(ctx: Context, value: Any) -> Any:
        before = await ctx.heard()
        await gate.step(ctx)
        return [before, await ctx.heard(), await ctx.heard()]

    case = Case({"root": root})
    async with case.driving() as (run, driver):
        await until(lambda: gate.entered)
        case.intervene(COMMENT, "hurry", lineage="root", run=run)
        gate.open()

        assert (await driver).value == [[], ["hurry"], []]


async def test_a_wish_that_is_read_twice_is_applied_once() -> None:
    gate, begun = Gate(), []

    async def child(ctx: Context, value: Any) -> Any:
        begun.append(value["task"])
        return await gate.step(ctx)

    async def root(ctx: Context, value: Any) -> Any:
        return await ctx.wait(await ctx.fork("child", {"task": "old"}))

    case = Case({"root": root, "child": child})
    async with case.driving() as (run, driver):
        await until(lambda: gate.entered)
        made = case.store.intervene(case.execution_id, MODIFY, "new", agent_id=case.agent("root.child-0").id)
        intervene(run, made)
        await until(lambda: gate.entered == 2)
        intervene(run, made)
        for _ in range(10):
            await asyncio.sleep(0)
        gate.open()

        assert (await driver).how == "completed"
    assert begun == ["old", "new"]


async def test_an_agent_that_is_stopped_while_it_streams_ends_within_moments() -> None:
    begun, tokens = asyncio.Event(), []

    async def child(ctx: Context, value: Any) -> Any:
        async def perform() -> Outcome:
            begun.set()
            while True:
                tokens.append("token")
                await asyncio.sleep(0)

        return await ctx.step(StepKind.MODEL, "chat", None, perform)

    async def root(ctx: Context, value: Any) -> Any:
        return await waits_for(ctx, await ctx.fork("child", None))

    case = Case({"root": root, "child": child})
    async with case.driving() as (run, driver):
        await begun.wait()
        case.intervene(DELETE, lineage="root.child-0", run=run)
        seen = len(tokens)
        await driver

    assert len(tokens) == seen
    deleted: AgentRecord = case.agent("root.child-0")
    assert deleted.status is AgentStatus.DELETED


async def test_where_nobody_said_anything_nothing_is_recorded_of_it() -> None:
    async def root(ctx: Context, value: Any) -> Any:
        return [await ctx.heard(), await ctx.note("one", lambda: 1), await ctx.heard()]

    case = Case({"root": root})

    assert (await case.drive()).value == [[], 1, []]
    assert [step.name for step in case.store.steps(case.execution_id)] == ["one"]


async def test_a_part_that_is_begun_anew_hears_again_what_was_said_in_the_first_try() -> None:
    async def child(ctx: Context, value: Any) -> Any:
        async def first(inside: Context) -> Any:
            await inside.heard()
            await asyncio.Event().wait()

        async def again(inside: Context) -> Any:
            await inside.heard()
            return inside.said

        try:
            await ctx.within(0.05, first, name="first")
        except StepFailed:
            return await ctx.within(5, again, name="again"), ctx.said

    async def root(ctx: Context, value: Any) -> Any:
        await ctx.ask("input", {"question": "now?"})
        return await ctx.wait(await ctx.fork("child", 0))

    case = Case({"root": root, "child": child})
    await case.drive()
    case.intervene(STEER, "be brief")
    case.answer("yes")

    assert (await case.drive()).value == [["be brief"], []]


async def test_branches_hear_on_their_own_and_what_they_come_from_hears_it_too() -> None:
    gate = Gate()

    async def root(ctx: Context, value: Any) -> Any:
        async def branch(inside: Context) -> Any:
            await gate.step(inside)
            await inside.heard()
            return inside.said

        found = await ctx.all(branch)
        await ctx.heard()
        return [found, ctx.said]

    case = Case({"root": root})
    async with case.driving() as (run, driver):
        await until(lambda: gate.entered)
        case.intervene(STEER, "hurry", run=run)
        gate.open()

        assert (await driver).value == [[["hurry"]], ["hurry"]]
