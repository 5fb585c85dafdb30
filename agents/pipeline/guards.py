"""Where guardrails look at what comes in and what goes out. Scanners plug in here."""

from typing import Any

from agents.guardrails.asked import look_at_question
from agents.guardrails.output import Screened, screened
from agents.guardrails.second_look import look_again
from agents.guardrails.telling import tell_lines
from agents.runtime.context import AgentContext


async def guard_input(context: AgentContext, text: str) -> str:
    """The question as it may go on. Raises StepFailed (`guardrail_input`) for one that is refused."""
    await look_at_question(context, text)
    await look_again(context, text)
    return text


async def guard_output(context: AgentContext, text: str) -> str:
    """The answer as it may be shown. What was said was looked at while it was written; anything else is now, once: a
    replay finds what was made of it then."""

    def look() -> dict[str, Any] | None:
        # An agent that has ended says nothing again on a replay: whether it has said this is only asked here.
        found = Screened(text) if context.run.has_said(text) else screened(context.run, text)
        return found.as_json() if found.lines else None

    noted = await context.note("screened", look)
    if noted is None:
        return text
    found = Screened.from_json(noted)
    tell_lines(context, found.lines)
    return found.text
