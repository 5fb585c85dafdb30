"""Waiting for days, by real processes: it costs nothing, and survives whatever dies meanwhile."""

import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import psutil
import psycopg
import pytest

from hyperagent.lib.hashes import arguments_hash
from tests.hitl.asking import MAIL
from tests.house.waiting import until
from tests.site import EMAIL, PASSWORD, Site

FAKETIME = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
ASKER = ("-m", "tests.hitl.runner")
# How many runs wait at once; a thousand in `make campaign`. What they hold does not depend on it.
FEW, MANY = 150, 1_000
DAY_S = 86_400
pytestmark = [pytest.mark.timeout(600), pytest.mark.slow]

# All jobs that have a schedule, one after the other.
_BY_THE_CLOCK = """
from django.utils.module_loading import autodiscover_modules
from hyperagent.lib import queue
autodiscover_modules("tasks")
for name, every_s in dict(queue._tasks).items():
    if every_s is not None:
        queue.known(name)()
"""
_START = """
from agents import actions
from hyperagent.accounts.models import User
alice = User.objects.get(email="{email}")
for _ in range({count}):
    print(actions.start(user=alice, conversation_id=None, question="May I?", pipeline="approves").id)
"""


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with Site(("web",)) as running:
        running.env |= {"RETENTION_DAYS": "1", "RETENTION_DELETED_DAYS": "0", "LOG_RETENTION_DAYS": "1"}
        running.env |= {"RUNS_PER_MINUTE": "0", "RUNS_AT_ONCE": "0"}
        said = {"email": EMAIL, "password": PASSWORD, "scopes": ["run", "read", "approve"]}
        running.token = running.post("auth/token", said).json()["token"]
        yield running


def start(site: Site, count: int = 1) -> list[UUID]:
    said = site.manage("shell", "-v0", "-c", _START.format(email=EMAIL, count=count))
    return [UUID(line) for line in said.split()]


def waiting(site: Site, ids: list[UUID]) -> list[dict[str, Any]]:
    """What these runs ask, once all of them wait."""
    wait = "SELECT count(*) AS n FROM agents_execution WHERE id = ANY(%s) AND status = 'awaiting_user'"
    until(lambda: site.query(wait, ids)[0]["n"] == len(ids), what=f"{len(ids)} runs wait", timeout_s=240)
    return site.query("SELECT * FROM hitl_request WHERE execution_id = ANY(%s)", ids)


def count(site: Site, table: str, condition: str) -> int:
    return int(site.query(f"SELECT count(*) AS n FROM {table} WHERE {condition}")[0]["n"])


def a_day_goes_by(site: Site, asked: dict[str, Any]) -> None:
    """Everything about the request and its run is a day longer ago, and all that is done by the clock was done, with
    retention as short as it can be."""
    of_run = "execution_id = %(execution_id)s"
    of_agents = f"agent_id IN (SELECT id FROM agents_agentexecution WHERE {of_run})"
    for table, condition, times in (
        ("hitl_request", of_run, ("created_at", "announced_at", "remind_at", "reminded_at", "expires_at")),
        ("agents_execution", "id = %(execution_id)s", ("created_at", "started_at")),
        ("agents_agentexecution", of_run, ("started_at",)),
        ("agents_step", of_agents, ("started_at", "ended_at")),
        ("agents_event", of_run, ("created_at",)),
    ):
        earlier = ", ".join(f"{name} = {name} - interval '1 day'" for name in times)
        with psycopg.connect(site.env["DATABASE_URL"]) as connection:
            assert connection.execute(f"UPDATE {table} SET {earlier} WHERE {condition}", asked).rowcount > 0, table
    site.manage("shell", "-v0", "-c", _BY_THE_CLOCK)


@pytest.mark.spec("B6", "S115", "S118")
def test_a_request_waits_three_days_through_restarts_of_everything_and_the_run_ends_well(site: Site) -> None:
    site.start_runner("day-0", module=ASKER, HITL_EXPIRES_SECONDS=str(7 * DAY_S))
    (asked,) = waiting(site, start(site))

    for day in (1, 2, 3):
        for name in (f"day-{day - 1}", "web"):
            site.kill(name)
        site.services.restart("valkey", signal.SIGKILL, while_away=lambda: None)
        site.services.restart("postgres", signal.SIGINT, while_away=lambda: None)
        a_day_goes_by(site, asked)
        site.start_web()
        site.start_runner(f"day-{day}", module=ASKER)
        until(partial(_has_looked, site, f"day-{day}"), what="the runner has looked")
    (still,) = site.query("SELECT * FROM hitl_request WHERE request_id = %s", asked["request_id"])
    said = {"request_id": str(asked["request_id"]), "decision": "approved", "arguments_hash": asked["arguments_hash"]}
    done = site.post("hitl/respond", said)
    (run,) = site.until_ended(asked["execution_id"])
    site.kill("day-3")

    assert (still["status"], still["expires_at"] - still["created_at"]) == (
        "pending",
        asked["expires_at"] - asked["created_at"],
    )
    assert done.status_code == 200, done.text
    assert (run["status"], run["answer"], run["crashes"]) == (
        "completed",
        f"approved {arguments_hash('send_email', MAIL)}",
        0,
    )
    history = site.query("SELECT happening FROM hitl_decision WHERE request_id = %s ORDER BY id", asked["request_id"])
    assert [row["happening"] for row in history] == ["reminded", "approved"]
    numbers = [event["seq"] for event in site.events(asked["execution_id"])]
    assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.skipif(FAKETIME is None, reason="libfaketime is not installed (deploy/apt.txt)")
@pytest.mark.spec("S118", "B6")
@pytest.mark.parametrize("wrong", ["+61m", "-61m"])
def test_a_runner_whose_clock_is_an_hour_off_ends_neither_too_early_nor_too_late(site: Site, wrong: str) -> None:
    env = {"LD_PRELOAD": str(FAKETIME), "FAKETIME": wrong, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    site.start_runner(f"off{wrong}", module=ASKER, HITL_EXPIRES_SECONDS="1800", **env)
    early, over = waiting(site, start(site, 2))

    # The second one's time is over by the clock of the database, and the runner has looked since.
    site.query("UPDATE hitl_request SET expires_at = now() WHERE request_id = %s RETURNING 1", over["request_id"])
    (run,) = site.until_ended(over["execution_id"])
    left = site.query("SELECT *, clock_timestamp() AS now FROM hitl_request WHERE request_id = %s", early["request_id"])
    site.query("UPDATE hitl_request SET expires_at = now() WHERE request_id = %s RETURNING 1", early["request_id"])
    site.until_ended(early["execution_id"])
    site.kill(f"off{wrong}")

    assert run["answer"] == "timed_out None"
    assert left[0]["status"] == "pending"
    assert (early["expires_at"] - early["created_at"]).total_seconds() == 1800
    assert 0 < (left[0]["now"] - early["created_at"]).total_seconds() < 300


@pytest.mark.spec("B6", "S118")
@pytest.mark.parametrize("runs", [FEW, pytest.param(MANY, marks=pytest.mark.campaign)])
def test_runs_that_wait_hold_no_worker_no_connection_and_no_memory_and_all_end_when_their_time_is_over(
    site: Site, runs: int
) -> None:
    site.start_runner("waiter", module=ASKER)
    process = psutil.Process(site.processes["waiter"].pid)
    # What the first runs load stays loaded.
    _settle(site, start(site, 50))
    before = _held(site, process)

    ids = start(site, runs)
    _settle(site, ids)
    meanwhile = _held(site, process)
    site.query("UPDATE hitl_request SET expires_at = now() WHERE status = 'pending' RETURNING 1")
    site.until_ended(*ids, timeout_s=240)
    (over,) = site.query(
        """SELECT count(*) AS n, max(responded_at - expires_at) AS late FROM hitl_request
           WHERE execution_id = ANY(%s) AND status = 'timed_out' AND decided_by_id IS NULL""",
        ids,
    )
    (noted,) = site.query(
        """SELECT count(*) AS n FROM hitl_decision d JOIN hitl_request r USING (request_id)
           WHERE r.execution_id = ANY(%s) AND d.happening = 'timed_out' AND d.via = 'clock'""",
        ids,
    )
    site.kill("waiter")

    print(f"before {before}, with {runs} more {meanwhile}; the last ended {over['late']} late")
    assert meanwhile["driven"] == meanwhile["leased"] == 0
    # The pools may have grown to their size, which does not depend on how many wait.
    assert meanwhile["connections"] <= before["connections"] + 4
    assert meanwhile["memory_mb"] - before["memory_mb"] < 15
    assert over["n"] == noted["n"] == runs


def _has_looked(site: Site, name: str) -> bool:
    return "requests.stale_expired" in site.log(name)


def _settle(site: Site, ids: list[UUID]) -> None:
    """All of them wait, their approvers were told, and the runner has nothing more to do."""
    waiting(site, ids)
    untold = "status = 'pending' AND announced_at IS NULL"
    until(lambda: count(site, "hitl_request", untold) == 0, what="all are told", timeout_s=240)
    idle = "name = 'waiter' AND driving = 0"
    until(lambda: count(site, "agents_runner", idle) == 1, what="the runner is idle")


def _held(site: Site, process: psutil.Process) -> dict[str, Any]:
    return {
        "driven": int(site.query("SELECT driving FROM agents_runner WHERE name = 'waiter'")[0]["driving"]),
        "leased": count(site, "agents_execution", "lease_until IS NOT NULL"),
        "connections": count(site, "pg_stat_activity", "datname = current_database()"),
        "memory_mb": round(process.memory_info().rss / 1e6, 1),
    }
