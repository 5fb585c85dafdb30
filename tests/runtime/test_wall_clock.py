"""The clock by which a run is told is the database's, however wrong the machine's is."""

import time
from datetime import timedelta
from typing import Any

import psycopg
import pytest
import time_machine
from django.utils import timezone

from agents import actions
from agents.models import Execution
from agents.runtime import wall_clock
from agents.runtime.wall_clock import WallClock
from hyperagent.lib.database import db_now
from tests.faces.runs import make_run
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


def test_a_run_that_is_stopped_on_a_machine_with_a_wrong_clock_waits_since_now(alice: Any) -> None:
    """How long it waited for its driver was less than nothing."""
    run = make_run(alice)

    with time_machine.travel(timezone.now() + timedelta(minutes=10)):
        actions.cancel(run.id, by=alice)

    stopped = Execution.objects.get(id=run.id)
    assert stopped.woken_at is not None
    assert stopped.cancel_requested_at is not None
    assert max(stopped.woken_at, stopped.cancel_requested_at) <= db_now()
