"""A second look at a question in which the scanners suspect something: by a model, where an administrator names one.

It is one more flag: what it takes for an attack is treated as what is certain; what it takes for harmless stays
suspected, and the run stays tainted. Late, or without an answer, it counts as a scanner that had no time. The step
records what was said, so that a replay says the same.
"""

from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel

from agents.craft.briefing import quoted
from agents.craft.prompts import read_prompt
from agents.engine.context import Outcome
from agents.engine.errors import OutsideError, StepFailed
from agents.engine.states import StepKind
from agents.guardrails.questions import REFUSED, TOO_LATE, WAY_OUT, flagged
from agents.guardrails.reporting import LATE, NOT_LOOKED_AT, Act, FindingSummary, tell_lines
from agents.guardrails.scanner import Certainty, Place
from agents.guardrails.settings import GuardSettings
from agents.guardrails.wording.unbinding import ROLE
from agents.roles.asking import question_of, user
from agents.runtime.context import AgentContext
from hyperagent.lib.llm.types import Message, ModelRequest, Role, Tier

NAME: Final = "guardrails"
"""Of the agent in whose name it is asked: the ledger counts it under this."""
NOTE: Final = "guard_model"
VERDICT: Final = "guard_verdict"
KIND: Final = "second_look"
MAX_TOKENS: Final = 100
PROMPT: Final = Path(__file__).parent / "second_look.md"
REASON: Final = "A model that looked at it a second time takes it for an attack."


class Said(BaseModel):
    verdict: Literal["attack", "harmless"]


async def look_again(context: AgentContext, question: str) -> None:
    """Raises StepFailed (`guardrail_input`) for a question that is refused. Nothing where nothing was suspected, where
    no model is named, and in a run that began before there were second looks."""
    if all(line["kind"] == ROLE for line in flagged(context.run)):
        return
    recorded = context.upcoming
    if recorded is not None and (recorded.kind, recorded.name) != (StepKind.NOTE, NOTE):
        return
    guards = context.run.settings.guards
    model = await context.note(NOTE, lambda: guards.model)
    if model:
        said = await _said(context, question, str(model), guards)
        await _judged(context, said, guards)


async def _said(context: AgentContext, question: str, model: str, guards: GuardSettings) -> str | None:
    """None where nothing was said in time."""
    request = ModelRequest(
        tier=Tier.FLASH,
        messages=(
            Message(role=Role.SYSTEM, content=read_prompt(PROMPT)),
            user(quoted("the message to look at", question_of(question))),
        ),
        model=model,
        max_tokens=MAX_TOKENS,
        agent=NAME,
    )
    try:
        answer: Said = await context.within(
            guards.model_timeout_ms / 1000, lambda inside: inside.structured(request, Said, stage=NOTE), name=NOTE
        )
    except StepFailed:
        return None
    return Said.model_validate(answer).verdict


async def _judged(context: AgentContext, said: str | None, guards: GuardSettings) -> None:
    """One step, and what it tells once. By the settings of now, as with scanners."""

    async def perform() -> Outcome:
        line = _line(said, guards)
        if line is None:
            return Outcome(said)
        tell_lines(context, [line])
        if line.action == Act.BLOCK:
            words = TOO_LATE if said is None else f"This question was not passed on. {REASON} {WAY_OUT}"
            raise OutsideError(REFUSED, words, retryable=said is None)
        return Outcome(said)

    await context.step(StepKind.NOTE, VERDICT, None, perform)


def _line(said: str | None, guards: GuardSettings) -> FindingSummary | None:
    """What is told of it; None where it finds nothing."""
    if said is None:
        act = Act.BLOCK if guards.strict else Act.LOG
        return FindingSummary(Place.INPUT.value, NAME, LATE, "", act.value, NOT_LOOKED_AT)
    if said == "harmless":
        return None
    return FindingSummary(Place.INPUT.value, NAME, KIND, Certainty.CERTAIN.value, guards.action, REASON)
