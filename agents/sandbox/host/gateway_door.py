"""The door "gateway" of a box: programs inside write one JSON object a line, and read one for each, with its "id".

Each line carries the token of the run that the program belongs to; whoever follows that run answers it. Decides
nothing: what may be done is decided where the answer is made.
"""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

from agents.sandbox.host.address import short_path

TOKEN_NAME: Final = "HYPERAGENT_TOKEN"  # noqa: S105 (its name)
MOST_LINE_BYTES: Final = 8 << 20
MOST_CONNECTIONS: Final = 64
SHORT_LINE_BYTES: Final = 64 << 10
LONG_AT_ONCE: Final = 2
"""So many lines that are longer than that are read and answered at once; the others wait in their box. Else a program
could fill this process, which holds the boxes of others too, with what it says."""
_AT_ONCE: Final = 16

Asking = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]

NO_RUN: Final = "This program's run is over, or nobody answers it: nothing can be called from here."
NO_OBJECT: Final = "Each line has to be a JSON object with an id and the token of its run."
TOO_LONG: Final = f"A line has at most {MOST_LINE_BYTES >> 20} MB."


class _TooLong(Exception):
    """A line of more than MOST_LINE_BYTES."""


class GatewayDoor:
    """One for each box. Connections are many; lines of one connection are answered as their answers come."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._askings: dict[str, Asking] = {}
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._long = asyncio.Semaphore(LONG_AT_ONCE)

    async def open(self) -> None:
        with short_path(self.path) as path:
            self._server = await asyncio.start_unix_server(self._serve, path, limit=SHORT_LINE_BYTES)
        self.path.chmod(0o600)

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for connection in tuple(self._connections):
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        with suppress(OSError):
            self.path.unlink()

    @asynccontextmanager
    async def answered_by(self, asking: Asking) -> AsyncIterator[str]:
        """The token of a run whose lines this answers, while the run lasts."""
        token = secrets.token_urlsafe(24)
        self._askings[token] = asking
        try:
            yield token
        finally:
            del self._askings[token]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if len(self._connections) >= MOST_CONNECTIONS:
            writer.close()
            return
        self._connections.add(task)
        try:
            await self._lines(reader, writer)
        except (OSError, asyncio.CancelledError):
            # Cancelled when the box closes; nobody waits for this task.
            return
        finally:
            self._connections.discard(task)
            writer.close()

    async def _lines(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        room = asyncio.Semaphore(_AT_ONCE)
        lines: set[asyncio.Task[None]] = set()
        try:
            while True:
                await room.acquire()
                try:
                    line, is_long = await self._line(reader)
                except _TooLong:
                    await _write(writer, refusal(None, TOO_LONG))
                    return
                except asyncio.IncompleteReadError:
                    break
                task = asyncio.ensure_future(self._answer(line, writer))
                lines.add(task)
                task.add_done_callback(lines.discard)
                task.add_done_callback(lambda _: room.release())
                if is_long:
                    task.add_done_callback(lambda _: self._long.release())
            await asyncio.gather(*lines, return_exceptions=True)
        finally:
            for task in lines:
                task.cancel()

    async def _line(self, reader: asyncio.StreamReader) -> tuple[bytes, bool]:
        """The next one, and whether it is long: then it holds a place among those. Raises IncompleteReadError at the
        end, _TooLong."""
        try:
            return await reader.readuntil(), False
        except asyncio.LimitOverrunError:
            await self._long.acquire()
        try:
            return await _long_line(reader), True
        except BaseException:
            self._long.release()
            raise

    async def _answer(self, line: bytes, writer: asyncio.StreamWriter) -> None:
        said = object_of(line)
        if said is None:
            await _write(writer, refusal(None, NO_OBJECT))
            return
        asking = self._askings.get(str(said.pop("token", "")))
        answer = refusal(said.get("id"), NO_RUN) if asking is None else await asking(said)
        await _write(writer, answer)


async def _long_line(reader: asyncio.StreamReader) -> bytes:
    """One that is too long is heard to its end, so that whoever says it hears why; but not for ever."""
    line, size, part = bytearray(), 0, b""
    while not part.endswith(b"\n"):
        try:
            part = await reader.readuntil()
        except asyncio.LimitOverrunError as more:
            part = await reader.readexactly(more.consumed)
        size += len(part)
        if size <= MOST_LINE_BYTES:
            line += part
        elif size > 2 * MOST_LINE_BYTES:
            break
    if size > MOST_LINE_BYTES:
        raise _TooLong
    return bytes(line)


def object_of(line: bytes) -> dict[str, Any] | None:
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return said if isinstance(said, dict) else None


def refusal(id_: Any, message: str) -> dict[str, Any]:
    return {"id": id_, "error": {"code": "refused", "message": message}}


async def _write(writer: asyncio.StreamWriter, answer: dict[str, Any]) -> None:
    with suppress(OSError):
        writer.write(json.dumps(answer).encode() + b"\n")
        await writer.drain()
