"""Carries a browser's websocket and an app's into each other, until one of them ends or the app may not be shown any
more. Knows no box and no table; what is said is bounded, and never read."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Any, Final
from urllib.parse import urlsplit

from agents.apps.exchange import BadAnswer, Headers
from agents.apps.sockets import GOING_AWAY, AppSocket, Room
from hyperagent.lib.asgi import PACED

LOOKS_EVERY_S: Final = 20.0
BYTES_PER_S: Final = 2_000_000
AT_ONCE_BYTES: Final = 8_000_000
TOO_SLOW: Final = 3013
REFUSED: Final = 3008
ENDED: Final = 3001
"""For the browser. Daphne closes by no other codes than 1000 and those from 3000 on."""

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


def is_of_its_page(headers: Headers) -> bool:
    """Whether it was asked for by a page of the same origin; or by a program, which could say anything."""
    told = {name.lower(): value.decode("latin-1").lower() for name, value in headers}
    origin = told.get(b"origin")
    return origin is None or urlsplit(origin).netloc == told.get(b"host")


class Pace:
    """So much at once, and from there on so much a second, of all sockets that share it: a browser that reads slowly is
    no place to pile it up, and one app does not keep this process busy."""

    def __init__(self, *, at_once: int, per_s: int) -> None:
        self._per_s = per_s
        self._ahead_s = at_once / per_s
        self._free_at = float("-inf")

    async def keep(self, size: int) -> None:
        now = asyncio.get_running_loop().time()
        self._free_at = max(self._free_at, now - self._ahead_s) + size / self._per_s
        if self._free_at > now:
            await asyncio.sleep(self._free_at - now)


async def carry(
    socket: AppSocket,
    receive: Receive,
    send: Send,
    *,
    may_go_on: Callable[[], Awaitable[bool]],
    pace: Pace,
    room: Room,
) -> None:
    """Returns when it is over; the app's side is closed by whoever opened it.

    `may_go_on` is asked every few seconds.
    """
    ways = (_from_browser(socket, receive), _from_app(socket, send, pace, room), _until_refused(may_go_on))
    tasks = [asyncio.ensure_future(way) for way in ways]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
    for end in ends:
        if isinstance(end, Exception):
            raise end
    code = next((end for end in ends if isinstance(end, int)), ENDED)
    if code:
        with suppress(OSError):
            await send({"type": "websocket.close", "code": code})


async def _from_browser(socket: AppSocket, receive: Receive) -> int:
    """Gives 0 where the browser is gone, and a code by which it is to be sent away."""
    while True:
        message = await receive()
        if message["type"] == "websocket.disconnect":
            socket.close(message.get("code"))
            return 0
        text, content = message.get("text"), message.get("bytes")
        try:
            socket.say(text if text is not None else content or b"")
        except (BadAnswer, OSError):
            return TOO_SLOW


async def _from_app(socket: AppSocket, send: Send, pace: Pace, room: Room) -> int:
    try:
        async with aclosing(socket.heard(pace.keep, room)) as messages:
            async for message in messages:
                kind = "text" if isinstance(message, str) else "bytes"
                await send({"type": "websocket.send", kind: message, **PACED})
    except BadAnswer:
        return TOO_SLOW
    except OSError:
        pass
    return ENDED if socket.code == GOING_AWAY else socket.code


async def _until_refused(may_go_on: Callable[[], Awaitable[bool]]) -> int:
    while True:
        await asyncio.sleep(LOOKS_EVERY_S)
        if not await may_go_on():
            return REFUSED
