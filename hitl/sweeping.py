"""Time: what is due for requests, and doing it to the second. Only the database's clock says when.

Each runner looks, about once a second while something may be due; the work is taken row by row, so that it is done
once however many runners there are. A job of the queue does the same each minute.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from typing import Any

import psycopg
import structlog
from django.db import Error, connection

from hitl import telling
from hitl.ending import end_orphaned, end_overdue
from hyperagent.lib import beats, rows

log = structlog.get_logger(__name__)

Connect = Callable[[], AbstractAsyncContextManager[psycopg.AsyncConnection[Any]]]

# Seconds between two looks: while something is open, and while nothing is (a new request is found by the look).
LOOK_S = 1.0
IDLE_LOOK_S = 2.0
# After a look at which others had taken all that was due, and after one that failed.
PAUSE_S = 0.25
FAILED_PAUSE_S = 5.0

# Seconds until the next thing is due; none if nothing ever is. Four looks into partial indexes.
_NEXT = """
SELECT extract(epoch FROM least(
    (SELECT min(expires_at) FROM hitl_request WHERE status = 'pending'),
    (SELECT min(remind_at) FROM hitl_request
     WHERE status = 'pending' AND remind_at IS NOT NULL AND reminded_at IS NULL),
    (SELECT min(created_at) FROM hitl_request WHERE status = 'pending' AND announced_at IS NULL),
    (SELECT min(responded_at) FROM hitl_request WHERE status = 'timed_out' AND timeout_told_at IS NULL)
) - clock_timestamp())::float8
"""


def expire_stale_hitl_requests() -> int:
    """At the start of a runner: ends exactly those requests whose time is over, and those whose run is. A restart by
    itself expires nothing. How many.
    """
    return end_overdue() + end_orphaned()


def sweep() -> int:
    """Does what is due: ends first, then news, a few dozen of each. How much it did; 0 if there was nothing to do."""
    return end_overdue() + telling.tell_of_new() + telling.remind() + telling.tell_of_timeouts()


def is_anything_due() -> bool:
    """Whether `sweep` would find something to do. One query."""
    due_s = rows.execute(_NEXT, []).fetchone()[0]
    return due_s is not None and due_s <= 0


async def keep_time(connect: Connect) -> None:
    """Until it is cancelled. `connect` lends a connection for each look; what is due is done in a thread, on a
    connection that is given up afterwards.
    """
    thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="hitl")
    try:
        first = True
        while True:
            try:
                pause_s = await _look(connect, thread, first=first)
                first = False
            except (psycopg.Error, Error) as error:
                log.warning("requests.cannot_look", error=str(error).split("\n")[0])
                pause_s = FAILED_PAUSE_S
            except Exception:
                # Nothing that is wrong with one request may stop the clock of the others.
                log.exception("requests.failed")
                pause_s = FAILED_PAUSE_S
            await beats.sleep(pause_s)
    finally:
        await asyncio.to_thread(thread.shutdown)


async def _look(connect: Connect, thread: ThreadPoolExecutor, *, first: bool) -> float:
    """Seconds until the next look."""
    loop = asyncio.get_running_loop()
    if first:
        ended = await loop.run_in_executor(thread, _alone, expire_stale_hitl_requests)
        log.info("requests.stale_expired", ended=ended)
    due_s = await _next_due_s(connect)
    if due_s is None:
        return IDLE_LOOK_S
    if due_s > 0:
        return min(due_s, LOOK_S)
    return 0.0 if await loop.run_in_executor(thread, _alone, sweep) else PAUSE_S


async def _next_due_s(connect: Connect) -> float | None:
    async with connect() as lent:
        cursor = await lent.execute(_NEXT)
        row: Any = await cursor.fetchone()
    due_s: float | None = row[0]
    return due_s


def _alone(work: Callable[[], int]) -> int:
    """In the thread: with a connection of its own, which nothing holds afterwards."""
    try:
        return work()
    finally:
        connection.close()
