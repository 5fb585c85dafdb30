"""Files that came along with a handoff are gone from the sandbox when the run is over, however it ended."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async

from agents import actions, registry
from agents.craft.exchange import AgentInput, HandoffInfo, Work
from agents.pipeline.work import commission, work
from agents.registry import Agent
from agents.runtime.context import AgentContext
from agents.runtime.driver import Driver
from agents.runtime.runner import Runner
from tests.runtime.driving import Runners, ended, start, until
from tests.runtime.test_interventions import agent_of, intervene
from tests.runtime.test_waiting import NO_MODEL
from tests.tools.doubles import FakeSandbox, fake_providers

HANDOFF = HandoffInfo(source_agent="code", target_agent="data", task_description="Plot", artifacts=("own.md", "t.csv"))


def the_sandbox() -> FakeSandbox:
    return FakeSandbox(files={"own.md": "It was here."}, kept={"t.csv": "a,b", "own.md": "It was here."})


async def hands_on(context: AgentContext, turn: dict[str, Any]) -> dict[str, Any]:
    """Has the data agent go on with files of another."""
    task = AgentInput(agent_id="data-1", agent_name="data", task="Plot", handoffs=(HANDOFF,))
    ended = await context.outcome(await context.fork("data", commission(task)))
    return {"answer": f"It is {ended.status}.", "sources": []}


class Plotting:
    """The data agent: `begun` once it is at work; ends when it is told how to."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.goes_on = asyncio.Event()
        self.fails_by: Exception | None = None

    async def run(self, context: AgentContext, task: AgentInput) -> Work:
        self.begun.set()
        await self.goes_on.wait()
        if self.fails_by is not None:
            raise self.fails_by
        return Work(result="Plotted.")

    def programs(self) -> dict[str, Any]:
        agent = Agent(registry.specs()["data"], self.run)

        async def program(context: AgentContext, value: Mapping[str, Any]) -> Any:
            return await work(agent, context, value)

        return {"hands_on": hands_on, "data": program}


async def at_work(
    alice: Any, make_runner: Runners, sandbox: FakeSandbox, plotting: Plotting, **more: Any
) -> tuple[UUID, Runner]:
    """A run whose data agent has its files, and their runner."""
    providers = fake_providers(sandbox=sandbox)
    runner = await make_runner(NO_MODEL, extra=plotting.programs(), providers=providers, **more)
    id_ = await start(alice, "Plot it", pipeline="hands_on")
    await asyncio.wait_for(plotting.begun.wait(), 30)
    assert sorted(sandbox.files) == ["own.md", "t.csv"]
    return id_, runner


async def cancelled(id_: UUID, alice: Any, plotting: Plotting) -> None:
    await sync_to_async(actions.cancel)(id_, by=alice)


async def broken(id_: UUID, alice: Any, plotting: Plotting) -> None:
    plotting.fails_by = RuntimeError("a bug")
    plotting.goes_on.set()


async def deleted(id_: UUID, alice: Any, plotting: Plotting) -> None:
    await intervene((await agent_of(id_, "data")).id, by=alice, user_comment="delete")


async def begun_anew(id_: UUID, alice: Any, plotting: Plotting) -> None:
    """A person gives it other instructions: its journal begins anew, and finds the file where it was put."""
    plotting.begun.clear()
    await intervene((await agent_of(id_, "data")).id, by=alice, user_comment="modify", user_content="In blue")
    await asyncio.wait_for(plotting.begun.wait(), 30)
    plotting.goes_on.set()


@pytest.mark.slow
@pytest.mark.spec("S48", "S107")
@pytest.mark.parametrize(
    ("ends", "status"),
    [(cancelled, "cancelled"), (broken, "failed"), (deleted, "completed"), (begun_anew, "completed")],
)
async def test_whatever_ends_a_run_what_was_put_there_for_it_is_gone_by_then(
    alice: Any, make_runner: Runners, ends: Callable[..., Any], status: str
) -> None:
    sandbox, plotting = the_sandbox(), Plotting()
    id_, _ = await at_work(alice, make_runner, sandbox, plotting)

    await ends(id_, alice, plotting)

    assert (await ended(id_)).status == status
    assert sandbox.files == {"own.md": "It was here."}


@pytest.mark.spec("S48", "B1")
async def test_whoever_ends_a_run_that_another_lost_clears_away_what_that_one_put_there(
    alice: Any, make_runner: Runners
) -> None:
    sandbox, plotting = the_sandbox(), Plotting()
    id_, runner = await at_work(alice, make_runner, sandbox, plotting)

    first = runner.driving[id_]
    first.lose()
    await until(lambda: _is_driven_by_another(runner, id_, first))
    await sync_to_async(actions.cancel)(id_, by=alice)

    assert (await ended(id_)).status == "cancelled"
    assert sandbox.files == {"own.md": "It was here."}


async def _is_driven_by_another(runner: Runner, id_: UUID, first: Driver) -> bool:
    return runner.driving.get(id_, first) is not first


@pytest.mark.slow
async def test_a_sandbox_that_does_not_answer_holds_up_no_end(alice: Any, make_runner: Runners) -> None:
    class Stuck(FakeSandbox):
        async def clear_given(self, about: Any) -> None:
            await asyncio.Event().wait()

    sandbox, plotting = Stuck(kept={"t.csv": "a,b", "own.md": "x"}), Plotting()
    id_, _ = await at_work(alice, make_runner, sandbox, plotting)

    await cancelled(id_, alice, plotting)

    assert (await ended(id_, timeout_s=5)).status == "cancelled"
