"""Sums over the ledger of model calls, a statement each. Whose they are is an argument of every function: None is for
everybody, and whether somebody may ask that is decided by who calls.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from django.db import connection

from agents.usage.spans import Span
from agents.usage.spent import GroupBy, Share, Spent

MOST_SHARES: Final = 1_000
PREVIEW_CHARS: Final = 160

_SUMS = """count(*) AS calls, count(*) - count(c.cost_usd) AS unpriced, sum(c.prompt_tokens) AS prompt,
           sum(c.completion_tokens) AS completion, coalesce(sum(c.cost_usd), 0) AS cost"""
_SUMS_OF_RUNS = """count(execution_id)::int, sum(calls)::bigint, sum(unpriced)::bigint, sum(prompt)::bigint,
       sum(completion)::bigint, sum(cost)"""
_WHERE = "c.at >= %(start)s AND c.at < %(end)s"
_OWN = " AND c.user_id = %(user_id)s"

# First by run, so that runs are counted by a hash and not by a sort.
_SHARES = f"""
WITH c AS (
    SELECT {{key}} AS key, {{detail}} AS detail, c.execution_id, {_SUMS}
    FROM agents_modelcall c WHERE {{where}} GROUP BY 1, 2, 3
)
SELECT coalesce(key::text, ''), detail, {_SUMS_OF_RUNS}
FROM c GROUP BY 1, 2 ORDER BY sum(cost) DESC, sum(prompt) + sum(completion) DESC, 1, 2 LIMIT %(limit)s
"""
_KEYS: Final = {
    GroupBy.USER: ("c.user_id", "''"),
    GroupBy.AGENT: ("c.agent_name", "''"),
    GroupBy.MODEL: ("c.model", "c.provider"),
    GroupBy.CONVERSATION: ("c.conversation_id", "''"),
    GroupBy.PROJECT: ("c.project_id", "''"),
}
_STRETCHES = f"""
WITH c AS (
    SELECT width_bucket(c.at, %(bounds)s::timestamptz[]) AS stretch, c.execution_id, {_SUMS}
    FROM agents_modelcall c WHERE {{where}} GROUP BY 1, 2
)
SELECT stretch, {_SUMS_OF_RUNS} FROM c GROUP BY 1
"""
_DEAREST = f"""
WITH c AS (
    SELECT c.execution_id, c.conversation_id, c.user_id, {_SUMS}
    FROM agents_modelcall c WHERE {{where}} AND c.execution_id IS NOT NULL GROUP BY 1, 2, 3
    ORDER BY cost DESC, sum(c.prompt_tokens) + sum(c.completion_tokens) DESC, 1 LIMIT %(limit)s
)
SELECT c.execution_id, c.conversation_id, c.user_id, coalesce(left(e.question, {PREVIEW_CHARS}), ''),
       coalesce(e.pipeline, ''), e.created_at, c.calls, c.unpriced, c.prompt::bigint, c.completion::bigint, c.cost
FROM c LEFT JOIN agents_execution e ON e.id = c.execution_id
ORDER BY c.cost DESC, c.prompt + c.completion DESC, c.execution_id
"""
_UNPRICED = """
SELECT c.provider, c.model, count(*) FROM agents_modelcall c
WHERE c.at > clock_timestamp() - make_interval(days => %s) AND c.cost_usd IS NULL
GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT %s
"""


@dataclass(frozen=True, slots=True)
class DearRun:
    """One of the runs that cost the most. Without `began_at` there is only the ledger left of it."""

    id: UUID
    conversation_id: UUID | None
    user_id: UUID | None
    question: str
    pipeline: str
    began_at: datetime | None
    spent: Spent


def total(span: Span, user_id: UUID | None) -> Spent:
    """Each run counted once."""
    return stretches([span.start, span.end], user_id)[0]


def by_day(span: Span, user_id: UUID | None) -> list[Spent]:
    """One for each day of it. A run of two days is counted on both."""
    return stretches(span.day_starts, user_id)


def stretches(bounds: Sequence[datetime], user_id: UUID | None) -> list[Spent]:
    """One for what is between each bound and the next; `bounds` ascend."""
    values = {"bounds": list(bounds), "start": bounds[0], "end": bounds[-1], "user_id": user_id}
    found = {row[0]: _spent(row[1:]) for row in _rows(_STRETCHES, values)}
    return [found.get(number, Spent()) for number in range(1, len(bounds))]


def shares(group: GroupBy, span: Span, user_id: UUID | None, *, limit: int | None = MOST_SHARES + 1) -> list[Share]:
    """The most expensive first, at most MOST_SHARES and one more, which tells that there are others. `limit`: None for
    all of them."""
    key, detail = _KEYS[group]
    rows = _rows(_SHARES, _within(span, user_id, limit=limit), key=key, detail=detail)
    return [Share(row[0], row[1], _spent(row[2:])) for row in rows]


def dearest(span: Span, user_id: UUID | None, *, limit: int) -> list[DearRun]:
    """Those whose known cost is highest; where nothing has a price, those with the most tokens."""
    rows = _rows(_DEAREST, _within(span, user_id, limit=limit))
    return [_dear_run(row) for row in rows]


def _dear_run(row: Sequence[Any]) -> DearRun:
    id_, conversation_id, user_id, question, pipeline, began_at, *sums = row
    return DearRun(id_, conversation_id, user_id, question, pipeline, began_at, _spent([1, *sums]))


def _within(span: Span, user_id: UUID | None, **more: Any) -> dict[str, Any]:
    return {"start": span.start, "end": span.end, "user_id": user_id, **more}


def _rows(statement: str, values: dict[str, Any], **parts: str) -> list[tuple[Any, ...]]:
    where = _WHERE if values["user_id"] is None else _WHERE + _OWN
    with connection.cursor() as cursor:
        cursor.execute(statement.format(where=where, **parts), values)
        return list(cursor.fetchall())


def _spent(row: Sequence[Any]) -> Spent:
    count, calls, unpriced, prompt, completion, cost = row
    return Spent(count, calls, unpriced, prompt, completion, Decimal(cost))


@dataclass(frozen=True, slots=True)
class UnpricedModel:
    """A model that was asked lately and whose price was not known."""

    provider: str
    model: str
    calls: int


def unpriced_models(*, days: int = 30, limit: int = 50) -> list[UnpricedModel]:
    """Of the last days, the most asked first. One query, of an index on the time."""
    with connection.cursor() as cursor:
        cursor.execute(_UNPRICED, [days, limit])
        return [UnpricedModel(*row) for row in cursor.fetchall()]
