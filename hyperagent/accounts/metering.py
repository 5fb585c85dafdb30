"""Counts what people have done for them, in Postgres: a lost cache lifts no quota. The arithmetic's words and windows
are in `quotas`; who asks, and for what, is not known here.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db import connection

from hyperagent.accounts.quotas import METERS, Quota, Work, cost_s, fits_ever, refusal, too_much_at_once, wait_s
from hyperagent.lib import rows
from hyperagent.lib.refusals import Refused, TooMuch

CODE: Final = "too_many_requests"

# What holds for this person: their own amount, else the best of their groups', else what is set for everybody.
_AMOUNTS: Final = """
    SELECT asked.place, asked.units, asked.window_s, coalesce(
        (SELECT amount FROM accounts_userquota q WHERE q.user_id = %(user)s AND q.quota = asked.quota),
        (SELECT CASE WHEN min(q.amount) = 0 THEN 0 ELSE max(q.amount) END
         FROM accounts_userquota q JOIN accounts_user_groups g ON g.group_id = q.group_id
         WHERE g.user_id = %(user)s AND q.quota = asked.quota),
        asked.amount
    ) AS amount
    FROM (VALUES {asked}) AS asked (place, quota, amount, units, window_s)
"""
_ASKED: Final = "({0}, %(quota_{0})s::text, %(amount_{0})s::bigint, %(units_{0})s::bigint, %(window_{0})s::bigint)"


@cache
def amounts_sql(count: int) -> str:
    """A query for the amounts of so many quotas, which takes what `asked_for` gives and the person as `user`.

    Its text has each of them: of arrays Postgres would not keep the plan, and to plan takes it ten times as long as to
    look.
    """
    return _AMOUNTS.format(asked=", ".join(_ASKED.format(place) for place in range(1, count + 1)))


# `clears_at`: when the meter will be empty. Of two at once the second sees what the first has counted: the row is
# locked before it is looked at. `clock_timestamp()`: not the time when the transaction began, before it waited.
_TAKE: Final = f"""
WITH amounts AS ({amounts_sql(2)}), cost AS (
    SELECT max(CASE WHEN place = 1 AND amount > 0 THEN units * window_s / amount::float8 ELSE 0 END) AS first_s,
           max(CASE WHEN place = 2 AND amount > 0 THEN units * window_s / amount::float8 ELSE 0 END) AS second_s,
           max(window_s) FILTER (WHERE place = 1) AS first_window,
           max(window_s) FILTER (WHERE place = 2) AS second_window
    FROM amounts
)
INSERT INTO accounts_usermeter AS m (user_id, work, first_clears_at, second_clears_at)
SELECT %(user)s, %(work)s, clock_timestamp() + first_s * interval '1 second',
       clock_timestamp() + second_s * interval '1 second'
FROM cost WHERE first_s <= first_window AND second_s <= coalesce(second_window, 0)
ON CONFLICT (user_id, work) DO UPDATE SET
    first_clears_at = greatest(m.first_clears_at, clock_timestamp())
        + (SELECT first_s FROM cost) * interval '1 second',
    second_clears_at = greatest(m.second_clears_at, clock_timestamp())
        + (SELECT second_s FROM cost) * interval '1 second'
WHERE (SELECT first_s = 0 OR greatest(m.first_clears_at, clock_timestamp()) + first_s * interval '1 second'
              <= clock_timestamp() + first_window * interval '1 second' FROM cost)
  AND (SELECT second_s = 0 OR greatest(m.second_clears_at, clock_timestamp()) + second_s * interval '1 second'
              <= clock_timestamp() + second_window * interval '1 second' FROM cost)
RETURNING 1
"""
_STANDING: Final = """
    SELECT first_clears_at, second_clears_at, clock_timestamp() FROM accounts_usermeter
    WHERE user_id = %(user)s AND work = %(work)s
"""


def take(user_id: UUID, work: Work, *units: int) -> None:
    """Counts this much work of a person, or raises TooMuch and counts nothing. One statement.

    `units`: one number for each meter of this kind of work; one of each without. Within a transaction the person's next
    is held up until its end, so that what else is looked at cannot change.
    """
    taking(user_id, work, *units)()


def taking(user_id: UUID, work: Work, *units: int) -> Callable[[], None]:
    """The same in two halves, for who has more to ask of the database meanwhile (`rows.together`): it is asked for, and
    what is called then reads the answer, and may raise."""
    meters = METERS[work]
    wanted = units or (1,) * len(meters)
    names = [(meter.quota, count, meter.window_s) for meter, count in zip(meters, wanted, strict=True)]
    if len(names) == 1:
        # The second meter of work that has only one.
        names.append((meters[0].quota, 0, 0))
    asked = rows.execute(_TAKE, {"user": user_id, "work": work, **_named(names)})

    def taken() -> None:
        if asked.fetchone() is None:
            raise _refused(user_id, work, wanted)

    return taken


def amounts_of(user_id: UUID, quotas: Iterable[Quota]) -> dict[Quota, int]:
    """What holds for this person; 0: no limit. One query."""
    asked = list(quotas)
    found = rows.execute(amounts_sql(len(asked)), {"user": user_id, **asked_for(asked)}).fetchall()
    return {asked[place - 1]: amount for place, _units, _window, amount in found}


def asked_for(quotas: Iterable[Quota]) -> dict[str, Any]:
    """What `amounts_sql` of so many quotas takes, beside the person."""
    return _named([(quota, 0, 0) for quota in quotas])


def _named(asked: Sequence[tuple[Quota, int, int]]) -> dict[str, Any]:
    """`asked`: quota, units of work and the window in seconds."""
    named: dict[str, Any] = {}
    for place, (quota, units, window_s) in enumerate(asked, 1):
        named |= {f"quota_{place}": quota.value, f"amount_{place}": _set_for_all(quota)}
        named |= {f"units_{place}": units, f"window_{place}": window_s}
    return named


def _set_for_all(quota: Quota) -> int:
    amount: int = getattr(settings.CONFIG, quota)
    return amount


def _refused(user_id: UUID, work: Work, units: tuple[int, ...]) -> Refused:
    """Which meter is full, and for how long. Two queries."""
    meters = METERS[work]
    amounts = amounts_of(user_id, [meter.quota for meter in meters])
    with connection.cursor() as cursor:
        cursor.execute(_STANDING, {"user": user_id, "work": work})
        first, second, now = cursor.fetchone() or (None, None, None)
    waits: list[tuple[float, Quota]] = []
    for meter, count, clears_at in zip(meters, units, (first, second), strict=False):
        cost = cost_s(count, amounts[meter.quota], meter.window_s)
        if not fits_ever(cost, meter.window_s):
            return Refused("too_much_at_once", too_much_at_once(amounts[meter.quota]), quota=meter.quota.value)
        waits.append((wait_s(clears_at, now, cost, meter.window_s) if now else 0.0, meter.quota))
    # It may have drained between the two looks.
    longest, quota = max(waits)
    return too_much(quota, amounts[quota], max(1, math.ceil(longest)))


def too_much(quota: Quota, amount: int, retry_after_s: int, *, is_told: bool = True) -> TooMuch:
    """`is_told`: whether the words say how long to wait."""
    said = refusal(quota, amount, retry_after_s if is_told else None)
    return TooMuch(CODE, said, retry_after_s=retry_after_s, quota=quota.value)
