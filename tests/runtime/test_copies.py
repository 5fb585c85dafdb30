"""Retrying and forking runs that are over, through the real tables: finished work is reused, no effect repeated."""

from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async

from agents import actions
from agents.craft.exchange import AgentInput, Work
from agents.engine.context import Outcome
from agents.engine.effects import Effect
from agents.engine.errors import OutsideError
from agents.engine.states import StepKind
from agents.models import AgentExecution, Execution, Step
from agents.models import Effect as EffectRow
from agents.runtime.context import AgentContext
from hyperagent.lib.refusals import Conflict, NotThere, Refused
from tests.runtime.driving import Runners, ended, events, start
from tests.runtime.roles import programs
from tests.runtime.test_interventions import agent_of, check
from tests.runtime.test_waiting import NO_MODEL, answer, request_of, waiting

retry = sync_to_async(actions.retry)
fork_from = sync_to_async(actions.fork_from)


class World:
    """What the programs below reach: it counts what it is asked for, and refuses while it is `away`."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.away = {"beta"}

    @property
    def programs(self) -> dict[str, Any]:
        return {"plans": self.plans, "works": self.works}

    async def plans(self, context: AgentContext, turn: dict[str, Any]) -> dict[str, Any]:
        alpha = await context.fork("works", {"name": "alpha"}, step_id="a", label="alpha")
        beta = await context.fork("works", {"name": "beta"}, after=[alpha], step_id="b", label="beta")
        ends = [await context.outcome(handle) for handle in (alpha, beta)]
        await self._step(context, "compose")
        return {"answer": " ".join(end.status for end in ends), "sources": []}

    async def works(self, context: AgentContext, value: dict[str, Any]) -> str:
        async def send(key: str) -> str:
            self.asked.append(f"mail of {value['name']}")
            return key

        await context.effect(Effect("mail", {"of": value["name"]}, send))
        await self._step(context, value["name"])
        return str(value["name"])

    async def _step(self, context: AgentContext, name: str) -> None:
        async def perform() -> Outcome:
            self.asked.append(name)
            if name in self.away:
                raise OutsideError("away", "it is away", retryable=True)
            return Outcome(
                name, {"model": "m", "provider": "p", "prompt_tokens": 5, "completion_tokens": 5, "cost_usd": "1"}
            )

        await context.step(StepKind.MODEL, "answer", {"name": name}, perform)


async def statuses(id_: UUID) -> dict[str, str]:
    return {agent.agent_name: agent.status async for agent in AgentExecution.objects.filter(execution=id_)}


@pytest.mark.spec("B14", "B2")
async def test_a_retry_is_a_new_run_that_reuses_what_was_done_and_repeats_no_effect(
    alice: Any, make_runner: Runners
) -> None:
    world = World()
    await make_runner(NO_MODEL, extra=world.programs)
    first = await ended(await start(alice, "q", pipeline="plans"))
    assert first.answer == "completed failed"
    world.away.clear()
    world.asked.clear()

    second = await retry(first.id, by=alice)
    run = await ended(second.id)

    assert (run.answer, run.forked_from_id, run.effects_root) == ("completed completed", first.id, first.id)
    assert world.asked == ["beta", "compose"]
    assert run.prompt_tokens == 10
    assert await EffectRow.objects.filter(status="finished").acount() == 2
    assert {event["agent_name"] for event in await events(run.id) if event["type"] == "agent_state"} == {
        "plans",
        "alpha",
        "beta",
    }
    await check(run.id)
    old = await sync_to_async(Execution.objects.get)(id=first.id)
    assert (old.status, old.answer) == ("completed", "completed failed")
    assert await statuses(first.id) == {"plans": "completed", "alpha": "completed", "beta": "failed"}


@pytest.mark.spec("B14")
async def test_a_copy_of_a_copy_still_knows_all_effects(alice: Any, make_runner: Runners) -> None:
    world = World()
    await make_runner(NO_MODEL, extra=world.programs)
    first = await ended(await start(alice, "q", pipeline="plans"))
    second = await ended((await retry(first.id, by=alice)).id)
    world.away.clear()
    world.asked.clear()

    alpha = await agent_of(second.id, "alpha")
    third = await ended((await retry(second.id, by=alice, agent_id=alpha.id)).id)

    assert (third.answer, third.effects_root) == ("completed completed", first.id)
    assert world.asked == ["alpha", "beta", "compose"]
    await check(third.id)


@pytest.mark.spec("B14")
async def test_a_run_is_forked_from_a_step_of_an_agent(alice: Any, make_runner: Runners) -> None:
    world = World()
    world.away.clear()
    await make_runner(NO_MODEL, extra=world.programs)
    first = await ended(await start(alice, "q", pipeline="plans"))
    world.asked.clear()
    beta = await agent_of(first.id, "beta")

    again = await ended((await fork_from(first.id, by=alice, agent_id=beta.id, step="1")).id)

    assert again.answer == first.answer
    assert world.asked == ["beta", "compose"]
    kept = Step.objects.filter(agent__execution=again.id, agent__agent_name="beta").order_by("path")
    assert [step.path async for step in kept] == [[0], [1]]
    await check(again.id)


@pytest.mark.spec("B14")
async def test_a_run_that_was_cancelled_while_it_waited_is_tried_again_and_asks_anew(
    alice: Any, make_runner: Runners
) -> None:
    async def asks(context: AgentContext, turn: dict[str, Any]) -> dict[str, Any]:
        told = await context.ask("input", {"question": "Which?"})
        return {"answer": told["text"], "sources": []}

    await make_runner(NO_MODEL, extra={"asks": asks})
    id_ = await start(alice, "q", pipeline="asks")
    await waiting(id_)
    await sync_to_async(actions.cancel)(id_, by=alice)
    await ended(id_)

    again = await retry(id_, by=alice)
    await waiting(again.id)
    await answer(await request_of(again.id), alice, "this")

    assert (await ended(again.id)).answer == "this"


async def test_what_is_not_over_or_not_ones_own_is_not_copied(alice: Any, charlie: Any, make_runner: Runners) -> None:
    world = World()
    id_ = await start(alice, "q", pipeline="plans")
    with pytest.raises(Conflict, match="still going on"):
        await retry(id_, by=alice)
    await make_runner(NO_MODEL, extra=world.programs)
    await ended(id_)
    alpha = await agent_of(id_, "alpha")

    with pytest.raises(NotThere):
        await retry(id_, by=charlie)
    with pytest.raises(NotThere):
        await fork_from(id_, by=charlie, agent_id=alpha.id, step="0")
    with pytest.raises(NotThere):
        await retry(id_, by=alice, agent_id=UUID(int=7))
    for step in ("7", "", "0.0", "abc", "0'; DROP"):
        with pytest.raises(Refused, match="no step"):
            await fork_from(id_, by=alice, agent_id=alpha.id, step=step)
    world.away.clear()
    done = await ended((await retry(id_, by=alice)).id)
    with pytest.raises(Conflict, match="Nothing failed"):
        await retry(done.id, by=alice)


async def test_only_one_try_of_a_run_goes_on_at_a_time(alice: Any, make_runner: Runners) -> None:
    world = World()
    await make_runner(NO_MODEL, extra=world.programs)
    first = await ended(await start(alice, "q", pipeline="plans"))
    await make_runner.stop()

    second = await retry(first.id, by=alice)

    with pytest.raises(Conflict, match="still going on"):
        await retry(first.id, by=alice)
    assert await Execution.objects.filter(effects_root=first.id).acount() == 1
    assert second.status == "pending"


@pytest.mark.slow
@pytest.mark.spec("S161", "B14")
@pytest.mark.parametrize(
    ("error", "status", "is_tried_again"),
    [
        ("no_code", "failed", True),
        ("hitl_timeout", "skipped", True),
        ("switched_off", "skipped", True),
        ("denied_by_user", "skipped", False),
    ],
)
async def test_an_agent_whose_task_was_not_done_is_told_as_such_and_is_tried_again_unless_somebody_said_no(
    alice: Any, make_runner: Runners, error: str, status: str, is_tried_again: bool
) -> None:
    works = False

    async def run(context: AgentContext, task: AgentInput) -> Work:
        return Work(result="All of it.") if works else Work(result="A part of it.", done=False, error=error)

    await make_runner(NO_MODEL, extra=programs(chat=run))
    first = await ended(await start(alice, "q", mode="chat"))
    agent = await agent_of(first.id, "chat")
    told = [event for event in await events(first.id) if event["type"] == "agent_state"]
    works = True

    assert (first.status, first.answer) == ("completed", "A part of it.")
    assert (agent.status, agent.error, agent.output["task_done"]) == (status, error, False)
    assert [(event["status"], event.get("error")) for event in told if event["agent_id"] == str(agent.id)][-1] == (
        status,
        error,
    )
    if is_tried_again:
        assert (await ended((await retry(first.id, by=alice)).id)).answer == "All of it."
    else:
        with pytest.raises(Conflict, match="Nothing failed"):
            await retry(first.id, by=alice)
