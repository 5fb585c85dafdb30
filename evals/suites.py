"""What is run for a case of each suite: the pipeline's own code, against the model that is evaluated."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from agents.craft.exchange import AgentOutput, OutputMetadata
from agents.engine.events import Source
from agents.engine.ids import sibling_id
from agents.engine.records import AgentRecord
from agents.engine.states import AgentStatus, StepKind, StepStatus
from agents.pipeline.compose import ToCompose
from agents.pipeline.compose import run as compose
from agents.pipeline.effective_task import Intent, effective_task
from agents.pipeline.planner import make_plan
from agents.pipeline.plans import Plan, PlanTask
from agents.pipeline.route import decide
from agents.registry import specs
from agents.runtime.context import AgentContext
from agents.runtime.driven import DrivenRun, PipelineSettings
from agents.runtime.outbox import Outbox
from evals import judging
from evals.casebook import (
    Brought,
    ComposingCase,
    HandoffCase,
    PlanningCase,
    RoutingCase,
    ToolCase,
)
from evals.first_call import FirstCall, first_call, nobody
from hyperagent.lib.ids import new_id
from hyperagent.lib.llm.errors import ModelGarbled
from hyperagent.lib.llm.gateway import ModelGateway
from hyperagent.lib.text import json_text


@dataclass(frozen=True, slots=True)
class Answered:
    """`got`: what the code did, in a few words."""

    got: str
    faults: list[str]


def context_of(models: ModelGateway) -> AgentContext:
    """A run of its own that is stored nowhere."""
    execution_id = new_id()
    outbox = Outbox(execution_id, epoch=1, group="", wake_writer=lambda outbox, durable: None)
    run = DrivenRun(execution_id, outbox=outbox, models=models, programs=dict.fromkeys(specs(), nobody), loaded=None)
    root = AgentRecord(sibling_id(execution_id), None, "evaluation", "evaluation", "", AgentStatus.RUNNING)
    run.record(root)
    return AgentContext(run, root)


async def route(case: RoutingCase, context: AgentContext, settings: PipelineSettings) -> Answered:
    found = await decide(
        context,
        case.question,
        mode=None,
        roster=specs(),
        routing_mode=settings.routing_mode,
        history=case.turns,
    )
    faults = judging.of_route(found.kind, found.agent, case.expect)
    if found.method == "fallback":
        faults = [found.reason, *faults]
    return Answered(f"{found.agent} ({found.method})", faults)


def trouble_of(context: AgentContext) -> str:
    """Why a call of a model came to nothing, in words, where that says nothing of the model: nobody answered, or would
    not, or the prompt was too long. Also where the pipeline went on without it. Empty if all calls were answered."""
    steps = (step for steps in context.run.loaded.steps.values() for step in steps.values())
    failures = (step.response for step in steps if step.kind is StepKind.MODEL and step.status is StepStatus.FAILED)
    return next((failure["message"] for failure in failures if failure["code"] != ModelGarbled.code), "")


async def plan(case: PlanningCase, context: AgentContext, settings: PipelineSettings) -> Answered:
    made = await make_plan(context, case.question, history=case.turns, profile={}, roster=specs())
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
    faults = judging.of_call(call.name if call else None, call.arguments if call else {}, case.expect)
    return Answered(_told(call), faults)


async def hand_off(case: HandoffCase, context: AgentContext, settings: PipelineSettings) -> Answered:
    call = await first_call(case, case.agent, context)
    return Answered(_told(call), judging.of_handoff(call.name if call else None, case.expect))


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


def _told(call: FirstCall | None) -> str:
    return f"{call.name} {json_text(call.arguments)[:200]}" if call else "(no call)"


Runner = Callable[[Any, AgentContext, PipelineSettings], Awaitable[Answered]]
RUNNERS: Final[Mapping[str, Runner]] = {
    "routing": route,
    "planning": plan,
    "tool_choice": choose_tool,
    "handoff": hand_off,
    "composing": compose_answer,
}
