"""A plan that was shown and shall not run: why, what people are told, and what its tasks leave behind.

A no, a question that nobody answered and a plan that cannot be run as it was changed are never told as each other.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from agents.craft.exchange import AgentOutput
from agents.engine.events import PlanStepCompleted, Stage, StageStatus
from agents.pipeline.plans import Plan, PlanTask
from agents.pipeline.protected import needing_a_yes
from agents.pipeline.todo import state_of
from agents.runtime import attempts
from agents.runtime.context import AgentContext

CANNOT_RUN: Final = "plan_cannot_run"
STAGE: Final = "plan"
_NOT_BEGUN: Final[Mapping[str, str]] = {
    attempts.DENIED: "The plan was rejected, so nothing was done.",
    attempts.TIMED_OUT: (
        "Nobody answered in time whether the plan may run, so nothing was done. Ask again to be asked again."
    ),
    attempts.WITHDRAWN: "The question whether the plan may run was withdrawn, so nothing was done.",
    CANNOT_RUN: "The plan could not be run as it was changed, so nothing was done.",
}
_NOT_GONE_ON: Final[Mapping[str, str]] = {
    attempts.DENIED: "The plan for what is missing was rejected, so the answer says what there is.",
    attempts.TIMED_OUT: (
        "Nobody answered in time whether the plan for what is missing may run, so the answer says what there is."
    ),
    attempts.WITHDRAWN: (
        "The question whether the plan for what is missing may run was withdrawn, so the answer says what there is."
    ),
    CANNOT_RUN: "The plan for what is missing could not be run as it was changed, so the answer says what there is.",
}


@dataclass(frozen=True, slots=True)
class NotAgreed:
    """`code`: the error of the tasks: DENIED, TIMED_OUT or WITHDRAWN of `attempts`, or CANNOT_RUN. `reason`: what was
    said, or what was wrong with the plan."""

    code: str
    reason: str

    @property
    def nothing_done(self) -> str:
        """The answer of a run whose first plan it was."""
        return self._told(_NOT_BEGUN)

    @property
    def no_more_done(self) -> str:
        """What stands beside the answer of a run that was to go on by it."""
        return self._told(_NOT_GONE_ON)

    def _told(self, sentences: Mapping[str, str]) -> str:
        said = sentences[self.code]
        return f"{said} What was wrong with it: {self.reason}." if self.code == CANNOT_RUN else said


def left_undone(
    context: AgentContext, plan: Plan, why: NotAgreed, *, done: Collection[str] = ()
) -> dict[str, AgentOutput]:
    """The outputs of those tasks of the plan that are not `done`, by their ids. People are told of each."""
    watched = needing_a_yes(context.run)
    outputs = {task.id: _undone(task, why, watched) for task in plan.tasks if task.id not in done}
    for task_id, output in outputs.items():
        context.emit(PlanStepCompleted(step_id=task_id, status=state_of(output), error=output.error))
    return outputs


def told_beside(context: AgentContext, plan: Plan, why: NotAgreed) -> Plan:
    """The plan with what is to be said of it in the answer; people are told at once."""
    context.emit(Stage(name=STAGE, description=why.no_more_done, status=StageStatus.FAILED))
    return plan.model_copy(update={"notice": why.no_more_done})


def _undone(task: PlanTask, why: NotAgreed, watched: Collection[str]) -> AgentOutput:
    protected = [name for name in task.tools if name in watched]
    return AgentOutput(
        agent_id=task.id,
        agent_name=task.agent,
        task_description=task.task,
        task_done=False,
        error=why.code,
        partial_data={"reason": why.reason, "tools": protected},
        confidence_score=0,
        depends_on=task.depends_on,
    )
