"""Builds a web app: planned by the best model, written by a good one, started, and mended if it does not come up
(S191, S194, S197)."""

from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

from agents.apps import packages as node
from agents.apps.starters import PORT, STARTERS, Starter
from agents.craft.prompts import fill, read_prompt
from agents.skills.base import SkillContext, SkillError, SkillResult, ToolSkill
from agents.tools.catalogue.app_tools import OFFERED, Package, Template
from agents.tools.untrusted import marked_untrusted
from agents.tools.values import AppStarted
from hyperagent.lib.clipping import at_a_boundary
from hyperagent.lib.llm.types import Tier

HERE: Final = Path(__file__).parent
ATTEMPTS: Final = 3
STARTER_CHARS: Final = 6_000
MANAGERS: Final = {"flask": "pip", "fastapi": "pip", "express": "npm", "nextjs": "npm"}
"""Whose packages a template's server takes. The others have none: they are files that a browser reads."""
NEEDS_A_MODEL: Final = (
    "The bundled model cannot build an app. An administrator sets a provider's key, such as OPENAI_API_KEY."
)


class Params(BaseModel):
    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    prompt: str = Field(min_length=1, max_length=8_000, description="What the app is to do, for whom")
    template: Template | None = Field(default=None, description="What it begins with; without it, what suits the wish")


class PlannedFile(BaseModel):
    path: str = Field(min_length=1, max_length=300)
    purpose: str = Field(description="What is in it, and how it fits the others")


class Plan(BaseModel):
    title: str = Field(min_length=1, max_length=120)
    template: Template
    files: list[PlannedFile] = Field(min_length=1, max_length=12)
    packages: list[Package] = Field(default=[], max_length=10)
    done: str = ""


class WrittenFile(BaseModel):
    path: str = Field(min_length=1, max_length=300)
    content: str = Field(max_length=200_000)


class Code(BaseModel):
    files: list[WrittenFile] = Field(min_length=1, max_length=20)


class Output(BaseModel):
    model_config = ConfigDict(extra="forbid")

    title: str
    template: str
    files: tuple[str, ...]
    url: str = Field(description="Of the preview, on this installation")
    port: int


class AppBuilder(ToolSkill[Params]):
    id = "app_builder"
    version = "1.0.0"
    description = "Builds a small web app from a wish: plans it, writes its files, starts it and shows its preview."
    category = "apps"
    params = Params
    output = Output
    tools = ("create_app_project", "app_install_packages", "app_write_file", "app_start_server")

    async def execute(self, params: Params, context: SkillContext) -> SkillResult:
        if not context.task.capable:
            raise SkillError(NEEDS_A_MODEL)
        plan = await self._plan(params, context)
        starter = STARTERS[plan.template]
        await _done(context, "create_app_project", template=plan.template)
        packages = await _packages(plan, context)
        written: dict[str, str] = {}
        said = ""
        for _ in range(ATTEMPTS):
            code = await self._code(params, plan, starter, context, packages=packages, written=written, said=said)
            for file in code.files:
                await _done(context, "app_write_file", path=file.path, content=file.content)
                written[file.path] = file.content
            started = await _started(context, plan.title, starter)
            if started.running:
                return _result(plan, started, written)
            said = f"{started.note}\n{started.said}"
        raise SkillError(
            f"The app '{plan.title}' was written, in the folder app of the workspace, but its server does not come up: "
            f"{started.note}"
        )

    async def _plan(self, params: Params, context: SkillContext) -> Plan:
        told = "; ".join(f"`{starter.name}`: {starter.description}" for starter in OFFERED)
        user = f"Wish: {params.prompt}"
        if params.template:
            user += f"\n\nTemplate: {params.template}"
        there = ", ".join(f"{name} {version}" for name, version in node.installed().items()) or "none"
        system = fill(read_prompt(HERE / "plan.md"), templates=told, packages=there)
        plan = await context.structured(Plan, system=system, user=user, stage="plan", tier=Tier.MAX)
        return plan.model_copy(update={"template": params.template}) if params.template else plan

    async def _code(
        self,
        params: Params,
        plan: Plan,
        starter: Starter,
        context: SkillContext,
        *,
        packages: str,
        written: dict[str, str],
        said: str,
    ) -> Code:
        planned = "\n".join(f"- {file.path}: {file.purpose}" for file in plan.files)
        parts = [
            f"Wish: {params.prompt}",
            f"Plan: {plan.title}, from the template {starter.name} ({starter.description}).\n{planned}\n{plan.done}",
            f"The server is started in the project's folder by: {starter.command} (PORT={PORT})",
            f"Files of the template:\n{_shown(starter)}",
        ]
        if packages:
            parts.append(f"What became of its packages:\n{packages}")
        if said:
            files = "\n\n".join(f"{path}:\n{content}" for path, content in written.items())
            parts.append(f"What was written before:\n{files}")
            parts.append(f"The server wrote:\n{marked_untrusted(said, source='app_start_server')}")
        user = "\n\n".join(parts)
        return await context.structured(
            Code, system=read_prompt(HERE / "code.md"), user=user, stage="execute", tier=Tier.PRO
        )


def _shown(starter: Starter) -> str:
    """The starter's own texts; of what is brought from elsewhere only the names."""
    parts = []
    for path, content in starter.files().items():
        text = content.decode("utf-8", "replace")
        parts.append(f"{path}:\n{text}" if len(text) <= STARTER_CHARS else f"{path}: {len(text):,} characters")
    return at_a_boundary("\n\n".join(parts), 4 * STARTER_CHARS)


async def _done(context: SkillContext, tool: str, **arguments: Any) -> None:
    reply = await context.tool(tool, **arguments)
    if reply.is_error:
        raise SkillError(reply.trouble)


async def _packages(plan: Plan, context: SkillContext) -> str:
    """What became of the packages that the plan names, marked as the tool does it. An app is written without those that
    are not there."""
    manager = MANAGERS.get(plan.template)
    if not plan.packages or not manager:
        return ""
    return (await context.tool("app_install_packages", packages=plan.packages, manager=manager)).content


async def _started(context: SkillContext, title: str, starter: Starter) -> AppStarted:
    reply = await context.tool("app_start_server", title=title, command=starter.command)
    if reply.is_error:
        raise SkillError(reply.trouble)
    return AppStarted.model_validate(reply.data)


def _result(plan: Plan, started: AppStarted, written: dict[str, str]) -> SkillResult:
    output = Output(title=plan.title, template=plan.template, files=tuple(written), url=started.url, port=started.port)
    listed = ", ".join(written)
    text = (
        f"The app '{plan.title}' runs, and the user can open its preview. Its files ({listed}) lie in the folder app."
    )
    return SkillResult(output=output.model_dump(mode="json"), text=f"{text} {plan.done}".strip())


SKILL = AppBuilder()
