"""A run begins while its claim is on its way to the disk, and is stored after it."""

import asyncio
import uuid
from typing import Any

from agents.engine.context import Context
from agents.engine.errors import LeaseLost
from agents.runtime.driver import Driver, Tools
from agents.runtime.leases import Claim
from agents.runtime.outbox import Outbox

RUN = uuid.uuid4()
CLAIM = Claim(
    id=RUN,
    user_id=None,
    conversation_id=None,
    epoch=1,
    leased_by="runner-1",
    pipeline="noting",
    mode="",
    question="q",
    input={},
    crashes=0,
    suspicion=0,
    on_finish="",
    lost_by="",
    was_status="pending",
    cancel_requested=False,
    woken=False,
    effects_root=RUN,
    waited_s=0.0,
)


class Process:
    """What a driver has of its runner: here, the outboxes that are to be stored, and a program that notes something."""

    def __init__(self) -> None:
        self.woken: list[Outbox] = []
        self.noted = asyncio.Event()
        self.given_up = False

    def driver(self) -> Driver:
        return Driver(
            CLAIM,
            Tools(
                models=None,  # type: ignore[arg-type]
                programs={"noting": self.program},
                connection=self.connection,
                wake_writer=lambda outbox, at_once: self.woken.append(outbox),
                finished=self.finished,
            ),
        )

    async def program(self, context: Context, turn: Any) -> None:
        await context.note("here", lambda: 1)
        self.noted.set()
        await context.run.journal.committed()

    def connection(self) -> Any:
        self.given_up = True
        raise LeaseLost("no database here")

    async def finished(self, task: str, execution_id: uuid.UUID) -> None:
        raise AssertionError("it is not over")


async def test_a_run_begins_before_its_claim_is_there_to_stay_and_is_stored_after_it() -> None:
    process = Process()
    driver = process.driver()
    driving = asyncio.create_task(driver.drive())
    await process.noted.wait()
    for _ in range(5):
        await asyncio.sleep(0)
    assert process.woken == []

    driver.claimed()

    assert [outbox.execution_id for outbox in process.woken] == [RUN]
    driver.lose()
    await asyncio.gather(driving, return_exceptions=True)


async def test_of_a_run_whose_claim_came_to_nothing_nothing_is_stored() -> None:
    process = Process()
    driver = process.driver()
    driving = asyncio.create_task(driver.drive())
    await process.noted.wait()

    driver.lose()

    await asyncio.gather(driving, return_exceptions=True)
    assert process.woken == []


async def test_nor_is_it_given_up_by_its_driver_which_cannot_know_whose_it_is_by_now() -> None:
    process = Process()
    driver = process.driver()
    driving = asyncio.create_task(driver.drive())
    await process.noted.wait()

    driver.lose()

    await asyncio.gather(driving, return_exceptions=True)
    assert not process.given_up


async def test_nor_does_it_begin_where_that_is_known_before() -> None:
    process = Process()
    driver = process.driver()
    driver.lose()

    await asyncio.gather(driver.drive(), return_exceptions=True)

    assert (process.woken, process.noted.is_set()) == ([], False)
