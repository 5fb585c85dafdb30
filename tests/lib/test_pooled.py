"""The pool that Django's connections come from."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.db import InternalError, connection, connections

from hyperagent.lib import outage
from hyperagent.lib.pooled.base import DatabaseWrapper, WarmPool, check
from tests.runtime.driving import database_dsn

pytestmark = pytest.mark.django_db


@pytest.fixture
def pool() -> Iterator[WarmPool]:
    with WarmPool(database_dsn(), min_size=3, max_size=3, kwargs={"autocommit": True}, check=check, open=True) as made:
        made.wait()
        yield made


def number_of(connection: psycopg.Connection[Any]) -> int:
    return connection.info.backend_pid


def test_who_came_back_last_is_lent_first(pool: WarmPool) -> None:
    first, second = pool.getconn(), pool.getconn()
    pool.putconn(first)
    pool.putconn(second)

    again = pool.getconn()

    assert number_of(again) == number_of(second)
    pool.putconn(again)


def test_a_connection_that_the_database_ended_is_not_lent(pool: WarmPool) -> None:
    ended = pool.getconn()
    number = number_of(ended)
    with psycopg.connect(database_dsn(), autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", [number])
    pool.putconn(ended)

    with pool.connection() as connection:
        assert number_of(connection) != number
        connection.execute("SELECT 1")


@pytest.fixture
def pooled(monkeypatch: pytest.MonkeyPatch) -> Iterator[DatabaseWrapper]:
    """Django's connection as the web has it."""
    options = {**connection.settings_dict["OPTIONS"], "pool": {"min_size": 2, "max_size": 2}}
    made = DatabaseWrapper({**connection.settings_dict, "OPTIONS": options}, alias="pooled")
    connections["pooled"] = made
    monkeypatch.setattr(outage, "connection", made)
    yield made
    made.close()
    made.close_pool()
    del connections["pooled"]


def test_what_is_connected_to_a_database_that_takes_nothing_is_not_lent_again(pooled: DatabaseWrapper) -> None:
    writing = "UPDATE agents_execution SET question = '' WHERE false"
    with pooled.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")
        with pytest.raises(InternalError) as refused:
            cursor.execute(writing)

    outage.heal(refused.value)
    pooled.close()

    with pooled.cursor() as cursor:
        cursor.execute(writing)
