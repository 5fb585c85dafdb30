"""The last thing that an agent does which has acted: it says what came of it."""

from agents.craft.exchange import AgentInput
from agents.craft.hearing import with_said
from agents.engine.errors import StepFailed
from agents.runtime.context import AgentContext
from agents.spec import AgentSpec
from hyperagent.lib.llm.types import Message, Role, Tier


async def summed_up(
    context: AgentContext,
    task: AgentInput,
    spec: AgentSpec,
    *,
    system: str,
    user: str,
    otherwise: str,
    tier: Tier | None = None,
) -> tuple[str, str | None]:
    """The text and the model whose words it has; `otherwise` and None where none can be reached: what is done is done.

    What people saw of a summary that broke off is taken back by whoever says the result (`AgentContext.say`).
    """
    messages = (Message(role=Role.SYSTEM, content=system), Message(role=Role.USER, content=user))
    request = task.request(agent=spec.name, tier=tier or spec.tier, messages=messages, temperature=spec.temperature)
    try:
        reply = await context.model(await with_said(context, request), stage="summarize", shown=task.speaks)
    except StepFailed:
        return otherwise, None
    return reply.text, reply.model
