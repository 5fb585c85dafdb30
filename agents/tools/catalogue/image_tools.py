"""Making images and looking at them (S34, S195)."""

from typing import Annotated, Any, Literal

from django.utils.translation.trans_null import gettext_noop
from pydantic import Field

from agents.engine.events import Image, Source, WorkspaceUpdate
from agents.images.naming import ENDINGS, path_of
from agents.tools.tool import ANY_AGENT, Call, OwnFiles, Reply, Sends, ToAddress, tool


def _made(arguments: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """An image that is asked for again takes the place of the one before. In a run without a conversation it is the
    user's; of which kind it will be, the model says."""
    paths = [path_of(arguments["prompt"], arguments["shape"], kind=kind) for kind in ENDINGS]
    return tuple((scope, path) for scope in ("conversation", "user") for path in paths)


@tool(
    label=gettext_noop("Make a picture"),
    agents=ANY_AGENT,
    needs=("images",),
    timeout_s=300,
    sends=Sends.SERVICE,
    own_files=OwnFiles(replaces=_made),
)
async def generate_image(
    call: Call,
    prompt: Annotated[
        str,
        "What the image shall show: subject, surroundings, style, light, and any words in it",
        Field(min_length=1, max_length=4000),
    ],
    shape: Annotated[Literal["square", "portrait", "landscape"], "Its proportions"] = "square",
) -> Reply:
    """Makes a new image from a description and stores it in the workspace; the user sees it. Slow and dear: once,
    unless the user asks for more. Not for charts of data: those are code. Not for changing an image that there is."""
    made = await call.providers.images.make(call.about, prompt, shape=shape)
    call.emit(
        WorkspaceUpdate(
            path=made.path,
            operation="written",
            scope=made.scope,
            scope_id=made.scope_id,
            size_bytes=made.size_bytes,
            media_type=made.media_type,
            version=made.version,
        )
    )
    call.emit(Image(path=made.path, alt=made.alt or prompt[:200], version=made.version))
    said = f"The image was stored as {made.path}; the user sees it."
    return Reply(content=said, data=made.model_copy(update={"use": None}), use=made.use)


@tool(
    label=gettext_noop("Look at a picture"),
    agents=ANY_AGENT,
    needs=("images",),
    untrusted=True,
    timeout_s=180,
    sends=ToAddress("image"),
)
async def analyze_image(
    call: Call,
    image: Annotated[
        str,
        "Path in the workspace, the id of an attached file, or the whole address of an image on the web",
        Field(min_length=1, max_length=2000),
    ],
    question: Annotated[str, "What to find out about it", Field(min_length=1, max_length=4000)] = (
        "What does this image show?"
    ),
) -> Reply:
    """Looks at an image and answers a question about it, text in it included. For a file of the workspace, an
    attached file, or an address that the user gave or a search found. Not for PDFs and documents (read_document)."""
    provider = call.agent_input.options.provider if call.agent_input else None
    reading = await call.providers.images.look(call.about, image, question, stays=call.stays, provider=provider)
    is_of_web = image.startswith(("http://", "https://"))
    sources = (Source(type="web", source=image, url=image, excerpt=reading.text[:300] or None),) if is_of_web else ()
    return Reply(content=reading.text, data=reading.model_copy(update={"use": None}), sources=sources, use=reading.use)
