"""Work whose time stands in a row. Who has such rows says how long it is to the next of them and what is then done;
every runner keeps time for all of it. Whose rows these are, nobody knows here.

The database's clock alone says when. The work takes row by row, so that it is done once however many runners there are.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Final

import psycopg
import structlog
from django.db import Error, connection
from django.utils.module_loading import import_string

from hyperagent.lib import beats

log = structlog.get_logger(__name__)

Connect = Callable[[], AbstractAsyncContextManager[psycopg.AsyncConnection[Any]]]

LOOK_S: Final = 3.0
"""At most so long between two looks: a row that was made or changed meanwhile is found by the next."""
PAUSE_S: Final = 0.5
FAILED_PAUSE_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class Clock:
    """`next_due`: a query for the seconds until the next is due, of one row; null where nothing is. `work` does what is
    due, in a thread, and says how much that was."""

    name: str
    next_due: str
    work: Callable[[], int]


_named: Final[list[str]] = []


def register(dotted_path: str) -> None:
    """When the apps are made, by the name of a Clock: what its work needs is loaded where time is kept. Twice is as
    once."""
    if dotted_path not in _named:
        _named.append(dotted_path)


async def keep_time(connect: Connect) -> None:
    """Until it is cancelled. `connect` lends a connection for each look; the work has one of its own."""
    thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="clock")
    try:
        async with asyncio.TaskGroup() as group:
            for path in _named:
                clock = import_string(path)
                group.create_task(_keep(clock, connect, thread), name=f"clock {clock.name}")
    finally:
        await asyncio.to_thread(thread.shutdown)


async def _keep(clock: Clock, connect: Connect, thread: ThreadPoolExecutor) -> None:
    while True:
        try:
            pause_s = await _look(clock, connect, thread)
        except (psycopg.Error, Error) as error:
            log.warning("clock.cannot_look", clock=clock.name, error=str(error).split("\n")[0])
            pause_s = FAILED_PAUSE_S
        except Exception:
            # Nothing that is wrong with one row may stop the clock of the others.
            log.exception("clock.failed", clock=clock.name)
            pause_s = FAILED_PAUSE_S
        await beats.sleep(pause_s)


async def _look(clock: Clock, connect: Connect, thread: ThreadPoolExecutor) -> float:
    """Seconds until the next look."""
    async with connect() as lent:
        cursor = await lent.execute(clock.next_due)
        row: Any = await cursor.fetchone()
    due_s: float | None = row[0]
    if due_s is None:
        return LOOK_S
    if due_s > 0:
        return min(due_s, LOOK_S)
    done = await asyncio.get_running_loop().run_in_executor(thread, _alone, clock.work)
    return 0.0 if done else PAUSE_S


def _alone(work: Callable[[], int]) -> int:
    """In the thread: with a connection of its own, which nothing holds afterwards."""
    try:
        return work()
    finally:
        connection.close()
