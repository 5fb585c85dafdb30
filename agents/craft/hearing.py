"""What people say to agents while they work: every request that an agent makes of a model has it."""

from typing import Final

from agents.runtime.context import AgentContext
from hyperagent.lib.llm.types import Message, ModelRequest, Role

HEARD: Final = "[Message from the user while you work] {text}"


def heard(text: str) -> Message:
    """As models are told of it."""
    return Message(role=Role.USER, content=HEARD.format(text=text))


async def with_said(context: AgentContext, request: ModelRequest) -> ModelRequest:
    """The request of an agent that puts each together anew: with all that people have said to it by now."""
    await context.heard()
    if not context.said:
        return request
    return request.model_copy(update={"messages": (*request.messages, *map(heard, context.said))})
