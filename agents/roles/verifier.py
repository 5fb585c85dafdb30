"""The verifier (S14): reads what the agents brought and says whether the question can be answered from it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from pydantic import BaseModel, field_validator

from agents.craft.briefing import quoted
from agents.craft.exchange import AgentOutput, Options
from agents.craft.prompts import read_prompt
from agents.pipeline.plans import Plan, PlanTask
from agents.roles.asking import conversation_of, question_of, request_of, sections, user
from agents.runtime.context import AgentContext
from hyperagent.lib.clipping import beginning, both_ends
from hyperagent.lib.llm.types import Tier

NAME: Final = "verifier"
RESULT_CHARS: Final = 2_500
ALL_RESULTS_CHARS: Final = 24_000
PROMPT = Path(__file__).parent / "verifier_prompt.md"


class Judged(BaseModel):
    """What the model answers. `redo`: ids of tasks whose results are wrong or too little."""

    satisfied: bool
    feedback: str = ""
    redo: list[str] = []

    @field_validator("redo", mode="before")
    @classmethod
    def _none_is_empty(cls, said: object) -> object:
        return [] if said is None else said


async def ask_verifier(
    context: AgentContext,
    question: str,
    *,
    plan: Plan,
    outputs: Mapping[str, AgentOutput],
    history: Sequence[Mapping[str, str]],
    beyond_mending: Mapping[str, str],
    options: Options,
) -> Judged:
    """`beyond_mending`: tasks that cannot be done whatever is planned, with the reason. Raises StepFailed."""
    each = max(300, min(RESULT_CHARS, ALL_RESULTS_CHARS // max(1, len(plan.tasks))))
    told = sections(
        ("Question", question_of(question)),
        ("Conversation so far", conversation_of(history)),
        ("Results", "\n".join(_result(task, outputs[task.id], each) for task in plan.tasks if task.id in outputs)),
        ("Cannot be done now", "\n".join(f"- {one}: {why}" for one, why in beyond_mending.items())),
    )
    request = request_of(NAME, Tier.FLASH, read_prompt(PROMPT), user(told), options=options)
    return await context.structured(request, Judged, stage=NAME)


def _result(task: PlanTask, output: AgentOutput, limit: int) -> str:
    wanted = f"\n  expected: {beginning(task.expected_outcome, 200)}" if task.expected_outcome else ""
    said = output.result if output.task_done else f"Not done: {output.error or 'no reason given'}"
    part = "" if len(said) <= limit else f"\n  result: {len(said):,} characters; its beginning and its end are shown"
    head = f"- id {task.id} ({task.agent}): {beginning(task.task, 300)}{wanted}{part}\n"
    return head + quoted(task.id, both_ends(said, limit))
