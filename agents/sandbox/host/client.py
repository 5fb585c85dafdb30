"""The boxes of this machine, as runners and the web process reach them: over a Unix socket, one connection a call.

A call whose connection breaks is ended by the host, with all that it had running: whoever is killed leaves nothing
running. Knows no provider and no table.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import structlog
from django.conf import settings

from agents.runtime.driven import About
from agents.sandbox.base import HOME, Box, BoxFile, BoxGone, BoxType, Command, Heard, Outcome, SandboxError
from agents.sandbox.host.address import SOCKET_NAME, folder_of, short_path
from agents.sandbox.host.frames import BadFrame, Wire
from agents.sandbox.host.gateway_door import refusal
from agents.sandbox.host.shapes import command_as_json, file_of, outcome_of

log = structlog.get_logger(__name__)

Answer = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]
"""What a program said through the door "gateway", and what it is told."""

AWAY: Final = (
    "The process that holds the sandboxes of this machine does not run. Try again in a minute; an administrator starts "
    "it with manage.py worker (without --no-sandboxes)."
)
SILENT: Final = "The process that holds the sandboxes of this machine does not answer. Try again in a minute."
WENT_AWAY: Final = "The sandbox went away in the middle of it, with what was not kept. Try again: a new one is opened."
# A host that was killed is back within seconds.
PATIENCE_S: Final = 15.0
_SHORT_S: Final = 10.0
FINE_S: Final = 5.0
# Each answer to a person may begin with that question.
_WHY_NOT_S: Final = 5.0
_LOOK_EVERY_S: Final = 0.1
_STOPPING_S: Final = 5.0
_MOST_READ_BYTES: Final = 1 << 30


class Hold:
    """As long as it is there, its box counts as at work: it is closed neither for its idleness nor to make room. It
    ends with the process that has it. `others`: by which names the box was held already."""

    def __init__(self, wire: Wire, others: tuple[str, ...]) -> None:
        self.others = others
        self._wire = wire

    async def let_go(self) -> None:
        """Comes back once the host has taken note. Raises nothing."""
        try:
            with suppress(OSError, TimeoutError):
                self._wire.writer.write_eof()
                async with asyncio.timeout(_STOPPING_S):
                    await self._wire.reader.read()
        finally:
            self._wire.close()


class HostedBox(Box):
    """A box that the host holds. Whoever else has the same user and task has the same box."""

    def __init__(self, host: "SandboxHost", told: dict[str, Any]) -> None:
        self._host = host
        self.session_id: str = told["id"]
        self.key: str = told["key"]
        self.box_type = BoxType(told["box_type"])
        self.is_new: bool = told["is_new"]
        """Whether it was opened for this caller."""
        self.note: str = told["note"]
        """What became of the box before it, for model and people; empty if there is nothing to say."""
        self._alive = True

    @property
    def alive(self) -> bool:
        """As far as this caller has seen."""
        return self._alive

    async def run(self, command: Command, *, heard: Heard | None = None, answer: Answer | None = None) -> Outcome:
        """`answer` is given what programs send through the door "gateway" during this run, one object at a time or
        several; those that are still unanswered at its end are cancelled."""
        asked = {"op": "run", "command": command_as_json(command), "heard": heard is not None}
        wire = await self._call({**asked, "answers": answer is not None})
        running = asyncio.ensure_future(_followed(wire, heard, answer))
        try:
            outcome: Outcome = await self._guarded(asyncio.shield(running))
            return outcome
        except asyncio.CancelledError:
            # The host kills the program when it hears no more, and says so when it is gone.
            await _ended(wire, running)
            raise
        finally:
            running.cancel()
            wire.close()

    async def start(self, command: Command, *, heard: Heard | None = None) -> str:
        wire = await self._call({"op": "start", "command": command_as_json(command), "heard": heard is not None})
        try:
            started: str = await self._guarded(_value(wire))
        except BaseException:
            wire.close()
            raise
        if heard is None:
            wire.close()
        else:
            self._host.listen(_heard_on(wire, heard))
        return started

    async def stop(self, started: str) -> None:
        await self._ask({"op": "stop", "started": started})

    async def running(self, started: str) -> bool:
        return bool(await self._ask({"op": "running", "started": started}))

    async def connect(self, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        wire = await self._call({"op": "connect", "port": port})
        try:
            await self._guarded(_value(wire))
        except BaseException:
            wire.close()
            raise
        return wire.reader, wire.writer

    async def hold(self, name: str) -> Hold:
        """`name`: what others who hold it are told of this one."""
        wire = await self._call({"op": "hold", "name": name})
        try:
            return Hold(wire, tuple(await self._guarded(_value(wire))))
        except BaseException:
            wire.close()
            raise

    async def write(self, path: str, content: bytes) -> BoxFile:
        return file_of(await self._ask({"op": "write", "path": path, "size": len(content)}, content))

    async def read(self, path: str, *, max_bytes: int) -> bytes:
        return await self._bytes({"op": "read", "path": path, "max_bytes": max_bytes}, max_bytes=max_bytes)

    async def files(self, folder: str = HOME) -> tuple[BoxFile, ...]:
        return tuple(file_of(value) for value in await self._ask({"op": "files", "folder": folder}))

    async def pack(self, folders: Sequence[str], *, max_bytes: int) -> bytes:
        asked = {"op": "pack", "folders": list(folders), "max_bytes": max_bytes}
        return await self._bytes(asked, max_bytes=max_bytes)

    async def unpack(self, archive: bytes) -> None:
        await self._ask({"op": "unpack", "size": len(archive)}, archive)

    async def close(self) -> None:
        """Ends it for everybody who has it, and keeps nothing of it."""
        if self._alive:
            with suppress(BoxGone):
                await self._ask({"op": "close"})
        self._alive = False

    async def remembered(self) -> dict[str, Any]:
        """What its callers left with the host (`remember`); gone with the box."""
        return dict(await self._ask({"op": "remembered"}))

    async def remember(self, values: dict[str, Any]) -> None:
        """Adds to it. Small values: which version of which file lies in the box, and the like."""
        await self._ask({"op": "remember", "values": values})

    # --- inside

    async def _call(self, asked: dict[str, Any]) -> Wire:
        if not self._alive:
            raise BoxGone(WENT_AWAY)
        try:
            return await self._host.call({**asked, "box": self.session_id}, patience_s=0)
        except SandboxError as error:
            self._alive = False
            raise BoxGone(WENT_AWAY) from error

    async def _guarded(self, waited: Awaitable[Any]) -> Any:
        try:
            return await waited
        except BoxGone:
            self._alive = False
            raise
        except (EOFError, OSError, BadFrame) as error:
            self._alive = False
            raise BoxGone(WENT_AWAY) from error

    async def _ask(self, asked: dict[str, Any], content: bytes | None = None) -> Any:
        wire = await self._call(asked)
        try:
            return await self._guarded(_answered(wire, content))
        finally:
            wire.close()

    async def _bytes(self, asked: dict[str, Any], *, max_bytes: int) -> bytes:
        wire = await self._call(asked)
        try:
            await self._guarded(_value(wire))
            # The host was told the limit: what is more than that is a fault of its own.
            content: bytes = await self._guarded(wire.hear_bytes(max_bytes=min(max_bytes, _MOST_READ_BYTES)))
            return content
        finally:
            wire.close()


class SandboxHost:
    """The process that holds the boxes of this machine. Safe for several callers at once; holds no connection."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket
        self._listening: set[asyncio.Task[None]] = set()
        self._answered_at = self._fine_at = float("-inf")

    async def why_not(self) -> str:
        """Why no program can be run here, with the way out; empty if one can be. Every run asks at its beginning: the
        host need not say twice within FINE_S that one can, only one that was there a moment ago is waited for, and none
        that is there and does not answer."""
        now = asyncio.get_running_loop().time()
        if now - self._fine_at < FINE_S:
            return ""
        was_there = now - self._answered_at < PATIENCE_S
        try:
            patience_s = _SHORT_S if was_there else 0
            said = str(await self._ask({"op": "why_not"}, patience_s=patience_s, within_s=_WHY_NOT_S))
            self._fine_at = now if not said else float("-inf")
            return said
        except SandboxError as error:
            self._answered_at = float("-inf")
            return error.message

    async def lives(self) -> bool:
        """Whether somebody listens, at this moment."""
        try:
            wire = await self.call({"op": "why_not"}, patience_s=0)
        except SandboxError:
            return False
        wire.close()
        return True

    async def box(
        self,
        about: About,
        box_type: BoxType = BoxType.CODE,
        *,
        task_id: UUID | None = None,
        run_seconds: bool = True,
    ) -> HostedBox:
        """The box of this user and conversation, opened if there is none; code and apps share one, a desktop is apart.

        `task_id`: of a box that belongs to something else than the conversation. Raises SandboxError: no sandbox here,
        no place left, or the user's seconds of today are used up.
        """
        task = task_id or about.conversation_id or about.execution_id
        asked = {**_named(about.user_id, task, box_type), "counts": run_seconds}
        return HostedBox(self, await self._ask({"op": "open", **asked}))

    async def existing(self, user_id: UUID | None, task_id: UUID, box_type: BoxType = BoxType.CODE) -> HostedBox | None:
        """The box if there is one on this machine."""
        told = await self._ask({"op": "existing", **_named(user_id, task_id, box_type)})
        return HostedBox(self, told) if told else None

    # --- for HostedBox

    async def call(self, asked: dict[str, Any], *, patience_s: float = PATIENCE_S) -> Wire:
        """A connection on which this was asked. Raises SandboxError where nobody listens."""
        clock = asyncio.get_running_loop().time
        until = clock() + patience_s
        while True:
            try:
                with short_path(self._socket) as path:
                    wire = Wire(*await asyncio.open_unix_connection(path))
                await wire.say(asked)
                return wire
            except OSError as error:
                self._fine_at = float("-inf")
                if clock() >= until:
                    raise SandboxError(AWAY) from error
            await asyncio.sleep(_LOOK_EVERY_S)

    def listen(self, listening: Any) -> None:
        task = asyncio.ensure_future(listening)
        self._listening.add(task)
        task.add_done_callback(self._listening.discard)

    async def _ask(
        self, asked: dict[str, Any], *, patience_s: float = PATIENCE_S, within_s: float | None = None
    ) -> Any:
        """`within_s`: how long an answer is waited for; None: as long as it takes."""
        wire = await self.call(asked, patience_s=patience_s)
        try:
            async with asyncio.timeout(within_s):
                answer = await _value(wire)
            self._answered_at = asyncio.get_running_loop().time()
            return answer
        except TimeoutError as error:
            raise SandboxError(SILENT) from error
        except (EOFError, OSError, BadFrame) as error:
            raise SandboxError(AWAY) from error
        finally:
            wire.close()


@cache
def host_at(socket: Path) -> SandboxHost:
    return SandboxHost(socket)


def sandbox_host() -> SandboxHost:
    """The one of this installation, on this machine."""
    return host_at(folder_of(settings.CONFIG.data_path) / SOCKET_NAME)


def _named(user_id: UUID | None, task_id: UUID, box_type: BoxType) -> dict[str, Any]:
    return {
        "user_id": str(user_id) if user_id else None,
        "task_id": str(task_id),
        "box_type": box_type.value,
    }


async def _value(wire: Wire) -> Any:
    """What the host answers, past what it tells of output. Raises SandboxError."""
    said = await wire.hear()
    if "error" in said:
        kind = BoxGone if said["gone"] else SandboxError
        raise kind(said["error"])
    return said["value"]


async def _answered(wire: Wire, content: bytes | None) -> Any:
    if content is None:
        return await _value(wire)
    sending = asyncio.ensure_future(wire.say_bytes(content))
    try:
        return await _value(wire)
    finally:
        # A host that refused reads no further.
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)


async def _followed(wire: Wire, heard: Heard | None, answer: Answer | None) -> Outcome:
    """A run to its end: output is told as it comes, questions are answered beside it."""
    answering: set[asyncio.Task[None]] = set()
    try:
        while True:
            said = await wire.hear()
            if "heard" in said:
                if heard is not None:
                    heard(*said["heard"])
            elif "asked" in said:
                if answer is not None:
                    task = asyncio.ensure_future(_answer(wire, answer, said["asked"], said["line"]))
                    answering.add(task)
                    task.add_done_callback(answering.discard)
            elif "error" in said:
                raise (BoxGone if said["gone"] else SandboxError)(said["error"])
            else:
                return outcome_of(said["value"])
    finally:
        for task in answering:
            task.cancel()
        await asyncio.gather(*answering, return_exceptions=True)


async def _answer(wire: Wire, answer: Answer, number: int, line: dict[str, Any]) -> None:
    try:
        told = await answer(line)
    except Exception:
        # The program is told something, whatever broke here: it would wait for ever.
        log.exception("sandbox.answer_failed")
        told = refusal(line.get("id"), "That could not be done: an error of the installation.")
    with suppress(OSError):
        await wire.say({"answer": number, "line": told})


async def _heard_on(wire: Wire, heard: Heard) -> None:
    """Output of what was started, until it ends."""
    try:
        while True:
            said = await wire.hear()
            if "heard" in said:
                heard(*said["heard"])
    except (EOFError, OSError, BadFrame):
        return
    finally:
        wire.close()


async def _ended(wire: Wire, running: "asyncio.Future[Outcome]") -> None:
    """Hangs up, and waits until the host says that the program is gone."""
    if wire.writer.can_write_eof():
        try:
            wire.writer.write_eof()
        except OSError:
            return
    await asyncio.wait([running], timeout=_STOPPING_S)
