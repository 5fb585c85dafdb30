"""What is wrong with a tuning, in words with the value and the way out."""

from collections.abc import Mapping
from typing import Any, Final

from django.utils.translation import gettext as _

from agents import registry
from agents.tuning.values import MOST_RETRIES, MOST_TEMPERATURE
from hyperagent.lib.languages import grouped
from hyperagent.lib.llm.config import LLMSettings, UnknownProvider, named_model, taken_whole_by

MOST_SECONDS: Final = 7 * 24 * 3600


def faults_of(agent: str, chosen: Mapping[str, Any], models: LLMSettings) -> dict[str, str]:
    """By column. `chosen`: what is not empty, as `AgentTuning.chosen` gives it."""
    faults = {}
    if agent not in registry.names():
        faults["agent"] = _("There is no agent '{agent}'. The agents are: {agents}.").format(
            agent=agent, agents=", ".join(registry.names())
        )
    if "model" in chosen and not _leads_to_a_model(models, chosen["model"]):
        configured = ", ".join(provider.name for provider in models.providers) or _("none yet")
        faults["model"] = _(
            "'{model}' leads to no model: write provider/model with one of the providers that are configured here"
            " ({providers}), or configure its provider first."
        ).format(model=chosen["model"], providers=configured)
    return faults | _out_of_range(chosen)


def nothing_chosen() -> str:
    return _("Nothing is chosen here: fill in at least one field, or let the agent have no row.")


def _leads_to_a_model(models: LLMSettings, name: str) -> bool:
    """What begins with no provider's name might be a model of the default provider: that can be written out."""
    try:
        return taken_whole_by(models, name) is None and bool(named_model(models, name)[1])
    except UnknownProvider:
        return False


def _out_of_range(chosen: Mapping[str, Any]) -> dict[str, str]:
    limits = {
        "temperature": (
            0,
            MOST_TEMPERATURE,
            _("{value} is no temperature here: give a number from {least} to {most}."),
        ),
        "timeout_s": (
            1,
            MOST_SECONDS,
            _("{value} s is no time limit here: give whole seconds from {least} to {most}."),
        ),
        "max_retries": (0, MOST_RETRIES, _("{value} retries cannot be: give a number from {least} to {most}.")),
    }
    return {
        name: words.format(value=chosen[name], least=least, most=grouped(most))
        for name, (least, most, words) in limits.items()
        if name in chosen and not least <= chosen[name] <= most
    }
