"""Lists the steps of a task: which agent would do what, and in which order. Runs nothing, and is no plan of the run."""

from collections.abc import Mapping
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from agents.pipeline.plans import Plan, faults_of, planned_steps
from agents.registry import specs
from agents.roles.planner import amending, ask_planner, opening, plan_of
from agents.skills.base import SkillContext, SkillError, SkillResult, ToolSkill
from agents.spec import AgentSpec

AMENDMENTS: Final = 2


class Params(BaseModel):
    model_config = ConfigDict(extra="forbid")

    task: str = Field(min_length=1, description="The task to be planned, with everything that is known of it")
    feedback: str = Field(default="", description="What was wrong with a plan that was made before")


class Step(BaseModel):
    model_config = ConfigDict(extra="forbid")

    id: str
    agent: str
    task: str
    expected_outcome: str
    depends_on: tuple[str, ...]
    stage: int = Field(ge=1, description="Steps of one stage could be done at the same time")


class Steps(BaseModel):
    model_config = ConfigDict(extra="forbid")

    intent: str
    steps: tuple[Step, ...] = Field(min_length=1)


class TaskPlanning(ToolSkill[Params]):
    id = "task_planning"
    version = "1.0.0"
    description = "Analyses a complex task and lists the steps that it takes, with their order. Does none of them."
    category = "automation"
    params = Params
    output = Steps

    async def execute(self, params: Params, context: SkillContext) -> SkillResult:
        plan = await self._planned(params, context, specs())
        steps = tuple(
            Step(
                id=step.id,
                agent=step.agent,
                task=step.task,
                expected_outcome=step.expected_outcome,
                depends_on=step.depends_on,
                stage=step.stage,
            )
            for step in planned_steps(plan)
        )
        output = Steps(intent=plan.intent, steps=steps)
        return SkillResult(output=output.model_dump(mode="json"), text=_listed(output))

    async def _planned(self, params: Params, context: SkillContext, roster: Mapping[str, AgentSpec]) -> Plan:
        """A plan without a fault; what is wrong with one goes back to the planner."""
        task = context.task
        messages = opening(
            params.task,
            history=task.conversation_history,
            profile=task.long_term_memory,
            done={},
            revision_context=params.feedback,
            options=task.options,
        )
        faults: list[str] = []
        for _ in range(AMENDMENTS + 1):
            answer = await ask_planner(context.context, messages, roster=roster, options=task.options)
            plan = plan_of(answer, agents=roster, revision=0)
            faults = faults_of(plan, agents=roster)
            if not faults:
                return plan
            messages = (*messages, *amending(answer, faults))
        raise SkillError(f"No plan came about that could be run: {'; '.join(faults)}.")


def _listed(output: Steps) -> str:
    lines = []
    for number, step in enumerate(output.steps, start=1):
        after = f" (after {', '.join(step.depends_on)})" if step.depends_on else ""
        outcome = f" Gives: {step.expected_outcome}" if step.expected_outcome else ""
        lines.append(f"{number}. [{step.id}] {step.agent}: {step.task}{after}{outcome}")
    return "\n".join(lines)


SKILL = TaskPlanning()
