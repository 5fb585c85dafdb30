"""The way from whoever steers a browser to the browser in its box, on this machine. Knows none of what they say."""

import asyncio
import secrets
from collections.abc import Coroutine
from typing import Any, Final

from agents.browser.chromium import DEBUGGING_PORT
from agents.sandbox.base import Box, SandboxError

MOST_MESSAGE_BYTES: Final = 32 << 20
_HEAD_S: Final = 10.0
_PIECE_BYTES: Final = 1 << 16


class Bridge:
    """A listener on this machine's loopback that leads to one socket (`path`) of the browser: whoever knows the secret
    in `address`, once. What the browser says comes from pages: a message that is too large ends the connection."""

    def __init__(self, box: Box, path: str) -> None:
        self._box = box
        self._path = path
        self._secret = secrets.token_urlsafe(24)
        self._server: asyncio.Server | None = None
        self._taken: asyncio.Task[None] | None = None
        self.address = ""

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.address = f"ws://127.0.0.1:{port}/{self._secret}"

    async def close(self) -> None:
        self._stop_listening()
        if self._taken is not None:
            self._taken.cancel()
            await asyncio.gather(self._taken, return_exceptions=True)

    def _stop_listening(self) -> None:
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_HEAD_S):
                head = await reader.readuntil(b"\r\n\r\n")
            wanted = f"GET /{self._secret} ".encode()
            if self._taken is not None or not secrets.compare_digest(head[: len(wanted)], wanted):
                return
            self._taken = asyncio.current_task()
            self._stop_listening()
            far_reader, far_writer = await self._box.connect(DEBUGGING_PORT)
            try:
                far_writer.write(f"GET {self._path} ".encode() + head[len(wanted) :])
                await _first_of(_pass(reader, far_writer), pass_messages(far_reader, writer))
            finally:
                far_writer.close()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, SandboxError):
            return
        except asyncio.CancelledError:
            return  # When the bridge closes; nobody waits for this task.
        finally:
            writer.transport.abort()


async def pass_messages(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, most_bytes: int = MOST_MESSAGE_BYTES
) -> None:
    """The answer's head, then messages of a WebSocket (RFC 6455, not masked), to the first that is too large. Raises
    IncompleteReadError at the end."""
    writer.write(await reader.readuntil(b"\r\n\r\n"))
    message_bytes = 0
    while True:
        head = await reader.readexactly(2)
        length = head[1] & 0x7F
        if length >= 126:
            more = await reader.readexactly(2 if length == 126 else 8)
            head, length = head + more, int.from_bytes(more)
        message_bytes += length
        if message_bytes > most_bytes:
            return
        if head[0] & 0x80:
            message_bytes = 0
        writer.write(head)
        while length:
            piece = await reader.readexactly(min(length, _PIECE_BYTES))
            length -= len(piece)
            writer.write(piece)
            await writer.drain()


async def _first_of(*passing: Coroutine[Any, Any, None]) -> None:
    """Ends all when one has ended."""
    tasks = [asyncio.ensure_future(one) for one in passing]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(_PIECE_BYTES):
        writer.write(piece)
        await writer.drain()
