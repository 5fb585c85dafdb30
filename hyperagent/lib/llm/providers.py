"""Who serves models, what may be chosen among them, and how long we wait. Values only; reads no environment."""

import re
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, SecretStr

from hyperagent.lib.llm.types import Tier

BUNDLED = "bundled"
LOCAL_EMBEDDING = "local"

_NEAREST = {
    Tier.MAX: (Tier.MAX, Tier.PRO, Tier.FLASH),
    Tier.PRO: (Tier.PRO, Tier.MAX, Tier.FLASH),
    Tier.FLASH: (Tier.FLASH, Tier.PRO, Tier.MAX),
}
# Providers of LiteLLM that `provider/model` may name; LiteLLM reads their keys from its own variables.
# fmt: off
LITELLM_PROVIDERS = frozenset({
    "azure", "azure_ai", "bedrock", "cerebras", "cohere", "cohere_chat", "dashscope", "databricks", "deepinfra",
    "deepseek", "fireworks_ai", "github", "groq", "hosted_vllm", "huggingface", "lm_studio", "meta_llama", "mistral",
    "moonshot", "nebius", "novita", "nvidia_nim", "ollama", "ollama_chat", "openrouter", "perplexity", "replicate",
    "sambanova", "together_ai", "vercel_ai_gateway", "vertex_ai", "volcengine", "watsonx", "xai", "zai",
})
# fmt: on

# Names by which people know whose model it is, where no provider is written before it.
FAMILIES = (
    ("openai", re.compile(r"^(gpt-|chatgpt-|o\d)")),
    ("anthropic", re.compile(r"^claude-")),
    ("gemini", re.compile(r"^gemini-")),
)


class Protocol(StrEnum):
    """What is spoken to a provider. LITELLM: only LiteLLM knows, so the call goes through its own (slower) stream."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    GEMINI = "gemini"
    LITELLM = "litellm"


class Provider(BaseModel):
    """Somebody who serves models."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    protocol: Protocol
    base_url: str | None = None
    api_key: SecretStr | None = None
    tier_models: dict[Tier, str] = {}
    plain: bool = False
    """An OpenAI-compatible server: we write the request's body ourselves, LiteLLM is not asked (see adapter.py)."""
    enable_thinking: bool | None = None
    """True: `<think>` tags in the text are thinking too. False: thinking is never sent back. None: what arrives as
    thinking is kept and sent back."""
    max_concurrency: int | None = None
    embedding_model: str | None = None
    capable: bool = True
    """False for the small bundled model: it can neither plan nor call tools, so prompts must be short."""

    def model_of(self, tier: Tier) -> str | None:
        """The tier's model, or that of the nearest tier that has one."""
        return next((self.tier_models[near] for near in _NEAREST[tier] if near in self.tier_models), None)

    @property
    def secrets(self) -> tuple[str, ...]:
        return (self.api_key.get_secret_value(),) if self.api_key else ()


class Choice(BaseModel):
    """Provider, model and temperature as somebody wrote them; each may be missing."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    provider: str | None = None
    model: str | None = None
    temperature: str | None = None


class Limits(BaseModel):
    """How long we wait, and how often we ask again."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    connect_timeout_s: float = 10.0
    first_token_timeout_s: float = 120.0
    token_timeout_s: float = 60.0
    keep_alive_timeout_s: float = 600.0
    """While the provider keeps the line open and says nothing."""
    attempts: int = 3
    """Calls to one model before the next one of the tier is asked."""
    retry_budget_s: float = 120.0
    """No new attempt begins after this time."""
    slot_timeout_s: float = 120.0


OWN_PROVIDERS: dict[str, tuple[Protocol, dict[Tier, str]]] = {
    "openai": (
        Protocol.OPENAI,
        {Tier.MAX: "gpt-5.6", Tier.PRO: "gpt-5.4", Tier.FLASH: "gpt-5.4-mini"},
    ),
    "anthropic": (
        Protocol.ANTHROPIC,
        {Tier.MAX: "claude-opus-5-5", Tier.PRO: "claude-sonnet-5-5", Tier.FLASH: "claude-haiku-5-5"},
    ),
    "gemini": (
        Protocol.GEMINI,
        {Tier.MAX: "gemini-3.1-pro-preview", Tier.PRO: "gemini-3.5-flash", Tier.FLASH: "gemini-3.5-flash-lite"},
    ),
}

IMAGE_MODELS: dict[str, str] = {"openai": "gpt-image-2", "gemini": "gemini-3.1-flash-image"}
"""What makes images at a provider, where IMAGE_MODEL names nothing."""
