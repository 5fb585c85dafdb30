"""A cancellation that a library swallows is lost with asyncio: what is meant to end has to end all the same."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from psycopg_pool import AsyncConnectionPool

from agents import actions
from agents.runtime import driver
from agents.runtime.connecting import lent
from agents.runtime.context import AgentContext
from tests.runtime.driving import Runners, database_dsn, ended, events, start, until

pytestmark = pytest.mark.django_db(transaction=True)
# More turns of the loop than a pool takes to hand a connection over.
TURNS = 40


@pytest.mark.spec("B1", "S14")
async def test_whoever_is_cancelled_while_a_connection_is_handed_over_is_cancelled() -> None:
    """Seed 71, round 41 of a storm: asyncio's `wait_for`, by which the pool waits, swallows it at some of the turns."""

    async def wait_for_one(pool: AsyncConnectionPool[Any]) -> None:
        async with lent(pool, timeout_s=5):
            await asyncio.sleep(30)

    async with AsyncConnectionPool(database_dsn(), min_size=1, max_size=1, open=False) as pool:
        for turns in range(TURNS):
            held = await pool.getconn()
            waiting = asyncio.create_task(wait_for_one(pool))
            await asyncio.sleep(0.001)
            await pool.putconn(held)
            for _ in range(turns):
                await asyncio.sleep(0)
            waiting.cancel()
            done, _ = await asyncio.wait({waiting}, timeout=2)
            waiting.cancel()
            assert done, f"cancelled {turns} turns after the connection was given back, and goes on"
            assert waiting.cancelled()


async def swallows(context: AgentContext, turn: dict[str, Any]) -> dict[str, Any]:
    with suppress(asyncio.CancelledError):
        await context.note("begun", lambda: True)
        await asyncio.sleep(30)
    await asyncio.sleep(30)
    return {"answer": "It went on.", "sources": []}


@pytest.mark.spec("B1", "S14")
async def test_a_run_that_swallows_its_cancellation_is_interrupted_again(
    alice: Any, make_runner: Runners, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "AGAIN_S", 0.05)
    await make_runner("http://127.0.0.1:9", extra={"swallows": swallows})
    id_ = await start(alice, "Go on for ever.", pipeline="swallows")

    async def begun() -> bool:
        return any(event["type"] == "status_changed" for event in await events(id_))

    await until(begun)

    await sync_to_async(actions.cancel)(id_, by=alice)

    assert (await ended(id_, timeout_s=10)).status == "cancelled"
