"""A provider's limit, shared by the connections of several processes."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable

import psycopg
import pytest

from hyperagent.lib.llm.slots import ProcessSlots, Slots, SlotsTaken
from hyperagent.lib.llm.slots_postgres import PostgresSlots

Workers = Callable[[], PostgresSlots]


async def _connect() -> psycopg.AsyncConnection:
    return await psycopg.AsyncConnection.connect(os.environ["DATABASE_URL"], autocommit=True)


@pytest.fixture
async def worker() -> AsyncIterator[Workers]:
    """Each call is one more process: slots over a connection of its own."""
    made: list[PostgresSlots] = []

    def make() -> PostgresSlots:
        made.append(PostgresSlots(_connect))
        return made[-1]

    yield make
    for slots in made:
        await slots.aclose()


class Crowd:
    """Counts how many are inside at once."""

    def __init__(self) -> None:
        self.inside = 0
        self.most = 0
        self.entered = 0

    async def pass_through(self, slots: Slots, *, limit: int, provider: str = "mine") -> None:
        async with slots.hold(provider, limit=limit, timeout_s=30):
            self.inside += 1
            self.entered += 1
            self.most = max(self.most, self.inside)
            for _ in range(20):
                await asyncio.sleep(0)
            self.inside -= 1


async def test_two_workers_together_never_hold_more_than_the_limit(worker: Workers) -> None:
    crowd, first, second = Crowd(), worker(), worker()

    await asyncio.gather(*(crowd.pass_through(slots, limit=3) for _ in range(10) for slots in (first, second)))

    assert (crowd.entered, crowd.most) == (20, 3)


async def test_one_process_keeps_to_its_limit_without_postgres() -> None:
    crowd, slots = Crowd(), ProcessSlots()

    await asyncio.gather(*(crowd.pass_through(slots, limit=2) for _ in range(10)))

    assert (crowd.entered, crowd.most) == (10, 2)


async def test_providers_do_not_wait_for_each_other(worker: Workers) -> None:
    first, second = worker(), worker()

    async with first.hold("a", limit=1, timeout_s=5), second.hold("b", limit=1, timeout_s=5):
        with pytest.raises(SlotsTaken):
            async with second.hold("a", limit=1, timeout_s=0.1):
                pass


async def test_a_slot_comes_free_when_its_process_dies(worker: Workers) -> None:
    first, second = worker(), worker()
    holding = first.hold("mine", limit=1, timeout_s=5)
    await holding.__aenter__()

    await first.aclose()  # as the server sees a dead process: its connection ends

    async with second.hold("mine", limit=1, timeout_s=10):
        pass
    await holding.__aexit__(None, None, None)


async def test_a_waiter_that_is_cancelled_leaves_nothing_behind(worker: Workers) -> None:
    first, second = worker(), worker()

    for turns in range(60):  # cancelled at every point of its way: before the lock, in the query, with the slot in hand
        waiter = asyncio.create_task(Crowd().pass_through(second, limit=1))
        for _ in range(turns):
            await asyncio.sleep(0)
        waiter.cancel()
        await asyncio.gather(waiter, return_exceptions=True)

    async with first.hold("mine", limit=1, timeout_s=5):
        pass


async def test_a_cancelled_holder_gives_its_slot_back(worker: Workers) -> None:
    first, second = worker(), worker()
    held = asyncio.Event()

    async def hold() -> None:
        async with first.hold("mine", limit=1, timeout_s=5):
            held.set()
            await asyncio.Event().wait()

    holder = asyncio.create_task(hold())
    await asyncio.wait_for(held.wait(), 10)
    holder.cancel()
    await asyncio.gather(holder, return_exceptions=True)

    async with second.hold("mine", limit=1, timeout_s=5):
        pass


async def test_a_lost_connection_is_made_anew(worker: Workers) -> None:
    slots = worker()
    async with slots.hold("mine", limit=1, timeout_s=5), await _connect() as other:
        await other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND pid <> pg_backend_pid()"
        )

    async with slots.hold("mine", limit=1, timeout_s=10):
        pass
