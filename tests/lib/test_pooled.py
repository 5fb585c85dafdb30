"""The pool that Django's connections come from."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from hyperagent.lib.pooled.base import WarmPool, check
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
