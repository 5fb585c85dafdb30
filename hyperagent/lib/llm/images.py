"""Images as providers make them: what is asked of an OpenAI-compatible server, and what comes back. Opens nothing."""

import base64
import binascii
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final

import orjson

from hyperagent.lib.llm.resolve import Target
from hyperagent.lib.llm.types import Usage
from hyperagent.lib.llm.wire.faults import WireFault

ANSWER_LIMIT_BYTES: Final = 48 * 1024 * 1024


class Shape(StrEnum):
    SQUARE = "square"
    PORTRAIT = "portrait"
    LANDSCAPE = "landscape"


@dataclass(frozen=True, slots=True)
class Drawn:
    """An image as a provider gave it; whether it is one is the caller's to look at. `cost_usd`: None if not known."""

    content: bytes = field(repr=False)
    usage: Usage
    provider: str
    model: str
    cost_usd: Decimal | None = None


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


def drawn(target: Target, body: bytes, *, cost_usd: Decimal | None) -> Drawn:
    """Raises WireFault."""
    try:
        answer = orjson.loads(body)
        content = content_of(answer["data"][0].get("b64_json"))
    except (orjson.JSONDecodeError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise WireFault(f"no image in {body[:200]!r}") from error
    usage = usage_of(answer.get("usage"))
    return Drawn(content, usage, provider=target.provider.name, model=target.model, cost_usd=cost_usd)


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
