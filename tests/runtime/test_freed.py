"""A run whose runner is known to be dead is taken over when that is said, not when others happen to look."""

from datetime import timedelta
from typing import Any

import psycopg
import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from agents import actions
from agents.models import Execution
from agents.runtime import leases, runner
from tests.faces.conftest import in_threads
from tests.runtime.driving import database_dsn, ended, events, execution, start

__all__ = ["in_threads"]

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.spec("B1")
async def test_the_only_run_of_a_dead_runner_goes_on_at_once(
    alice: Any, echo_server: Any, make_runner: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr(runner, "LOOK_EVERY_S", 3600)
    id_ = await start(alice, "say 3 tokens")
    await sync_to_async(Execution.objects.filter(id=id_).update)(status="running", leased_by="dead", epoch=1)
    await make_runner(echo_server.url, name="other", lease_s=36_000)
    before = await start(alice, "say 2 tokens")
    await ended(before)

    assert (await execution(id_)).leased_by == "dead"
    assert await sync_to_async(actions.release_runner)("dead") == 1
    run = await ended(id_)

    assert (run.status, run.answer) == ("completed", "w0 w1 w2")
    shut = [one["reason"] for one in await events(id_) if one["type"] == "agent_shutdown"]
    assert shut == ["crash"]


async def test_after_a_restart_of_the_database_living_runners_have_time_to_renew(in_threads: None, alice: Any) -> None:
    id_ = await start(alice, "q")
    lapsed = timezone.now() - timedelta(seconds=1)
    await sync_to_async(Execution.objects.filter(id=id_).update)(
        status="running", leased_by="alive", epoch=1, lease_until=lapsed
    )
    async with await psycopg.AsyncConnection.connect(database_dsn(), autocommit=True) as connection:
        within_the_grace = await leases.recover(connection, lease_s=10**8)
        afterwards = await leases.recover(connection, lease_s=0)

    assert (within_the_grace, afterwards) == (0, 1)
    assert (await execution(id_)).status == "pending"
