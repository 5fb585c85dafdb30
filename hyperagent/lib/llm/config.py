"""Which providers and models there are and which is meant by a name, as the environment says. Opens no connection.

All bad values are reported at once, each with its variable, its value (secrets hidden) and what is allowed.
"""

from collections.abc import Iterable, Mapping

from pydantic import BaseModel, ConfigDict

from hyperagent.lib.llm.environment import (
    CLASSIFIER,
    CLASSIFIER_MODEL,
    CLASSIFIER_PROVIDER,
    FALLBACK_VARIABLES,
    TIER_VARIABLES,
    EnvironmentReader,
    Fault,
    temperature_in,
)
from hyperagent.lib.llm.providers import (
    BUNDLED,
    FAMILIES,
    LITELLM_PROVIDERS,
    LOCAL_EMBEDDING,
    OWN_PROVIDERS,
    Choice,
    Limits,
    Protocol,
    Provider,
)
from hyperagent.lib.llm.types import Tier


class BadSettings(ValueError):
    """Every value that cannot be read."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__("\n".join(str(fault) for fault in faults))
        self.faults = faults


class LLMSettings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    providers: tuple[Provider, ...] = ()
    default_provider: str | None = None
    tiers: dict[Tier, Choice] = {}
    fallbacks: dict[Tier, tuple[str, ...]] = {}
    agents: dict[str, Choice] = {}
    embedding_model: str = LOCAL_EMBEDDING
    image_model: str | None = None
    limits: Limits = Limits()

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> "LLMSettings":
        """Raises BadSettings with all that is wrong."""
        reader = EnvironmentReader(env)
        settings = cls(
            providers=tuple(reader.providers()),
            default_provider=reader.text("DEFAULT_PROVIDER"),
            tiers={tier: reader.tier_choice(tier) for tier in Tier},
            fallbacks={tier: reader.names(*FALLBACK_VARIABLES[tier]) for tier in Tier},
            agents=reader.agents(),
            embedding_model=reader.text("EMBEDDING_MODEL") or LOCAL_EMBEDDING,
            image_model=reader.text("IMAGE_MODEL"),
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
    def has_cheaper(self) -> bool:
        """Whether the default provider has a cheaper model than the answering one, for calls that nobody asked for."""
        if self.default is None or self.bundled_only:
            return False
        flash = self.default.model_of(Tier.FLASH)
        return flash is not None and flash != self.default.model_of(Tier.PRO)

    @property
    def needs_litellm(self) -> bool:
        """Whether any configured call goes through LiteLLM, so that a runner should load it at its start."""
        named = [name for names in self.fallbacks.values() for name in names]
        named += [self.image_model] if self.image_model else []
        named += [choice.model for choice in (*self.tiers.values(), *self.agents.values()) if choice.model]
        return any(not provider.plain for provider in self.providers) or any(
            name.split("/", 1)[0] in LITELLM_PROVIDERS for name in named
        )

    def faults_of_agents(self, names: Iterable[str]) -> list[Fault]:
        """What is wrong in <AGENT>_MODEL, <AGENT>_MODEL_PROVIDER, <AGENT>_TEMPERATURE of these agents. Only who has the
        roster can tell an agent's variable from another program's, so this is asked by whoever starts the server."""
        wanted = {name.lower() for name in names}
        chosen = ((agent, choice) for agent, choice in self.agents.items() if agent in wanted)
        return [fault for agent, choice in chosen for fault in _choice_faults(self, agent.upper(), choice)]


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
    if slash and (head in OWN_PROVIDERS or head in LITELLM_PROVIDERS or settings.provider(head)):
        return provider_named(settings, head), rest
    family = next((owner for owner, pattern in FAMILIES if pattern.match(name)), None)
    owner = (settings.provider(family) if family else None) or settings.default
    if owner is None or (slash and owner.name in OWN_PROVIDERS):
        raise UnknownProvider(head if slash else name, _allowed_providers(settings))
    return owner, name


def taken_whole_by(settings: LLMSettings, name: str) -> Provider | None:
    """Who is asked for a model of this whole name, though it looks as if it began with a provider's; None: it does, or
    that one is known to serve it. Raises UnknownProvider."""
    owner, model = named_model(settings, name)
    return owner if "/" in name and model == name and name not in owner.tier_models.values() else None


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
    for tier, (providers, models) in TIER_VARIABLES.items():
        choice = settings.tiers[tier]
        provider_variable = next((name for name in providers if env.get(name)), providers[0])
        model_variable = next((name for name in models if env.get(name)), models[0])
        faults += _faults_of_choice(settings, choice, provider_variable, model_variable)
    for tier, variables in FALLBACK_VARIABLES.items():
        for name in settings.fallbacks[tier]:
            faults += _faults_of_choice(settings, Choice(model=name), "", variables[0])
    if settings.image_model:
        faults += _faults_of_choice(settings, Choice(model=settings.image_model), "", "IMAGE_MODEL")
    if settings.embedding_model != LOCAL_EMBEDDING:
        chosen = Choice(model=settings.embedding_model)
        for fault in _faults_of_choice(settings, chosen, "", "EMBEDDING_MODEL"):
            faults.append(fault._replace(allowed=f"{LOCAL_EMBEDDING}, or a model of {fault.allowed}"))
    if classifier := settings.agents.get(CLASSIFIER):
        faults += _faults_of_choice(settings, classifier, CLASSIFIER_PROVIDER, CLASSIFIER_MODEL)
    return faults


def _choice_faults(settings: LLMSettings, prefix: str, choice: Choice) -> list[Fault]:
    faults = _faults_of_choice(settings, choice, f"{prefix}_MODEL_PROVIDER", f"{prefix}_MODEL")
    if choice.temperature is not None and temperature_in(choice.temperature) is None:
        faults.append(Fault(f"{prefix}_TEMPERATURE", choice.temperature, "a number from 0 to 2"))
    return faults


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
