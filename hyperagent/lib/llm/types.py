"""The words of the model gateway: requests, replies and what a stream is made of. Knows no provider and no protocol.

Requests and replies are stored in the journal and hashed, so they round-trip through JSON exactly. What travels
once per token is a slotted dataclass: it is never stored and must be cheap to make.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from functools import cached_property
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field


class Tier(StrEnum):
    """How strong a model is wanted. "lite" is read as FLASH, and capitals do not matter."""

    MAX = "max"
    PRO = "pro"
    FLASH = "flash"

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        if not isinstance(value, str):
            return None
        name = value.strip().lower()
        name = "flash" if name == "lite" else name
        return next((tier for tier in cls if tier.value == name), None)


class Role(StrEnum):
    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class FinishReason(StrEnum):
    STOP = "stop"
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"
    CONTENT_FILTER = "content_filter"


class Value(BaseModel):
    """Base of all stored values: frozen, and nothing that it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class ToolCall(Value):
    id: str
    name: str
    arguments: str
    """The JSON text as the model wrote it, not yet validated; "{}" where the model wrote nothing."""


class Message(Value):
    role: Role
    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    """Which call this message answers; only with role TOOL."""
    thinking: str | None = None
    """What the model thought before it said this; given back to the providers that want it."""
    thinking_signature: str | None = None
    """The provider's seal on `thinking`: Anthropic refuses thinking text that comes back without it."""


class Picture(Value):
    """`content`: in Base64."""

    media_type: str
    content: str = Field(repr=False)


class SeenMessage(Message):
    """A message with pictures. Only for calls that are not stored as requests: a journal keeps no pictures."""

    pictures: tuple[Picture, ...] = ()


class ToolSpec(Value):
    name: str
    description: str
    parameters: dict[str, Any]
    """JSON schema of an object."""

    @cached_property
    def chars(self) -> int:
        """How long it is where a model is told of it."""
        return len(self.name) + len(self.description) + len(json.dumps(self.parameters))

    @cached_property
    def canonical(self) -> bytes:
        """It as JSON with sorted keys, without spaces."""
        value = self.model_dump(mode="json")
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        return text.encode("utf-8", "surrogatepass")


class ModelRequest(Value):
    """One question to a model. `provider` and `model` override what the settings choose for tier and agent."""

    tier: Tier
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    may_call: bool = Field(default=True, exclude_if=bool)
    """False: the model is shown its tools, so that its prompt begins as before, and is kept from calling them. Stored
    only where it is False."""
    temperature: float | None = None
    """By the code; <AGENT>_TEMPERATURE goes before it."""
    keeps_temperature: bool = Field(default=False, exclude=True)
    """Not so where the call is to come out the same each time, whatever the agent's own temperature. No part of what is
    recorded, for it is no part of what is asked."""
    max_tokens: int | None = Field(default=None, gt=0)
    provider: str | None = None
    model: str | None = None
    response_schema: dict[str, Any] | None = None
    """JSON schema that the whole answer has to satisfy; sent natively, see `structured.py`."""
    agent: str | None = None
    """Name of the asking agent, for <AGENT>_MODEL and its kind."""
    agent_model: str | None = Field(default=None, exclude_if=lambda name: name is None)
    """In the place of <AGENT>_MODEL and <AGENT>_MODEL_PROVIDER: a name such as those take; empty: the tier's model,
    whatever they say. Stored only where it is there."""


class Usage(Value):
    prompt_tokens: int = Field(default=0, ge=0)
    completion_tokens: int = Field(default=0, ge=0)
    cached_tokens: int = Field(default=0, ge=0)
    """Part of `prompt_tokens` that the provider read from its cache."""
    reasoning_tokens: int = Field(default=0, ge=0)
    """Part of `completion_tokens` that was thought and not said."""

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
        )


class Embedded(Value):
    """One vector for each text, in order. `tokens`: of all texts; as a bound by their bytes where the provider does not
    say. `cost_usd`: None where the price is not known."""

    vectors: list[list[float]]
    tokens: int
    provider: str
    model: str
    cost_usd: Decimal | None = None


class ModelReply(Value):
    """The whole answer; the last item of every stream."""

    text: str = ""
    thinking: str | None = None
    thinking_signature: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: FinishReason
    usage: Usage = Usage()
    """Also of the answers before it that could not be used."""
    provider: str
    model: str
    cost_usd: Decimal | None = None
    """Of all that `usage` counts. None: the price is not known. It is never guessed and never zero for want of one."""
    is_estimate: bool = Field(default=False, exclude_if=lambda said: not said)
    """Part of `usage` is of an answer that broke off before its provider said what it took. Stored only where so."""

    def after(self, unusable: Sequence["ModelReply"]) -> "ModelReply":
        """The same, with what these took: who asked has this one answer for all of it."""
        if not unusable:
            return self
        replies = (self, *unusable)
        costs = [reply.cost_usd for reply in replies if reply.cost_usd is not None]
        return self.model_copy(
            update={
                "usage": sum((reply.usage for reply in unusable), self.usage),
                "cost_usd": sum(costs, Decimal(0)) if len(costs) == len(replies) else None,
                "is_estimate": any(reply.is_estimate for reply in replies),
            }
        )

    def as_message(self) -> Message:
        """This reply as the assistant's message in the next request."""
        return Message(
            role=Role.ASSISTANT,
            content=self.text,
            tool_calls=self.tool_calls,
            thinking=self.thinking,
            thinking_signature=self.thinking_signature,
        )


@dataclass(frozen=True, slots=True)
class TextDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    text: str


@dataclass(frozen=True, slots=True)
class Restarted:
    """The stream begins again from nothing, with what comes next: whoever showed its text takes all of it back."""

    reason: str


Piece = TextDelta | ThinkingDelta
Delta = TextDelta | ThinkingDelta | Restarted | ModelReply
