"""The host's side of its socket: each connection is one call on a box, and what it had running ends with it.

Knows how calls are asked and answered; what a session is and how long it lives is in `agents.sandbox.sessions`.
"""

import asyncio
import select
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

import structlog

from agents.sandbox.base import BoxGone, BoxType, Command, Ending, Outcome, SandboxError
from agents.sandbox.host.client import WENT_AWAY
from agents.sandbox.host.frames import BadFrame, Wire
from agents.sandbox.host.gateway_door import TOKEN_NAME, refusal
from agents.sandbox.host.shapes import command_of, file_as_json, outcome_as_json, uuid_of
from agents.sandbox.models import EndedBecause
from agents.sandbox.records import Owner
from agents.sandbox.sessions import Session, Sessions
from hyperagent.lib import outage

log = structlog.get_logger(__name__)

MOST_WRITTEN_BYTES: Final = 512 << 20
MOST_REMEMBERED: Final = 50_000
_LOOK_EVERY_S: Final = 2.0
_PIPE_BYTES: Final = 64 << 10
_WHY_KEPT_S: Final = 30.0
BROKEN: Final = "The sandbox broke down over this: an error of the installation. Try something else."
STOPPED: Final = "It was stopped."


class Answering:
    """Serves connections; `serve` is what a Unix server calls for each."""

    def __init__(self, sessions: Sessions) -> None:
        self.sessions = sessions
        self._why_not: tuple[float, str] | None = None
        self._trying: asyncio.Future[str] | None = None
        self._of_host: dict[str, Callable[[Wire, Any], Awaitable[Any]]] = {
            "why_not": self._why,
            "open": self._open,
            "existing": self._existing,
        }
        self._of_box: dict[str, Callable[[Wire, Session, Any], Awaitable[Any]]] = {
            "run": self._run,
            "start": self._start,
            "stop": self._stop,
            "running": self._running,
            "connect": self._connect,
            "hold": self._hold,
            "write": self._write,
            "read": self._read,
            "files": self._files,
            "pack": self._pack,
            "unpack": self._unpack,
            "close": self._close,
            "remembered": self._remembered,
            "remember": self._remember,
        }

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        wire = Wire(reader, writer)
        try:
            asked = await wire.hear()
            try:
                await self._answer(wire, asked)
            except SandboxError as error:
                await wire.say({"error": error.message, "gone": isinstance(error, BoxGone)})
            except (EOFError, BadFrame, ConnectionError):
                raise
            except Exception as error:
                if outage.is_outage(error):
                    log.warning("sandbox.database_away", op=asked.get("op"), why=str(error).split("\n")[0])
                else:
                    log.exception("sandbox.call_failed", op=asked.get("op"))
                await wire.say({"error": BROKEN, "gone": False})
        except (EOFError, BadFrame, OSError, asyncio.CancelledError):
            # The caller is gone, or the host stops; nobody waits for this task.
            return
        finally:
            wire.close()

    async def _answer(self, wire: Wire, asked: Any) -> None:
        op = asked["op"]
        if op in self._of_host:
            await wire.say({"value": await self._of_host[op](wire, asked)})
            return
        session = self.sessions.by_id(UUID(asked["box"]))
        if session is None or not session.box.alive:
            raise BoxGone(WENT_AWAY)
        async with self.sessions.using(session):
            await self._of_box[op](wire, session, asked)

    # --- of the host

    async def _why(self, wire: Wire, asked: Any) -> str:
        """Trying it takes a box: it is done once for all who ask meanwhile, and what was found holds for a while."""
        if self._trying is None:
            found_at, why = self._why_not or (float("-inf"), "")
            if time.monotonic() - found_at <= _WHY_KEPT_S:
                return why
            self._trying = asyncio.ensure_future(self._try())
        return await asyncio.shield(self._trying)

    async def _try(self) -> str:
        try:
            why = await self.sessions.provider.why_not()
            self._why_not = (time.monotonic(), why)
            return why
        finally:
            self._trying = None

    async def _open(self, wire: Wire, asked: Any) -> Any:
        opening = {
            BoxType.CODE: self.sessions.get_code_executor,
            BoxType.APP: self.sessions.get_app_session,
            BoxType.DESKTOP: self.sessions.get_desktop,
        }
        owner = _owner(asked)
        session, is_new = await opening[owner.box_type](owner.user_id, owner.task_id, counts=bool(asked["counts"]))
        return _told(session, is_new=is_new)

    async def _existing(self, wire: Wire, asked: Any) -> Any:
        session = await self.sessions.existing(_owner(asked))
        return None if session is None else _told(session, is_new=False)

    # --- of a box

    async def _run(self, wire: Wire, session: Session, asked: Any) -> None:
        left_s = await self.sessions.seconds_left(session.owner)
        command = command_of(asked["command"])
        command = replace(command, wall_s=min(command.wall_s, left_s))
        session.changed = True
        began = time.monotonic()
        questions = _Questions(wire)
        try:
            async with session.door.answered_by(questions.ask) as token:
                if asked["answers"]:
                    command = replace(command, env={**command.env, TOKEN_NAME: token})
                outcome = await self._run_while_heard(wire, session, command, questions, heard=asked["heard"])
        finally:
            await self.sessions.note_use(session, time.monotonic() - began)
        await wire.say({"value": outcome_as_json(outcome)})

    async def _run_while_heard(
        self, wire: Wire, session: Session, command: Command, questions: "_Questions", *, heard: bool
    ) -> Outcome:
        """Ends the program as soon as the caller hangs up."""

        def tell(stream: str, text: str) -> None:
            wire.say_now({"heard": [stream, text]})

        running = asyncio.ensure_future(session.box.run(command, heard=tell if heard else None))
        listening = asyncio.ensure_future(questions.listen())
        try:
            await asyncio.wait([running, listening], return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                return running.result()
        finally:
            listening.cancel()
            running.cancel()
            await asyncio.gather(running, listening, return_exceptions=True)
        if not running.cancelled() and running.exception() is None:
            return running.result()
        return Outcome(Ending.STOPPED, None, note=STOPPED)

    async def _start(self, wire: Wire, session: Session, asked: Any) -> None:
        await self.sessions.seconds_left(session.owner)
        session.changed = session.is_live = True
        heard = asked["heard"]
        unsaid: list[Any] = []
        said = False

        def tell(stream: str, text: str) -> None:
            if said:
                wire.say_now({"heard": [stream, text]})
            else:
                unsaid.append({"heard": [stream, text]})

        started = await session.box.start(command_of(asked["command"]), heard=tell if heard else None)
        try:
            await wire.say({"value": started})
        except OSError:
            await session.box.stop(started)
            raise
        await self.sessions.note_use(session, 0)
        said = True
        for value in unsaid:
            wire.say_now(value)
        if heard:
            await self._until_ended(wire, session, started)

    async def _until_ended(self, wire: Wire, session: Session, started: str) -> None:
        hung_up = asyncio.ensure_future(wire.reader.read())
        # Somebody who listens does not keep the box open.
        session.busy -= 1
        try:
            while not hung_up.done() and session.box.alive and await session.box.running(started):
                await asyncio.wait([hung_up], timeout=_LOOK_EVERY_S)
        finally:
            session.busy += 1
            hung_up.cancel()
            await asyncio.gather(hung_up, return_exceptions=True)

    async def _stop(self, wire: Wire, session: Session, asked: Any) -> None:
        await session.box.stop(str(asked["started"]))
        await wire.say({"value": None})

    async def _running(self, wire: Wire, session: Session, asked: Any) -> None:
        await wire.say({"value": await session.box.running(str(asked["started"]))})

    async def _connect(self, wire: Wire, session: Session, asked: Any) -> None:
        def said() -> None:
            session.said_at = time.monotonic()

        reader, writer = await session.box.connect(int(asked["port"]))
        try:
            await wire.say({"value": None})
            # A preview that is left open does not keep the box open: what is said through it does, and what follows.
            session.busy -= 1
            try:
                await _joined((wire.reader, wire.writer), (reader, writer), said=said)
            finally:
                session.busy += 1
                session.changed = True
        finally:
            # What is not sent by now is for a program that does not read it.
            writer.transport.abort()

    async def _hold(self, wire: Wire, session: Session, asked: Any) -> None:
        """Until the caller hangs up. By which names it is held already is told."""
        name, others = str(asked["name"]), list(session.held)
        session.held.append(name)
        try:
            await wire.say({"value": others})
            await wire.reader.read()
        finally:
            session.held.remove(name)

    async def _write(self, wire: Wire, session: Session, asked: Any) -> None:
        content = await _content(wire, int(asked["size"]))
        session.changed = True
        await wire.say({"value": file_as_json(await session.box.write(str(asked["path"]), content))})

    async def _read(self, wire: Wire, session: Session, asked: Any) -> None:
        content = await session.box.read(str(asked["path"]), max_bytes=int(asked["max_bytes"]))
        await wire.say({"value": len(content)})
        await wire.say_bytes(content)

    async def _files(self, wire: Wire, session: Session, asked: Any) -> None:
        found = await session.box.files(str(asked["folder"]))
        await wire.say({"value": [file_as_json(file) for file in found]})

    async def _pack(self, wire: Wire, session: Session, asked: Any) -> None:
        folders = [str(folder) for folder in asked["folders"]]
        archive = await session.box.pack(folders, max_bytes=int(asked["max_bytes"]))
        await wire.say({"value": len(archive)})
        await wire.say_bytes(archive)

    async def _unpack(self, wire: Wire, session: Session, asked: Any) -> None:
        archive = await _content(wire, int(asked["size"]))
        session.changed = True
        await session.box.unpack(archive)
        await wire.say({"value": None})

    async def _close(self, wire: Wire, session: Session, asked: Any) -> None:
        await self.sessions.close(session, EndedBecause.CLEANUP, keeps=False)
        await wire.say({"value": None})

    async def _remembered(self, wire: Wire, session: Session, asked: Any) -> None:
        await wire.say({"value": session.remembered})

    async def _remember(self, wire: Wire, session: Session, asked: Any) -> None:
        values = session.remembered | asked["values"]
        session.remembered = {name: value for name, value in values.items() if value is not None}
        if len(session.remembered) > MOST_REMEMBERED:
            session.remembered.clear()
        await wire.say({"value": None})


class _Questions:
    """What programs of one run ask through the door, on its way to the caller and back."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._open: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._number = 0

    async def ask(self, line: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        number = self._number
        waiting = self._open[number] = asyncio.get_running_loop().create_future()
        try:
            if not self._wire.say_now({"asked": number, "line": line}):
                return refusal(line.get("id"), "Too much was asked at once. Ask again.")
            answer: dict[str, Any] = await waiting
            return answer
        finally:
            del self._open[number]

    async def listen(self) -> None:
        """Until the caller hangs up."""
        with suppress(EOFError, BadFrame, OSError):
            while True:
                said = await self._wire.hear()
                waiting = self._open.get(said["answer"])
                if waiting is not None and not waiting.done():
                    waiting.set_result(said["line"])


def _owner(asked: Any) -> Owner:
    return Owner(uuid_of(asked["user_id"]), UUID(asked["task_id"]), BoxType(asked["box_type"]))


def _told(session: Session, *, is_new: bool) -> dict[str, Any]:
    return {
        "id": str(session.id),
        "key": session.owner.key,
        "box_type": session.owner.kept_as.value,
        "is_new": is_new,
        "note": session.note if is_new else "",
    }


async def _content(wire: Wire, size: int) -> bytes:
    if size > MOST_WRITTEN_BYTES:
        raise SandboxError(f"{size:,} bytes are too many for the sandbox: at most {MOST_WRITTEN_BYTES:,} at once.")
    return await wire.hear_bytes(max_bytes=size)


async def _joined(
    caller: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    app: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    *,
    said: Callable[[], None],
) -> None:
    """Carries bytes both ways until both sides have ended, or the caller has hung up. `said`: called with each piece
    of what the caller says."""
    both = asyncio.gather(_carried(caller[0], app[1], said), _carried(app[0], caller[1], lambda: None))
    tasks: list[asyncio.Future[Any]] = [both, asyncio.ensure_future(_hung_up(caller[1]))]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _hung_up(writer: asyncio.StreamWriter) -> None:
    """Until the other side has closed its socket. That it sends no more is not enough, and is not even seen while an
    app takes nothing of what it sent before."""
    looking = select.poll()
    looking.register(writer.get_extra_info("socket"), 0)
    while not looking.poll(0):
        await asyncio.sleep(_LOOK_EVERY_S)


async def _carried(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, carries: Callable[[], None]) -> None:
    with suppress(OSError):
        while content := await reader.read(_PIPE_BYTES):
            carries()
            writer.write(content)
            await writer.drain()
    with suppress(OSError):
        if writer.can_write_eof():
            writer.write_eof()
