"""Finds the skills and invokes them: parameters checked before, output after. Refuses to start with one not whole."""

import importlib
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from agents import skills as package
from agents.craft.exchange import AgentInput
from agents.engine.errors import StepFailed
from agents.engine.events import SkillOutput
from agents.runtime.context import AgentContext
from agents.skills.base import MAX_DEPTH, BadSkill, Skill, SkillContext, SkillError, SkillResult
from agents.skills.folders import folders, id_of
from agents.skills.instructions import read_skill
from agents.tools.registry import tools

# Through these a skill could use itself again, past the limit of depth: it has `invoke_skill` of its context.
FORBIDDEN_TOOLS: Final = ("invoke_skill",)


@cache
def skills() -> Mapping[str, Skill[Any]]:
    """All skills by id, in order. Raises BadSkill with all that is wrong."""
    return discover(package)


def discover(where: ModuleType) -> dict[str, Skill[Any]]:
    """The skills in the folders of a package: skill.py with SKILL, or a SKILL.md. Raises BadSkill."""
    found: dict[str, Skill[Any]] = {}
    faults: list[str] = []
    for folder in folders(where):
        try:
            skill_id = id_of(folder)
            if skill_id in found:
                raise BadSkill(f"there are two folders for the skill '{skill_id}'")
            found[skill_id] = _checked(skill_id, _load(where.__name__, folder))
        except BadSkill as error:
            faults.append(str(error))
    if faults:
        raise BadSkill("; ".join(faults))
    return found


async def invoke(
    context: AgentContext,
    task: AgentInput,
    skill_id: str,
    params: Mapping[str, Any],
    *,
    chain: tuple[str, ...] = (),
    among: Mapping[str, Skill[Any]] | None = None,
) -> SkillResult:
    """Runs a skill for an agent at its `task`. `chain`: the skills that are at work already, the outermost first.

    `among`: the skills there are; without, all. Raises SkillError with words for the model.
    """
    known = skills() if among is None else among
    skill = known.get(skill_id)
    if skill is None:
        raise SkillError(f"There is no skill '{skill_id}'. There are: {', '.join(known)}.")
    if skill_id in chain:
        raise SkillError(f"The skill '{skill_id}' is at work already and cannot use itself.")
    if len(chain) >= MAX_DEPTH:
        raise SkillError(f"Skills use each other {MAX_DEPTH} deep at most: {' -> '.join(chain)}. Do without.")
    checked = _fitted(skill.params, params, f"The parameters of the skill '{skill_id}' are wrong")
    deeper = (*chain, skill_id)
    inside = SkillContext(
        context=context,
        task=task,
        chain=deeper,
        allowed=skill.tools,
        invoke=partial(invoke, context, task, chain=deeper, among=known),
    )
    try:
        result = await skill.create_graph()(inside, checked)
    except StepFailed as error:
        raise SkillError(f"The skill '{skill_id}' could not be finished: {error.message}") from error
    _fitted(skill.output, result.output, f"The skill '{skill_id}' gave what it should not")
    context.emit(SkillOutput(skill_id=skill_id, output=result.output))
    return result


def _load(where: str, folder: Path) -> Skill[Any]:
    has_code, has_text = (folder / "skill.py").is_file(), (folder / "SKILL.md").is_file()
    if has_code == has_text:
        raise BadSkill(f"the skill '{folder.name}' needs either skill.py or SKILL.md")
    if has_text:
        return read_skill(folder / "SKILL.md")
    try:
        module = importlib.import_module(f"{where}.{folder.name}.skill")
    except ImportError as error:
        raise BadSkill(f"{folder.name}/skill.py cannot be imported: {error}") from error
    skill = getattr(module, "SKILL", None)
    if not isinstance(skill, Skill):
        raise BadSkill(f"{folder.name}/skill.py needs SKILL, an instance of a Skill")
    return skill


def _checked(name: str, skill: Skill[Any]) -> Skill[Any]:
    try:
        metadata = skill.metadata
    except (AttributeError, ValidationError) as error:
        raise BadSkill(f"the skill '{name}' does not describe itself: {error}") from error
    faults = [f"calls itself '{metadata.id}'"] if metadata.id != name else []
    faults += [f"needs the tool '{tool}', which is not there" for tool in skill.tools if tool not in tools()]
    faults += [f"may not use the tool '{tool}'" for tool in skill.tools if tool in FORBIDDEN_TOOLS]
    if faults:
        raise BadSkill(f"the skill in the folder '{name}' {'; '.join(faults)}")
    return skill


def _fitted(schema: type[BaseModel], value: Mapping[str, Any], blame: str) -> BaseModel:
    try:
        return schema.model_validate(value)
    except ValidationError as error:
        faults = (
            f"{'.'.join(map(str, fault['loc'])) or 'all'}: {fault['msg']}"
            for fault in error.errors(include_url=False, include_input=False, include_context=False)
        )
        raise SkillError(f"{blame}: {'; '.join(faults)}.") from error
