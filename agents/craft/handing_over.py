"""How an agent gives its task to another: the tools for it, and the same for an agent whose work is no loop."""

from typing import Final

from agents.craft.exchange import HandoffInfo
from agents.pipeline.handoffs import targets_of
from agents.runtime.context import AgentContext
from agents.spec import AgentSpec
from hyperagent.lib.clipping import beginning

# What the tool takes of either text. The person's whole question goes along in any case.
MOST_CHARS: Final = 4_000


def handoff_tools(spec: AgentSpec) -> tuple[str, ...]:
    """The tools by which this agent hands over, in the order of the matrix (S45)."""
    return tuple(f"handoff_to_{target}" for target in targets_of(spec.name)) if spec.handoffs else ()


async def hand_over(context: AgentContext, target: str, task_description: str, *, why: str = "") -> HandoffInfo | None:
    """The accepted handoff, or None where it may not be: then the agent goes on by itself."""
    arguments = {"task_description": beginning(task_description, MOST_CHARS), "context": beginning(why, MOST_CHARS)}
    reply = await context.tool(f"handoff_to_{target}", arguments)
    if reply.is_error or not reply.data:
        return None
    return HandoffInfo.model_validate(reply.data)
