"""Waiting for what Postgres notifies a connection of."""

import select
import time
from typing import Any

import psycopg

from hyperagent.lib.bell import Bell


def is_notified(connection: psycopg.Connection[Any], *, within_s: float, unless: Bell | None = None) -> bool:
    """Whether anything was notified since the last look, or is before the time is up or the bell rings. What it was is
    forgotten.

    Psycopg's own `notifies()` looks ten times a second while it waits; here the kernel says when there is something.
    Raises OperationalError where the connection is lost.
    """
    deadline = time.monotonic() + within_s
    waiting = select.poll()
    waiting.register(connection.fileno(), select.POLLIN)
    if unless is not None:
        waiting.register(unless, select.POLLIN)
    while not _heard(connection):
        # What comes may be something else: a notice, the first half of a last word.
        left_s = deadline - time.monotonic()
        if left_s <= 0 or not waiting.poll(left_s * 1000) or (unless is not None and unless.is_rung()):
            return False
    return True


def _heard(connection: psycopg.Connection[Any]) -> bool:
    return bool(list(connection.notifies(timeout=0)))
