"""What `manage.py doctor` says of models: who answers, who is meant by each name, and what it costs. Asks nobody."""

import os
from collections.abc import Iterable

from agents.guardrails.second_look import NAME as GUARDRAILS
from agents.images.own import ASKING as VISION
from agents.registry import INTERNAL_ROLES, agents
from agents.tuning.faults import faults_of
from agents.tuning.models import AgentTuning
from agents.usage import prices
from agents.usage.reading import unpriced_models
from hyperagent.embedded.model_server import missing_packages
from hyperagent.lib.llm.config import LLMSettings, UnknownProvider, taken_whole_by
from hyperagent.lib.llm.providers import BUNDLED, Choice
from hyperagent.lib.llm.resolve import image_target
from hyperagent.management.findings import Finding, State


def check_model() -> Iterable[Finding]:
    settings = LLMSettings.from_env(os.environ)
    if settings.bundled_only:
        yield Finding(State.WARNING, "only the bundled small model answers", "set a provider's key (see .env.example)")
    elif settings.providers:
        yield Finding(State.FINE, f"models of {', '.join(provider.name for provider in settings.providers)}")
    elif missing := missing_packages():
        yield Finding(
            State.ERROR,
            f"no provider is configured, and the bundled model lacks {', '.join(missing)}",
            "set a provider's key (see .env.example), or run `make run` to install the bundled model",
        )
    else:
        yield Finding(
            State.WARNING,
            "no provider is configured",
            "`manage.py up` has the bundled model, or set a provider's key",
        )


def check_chosen_models(models: LLMSettings) -> Iterable[Finding]:
    """Those of agents, and of what else asks a model by a name of its own. A runner does not start with such a fault
    in an agent's."""
    asking = [*agents(), *INTERNAL_ROLES, VISION, GUARDRAILS]
    for fault in models.faults_of_agents(asking):
        yield Finding(State.ERROR, f"{fault.variable}={fault.value} is not allowed", f"set it to {fault.allowed}")
    for variable, name, owner in taken_whole(models, asking):
        yield Finding(
            State.WARNING,
            f"{variable}={name} begins with no provider's name, so {owner} is asked for a model of that whole name",
            f"name a provider that is configured before it, or leave it if {owner} serves that model",
        )


def taken_whole(models: LLMSettings, asking: Iterable[str]) -> Iterable[tuple[str, str, str]]:
    """Variable, name and provider of each model whose name has a slash and yet names no provider. Raises nothing."""
    for agent in asking:
        name = models.agents.get(agent, Choice()).model or ""
        try:
            owner = taken_whole_by(models, name)
        except UnknownProvider:
            continue
        if owner is not None:
            yield f"{agent.upper()}_MODEL", name, owner.name


def check_tunings() -> Iterable[Finding]:
    """What administrators chose for agents, held against what is configured by now."""
    models = LLMSettings.from_env(os.environ)
    for row in AgentTuning.objects.all():
        for fault in faults_of(row.agent, row.chosen(), models).values():
            yield Finding(
                State.ERROR, f"the tuning of the {row.agent} agent: {fault}", "change it in the admin, or delete it"
            )


def check_images() -> Iterable[Finding]:
    target = image_target(LLMSettings.from_env(os.environ))
    if target is None:
        way = "set OPENAI_API_KEY or GEMINI_API_KEY, or IMAGE_MODEL to a model that makes images"
        yield Finding(State.WARNING, "no model makes images", way)
    else:
        yield Finding(State.FINE, f"images by {target.model} of {target.provider.name}")


def check_prices() -> Iterable[Finding]:
    """What is asked without a known price is in no sum, and no budget in money holds for it."""
    book = prices.book()
    asked = {f"{one.provider}/{one.model}" for one in unpriced_models()}
    served = {
        f"{provider.name}/{model}"
        for provider in LLMSettings.from_env(os.environ).providers
        if provider.plain and provider.name != BUNDLED
        for model in provider.tier_models.values()
    }
    unknown = sorted(name for name in asked | served if book.price_of(*name.split("/", 1)) is None)
    if unknown:
        yield Finding(
            State.WARNING,
            f"the price is not known of {', '.join(unknown)}: what they cost is in no sum, and in no budget",
            "set it under Usage, Prices, or in MODEL_PRICES; 0 for what costs nothing",
        )
    else:
        yield Finding(State.FINE, "the price of every model that is asked is known")
