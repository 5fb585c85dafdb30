"""Two at once: what one does in a thread, on a database connection of its own, and whether it waits for the other."""

from collections.abc import Callable
from typing import Any

from django.db import connection

_WAITING = """
    SELECT count(DISTINCT pid) FROM pg_locks
    WHERE database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND cardinality(pg_blocking_pids(pid)) > 0
"""


def elsewhere(work: Callable[[], Any]) -> Any:
    """To be submitted to a pool: whatever becomes of the work, its connection is closed."""
    try:
        return work()
    finally:
        connection.close()


def somebody_waits() -> bool:
    return how_many_wait() > 0


def how_many_wait() -> int:
    """For a lock that another has; in this database, for other tests run beside this one."""
    with connection.cursor() as cursor:
        cursor.execute(_WAITING)
        return int(cursor.fetchone()[0])
