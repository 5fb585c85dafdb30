"""Setting budgets and prices: what pages, API and admin call. Who may is looked at by them; every change is audited."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import Group
from django.db import transaction
from django.db.models.functions import Now
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _

from agents.usage import purses
from agents.usage.models import ModelPrice
from hyperagent.accounts.budget_models import Budget
from hyperagent.accounts.budgets import Period, Unit, Whose, faults_of
from hyperagent.accounts.models import User
from hyperagent.audit.kinds import AuditKind
from hyperagent.audit.recording import Target, actor_of, record
from hyperagent.lib.llm.prices import MOST_USD
from hyperagent.lib.refusals import NotThere, Refused
from hyperagent.lib.text import clean_text

MODEL_CHARS = 200


def set_budget(
    *,
    by: User,
    whose: Whose,
    period: Period,
    unit: Unit,
    amount: Decimal,
    user: User | None = None,
    group: Group | None = None,
    request: HttpRequest | None = None,
) -> Budget:
    """So much from now on; what was used of the day or month counts. Raises Refused for what is no amount, or for
    nobody."""
    if (whose is Whose.USER) != (user is not None) or (whose is Whose.GROUP) != (group is not None):
        raise Refused.at("whose", _("Name a person for 'user', a group for 'group', and neither for the others."))
    if fault := faults_of(amount, unit):
        raise Refused.at("amount", fault)
    with transaction.atomic():
        which: dict[str, Any] = {"whose": whose, "user": user, "group": group, "period": period, "unit": unit}
        before = Budget.objects.select_for_update().filter(**which).first()
        budget, _made = Budget.objects.update_or_create(**which, defaults={"amount": amount, "set_at": Now()})
        budget.refresh_from_db()
        _record(budget, by, before.amount if before else None, budget.amount, request)
        _hold_at_once()
    return budget


def end_budget(budget: Budget, *, by: User, request: HttpRequest | None = None) -> None:
    """What was set for them does not hold any more; what is set for everybody does."""
    with transaction.atomic():
        _record(budget, by, budget.amount, None, request)
        budget.delete()
        _hold_at_once()


def set_price(
    *,
    by: User,
    model: str,
    input_usd: Decimal,
    output_usd: Decimal,
    cached_usd: Decimal | None = None,
    reasoning_usd: Decimal | None = None,
    since: datetime | None = None,
    request: HttpRequest | None = None,
) -> ModelPrice:
    """What a model costs from `since` on, or from now. Raises Refused for what is no price."""
    name = clean_text(model).strip()
    given: dict[str, Decimal | None] = {
        "input_usd": input_usd,
        "output_usd": output_usd,
        "cached_usd": cached_usd,
        "reasoning_usd": reasoning_usd,
    }
    faults = {field: [_not_a_price()] for field, price in given.items() if price is not None and not _is_price(price)}
    if not name or len(name) > MODEL_CHARS:
        faults["model"] = [_("Give the model's name, such as mine/llama-4, of at most 200 characters.")]
    if faults:
        raise Refused.of(faults)
    return _priced(name, since or timezone.now(), given, by=by, request=request)


def take_price_back(*, by: User, model: str, request: HttpRequest | None = None) -> ModelPrice:
    """What is known of the model elsewhere holds from now on, if anything is. Raises NotThere where no own price
    does."""
    if not any(one.model == model for one in prices_now()):
        raise NotThere
    nothing = {"input_usd": Decimal(0), "output_usd": Decimal(0), "cached_usd": None, "reasoning_usd": None}
    return _priced(model, timezone.now(), nothing, by=by, request=request, is_taken_back=True)


def prices_now() -> list[ModelPrice]:
    """The own prices that hold at this moment, by model. One query."""
    begun = ModelPrice.objects.filter(since__lte=timezone.now()).order_by("model", "-since", "-id").distinct("model")
    return [price for price in begun if not price.is_taken_back]


def _priced(
    model: str,
    since: datetime,
    given: dict[str, Decimal | None],
    *,
    by: User,
    request: HttpRequest | None,
    is_taken_back: bool = False,
) -> ModelPrice:
    with transaction.atomic():
        values: dict[str, Any] = {**given, "is_taken_back": is_taken_back}
        price, _made = ModelPrice.objects.update_or_create(model=model, since=since, defaults=values)
        told = {field: None if value is None else str(value) for field, value in given.items()}
        record(
            AuditKind.PRICE_CHANGED,
            actor=actor_of(by),
            target=Target("model", model, model),
            details={**({"taken_back": True} if is_taken_back else told), "since": since.isoformat()},
            request=request,
        )
    return price


def _hold_at_once() -> None:
    """In this process: for what this transaction does yet, and after it."""
    purses.look_anew()
    transaction.on_commit(purses.look_anew)


def name_of(budget: Budget) -> str:
    """Whose it is, as administrators read it."""
    if budget.user is not None:
        return str(budget.user)
    return budget.group.name if budget.group is not None else ""


def _record(
    budget: Budget, by: User, before: Decimal | None, after: Decimal | None, request: HttpRequest | None
) -> None:
    details: dict[str, Any] = {
        "whose": budget.whose,
        "period": budget.period,
        "unit": budget.unit,
        "before": None if before is None else f"{before.normalize():f}",
        "after": None if after is None else f"{after.normalize():f}",
    }
    of = budget.user_id or budget.group_id or ""
    target = Target(budget.whose, str(of), name_of(budget))
    record(AuditKind.BUDGET_CHANGED, actor=actor_of(by), target=target, details=details, request=request)


def _is_price(price: Decimal) -> bool:
    return price.is_finite() and 0 <= price <= MOST_USD


def _not_a_price() -> str:
    return _("Give dollars per million tokens, 0 or more.")
