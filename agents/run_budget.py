"""The budget of a run: what it may use, what it has used, and what is asked and decided at its end. Pure.

Knows no model and no journal: `agents.runtime.spending` looks at a run with it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Decimal, InvalidOperation
from enum import StrEnum
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

from hyperagent.accounts.budgets import Unit

KIND: Final = "budget"
CODE: Final = "budget"
"""The error of work that was not done because the budget was at its end."""
MAX_TOKENS: Final = 10**12
MAX_USD: Final = 1_000_000
FINISHED: Final = "So this was finished with what there was."
_CENT: Final = Decimal("0.01")
_ENDED_BY_ITSELF: Final = frozenset({"timed_out", "expired", "cancelled"})


class RunBudget(BaseModel):
    """What a run may use, over all of its agents. A limit that is None does not hold."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    max_tokens: int | None = Field(default=None, ge=1, le=MAX_TOKENS)
    max_cost_usd: float | None = Field(default=None, gt=0, le=MAX_USD)


class Choice(StrEnum):
    """What a person makes of the end of a budget."""

    RAISE = "raise"
    FINISH = "finish"
    STOP = "stop"


@dataclass(frozen=True, slots=True)
class Used:
    """`cost_usd` is what is known of it; `unpriced`: the models whose price is not."""

    tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    unpriced: tuple[str, ...] = ()

    def __add__(self, other: "Used") -> "Used":
        unpriced = tuple(sorted({*self.unpriced, *other.unpriced}))
        return Used(self.tokens + other.tokens, self.cost_usd + other.cost_usd, unpriced)


_NOTHING: Final = Used()


@dataclass(frozen=True, slots=True)
class Standing:
    """What holds after `ends` ends of the budget. `decided` is None while the work may go on; `why` is for people."""

    max_tokens: int | None
    max_cost_usd: Decimal | None
    ends: int = 0
    decided: Choice | None = None
    why: str = ""

    def limit(self, unit: Unit) -> Decimal | None:
        if unit is Unit.USD:
            return self.max_cost_usd
        return None if self.max_tokens is None else Decimal(self.max_tokens)

    def raised(self, unit: Unit, limit: Decimal) -> "Standing":
        if unit is Unit.USD:
            return replace(self, max_cost_usd=limit)
        return replace(self, max_tokens=int(limit))


def used_by(usages: Iterable[Mapping[str, Any]]) -> Used:
    """The sum of what model calls took, as their steps have it."""
    tokens, cost, unpriced = 0, Decimal(0), set()
    for usage in usages:
        tokens += usage["prompt_tokens"] + usage["completion_tokens"]
        if usage["cost_usd"] is None:
            unpriced.add(str(usage["model"]))
        else:
            cost += Decimal(usage["cost_usd"])
    return Used(tokens, cost, tuple(sorted(unpriced)))


def standing_of(budget: RunBudget, answers: Sequence[Any]) -> Standing:
    """What people have made of it: `answers` to its ends, in their order. What is not clear ends the work."""
    cost = None if budget.max_cost_usd is None else Decimal(str(budget.max_cost_usd))
    standing = Standing(budget.max_tokens, cost)
    for answer in answers:
        standing = _after(replace(standing, ends=standing.ends + 1), answer)
    return standing


def unit_at_end(standing: Standing, used: Used) -> Unit | None:
    """The limit that is reached; tokens first. What a model without a known price costs does not count."""
    if standing.max_tokens is not None and used.tokens >= standing.max_tokens:
        return Unit.TOKENS
    if standing.max_cost_usd is not None and used.cost_usd >= standing.max_cost_usd:
        return Unit.USD
    return None


def unit_lacking(standing: Standing, used: Used, more: Used) -> Unit | None:
    """The limit that is reached, or that this much more would go beyond; tokens first."""
    if standing.max_tokens is not None and used.tokens + more.tokens > standing.max_tokens:
        return Unit.TOKENS
    if standing.max_cost_usd is not None and used.cost_usd + more.cost_usd > standing.max_cost_usd:
        return Unit.USD
    return unit_at_end(standing, used)


def question_of(
    standing: Standing, used: Used, unit: Unit, *, asking: str, least: Used = _NOTHING, enough: Used = _NOTHING
) -> dict[str, Any]:
    """What a person is asked at the end; whole by itself. `asking`: the agent that came to it first. `least`: what its
    call may take at least, `enough`: with an answer of some length."""
    limit = standing.limit(unit)
    assert limit is not None
    spent = amount_used(used, unit)
    suggested = suggested_limit(unit, limit=limit, spent=spent, next_=amount_used(enough, unit))
    said = [
        f"This run has used {written_plainly(spent, unit)}, and its budget is {written_plainly(limit, unit)}.",
        f"The {asking} agent needs more to go on. What shall be done?",
    ]
    if spent < limit:
        wanted, left = written_plainly(amount_used(least, unit), unit), written_plainly(limit - spent, unit)
        said.insert(1, f"The next call may take up to {wanted}, and {left} are left.")
    if used.unpriced and standing.max_cost_usd is not None:
        said.insert(1, f"What {' and '.join(used.unpriced)} cost is not known, and is not counted.")
    return {
        "question": " ".join(said),
        "options": [choice.value for choice in Choice],
        "labels": {
            Choice.RAISE.value: f"Raise the limit to {written_plainly(suggested, unit)}",
            Choice.FINISH.value: "Finish with what there is",
            Choice.STOP.value: "Stop the run",
        },
        "unit": unit.value,
        "used": _number(spent, unit),
        "limit": _number(limit, unit),
        "suggested": _number(suggested, unit),
        "used_tokens": used.tokens,
        "used_cost_usd": None if used.unpriced else float(used.cost_usd),
        "known_cost_usd": float(used.cost_usd),
        "max_tokens": standing.max_tokens,
        "max_cost_usd": None if standing.max_cost_usd is None else float(standing.max_cost_usd),
        "unpriced_models": list(used.unpriced),
        "asking": asking,
        "end": standing.ends + 1,
    }


def unasked(standing: Standing, unit: Unit) -> str:
    """Why the work ends where nobody may be asked."""
    at_end = _is_at_its_end(standing, unit)
    return f"{at_end} Nobody could be asked to raise it, so this was finished with what there was."


def unchecked(model: str) -> str:
    """What is said once where a limit of money cannot be held."""
    return f"The price of {model} is not known: what it costs is not counted towards the budget of this run."


def unchecked_by_others(model: str) -> str:
    """The same where the limit is one that runs share."""
    return f"The price of {model} is not known: what it costs is not counted towards any budget in money."


def shared_name(end: int) -> str:
    """By which the question at this end of budgets that the run shares with others is known in the run."""
    return f"{KIND}:shared:{end}"


def shared_question(why: str, *, may_raise: bool, end: int) -> dict[str, Any]:
    """What a person is asked where a budget that is not the run's own is at its end. `may_raise`: an administrator."""
    if may_raise:
        said, go_on = f"{why} You can do that under Usage, Budgets.", "Go on, it is raised"
    else:
        said, go_on = why, "Go on, it was raised or starts anew"
    return {
        "question": f"{said} What shall be done?",
        "options": [choice.value for choice in Choice],
        "labels": {
            Choice.RAISE.value: go_on,
            Choice.FINISH.value: "Finish with what there is",
            Choice.STOP.value: "Stop the run",
        },
        "why": why,
        "shared_end": end,
    }


def decided(said: Mapping[str, Any]) -> str:
    """What a person's answer to such a question means, where it is not to go on."""
    if said.get("choice") == Choice.STOP:
        return "A budget that holds for this run is used up. A person chose to stop the run there."
    if said.get("status") in _ENDED_BY_ITSELF:
        return "A budget that holds for this run is used up, and nobody said in time what shall be done. " + FINISHED
    return "A budget that holds for this run is used up. A person chose to finish with what there was."


def suggested_limit(unit: Unit, *, limit: Decimal, spent: Decimal, next_: Decimal = Decimal(0)) -> Decimal:
    """As much again as the limit was, above what is spent by at least a quarter, and room for the `next_` call."""
    wanted = max(limit * 2, spent * Decimal("1.25"), spent + next_)
    if unit is Unit.TOKENS:
        return wanted.to_integral_value(ROUND_CEILING)
    return wanted.quantize(_CENT, ROUND_CEILING)


def amount_used(used: Used, unit: Unit) -> Decimal:
    return used.cost_usd if unit is Unit.USD else Decimal(used.tokens)


def written_plainly(amount: Decimal, unit: Unit) -> str:
    """For people: `12,000 tokens`, `$0.25`, and small sums to the place where they end. The same in every language: the
    run records it. `hyperagent.accounts.budgets.told` is for who reads it now."""
    if unit is Unit.TOKENS:
        return f"{int(amount):,} tokens"
    return f"${amount:,.2f}" if amount == amount.quantize(_CENT) else f"${amount.normalize():,f}"


def _after(standing: Standing, answer: Any) -> Standing:
    said = answer if isinstance(answer, Mapping) else {}
    unit = Unit.USD if said.get("unit") == Unit.USD else Unit.TOKENS
    if said.get("choice") == Choice.RAISE and (limit := _limit_in(said.get("text"))) is not None:
        return standing.raised(unit, limit)
    at_end = _is_at_its_end(standing, unit)
    if said.get("choice") == Choice.STOP:
        return replace(standing, decided=Choice.STOP, why=f"{at_end} A person chose to stop the run there.")
    if said.get("status") in _ENDED_BY_ITSELF:
        why = f"{at_end} Nobody said in time whether to raise it, so this was finished with what there was."
    else:
        why = f"{at_end} A person chose to finish with what there was."
    return replace(standing, decided=Choice.FINISH, why=why)


def _is_at_its_end(standing: Standing, unit: Unit) -> str:
    limit = standing.limit(unit)
    of_what = "" if limit is None else f" of {written_plainly(limit, unit)}"
    return f"The budget of this run{of_what} does not suffice for another call."


def _limit_in(text: Any) -> Decimal | None:
    try:
        limit = Decimal(str(text))
    except InvalidOperation:
        return None
    return limit if limit.is_finite() and limit > 0 else None


def _number(amount: Decimal, unit: Unit) -> int | float:
    return int(amount) if unit is Unit.TOKENS else float(amount)
