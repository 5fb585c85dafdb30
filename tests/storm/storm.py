"""A storm: round after round over one house, each planned from the seed, until the time is over."""

import asyncio
import faulthandler
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import aiohttp
import psycopg
from psycopg.rows import dict_row

from hyperagent.lib.conf import BASE_DIR
from tests.storm.client import Line
from tests.storm.house import House, Size
from tests.storm.people import People
from tests.storm.plan import Round
from tests.storm.report import line_of, report_of
from tests.storm.round import Outcome, RoundUnderWay

UP_S: Final = 180.0
# The next round does not wait for all that is still being started again.
UP_SHARE: Final = 0.5
LOG_BYTES: Final = 4_000_000
# What a fault does at once holds the storm up for a few seconds.
STILL_S: Final = 45.0


@dataclass(frozen=True)
class Campaign:
    """`plans`: the round of a number. `rounds`: at most so many; 0 for as many as the time allows. `failed`: where the
    plan, logs and rows of a round go in which something was wrong, or of all. `tell`: what there is to say meanwhile.
    `folder`: the checkout of the version with which it begins.
    """

    plans: Callable[[int], Round]
    seed: int
    failed: Path
    tell: Callable[[str], None]
    first: int = 0
    rounds: int = 0
    minutes: float = 60.0
    keep_all: bool = False
    size: Size | None = None
    folder: Path = BASE_DIR


async def storm(campaign: Campaign) -> dict[str, Any]:
    """The report; also where it is cancelled, of the rounds that were done."""
    with House(campaign.size, campaign.folder) as house:
        before, began = house.memory_mib(), time.monotonic()
        outcomes: list[tuple[Round, Outcome]] = []
        async with _watching_itself(campaign.tell), _people(house) as people:
            try:
                async for done in _rounds(house, people, campaign):
                    outcomes.append(done)
            except asyncio.CancelledError:
                campaign.tell("stopped")
            return report_of(
                campaign.seed,
                outcomes,
                took_s=time.monotonic() - began,
                decisions=people.decisions,
                effects=house.sinks.effects,
                memory=(before, house.memory_mib()),
            )


async def _rounds(house: House, people: People, campaign: Campaign) -> AsyncIterator[tuple[Round, Outcome]]:
    ends = time.monotonic() + campaign.minutes * 60
    late: list[UUID] = []
    number = campaign.first
    while (not campaign.rounds or number < campaign.first + campaign.rounds) and time.monotonic() < ends:
        await _until_up(house)
        plan = campaign.plans(number)
        under_way = RoundUnderWay(house, people, plan, late=late)
        outcome = await under_way.go()
        yield plan, outcome
        campaign.tell(line_of(plan, outcome))
        if outcome.faults or campaign.keep_all:
            _keep(house, plan, outcome, campaign)
        late = under_way.still_waiting
        number += 1


@asynccontextmanager
async def _watching_itself(tell: Callable[[str], None]) -> AsyncIterator[None]:
    """Where the storm's own loop stands still, nobody asks and nobody hears an answer, which looks like an outage of
    the house: it is told, and standard error gets where each thread stood.
    """

    async def watch() -> None:
        while True:
            faulthandler.dump_traceback_later(STILL_S)
            before = time.monotonic()
            await asyncio.sleep(1)
            if (still_s := time.monotonic() - before) > STILL_S:
                tell(f"the storm itself stood still for {still_s:.0f} s: what had no answer meanwhile says nothing")

    watching = asyncio.create_task(watch())
    try:
        yield
    finally:
        watching.cancel()
        faulthandler.cancel_dump_traceback_later()


@asynccontextmanager
async def _people(house: House) -> AsyncIterator[People]:
    connector = aiohttp.TCPConnector(limit=0, force_close=True)
    async with aiohttp.ClientSession(connector=connector) as session:
        yield People(house, [Line(session, house.url, person.token) for person in house.people])


async def _until_up(house: House) -> None:
    deadline = time.monotonic() + UP_S
    while not await asyncio.to_thread(house.is_up, share=UP_SHARE):
        house.mend()
        if time.monotonic() > deadline:
            raise RuntimeError(f"the house does not come up again:\n{house.logs()[-6000:]}")
        await asyncio.sleep(0.5)


def _keep(house: House, plan: Round, outcome: Outcome, campaign: Campaign) -> None:
    """What somebody needs who looks for the reason: the plan, what was found, the logs, and the rows of its runs."""
    folder, tell = campaign.failed / f"failed-{plan.seed}-{plan.number}", campaign.tell
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "plan.json").write_text(plan.as_json())
    hits = [f"{hit.at:%H:%M:%S.%f} {hit.kind} {hit.pids} {hit.held}" for hit in outcome.hits]
    (folder / "violations.txt").write_text("\n".join([*outcome.faults, "", *hits, ""]))
    (folder / "logs.txt").write_text(house.logs()[-LOG_BYTES:])
    (folder / "rows.json").write_text(json.dumps(_rows(house, outcome.executions), indent=1, default=str))
    for fault in outcome.faults:
        tell(f"  {fault}")
    size = f" --runs {len(plan.runs)} --faults {len(plan.faults)}"
    tell(f'  kept in {folder}; again: make storm ARGS="--seed {plan.seed} --round {plan.number}{size}"')


def _rows(house: House, ids: list[UUID]) -> dict[str, list[dict[str, Any]]]:
    """Of all tables that have something of these runs."""
    of_runs = {
        "agents_execution": "id = ANY(%s)",
        "agents_agentexecution": "execution_id = ANY(%s)",
        "agents_effect": "execution_id = ANY(%s)",
        "agents_event": "execution_id = ANY(%s)",
        "hitl_request": "execution_id = ANY(%s)",
        "agents_step": "agent_id IN (SELECT id FROM agents_agentexecution WHERE execution_id = ANY(%s))",
        "hitl_decision": "request_id IN (SELECT request_id FROM hitl_request WHERE execution_id = ANY(%s))",
    }
    with psycopg.connect(house.dsn, row_factory=dict_row) as tables:
        return {
            table: tables.execute(f"SELECT * FROM {table} WHERE {which}", [ids]).fetchall()
            for table, which in of_runs.items()
        }
