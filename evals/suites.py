"""What is run for a case of each suite: the pipeline's own code, against the model that is evaluated."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from agents.briefing import briefing, house_rules
from agents.engine.events import Source
from agents.engine.ids import sibling_id
from agents.engine.records import AgentRecord
from agents.engine.states import AgentStatus
from agents.exchange import AgentInput, AgentOutput, OutputMetadata
from agents.pipeline.compose import ToCompose
from agents.pipeline.compose import run as compose
from agents.pipeline.effective_task import Intent, effective_task
from agents.pipeline.handoffs import targets_of
from agents.pipeline.planner import make_plan
from agents.pipeline.plans import Plan, PlanTask
from agents.pipeline.route import decide
from agents.registry import specs
from agents.runtime.context import AgentContext, DrivenRun, PipelineSettings
from agents.runtime.outbox import Outbox
from agents.tools.registry import tools
from evals import judging
from evals.casebook import (
    Brought,
    Case,
    ComposingCase,
    HandoffCase,
    PlanningCase,
    RoutingCase,
    ToolCase,
)
from hyperagent.lib.ids import new_id
from hyperagent.lib.llm.gateway import ModelGateway
from hyperagent.lib.llm.types import Message, ModelRequest, Role, ToolCall


@dataclass(frozen=True, slots=True)
class Answered:
    """`got`: what the code did, in a few words."""

    got: str
    faults: list[str]


def context_of(models: ModelGateway) -> AgentContext:
    """A run of its own that is stored nowhere."""
    execution_id = new_id()
    outbox = Outbox(execution_id, epoch=1, group="", wake_writer=lambda outbox, durable: None)
    run = DrivenRun(execution_id, outbox=outbox, models=models, programs={}, loaded=None)
    root = AgentRecord(sibling_id(execution_id), None, "evaluation", "evaluation", "", AgentStatus.RUNNING)
    run.record(root)
    return AgentContext(run, root)


async def route(case: RoutingCase, context: AgentContext, settings: PipelineSettings) -> Answered:
    found = await decide(
        context,
        case.question,
        mode=None,
        history_length=len(case.history),
        capable=True,
        roster=specs(),
        settings=settings,
        history=case.turns,
    )
    return Answered(f"{found.agent} ({found.method})", judging.of_route(found.kind, found.agent, case.expect))


async def plan(case: PlanningCase, context: AgentContext, settings: PipelineSettings) -> Answered:
    made = await make_plan(context, case.question, history=case.turns, profile={}, roster=specs(), capable=True)
    faults = judging.of_plan(made, case.expect)
    return Answered(shown(made), [made.notice, *faults] if made.notice else faults)


def shown(plan: Plan) -> str:
    """Such as `rag, web, data<0,1`."""
    place = {one: str(number) for number, one in enumerate(plan.ids)}
    return ", ".join(
        task.agent + ("<" + ",".join(place.get(other, "?") for other in task.depends_on) if task.depends_on else "")
        for task in plan.tasks
    )


async def choose_tool(case: ToolCase, context: AgentContext, settings: PipelineSettings) -> Answered:
    call = await first_call(case, case.agent, context)
    arguments = _arguments(call)
    return Answered(_told(call), judging.of_call(call.name if call else None, arguments, case.expect))


async def hand_off(case: HandoffCase, context: AgentContext, settings: PipelineSettings) -> Answered:
    call = await first_call(case, case.agent, context)
    return Answered(_told(call), judging.of_handoff(call.name if call else None, case.expect))


async def first_call(case: Case, agent: str, context: AgentContext) -> ToolCall | None:
    """The first tool that the agent's model wants, offered what the agent is offered in a run."""
    spec = specs()[agent]
    task = AgentInput(agent_id=agent, agent_name=agent, task=case.question, conversation_history=case.turns)
    system = f"You are the {agent} agent. {spec.description}\n\n{house_rules()}"
    request = ModelRequest(
        tier=spec.tier,
        messages=(
            Message(role=Role.SYSTEM, content=system),
            Message(role=Role.USER, content=briefing(task)),
        ),
        tools=tuple(tools()[name].spec() for name in offered(agent)),
        agent=agent,
    )
    reply = await context.model(request, stage="agent", shown=False)
    return reply.tool_calls[0] if reply.tool_calls else None


def offered(agent: str) -> list[str]:
    spec = specs()[agent]
    handoffs = [f"handoff_to_{target}" for target in targets_of(agent)] if spec.handoffs else []
    return list(dict.fromkeys([*spec.tools, *handoffs]))


async def compose_answer(case: ComposingCase, context: AgentContext, settings: PipelineSettings) -> Answered:
    composed = await compose(context, to_compose(case).model_dump(mode="json"))
    faults = judging.of_answer(composed["answer"], len(composed["sources"]), case.expect)
    return Answered(composed["answer"][:300], faults if composed["model"] else ["no model wrote it", *faults])


def to_compose(case: ComposingCase) -> ToCompose:
    outputs = {f"{brought.agent}-{number}": brought for number, brought in enumerate(case.outputs)}
    steps = tuple(PlanTask(id=one, agent=brought.agent, task=brought.task) for one, brought in outputs.items())
    return ToCompose(
        question=case.question,
        plan=Plan(tasks=steps),
        outputs={one: _output(one, brought) for one, brought in outputs.items()},
        history=case.turns,
        deleted=tuple(one for one, brought in outputs.items() if brought.error == "deleted"),
    )


def _output(agent_id: str, brought: Brought) -> AgentOutput:
    sources = tuple(Source.model_validate(source) for source in brought.sources)
    return AgentOutput(
        agent_id=agent_id,
        agent_name=brought.agent,
        task_description=effective_task(brought.task, brought.override, Intent.OVERRIDE),
        task_done=brought.done,
        result=brought.result,
        error=brought.error,
        partial_data=brought.partial_data,
        metadata=OutputMetadata(sources=sources),
    )


def _arguments(call: ToolCall | None) -> Mapping[str, Any]:
    try:
        given = json.loads(call.arguments) if call else {}
    except ValueError:
        return {}
    return given if isinstance(given, dict) else {}


def _told(call: ToolCall | None) -> str:
    return f"{call.name} {call.arguments[:200]}" if call else "(no call)"


Runner = Callable[[Any, AgentContext, PipelineSettings], Awaitable[Answered]]
RUNNERS: Final[Mapping[str, Runner]] = {
    "routing": route,
    "planning": plan,
    "tool_choice": choose_tool,
    "handoff": hand_off,
    "composing": compose_answer,
}
