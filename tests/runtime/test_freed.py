"""A run whose runner is known to be dead is taken over when that is said, not when others happen to look; and one whose
runner was late is not blamed for it."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from asgiref.sync import sync_to_async
from django.db import connection, transaction
from django.utils import timezone

from agents import actions
from agents.models import Execution
from agents.runtime import leases, runner
from tests.faces.conftest import in_threads
from tests.runtime.driving import database_dsn, ended, events, execution, start, until

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
        within_the_grace = await leases.look(connection, lease_s=10**8)
        afterwards = await leases.look(connection, lease_s=0)

    assert (within_the_grace, afterwards) == (leases.Found(0, False), leases.Found(1, True))
    assert (await execution(id_)).status == "pending"


async def test_a_run_is_not_blamed_for_a_runner_that_turns_out_to_live(
    alice: Any, echo_server: Any, make_runner: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr(runner, "LOOK_EVERY_S", 3600)
    await make_runner(echo_server.url, name="late", lease_s=36_000)
    id_ = await start(alice, "say 500 tokens at 50/s")
    rows = Execution.objects.filter(id=id_)
    await until(sync_to_async(rows.filter(status="running").exists))
    await sync_to_async(rows.update)(lease_until=timezone.now() - timedelta(seconds=1), leased_by="late")

    blamed = await sync_to_async(_lost_to_another)(id_)
    cleared = await until(sync_to_async(rows.filter(crashes=0).first))

    assert (blamed.crashes, blamed.suspicion) == (1, 0)
    assert (cleared.epoch, cleared.leased_by, cleared.suspicion) == (blamed.epoch, "another", 1)


@pytest.mark.parametrize("loss", ["by its lease", "by its death", "long ago"])
async def test_a_run_is_failed_for_lost_runners_once_the_last_one_has_had_time_to_say_that_it_lives(
    in_threads: None, alice: Any, loss: str
) -> None:
    id_ = await start(alice, "q")
    rows = Execution.objects.filter(id=id_)
    lapsed = timezone.now() - timedelta(seconds=1)
    await sync_to_async(rows.update)(
        status="running", leased_by="late", epoch=1, lease_until=lapsed, crashes=leases.MAX_CRASHES - 1
    )
    if loss == "by its death":
        await sync_to_async(leases.recover_runner)("late")
    async with await psycopg.AsyncConnection.connect(database_dsn(), autocommit=True) as connection:
        await leases.look(connection, lease_s=0)
        if loss == "long ago":
            await sync_to_async(rows.update)(lost_at=timezone.now() - timedelta(days=10))
        claimed = await _claimed(connection)

        assert claimed == ([] if loss == "by its lease" else [(id_, leases.MAX_CRASHES)])

        if loss == "by its lease":
            driven: Any = SimpleNamespace(id=id_, epoch=1, leased_by="late")
            await leases.give_up(connection, driven)
            assert await _claimed(connection) == [(id_, leases.MAX_CRASHES - 1)]


async def _claimed(connection: Any) -> list[tuple[Any, int]]:
    claims = await leases.claim(connection, runner="other", limit=5, lease_s=36_000, suspects=True)
    return [(one.id, one.crashes) for one in claims]


def _lost_to_another(id_: Any) -> Execution:
    """What is stored of the run as soon as another runner has it: the one that drove it does not know yet. Its row is
    held first: a run that is just being written is left for the next look."""
    with transaction.atomic(), connection.cursor() as cursor:
        Execution.objects.select_for_update().get(id=id_)
        cursor.execute(leases._RECOVER, {"runner": "late", "suspect": leases.SUSPECT, "grace_s": 0})
        Execution.objects.filter(id=id_).update(status="running", leased_by="another")
        return Execution.objects.get(id=id_)


async def test_a_run_with_which_twenty_runners_were_lost_is_failed(
    alice: Any, echo_server: Any, make_runner: Any
) -> None:
    id_ = await start(alice, "say 3 tokens")
    await sync_to_async(Execution.objects.filter(id=id_).update)(suspicion=leases.MAX_SUSPICION)

    await make_runner(echo_server.url)
    run = await ended(id_)

    assert (run.status, run.error_code) == ("failed", "crashed_worker")
    assert "20 workers in a row were lost with this run" in run.error_message
