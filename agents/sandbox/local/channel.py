"""The holder's end of the wire to a keeper, on the loop."""

import asyncio
import contextlib
import socket
from collections.abc import Mapping
from typing import Any

from agents.sandbox.local.inside import wire


class Channel:
    """One reader, several writers. Raises OSError where the other end is gone."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self._socket = sock
        self._turn = asyncio.Lock()

    async def send(self, order: Mapping[str, Any]) -> None:
        """Raises ValueError for one that is too long to be sent."""
        text = wire.packed_order(dict(order))
        if len(text) > wire.MOST_BYTES:
            raise ValueError(f"{len(text):,} bytes, and {wire.MOST_BYTES:,} can be sent")
        async with self._turn:
            await asyncio.get_running_loop().sock_sendall(self._socket, text)

    async def receive(self) -> tuple[wire.Told, list[int]] | None:
        """None at the end, and for what no keeper says."""
        while True:
            try:
                heard = wire.receive(self._socket)
                return None if heard is None else (wire.told(heard[0]), heard[1])
            except BlockingIOError:
                await self._readable()
            except (OSError, ValueError):
                return None

    async def _readable(self) -> None:
        loop = asyncio.get_running_loop()
        readable: asyncio.Future[None] = loop.create_future()
        loop.add_reader(self._socket, _set, readable)
        try:
            await readable
        finally:
            loop.remove_reader(self._socket)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def _set(readable: "asyncio.Future[None]") -> None:
    if not readable.done():
        readable.set_result(None)
