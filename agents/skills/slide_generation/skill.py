"""Makes a presentation: a wish becomes slides, and these a file with pictures of them."""

from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from agents.craft.prompts import read_prompt
from agents.skills.base import SkillContext, SkillError, SkillResult, ToolSkill
from agents.slides.deck import Deck, ThemeName
from agents.tools.untrusted import marked_untrusted
from agents.tools.values import MadeSlides
from hyperagent.lib.clipping import at_a_boundary
from hyperagent.lib.llm.types import Tier

PROMPT: Final = Path(__file__).parent / "prompt.md"
MATERIAL_CHARS: Final = 40_000
NEEDS_A_MODEL: Final = (
    "The bundled model cannot work out a presentation. An administrator sets a provider's key, such as OPENAI_API_KEY."
)


class Params(BaseModel):
    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    prompt: str = Field(min_length=1, max_length=8_000, description="What it is about, for whom, and what it is to do")
    material: str = Field(
        default="", max_length=200_000, description="Everything that is known: text, figures, findings of other agents"
    )
    slides: int = Field(default=10, ge=2, le=30, description="How many slides, about")
    theme: ThemeName | None = Field(default=None, description="Its colours; without it, what suits the subject")
    path: str = Field(default="", max_length=300, description="Where the file goes; without it, made of the title")


class Output(BaseModel):
    model_config = ConfigDict(extra="forbid")

    path: str = Field(description="Where the file lies in the workspace")
    title: str
    slides: int
    overview: str = Field(description="A picture of all slides, in the workspace")
    titles: tuple[str, ...]


class SlideGeneration(ToolSkill[Params]):
    id = "slide_generation"
    version = "1.0.0"
    description = (
        "Works out a presentation from a wish and material, and makes a PPTX file with pictures of its slides."
    )
    category = "documents"
    params = Params
    output = Output
    tools = ("generate_slides",)

    async def execute(self, params: Params, context: SkillContext) -> SkillResult:
        if not context.task.capable:
            raise SkillError(NEEDS_A_MODEL)
        deck = await context.structured(
            Deck, system=read_prompt(PROMPT), user=_asked(params, context), stage="plan", tier=Tier.PRO
        )
        theme = params.theme or deck.theme
        slides = [slide.model_dump(mode="json", exclude_defaults=True) for slide in deck.slides]
        reply = await context.tool("generate_slides", title=deck.title, slides=slides, theme=theme, path=params.path)
        if reply.is_error:
            raise SkillError(reply.trouble)
        shown = MadeSlides.model_validate(reply.data)
        output = Output(
            path=shown.path,
            title=deck.title,
            slides=shown.slides,
            overview=shown.overview,
            titles=tuple(slide.title for slide in deck.slides),
        )
        told = "\n".join(f"{number}. {title}" for number, title in enumerate(output.titles, start=1))
        return SkillResult(
            output=output.model_dump(mode="json"),
            text=f"The presentation was stored as {shown.path} ({shown.slides} slides); the user sees it.\n{told}",
        )


def _asked(params: Params, context: SkillContext) -> str:
    """The wish, and what is known: what was given, and what the agents before found."""
    found = [output.result for _, output in sorted(context.task.dependency_outputs.items()) if output.result]
    material = at_a_boundary("\n\n".join([params.material, *found]).strip(), MATERIAL_CHARS)
    parts = [f"Wish: {params.prompt}", f"About {params.slides} slides."]
    if material:
        parts.append(f"Material:\n{marked_untrusted(material, source='material')}")
    return "\n\n".join(parts)


SKILL = SlideGeneration()
