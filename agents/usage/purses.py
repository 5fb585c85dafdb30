"""How the budgets stand that hold for somebody: read for pages, the API and the door. Holding is done by
`agents.runtime.shared_budgets`; the arithmetic and the words are in `hyperagent.accounts.budgets`.
"""

import time
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction

from agents.usage import purse_sql
from hyperagent.accounts.budgets import Limit, Period, Unit, used_up
from hyperagent.accounts.budgets import sentence as in_words
from hyperagent.lib.conf import Config
from hyperagent.lib.refusals import TooMuch
from hyperagent.lib.times import seconds_until

CODE: Final = "budget_used_up"
# A budget that somebody sets holds everywhere within so long.
KNOWN_FOR_S: Final = 3.0
_looked: dict[str, tuple[float, bool]] = {}


def usual_amounts(config: Config) -> dict[str, Any]:
    """Arguments of the statements: what the settings say for each person, and for all together."""
    kinds = [(period, unit) for period in Period for unit in Unit]
    return {
        "periods": [period.value for period, _unit in kinds],
        "units": [unit.value for _period, unit in kinds],
        "user_amounts": [_set_amount(config, "user", period, unit) for period, unit in kinds],
        "installation_amounts": [_set_amount(config, "installation", period, unit) for period, unit in kinds],
    }


def is_set_by_settings(config: Config) -> bool:
    usual = usual_amounts(config)
    return any(amount > 0 for amount in (*usual["user_amounts"], *usual["installation_amounts"]))


def holds_for_anybody() -> bool:
    """Whether there is any budget at all, as of the last few seconds. A query at most."""
    if is_set_by_settings(settings.CONFIG):
        return True
    name = str(connection.settings_dict["NAME"])
    looked_at, is_any = _looked.get(name, (0.0, False))
    if time.monotonic() - looked_at > KNOWN_FOR_S or not looked_at:
        with connection.cursor() as cursor:
            cursor.execute(purse_sql.IS_ANY_SET)
            (is_any,) = cursor.fetchone()
        _looked[name] = (time.monotonic(), is_any)
    return bool(is_any)


def look_anew() -> None:
    """Somebody has set a budget here: this process knows at once, others within KNOWN_FOR_S."""
    _looked.clear()


def standing_of(user_id: UUID | None) -> list[Limit]:
    """Every budget that holds for this person, without one those of all together. One query, the first time in a day
    or month three more."""
    found = _standing(user_id)
    missing = [limit for limit in found if limit.purse_id is None]
    if not missing:
        return found
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(purse_sql.OPEN, opening(missing))
        made = [row[0] for row in cursor.fetchall()]
        cursor.execute(purse_sql.RECOUNT, {"purses": made})
    return _standing(user_id)


def opening(missing: Sequence[Limit]) -> dict[str, Any]:
    """Arguments of OPEN."""
    return {
        "whose": [limit.purse for limit in missing],
        "periods": [limit.period.value for limit in missing],
        "starts": [limit.starts for limit in missing],
    }


def asked_of(limits: Sequence[Limit]) -> dict[str, Any]:
    """The purses with their limits, as arguments of RESERVE."""
    usd = {limit.purse_id: limit.amount for limit in limits if limit.unit is Unit.USD}
    tokens = {limit.purse_id: limit.amount for limit in limits if limit.unit is Unit.TOKENS}
    purses = sorted({limit.purse_id for limit in limits if limit.purse_id is not None})
    return {
        "purses": purses,
        "most_usd": [usd.get(purse) for purse in purses],
        "most_tokens": [tokens.get(purse) for purse in purses],
    }


def why_not(limits: Sequence[Limit], tokens: int, usd: Decimal) -> str:
    """Of several that are at their end, the one that lasts longest."""
    wanted = {Unit.TOKENS: Decimal(tokens), Unit.USD: usd}
    lacking = [limit for limit in limits if limit.lacks(wanted[limit.unit])] or list(limits)
    limit = max(lacking, key=lambda limit: (limit.is_used_up, limit.ends_at))
    return in_words(limit, wanted=wanted[limit.unit])


def not_priced(names: Sequence[str]) -> str:
    return (
        f"The price of {' and '.join(names)} is not known, so no budget in money can hold for it, and this "
        "installation does not ask such models. Choose another model, or ask an administrator to set its price."
    )


def everybodys() -> list[tuple[Limit, int]]:
    """Every budget that something was counted for in this day and month, with the percentage told of last. A query."""
    with connection.cursor() as cursor:
        cursor.execute(purse_sql.ALL_STANDING, usual_amounts(settings.CONFIG))
        rows = cursor.fetchall()
    return [(limit_of(row[:10]), row[10]) for row in rows if row[4] > 0]


def recount_all() -> int:
    """Puts into the purses of this day and month whatever the ledger has and they have not. How many there are."""
    ids = sorted({limit.purse_id for limit, _told in everybodys()} - {None}, key=int)  # type: ignore[arg-type]
    with connection.cursor() as cursor:
        if ids:
            cursor.execute(purse_sql.RECOUNT, {"purses": ids})
    return len(ids)


def tidy() -> None:
    """Frees what the dead had reserved, moves what is settled, forgets the purses of last year. What runners do too."""
    with connection.cursor() as cursor:
        cursor.execute(purse_sql.FREE)
        cursor.execute(purse_sql.MOVE)
        cursor.execute(purse_sql.FORGET)


def refuse_if_used_up(user_id: UUID) -> None:
    """Raises TooMuch with which budget it is, when it starts anew, and whom to ask. Nothing is asked of the database
    where nobody has a budget."""
    if not holds_for_anybody():
        return
    limit = used_up(standing_of(user_id))
    if limit is not None:
        raise TooMuch(
            CODE,
            in_words(limit),
            retry_after_s=seconds_until(limit.ends_at),
            budget={"whose": limit.whose.value, "period": limit.period.value, "unit": limit.unit.value},
        )


def limit_of(row: Sequence[Any]) -> Limit:
    """Of a row of STANDING."""
    whose, name, period, unit, amount, used, reserved, starts, unpriced, purse_id = row
    return Limit(
        purse=whose,
        name=name,
        period=Period(period),
        unit=Unit(unit),
        amount=Decimal(amount),
        used=Decimal(used),
        reserved=max(Decimal(0), Decimal(reserved)),
        starts=starts,
        unpriced_calls=unpriced,
        purse_id=purse_id,
    )


def _standing(user_id: UUID | None) -> list[Limit]:
    values = {"user": user_id, **usual_amounts(settings.CONFIG)}
    with connection.cursor() as cursor:
        cursor.execute(purse_sql.STANDING, values)
        return [limit_of(row) for row in cursor.fetchall()]


def _set_amount(config: Config, whose: str, period: Period, unit: Unit) -> Decimal:
    return Decimal(str(getattr(config, f"{whose}_budget_{unit.value}_per_{period.value}")))
