"""The router (S4): one cheap call that says who works on a question. Asked only where the patterns are not sure."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, field_validator

from agents.craft.briefing import files_of
from agents.craft.exchange import Options
from agents.craft.prompts import filled_for_all, read_prompt
from agents.roles.asking import conversation_of, described, question_of, request_of, sections, user
from agents.runtime.context import AgentContext
from agents.spec import AgentSpec
from hyperagent.lib.llm.types import Tier

NAME: Final = "router"
_NO_OPTIONS: Final = Options()
SEVERAL: Final = "planner"
"""What it answers where one agent cannot do it alone."""
PROMPT = Path(__file__).parent / "router_prompt.md"


class Routed(BaseModel):
    """What the model answers. `confidence`: 0..1, 1 is certain; a percentage is read as one."""

    agent: str
    confidence: float = 0.0
    reason: str = ""

    @field_validator("agent")
    @classmethod
    def _plain(cls, name: str) -> str:
        return name.strip().lower().removesuffix("_agent").removesuffix(" agent")

    @field_validator("confidence", mode="before")
    @classmethod
    def _as_share(cls, said: Any) -> Any:
        try:
            value = float(str(said).strip().rstrip("%"))
        except ValueError:
            return said
        value = value / 100 if 1 < value <= 100 else value
        return min(1.0, max(0.0, value)) if value == value else 0.0  # noqa: PLR0124 - NaN is not itself


async def ask_router(
    context: AgentContext,
    question: str,
    *,
    roster: Mapping[str, AgentSpec],
    history: Sequence[Mapping[str, str]],
    options: Options = _NO_OPTIONS,
) -> Routed:
    """The router's answer as it is: its agent may be one that there is not. Raises StepFailed.

    `options`: with what is attached. Where the person chose a provider, what they asked is not shown to another.
    """
    system = filled_for_all(read_prompt(PROMPT), agents=described(roster.values(), tools=False), several=SEVERAL)
    told = sections(
        ("Question", question_of(question)),
        ("Files that belong to it", files_of(options)),
        ("Conversation so far", conversation_of(history)),
    )
    request = request_of(NAME, Tier.FLASH, system, user(told), options=options.of_the_person)
    return await context.structured(request, Routed, stage=NAME)
