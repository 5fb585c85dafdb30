"""The model gateway: one way to ask any model of any provider. Knows neither Django nor agents.

The gateway itself comes with its HTTP client only where it is used: the web process reads the settings alone.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from hyperagent.lib.llm.gateway import ModelGateway
    from hyperagent.lib.llm.structured import Structured

_LATER = {"ModelGateway": "hyperagent.lib.llm.gateway", "Structured": "hyperagent.lib.llm.structured"}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


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
