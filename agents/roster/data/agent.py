"""The data agent: plans an analysis, writes the program for it, runs it, and says what the data say."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field

from agents.craft.attached import given_files, told_renamed
from agents.craft.briefing import briefing, house_rules, quoted, short_briefing
from agents.craft.charts import CHART_FORM, MARK, Chart, picture_of, taken_out
from agents.craft.exchange import AgentInput, Work
from agents.craft.handing_over import hand_over
from agents.craft.hearing import with_said
from agents.craft.programming import (
    LIBRARIES,
    Programmed,
    as_block,
    data_of,
    given_in,
    inputs_in,
    output_of,
    partial_of,
    put_file,
    put_inputs,
    sandbox_lacks,
    told_files,
    told_not_run,
    undone,
    write_program,
)
from agents.craft.prompts import fill, read_prompt
from agents.craft.small import SMALL_CHARS, ask_small
from agents.craft.stages import stage
from agents.craft.summing_up import summed_up
from agents.engine.events import Visualization
from agents.roster.data.material import Material, material_of, told, worked_on
from agents.runtime.context import AgentContext
from agents.spec import AgentSpec
from hyperagent.lib.clipping import beginning
from hyperagent.lib.llm.types import Message, Role

SPEC = AgentSpec(
    name="data",
    description="Analyses tables and figures (CSV, JSON, spreadsheets, results of other agents), with charts.",
    capabilities=("data analysis", "statistics", "CSV and JSON", "charts", "comparing figures", "trends"),
    typical_use_cases=(
        "What is the average order value by month in this CSV?",
        "Plot the revenue of the last eight quarters",
        "Compare the two regions and tell me which grows faster",
        "Find the outliers in these measurements",
        "Summarise the survey's answers by department",
    ),
    tools=(
        "execute_code",
        "sandbox_file",
        "use_document",
        "use_file",
        "read_document",
        "list_documents",
        "list_files",
        "read_file",
    ),
    temperature=0.1,
    data_fields=(
        "data_source",
        "data_type",
        "analysis_plan",
        "code",
        "language",
        "stdout",
        "stderr",
        "exit_code",
        "sandbox_id",
        "visualizations",
    ),
)

HERE = Path(__file__).parent


class AnalysisPlan(BaseModel):
    """How the question shall be answered from the data."""

    question: str = Field(description="what is to be found out, in one sentence")
    steps: list[str] = Field(default=[], description="three to six steps")
    charts: list[str] = Field(default=[], description="at most three charts, each in a few words")
    missing: list[str] = Field(default=[], description="what is needed and not in the data")
    handoff_to: Literal["none", "code"] = Field(default="none", description="none, as a rule")

    def told(self) -> str:
        lines = [f"Question: {self.question}", *[f"{n}. {step}" for n, step in enumerate(self.steps[:10], start=1)]]
        lines += [f"Chart: {chart}" for chart in self.charts[:3]]
        return "\n".join(lines + [f"Not in the data: {gap}" for gap in self.missing[:10]])


async def run(context: AgentContext, task: AgentInput) -> Work:
    cannot_run = await sandbox_lacks(context)
    files = await given_files(context, task, as_files=not cannot_run)
    materials = material_of(task, files, folder=given_in(context), earlier=task.conversation_history)
    about = f"{briefing(task)}\n\n## The data\n{told(materials) or 'No table came with the task.'}{told_renamed(files)}"
    with stage(context, "plan", "Planning the analysis"):
        plan = await _plan(context, task, about)
    if plan.handoff_to != "none":
        handoff = await hand_over(context, plan.handoff_to, task.task, why=plan.question)
        if handoff is not None:
            return Work(result="", handoff=handoff)
    made = await _program(context, task, f"{about}\n\n## The plan\n{plan.told()}", materials, cannot_run=cannot_run)
    if made.handoff is not None:
        return Work(result="", handoff=made.handoff)
    made, charts = _without_charts(made)
    for chart in charts:
        picture = picture_of(chart, made.ran.files if made.ran else ())
        context.emit(Visualization(title=chart.title, spec=chart.spec, path=picture))
    with stage(context, "summarize", "Saying what the data say"):
        told_so_far = f"{about}\n\n## The plan\n{plan.told()}"
        text, model = await _summary(context, task, told_so_far, made, charts)
    return _work(plan, made, charts, text, model, task=task, materials=materials)


async def run_small(context: AgentContext, task: AgentInput) -> Work:
    """The figures are ours, and the small model only puts them into words."""
    materials = material_of(task, await given_files(context, task, as_files=False), folder=given_in(context))
    figures = beginning("\n".join(told((material,)) for material in materials if material.table), SMALL_CHARS)
    user = f"{figures}\n\n{short_briefing(task, limit=400)}" if figures else short_briefing(task)
    system = read_prompt(HERE / "prompt_small.md")
    reply = await ask_small(context, task, SPEC, system=system, user=user, stage="summarize")
    code = data_of(Programmed(said=reply.text))
    text = f"{reply.text}\n\n{figures}" if figures else reply.text
    data: dict[str, Any] = {**worked_on(materials), "analysis_plan": "", **code, "visualizations": []}
    return Work(result=text, data=data, confidence=0.4 if figures else 0.2, model_used=reply.model)


async def _plan(context: AgentContext, task: AgentInput, about: str) -> AnalysisPlan:
    system = fill(read_prompt(HERE / "plan.md"), rules=house_rules())
    messages = (Message(role=Role.SYSTEM, content=system), Message(role=Role.USER, content=about))
    request = task.request(agent=SPEC.name, tier=SPEC.tier, messages=messages, temperature=SPEC.temperature)
    return await context.structured(await with_said(context, request), AnalysisPlan, stage="analyze")


async def _program(
    context: AgentContext, task: AgentInput, user: str, materials: tuple[Material, ...], *, cannot_run: str
) -> Programmed:
    files: tuple[str, ...] = ()
    if not cannot_run:
        files = await put_inputs(context, task)
        for material in materials:
            there = material.is_there
            files += (material.name,) if there else await put_file(context, material.name, material.text)
    system = fill(
        read_prompt(HERE / "generate.md"),
        rules=house_rules(),
        inputs=inputs_in(context),
        libraries=LIBRARIES,
        chart_mark=MARK,
        chart_form=CHART_FORM,
    )
    return await write_program(context, task, SPEC, system=system, user=user + told_files(files), cannot_run=cannot_run)


def _without_charts(made: Programmed) -> tuple[Programmed, tuple[Chart, ...]]:
    if made.ran is None:
        return made, ()
    stdout, charts = taken_out(made.ran.stdout)
    return replace(made, ran=replace(made.ran, stdout=stdout)), charts


async def _summary(
    context: AgentContext, task: AgentInput, about: str, made: Programmed, charts: tuple[Chart, ...]
) -> tuple[str, str | None]:
    """In a model's words; the bare output where it cannot be reached."""
    titles = "\n".join(f"- {chart.title}" for chart in charts)
    shown = quoted("what the program calls its charts", titles) if titles else "none"
    parts = [about, f"## The program's output\n{_outcome(made)}", f"## Charts\n{shown}"]
    system = fill(read_prompt(HERE / "summarize.md"), rules=house_rules())
    user = "\n\n".join(parts)
    text, model = await summed_up(
        context, task, SPEC, system=system, user=user, otherwise=_outcome(made, quote=as_block)
    )
    return text, model or made.model


def _outcome(made: Programmed, *, quote: Callable[[str, str], str] = quoted) -> str:
    if made.ran is None:
        return f"No program was run. {made.why_not or 'None was written.'}"
    return output_of(made.ran, quote=quote)


def _work(
    plan: AnalysisPlan,
    made: Programmed,
    charts: tuple[Chart, ...],
    text: str,
    model: str | None,
    *,
    task: AgentInput,
    materials: tuple[Material, ...],
) -> Work:
    """Figures that were computed are an analysis: by the program, or by the description of a table without one."""
    drawn = [{"title": chart.title, "spec": chart.spec} for chart in charts]
    data = {**worked_on(materials), "analysis_plan": plan.told(), **data_of(made), "visualizations": drawn}
    error = undone(made, needs_result=not any(material.table for material in materials))
    if made.ran is None and made.why_not and made.why_not not in text:
        text = f"{text}\n\n{told_not_run(made, task)}"
    return Work(
        result=text,
        data={} if error else data,
        partial_data=partial_of(made, data) if error else {},
        done=error is None,
        error=error,
        confidence=0.9 if made.worked else 0.2 if error else 0.5,
        shared={
            "data_analysis_plan": plan.told(),
            "data_visualizations": drawn,
            "generated_code": made.code.text if made.code else "",
            "code_language": made.code.language if made.code else "",
            "execution_results": made.ran.stdout if made.ran else "",
        },
        model_used=model,
    )
