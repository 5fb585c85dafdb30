"""The ways out of a box on this machine, from the side that accepts."""

import asyncio
import json
import resource
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from structlog.testing import capture_logs

from agents.sandbox.base import BoxSpec
from agents.sandbox.host.gateway_door import LONG_AT_ONCE, MOST_LINE_BYTES, SHORT_LINE_BYTES, GatewayDoor
from agents.sandbox.local.doors import Doors


@contextmanager
def no_number_left() -> Iterator[None]:
    """This process may open nothing more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_a_door_opens_again_once_its_machine_has_numbers_left(tmp_path: Path) -> None:
    """Programs of many boxes at many doors take all that a process may have open."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readline())
        writer.close()

    inside, outside = tmp_path / "inside", tmp_path / "outside"
    answering = await asyncio.start_unix_server(answer, str(outside))
    listener, program = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    listener.bind(str(inside))
    listener.listen()
    doors = Doors(BoxSpec("box", doors={"gateway": outside}), [listener.detach()])
    try:
        with capture_logs() as lines, no_number_left():
            program.connect(str(inside))
            async with asyncio.timeout(10):
                while not lines:
                    await asyncio.sleep(0.01)
        reader, writer = await asyncio.open_unix_connection(sock=program)
        writer.write(b"hello\n")

        async with asyncio.timeout(10):
            assert await reader.readline() == b"hello\n"
        writer.close()
    finally:
        doors.close()
        answering.close()


async def test_of_what_a_box_says_at_once_no_more_is_held_than_a_few_long_lines(tmp_path: Path) -> None:
    asked: list[int] = []
    may_go_on = asyncio.Event()

    async def answer(said: dict[str, Any]) -> dict[str, Any]:
        asked.append(said["id"])
        if said.get("long"):
            await may_go_on.wait()
        return {"id": said["id"]}

    door = GatewayDoor(tmp_path / "gateway.sock")
    await door.open()

    async def say(number: int, *, size: int) -> dict[str, Any]:
        reader, writer = await asyncio.open_unix_connection(str(door.path))
        long = {"long": "x" * size} if size else {}
        writer.write(json.dumps({"id": number, "token": token, **long}).encode() + b"\n")
        found: dict[str, Any] = json.loads(await reader.readline())
        writer.close()
        return found

    try:
        async with door.answered_by(answer) as token, asyncio.timeout(20):
            long = [asyncio.create_task(say(number, size=2 * SHORT_LINE_BYTES)) for number in range(LONG_AT_ONCE + 6)]
            while len(asked) < LONG_AT_ONCE:
                await asyncio.sleep(0.01)
            # Each of these has its answer after the host has heard all that the others could say until then.
            short = [await say(number, size=0) for number in range(100, 140)]
            held = [number for number in asked if number < 100]
            may_go_on.set()
            answered = await asyncio.gather(*long)
            too_long = await say(200, size=MOST_LINE_BYTES)
    finally:
        await door.close()

    assert [one["id"] for one in short] == list(range(100, 140))
    assert len(held) == LONG_AT_ONCE
    assert [one["id"] for one in answered] == list(range(LONG_AT_ONCE + 6))
    assert too_long["error"]["message"] == "A line has at most 8 MB."
