"""The last step of a turn (B19): the answer stands, and its cited sentences are held against their sources.

Words first (`agents.pipeline.grounding`); what they cannot tell goes to a model, all of it in one call, for a bounded
time. Nothing of the answer is changed. Where the model fails, what the words say stays.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from agents.craft.exchange import Options
from agents.craft.stages import stage
from agents.engine.errors import StepFailed
from agents.engine.events import Check
from agents.pipeline.grounding import Evidence
from agents.roles.grounder import NAME, Verdict, ask_grounder
from agents.runtime.context import AgentContext

LIMIT_S: Final = 12.0


async def grounded(
    context: AgentContext, by_words: Sequence[Check], evidence: Sequence[Evidence], *, options: Options
) -> list[Check]:
    """The checks as the words have them, and a model where those cannot tell."""
    checks = list(by_words)
    unsure = {place: check for place, check in enumerate(checks) if _is_for_a_model(check, evidence)}
    if not unsure or not await _has_room(context):
        return checks
    verdicts = await _asked(context, list(unsure.values()), evidence, options)
    for place, verdict in zip(unsure, verdicts, strict=True):
        if verdict is not None:
            found = {"supported": verdict.supported, "by": "model", "why": "" if verdict.supported else verdict.why}
            checks[place] = checks[place].model_copy(update=found)
    return checks


def _is_for_a_model(check: Check, evidence: Sequence[Evidence]) -> bool:
    if check.supported or not check.citations:
        return False
    return all(evidence[number - 1].is_whole for number in check.citations)


async def _has_room(context: AgentContext) -> bool:
    """Nobody is asked for more money for this."""
    if context.run.terms is None:
        return True
    has_room: bool = await context.note("room", lambda: context.is_within_budget)
    return has_room


async def _asked(
    context: AgentContext, unsure: Sequence[Check], evidence: Sequence[Evidence], options: Options
) -> list[Verdict | None]:
    texts = {number: one.text for number, one in enumerate(evidence, start=1)}

    async def ask(inside: AgentContext) -> Mapping[int, Verdict]:
        return await ask_grounder(inside, unsure, texts, options=options)

    try:
        with stage(context, NAME, "Checking the answer against its sources"):
            verdicts = await context.within(LIMIT_S, ask, name=NAME)
    except StepFailed:
        return [None] * len(unsure)
    return [verdicts.get(place) for place in range(len(unsure))]
