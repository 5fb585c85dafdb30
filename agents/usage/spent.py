"""Sums of what model calls took, and how money is told. Pure. An unknown price is counted, and never summed as zero."""

from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from enum import StrEnum
from typing import Any

from django.utils.translation import gettext as _

from hyperagent.lib.languages import dollars


class GroupBy(StrEnum):
    DAY = "day"
    USER = "user"
    AGENT = "agent"
    MODEL = "model"
    CONVERSATION = "conversation"
    PROJECT = "project"


@dataclass(frozen=True, slots=True)
class Spent:
    """What calls of models took. `cost_usd`: of those whose price is known; `unpriced_calls`: how many are left out."""

    runs: int = 0
    calls: int = 0
    unpriced_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: Decimal = Decimal(0)

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    @property
    def known_cost_usd(self) -> Decimal | None:
        """None where nothing is known of what it cost."""
        return None if self.calls and self.unpriced_calls == self.calls else self.cost_usd


@dataclass(frozen=True, slots=True)
class Share:
    """What one of a group took. `key`: a name or an id, empty where it is none; `detail`: of a model its provider."""

    key: str
    detail: str
    spent: Spent


def spent_shape(spent: Spent) -> dict[str, Any]:
    cost = spent.known_cost_usd
    return {
        "prompt_tokens": spent.prompt_tokens,
        "completion_tokens": spent.completion_tokens,
        "calls": spent.calls,
        "runs": spent.runs,
        "cost_usd": None if cost is None else float(cost),
        "unpriced_calls": spent.unpriced_calls,
    }


def cost_text(spent: Spent) -> str:
    """For people: "$1.20", "at least $1.20", "unknown"."""
    cost = spent.known_cost_usd
    if cost is None:
        return _("unknown")
    return _("at least %(cost)s") % {"cost": least_dollars(cost)} if spent.unpriced_calls else dollars(cost)


def cost_brief(spent: Spent) -> str:
    """The same for a column: "≥ $1.20" where some of it is not known."""
    cost = spent.known_cost_usd
    if cost is None:
        return _("unknown")
    return f"≥\u00a0{least_dollars(cost)}" if spent.unpriced_calls else dollars(cost)


def least_dollars(amount: Decimal) -> str:
    """Rounded down: what it is at least."""
    return dollars(amount, rounding=ROUND_FLOOR)
