"""Images as providers make them: what is asked of an OpenAI-compatible server, and what comes back. Opens nothing."""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final

import orjson

from hyperagent.lib.llm.resolve import Target
from hyperagent.lib.llm.types import FinishReason, ModelReply, Usage
from hyperagent.lib.llm.wire.faults import WireFault

ANSWER_LIMIT_BYTES: Final = 48 * 1024 * 1024


class TooLarge(WireFault):
    """An answer that is not read to its end: what it says that it took is not known."""


class Shape(StrEnum):
    SQUARE = "square"
    PORTRAIT = "portrait"
    LANDSCAPE = "landscape"


@dataclass(frozen=True, slots=True)
class Drawn:
    """An image as a provider gave it; whether it is one is the caller's to look at. `cost_usd`: None if not known. Both
    `usage` and that also of the answers before it that could not be used."""

    content: bytes = field(repr=False)
    usage: Usage
    provider: str
    model: str
    cost_usd: Decimal | None = None

    def after(self, unusable: Sequence[ModelReply]) -> "Drawn":
        """The same, with what these took."""
        own = paid_for(self.provider, self.model, self.usage, cost_usd=self.cost_usd).after(unusable)
        return replace(self, usage=own.usage, cost_usd=own.cost_usd)


_SIZES: Final = {Shape.SQUARE: "1024x1024", Shape.PORTRAIT: "1024x1536", Shape.LANDSCAPE: "1536x1024"}
_DALL_E_3: Final = {Shape.SQUARE: "1024x1024", Shape.PORTRAIT: "1024x1792", Shape.LANDSCAPE: "1792x1024"}


def size_of(model: str, shape: Shape) -> str:
    if model.startswith("dall-e-2"):
        return _SIZES[Shape.SQUARE]
    return (_DALL_E_3 if model.startswith("dall-e-3") else _SIZES)[shape]


def request_body(target: Target, prompt: str, shape: Shape) -> bytes:
    """For a server that speaks OpenAI's API. Some give an address unless they are asked for the image itself; OpenAI's
    newer models refuse to be asked for what they always do."""
    asked = {"model": target.model, "prompt": prompt, "n": 1, "size": size_of(target.model, shape)}
    if target.provider.plain or target.model.startswith("dall-e"):
        asked["response_format"] = "b64_json"
    return orjson.dumps(asked)


def answer_of(body: bytes) -> dict[str, Any]:
    """Raises WireFault, TooLarge where it was cut at the limit."""
    if len(body) >= ANSWER_LIMIT_BYTES:
        raise TooLarge(f"the image is too large: its answer has {ANSWER_LIMIT_BYTES} bytes or more")
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise WireFault(f"no image in {body[:200]!r}") from error
    if not isinstance(answer, dict):
        raise WireFault(f"no image in {body[:200]!r}")
    return answer


def drawn(target: Target, answer: dict[str, Any], *, cost_usd: Decimal | None) -> Drawn:
    """Raises WireFault."""
    try:
        content = content_of(answer["data"][0].get("b64_json"))
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise WireFault(f"no image in {str(answer)[:200]}") from error
    usage = usage_of(answer.get("usage"))
    return Drawn(content, usage, provider=target.provider.name, model=target.model, cost_usd=cost_usd)


def paid_for(
    provider: str, model: str, usage: Usage, *, cost_usd: Decimal | None, is_estimate: bool = False
) -> ModelReply:
    """What an image took, in the form of a reply."""
    return ModelReply(
        finish_reason=FinishReason.STOP,
        usage=usage,
        provider=provider,
        model=model,
        cost_usd=cost_usd,
        is_estimate=is_estimate,
    )


def content_of(encoded: Any) -> bytes:
    """Raises WireFault for what is no Base64, and for an address in place of the image."""
    if not isinstance(encoded, str) or not encoded:
        raise WireFault("the image is not in the answer; it may be at an address, which is not followed")
    try:
        return base64.b64decode(encoded, validate=True)
    except binascii.Error as error:
        raise WireFault(f"the image is no Base64: {error}") from error


def usage_of(said: Any) -> Usage:
    """From an answer's usage, whose fields have other names than those of a chat; zero for what it does not say."""
    if not isinstance(said, dict):
        return Usage()
    prompt, made = said.get("input_tokens"), said.get("output_tokens")
    return Usage(
        prompt_tokens=prompt if isinstance(prompt, int) and prompt > 0 else 0,
        completion_tokens=made if isinstance(made, int) and made > 0 else 0,
    )
