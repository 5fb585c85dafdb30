"""The ways out of a box: what programs reach at a door or a relay is accepted here, outside, and led to its socket.

The listening sockets were made inside by the keeper, so nothing of the host's folders is seen there, and whoever
answers at a door sees the product connecting, never the box's own number.
"""

import asyncio
import contextlib
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import structlog

from agents.sandbox.base import BoxSpec

log = structlog.get_logger(__name__)

# Of one door at once; more wait in the box.
_CONNECTIONS: Final = 32
_PIECE: Final = 1 << 16
_PAUSE_S: Final = 0.5


class Doors:
    """`listeners`: of the doors and then of the relays, in the order of the spec."""

    def __init__(self, spec: BoxSpec, listeners: Sequence[int]) -> None:
        paths = [*spec.doors.values(), *(spec.doors[name] for name in spec.relays.values())]
        self._tasks = [
            asyncio.create_task(_accept(socket.socket(fileno=fd), path), name=f"door {path}")
            for fd, path in zip(listeners, paths, strict=True)
        ]

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()


async def _accept(listener: socket.socket, path: Path) -> None:
    listener.setblocking(False)
    room = asyncio.Semaphore(_CONNECTIONS)
    loop = asyncio.get_running_loop()
    with listener:
        async with asyncio.TaskGroup() as group:
            while True:
                await room.acquire()
                try:
                    connection, _ = await loop.sock_accept(listener)
                except OSError as error:
                    # This process has as much open as it may. Whoever is at the door waits; so does the door.
                    log.warning("sandbox.door_busy", door=str(path), why=str(error))
                    room.release()
                    await asyncio.sleep(_PAUSE_S)
                    continue
                group.create_task(_lead(connection, path)).add_done_callback(lambda _: room.release())


async def _lead(connection: socket.socket, path: Path) -> None:
    """Until one side is at its end. A door behind which nobody is shuts at once."""
    inner_reader, inner_writer = await asyncio.open_connection(sock=connection)
    try:
        with contextlib.suppress(OSError):
            outer_reader, outer_writer = await asyncio.open_unix_connection(str(path))
            try:
                await asyncio.gather(_pass(inner_reader, outer_writer), _pass(outer_reader, inner_writer))
            finally:
                outer_writer.transport.abort()
    finally:
        inner_writer.transport.abort()


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(_PIECE):
        writer.write(piece)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()
