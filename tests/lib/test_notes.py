"""Waiting for what Postgres notifies."""

import threading
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from hyperagent.lib.bell import Bell
from hyperagent.lib.notes import is_notified
from tests.runtime.driving import database_dsn

pytestmark = pytest.mark.django_db(transaction=True)
LONG_S = 60.0


@pytest.fixture
def ear() -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database_dsn(), autocommit=True) as connection:
        connection.execute("LISTEN here")
        yield connection


def notify(channel: str = "here") -> None:
    with psycopg.connect(database_dsn(), autocommit=True) as connection:
        connection.execute(f"NOTIFY {channel}")


def test_what_was_notified_before_is_heard_at_once_and_once(ear: psycopg.Connection[Any]) -> None:
    notify()
    assert is_notified(ear, within_s=LONG_S)
    assert not is_notified(ear, within_s=0)


def test_what_came_while_the_connection_was_asked_something_else_is_heard(ear: psycopg.Connection[Any]) -> None:
    notify()
    ear.execute("SELECT 1")

    assert is_notified(ear, within_s=LONG_S)
    assert not is_notified(ear, within_s=0)


def test_what_is_notified_meanwhile_ends_the_wait(ear: psycopg.Connection[Any]) -> None:
    later = threading.Timer(0.2, notify)
    later.start()

    assert is_notified(ear, within_s=LONG_S)
    later.join()


def test_a_bell_that_is_rung_meanwhile_ends_the_wait(ear: psycopg.Connection[Any]) -> None:
    bell = Bell()
    ringing = threading.Timer(0.2, bell.ring)
    ringing.start()

    assert not is_notified(ear, within_s=LONG_S, unless=bell)
    ringing.join()
    assert bell.is_rung()


def test_another_channel_is_not_heard(ear: psycopg.Connection[Any]) -> None:
    notify("elsewhere")

    assert not is_notified(ear, within_s=0.2)


def test_a_connection_that_is_lost_says_so(ear: psycopg.Connection[Any]) -> None:
    with psycopg.connect(database_dsn(), autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s)", [ear.info.backend_pid])

    with pytest.raises(psycopg.OperationalError):
        is_notified(ear, within_s=LONG_S)
