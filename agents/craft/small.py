"""What agents ask of the small bundled model: one short call, without tools, that does not make people wait."""

from typing import Final

from agents.craft.exchange import AgentInput
from agents.craft.hearing import with_said
from agents.runtime.context import AgentContext
from agents.spec import AgentSpec
from hyperagent.lib.llm.types import Message, ModelReply, Role

# It reads about 90 tokens a second: 1,200 characters are some four seconds before the first word.
SMALL_CHARS: Final = 1_200
SMALL_MAX_TOKENS: Final = 400
# Nobody watches an agent of a plan write, and it writes some five tokens a second beside others: minutes are too long.
PART_MAX_TOKENS: Final = 160


def most_tokens(task: AgentInput) -> int | None:
    """How much a model may write for this task: as much as it likes, unless it is the small one."""
    if task.capable:
        return None
    return SMALL_MAX_TOKENS if task.speaks else PART_MAX_TOKENS


async def ask_small(
    context: AgentContext,
    task: AgentInput,
    spec: AgentSpec,
    *,
    system: str,
    user: str,
    stage: str,
    before: tuple[Message, ...] = (),
) -> ModelReply:
    """The model's answer to `user`; `before`: turns of the conversation that go ahead of it. Raises StepFailed."""
    messages = (Message(role=Role.SYSTEM, content=system), *before, Message(role=Role.USER, content=user))
    request = task.request(
        agent=spec.name,
        tier=spec.tier,
        messages=messages,
        temperature=spec.temperature,
        max_tokens=most_tokens(task),
    )
    return await context.model(await with_said(context, request), stage=stage, shown=task.speaks)
