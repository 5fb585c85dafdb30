"""Who uses the town while it is broken: sockets that watch runs and come back, and somebody who knocks all the time."""

import asyncio
import json
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import httpx
import websockets

from tests.invariants import Answered
from tests.topology.town import Town

KNOCK_EVERY_S = 0.1
# As patient as the page, only faster to notice that a line is dead.
PING_S, SILENCE_S = 1.0, 3.0


class Watcher:
    """A socket on a run's conversation, as the page has one. `resumes_s`: from an open socket to its first news."""

    def __init__(self, town: Town, execution_id: UUID) -> None:
        self._town = town
        self._id = str(execution_id)
        self._conversation = town.execution(execution_id)["conversation_id"]
        self.events: list[dict[str, Any]] = []
        self.connections = 0
        self.resumes_s: list[float] = []

    async def watch(self, *, timeout_s: float) -> list[dict[str, Any]]:
        """Until the run's last event."""
        async with asyncio.timeout(timeout_s):
            while not (self.events and self.events[-1]["type"] in ("complete", "error")):
                with suppress(OSError, websockets.WebSocketException, EOFError, TimeoutError):
                    await self._read()
                await asyncio.sleep(0.1)
        return self.events

    async def _read(self) -> None:
        after = json.dumps({self._id: self.events[-1]["seq"] if self.events else 0}).replace(" ", "")
        url = f"{self._town.base_url.replace('http', 'ws', 1)}/ws/conversations/{self._conversation}/?after={after}"
        async with websockets.connect(
            url,
            subprotocols=[f"bearer.{self._town.token}"],  # type: ignore[list-item]
            open_timeout=SILENCE_S,
            ping_interval=PING_S,
            ping_timeout=SILENCE_S,
            close_timeout=0.2,
        ) as socket:
            self.connections += 1
            opened_s, had = time.monotonic(), len(self.events)
            async for frame in socket:
                self._take(json.loads(frame))
                if self.connections > 1 and len(self.events) > had >= 0:
                    self.resumes_s.append(time.monotonic() - opened_s)
                    had = -1
                if self.events and self.events[-1]["type"] in ("complete", "error"):
                    return

    def _take(self, said: dict[str, Any]) -> None:
        if said["type"] == "event" and said["event"]["execution_id"] == self._id:
            self.events.append(said["event"])
        elif said["type"] == "resync":
            self.events.clear()


@dataclass(frozen=True, slots=True)
class Knock:
    """One request of somebody who only reads; `status` 0: no answer at all."""

    at_s: float
    status: int
    took_s: float
    text: str


class Knocker:
    """Asks for the list of conversations again and again. Use as a context manager."""

    def __init__(self, town: Town) -> None:
        self._town = town
        self.knocks: list[Knock] = []
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "Knocker":
        self._task = asyncio.create_task(self._knock())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._task is not None
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _knock(self) -> None:
        async with httpx.AsyncClient(timeout=30, headers=self._town.headers) as client:
            while True:
                began_s = time.monotonic()
                status, text = 0, ""
                with suppress(httpx.HTTPError):
                    answer = await client.get(self._town.url("conversations"))
                    status, text = answer.status_code, answer.text
                self.knocks.append(Knock(began_s, status, time.monotonic() - began_s, text))
                await asyncio.sleep(KNOCK_EVERY_S)

    def answered(self) -> list[Answered]:
        return [Answered(knock.status, knock.text, "GET conversations") for knock in self.knocks if knock.status]

    def refused(self) -> list[int]:
        """What was answered with 5xx, or with nothing (0)."""
        return [knock.status for knock in self.knocks if knock.status == 0 or knock.status >= 500]
