"""Folds the token frames of ended runs: many rows become one that gives each of them back to the letter.

Nothing that anybody reads changes: the same events under the same numbers, and the same chain of hashes.
"""

import time
import uuid
from datetime import timedelta
from typing import Final

from django.db import connection, transaction
from django.db.models.functions import Now

from agents.models import Execution

# Readers that follow a run have read its end by then.
AFTER = timedelta(minutes=5)
AT_ONCE = 100
# Other jobs wait meanwhile, and the next one goes on.
WORK_S: Final = 30.0
# Lines of one row: more would make a reader of the first carry all of a long answer.
LINES = 500

_FOLD = """
WITH numbered AS (
    SELECT seq, body, seq - row_number() OVER (ORDER BY seq) AS island FROM agents_event
    WHERE execution_id = %(execution)s AND type = 'token' AND frames = 1
), placed AS (
    SELECT seq, body, island, (row_number() OVER (PARTITION BY island ORDER BY seq) - 1) / %(lines)s AS part
    FROM numbered
), folded AS (
    SELECT max(seq) AS last, count(*) AS frames, string_agg(body, E'\\n' ORDER BY seq) AS body
    FROM placed GROUP BY island, part HAVING count(*) > 1
), removed AS (
    DELETE FROM agents_event e USING folded f
    WHERE e.execution_id = %(execution)s AND e.seq < f.last AND e.seq > f.last - f.frames
)
UPDATE agents_event e SET body = f.body, frames = f.frames
FROM folded f WHERE e.execution_id = %(execution)s AND e.seq = f.last
"""


def fold(execution_id: uuid.UUID) -> int:
    """Folds the log of a run that has ended; returns how many rows stand for more than one event now. Idempotent."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_FOLD, {"execution": execution_id, "lines": LINES})
        folded: int = cursor.rowcount
        Execution.objects.filter(id=execution_id).update(log_folded_at=Now())
    return folded


def fold_ended(*, work_s: float = WORK_S) -> None:
    """Folds the runs that ended a while ago, oldest first: all of them, or as many as there is time for."""
    until = time.monotonic() + work_s
    while time.monotonic() < until and (some := _ended()):
        for execution_id in some:
            fold(execution_id)


def _ended() -> list[uuid.UUID]:
    ended = Execution.objects.filter(ended_at__lt=Now() - AFTER, log_folded_at=None)
    return list(ended.order_by("ended_at").values_list("id", flat=True)[:AT_ONCE])
