"""The model gateway: one way to ask any model of any provider. Knows neither Django nor agents."""

from hyperagent.lib.llm.config import BadSettings, LLMSettings
from hyperagent.lib.llm.errors import (
    ContextTooLong,
    ModelBusy,
    ModelError,
    ModelGarbled,
    ModelRefused,
    ModelUnavailable,
    NoModelConfigured,
)
from hyperagent.lib.llm.gateway import ModelGateway
from hyperagent.lib.llm.structured import Structured
from hyperagent.lib.llm.types import (
    Delta,
    FinishReason,
    Message,
    ModelReply,
    ModelRequest,
    Restarted,
    Role,
    TextDelta,
    ThinkingDelta,
    Tier,
    ToolCall,
    ToolSpec,
    Usage,
)

__all__ = [
    "BadSettings",
    "ContextTooLong",
    "Delta",
    "FinishReason",
    "LLMSettings",
    "Message",
    "ModelBusy",
    "ModelError",
    "ModelGarbled",
    "ModelGateway",
    "ModelRefused",
    "ModelReply",
    "ModelRequest",
    "ModelUnavailable",
    "NoModelConfigured",
    "Restarted",
    "Role",
    "Structured",
    "TextDelta",
    "ThinkingDelta",
    "Tier",
    "ToolCall",
    "ToolSpec",
    "Usage",
]
