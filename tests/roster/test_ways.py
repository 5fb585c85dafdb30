"""The two ways of an agent: `run`, and `run_small` where only the bundled model serves; one of them only, where it is
for both. Which is gone is decided where the agent is begun.
"""

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import cast

import pytest

from agents import registry, roster
from agents.craft.exchange import AgentInput, Work
from agents.engine.run import Program
from agents.pipeline.work import work
from agents.registry import Agent, BadAgent
from agents.runtime.context import AgentContext
from agents.spec import AgentProgram
from tests.roster.driving import Cases, task_for

NEWCOMER = """
from agents.craft.exchange import AgentInput, Work
from agents.runtime.context import AgentContext
from agents.spec import AgentSpec

SPEC = AgentSpec(
    name="newcomer",
    description="Somebody who was added to the roster.",
    capabilities=("being new",),
    typical_use_cases=("Who is new?", "Who came last?"),
)


async def run(context: AgentContext, task: AgentInput) -> Work:
    return Work(result="briefly" if not task.capable else "at length")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A second folder of agents, which are forgotten afterwards."""
    made = tmp_path / "newcomer"
    made.mkdir()
    (made / "__init__.py").touch()
    roster.__path__.append(str(tmp_path))
    yield made
    roster.__path__.remove(str(tmp_path))
    for name in ("newcomer", "newcomer.agent"):
        sys.modules.pop(f"{roster.__name__}.{name}", None)


def saying(text: str) -> AgentProgram:
    async def run(context: AgentContext, task: AgentInput) -> Work:
        return Work(result=text)

    return run


async def said(cases: Cases, agent: Agent, *, capable: bool) -> str:
    """What becomes of a task that this agent works on in the place of chat."""
    case = cases(task_for("chat", "Hello", capable=capable))
    case.programs = {**case.programs, "chat": cast("Program", partial(work, agent))}
    return (await case.output()).result


@pytest.mark.spec("S175")
@pytest.mark.parametrize(("capable", "way"), [(True, "run"), (False, "run_small")])
async def test_an_agent_with_two_ways_goes_the_one_for_who_serves(capable: bool, way: str, cases: Cases) -> None:
    agent = Agent(registry.specs()["chat"], saying("run"), saying("run_small"))

    assert await said(cases, agent, capable=capable) == way


@pytest.mark.parametrize(("capable", "text"), [(True, "at length"), (False, "briefly")])
async def test_an_agent_with_run_alone_goes_that_way_whoever_serves(
    capable: bool, text: str, folder: Path, cases: Cases
) -> None:
    (folder / "agent.py").write_text(NEWCOMER)

    agent = registry._load("newcomer")

    assert agent.run_small is None
    assert await said(cases, agent, capable=capable) == text


def test_a_way_for_the_small_model_that_cannot_be_gone_stops_the_start(folder: Path) -> None:
    (folder / "agent.py").write_text(f"{NEWCOMER}\n\ndef run_small(task):\n    return None\n")

    with pytest.raises(BadAgent, match="run_small has to be `async def run_small"):
        registry._load("newcomer")
