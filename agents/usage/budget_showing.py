"""What pages say of budgets: a row for each, with its bar. Pure, in the words of the reader's language."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from django.utils.translation import gettext as _

from hyperagent.accounts.budgets import Limit, Unit, Whose, amount_per, sentence, told, when

NEAR: Final = 80
_WHOLE: Final = Decimal(100)


@dataclass(frozen=True, slots=True)
class Row:
    """`used_percent` and `reserved_percent` together are at most 100. `state`: "", "near" or "up"."""

    title: str
    amount: str
    used: str
    reserved: str
    left: str
    starts_anew: str
    used_percent: float
    reserved_percent: float
    percent: int
    state: str
    unpriced: int
    notice: str

    @property
    def text(self) -> str:
        """The bar in words."""
        return _("{used} used, {left} left").format(used=self.used, left=self.left)


def rows(limits: Iterable[Limit], *, person: str = "") -> list[Row]:
    """`person`: whose they are, where that is not the reader."""
    return [
        _row(limit, person) for limit in sorted(limits, key=lambda limit: list(Whose).index(limit.whose), reverse=True)
    ]


def notices(rows_: Sequence[Row]) -> list[Row]:
    """Those that come to their end."""
    return [row for row in rows_ if row.notice]


def title_of(limit: Limit, person: str = "") -> str:
    if limit.whose is Whose.USER:
        return person or _("Yours")
    return _("Group {name}").format(name=limit.name) if limit.whose is Whose.GROUP else _("This installation")


def _row(limit: Limit, person: str) -> Row:
    used = min(_WHOLE, limit.used * _WHOLE / limit.amount)
    reserved = min(_WHOLE - used, limit.reserved * _WHOLE / limit.amount)
    state = "up" if limit.is_used_up else "near" if limit.percent >= NEAR else ""
    return Row(
        title=title_of(limit, person),
        amount=amount_per(limit),
        used=told(limit.used, limit.unit),
        reserved=told(limit.reserved, limit.unit) if limit.reserved else "",
        left=told(limit.left, limit.unit),
        starts_anew=when(limit.ends_at),
        used_percent=round(float(used), 2),
        reserved_percent=round(float(reserved), 2),
        percent=limit.percent,
        state=state,
        unpriced=limit.unpriced_calls if limit.unit is Unit.USD else 0,
        notice=_notice(limit) if state and not person else "",
    )


def _notice(limit: Limit) -> str:
    if limit.is_used_up:
        return sentence(limit)
    values = {"percent": limit.percent, "amount": amount_per(limit), "name": limit.name, "when": when(limit.ends_at)}
    if limit.whose is Whose.USER:
        said = _("{percent} % of your budget of {amount} are used. It starts anew on {when}.")
    elif limit.whose is Whose.GROUP:
        said = _("{percent} % of the budget of the group {name} of {amount} are used. It starts anew on {when}.")
    else:
        said = _("{percent} % of the budget of this installation of {amount} are used. It starts anew on {when}.")
    return said.format(**values)
