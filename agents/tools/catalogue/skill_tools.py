"""Using skills (S193). What a skill does inside are recorded calls of its own."""

import json
from typing import Annotated, Any

from django.utils.translation.trans_null import gettext_noop
from pydantic import Field

from agents.craft.exchange import AgentInput
from agents.runtime.context import AgentContext
from agents.skills.base import SkillError
from agents.skills.registry import invoke, skills
from agents.tools.tool import ANY_AGENT, Call, Reply, ToolError, composite, tool
from agents.tools.untrusted import marked_untrusted


@tool(label=gettext_noop("List the skills"), agents=ANY_AGENT)
async def list_skills(call: Call) -> Reply:
    """Lists the skills with what each is for and the parameters that it takes. Once is enough: they do not change."""
    found = [skill.metadata.model_dump(mode="json") for skill in skills().values()]
    lines = [f"{one['id']}: {one['description']}\nparams: {json.dumps(one['parameters'])}" for one in found]
    return Reply(content="\n\n".join(lines) or "There are no skills.", data=found)


@composite(label=gettext_noop("Use a skill"), agents=ANY_AGENT)
async def invoke_skill(
    context: AgentContext,
    skill_id: Annotated[str, "The skill's id, as list_skills gives it", Field(max_length=100)],
    params: Annotated[dict[str, Any], "The parameters that this skill takes"],
) -> Reply:
    """Does a whole piece of work by a skill, and gives its result."""
    task: AgentInput | None = context.task_input
    if task is None:
        name = context.agent.name
        task = AgentInput(agent_id=name, agent_name=name, task=f"Use the skill {skill_id}")
    try:
        result = await invoke(context, task, skill_id, params)
    except SkillError as error:
        raise ToolError(error.message) from error
    return Reply(
        content=marked_untrusted(result.text, source=f"skill {skill_id}"), data=result.output, sources=result.sources
    )
