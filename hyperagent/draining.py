"""How a web server leaves: on SIGTERM it takes no new connection, finishes what it has begun, and ends.

Left to itself Daphne drops what is under way, and a proxy answers 502 for it. Streams and sockets do not end by
themselves: their clients come back by their last number, to another server, so nobody waits for them. Owns nothing else
of the server; where there is none, as in tests, it only counts.
"""

import signal
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

Application = Callable[[Any, Any, Any], Awaitable[None]]

# A supervisor gives at least twelve seconds.
PATIENCE_S: Final = 10.0
# Proxies keep connections open for their next request: each is told with an answer that this was the last.
LINGER_S: Final = 0.7
LOOK_EVERY_S: Final = 0.05
_LAST_ANSWER: Final = (b"connection", b"close")


class Draining:
    """The application, and how many of its answers are not whole yet."""

    def __init__(self, application: Application) -> None:
        self._next = application
        self.under_way = 0
        self.is_leaving = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._next(scope, receive, send)
            return
        answer = _Answer(self, send)
        self.under_way += 1
        try:
            await self._next(scope, receive, answer.send)
        finally:
            answer.is_over()


class _Answer:
    """One answer on its way. A stream counts until it has begun."""

    def __init__(self, draining: Draining, send: Any) -> None:
        self._draining = draining
        self._send = send
        self._counts = True

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            headers = message.get("headers", ())
            if self._draining.is_leaving:
                message = {**message, "headers": [*headers, _LAST_ANSWER]}
            if _is_stream(headers):
                self.is_over()
        await self._send(message)

    def is_over(self) -> None:
        if self._counts:
            self._counts = False
            self._draining.under_way -= 1


def _is_stream(headers: Any) -> bool:
    return any(name.lower() == b"content-type" and value.startswith(b"text/event-stream") for name, value in headers)


def leave_in_order(draining: Draining) -> None:
    """Takes SIGTERM over from Daphne's reactor, once that runs; does nothing where there is none."""
    reactor: Any = sys.modules.get("twisted.internet.reactor")
    if reactor is not None:
        reactor.callWhenRunning(_take_over, reactor, draining)


def _take_over(reactor: Any, draining: Draining) -> None:
    def asked(_: int, __: Any) -> None:
        # Between two lines of whatever runs: the reactor shall do it.
        reactor.callFromThread(_leave, reactor, draining)

    signal.signal(signal.SIGTERM, asked)


def _leave(reactor: Any, draining: Draining) -> None:
    if draining.is_leaving:
        # Asked twice: at once.
        reactor.stop()
        return
    draining.is_leaving = True
    for reader in reactor.getReaders():
        if hasattr(reader, "stopListening"):
            reader.stopListening()
    _look(reactor, draining, time.monotonic())


def _look(reactor: Any, draining: Draining, since_s: float) -> None:
    gone_s = time.monotonic() - since_s
    if gone_s >= PATIENCE_S or (gone_s >= LINGER_S and not draining.under_way):
        reactor.stop()
    else:
        reactor.callLater(LOOK_EVERY_S, _look, reactor, draining, since_s)
