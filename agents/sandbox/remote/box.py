"""A box that is a computer elsewhere: the whole of `agents.sandbox.base.Box` over three things that any service offers.

What runs inside is `inside.py`, carried in at the start. It is a program of the box like the others: a hostile one can
fool it about the box itself, and about nothing else, for nothing that comes out is believed beyond its size.
"""

import asyncio
import base64
import codecs
import json
import secrets
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final, Protocol

from agents.sandbox.base import (
    HOME,
    OUTPUTS,
    Box,
    BoxFile,
    BoxGone,
    BoxSpec,
    Command,
    Ending,
    Heard,
    Outcome,
    SandboxError,
    Stream,
)
from agents.sandbox.local.output import Kept
from hyperagent.lib.text import clean_text

INSIDE: Final = Path(__file__).parent / "inside.py"
OWN: Final = "/tmp/.box"  # noqa: S108 (a folder of the box)
PROGRAM: Final = f"{OWN}/inside.py"
ROOTS: Final = (HOME, "/tmp")  # noqa: S108 (folders of the box)
GONE: Final = "this sandbox has ended, and what was in it is gone"
_ANSWER_BYTES: Final = 32 << 20
_LISTED: Final = 100_000
_LATER_S: Final = 30
_STOPPING_S: Final = 15.0
_JOB_S: Final = 60.0
_LEAST_BYTES_PER_S: Final = 500_000
"""Over slower lines what is in a box cannot be had."""


class Machine(Protocol):
    """What a service offers. All of it raises BoxGone where the computer is no more, and SandboxError else."""

    async def execute(
        self, argv: Sequence[str], *, env: Mapping[str, str], told: Callable[[Stream, bytes], None]
    ) -> int:
        """Runs it to its end; its exit code. Whoever gives it up stops listening, nothing more."""

    async def put(self, path: str, content: bytes) -> None: ...

    async def get(self, path: str, *, max_bytes: int) -> bytes: ...

    async def relay(self, argv: Sequence[str]) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """The program's standard output and input."""

    async def destroy(self) -> None: ...


class RemoteBox(Box):
    def __init__(self, spec: BoxSpec, machine: Machine) -> None:
        self.key = spec.key
        self.box_type = spec.box_type
        self._limits = spec.limits
        self._machine = machine
        self._ended = asyncio.Event()
        self._is_destroyed = False
        self._started: dict[str, asyncio.Task[Any]] = {}

    @property
    def alive(self) -> bool:
        return not self._ended.is_set()

    async def prepare(self) -> None:
        """Before anything else."""
        await self._put(PROGRAM, INSIDE.read_bytes())
        await self._ask({"do": "make", "folder": OUTPUTS})

    async def run(self, command: Command, *, heard: Heard | None = None) -> Outcome:
        self._check()
        token = secrets.token_hex(8)
        output = _Output(self._limits.kept_output_bytes, self._limits.most_output_bytes, heard)
        began = time.monotonic()
        program = asyncio.ensure_future(self._program(command, token, output.take, command.wall_s + _LATER_S))
        waits = {program, *map(asyncio.ensure_future, (output.too_much.wait(), self._ended.wait()))}
        try:
            await asyncio.wait(waits, timeout=command.wall_s, return_when=asyncio.FIRST_COMPLETED)
            if program.done() or self._ended.is_set():
                return self._outcome(program, output, time.monotonic() - began)
            too_much = output.too_much.is_set()
            await self._end(token)
        except BaseException:
            if self.alive:
                with suppress(BoxGone):
                    await asyncio.shield(self._end(token))
            raise
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)
        seconds = time.monotonic() - began
        if too_much:
            note = f"It wrote more than {self._limits.most_output_bytes:,} bytes and was stopped."
            return output.outcome(Ending.TOO_MUCH_OUTPUT, None, note=note, seconds=seconds)
        note = f"It was stopped after {command.wall_s:g} seconds."
        return output.outcome(Ending.TIMED_OUT, None, note=note, seconds=seconds)

    async def start(self, command: Command, *, heard: Heard | None = None) -> str:
        self._check()
        token = secrets.token_hex(8)
        output = _Output(1, None, heard)
        self._started[token] = asyncio.ensure_future(self._program(command, token, output.take, 0))
        return token

    async def stop(self, started: str) -> None:
        self._check()
        following = self._started.pop(started, None)
        if following is None:
            return
        await self._end(started)
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)

    async def running(self, started: str) -> bool:
        self._check()
        following = self._started.get(started)
        return following is not None and not following.done()

    async def connect(self, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        async with self._waiting(_JOB_S):
            reader, writer = await self._machine.relay(_argv({"do": "relay", "port": port}))
            try:
                if await reader.read(1) != b"+":
                    raise SandboxError(f"nothing listens at port {port} in the sandbox")
            except BaseException:
                writer.close()
                raise
        return reader, writer

    async def write(self, path: str, content: bytes) -> BoxFile:
        if len(content) > min(self._limits.file_bytes, self._limits.home_bytes):
            raise SandboxError(f"{path!r} has {len(content):,} bytes, more than fits into the sandbox")
        put = f"{OWN}/{secrets.token_hex(8)}"
        await self._put(put, content)
        return _file(await self._ask({"do": "place", "path": path, "put": put, "roots": ROOTS}))

    async def read(self, path: str, *, max_bytes: int) -> bytes:
        return await self._staged({"do": "stage", "path": path, "max_bytes": max_bytes}, max_bytes)

    async def files(self, folder: str = HOME) -> tuple[BoxFile, ...]:
        found = await self._ask({"do": "files", "folder": folder, "most": _LISTED})
        return tuple(map(_file, found))

    async def pack(self, folders: Sequence[str], *, max_bytes: int) -> bytes:
        # A tar is rounded up to whole blocks of its own.
        order = {"do": "pack", "folders": list(folders), "max_bytes": max_bytes}
        return await self._staged(order, max_bytes + (1 << 20))

    async def unpack(self, archive: bytes) -> None:
        put = f"{OWN}/{secrets.token_hex(8)}"
        await self._put(put, archive)
        await self._ask({"do": "unpack", "put": put, "roots": ROOTS})

    async def close(self) -> None:
        """Also one that is gone, as far as was seen: what it is made of may live on."""
        if self._is_destroyed:
            return
        self._ended.set()
        for following in self._started.values():
            following.cancel()
        await asyncio.gather(*self._started.values(), return_exceptions=True)
        await self._machine.destroy()
        self._is_destroyed = True

    # --- inside

    def _check(self) -> None:
        if self._ended.is_set():
            raise BoxGone(GONE)

    @asynccontextmanager
    async def _waiting(self, most_s: float | None) -> AsyncIterator[None]:
        """For the computer, which is given up where it is no more, or says nothing for so long: whoever waited on would
        keep the box's place for ever. Raises BoxGone then."""
        self._check()
        try:
            async with asyncio.timeout(most_s):
                yield
        except (BoxGone, TimeoutError) as error:
            self._ended.set()
            raise BoxGone(GONE) from error

    async def _put(self, path: str, content: bytes) -> None:
        async with self._waiting(_carrying_s(len(content))):
            await self._machine.put(path, content)

    async def _program(self, command: Command, token: str, take: Callable[[Stream, bytes], None], most_s: float) -> int:
        order = {"do": "run", "token": token, "argv": list(command.argv), "env": {}, "cwd": command.cwd}
        async with self._waiting(None):
            return await self._machine.execute(_argv({**order, "most_s": most_s}), env=command.env, told=take)

    async def _ask(self, order: Mapping[str, Any]) -> Any:
        said = bytearray()

        def take(stream: Stream, piece: bytes) -> None:
            if stream == "stdout" and len(said) < _ANSWER_BYTES:
                said.extend(piece)

        async with self._waiting(_JOB_S):
            await self._machine.execute(_argv(order), env={}, told=take)
        try:
            answer = json.loads(said)
        except ValueError:
            raise SandboxError("the sandbox gave no answer: something in it broke its Python") from None
        if not isinstance(answer, dict) or "ok" not in answer:
            refused = answer.get("refused", "") if isinstance(answer, dict) else ""
            raise SandboxError(clean_text(str(refused))[:500] or "the sandbox refused that")
        return answer["ok"]

    async def _staged(self, order: Mapping[str, Any], max_bytes: int) -> bytes:
        to = f"{OWN}/{secrets.token_hex(8)}"
        await self._ask({**order, "to": to})
        async with self._waiting(_carrying_s(max_bytes)):
            content = await self._machine.get(to, max_bytes=max_bytes)
        await self._ask({"do": "drop", "path": to})
        return content

    async def _end(self, token: str) -> None:
        """Ends what runs under this token, and waits until it is gone. Tried again: it may be just beginning."""
        async with self._waiting(_STOPPING_S):
            for _ in range(3):
                if await self._ask({"do": "stop", "token": token}):
                    return
                await asyncio.sleep(0.05)

    def _outcome(self, program: "asyncio.Future[int]", output: "_Output", seconds: float) -> Outcome:
        if program.done() and not program.cancelled():
            error = program.exception()
            if error is None:
                return output.outcome(Ending.EXITED, program.result(), seconds=seconds)
            if not isinstance(error, BoxGone):
                raise error
        return output.outcome(Ending.LOST, None, note=f"{GONE}.".capitalize(), seconds=seconds)


class _Output:
    """Of one program: told as it comes, in whole characters; of each stream a beginning and an end are kept."""

    def __init__(self, kept_bytes: int, most_bytes: int | None, heard: Heard | None) -> None:
        self._kept: dict[Stream, Kept] = {"stdout": Kept(kept_bytes), "stderr": Kept(kept_bytes)}
        decoder = codecs.getincrementaldecoder("utf-8")
        self._decoders = {"stdout": decoder("replace"), "stderr": decoder("replace")}
        self._left = most_bytes
        self._heard = heard
        self.too_much = asyncio.Event()

    def take(self, stream: Stream, piece: bytes) -> None:
        if self._left is not None:
            piece = piece[: max(0, self._left)]
            self._left -= len(piece)
            if self._left <= 0:
                self.too_much.set()
        self._kept[stream].add(piece)
        text = self._decoders[stream].decode(piece)
        if text and self._heard is not None:
            self._heard(stream, clean_text(text))

    def outcome(self, ending: Ending, exit_code: int | None, *, note: str = "", seconds: float) -> Outcome:
        stdout, stderr = self._kept["stdout"].text(), self._kept["stderr"].text()
        return Outcome(ending, exit_code, stdout=stdout, stderr=stderr, note=note, seconds=seconds)


def _carrying_s(size_bytes: int) -> float:
    return _JOB_S + size_bytes / _LEAST_BYTES_PER_S


def _argv(order: Mapping[str, Any]) -> list[str]:
    return ["python3", PROGRAM, base64.b64encode(json.dumps(dict(order)).encode()).decode()]


def _file(value: Any) -> BoxFile:
    path, size_bytes, changed_ns = value
    return BoxFile(str(path), int(size_bytes), int(changed_ns))
