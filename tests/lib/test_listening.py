"""Whoever listens hears what is announced, over one connection, and again after that was cut off."""

import asyncio
import gc
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest

from hyperagent.lib.announcing import client, publish
from hyperagent.lib.listening import _Ear, listening


class Ears:
    def __init__(self) -> None:
        self.heard: list[Any] = []
        self._came = asyncio.Event()

    async def hear(self, message: dict[str, Any]) -> None:
        self.heard.append(message["n"])
        self._came.set()

    async def have(self, number: int) -> None:
        async with asyncio.timeout(10):
            while number not in self.heard:
                self._came.clear()
                await self._came.wait()


@pytest.fixture
def group() -> str:
    return f"conversation.{uuid4()}"


@pytest.fixture(autouse=True)
async def _nothing_is_left() -> AsyncIterator[None]:
    yield
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


async def say(group: str, *numbers: int) -> None:
    for number in numbers:
        assert await asyncio.to_thread(publish, group, {"type": "x", "n": number})


async def test_each_hears_its_own_group_in_order(group: str) -> None:
    one, other = Ears(), Ears()
    async with listening(group, one.hear), listening(f"{group}.other", other.hear):
        await say(group, *range(50))
        await say(f"{group}.other", 7)
        await one.have(49)
        await other.have(7)

    assert (one.heard, other.heard) == (list(range(50)), [7])


@pytest.mark.slow
async def test_of_a_group_that_was_left_nothing_is_held(group: str) -> None:
    def ears() -> int:
        return sum(type(one) is _Ear for one in gc.get_objects())

    gc.collect()
    gc.disable()
    try:
        async with listening(group, Ears().hear):
            assert ears() == 1
        await asyncio.sleep(0)
        assert ears() == 0
    finally:
        gc.enable()


async def test_a_group_that_was_left_is_heard_again_by_who_comes_back(group: str) -> None:
    first, second = Ears(), Ears()
    async with listening(group, first.hear):
        await say(group, 1)
        await first.have(1)
    await say(group, 2)
    async with listening(group, second.hear):
        await say(group, 3)
        await second.have(3)

    assert (first.heard, second.heard) == ([1], [3])


async def test_after_the_connection_was_cut_off_all_groups_are_heard_again(
    group: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("hyperagent.lib.listening.AGAIN_AFTER_S", 0.01)
    one, other = Ears(), Ears()
    async with listening(group, one.hear), listening(f"{group}.other", other.hear):
        await asyncio.to_thread(client().client_kill_filter, _type="pubsub")

        async def heard(ears: Ears, where: str) -> None:
            """What is said before it listens again is lost, and looked up by whoever cares."""
            async with asyncio.timeout(10):
                while not ears.heard:
                    await say(where, 1)
                    await asyncio.sleep(0.01)

        await heard(one, group)
        await heard(other, f"{group}.other")

    assert "news come late" in caplog.text
    assert "Traceback" not in caplog.text


async def test_what_cannot_be_read_makes_nobody_deaf(group: str) -> None:
    ears = Ears()
    async with listening(group, ears.hear):
        await asyncio.to_thread(client().publish, f"hyperagent__group__{group}", b"\xc1")
        await say(group, 1)
        await ears.have(1)

    assert ears.heard == [1]
