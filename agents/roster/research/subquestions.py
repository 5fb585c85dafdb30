"""Subquestions: child agents look them up side by side, and one that fails costs its own answer and no more (S98)."""

from collections.abc import Sequence

from agents.craft.exchange import AgentInput, AgentOutput
from agents.engine.context import Ended, Handle
from agents.engine.errors import StepFailed
from agents.engine.states import AgentStatus
from agents.pipeline.work import commission, retry_config
from agents.registry import specs
from agents.roster.research.config import Subquestion
from agents.roster.research.findings import Answered
from agents.runtime.context import AgentContext


async def start(context: AgentContext, task: AgentInput, questions: Sequence[Subquestion]) -> list[Handle | str]:
    """The children, in order; words in place of one that the run's limits do not allow."""
    started: list[Handle | str] = []
    for place, one in enumerate(questions, start=1):
        child = child_of(task, one.agent, one.question, name=f"{task.agent_id}.{place}")
        try:
            started.append(await context.fork(one.agent, commission(child), task=one.question, limited=True))
        except StepFailed as error:
            started.append(error.message)
    return started


async def collect(
    context: AgentContext, questions: Sequence[Subquestion], started: Sequence[Handle | str]
) -> tuple[Answered, ...]:
    """What became of each, when all have ended."""
    answered = []
    for question, handle in zip(questions, started, strict=True):
        if isinstance(handle, str):
            answered.append(Answered(question, trouble=handle))
        else:
            answered.append(_answered(question, await context.outcome(handle)))
    return tuple(answered)


def child_of(task: AgentInput, agent: str, question: str, *, name: str) -> AgentInput:
    """The child's input: the person's profile and options go along, the conversation and the plan do not. How long it
    may take and how often it is tried is its own agent's matter."""
    return AgentInput(
        agent_id=name,
        agent_name=agent,
        task=question,
        retry_config=retry_config(specs()[agent]),
        long_term_memory=task.long_term_memory,
        metadata=task.metadata,
        capable=task.capable,
        options=task.options,
        handoffs=task.handoffs,
    )


def _answered(question: Subquestion, ended: Ended) -> Answered:
    if ended.status is AgentStatus.DELETED:
        return Answered(question, trouble="A person stopped it.")
    if ended.status is not AgentStatus.COMPLETED:
        return Answered(question, trouble=ended.message)
    output = AgentOutput.model_validate(ended.output)
    if not output.task_done:
        return Answered(question, trouble=output.result or output.error or "")
    return Answered(question, output=output)
