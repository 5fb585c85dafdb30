"""Waiting for what Postgres notifies a connection of."""

import select
from typing import Any

import psycopg


def is_notified(connection: psycopg.Connection[Any], *, within_s: float) -> bool:
    """Whether anything was notified since the last look, or is before the time is up. What it was is forgotten.

    Psycopg's own `notifies()` looks ten times a second while it waits; here the kernel says when there is something.
    Raises OperationalError where the connection is lost.
    """
    if _heard(connection):
        return True
    socket = select.poll()
    socket.register(connection.fileno(), select.POLLIN)
    return bool(socket.poll(within_s * 1000)) and _heard(connection)


def _heard(connection: psycopg.Connection[Any]) -> bool:
    return bool(list(connection.notifies(timeout=0)))
