"""A computer elsewhere whose line is silent: no reset, and nothing comes."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import pytest

from agents.sandbox.base import HOME, BoxGone, BoxSpec, Command, Stream
from agents.sandbox.remote import box as remote
from agents.sandbox.remote.box import RemoteBox


class SilentMachine:
    """Which no longer says anything to what it is asked."""

    destroyed = 0

    async def execute(
        self, argv: Sequence[str], *, env: Mapping[str, str], told: Callable[[Stream, bytes], None]
    ) -> int:
        await self._nothing()

    async def put(self, path: str, content: bytes) -> None:
        await self._nothing()

    async def get(self, path: str, *, max_bytes: int) -> bytes:
        await self._nothing()

    async def relay(self, argv: Sequence[str]) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        await self._nothing()

    async def destroy(self) -> None:
        self.destroyed += 1

    async def _nothing(self) -> NoReturn:
        await asyncio.Event().wait()
        raise AssertionError


@pytest.mark.parametrize(
    "asks",
    [
        lambda box: box.files(),
        lambda box: box.read(f"{HOME}/a", max_bytes=10),
        lambda box: box.write(f"{HOME}/a", b"x"),
        lambda box: box.pack([HOME], max_bytes=10),
        lambda box: box.unpack(b"x"),
        lambda box: box.connect(80),
        lambda box: box.run(Command(["true"], wall_s=0.05)),
    ],
    ids=["files", "read", "write", "pack", "unpack", "connect", "run"],
)
async def test_a_box_that_says_nothing_is_gone_and_ended(asks: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("_JOB_S", "_STOPPING_S"):
        monkeypatch.setattr(remote, limit, 0.05)
    machine = SilentMachine()
    box = RemoteBox(BoxSpec(key="k"), machine)

    async with asyncio.timeout(20):
        with pytest.raises(BoxGone):
            await asks(box)
    await box.close()
    await box.close()

    assert not box.alive
    assert machine.destroyed == 1


async def test_who_gives_up_a_program_of_a_silent_box_is_told_so_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(remote, "_STOPPING_S", 0.05)
    box = RemoteBox(BoxSpec(key="k"), SilentMachine())
    running = asyncio.ensure_future(box.run(Command(["true"])))
    await asyncio.sleep(0)

    running.cancel()

    with pytest.raises(asyncio.CancelledError):
        await running
    assert not box.alive
