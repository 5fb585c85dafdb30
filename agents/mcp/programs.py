"""A server that is a program: run in a box of its own for each person, and spoken to by lines of JSON (stdio).

The box has no network. What the program is made of was installed by an administrator (`manage.py mcp_install`) and is
seen read-only. Imports mcp: open this file late.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final, Protocol

import anyio
import mcp_types
from mcp.shared.message import SessionMessage

from agents.mcp.folders import program_env, program_words
from agents.mcp.values import ServerConfig
from agents.sandbox.base import Box, Command, SandboxError
from agents.sandbox.host.client import Hold, HostedBox
from hyperagent.lib.text import clean_text

LINE_BYTES: Final = 16 << 20
START_S: Final = 20.0
ENDS_S: Final = 1.0
LOOK_EVERY_S: Final = 0.05
KEPT_CHARS: Final = 2_000
DAY_S: Final = 86_400.0
HELD_AS: Final = "mcp"
_SHIM: Final = (Path(__file__).parent / "shim.py").read_text()


def with_said(ours: str, said: str) -> str:
    """A sentence of ours, and what a stranger said besides."""
    return f"{ours.rstrip('.')}: {said}" if said else ours


class ProgramEnded(SandboxError):
    """`ours`: the sentence without what the program `said`, which is a stranger's."""

    def __init__(self, ours: str, said: str) -> None:
        super().__init__(with_said(ours, said))
        self.ours = ours
        self.said = said


class OpensBoxes(Protocol):
    async def __call__(self, config: ServerConfig) -> HostedBox:
        """The box for this server and this person. Raises SandboxError."""


@asynccontextmanager
async def program(config: ServerConfig, open_box: OpensBoxes) -> AsyncIterator[Any]:
    """A transport of the mcp library. Raises SandboxError where the program cannot be run, with what it said."""
    box = await open_box(config)
    said = _Said()
    argv = ["python3", "-c", _SHIM, *program_words(config)]
    started = await box.start(Command(argv, env={**program_env(config), **config.env}, wall_s=DAY_S), heard=said.hear)
    try:
        port = await said.port(lambda: box.running(started))
        reader, writer = await box.connect(port)
        owed = _Owed(box)
        try:
            async with _streams(reader, writer, owed) as streams:
                yield streams
        except Exception as error:
            if await _ended(box, started):
                raise ProgramEnded(f"The program of '{config.name}' ended.", said.complaint) from error
            raise
        finally:
            writer.close()
            await owed.nothing_more()
    finally:
        with suppress(SandboxError):
            await box.stop(started)


async def _ended(box: Box, started: str) -> bool:
    """Whether it is gone, or is in a moment: its output ends before it does."""
    with suppress(SandboxError, TimeoutError):
        async with asyncio.timeout(ENDS_S):
            while await box.running(started):
                await asyncio.sleep(LOOK_EVERY_S)
        return True
    return not box.alive


class _Said:
    """The first line that the shim prints is its port; what the program complains of is kept for people."""

    def __init__(self) -> None:
        self._out = ""
        self._errors = ""
        self._told = asyncio.Event()

    @property
    def complaint(self) -> str:
        return clean_text(self._errors).strip()[-KEPT_CHARS:]

    def hear(self, stream: str, text: str) -> None:
        if stream == "stdout":
            self._out += text
            if "\n" in self._out:
                self._told.set()
        else:
            self._errors = (self._errors + text)[-KEPT_CHARS:]

    async def port(self, runs: Any) -> int:
        async with asyncio.timeout(START_S):
            while True:
                with suppress(TimeoutError):
                    async with asyncio.timeout(1):
                        await self._told.wait()
                    return int(self._out.split("\n", 1)[0])
                if not await runs():
                    raise ProgramEnded("The program cannot be run.", self.complaint or "it ended at once")


class _Owed:
    """The answers that the program owes. While there are any, its box is held."""

    def __init__(self, box: HostedBox) -> None:
        self._box = box
        self._ids: set[Any] = set()
        self._hold: Hold | None = None

    async def say(self, message: Any) -> None:
        """Before it is sent. Raises SandboxError where the box is gone."""
        if isinstance(message, mcp_types.JSONRPCRequest):
            self._ids.add(message.id)
            if self._hold is None:
                self._hold = await self._box.hold(HELD_AS)
        elif isinstance(message, mcp_types.JSONRPCNotification) and message.method == "notifications/cancelled":
            await self._settle((message.params or {}).get("requestId"))

    async def hear(self, message: Any) -> None:
        if isinstance(message, mcp_types.JSONRPCResponse | mcp_types.JSONRPCError):
            await self._settle(message.id)

    async def nothing_more(self) -> None:
        self._ids.clear()
        await self._settle(None)

    async def _settle(self, id_: Any) -> None:
        self._ids.discard(id_)
        if not self._ids and self._hold is not None:
            hold, self._hold = self._hold, None
            await hold.let_go()


@asynccontextmanager
async def _streams(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, owed: _Owed) -> AsyncIterator[Any]:
    """Lines of JSON as messages, both ways. A line that is no message is an error that the session tells."""
    to_session, from_program = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_program, from_session = anyio.create_memory_object_stream[SessionMessage](0)

    async def read() -> None:
        async with to_session:
            async for line in _lines(reader):
                message = _parsed(line)
                with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                    await to_session.send(message)
                if isinstance(message, SessionMessage):
                    await owed.hear(message.message)
        # Else the session would stay, and wait for answers that nobody gives.
        raise SandboxError("The program does not speak any more.")

    async def write() -> None:
        async with from_session:
            async for message in from_session:
                await owed.say(message.message)
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                try:
                    writer.write(f"{text}\n".encode())
                    await writer.drain()
                except OSError:
                    await to_session.aclose()
                    return

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        tasks.start_soon(write)
        try:
            yield from_program, to_program
        finally:
            from_program.close()
            to_program.close()
            tasks.cancel_scope.cancel()


async def _lines(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Ends with the program, or with a line that is longer than what is read."""
    kept = bytearray()
    while len(kept) <= LINE_BYTES:
        try:
            piece = await reader.read(65_536)
        except OSError:
            return
        if not piece:
            return
        kept += piece
        if b"\n" in piece:
            *whole, rest = bytes(kept).split(b"\n")
            kept = bytearray(rest)
            for line in whole:
                if line.strip():
                    yield line


def _parsed(line: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error
