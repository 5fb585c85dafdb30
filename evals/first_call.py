"""The first tool that an agent calls: its own program runs, with its prompts and stages, and nothing is performed."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.craft.exchange import AgentInput, Work
from agents.engine.context import Context
from agents.engine.errors import StepFailed
from agents.engine.records import StepRecord
from agents.engine.states import StepKind
from agents.pipeline.handoffs import targets_of
from agents.registry import agents, specs
from agents.runtime.context import AgentContext
from agents.runtime.driven import About, DrivenRun
from agents.runtime.tool_door import ConnectedTool, ToolReply
from agents.tools.providers import Providers
from agents.tools.registry import tools
from evals.casebook import Case
from hyperagent.lib.llm.types import ToolSpec

NOTHING_HERE = "there is nothing here."


@dataclass(frozen=True, slots=True)
class FirstCall:
    name: str
    arguments: Mapping[str, Any]


class ClosedDoor:
    """A `ToolDoor` that offers what the product's offers, and opens for no call: the first one that follows from what a
    model said is held, and is what the case is about. What an agent looks up before it asks a model is not there.
    """

    def __init__(self) -> None:
        self.first: asyncio.Future[FirstCall] = asyncio.get_running_loop().create_future()

    def specs(self, names: Sequence[str]) -> tuple[ToolSpec, ...]:
        return tuple(tools()[name].spec() for name in names)

    async def call(
        self, context: AgentContext, name: str, arguments: Any, *, allowed: Sequence[str], call_id: str | None
    ) -> ToolReply:
        if not calls_of_models(context):
            return ToolReply.failed(NOTHING_HERE)
        if not self.first.done():
            self.first.set_result(FirstCall(name, _as_mapping(arguments)))
        return await asyncio.Future()

    async def happened(self, context: AgentContext, begun: StepRecord) -> bool | None:
        return None

    def protected(self, names: Sequence[str]) -> Sequence[Any]:
        return ()

    def is_of_others(self, name: str) -> bool:
        return True

    def lacks(self, names: Sequence[str]) -> str:
        return ""

    def provider(self, name: str) -> Any:
        return getattr(Providers(), name)

    async def lacks_for(self, about: About, names: Sequence[str]) -> str:
        return ""

    async def clear_up(self, run: DrivenRun) -> None:
        return None

    async def connected(self, context: AgentContext) -> Mapping[str, Any]:
        return {}

    async def connected_tools(self, context: AgentContext) -> Mapping[str, Sequence[ConnectedTool]]:
        return {}


async def first_call(case: Case, agent: str, context: AgentContext) -> FirstCall | None:
    """What the agent calls first once a model has said what; None if it ends without. Raises StepFailed as it does."""
    door = context.run.tools = ClosedDoor()
    task = AgentInput(
        agent_id=f"{agent}-1",
        agent_name=agent,
        task=case.question,
        original_question=case.question,
        tools=specs()[agent].tools,
        conversation_history=case.turns,
        speaks=True,
    )
    context.task_input = task
    working: asyncio.Task[Work] = asyncio.ensure_future(agents()[agent].run(context, task))
    try:
        await asyncio.wait((working, door.first), return_when=asyncio.FIRST_COMPLETED)
        if door.first.done():
            return door.first.result()
        working.result()
        return None
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        await context.run.stop_children()


async def nobody(context: Context, value: Any) -> Any:
    """The program of whoever an agent forks while it is evaluated: it is not they who are."""
    raise StepFailed("not_evaluated", "Nobody looks this up here.")


def offered(agent: str) -> list[str]:
    """The names of the tools that an agent may call, handoffs included."""
    spec = specs()[agent]
    handoffs = [f"handoff_to_{target}" for target in targets_of(agent)] if spec.handoffs else []
    return list(dict.fromkeys([*spec.tools, *handoffs]))


def calls_of_models(context: AgentContext) -> int:
    """How often a model was asked in this run, whatever came of it."""
    return sum(step.kind is StepKind.MODEL for steps in context.run.loaded.steps.values() for step in steps.values())


def _as_mapping(arguments: Any) -> Mapping[str, Any]:
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError:
            return {}
    return arguments if isinstance(arguments, Mapping) else {}
