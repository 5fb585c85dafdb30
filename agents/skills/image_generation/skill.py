"""Makes an image: the wish becomes a description that image models draw well, and that is drawn once."""

from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from agents.craft.prompts import read_prompt
from agents.engine.errors import StepFailed
from agents.skills.base import SkillContext, SkillError, SkillResult, ToolSkill
from agents.tools.values import MadeImage
from hyperagent.lib.llm.types import Tier

PROMPT = Path(__file__).parent / "prompt.md"
PROMPT_CHARS: Final = 4_000
Shape = Literal["square", "portrait", "landscape"]


class Params(BaseModel):
    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    prompt: str = Field(min_length=1, max_length=PROMPT_CHARS, description="What the image shall show")
    style: str = Field(default="", max_length=200, description="Style or technique, such as watercolour")
    shape: Shape | None = Field(default=None, description="Its proportions; without it, what suits the subject")
    improve: bool = Field(default=True, description="Whether the description is worked out first; false: as it stands")


class Description(BaseModel):
    model_config = ConfigDict(extra="forbid")

    prompt: str = Field(min_length=1, max_length=PROMPT_CHARS)
    shape: Shape = "square"
    alt: str = ""


class Output(BaseModel):
    model_config = ConfigDict(extra="forbid")

    path: str = Field(description="Where the image lies in the workspace")
    alt: str
    prompt: str = Field(description="The description that it was made from")
    shape: Shape
    media_type: str
    width: int | None = None
    height: int | None = None


class ImageGeneration(ToolSkill[Params]):
    id = "image_generation"
    version = "1.0.0"
    description = "Makes an image from a wish, however short, and stores it in the workspace. Not for charts of data."
    category = "images"
    params = Params
    output = Output
    tools = ("generate_image",)

    async def execute(self, params: Params, context: SkillContext) -> SkillResult:
        described = await self._described(params, context)
        shape = params.shape or described.shape
        reply = await context.tool("generate_image", prompt=described.prompt, shape=shape)
        if reply.is_error:
            raise SkillError(reply.trouble)
        made = MadeImage.model_validate(reply.data)
        output = Output(
            path=made.path,
            alt=described.alt or made.alt,
            prompt=described.prompt,
            shape=shape,
            media_type=made.media_type,
            width=made.width,
            height=made.height,
        )
        return SkillResult(
            output=output.model_dump(mode="json"), text=f"The image was stored as {made.path}; the user sees it."
        )

    async def _described(self, params: Params, context: SkillContext) -> Description:
        """The wish as it stands where it is not to be improved, or cannot be."""
        wish = f"{params.prompt}\n\nStyle: {params.style}" if params.style else params.prompt
        plain = Description(prompt=wish[:PROMPT_CHARS])
        if not params.improve or not context.task.capable:
            return plain
        try:
            return await context.structured(
                Description, system=read_prompt(PROMPT), user=wish, stage="plan", tier=Tier.FLASH
            )
        except StepFailed:
            return plain


SKILL = ImageGeneration()
