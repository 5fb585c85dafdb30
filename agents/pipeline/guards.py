"""Where guardrails look at what comes in and what goes out. Scanners plug in here."""

from typing import Any, Final

from agents.craft.exchange import Options
from agents.engine.states import StepKind
from agents.guardrails.content import neutral_text
from agents.guardrails.output import Screened, screened
from agents.guardrails.questions import look_at_question
from agents.guardrails.reporting import tell_lines
from agents.guardrails.second_look import look_again
from agents.runtime.context import AgentContext

PROJECT_NOTE: Final = "guard_project"


async def guard_input(context: AgentContext, text: str) -> str:
    """The question as it may go on. Raises StepFailed (`guardrail_input`) for one that is refused."""
    await look_at_question(context, text)
    await look_again(context, text)
    return text


async def guard_project(context: AgentContext, options: Options) -> Options:
    """What the run is told of its project, without its force where it is another's text and looks like orders to a
    model, as a result of a tool is. Recorded, so that a replay tells the same."""
    told = options.project_instructions
    if told is None or not options.instructed_by_another:
        return options
    recorded = context.upcoming
    if recorded is not None and (recorded.kind, recorded.name) != (StepKind.NOTE, PROJECT_NOTE):
        return options  # The run began before they were looked at, and goes on as it began.

    def look() -> dict[str, Any]:
        text, lines = neutral_text(told.text, settings=context.run.settings.guards)
        return {"text": text, "lines": [line.as_json() for line in lines]}

    noted = Screened.from_json(await context.note(PROJECT_NOTE, look))
    tell_lines(context, noted.lines)
    return options.model_copy(update={"project_instructions": told.model_copy(update={"text": noted.text})})


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
