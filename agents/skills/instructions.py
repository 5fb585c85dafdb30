"""Skills that are a text: a folder with SKILL.md, whose body a model follows with the tools that it names."""

from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from agents.craft.exchange import AgentInput
from agents.craft.loop import react
from agents.skills.base import BadSkill, Graph, Skill, SkillContext, SkillResult
from agents.spec import AgentSpec

REQUIRED: Final = ("name", "description")
OPTIONAL: Final = ("id", "version", "category", "tools", "license")
DEFAULTS: Final = {"version": "1.0.0", "category": "general"}
MAX_ITERATIONS: Final = 8


class Instruction(BaseModel):
    model_config = ConfigDict(extra="forbid")

    task: str = Field(min_length=1, description="What to do with this skill, with everything that is needed for it")


class Text(BaseModel):
    text: str


class InstructionSkill(Skill[Instruction]):
    params = Instruction
    output = Text

    def __init__(
        self, skill_id: str, *, version: str, description: str, category: str, tools: tuple[str, ...], instructions: str
    ) -> None:
        self.id = skill_id
        self.version = version
        self.description = description
        self.category = category
        self.tools = tools
        self._instructions = instructions

    def create_graph(self) -> Graph[Instruction]:
        async def follow(context: SkillContext, params: Instruction) -> SkillResult:
            silent = context.task.model_copy(update={"speaks": False, "task": params.task})
            found = await react(
                context.context,
                silent,
                self._spec(),
                system=self._instructions,
                user=params.task,
                tools=self._tools_for(silent),
            )
            return SkillResult(output={"text": found.text}, text=found.text, sources=found.sources)

        return follow

    def _tools_for(self, task: AgentInput) -> tuple[str, ...]:
        return self.tools if task.capable else ()

    def _spec(self) -> AgentSpec:
        """What the loop wants to know of whoever runs in it."""
        return AgentSpec(
            name=self.id,
            description=self.description,
            capabilities=(self.category,),
            typical_use_cases=(self.description, f"Use the skill {self.id}"),
            tools=self.tools,
            handoffs=False,
            max_iterations=MAX_ITERATIONS,
        )


def read_skill(path: Path) -> InstructionSkill:
    """The skill of this SKILL.md: lines `key: value` between two lines `---`, then the instructions. Its `name`, or
    `id`, is that of the folder; agents call it by that with `_` for `-`.

    Raises BadSkill with all that is wrong.
    """
    given, body = _front_matter(path)
    fields = {**DEFAULTS, "name": given.get("id", ""), **given}
    faults = [f"lacks '{key}'" for key in REQUIRED if not fields.get(key)]
    faults += [f"has '{key}', which means nothing here" for key in fields if key not in REQUIRED + OPTIONAL]
    tools = tuple(name.strip() for name in fields.get("tools", "").split(",") if name.strip())
    if not body:
        faults.append("has no instructions")
    if faults:
        raise BadSkill(f"{path.parent.name}/SKILL.md {'; '.join(faults)}")
    return InstructionSkill(
        (fields.get("id") or fields["name"]).replace("-", "_"),
        version=fields["version"],
        description=fields["description"],
        category=fields["category"],
        tools=tools,
        instructions=body,
    )


def _front_matter(path: Path) -> tuple[dict[str, str], str]:
    lines = path.read_text(encoding="utf-8").strip().splitlines()
    if not lines or lines[0].strip() != "---" or "---" not in (line.strip() for line in lines[1:]):
        raise BadSkill(f"{path.parent.name}/SKILL.md does not begin with its fields between two lines '---'")
    end = next(number for number, line in enumerate(lines[1:], start=1) if line.strip() == "---")
    pairs = (line.partition(":") for line in lines[1:end] if line.strip())
    fields = {key.strip(): value.strip().strip("\"'") for key, _, value in pairs}
    return fields, "\n".join(lines[end + 1 :]).strip()
