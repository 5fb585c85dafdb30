"""Writes code for one task. Runs nothing."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from agents.craft.code_blocks import fenced
from agents.craft.prompts import read_prompt
from agents.skills.base import SkillContext, SkillResult, ToolSkill
from agents.tools.untrusted import marked_untrusted

PROMPT = Path(__file__).parent / "prompt.md"


class Params(BaseModel):
    model_config = ConfigDict(extra="forbid")

    task: str = Field(min_length=1, description="What the code has to do")
    language: str = Field(default="python", min_length=1, max_length=40, description="The programming language")
    context: str = Field(default="", description="Code or data that it has to fit to")


class Code(BaseModel):
    model_config = ConfigDict(extra="forbid")

    code: str = Field(min_length=1, description="The code, without a fence around it")
    language: str = Field(min_length=1, max_length=40)
    explanation: str


class CodeGeneration(ToolSkill[Params]):
    id = "code_generation"
    version = "1.0.0"
    description = "Writes a piece of code for a specific task and explains it. Does not run it."
    category = "code"
    params = Params
    output = Code

    async def execute(self, params: Params, context: SkillContext) -> SkillResult:
        asked = f"Task: {params.task}\n\nLanguage: {params.language}"
        if params.context.strip():
            asked += f"\n\nContext:\n{marked_untrusted(params.context, source='context')}"
        made = await context.structured(Code, system=read_prompt(PROMPT), user=asked, stage="generate")
        text = f"{fenced(made.code, made.language)}\n\n{made.explanation}"
        return SkillResult(output=made.model_dump(mode="json"), text=text)


SKILL = CodeGeneration()
