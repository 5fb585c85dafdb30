"""What a conversation is called, by the cheap model, beside the answer to its first question."""

from pathlib import Path

from agents.craft.prompts import read_prompt
from agents.engine.errors import StepFailed
from agents.runtime.context import AgentContext
from hyperagent.lib.llm.types import Message, ModelRequest, Role, Tier
from hyperagent.lib.text import title_from

TITLE_PROMPT = Path(__file__).parent / "title_prompt.md"


async def title_of(context: AgentContext, question: str, *, wanted: bool, provider: str | None = None) -> str:
    """Empty if none is wanted or the call fails: a title is no reason to fail.

    `provider`: where the person chose one, what they asked is not shown to another.
    """
    if not wanted:
        return ""
    messages = (
        Message(role=Role.SYSTEM, content=read_prompt(TITLE_PROMPT)),
        Message(role=Role.USER, content=question[:2000]),
    )
    request = ModelRequest(tier=Tier.FLASH, messages=messages, provider=provider, max_tokens=200, agent="title")
    try:
        reply = await context.model(request, stage="title", aside=True)
    except StepFailed:
        return ""
    return title_from(reply.text.strip().strip("\"'«»“”„."))
