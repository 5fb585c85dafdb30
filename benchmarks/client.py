"""The load client: asks over a websocket or over HTTP, and notes when each token was sent and when it came.

Tokens are the clock at which the model sent them (`stamped_word`), which all processes of a machine share.
"""

import asyncio
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import orjson

from benchmarks.relays import MODEL
from tests.scripted.script import stamps_in

# As the page does.
ACKNOWLEDGED_EVENTS = 50
ACKNOWLEDGED_S = 2.0
ENDS = ("complete", "error")


class Refused(Exception):
    """The other side did not answer as it should."""


@dataclass(slots=True)
class Heard:
    """What came of one question. Times in ns of the monotonic clock."""

    asked_ns: int = 0
    ended_ns: int = 0
    sent_ns: list[int] = field(default_factory=list)
    came_ns: list[int] = field(default_factory=list)
    execution_id: str | None = None
    repeated: int = 0
    """Events that had come before: there should be none."""
    began: asyncio.Event = field(default_factory=asyncio.Event)

    def hear(self, text: str) -> None:
        now = time.monotonic_ns()
        for stamp in stamps_in(text):
            self.sent_ns.append(stamp)
            self.came_ns.append(now)
        if self.came_ns and not self.began.is_set():
            self.began.set()

    def end(self) -> None:
        self.ended_ns = time.monotonic_ns()

    @property
    def is_over(self) -> bool:
        return self.ended_ns > 0

    @property
    def first_token_ms(self) -> float:
        """From asking to the first token."""
        return (self.came_ns[0] - self.asked_ns) / 1e6

    def latencies_ms(self, since_ns: int, until_ns: int) -> list[float]:
        """Of the tokens that came within the window."""
        pairs = zip(self.sent_ns, self.came_ns, strict=True)
        return [(came - sent) / 1e6 for sent, came in pairs if since_ns <= came < until_ns]

    def tokens_between(self, since_ns: int, until_ns: int) -> int:
        return sum(since_ns <= came < until_ns for came in self.came_ns)


class Line(ABC):
    """One open way from a client to an answer."""

    @abstractmethod
    async def ask(self, text: str, heard: Heard) -> None:
        """Returns when the answer has ended. Raises Refused."""


class DirectLine(Line):
    """Straight to the model server: the least that anything can take."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._session, self._url = session, url

    async def ask(self, text: str, heard: Heard) -> None:
        body = {"model": MODEL, "stream": True, "messages": [{"role": "user", "content": text}]}
        heard.asked_ns = time.monotonic_ns()
        async with self._session.post(f"{self._url}/v1/chat/completions", json=body) as response:
            async for line in response.content:
                if line.startswith(b"data: {"):
                    choices = orjson.loads(line[6:])["choices"]
                    heard.hear(choices[0]["delta"].get("content") or "" if choices else "")
        heard.end()


class RelayLine(Line):
    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._session, self._url = session, url

    async def ask(self, text: str, heard: Heard) -> None:
        heard.asked_ns = time.monotonic_ns()
        async with self._session.post(f"{self._url}/ask", json={"text": text}) as response:
            if response.status != 200:
                raise Refused(f"the relay at {self._url} answered {response.status}")
            async for line in response.content:
                if line.startswith(b"data: {"):
                    event = orjson.loads(line[6:])
                    if event["type"] == "token":
                        heard.hear(event["content"])
        heard.end()


class SocketLine(Line):
    """A conversation's websocket, with the page's acknowledgements."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._had: dict[str, int] = {}
        self._acknowledged: dict[str, int] = {}

    async def ask(self, text: str, heard: Heard) -> None:
        heard.asked_ns = time.monotonic_ns()
        await self._socket.send_str(orjson.dumps({"type": "say", "text": text, "client_id": uuid.uuid4().hex}).decode())
        due_s = time.monotonic() + ACKNOWLEDGED_S
        async for frame in self._frames():
            self._note(frame, heard)
            if heard.is_over:
                break
            if time.monotonic() > due_s or self._unacknowledged() >= ACKNOWLEDGED_EVENTS:
                await self._acknowledge()
                due_s = time.monotonic() + ACKNOWLEDGED_S
        await self._acknowledge()

    async def _frames(self) -> AsyncIterator[dict[str, Any]]:
        async for message in self._socket:
            yield orjson.loads(message.data)
        raise Refused(f"the socket was closed with {self._socket.close_code} before the answer's end")

    def _note(self, frame: dict[str, Any], heard: Heard) -> None:
        if frame["type"] == "error":
            raise Refused(f"the socket said {frame['error']}")
        if frame["type"] != "event":
            return
        event = frame["event"]
        if event["seq"] <= self._had.get(event["execution_id"], 0):
            heard.repeated += 1
            return
        self._had[event["execution_id"]] = event["seq"]
        heard.execution_id = event["execution_id"]
        if event["type"] == "token":
            heard.hear(event["content"])
        elif event["type"] in ENDS:
            if event["type"] == "error":
                raise Refused(f"the run failed: {event.get('message')}")
            heard.end()

    def _unacknowledged(self) -> int:
        return sum(seq - self._acknowledged.get(one, 0) for one, seq in self._had.items())

    async def _acknowledge(self) -> None:
        for execution_id, seq in self._had.items():
            if self._acknowledged.get(execution_id, 0) < seq:
                self._acknowledged[execution_id] = seq
                ack = {"type": "ack", "execution_id": execution_id, "seq": seq}
                await self._socket.send_str(orjson.dumps(ack).decode())


@asynccontextmanager
async def http_session() -> AsyncIterator[aiohttp.ClientSession]:
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout()) as session:
        yield session


@asynccontextmanager
async def open_socket(
    session: aiohttp.ClientSession, url: str, *, conversation_id: str, token: str
) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    address = f"{url.replace('http', 'ws', 1)}/ws/conversations/{conversation_id}/"
    async with session.ws_connect(address, protocols=[f"bearer.{token}"], max_msg_size=0, autoping=True) as socket:
        yield socket
