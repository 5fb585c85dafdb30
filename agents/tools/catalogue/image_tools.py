"""Making images and looking at them (S34, S195)."""

from typing import Annotated, Literal

from pydantic import Field

from agents.engine.events import Image
from agents.tools.tool import ANY_AGENT, Call, Reply, tool


@tool(agents=ANY_AGENT, needs=("images",), timeout_s=180)
async def generate_image(
    call: Call,
    prompt: Annotated[str, "What the image shall show, with its style", Field(min_length=1, max_length=4000)],
    shape: Annotated[Literal["square", "portrait", "landscape"], "Its proportions"] = "square",
) -> Reply:
    """Makes a new image from a description and stores it in the workspace. Not for charts of data: those are code."""
    made = await call.providers.images.make(call.about, prompt, shape=shape)
    call.emit(Image(path=made.path, alt=made.alt or prompt[:200]))
    return Reply(content=f"The image was stored as {made.path}; the user sees it.", data=made)


@tool(agents=ANY_AGENT, needs=("images",), untrusted=True)
async def analyze_image(
    call: Call,
    image: Annotated[str, "Path in the workspace, or the id of an attached file", Field(min_length=1, max_length=500)],
    question: Annotated[str, "What to find out about it"] = "What does this image show?",
) -> Reply:
    """Looks at an image and answers a question about it, text in it included."""
    reading = await call.providers.images.look(call.about, image, question)
    return Reply(content=reading.text, data=reading)
