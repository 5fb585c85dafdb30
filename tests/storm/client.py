"""A person's two ways into the house: requests, which are made again while it is away, and a conversation's socket,
which comes back by itself and goes on where it was.
"""

import asyncio
import itertools
import json
import random
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp

from agents.engine.states import TERMINAL_STATUSES
from tests.invariants import Answered

# A machine that is busy with other things as well takes half a minute to start a process.
PATIENCE_S: Final = 180.0
REQUEST_S: Final = 30.0
HEARTBEAT_S: Final = 20.0
OPENING_S: Final = 20.0
# Between two tries, growing: whoever asks a process that just comes up without a pause keeps it down.
PAUSE_S: Final = 0.3
LONGEST_PAUSE_S: Final = 5.0
ACKNOWLEDGED_EVENTS: Final = 50
ENDS: Final = ("complete", "error")
_AGAIN: Final = (aiohttp.ClientError, TimeoutError, OSError)


class Away(Exception):
    """The house gave no answer for longer than anybody waits."""


@dataclass
class Line:
    """Of one person. `web`: gives the address of one of the web processes, another one each time."""

    session: aiohttp.ClientSession
    web: Callable[[int], str]
    token: str
    answers: list[Answered] = field(default_factory=list)
    """What was not as hoped, and every one that says that it is nobody's fault but the house's."""
    turns: "itertools.count[int]" = field(default_factory=itertools.count)

    async def post(self, path: str, body: Any) -> tuple[int, Any]:
        """Made again while nobody answers, or the answer is 5xx: what is asked here may be asked twice."""
        deadline = time.monotonic() + PATIENCE_S
        for pause_s in pauses_s():
            with suppress(*_AGAIN):
                status, text = await self._once(path, body)
                if status >= 400:
                    self.answers.append(Answered(status, text, path))
                if status < 500 and status != 429:
                    return status, json.loads(text)
            if time.monotonic() > deadline:
                break
            await asyncio.sleep(pause_s)
        raise Away(f"{path} had no answer for {PATIENCE_S:.0f} s")

    async def _once(self, path: str, body: Any) -> tuple[int, str]:
        url = f"{self.web(next(self.turns))}/api/v1/{path}"
        headers = {"Authorization": f"Bearer {self.token}"}
        limit = aiohttp.ClientTimeout(total=REQUEST_S)
        async with self.session.post(url, json=body, headers=headers, timeout=limit) as answer:
            return answer.status, await answer.text()


def pauses_s() -> Iterator[float]:
    pause_s = PAUSE_S
    while True:
        yield pause_s * random.uniform(0.7, 1.3)
        pause_s = min(pause_s * 2, LONGEST_PAUSE_S)


class Watcher:
    """The socket of one conversation, opened again whenever it closes, until `stop`."""

    def __init__(self, line: Line, conversation_id: str) -> None:
        self._line = line
        self._conversation_id = conversation_id
        self.events: dict[str, list[dict[str, Any]]] = {}
        self.said: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.faults: list[str] = []
        self.connects = 0
        self.resumes_s: list[float] = []
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        self._open = asyncio.Event()
        self._unacknowledged = 0
        self._behind_since: float | None = None
        self._task = asyncio.create_task(self._watch())

    async def say(self, **frame: Any) -> dict[str, Any]:
        """Says it, again after each interruption, until the house has told that it was said."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            try:
                async with asyncio.timeout(10):
                    await self._open.wait()
                if self._socket is not None:
                    await self._socket.send_str(json.dumps({"type": "say", **frame}))
                async with asyncio.timeout(OPENING_S):
                    return await self.said.get()
            except (*_AGAIN, RuntimeError):
                continue
        raise Away(f"a socket was told nothing of what was said for {PATIENCE_S:.0f} s")

    async def knows(self, execution: dict[str, Any]) -> None:
        """Of a run that was begun: it is asked for by name, as a page does, also where no event of it has come. What
        had ended before the socket opened is told on none that did not ask for it."""
        seen = self.events.setdefault(execution["id"], [])
        if not seen and execution["status"] in TERMINAL_STATUSES and self._socket is not None:
            await self._socket.close()

    def has(self, execution_id: str) -> int:
        """The number of the last event of a run that came."""
        seen = self.events.get(execution_id)
        return int(seen[-1]["seq"]) if seen else 0

    async def stop(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _watch(self) -> None:
        pauses = pauses_s()
        while True:
            connects = self.connects
            with suppress(*_AGAIN):
                await self._once()
            self._open.clear()
            self._socket = None
            pauses = pauses_s() if self.connects > connects else pauses
            await asyncio.sleep(next(pauses))

    async def _once(self) -> None:
        # By its time the house knows an event whose number it gave to another one, having lost the first in a crash.
        after = {one: self.has(one) for one in self.events}
        at_ms = {one: seen[-1]["timestamp"] for one, seen in self.events.items() if seen}
        base = self._line.web(next(self._line.turns)).replace("http", "ws", 1)
        url = f"{base}/ws/conversations/{self._conversation_id}/"
        opening = self._line.session.ws_connect(
            url,
            params={"after": json.dumps(after), "at": json.dumps(at_ms)},
            protocols=[f"bearer.{self._line.token}"],
            max_msg_size=0,
            heartbeat=HEARTBEAT_S,
        )
        # `wait_for` loses a cancellation that comes in the instant in which the socket opens (Python 3.11).
        async with asyncio.timeout(OPENING_S):
            opened = await opening
        async with opened as socket:
            self.connects += 1
            self._behind_since = time.monotonic() if self.connects > 1 and any(self.events.values()) else None
            self._socket = socket
            self._open.set()
            async for message in socket:
                if message.type is aiohttp.WSMsgType.TEXT:
                    await self._hear(json.loads(message.data), socket)

    async def _hear(self, frame: dict[str, Any], socket: aiohttp.ClientWebSocketResponse) -> None:
        match frame["type"]:
            case "event":
                self._hear_event(frame["event"])
                self._unacknowledged += 1
                if self._unacknowledged >= ACKNOWLEDGED_EVENTS:
                    self._unacknowledged = 0
                    event = frame["event"]
                    ack = {"type": "ack", "execution_id": event["execution_id"], "seq": event["seq"]}
                    await socket.send_str(json.dumps(ack))
            case "resync":
                self.events[frame["execution_id"]] = []
            case "said":
                self.said.put_nowait(frame)
                await self.knows(frame["reply"]["execution"])
            case "error":
                self._line.answers.append(Answered(400, json.dumps(frame["error"]), "a socket"))
            case _:
                pass

    def _hear_event(self, event: dict[str, Any]) -> None:
        seen = self.events.setdefault(event["execution_id"], [])
        wanted = seen[-1]["seq"] + 1 if seen else 1
        if event["seq"] != wanted:
            self.faults.append(f"run {event['execution_id']}: a socket was told {event['seq']} in place of {wanted}")
        # What had happened before it came back: only that says how long it had to wait for what it missed.
        if self._behind_since is not None:
            came_back_s = time.time() - (time.monotonic() - self._behind_since)
            if event["timestamp"] / 1000 < came_back_s:
                self.resumes_s.append(time.monotonic() - self._behind_since)
            self._behind_since = None
        seen.append(event)
