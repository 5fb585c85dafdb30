"""Makes images and looks at them by the models that the settings name, with files of the run's own workspace.

What others gave is opened in a process that is trusted with nothing; only what comes out of it goes to a model.
"""

import asyncio
import base64
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal
from uuid import UUID

from agents.craft.prompts import read_prompt
from agents.images.naming import MEDIA_TYPES, path_of
from agents.runtime.driven import About
from agents.runtime.underway import usage_of
from agents.tools.providers import Documents, Workspace
from agents.tools.tool import ToolError
from agents.tools.values import ImageReading, MadeImage, ModelUse
from agents.web.pages import GuardedPages
from hyperagent.lib.clipping import one_line
from hyperagent.lib.llm.errors import ModelError, Reason
from hyperagent.lib.llm.images import Drawn, Shape
from hyperagent.lib.llm.resolve import targets
from hyperagent.lib.llm.types import ModelRequest, Role, SeenMessage, Tier
from hyperagent.lib.llm.types import Picture as Shown
from hyperagent.lib.text import clean_text
from memory.reading.pictures import Picture, picture_of
from memory.reading.values import Unreadable

if TYPE_CHECKING:
    from hyperagent.lib.llm.gateway import ModelGateway

ASKING: Final = "vision"
"""The name under which a model is asked to look: VISION_MODEL chooses it."""
GIVEN_BYTES: Final = 20_000_000
LOOKED_AT_PIXELS: Final = 1_568
"""Of the longer side; models see no more, and charge for it."""
OPENED_AT_ONCE: Final = 2
_PROMPT: Final = Path(__file__).with_name("look.md")


class OwnImages:
    """`models`: None where no tool is called, as in the web process."""

    def __init__(
        self, models: "ModelGateway | None", *, workspace: Workspace, documents: Documents, pages: GuardedPages
    ) -> None:
        self._models = models
        self._workspace = workspace
        self._documents = documents
        self._pages = pages
        self._opening = asyncio.Semaphore(OPENED_AT_ONCE)

    async def make(self, about: About, prompt: str, *, shape: Literal["square", "portrait", "landscape"]) -> MadeImage:
        if about.user_id is None:
            raise ToolError("This run belongs to nobody, so there is no place for an image.")
        drawn = await self._drawn(prompt, Shape(shape))
        try:
            picture = await self._opened(drawn.content, longest=LOOKED_AT_PIXELS)
        except Unreadable:
            raise ToolError(
                f"The model {drawn.model} gave something that is no picture. Try again, or do without the image.",
                use=_use_of(drawn),
            ) from None
        path = path_of(prompt, shape, kind=picture.kind)
        media_type = MEDIA_TYPES[picture.kind]
        scope = scope_of(about)
        try:
            stored = await self._workspace.write_bytes(
                about, path, drawn.content, media_type, scope=scope, by="generate_image"
            )
        except ToolError as refusal:
            refusal.use = _use_of(drawn)
            raise
        return MadeImage(
            path=stored.path,
            scope=scope,
            scope_id=stored.scope_id,
            alt=one_line(prompt)[:200],
            media_type=media_type,
            width=picture.width,
            height=picture.height,
            size_bytes=stored.size_bytes,
            version=stored.version,
            use=_use_of(drawn),
        )

    async def look(
        self, about: About, image: str, question: str, *, stays: bool = False, provider: str | None = None
    ) -> ImageReading:
        content = await self._given(about, image, stays=stays)
        if len(content) > GIVEN_BYTES:
            raise ToolError(f"{image} is too big to be looked at: it has more than {GIVEN_BYTES // 1_000_000} MB.")
        try:
            picture = await self._opened(content, longest=LOOKED_AT_PIXELS)
        except Unreadable as refusal:
            raise ToolError(f"{image} cannot be looked at. {refusal.message}") from None
        return await self._read(image, question, picture, provider=provider)

    async def _drawn(self, prompt: str, shape: Shape) -> Drawn:
        try:
            return await self._asked.draw(prompt, shape)
        except ModelError as error:
            if error.reason is Reason.BAD_REQUEST:
                raise ToolError(
                    f"The model {error.model} refused to make this image. Describe it differently, without people's "
                    "names, brands or violence; if it refuses that too, it may make no images: an administrator sets "
                    "IMAGE_MODEL."
                ) from None
            raise ToolError(error.user_message, use=_use_in_vain(error)) from None

    async def _read(self, image: str, question: str, picture: Picture, *, provider: str | None) -> ImageReading:
        shown = Shown(media_type=picture.media_type, content=base64.b64encode(picture.content).decode())
        request = ModelRequest(
            tier=Tier.PRO,
            agent=ASKING,
            messages=(
                SeenMessage(role=Role.SYSTEM, content=read_prompt(_PROMPT)),
                SeenMessage(role=Role.USER, content=question, pictures=(shown,)),
            ),
        )
        try:
            if provider is not None:
                request = self._only_to(provider, request)
            if await self._asked.sees(request) is False:
                whose = provider or "this installation"
                raise ToolError(f"The model of {whose} cannot look at pictures. {_way_out(provider)}")
            reply = await self._asked.complete(request)
        except ModelError as error:
            if error.reason in (Reason.BAD_REQUEST, Reason.UNKNOWN_MODEL):
                raise ToolError(
                    f"The model {error.model} did not take the picture: perhaps it cannot look at any. "
                    f"{_way_out(provider)}"
                ) from None
            raise ToolError(error.user_message, use=_use_in_vain(error)) from None
        return ImageReading(
            image=image, question=question, text=clean_text(reply.text), use=ModelUse.model_validate(usage_of(reply))
        )

    def _only_to(self, provider: str, request: ModelRequest) -> ModelRequest:
        """Of this provider the model that looks where nobody chose one, if that is its own; else that of its tier."""
        usual = targets(self._asked.settings, request)[0]
        model = usual.model if usual.provider.name == provider else None
        return request.model_copy(update={"provider": provider, "model": model})

    async def _given(self, about: About, image: str, *, stays: bool) -> bytes:
        """A picture of the web, a file that was attached, or one of the workspace."""
        if image.startswith(("http://", "https://")):
            return (await self._pages.read(image, max_bytes=GIVEN_BYTES, stays=stays)).body
        if _is_id(image):
            return (await self._documents.original(about, image)).content
        return await self._workspace.read_bytes(about, image, scope=scope_of(about))

    async def _opened(self, content: bytes, *, longest: int) -> Picture:
        async with self._opening:
            return await asyncio.to_thread(_opened, content, longest)

    @property
    def _asked(self) -> "ModelGateway":
        if self._models is None:
            raise ToolError("This process asks no models.")
        return self._models


def _way_out(provider: str | None) -> str:
    if provider is None:
        who = "An administrator must set VISION_MODEL to one that can. Until then, do"
    else:
        who = f"The user chose {provider} for this question, so the picture is shown to no other provider. Do"
    return f"{who} without it and say so."


def _is_id(image: str) -> bool:
    try:
        UUID(image)
    except ValueError:
        return False
    return True


def scope_of(about: About) -> str:
    """Whose files they are: the conversation's, or the person's own where a run belongs to none."""
    return "conversation" if about.conversation_id else "user"


def _opened(content: bytes, longest: int) -> Picture:
    with tempfile.TemporaryDirectory(prefix="picture-") as folder:
        path = Path(folder) / "picture"
        path.write_bytes(content)
        return picture_of(path, longest=longest)


def _use_in_vain(error: ModelError) -> ModelUse | None:
    return ModelUse.model_validate(usage_of(*error.paid)) if error.paid else None


def _use_of(drawn: Drawn) -> ModelUse:
    return ModelUse(
        model=drawn.model,
        provider=drawn.provider,
        prompt_tokens=drawn.usage.prompt_tokens,
        completion_tokens=drawn.usage.completion_tokens,
        cost_usd=None if drawn.cost_usd is None else str(drawn.cost_usd),
    )
