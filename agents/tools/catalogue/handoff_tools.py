"""Giving one's whole task to another agent: a tool for each target of the handoff matrix (S41-S49)."""

from typing import Annotated, Final

from pydantic import Field

from agents.craft.exchange import AgentInput, HandoffInfo
from agents.pipeline.handoffs import MATRIX, HandoffManager
from agents.runtime.context import AgentContext
from agents.tools.tool import Function, Reply, Tool, ToolError, composite

CHARS = 4_000

Task = Annotated[
    str, "The whole task, for somebody who knows nothing else of it", Field(min_length=1, max_length=CHARS)
]
Known = Annotated[str, "What you found out so far and they should know", Field(max_length=CHARS)]
Files = Annotated[tuple[str, ...], "Paths of files that they need", Field(max_length=10)]


async def hand_over(
    context: AgentContext, target: str, *, task_description: str, known: str, artifacts: tuple[str, ...]
) -> Reply:
    """The decision is a note: what the rules counted then must not be counted again on a replay. People are told by
    `agents.pipeline.artifacts`, once it is known what goes along."""
    task: AgentInput | None = context.task_input
    source = context.agent.name
    chain = task.handoffs if task else ()

    def why_not() -> str:
        count, limit = context.run.count_noted("handoff", ""), context.run.settings.max_handoffs
        refusal = HandoffManager(chain, count, limit).why_not(source, target)
        return refusal or context.refusal_of_fork(takes_over=True)

    refusal: str = await context.note("handoff", why_not)
    if refusal:
        raise ToolError(refusal)
    handoff = HandoffInfo(
        source_agent=source,
        target_agent=target,
        task_description=task_description,
        context=known,
        artifacts=artifacts,
    )
    return Reply(content=f"The {target} agent takes over. Your work on this task is done.", data=handoff)


def _handoff_to(target: str) -> Function:
    async def handoff(
        here: AgentContext,
        task_description: Task,
        context: Known = "",
        artifacts: Files = (),
    ) -> Reply:
        return await hand_over(here, target, task_description=task_description, known=context, artifacts=artifacts)

    handoff.__doc__ = (
        f"Gives your whole task to the {target} agent, which answers in your place; you do not get it back. "
        "Not for a part of it."
    )
    return handoff


def _sources_of(target: str) -> tuple[str, ...]:
    return tuple(source for source, targets in MATRIX.items() if target in targets)


HANDOFFS: Final[tuple[Tool, ...]] = tuple(
    composite(name=f"handoff_to_{target}", agents=_sources_of(target))(_handoff_to(target))
    for target in MATRIX
    if _sources_of(target)
)
# The name that the executor of older versions had for it (S46).
delegate_to_research: Final = composite(name="delegate_to_research", agents=("chat",))(_handoff_to("research"))
