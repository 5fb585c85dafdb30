"""The clock by which a run is told is the database's, however wrong the machine's is."""

import time
from typing import Any

import psycopg
import pytest

from agents.runtime import wall_clock
from agents.runtime.wall_clock import WallClock
from tests.runtime.driving import database_dsn

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("wrong_s", [600, -2, 0])
async def test_it_is_the_databases(monkeypatch: Any, wrong_s: int) -> None:
    right_ns = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: right_ns() + wrong_s * 1_000_000_000)
    clock = WallClock()
    async with await psycopg.AsyncConnection.connect(database_dsn(), autocommit=True) as connection:
        await clock.compare(connection)

    assert abs(clock.now_ms() - right_ns() / 1_000_000) < 1_000


async def test_it_is_asked_again_when_the_answer_is_old(monkeypatch: Any) -> None:
    right_ns, clock = time.time_ns, WallClock()
    async with await psycopg.AsyncConnection.connect(database_dsn(), autocommit=True) as connection:
        await clock.compare(connection)
        monkeypatch.setattr(time, "time_ns", lambda: right_ns() + 600_000_000_000)
        await clock.compare(connection)
        assert clock.now_ms() - right_ns() / 1_000_000 > 599_000
        monkeypatch.setattr(wall_clock, "EVERY_S", 0)
        await clock.compare(connection)

    assert abs(clock.now_ms() - right_ns() / 1_000_000) < 1_000
