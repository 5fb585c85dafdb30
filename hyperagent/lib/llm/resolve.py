"""Which model a request means: pure, from the settings and the request to the ordered list of whom to ask."""

from dataclasses import dataclass

from hyperagent.lib.llm.config import LLMSettings, UnknownProvider, named_model, provider_named
from hyperagent.lib.llm.environment import temperature_in
from hyperagent.lib.llm.errors import not_configured
from hyperagent.lib.llm.providers import IMAGE_MODELS, Choice, Provider
from hyperagent.lib.llm.types import ModelRequest, Tier

NO_IMAGE_MODEL = (
    "No model makes images here: set OPENAI_API_KEY or GEMINI_API_KEY, or IMAGE_MODEL to a model that makes them."
)


@dataclass(frozen=True, slots=True)
class Target:
    """One model of one provider."""

    provider: Provider
    model: str


def targets(settings: LLMSettings, request: ModelRequest) -> tuple[Target, ...]:
    """Whom to ask, in order: the choice, then the tier's fallbacks.

    What the request names wins over the agent's model, that over the tier's, that over the default provider. A
    request that names its provider or model gets exactly that, without fallbacks. Raises NoModelConfigured.
    """
    if not settings.providers and not _names_any(settings, request):
        raise not_configured(
            "No model provider is configured. Set OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY or "
            "OPENAI_COMPATIBLE_PROVIDERS, or start with 'manage.py up', which brings a small model of its own."
        )
    asked = Choice(provider=request.provider, model=request.model)
    try:
        if asked.provider or asked.model:
            return (_target(settings, asked, request.tier),)
        first = _target(settings, _standing_choice(settings, request), request.tier)
        rest = (
            _target(settings, Choice(model=name), request.tier) for name in settings.fallbacks.get(request.tier, ())
        )
        return tuple({(target.provider.name, target.model): target for target in (first, *rest)}.values())
    except UnknownProvider as error:
        raise not_configured(f"{error}.") from error


def temperature(settings: LLMSettings, request: ModelRequest) -> float | None:
    """That of <AGENT>_TEMPERATURE, if it can be read, else the request's, else the provider's default. A request may
    keep its own."""
    if request.agent is None or request.keeps_temperature:
        return request.temperature
    set_by_hand = temperature_in(settings.agents.get(request.agent.lower(), Choice()).temperature or "")
    return request.temperature if set_by_hand is None else set_by_hand


def image_target(settings: LLMSettings) -> Target | None:
    """Who makes images: the one that IMAGE_MODEL names, else the first provider of which we know one. None: nobody."""
    if settings.image_model:
        return Target(*named_model(settings, settings.image_model))
    known = (provider for provider in settings.providers if provider.name in IMAGE_MODELS)
    return next((Target(provider, IMAGE_MODELS[provider.name]) for provider in known), None)


def _names_any(settings: LLMSettings, request: ModelRequest) -> bool:
    standing = _standing_choice(settings, request)
    return bool(request.provider or request.model or standing.provider or standing.model)


def _standing_choice(settings: LLMSettings, request: ModelRequest) -> Choice:
    agent = settings.agents.get((request.agent or "").lower(), Choice())
    if request.agent_model is not None:
        agent = Choice(model=request.agent_model or None)
    tier = settings.tiers.get(request.tier, Choice())
    return agent if agent.provider or agent.model else tier


def _target(settings: LLMSettings, choice: Choice, tier: Tier) -> Target:
    if choice.model:
        return Target(*named_model(settings, choice.model, provider=choice.provider))
    provider = provider_named(settings, choice.provider) if choice.provider else settings.default
    if provider is None:
        raise UnknownProvider("", "no model provider is configured")
    model = provider.model_of(tier)
    if model is None:
        raise not_configured(
            f"The provider '{provider.name}' has no model for the tier {tier.value.upper()}. "
            f"Set {tier.value.upper()}_MODEL to '{provider.name}/<model>'."
        )
    return Target(provider, model)
