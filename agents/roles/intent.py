"""What a person's instructions on an approval are to the task: more of it, or another in its place (S127)."""

from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel

from agents.craft.briefing import quoted
from agents.craft.exchange import AgentInput
from agents.craft.prompts import read_prompt
from agents.engine.errors import StepFailed
from agents.pipeline.effective_task import Intent
from agents.roles.asking import question_of, sections, user
from agents.runtime.context import AgentContext
from hyperagent.lib.llm.environment import CLASSIFIER
from hyperagent.lib.llm.types import Message, ModelRequest, Role, Tier

NAME: Final = CLASSIFIER
"""Its model: HITL_CLASSIFIER_PROVIDER and HITL_CLASSIFIER_MODEL, else the cheap one."""
MAX_TOKENS: Final = 200
PROMPT = Path(__file__).parent / "intent_prompt.md"


class Said(BaseModel):
    intent: Literal["enhance", "override"]


async def intent_of(context: AgentContext, task: str, instructions: str, *, by: AgentInput | None) -> Intent:
    """Both are done where it cannot be told: where the call fails, or only the small bundled model serves.

    `by`: the input of the agent whose task it is, for the provider that the person chose.
    """
    if by is not None and not by.capable:
        return Intent.ENHANCE
    told = sections(
        ("Task", quoted("the task", question_of(task))),
        ("Instructions", quoted("the person", question_of(instructions))),
    )
    request = ModelRequest(
        tier=Tier.FLASH,
        messages=(Message(role=Role.SYSTEM, content=read_prompt(PROMPT)), user(told)),
        provider=by.options.provider if by is not None else None,
        max_tokens=MAX_TOKENS,
        agent=NAME,
    )
    try:
        said = await context.structured(request, Said, stage=NAME)
    except StepFailed:
        return Intent.ENHANCE
    return Intent(said.intent)
