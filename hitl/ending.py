"""How requests end without anybody's decision: their time is over, their run is, or its person is gone. By the
database's clock.
"""

from typing import Any
from uuid import UUID

from django.db import connection, transaction

from hyperagent.lib.wake import wake

# Of all processes that look, one ends requests at a time; the lock goes with its transaction.
_ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(hashtext('hitl.ending'))"
AT_ONCE = 500

# The runs first and in the order of their ids, as everybody does who locks several; then their requests.
_LOCK_RUNS = """
SELECT id FROM agents_execution WHERE id IN (SELECT execution_id FROM hitl_request WHERE request_id = ANY(%s))
ORDER BY id FOR NO KEY UPDATE
"""

_OVERDUE = """
SELECT request_id FROM hitl_request
WHERE status = 'pending' AND expires_at <= clock_timestamp() AND (%(only)s::uuid IS NULL OR request_id = %(only)s)
ORDER BY expires_at LIMIT %(limit)s
"""

_TIME_OUT = """
WITH ended AS (
    UPDATE hitl_request SET status = 'timed_out', responded_at = clock_timestamp(), decided_via = 'clock'
    WHERE request_id = ANY(%s) AND status = 'pending' AND expires_at <= clock_timestamp()
    RETURNING request_id, execution_id
), noted AS (
    INSERT INTO hitl_decision (request_id, happening, actor_name, via, note, details, at)
    SELECT request_id, 'timed_out', '', 'clock', '', '{}', clock_timestamp() FROM ended
)
SELECT execution_id FROM ended
"""

# Its driver closes the questions of a run that ends. This is for whatever was left all the same. The run is named, not
# imported: `agents` stands above.
_EXPIRE = """
WITH ended AS (
    UPDATE hitl_request r SET status = 'expired', responded_at = clock_timestamp(), decided_via = 'clock'
    WHERE r.status = 'pending'
      AND NOT EXISTS (SELECT 1 FROM agents_execution e WHERE e.id = r.execution_id AND e.ended_at IS NULL)
    RETURNING r.request_id
)
INSERT INTO hitl_decision (request_id, happening, actor_name, via, note, details, at)
SELECT request_id, 'expired', '', 'clock', '', '{}', clock_timestamp() FROM ended
"""

_LOCK_RUNS_OF = """
SELECT id FROM agents_execution
WHERE id IN (SELECT execution_id FROM hitl_request WHERE user_id = %s AND status = 'pending')
ORDER BY id FOR NO KEY UPDATE
"""

_WITHDRAW_ALL = """
WITH ended AS (
    UPDATE hitl_request SET status = 'cancelled', responded_at = clock_timestamp(), decided_via = 'run'
    WHERE user_id = %s AND status = 'pending'
    RETURNING request_id
)
INSERT INTO hitl_decision (request_id, happening, actor_name, via, note, details, at)
SELECT request_id, 'cancelled', '', 'run', '', '{}', clock_timestamp() FROM ended
"""

_READY = "UPDATE agents_execution SET woken_at = clock_timestamp() WHERE id = ANY(%s) AND ended_at IS NULL"


def end_overdue(*, only: UUID | None = None) -> int:
    """Requests whose time is over end as timed out, which is nobody's decision, and their runs go on. How many.

    A few hundred in a transaction, so that nobody waits long for a run that is locked meanwhile.
    """
    total = 0
    while ended := _end_some(only):
        total += ended
    return total


def _end_some(only: UUID | None) -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        if only is None:
            cursor.execute(_ONE_AT_A_TIME)
        cursor.execute(_OVERDUE, {"only": only, "limit": AT_ONCE})
        overdue = [request_id for (request_id,) in cursor.fetchall()]
        if not overdue:
            return 0
        cursor.execute(_LOCK_RUNS, [overdue])
        cursor.execute(_TIME_OUT, [overdue])
        ended = [execution_id for (execution_id,) in cursor.fetchall()]
        go_on(cursor, *ended)
    return len(ended)


def end_orphaned() -> int:
    """Requests whose run is over, or gone, are expired. How many."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_EXPIRE)
        return int(cursor.rowcount)


def withdraw_all(user_id: UUID) -> int:
    """Whatever the runs of this person ask is asked no more: they are being stopped, and this does not wait for who
    drives them. How many."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_LOCK_RUNS_OF, [user_id])
        cursor.execute(_WITHDRAW_ALL, [user_id])
        return int(cursor.rowcount)


def go_on(cursor: Any, *execution_ids: UUID) -> None:
    """Marks these runs as ready and wakes a runner for each, with the caller's transaction."""
    cursor.execute(_READY, [list(execution_ids)])
    wake(*set(execution_ids))
