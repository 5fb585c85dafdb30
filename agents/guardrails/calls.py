"""Looks at the arguments of a call before it is carried out.

It is a step of the journal only where there is something to tell: nearly every call has nothing, and costs no write. So
that a replay still decides the same, the journal is asked first. Where it already has this look, that counts; where it
has anything later, the look found nothing then, and is not taken again, whatever the scanners say by now. Only at the
end of the journal are they asked.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from agents.engine.canonical import digest
from agents.engine.context import Outcome
from agents.engine.journal import is_below
from agents.engine.states import StepKind
from agents.guardrails.aside import look
from agents.guardrails.fields import texts_of
from agents.guardrails.judging import Verdict, judge
from agents.guardrails.reporting import LATE, lines_of, tell_lines
from agents.guardrails.scanner import Certainty, Place, Scanner
from agents.runtime.context import AgentContext
from agents.tools.arguments import Refusal
from agents.tools.checks import Request

NOTE: Final = "guard_tool"
REFUSED: Final = "guardrail_tool"


async def look_at_call(
    context: AgentContext, request: Request, *, scanners: Sequence[Scanner] | None = None
) -> Refusal | None:
    """A `Check`. Refuses what is certain, and what there was no time to look at."""
    recorded = context.upcoming
    if recorded is not None and (recorded.kind, recorded.name) != (StepKind.NOTE, NOTE):
        return None
    if recorded is None and _has_gone_on(context):
        return None
    texts = list(texts_of(request.tool.name, request.arguments))

    async def looked() -> Verdict:
        judging = partial(judge, texts, Place.TOOL, context.run.settings.guards, scanners)
        return await look(judging, chars=sum(len(text) for _, text in texts))

    found = None if recorded is not None else await looked()
    if found is not None and not found.findings and not found.late:
        return None

    async def perform() -> Outcome:
        verdict = found or await looked()
        lines = lines_of(verdict, [text for _, text in texts])
        tell_lines(context, lines, tool=request.tool.name, call_id=request.call_id)
        sure = [one.reason for one in verdict.findings if one.certainty is Certainty.CERTAIN]
        return Outcome({"refused": sure if verdict.refuses else None, "lines": [line.as_json() for line in lines]})

    about = {"tool": request.tool.name, "arguments": digest(request.arguments).hex()}
    noted: dict[str, Any] = await context.step(StepKind.NOTE, NOTE, about, perform)
    return None if noted["refused"] is None else _refusal(request.tool.name, noted)


def _has_gone_on(context: AgentContext) -> bool:
    """Whether the journal has a fan-out where the look would stand: that is no step itself, and has steps below it."""
    return any(is_below(path, context.position) for path in context.run.steps_of(context.agent.id))


def _refusal(tool: str, noted: dict[str, Any]) -> Refusal:
    if noted["refused"]:
        why = " ".join(dict.fromkeys(noted["refused"]))
        message = (
            f"{tool} was not carried out: a guardrail refuses it. {why} Do it another way, or say that it cannot be."
        )
    else:
        late = ", ".join(line["scanner"] for line in noted["lines"] if line["kind"] == LATE)
        why = f"These arguments could not be looked at in time ({late})."
        message = f"{tool} was not carried out: {why} Send less at once."
    return Refusal(REFUSED, message, {"reason": why, "told": f"A guardrail refused {tool}. {why}"})
