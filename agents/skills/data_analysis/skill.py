"""Answers a question from files of data: a plan, a program that is run and mended, and what it found, with charts."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from agents.craft.charts import CHART_FORM, MARK, Chart, picture_of, taken_out
from agents.craft.code_blocks import code_in
from agents.craft.programming import LIBRARIES
from agents.craft.prompts import fill, read_prompt
from agents.engine.events import Visualization
from agents.skills.base import SkillContext, SkillError, SkillResult, ToolSkill
from agents.tools.untrusted import marked_untrusted
from hyperagent.lib.clipping import at_a_boundary
from hyperagent.lib.llm.types import Tier

HERE: Final = Path(__file__).parent
PROGRAMS: Final = 3
SAMPLE_CHARS: Final = 1_500
OUTPUT_CHARS: Final = 6_000
MOST_FILES: Final = 8
_TABLES: Final = (".csv", ".tsv", ".json", ".jsonl", ".xlsx", ".xls", ".ods", ".parquet", ".txt")
_TEXTS: Final = (".csv", ".tsv", ".json", ".jsonl", ".txt")
NO_FILES: Final = (
    "There is no file of data to analyse. Give `files`: paths as list_files gives them, or ids of documents."
)


class Params(BaseModel):
    model_config = ConfigDict(extra="forbid")

    question: str = Field(min_length=1, max_length=4_000, description="What is to be found out from the data")
    files: tuple[str, ...] = Field(
        default=(),
        max_length=MOST_FILES,
        description="Paths of files of the conversation, or ids of documents; without any, all tables among the files",
    )


class Plan(BaseModel):
    steps: list[str] = Field(min_length=1, description="three to six steps")
    charts: list[str] = Field(default=[], description="at most two charts, each in a few words")
    missing: list[str] = Field(default=[], description="what is needed and not in the data")


class Drawn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    title: str
    spec: dict[str, Any]


class Output(BaseModel):
    model_config = ConfigDict(extra="forbid")

    question: str
    summary: str
    plan: tuple[str, ...]
    code: str
    stdout: str = Field(description="What the program printed: where the figures of the summary come from")
    charts: tuple[Drawn, ...]
    files: tuple[str, ...] = Field(description="What the program made")


@dataclass(frozen=True, slots=True)
class Found:
    """A program that ran to its end, and what it gave."""

    code: str
    stdout: str
    charts: tuple[Chart, ...]
    files: tuple[str, ...]


class DataAnalysis(ToolSkill[Params]):
    id = "data_analysis"
    version = "1.0.0"
    description = "Answers a question from CSV, Excel or JSON files by a program that is run, with figures and charts."
    category = "data"
    params = Params
    output = Output
    tools = ("list_files", "read_file", "use_document", "execute_code")

    async def execute(self, params: Params, context: SkillContext) -> SkillResult:
        files = await self._files(params, context)
        asked = f"Question: {params.question}\n\nFiles:\n{await self._told(files, context)}"
        plan = await context.structured(Plan, system=read_prompt(HERE / "plan.md"), user=asked, stage="analyze")
        planned = "\n".join([*plan.steps, *(f"Chart: {chart}" for chart in plan.charts[:2])])
        found = await self._computed(f"{asked}\n\nPlan:\n{planned}", context)
        for chart in found.charts:
            picture = picture_of(chart, found.files)
            context.context.emit(Visualization(title=chart.title, spec=chart.spec, path=picture))
        summary = await self._summary(params.question, plan, found, context)
        output = Output(
            question=params.question,
            summary=summary,
            plan=tuple(plan.steps),
            code=found.code,
            stdout=found.stdout,
            charts=tuple(Drawn(title=chart.title, spec=chart.spec) for chart in found.charts),
            files=found.files,
        )
        return SkillResult(output=output.model_dump(mode="json"), text=summary)

    async def _files(self, params: Params, context: SkillContext) -> tuple[str, ...]:
        """Paths in the working folder. Raises SkillError where one cannot be had, or there is none."""
        paths = []
        for name in params.files:
            if not _is_id(name):
                paths.append(name)
                continue
            reply = await context.tool("use_document", document_id=name)
            if reply.is_error:
                raise SkillError(reply.trouble)
            paths.append(str(reply.data["path"]))
        if not params.files:
            reply = await context.tool("list_files")
            if reply.is_error:
                raise SkillError(reply.trouble)
            paths = [file["path"] for file in reply.data or [] if file["path"].lower().endswith(_TABLES)][:MOST_FILES]
        if not paths:
            raise SkillError(NO_FILES)
        return tuple(dict.fromkeys(paths))

    async def _told(self, files: Sequence[str], context: SkillContext) -> str:
        """Their names, and the beginning of those that are text."""
        texts = [path for path in files if path.lower().endswith(_TEXTS)]
        replies = await context.tools_at_once([("read_file", {"path": path}) for path in texts])
        known = {
            path: str(reply.data["text"]) for path, reply in zip(texts, replies, strict=True) if not reply.is_error
        }
        lines = [
            f"{path}, which begins:\n{marked_untrusted(at_a_boundary(known[path], SAMPLE_CHARS), source=path)}"
            if path in known
            else f"{path}: the program has to find out what is in it"
            for path in files
        ]
        return "\n".join(lines)

    async def _computed(self, asked: str, context: SkillContext) -> Found:
        """The first program that runs to its end. Raises SkillError with what went wrong with the last."""
        system = fill(read_prompt(HERE / "program.md"), libraries=LIBRARIES, chart_mark=MARK, chart_form=CHART_FORM)
        failed = ""
        for _ in range(PROGRAMS):
            reply = await context.model(system=system, user=asked + failed, stage="generate", tier=Tier.PRO)
            code = code_in(reply.text)
            if code is None:
                failed = "\n\nThe answer before had no program in a fenced block."
                continue
            run = await context.tool("execute_code", code=code.text, language="python")
            if run.is_error or not isinstance(run.data, dict):
                raise SkillError(run.trouble)
            ran = str(run.data.get("code") or code.text)  # another one, where a person changed it
            if run.data.get("exit_code") == 0:
                stdout, charts = taken_out(str(run.data.get("stdout") or ""))
                return Found(ran, stdout, charts, tuple(map(str, run.data.get("created_files") or ())))
            failed = _failure(ran, run.data)
        raise SkillError(f"No program ran to its end in {PROGRAMS} tries.{failed}")

    async def _summary(self, question: str, plan: Plan, found: Found, context: SkillContext) -> str:
        # Titles and names are the program's, which may have taken them from the data.
        made = [*(f"- chart: {chart.title}" for chart in found.charts), *(f"- file: {path}" for path in found.files)]
        listed = "\n".join(made) or "nothing"
        printed = at_a_boundary(found.stdout, OUTPUT_CHARS)
        parts = [
            f"Question: {question}",
            f"Not in the data: {', '.join(plan.missing)}" if plan.missing else "",
            f"The program printed:\n{marked_untrusted(printed, source='execute_code')}",
            f"It made:\n{marked_untrusted(listed, source='execute_code')}",
        ]
        user = "\n\n".join(part for part in parts if part)
        reply = await context.model(system=read_prompt(HERE / "summary.md"), user=user, stage="summarize")
        return reply.text


def _failure(code: str, run: dict[str, Any]) -> str:
    said = at_a_boundary(str(run.get("stderr") or run.get("stdout") or ""), OUTPUT_CHARS)
    ended = "was stopped before it ended" if run.get("exit_code") is None else f"ended with code {run['exit_code']}"
    marked = marked_untrusted(said, source="execute_code")
    return f"\n\nThe program before {ended}:\n```python\n{code}\n```\nIt said:\n{marked}"


def _is_id(name: str) -> bool:
    try:
        return str(UUID(name)) == name.lower()
    except ValueError:
        return False


SKILL = DataAnalysis()
