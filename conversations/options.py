"""What whoever asks may choose for the run, by its names. Knows no transport: API and socket check against this."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, TypedDict, cast

from django.conf import settings
from django.utils.translation import gettext as _

from agents.craft import exchange as rules
from hyperagent.lib.conf import ExecutionMode
from hyperagent.lib.llm import LLMSettings, Tier
from hyperagent.lib.llm.config import UnknownProvider, named_model
from hyperagent.lib.llm.providers import BUNDLED

# How the question came, which is not the question's own: a reply that is asked for again may come another way.
_OF_THE_CALL = ("interactive", "on_approval", "preapproved")


class ChosenOptions(TypedDict, total=False):
    """What was chosen for the run, as it is stored with the question and told to the run, which reads it as
    `agents.craft.exchange.Options`. What nobody chose is not in it."""

    task_id: str
    provider: str
    model: str
    tier: str
    depth: str
    scenario: str
    execution_mode: str
    show_plan: bool
    budget: dict[str, float]
    attachment_ids: Sequence[str]
    document_ids: Sequence[str]
    interactive: bool
    on_approval: str
    preapproved: list[dict[str, Any]]


class Depth(StrEnum):
    """How far research goes."""

    QUICK = "quick"
    STANDARD = "standard"
    DEEP = "deep"


class Scenario(StrEnum):
    """What kind of sources research looks for, and how it reports."""

    ACADEMIC = "academic"
    MARKET = "market"
    TECHNICAL = "technical"
    NEWS = "news"


class OnApproval(StrEnum):
    """What a run does that nobody watches, where a person would have to be asked. The words are those of the run."""

    SKIP = rules.OnApproval.SKIP.value
    WAIT = rules.OnApproval.WAIT.value
    DENY = rules.OnApproval.DENY.value


def approval_rule(wanted: str | None, *, is_watched: bool) -> ChosenOptions:
    """What the run is told of whom it may ask. Without a wish: whoever watches is asked, and else nobody."""
    unsaid = rules.OnApproval.ASK if is_watched else rules.OnApproval.SKIP
    rule = rules.OnApproval(wanted) if wanted else unsaid
    return {"on_approval": rule.value, "interactive": is_watched or rule is rules.OnApproval.WAIT}


def chosen(given: Mapping[str, Any]) -> ChosenOptions:
    """What the run is told: what was chosen, and what this installation chooses otherwise than by default. `given`: as
    an edge has checked it."""
    options = cast("ChosenOptions", {name: value for name, value in given.items() if value not in (None, False)})
    options |= _budget(options.pop("budget", {}))
    mode: ExecutionMode = settings.CONFIG.execution_mode
    return options if mode is ExecutionMode.STANDARD else {"execution_mode": mode.value, **options}


def _budget(given: Mapping[str, float | None]) -> ChosenOptions:
    """The budget of the run, if it has one: what whoever asks leaves open is as the installation has it."""
    own = {"max_tokens": settings.CONFIG.run_budget_tokens, "max_cost_usd": settings.CONFIG.run_budget_usd}
    limits = {name: given.get(name) or default for name, default in own.items()}
    held = {name: limit for name, limit in limits.items() if limit}
    return {"budget": held} if held else {}


def of_the_question(options: ChosenOptions) -> ChosenOptions:
    """What of a run's options holds for another reply to the same question."""
    return without(options, *_OF_THE_CALL)


def without(options: ChosenOptions, *names: str) -> ChosenOptions:
    return cast("ChosenOptions", {name: value for name, value in options.items() if name not in names})


def provider_chosen_by(models: LLMSettings, model: str) -> str | None:
    """The provider that who names this model chooses with it; None for the one that is asked anyway, or one that has no
    other models here."""
    try:
        owner, _ = named_model(models, model)
    except UnknownProvider:
        return None
    is_usual = models.default is not None and owner.name == models.default.name
    return None if is_usual or models.provider(owner.name) is None else owner.name


def provider_fault(models: LLMSettings, name: str) -> str:
    if models.provider(name) is not None:
        return ""
    known = ", ".join(sorted(provider.name for provider in models.providers)) or "none: no provider is configured"
    return _("There is no provider '{name}'. Use one of: {known}.").format(name=name[:40], known=known)


def model_fault(models: LLMSettings, name: str, *, provider: str | None) -> str:
    """Why no configured provider can know this model; empty if one may: a server of one's own is asked by any name."""
    try:
        owner, rest = named_model(models, name, provider=provider)
    except UnknownProvider as error:
        return _("There is no model '{name}' here: {error}.").format(name=name[:80], error=error)
    if owner.name == BUNDLED and rest not in {owner.model_of(tier) for tier in Tier}:
        return _("There is no model '{name}' here: only the small bundled model is configured. Leave this out.").format(
            name=name[:80]
        )
    return ""
