"""Which providers and models there are, read from environment variables. Opens no connection and imports no client.

All bad values are reported at once, each with its variable, its value (secrets hidden) and what is allowed.
"""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field, HttpUrl, SecretStr, TypeAdapter, ValidationError

from hyperagent.lib.llm.types import Tier


class Protocol(StrEnum):
    """What is spoken to a provider. LITELLM: only LiteLLM knows, so the call goes through its own (slower) stream."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    GEMINI = "gemini"
    LITELLM = "litellm"


class Fault(NamedTuple):
    variable: str
    value: str
    allowed: str

    def __str__(self) -> str:
        return f"{self.variable}={self.value!r}: {self.allowed}"


class BadSettings(ValueError):
    """Every value that cannot be read."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__("\n".join(str(fault) for fault in faults))
        self.faults = faults


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
    """Provider and model as somebody wrote them; either may be missing."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    provider: str | None = None
    model: str | None = None
    temperature: float | None = None


class Limits(BaseModel):
    """How long we wait, and how often we ask again."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    connect_timeout_s: float = 10.0
    first_token_timeout_s: float = 120.0
    token_timeout_s: float = 60.0
    attempts: int = 3
    """Calls to one model before the next one of the tier is asked."""
    retry_budget_s: float = 120.0
    """No new attempt begins after this time."""
    slot_timeout_s: float = 120.0


class LLMSettings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    providers: tuple[Provider, ...] = ()
    default_provider: str | None = None
    tiers: dict[Tier, Choice] = {}
    fallbacks: dict[Tier, tuple[str, ...]] = {}
    agents: dict[str, Choice] = {}
    embedding_model: str = "local"
    limits: Limits = Limits()

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> "LLMSettings":
        """Raises BadSettings with all that is wrong."""
        reader = _Reader(env)
        settings = cls(
            providers=tuple(reader.providers()),
            default_provider=reader.text("DEFAULT_PROVIDER"),
            tiers={tier: reader.tier_choice(tier) for tier in Tier},
            fallbacks={tier: reader.names(*_FALLBACK_VARIABLES[tier]) for tier in Tier},
            agents=reader.agents(),
            embedding_model=reader.text("EMBEDDING_MODEL") or "local",
            limits=reader.limits(),
        )
        faults = reader.faults + _unresolved(settings, env)
        if faults:
            raise BadSettings(faults)
        return settings

    def provider(self, name: str) -> Provider | None:
        return next((provider for provider in self.providers if provider.name == name), None)

    @property
    def default(self) -> Provider | None:
        """The provider of whatever names none: DEFAULT_PROVIDER, else the first that is configured."""
        if self.default_provider:
            return self.provider(self.default_provider)
        return self.providers[0] if self.providers else None

    @property
    def bundled_only(self) -> bool:
        """Only the small model that comes with the program answers."""
        named = any(choice.provider or choice.model for choice in self.tiers.values())
        return bool(self.providers) and not named and all(provider.name == BUNDLED for provider in self.providers)

    @property
    def needs_litellm(self) -> bool:
        """Whether any configured call goes through LiteLLM, so that a runner should load it at its start."""
        named = [name for names in self.fallbacks.values() for name in names]
        named += [choice.model for choice in (*self.tiers.values(), *self.agents.values()) if choice.model]
        return any(not provider.plain for provider in self.providers) or any(
            name.split("/", 1)[0] in LITELLM_PROVIDERS for name in named
        )

    def faults_of_agents(self, names: Iterable[str]) -> list[Fault]:
        """What is wrong in <AGENT>_MODEL, <AGENT>_MODEL_PROVIDER of these agents. Only who has the roster can tell
        an agent's variable from another program's, so this is asked by whoever starts the server."""
        wanted = {name.lower() for name in names}
        chosen = ((agent, choice) for agent, choice in self.agents.items() if agent in wanted)
        return [fault for agent, choice in chosen for fault in _choice_faults(self, agent.upper(), choice)]


BUNDLED = "bundled"
LOCAL_EMBEDDING = "local"

_NEAREST = {
    Tier.MAX: (Tier.MAX, Tier.PRO, Tier.FLASH),
    Tier.PRO: (Tier.PRO, Tier.MAX, Tier.FLASH),
    Tier.FLASH: (Tier.FLASH, Tier.PRO, Tier.MAX),
}
_TIER_VARIABLES = {
    Tier.MAX: (("MAX_MODEL_PROVIDER",), ("MAX_MODEL",)),
    Tier.PRO: (("PRO_MODEL_PROVIDER",), ("PRO_MODEL",)),
    Tier.FLASH: (("LITE_MODEL_PROVIDER", "FLASH_MODEL_PROVIDER"), ("FLASH_MODEL", "LITE_MODEL")),
}
_FALLBACK_VARIABLES = {
    Tier.MAX: ("MAX_FALLBACKS",),
    Tier.PRO: ("PRO_FALLBACKS",),
    Tier.FLASH: ("FLASH_FALLBACKS", "LITE_FALLBACKS"),
}
_OWN_PROVIDERS: dict[str, tuple[Protocol, dict[Tier, str]]] = {
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
# Names by which people know whose model it is, where no provider is written before it.
FAMILIES = (
    ("openai", re.compile(r"^(gpt-|chatgpt-|o\d)")),
    ("anthropic", re.compile(r"^claude-")),
    ("gemini", re.compile(r"^gemini-")),
)
# Providers of LiteLLM that `provider/model` may name; LiteLLM reads their keys from its own variables.
LITELLM_PROVIDERS = frozenset(
    {
        "azure",
        "azure_ai",
        "bedrock",
        "cerebras",
        "cohere",
        "cohere_chat",
        "dashscope",
        "databricks",
        "deepinfra",
        "deepseek",
        "fireworks_ai",
        "github",
        "groq",
        "hosted_vllm",
        "huggingface",
        "lm_studio",
        "meta_llama",
        "mistral",
        "moonshot",
        "nebius",
        "novita",
        "nvidia_nim",
        "ollama",
        "ollama_chat",
        "openrouter",
        "perplexity",
        "replicate",
        "sambanova",
        "together_ai",
        "vercel_ai_gateway",
        "vertex_ai",
        "volcengine",
        "watsonx",
        "xai",
        "zai",
    }
)
_AGENT_VARIABLE = re.compile(r"^([A-Z][A-Z0-9_]*?)_(MODEL_PROVIDER|MODEL|TEMPERATURE)$")
_NOT_AGENTS = {"MAX", "PRO", "FLASH", "LITE", "EMBEDDING", "BUNDLED"}
_PROVIDER_NAME = re.compile(r"^[a-z0-9][a-z0-9_.-]*$")


class _CompatibleProvider(BaseModel):
    """One item of OPENAI_COMPATIBLE_PROVIDERS (S189)."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(pattern=_PROVIDER_NAME.pattern)
    base_url: HttpUrl
    api_key: SecretStr | None = None
    tier_models: dict[Tier, str] = Field(min_length=1)
    enable_thinking: bool | None = None
    max_concurrency: int | None = Field(default=None, gt=0)
    embedding_model: str | None = None


_COMPATIBLE_PROVIDERS = TypeAdapter(list[_CompatibleProvider])
_COMPATIBLE_ALLOWED = (
    'a JSON list of objects such as {"name": "mine", "base_url": "http://localhost:9000/v1", "api_key": "...", '
    '"tier_models": {"pro": "some-model"}}, each with a name of its own'
)


class _Reader:
    """Reads variables and keeps what cannot be read. An empty variable counts as one that is not set."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env
        self.faults: list[Fault] = []

    def text(self, *variables: str) -> str | None:
        return next((self._env[name].strip() for name in variables if self._env.get(name, "").strip()), None)

    def names(self, *variables: str) -> tuple[str, ...]:
        return tuple(name.strip() for name in (self.text(*variables) or "").split(",") if name.strip())

    def number(self, variable: str, default: float, *, low: float, high: float) -> float:
        said = self.text(variable)
        if said is None:
            return default
        value = _float(said)
        if value is None or not low <= value <= high:
            self.faults.append(Fault(variable, said, f"a number from {low:g} to {high:g}"))
            return default
        return value

    def count(self, variable: str, default: int | None) -> int | None:
        said = self.text(variable)
        if said is None:
            return default
        if not said.isdecimal() or not 1 <= int(said) <= 10_000:
            self.faults.append(Fault(variable, said, "a whole number from 1 to 10000"))
            return default
        return int(said)

    def url(self, variable: str) -> str | None:
        said = self.text(variable)
        if said is not None and not re.match(r"^https?://[^/\s]+\S*$", said):
            self.faults.append(Fault(variable, _hide_password(said), "an address such as https://host/v1"))
            return None
        return said.rstrip("/") if said else None

    def providers(self) -> Iterable[Provider]:
        found = [*self._own_providers(), *self._compatible_providers()]
        bundled = self.url("BUNDLED_MODEL_URL")
        if bundled and not found:
            model = self.text("BUNDLED_MODEL_NAME") or "smollm2-135m-instruct"
            found.append(
                Provider(
                    name=BUNDLED,
                    protocol=Protocol.OPENAI,
                    base_url=bundled,
                    tier_models=dict.fromkeys(Tier, model),
                    plain=True,
                    capable=False,
                )
            )
        return found

    def _own_providers(self) -> Iterable[Provider]:
        for name, (protocol, models) in _OWN_PROVIDERS.items():
            prefix = name.upper()
            base_url = self.url(f"{prefix}_BASE_URL")
            max_concurrency = self.count(f"{prefix}_MAX_CONCURRENCY", None)
            key = self.text(f"{prefix}_API_KEY")
            if key is not None:
                yield Provider(
                    name=name,
                    protocol=protocol,
                    base_url=base_url,
                    api_key=SecretStr(key),
                    tier_models=models,
                    max_concurrency=max_concurrency,
                )

    def _compatible_providers(self) -> Iterable[Provider]:
        variable = "OPENAI_COMPATIBLE_PROVIDERS"
        said = self.text(variable)
        if said is None:
            return
        try:
            items = _COMPATIBLE_PROVIDERS.validate_json(said)
        except ValidationError as error:
            # Only the places and reasons: the value holds keys.
            for problem in error.errors(include_input=False, include_url=False, include_context=False):
                place = ".".join(str(part) for part in problem["loc"])
                self.faults.append(
                    Fault(variable, f"[hidden] {place}".strip(), f"{problem['msg']}; {_COMPATIBLE_ALLOWED}")
                )
            return
        taken = {*_OWN_PROVIDERS, BUNDLED}
        for item in items:
            if item.name in taken:
                self.faults.append(Fault(variable, f"name {item.name}", "a name that no other provider has"))
                continue
            taken.add(item.name)
            yield Provider(
                name=item.name,
                protocol=Protocol.OPENAI,
                base_url=str(item.base_url).rstrip("/"),
                api_key=item.api_key,
                tier_models=item.tier_models,
                plain=True,
                enable_thinking=item.enable_thinking,
                max_concurrency=item.max_concurrency,
                embedding_model=item.embedding_model,
            )

    def tier_choice(self, tier: Tier) -> Choice:
        providers, models = _TIER_VARIABLES[tier]
        return Choice(provider=self.text(*providers), model=self.text(*models))

    def agents(self) -> dict[str, Choice]:
        """<AGENT>_MODEL and its kind by agent, in small letters; other programs' variables may be among them."""
        found: dict[str, dict[str, str | float]] = {}
        for variable in self._env:
            match = _AGENT_VARIABLE.match(variable)
            said = self.text(variable)
            if match is None or match[1] in _NOT_AGENTS or said is None:
                continue
            fields = found.setdefault(match[1].lower(), {})
            if match[2] == "TEMPERATURE":
                fields["temperature"] = self.number(variable, 0.0, low=0.0, high=2.0)
            else:
                fields["provider" if match[2] == "MODEL_PROVIDER" else "model"] = said
        return {agent: Choice.model_validate(fields) for agent, fields in found.items()}

    def limits(self) -> Limits:
        usual = Limits()
        return Limits(
            connect_timeout_s=self.number("LLM_CONNECT_TIMEOUT_SECONDS", usual.connect_timeout_s, low=0.1, high=300),
            first_token_timeout_s=self.number(
                "LLM_FIRST_TOKEN_TIMEOUT_SECONDS", usual.first_token_timeout_s, low=0.1, high=3600
            ),
            token_timeout_s=self.number("LLM_TOKEN_TIMEOUT_SECONDS", usual.token_timeout_s, low=0.1, high=3600),
            attempts=self.count("LLM_ATTEMPTS", usual.attempts) or usual.attempts,
            retry_budget_s=self.number("LLM_RETRY_BUDGET_SECONDS", usual.retry_budget_s, low=0, high=3600),
            slot_timeout_s=self.number("LLM_SLOT_TIMEOUT_SECONDS", usual.slot_timeout_s, low=0.1, high=3600),
        )


class UnknownProvider(ValueError):
    """A name that belongs to no configured provider. `allowed` says which there are."""

    def __init__(self, name: str, allowed: str) -> None:
        super().__init__(f"'{name}' is no configured model provider; {allowed}")
        self.allowed = allowed


def named_model(settings: LLMSettings, name: str, *, provider: str | None = None) -> tuple[Provider, str]:
    """Whose model a name such as `openai/gpt-5.4`, `claude-sonnet-5-5` or `mine/some-model` means.

    A provider that is given besides wins. Without any, the family tells (claude-, gpt-, gemini-), else the default
    provider takes the whole name. Raises UnknownProvider."""
    if provider is not None:
        return provider_named(settings, provider), name.removeprefix(f"{provider}/")
    head, slash, rest = name.partition("/")
    if slash and (head in _OWN_PROVIDERS or head in LITELLM_PROVIDERS or settings.provider(head)):
        return provider_named(settings, head), rest
    family = next((owner for owner, pattern in FAMILIES if pattern.match(name)), None)
    owner = (settings.provider(family) if family else None) or settings.default
    if owner is None or (slash and owner.name in _OWN_PROVIDERS):
        raise UnknownProvider(head if slash else name, _allowed_providers(settings))
    return owner, name


def provider_named(settings: LLMSettings, name: str) -> Provider:
    """A configured provider, or one that LiteLLM serves with a key of its own. Raises UnknownProvider."""
    found = settings.provider(name)
    if found is None and name in LITELLM_PROVIDERS:
        found = Provider(name=name, protocol=Protocol.LITELLM)
    if found is None:
        raise UnknownProvider(name, _allowed_providers(settings))
    return found


def _allowed_providers(settings: LLMSettings) -> str:
    names = ", ".join(provider.name for provider in settings.providers) or "none yet"
    return (
        f"one of those configured ({names}); a provider is configured by its API key or by OPENAI_COMPATIBLE_PROVIDERS"
    )


def _unresolved(settings: LLMSettings, env: Mapping[str, str]) -> list[Fault]:
    """Names in tiers and fallbacks that lead to no provider, under the variables that hold them."""
    faults = []
    if settings.default_provider and settings.provider(settings.default_provider) is None:
        faults.append(Fault("DEFAULT_PROVIDER", settings.default_provider, _allowed_providers(settings)))
    for tier, (providers, models) in _TIER_VARIABLES.items():
        choice = settings.tiers[tier]
        provider_variable = next((name for name in providers if env.get(name)), providers[0])
        model_variable = next((name for name in models if env.get(name)), models[0])
        faults += _faults_of_choice(settings, choice, provider_variable, model_variable)
    for tier, variables in _FALLBACK_VARIABLES.items():
        for name in settings.fallbacks[tier]:
            faults += _faults_of_choice(settings, Choice(model=name), "", variables[0])
    return faults


def _choice_faults(settings: LLMSettings, prefix: str, choice: Choice) -> list[Fault]:
    return _faults_of_choice(settings, choice, f"{prefix}_MODEL_PROVIDER", f"{prefix}_MODEL")


def _faults_of_choice(
    settings: LLMSettings, choice: Choice, provider_variable: str, model_variable: str
) -> list[Fault]:
    try:
        if choice.provider:
            provider_named(settings, choice.provider)
    except UnknownProvider as error:
        return [Fault(provider_variable, choice.provider or "", error.allowed)]
    try:
        if choice.model:
            named_model(settings, choice.model, provider=choice.provider)
    except UnknownProvider as error:
        return [Fault(model_variable, choice.model or "", error.allowed)]
    return []


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _hide_password(address: str) -> str:
    return re.sub(r"(?<=://)[^/@]*(?=@)", "***", address)
