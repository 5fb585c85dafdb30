"""A tiny storm, so that the campaign itself is known to work, and what storms have found and was mended."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from django.db import OperationalError

from agents.tools.tool import ANY_AGENT, Call, tool
from tests.storm.house import House, Size
from tests.storm.plan import KILLS, PEOPLE, Fault, Reply, Shape, plan_round
from tests.storm.storm import Campaign, storm
from tests.tools.doubles import APPROVE_ALL
from tests.tools.driving import call_once, gateway_of

# The library of connected servers, and on which thread it is loaded by the first call of a process.
_FIRST_CALL = """
import asyncio, contextlib, sys, threading
import django
django.setup()
from agents.mcp.provider import ConnectedServers

found = []

class Noting:
    def find_spec(self, name, path, target=None):
        if name == "mcp":
            found.append(threading.current_thread() is threading.main_thread())

sys.meta_path.insert(0, Noting())

async def first_call():
    with contextlib.suppress(Exception):
        await ConnectedServers().call(None, None, {})

asyncio.run(first_call())
print(found)
"""


def test_a_seed_plans_the_same_round_each_time_and_another_seed_another() -> None:
    first = plan_round(7, 3)

    assert plan_round(7, 3) == first
    assert plan_round(8, 3) != first
    assert plan_round(7, 4) != first


def test_an_hour_of_rounds_has_every_shape_every_reply_and_every_fault_in_it() -> None:
    rounds = [plan_round(7, number) for number in range(60)]
    runs = [run for planned in rounds for run in planned.runs]
    faults = [fault for planned in rounds for fault in planned.faults]

    assert {run.shape for run in runs} == set(Shape)
    assert {run.reply for run in runs} == set(Reply)
    assert {run.person for run in runs} == set(range(PEOPLE))
    assert {fault.kind for fault in faults} == set(Fault)
    assert len(runs) >= 2000
    assert sum(fault.kind in KILLS for fault in faults) >= 450
    assert len({run.tag for run in runs}) == len(runs)


def test_runners_that_all_signed_off_are_an_outage_and_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    house, now = House(), datetime.now(UTC)
    beats = iter([now, None, now + timedelta(seconds=20)])
    monkeypatch.setattr(house, "query", lambda sql: [{"at": next(beats)}])
    for _ in range(3):
        house._see_whether_somebody_works()

    assert house.outages == [(now, now + timedelta(seconds=20))]


@pytest.mark.spec("B1", "B2", "B6")
@pytest.mark.campaign
@pytest.mark.timeout(400)
@pytest.mark.filterwarnings("ignore:Requiring AUTH")
async def test_a_tiny_storm_leaves_nothing_broken(tmp_path: Path) -> None:
    plans = partial(plan_round, 220, runs=12, faults=4, length_s=8.0, shapes=(Shape.CHAT, Shape.FILES, Shape.MAIL))

    report = await storm(
        Campaign(
            plans, seed=220, failed=tmp_path, tell=print, rounds=1, size=Size(webs=1, workers=1, runners=2, whole=False)
        )
    )

    assert report["violations"] == []
    assert report["runs"] >= 12
    assert report["kills_and_restarts"] >= 1


@pytest.mark.slow
@pytest.mark.spec("B1")
def test_the_library_of_connected_servers_is_not_loaded_on_a_runners_loop() -> None:
    """Seed 2, round 0: the loop stood still for longer than its leases, and a run beside it was failed for that."""
    done = subprocess.run([sys.executable, "-c", _FIRST_CALL], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[False]"


@pytest.mark.spec("B1")
async def test_a_tool_looks_again_after_the_database_was_away_for_a_moment() -> None:
    """Seed 2, round 1: Postgres was restarted, and the model was told that the tool has a fault."""
    looks = []

    @tool(agents=ANY_AGENT)
    async def look_up(call: Call) -> str:
        """Looks something up."""
        looks.append(call)
        if len(looks) == 1:
            raise OperationalError("server closed the connection unexpectedly")
        return "found"

    said = await call_once(gateway_of(look_up), "look_up", {})

    assert said["is_error"] is False
    assert "found" in said["content"]
    assert len(looks) == 2


@pytest.mark.spec("B1", "B2")
async def test_a_change_that_the_database_did_not_take_is_told_as_one_to_make_again_and_is_not_made_by_itself() -> None:
    changes = []

    async def nothing_changed(call: Call) -> bool:
        return False

    @tool(agents=ANY_AGENT, effect="write", probe=nothing_changed)
    async def change(call: Call) -> str:
        """Changes something."""
        changes.append(call)
        raise OperationalError("server closed the connection unexpectedly")

    said = await call_once(gateway_of(change), "change", {})

    assert (
        said["content"]
        == "Error: change could not be carried out: a part of the server was away for a moment. Call it again."
    )
    assert len(changes) == 1


@pytest.mark.spec("B1", "S131")
async def test_a_program_that_a_person_allowed_once_is_not_run_again_because_the_database_was_away() -> None:
    started = []

    @tool(agents=ANY_AGENT, requires_approval=True)
    async def run_program(call: Call) -> str:
        """Runs a program; what it did is there whether or not it was noted."""
        started.append(call)
        raise OperationalError("server closed the connection unexpectedly")

    said = await call_once(gateway_of(run_program, checks=APPROVE_ALL), "run_program", {})

    assert said["is_error"] is True
    assert len(started) == 1
