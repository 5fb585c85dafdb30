"""Making presentations (S194, S195): the deck is given whole, and becomes a file and pictures of its slides."""

import asyncio
import re
import tempfile
from pathlib import Path
from typing import Annotated, Any, Final

from django.utils.translation.trans_null import gettext_noop
from pydantic import Field

from agents.engine.events import Image, WorkspaceUpdate
from agents.slides.deck import Deck, Slide, ThemeName, Title
from agents.slides.making import Made, made
from agents.slides.powerpoint import MEDIA_TYPE
from agents.tools.tool import ANY_AGENT, Call, OwnFiles, Reply, ToolError, tool
from agents.tools.values import MadeSlides, StoredFile
from memory.reading.pictures import picture_of
from memory.reading.values import Unreadable

LONGEST_PIXELS: Final = 1_600
PICTURE_BYTES: Final = 20_000_000
_ENDING: Final = ".pptx"


async def _was_written(call: Call, title: str, path: str, **_: Any) -> bool | None:
    place = place_of(path, title)
    return await call.providers.workspace.was_written(call.about, place, call.key, scope=_scope(call))


def _made(arguments: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """The file, and the folder of its pictures. In a run without a conversation they are the user's."""
    place = place_of(arguments["path"], arguments["title"])
    paths = (place, f"{place.removesuffix(_ENDING)}/")
    return tuple((scope, path) for scope in ("conversation", "user") for path in paths)


@tool(
    label=gettext_noop("Make slides"),
    agents=ANY_AGENT,
    effect="write",
    needs=("workspace",),
    probe=_was_written,
    own_files=OwnFiles(replaces=_made),
    timeout_s=180,
)
async def generate_slides(
    call: Call,
    title: Annotated[Title, "What the presentation is called"],
    slides: Annotated[
        tuple[Slide, ...], "The slides in their order, the first of the kind title", Field(min_length=1, max_length=40)
    ],
    theme: Annotated[ThemeName, "Its colours"] = "light",
    path: Annotated[str, "The file's path in the workspace; without it, made of the title", Field(max_length=300)] = "",
) -> Reply:
    """Makes a presentation (PPTX) of slides that are worked out already and stores it in the workspace.

    Each title says what its slide shows, in a sentence; three to five short points on a slide. To have a presentation
    worked out from a wish: the skill slide_generation.
    """
    deck = Deck(title=title, theme=theme, slides=slides)
    images = await _images(call, deck)
    finished = await asyncio.to_thread(made, deck, images, author=call.agent_name)
    place = place_of(path, title)
    shown = await _store(call, finished, place)
    call.emit(Image(path=shown.overview, alt=f"The slides of {title}"))
    return Reply(
        content=f"{shown.path} was made: {finished.slides} slides. The user sees them; a picture of each lies in "
        f"{place.removesuffix(_ENDING)}/.",
        data=shown,
    )


def place_of(path: str, title: str) -> str:
    """A title has no folders in it, whatever its signs are."""
    return file_path(path or title.replace("/", " "))


def file_path(wanted: str) -> str:
    """Where the file goes: as it was wanted, or below `slides/`, with the ending that such files have."""
    bare = wanted.removesuffix(_ENDING)
    if "/" in bare:
        return f"{bare}{_ENDING}"
    name = re.sub(r"[^\w.-]+", "-", bare.lower()).strip("-._")[:80] or "presentation"
    return f"slides/{name}{_ENDING}"


def _scope(call: Call) -> str:
    return "conversation" if call.about.conversation_id else "user"


async def _store(call: Call, finished: Made, place: str) -> MadeSlides:
    """The pictures first: once the file is there, all of it is."""
    folder = place.removesuffix(_ENDING)
    pictures = []
    for number, content in enumerate(finished.pictures, start=1):
        stored = await _write(call, f"{folder}/{number:02}.png", content, "image/png")
        pictures.append(stored.path)
    overview = await _write(call, f"{folder}/overview.png", finished.overview, "image/png")
    file = await _write(call, place, finished.file, MEDIA_TYPE, key=call.key)
    call.emit(
        WorkspaceUpdate(
            path=file.path,
            operation="written",
            scope=_scope(call),
            scope_id=file.scope_id,
            size_bytes=file.size_bytes,
            media_type=file.media_type,
            version=file.version,
        )
    )
    return MadeSlides(path=file.path, slides=finished.slides, overview=overview.path, pictures=tuple(pictures))


async def _write(call: Call, path: str, content: bytes, media_type: str, *, key: str = "") -> StoredFile:
    return await call.providers.workspace.write_bytes(
        call.about, path, content, media_type, scope=_scope(call), by="generate_slides", key=key
    )


async def _images(call: Call, deck: Deck) -> dict[str, bytes]:
    """The pictures that the slides name, each opened where nothing is trusted. Raises ToolError for what is none."""
    found = {}
    for path in dict.fromkeys(slide.image for slide in deck.slides if slide.image):
        content = await call.providers.workspace.read_bytes(call.about, path, scope=_scope(call))
        if len(content) > PICTURE_BYTES:
            raise ToolError(f"{path} has more than {PICTURE_BYTES // 1_000_000} MB. Take a smaller picture.")
        try:
            found[path] = await asyncio.to_thread(_opened, content)
        except Unreadable as refusal:
            raise ToolError(f"{path} cannot be put on a slide. {refusal.message}") from None
    return found


def _opened(content: bytes) -> bytes:
    with tempfile.TemporaryDirectory(prefix="slide-") as folder:
        path = Path(folder) / "picture"
        path.write_bytes(content)
        return picture_of(path, longest=LONGEST_PIXELS).content
