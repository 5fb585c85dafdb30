"""The ways out of a box on this machine, from the side that accepts."""

import asyncio
import resource
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from structlog.testing import capture_logs

from agents.sandbox.base import BoxSpec
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
