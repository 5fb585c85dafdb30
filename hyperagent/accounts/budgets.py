"""Budgets of people, groups and the installation, as arithmetic and words. Knows neither tables nor runs.

A budget is an amount of money or of tokens for a day or a month. Days and months are those of UTC: one clock for all
who share a budget.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Decimal
from enum import StrEnum
from typing import Any, Final

from django.utils.formats import date_format, number_format
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext

from hyperagent.lib.languages import dollars

MOST_USD: Final = Decimal(1_000_000)
MOST_TOKENS: Final = 10**12
# What is left below this is nothing: no call fits into it.
NOTHING_LEFT: Final = Decimal("0.01")
FEWEST_TOKENS: Final = 500
_USER, _GROUP = "user:", "group:"
INSTALLATION_PURSE: Final = "installation"


class Whose(StrEnum):
    """`everybody`: what each person may use for whom no other amount is set."""

    INSTALLATION = "installation"
    EVERYBODY = "everybody"
    GROUP = "group"
    USER = "user"


class Period(StrEnum):
    DAY = "day"
    MONTH = "month"


class Unit(StrEnum):
    USD = "usd"
    TOKENS = "tokens"


@dataclass(frozen=True, slots=True)
class Limit:
    """A budget that holds for somebody, and how it stands. Amounts are dollars or tokens, as `unit` says.

    `purse`: whose budget it is, as `purse_of` writes it; `name`: of a group, else empty. `reserved`: by calls under
    way. `unpriced_calls`: of models without a known price; they are not in `used` where that is money.
    """

    purse: str
    name: str
    period: Period
    unit: Unit
    amount: Decimal
    used: Decimal
    reserved: Decimal
    starts: date
    unpriced_calls: int = 0
    purse_id: int | None = None

    @property
    def whose(self) -> Whose:
        if self.purse.startswith(_USER):
            return Whose.USER
        return Whose.GROUP if self.purse.startswith(_GROUP) else Whose.INSTALLATION

    @property
    def left(self) -> Decimal:
        """Without what calls under way may still take; never below nothing."""
        return max(Decimal(0), self.amount - self.used - self.reserved)

    @property
    def is_used_up(self) -> bool:
        """Nothing is left of it even when all calls under way have given back what they reserved."""
        left = self.amount - self.used
        if left <= self.amount * NOTHING_LEFT:
            return True
        return self.unit is Unit.TOKENS and left < FEWEST_TOKENS and left < self.amount

    @property
    def percent(self) -> int:
        """Used of it, rounded down; 100 where it is used up."""
        return 100 if self.is_used_up else int(self.used * 100 / self.amount)

    @property
    def starts_at(self) -> datetime:
        return datetime.combine(self.starts, time(), UTC)

    @property
    def ends_at(self) -> datetime:
        """When it starts anew."""
        return datetime.combine(next_start(self.starts, self.period), time(), UTC)

    def lacks(self, amount: Decimal) -> bool:
        """Whether so much does not fit any more."""
        return amount > self.amount - self.used - self.reserved


def purse_of(whose: Whose, id_: Any = None) -> str:
    """How the purse of a person, a group or the installation is called."""
    return INSTALLATION_PURSE if whose is Whose.INSTALLATION else f"{whose.value}:{id_}"


def start_of(day: date, period: Period) -> date:
    return day if period is Period.DAY else day.replace(day=1)


def next_start(starts: date, period: Period) -> date:
    if period is Period.DAY:
        return starts + timedelta(days=1)
    return (starts.replace(day=1) + timedelta(days=32)).replace(day=1)


def used_up(limits: Iterable[Limit]) -> Limit | None:
    """The one that is used up; of several the one that lasts longest."""
    return max((limit for limit in limits if limit.is_used_up), key=lambda limit: limit.ends_at, default=None)


def crossed(limit: Limit, thresholds: Sequence[int], told: int) -> int | None:
    """The highest of these percentages that is reached and was not told yet; None if there is none."""
    return max((one for one in thresholds if told < one <= limit.percent), default=None)


# --- how they stand, which is counted above the accounts

_readers: list[Callable[[Any], list[Limit]]] = []


def read_by(standing_of: Callable[[Any], list[Limit]]) -> None:
    """The app that counts what is used says how the budgets stand that hold for a person."""
    _readers[:] = [standing_of]


def budget_of(user: Any) -> dict[str, Any] | None:
    """As `GET /api/v1/me` tells it; None where no budget holds for them."""
    limits = [limit for standing_of in _readers for limit in standing_of(user.pk)]
    if not limits:
        return None
    return {"used_up": used_up(limits) is not None, "limits": [as_json(limit) for limit in limits]}


# --- in words

_USED_UP: Final = {
    Whose.USER: gettext_lazy("Your budget of {amount} is used up: {used} are used."),
    Whose.GROUP: gettext_lazy("The budget of the group {name} of {amount} is used up: {used} are used."),
    Whose.INSTALLATION: gettext_lazy("The budget of this installation of {amount} is used up: {used} are used."),
}
_TOO_LITTLE: Final = {
    Whose.USER: gettext_lazy("Your budget of {amount} does not suffice: {used} are used."),
    Whose.GROUP: gettext_lazy("The budget of the group {name} of {amount} does not suffice: {used} are used."),
    Whose.INSTALLATION: gettext_lazy("The budget of this installation of {amount} does not suffice: {used} are used."),
}


def sentence(limit: Limit, *, wanted: Decimal | None = None) -> str:
    """Which budget, how much is used of it, when it starts anew, and whom to ask. `wanted`: what does not fit."""
    if wanted is None or limit.is_used_up:
        parts = [_said_of(limit, _USED_UP)]
    else:
        next_call = _("The next call may take up to {wanted}, and {left} are left.").format(
            wanted=told(wanted, limit.unit, up=True), left=told(limit.left, limit.unit)
        )
        parts = [_said_of(limit, _TOO_LITTLE), next_call]
    parts.append(_("It starts anew on {when}.").format(when=when(limit.ends_at)))
    parts.append(_("An administrator can raise it."))
    return " ".join(parts)


def _said_of(limit: Limit, sentences: Mapping[Whose, str | Promise]) -> str:
    used = told(limit.used, limit.unit)
    return str(sentences[limit.whose]).format(amount=amount_per(limit), used=used, name=limit.name)


def amount_per(limit: Limit) -> str:
    """`$5.00 a day`."""
    amount = told(limit.amount, limit.unit)
    if limit.period is Period.DAY:
        return _("{amount} a day").format(amount=amount)
    return _("{amount} a month").format(amount=amount)


def when(moment: datetime) -> str:
    """`1 December 2026, 00:00 UTC`."""
    return f"{date_format(moment, pgettext('format of a time', 'j F Y, H:i'))} UTC"


def told(amount: Decimal, unit: Unit, *, up: bool = False) -> str:
    """For people: `12,000 tokens`, `$0.25`, and of less than a cent the first two figures. `up`: rounded up."""
    if unit is Unit.TOKENS:
        count = int(amount)
        shown = number_format(count, use_l10n=True, force_grouping=True)
        return ngettext("{count} token", "{count} tokens", count).format(count=shown)
    return dollars(amount, rounding=ROUND_CEILING if up else ROUND_HALF_EVEN)


def faults_of(amount: Decimal, unit: Unit) -> str:
    """Why this cannot be the amount of a budget; empty if it can. 0: no limit."""
    if not amount.is_finite() or amount < 0:
        return _("{amount} is no amount. Give 0 for no limit, or more.").format(amount=amount)
    if unit is Unit.TOKENS and amount != amount.to_integral_value():
        return _("Tokens are counted in whole numbers.")
    if unit is Unit.USD and amount != round(amount, 6):
        return _("Dollars have at most six places after the point.")
    most = Decimal(MOST_TOKENS) if unit is Unit.TOKENS else MOST_USD
    return _("At most {most} can be set.").format(most=told(most, unit)) if amount > most else ""


def as_json(limit: Limit) -> dict[str, Any]:
    """As `GET /api/v1/me` and `GET /api/v1/budgets` tell it."""
    number = float if limit.unit is Unit.USD else int
    return {
        "whose": limit.whose.value,
        "name": limit.name or None,
        "period": limit.period.value,
        "unit": limit.unit.value,
        "amount": number(limit.amount),
        "used": number(limit.used),
        "reserved": number(limit.reserved),
        "left": number(limit.left),
        "used_up": limit.is_used_up,
        "starts_at": limit.starts_at.isoformat().replace("+00:00", "Z"),
        "starts_anew_at": limit.ends_at.isoformat().replace("+00:00", "Z"),
        "unpriced_calls": limit.unpriced_calls,
    }
