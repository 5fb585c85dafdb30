"""One answer from what all agents of a run brought: sources numbered once, and every missing part accounted for.

Without a capable model, or where it fails, the parts are put one below the other. What the model is told is in
`agents.roles.composer`.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from agents.craft.exchange import AgentOutput, Options, Value
from agents.craft.stages import stage
from agents.engine.errors import StepFailed
from agents.engine.events import Source
from agents.pipeline.carried_out import as_clause, carried_out
from agents.pipeline.citations import check, cited, number, renumber
from agents.pipeline.effective_task import Intent, effective_task, heading, is_override
from agents.pipeline.not_agreed import CANNOT_RUN
from agents.pipeline.plans import Plan
from agents.roles.composer import NAME, STAGE, Brief, Missing, Result, write_answer
from agents.run_budget import CODE as OUT_OF_BUDGET
from agents.runtime.context import AgentContext
from hyperagent.lib.clipping import one_line
from hyperagent.lib.text import json_text, title_from

__all__ = ["NAME", "Composed", "ToCompose", "brief_of", "deterministic", "run"]

HEADING_CHARS: Final = 160
WHY_CHARS: Final = 400
DATA_CHARS: Final = 4_000
NOTHING: Final = "Nothing came of this question. Put it differently, or try it again."
CHANGED: Final = "*The task was changed during approval: this answers the new instructions.*"
_NEEDS_APPROVAL = "it was blocked because it needs a person's approval, and "
_WHY: Final[Mapping[str, str]] = {
    "denied_by_user": "it was blocked: its approval was declined",
    "hitl_timeout": f"{_NEEDS_APPROVAL}nobody answered in time. Ask again to be asked again",
    "hitl_skipped_non_streaming": (
        f"{_NEEDS_APPROVAL}this way of asking cannot ask for it. Ask again through the streaming interface "
        "(the chat page, or POST /api/v1/query/stream)"
    ),
    "hitl_cancelled": f"{_NEEDS_APPROVAL}the request for it was withdrawn",
    "denied_by_policy": "it was blocked: a rule of this installation, or of this run, does not allow it",
    "switched_off": "it was blocked: somebody has switched off such actions for the time being",
    "approved_with_instructions": "it was approved with instructions, and they were not followed",
    CANNOT_RUN: "its plan could not be run as it was changed",
    OUT_OF_BUDGET: "the budget of this run was used up before",
    "deleted": "the user stopped it",
    "cancelled": "it was stopped",
    "skipped": "what it builds on is missing",
}


class ToCompose(Value):
    """What the composer is forked with. `deleted`: ids of tasks that a person stopped; `notices`: to be mentioned."""

    question: str
    plan: Plan
    outputs: dict[str, AgentOutput]
    profile: dict[str, Any] = {}
    history: tuple[dict[str, str], ...] = ()
    capable: bool = True
    options: Options = Options()
    deleted: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


class Composed(Value):
    """`sources`: all that the results have, in the order of their numbers; `citations`: those that the answer names."""

    answer: str
    sources: tuple[Source, ...] = ()
    citations: tuple[int, ...] = ()
    model: str | None = None


async def run(context: AgentContext, value: dict[str, Any]) -> dict[str, Any]:
    """The program of the composer: `value` is a `ToCompose`, the result a `Composed`."""
    task = _as_told(value)
    brief = brief_of(task)
    with stage(context, STAGE, "Writing the answer"):
        answer, model = await _answer(context, task, brief)
    count = len(brief.sources)
    composed = Composed(answer=answer, sources=brief.sources, citations=cited(answer, count), model=model)
    return composed.model_dump(mode="json")


def _as_told(value: dict[str, Any]) -> ToCompose:
    """What it was forked with; a person's new instructions are a part of the question."""
    task = ToCompose.model_validate({name: said for name, said in value.items() if name in ToCompose.model_fields})
    if not value.get("modified"):
        return task
    return task.model_copy(update={"question": effective_task(task.question, value["task"], Intent.ENHANCE)})


async def _answer(context: AgentContext, task: ToCompose, brief: Brief) -> tuple[str, str | None]:
    """The text, and the model that wrote it. A model's failure takes nothing away from what the agents found."""
    if not task.capable:
        return await _shown(context, deterministic(brief)), None
    try:
        reply = await write_answer(context, brief, profile=task.profile, history=task.history, options=task.options)
    except StepFailed as error:
        failed = f"{error.message} So the results stand here as they came in."
        return await _shown(context, deterministic(_noticing(brief, context.beyond_budget, failed))), None
    text = check(reply.text, len(brief.sources)).strip()
    if text:
        said = f"{text}\n\n> {context.beyond_budget}" if context.beyond_budget else text
        return await _shown(context, said), reply.model
    return await _shown(context, deterministic(_noticing(brief, context.beyond_budget))), None


def _noticing(brief: Brief, *notices: str) -> Brief:
    return replace(brief, notices=(*brief.notices, *filter(None, notices)))


async def _shown(context: AgentContext, text: str) -> str:
    return await context.say(text)


def brief_of(task: ToCompose) -> Brief:
    """Results and what is missing in the order of the plan; after them what other plans of the run left behind."""
    planned = [step.id for step in task.plan.tasks]
    order = [*planned, *sorted(task.outputs.keys() - set(planned))]
    outputs = {task_id: task.outputs[task_id] for task_id in order if task_id in task.outputs}
    told = {task_id: out for task_id, out in outputs.items() if task_id not in task.deleted and _has_result(out)}
    numbered = number(output.metadata.sources for output in told.values())
    numbers = dict(zip(told, numbered.mappings, strict=True))
    return Brief(
        question=task.question,
        results=tuple(_result(out, _numbers_for(task_id, out, numbers)) for task_id, out in told.items()),
        sources=numbered.sources,
        missing=tuple(_missing(task, outputs)),
        notices=task.notices,
    )


def _missing(task: ToCompose, outputs: Mapping[str, AgentOutput]) -> list[Missing]:
    steps = {step.id: step for step in task.plan.tasks}
    found = []
    for task_id in (*steps, *(other for other in outputs if other not in steps)):
        output = outputs.get(task_id)
        if output is not None and output.task_done and task_id not in task.deleted:
            continue
        about = output.task_description if output else steps[task_id].task
        agent = output.agent_name if output else steps[task_id].agent
        why = _WHY["deleted"] if task_id in task.deleted else _why(output)
        if output is not None and (did := carried_out(output)):
            why = f"{why}; {as_clause(did)}"
        found.append(Missing(_heading(about), agent, why))
    known = steps.keys() | outputs.keys()
    found += [Missing(_heading(text), "agent", _WHY["deleted"]) for text in task.deleted if text not in known]
    return found


def _why(output: AgentOutput | None) -> str:
    """Why a part is not done, as the end of a sentence; what is said of it comes from tools and people."""
    if output is None:
        return "nobody worked on it"
    partial = output.partial_data
    sentence = _WHY.get(output.error or "")
    said = _one_line(str(partial.get("reason") or partial.get("message") or ""))
    if output.error == "not_configured":
        return _one_line(output.result) or said or "what it needs is not configured here"
    if sentence is None:
        return said or _one_line(output.error or "") or "it was not finished"
    details = [said] if said and said != output.error else []
    if isinstance(partial.get("tools"), list) and partial["tools"]:
        details.append("tools: " + ", ".join(map(str, partial["tools"])))
    return f"{sentence} ({'; '.join(details)})" if details else sentence


def _has_result(output: AgentOutput) -> bool:
    return output.task_done or (bool(output.result.strip()) and output.error != "not_configured")


def _result(output: AgentOutput, numbers: Mapping[int, int]) -> Result:
    text = renumber(output.result, numbers).strip()
    if not text and output.data:
        text = f"```json\n{json_text(output.data)[:DATA_CHARS]}\n```"
    return Result(
        heading=_heading(output.task_description),
        agent=output.agent_name,
        text=text or "(no text)",
        done=output.task_done,
        changed=is_override(output.task_description),
    )


def _numbers_for(task_id: str, output: AgentOutput, numbers: Mapping[str, Mapping[int, int]]) -> Mapping[int, int]:
    """An agent without sources of its own that builds on one other which has some repeats that one's numbers."""
    if numbers[task_id]:
        return numbers[task_id]
    inherited = [numbers[other] for other in output.depends_on if numbers.get(other)]
    return inherited[0] if len(inherited) == 1 else {}


def deterministic(brief: Brief) -> str:
    """The answer without a model: each result under its task, then what is missing, then what is to be mentioned."""
    alone = len(brief.results) == 1 and not brief.missing
    sections = [_section(result, titled=not alone) for result in brief.results] or [NOTHING]
    if brief.missing:
        lines = [f"- **{part.heading}** ({part.agent}): {part.why}" for part in brief.missing]
        sections.append("### Not done\n\n" + "\n".join(lines))
    sections += [f"> {_one_line(notice)}" for notice in brief.notices]
    return "\n\n".join(sections)


def _section(result: Result, *, titled: bool) -> str:
    lines = [f"### {result.heading}"] if titled else []
    if result.changed:
        lines.append(CHANGED)
    if not result.done:
        lines.append("*This part is unfinished.*")
    return "\n\n".join([*lines, result.text])


def _heading(text: str) -> str:
    return title_from(heading(text).lstrip("# "), limit=HEADING_CHARS) or "Task"


def _one_line(text: str) -> str:
    return title_from(one_line(text), limit=WHY_CHARS)
