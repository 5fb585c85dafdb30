"""The clarifier (S96): says whether a question lacks what nobody can guess, and what to ask the person then."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, Field, field_validator

from agents.craft.exchange import Options
from agents.craft.prompts import read_prompt
from agents.roles.asking import question_of, request_of, sections, user
from agents.runtime.context import AgentContext
from hyperagent.lib.llm.types import Tier

NAME: Final = "clarifier"
MAX_QUESTIONS: Final = 3
MAX_OPTIONS: Final = 6
PROMPT = Path(__file__).parent / "clarifier_prompt.md"


class Query(BaseModel):
    """One question to the person, and answers that they may choose from."""

    question: str = Field(min_length=1)
    options: list[str] = []


class Clarity(BaseModel):
    """What the model answers. Questions beyond the third are left out."""

    needs_clarification: bool
    questions: list[Query] = []
    reason: str = ""

    @field_validator("questions", mode="before")
    @classmethod
    def _as_queries(cls, said: Any) -> Any:
        if not isinstance(said, list):
            return [] if said is None else said
        return [{"question": one} if isinstance(one, str) else one for one in said][:MAX_QUESTIONS]


async def ask_clarifier(
    context: AgentContext,
    question: str,
    *,
    doubt: str,
    answered: Sequence[tuple[str, str]],
    options: Options,
) -> Clarity:
    """`doubt`: what seems to be missing. `answered`: what was asked before, with the answers. Raises StepFailed.

    `options`: where the person chose a provider, what they asked is not shown to another.
    """
    said = "\n".join(f"Asked: {asked}\nAnswer: {answer}" for asked, answer in answered)
    told = sections(("Request", question_of(question)), ("What seems to be missing", doubt), ("Asked already", said))
    request = request_of(NAME, Tier.FLASH, read_prompt(PROMPT), user(told), options=options.of_the_person)
    return await context.structured(request, Clarity, stage=NAME)
