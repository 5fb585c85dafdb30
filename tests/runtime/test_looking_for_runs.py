"""When a runner looks for runs: when it is told of one, where one may wait for room, and not after each that ends."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.db import transaction

from agents import actions
from agents.runtime import leases
from agents.runtime.context import AgentContext
from agents.runtime.driver import Driver
from agents.runtime.runner import Runner
from tests.runtime.driving import Runners, ended, start, until
from tests.runtime.test_waiting import NO_MODEL, PROGRAMS, answer, request_of, waiting

pytestmark = [pytest.mark.spec("B1"), pytest.mark.django_db(transaction=True)]


@pytest.fixture
def claimed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many runs each claim found."""
    counts: list[int] = []
    real: Callable[..., Awaitable[list[leases.Claim]]] = leases.claim

    async def claim(*args: Any, **named: Any) -> list[leases.Claim]:
        found = await real(*args, **named)
        counts.append(len(found))
        return found

    monkeypatch.setattr(leases, "claim", claim)
    return counts


@pytest.fixture
def never_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The regular look is the safety net, and would find what is missed here."""

    async def look(*args: Any, **named: Any) -> leases.Found:
        return leases.Found(freed=0, is_any_waiting=False)

    monkeypatch.setattr(leases, "look", look)


async def test_a_runner_with_room_does_not_look_for_another_run_after_each_that_ends(
    alice: Any, make_runner: Runners, claimed: list[int], never_looks: None
) -> None:
    async def answers(context: AgentContext, turn: dict[str, Any]) -> dict[str, Any]:
        return {"answer": "done", "sources": []}

    await make_runner(NO_MODEL, extra={"answers": answers})

    for _ in range(5):
        await ended(await start(alice, "q", pipeline="answers"))

    assert sum(claimed) == 5
    assert claimed.count(0) <= 1, "as it begins to listen, it looks once"


async def test_one_without_room_goes_on_with_those_that_came_meanwhile(
    alice: Any, make_runner: Runners, never_looks: None
) -> None:
    all_are_here = asyncio.Event()

    async def answers(context: AgentContext, turn: dict[str, Any]) -> dict[str, Any]:
        await all_are_here.wait()
        return {"answer": "done", "sources": []}

    await make_runner(NO_MODEL, concurrency=1, extra={"answers": answers})

    ids = [await start(alice, "q", pipeline="answers") for _ in range(4)]
    all_are_here.set()

    assert [(await ended(id_)).status for id_ in ids] == ["completed"] * 4


async def test_one_that_got_room_while_it_claimed_goes_on_claiming(
    alice: Any, make_runner: Runners, never_looks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has one place left and takes one of two, and meanwhile the first run ends."""
    first_may_end = asyncio.Event()
    real = leases.claim

    async def answers(context: AgentContext, turn: dict[str, Any]) -> dict[str, Any]:
        if turn["question"] == "first":
            await first_may_end.wait()
        return {"answer": "done", "sources": []}

    async def claim(*args: Any, **named: Any) -> list[leases.Claim]:
        found = await real(*args, **named)
        if first in runner.driving and found:
            first_may_end.set()
            while first in runner.driving:
                await asyncio.sleep(0.01)
        return found

    runner = await make_runner(NO_MODEL, concurrency=2, extra={"answers": answers})
    first = await start(alice, "first", pipeline="answers")
    await until(lambda: _drives(runner, first))
    monkeypatch.setattr(leases, "claim", claim)

    ids = await start_together(alice, "second", "third")

    assert [(await ended(id_)).status for id_ in ids] == ["completed"] * 2


@sync_to_async
def start_together(user: Any, *questions: str) -> list[UUID]:
    with transaction.atomic():
        return [actions.start(user=user, conversation_id=None, question=q, pipeline="answers").id for q in questions]


async def _drives(runner: Runner, id_: UUID) -> bool:
    return id_ in runner.driving


async def test_a_run_that_is_answered_before_its_driver_is_gone_is_gone_on_with(
    alice: Any, make_runner: Runners, never_looks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who is told of the answer still has the run, which waits already."""
    is_answered, is_told = asyncio.Event(), asyncio.Event()
    real_drive, real_look = Driver.drive, Runner._look

    async def drive(driver: Driver) -> bool:
        is_over = await real_drive(driver)
        await is_told.wait()
        return is_over

    async def look(runner: Runner) -> None:
        was_answered = is_answered.is_set()
        await real_look(runner)
        if was_answered:
            is_told.set()

    monkeypatch.setattr(Driver, "drive", drive)
    monkeypatch.setattr(Runner, "_look", look)
    await make_runner(NO_MODEL, extra=PROGRAMS)
    id_ = await start(alice, "May I?", pipeline="asks")
    await waiting(id_)
    await answer(await request_of(id_), alice)
    is_answered.set()

    assert (await ended(id_)).status == "completed"
