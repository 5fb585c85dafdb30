"""Looks at a question before anything is done with it. What was found is a recorded note, so that whoever drives the
run later knows it, too.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from agents.engine.context import Outcome
from agents.engine.errors import OutsideError
from agents.engine.run import Run
from agents.engine.states import StepKind, StepStatus
from agents.guardrails.aside import look
from agents.guardrails.judging import Verdict, judge
from agents.guardrails.reporting import LATE, FindingSummary, lines_of, tell_lines
from agents.guardrails.scanner import Certainty, Place, Scanner, Subject
from agents.runtime.context import AgentContext

NOTE: Final = "guard_input"
"""The name of the step. Its response is a list of `FindingSummary`s as JSON; empty where nothing was found."""
REFUSED: Final = "guardrail_input"
TOO_LATE: Final = (
    "This question could not be looked at in time, and here such questions are refused (GUARDRAILS_STRICT). "
    "Ask again in a moment."
)
WAY_OUT: Final = (
    "Say it in other words, without telling the assistant what to be or to ignore. If that is wrong: an administrator "
    "finds it under Guardrails › Verdicts."
)


async def look_at_question(context: AgentContext, question: str, *, scanners: Sequence[Scanner] | None = None) -> None:
    """Raises StepFailed (`guardrail_input`) for a question that is refused. By the settings of now and not by those
    that the run has noted: another try of a refused one goes by what an administrator has changed since."""
    recorded = context.upcoming
    if recorded is not None and (recorded.kind, recorded.name) != (StepKind.NOTE, NOTE):
        return  # The run began before questions were looked at, and goes on as it began.

    async def perform() -> Outcome:
        subject = Subject(field="question")
        judging = partial(judge, [(subject, question)], Place.INPUT, context.run.settings.guards, scanners)
        verdict = await look(judging, chars=len(question))
        lines = lines_of(verdict, [question])
        tell_lines(context, lines)
        if verdict.refuses:
            raise _refusal(verdict)
        return Outcome([line.as_json() for line in lines])

    await context.step(StepKind.NOTE, NOTE, None, perform)


def flagged(run: Run) -> list[dict[str, Any]]:
    """What was found in the question of this run, and let through, as JSON of `FindingSummary`. Every replay has it."""
    steps = run.steps_of(run.root.id).values()
    found = (
        step for step in steps if (step.kind, step.name, step.status) == (StepKind.NOTE, NOTE, StepStatus.FINISHED)
    )
    return [line for step in found for line in step.response if FindingSummary.from_json(line).kind != LATE]


def _refusal(verdict: Verdict) -> OutsideError:
    """Recorded as a failure, so that another try of the run looks at the question anew."""
    sure = [one for one in verdict.findings if one.certainty is Certainty.CERTAIN]
    if not sure:
        return OutsideError(REFUSED, TOO_LATE, retryable=True)
    return OutsideError(REFUSED, f"This question was not passed on. {sure[0].reason.rstrip('.')}. {WAY_OUT}")
