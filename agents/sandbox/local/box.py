"""One living box from outside: asks its keeper, takes what programs say, answers for its doors."""

import asyncio
import contextlib
import json
import math
import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import structlog

from agents.sandbox.base import (
    HOME,
    BoxFile,
    BoxGone,
    BoxSpec,
    Command,
    Ending,
    Heard,
    Outcome,
    SandboxError,
)
from agents.sandbox.local.bubblewrap import Launched
from agents.sandbox.local.channel import Channel
from agents.sandbox.local.doors import Doors
from agents.sandbox.local.inside.wire import Told
from agents.sandbox.local.output import Output

log = structlog.get_logger(__name__)

Order = dict[str, Any]

_GRACE_S: Final = 10.0
_CANCEL_S: Final = 1.0
_DRAIN_S: Final = 0.5
_JOB_S: Final = 60.0
_ANSWER_S: Final = 30.0
_MOST_LISTED_BYTES: Final = 32 << 20

_ENDINGS: Final = frozenset(ending.value for ending in Ending)
NOTES: Final = {
    Ending.TIMED_OUT: "The program was stopped after {wall_s:g} seconds, the most it may take.",
    Ending.OUT_OF_MEMORY: (
        "The program was stopped: with its files in the sandbox it took more than {memory:,} MiB of memory."
    ),
    Ending.TOO_MUCH_OUTPUT: "The program was stopped: it had written more than {output:,} KiB of output.",
    Ending.STOPPED: "The program was stopped.",
    Ending.LOST: "The sandbox ended while the program ran; what was in it is lost.",
}


@dataclass(frozen=True, slots=True)
class _Over:
    ending: Ending
    status: int | None
    seconds: float


class LocalBox:
    """See `agents.sandbox.base.Box`."""

    def __init__(
        self,
        spec: BoxSpec,
        launched: Launched,
        channel: Channel,
        *,
        environment: Mapping[str, str],
        listeners: Sequence[int],
    ) -> None:
        self.key = spec.key
        self.box_type = spec.box_type
        self._limits = spec.limits
        self._launched = launched
        self._channel = channel
        self._environment = environment
        self._next = 0
        self._answers: dict[int, asyncio.Future[tuple[Told, list[int]]]] = {}
        self._over: dict[int, asyncio.Future[_Over]] = {}
        self._started: dict[str, asyncio.Task[Outcome]] = {}
        self._closed = False
        self._listening = asyncio.create_task(self._listen(), name=f"sandbox {spec.key}")
        self._doors = Doors(spec, listeners)

    @property
    def alive(self) -> bool:
        return not self._closed

    # Programs

    async def run(self, command: Command, *, heard: Heard | None = None) -> Outcome:
        number = self._number()
        driving = asyncio.create_task(self._drive(number, command, heard, stays=False))
        try:
            return await asyncio.shield(driving)
        except asyncio.CancelledError:
            await self._end_now(number, driving)
            raise

    async def start(self, command: Command, *, heard: Heard | None = None) -> str:
        number = self._number()
        begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        driving = asyncio.create_task(self._drive(number, command, heard, stays=True, begun=begun))
        either: list[asyncio.Future[Any]] = [begun, driving]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not begun.done():
            await driving  # raises why
        name = str(number)
        self._started[name] = driving
        driving.add_done_callback(lambda _: self._started.pop(name, None))
        return name

    async def stop(self, started: str) -> None:
        driving = self._started.get(started)
        if driving is not None:
            await self._end_now(int(started), driving)

    async def running(self, started: str) -> bool:
        return started in self._started

    async def _drive(
        self,
        number: int,
        command: Command,
        heard: Heard | None,
        *,
        stays: bool,
        begun: asyncio.Future[None] | None = None,
    ) -> Outcome:
        """From the order to its end and that of its output."""
        over: asyncio.Future[_Over] = asyncio.get_running_loop().create_future()
        self._over[number] = over
        output = Output(
            kept_bytes=self._limits.kept_output_bytes,
            most_bytes=self._limits.most_output_bytes,
            heard=heard,
            too_much=lambda: None if stays else self._end_soon(number, Ending.TOO_MUCH_OUTPUT),
        )
        following: list[asyncio.Task[None]] = []
        try:
            out, err = await self._ask(self._order(command, stays=stays), number=number, fds=2)
            if begun is not None:
                begun.set_result(None)
            following = [
                asyncio.create_task(output.follow("stdout", out)),
                asyncio.create_task(output.follow("stderr", err)),
            ]
            ended = await self._ended(over, following, None if stays else command.wall_s)
        finally:
            self._over.pop(number, None)
            for task in following:
                task.cancel()
            await asyncio.gather(*following, return_exceptions=True)
        return self._outcome(command, ended, output)

    async def _ended(
        self, over: "asyncio.Future[_Over]", following: list["asyncio.Task[None]"], wall_s: float | None
    ) -> _Over:
        """The keeper keeps the time. If it does not come back long after, the box is no good any more."""
        until = None if wall_s is None else wall_s + _GRACE_S
        waiting: set[asyncio.Future[Any]] = {over, *following}
        while not over.done():
            done, waiting = await asyncio.wait(waiting, timeout=until, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                await self._give_up("a program's end was not told")
            for task in done:
                if task is not over and (fault := task.exception()) is not None:
                    raise fault
        # Something else in the box may hold the other end of a pipe: what is there is taken, then it is left.
        await asyncio.wait(following, timeout=_DRAIN_S)
        return over.result()

    def _order(self, command: Command, *, stays: bool) -> Order:
        cores = os.cpu_count() or 1
        return {
            "do": "run",
            "argv": list(command.argv),
            "env": {**self._environment, **command.env},
            "cwd": command.cwd,
            "wall_s": None if stays else command.wall_s,
            "cpu_s": None if stays else math.ceil(command.wall_s) * cores + 1,
        }

    def _outcome(self, command: Command, over: _Over, output: Output) -> Outcome:
        note = NOTES.get(over.ending, "").format(
            wall_s=command.wall_s,
            memory=self._limits.memory_bytes >> 20,
            output=self._limits.most_output_bytes >> 10,
        )
        return Outcome(
            ending=over.ending,
            exit_code=over.status,
            stdout=output.kept["stdout"].text(),
            stderr=output.kept["stderr"].text(),
            note=note,
            seconds=over.seconds,
        )

    def _end_soon(self, number: int, why: Ending) -> None:
        """From where nothing can be awaited. The answer is of no interest: its end will be told."""
        task = asyncio.create_task(self._end(number, why))
        task.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def _end(self, number: int, why: Ending) -> None:
        with contextlib.suppress(SandboxError):
            await self._ask({"do": "end", "program": number, "why": why.value})

    async def _end_now(self, number: int, driving: "asyncio.Task[Outcome]") -> None:
        """Gone when this returns, whoever cancels: if the keeper cannot do it in time, with the whole box."""
        self._end_soon(number, Ending.STOPPED)
        done, _ = await asyncio.wait([driving], timeout=_CANCEL_S)
        if not done:
            await self._give_up("a program could not be ended in time")
            await asyncio.wait([driving])
        if not driving.cancelled():
            driving.exception()

    # The inner loopback

    async def connect(self, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        [fd] = await self._ask({"do": "connect", "port": port}, fds=1)
        return await asyncio.open_connection(sock=socket.socket(fileno=fd))

    # Files

    async def write(self, path: str, content: bytes) -> BoxFile:
        facts, _ = await self._job({"job": "write", "path": path}, content)
        return BoxFile(path, facts["size"], facts["changed_ns"])

    async def read(self, path: str, *, max_bytes: int) -> bytes:
        _, content = await self._job({"job": "read", "path": path, "max_bytes": max_bytes}, most_bytes=max_bytes)
        return content

    async def files(self, folder: str = HOME) -> tuple[BoxFile, ...]:
        facts, _ = await self._job({"job": "files", "folder": folder})
        return tuple(BoxFile(path, size, changed_ns) for path, size, changed_ns in facts["files"])

    async def pack(self, folders: Sequence[str], *, max_bytes: int) -> bytes:
        order = {"job": "pack", "folders": list(folders), "max_bytes": max_bytes}
        _, content = await self._job(order, most_bytes=max_bytes)
        return content

    async def unpack(self, archive: bytes) -> None:
        await self._job({"job": "unpack"}, archive)

    async def _job(self, order: Order, content: bytes = b"", *, most_bytes: int = 0) -> tuple[Order, bytes]:
        """A connection of its own for each: what is large goes past the keeper."""
        [fd] = await self._ask({"do": "job", **order}, fds=1)
        reader, writer = await asyncio.open_connection(sock=socket.socket(fileno=fd), limit=_MOST_LISTED_BYTES)
        try:
            async with asyncio.timeout(_JOB_S):
                # A job that refuses does not read what it was sent: its answer counts, not that.
                sending = asyncio.create_task(_send(writer, content))
                facts, taken = await _answer(reader, most_bytes)
                sending.cancel()
        except TimeoutError:
            raise SandboxError(f"the sandbox took more than {_JOB_S:g} seconds for its files; try with fewer") from None
        except (ConnectionError, EOFError, ValueError):
            self._refuse_if_gone()
            raise SandboxError("what takes files out of the sandbox was disturbed from inside; try again") from None
        finally:
            writer.transport.abort()
        if "refused" in facts:
            raise SandboxError(str(facts["refused"]))
        return facts, taken

    # The keeper

    def _number(self) -> int:
        self._next += 1
        return self._next

    def _refuse_if_gone(self) -> None:
        if self._closed:
            raise BoxGone("this sandbox has ended, and what was in it is gone; a new one can be opened")

    async def _ask(self, order: Order, *, number: int | None = None, fds: int = 0) -> list[int]:
        """The files that came with its answer. Raises SandboxError with the keeper's own words."""
        self._refuse_if_gone()
        number = self._number() if number is None else number
        answered: asyncio.Future[tuple[Told, list[int]]] = asyncio.get_running_loop().create_future()
        self._answers[number] = answered
        try:
            await self._channel.send({"id": number, **order})
            async with asyncio.timeout(_ANSWER_S):
                answer, files = await answered
        except ValueError as fault:
            raise SandboxError(f"the command is too long ({fault}); write it into a file of the sandbox") from None
        except (OSError, TimeoutError):
            await self._give_up("an order was not answered")
            self._refuse_if_gone()
            raise
        finally:
            self._answers.pop(number, None)
        if answer.text:
            _close_all(files)
            raise SandboxError(answer.text)
        if len(files) != fds:
            _close_all(files)
            raise SandboxError("the sandbox has no more room for open files; stop what runs in it")
        return files

    async def _listen(self) -> None:
        while (heard := await self._channel.receive()) is not None:
            told, files = heard
            answered = self._answers.get(told.number)
            if told.kind == "over":
                self._note_end(told)
            elif answered is not None and not answered.done():
                answered.set_result((told, files))
                continue
            _close_all(files)
        log.warning("sandbox.lost", box=self.key, complaint=self._launched.complaint())
        self._lose()

    def _note_end(self, told: Told) -> None:
        over = self._over.get(told.number)
        if over is not None and not over.done() and told.text in _ENDINGS:
            over.set_result(_Over(Ending(told.text), told.status, told.seconds))

    def _lose(self) -> None:
        """It is over with everything that was waited for."""
        self._closed = True
        self._doors.close()
        self._channel.close()
        for over in self._over.values():
            if not over.done():
                over.set_result(_Over(Ending.LOST, None, 0))
        for answered in self._answers.values():
            if not answered.done():
                answered.set_exception(BoxGone("this sandbox has ended, and what was in it is gone"))
        self._launched.gone_soon()

    async def _give_up(self, why: str) -> None:
        """Nothing of it may go on behind our back."""
        log.warning("sandbox.given_up", box=self.key, why=why)
        await self.close()

    async def close(self) -> None:
        self._closed = True
        self._listening.cancel()
        await asyncio.gather(self._listening, return_exceptions=True)
        self._lose()
        await self._launched.gone()


async def _send(writer: asyncio.StreamWriter, content: bytes) -> None:
    with contextlib.suppress(ConnectionError):
        writer.write(content)
        await writer.drain()
        writer.write_eof()


async def _answer(reader: asyncio.StreamReader, most_bytes: int) -> tuple[Order, bytes]:
    line = await reader.readline()
    facts = json.loads(line)
    size = facts["bytes"]
    if not 0 <= size <= most_bytes:
        raise ValueError(f"{size} bytes, and {most_bytes} were wanted")
    return facts, await reader.readexactly(size)


def _close_all(fds: Sequence[int]) -> None:
    for fd in fds:
        os.close(fd)
