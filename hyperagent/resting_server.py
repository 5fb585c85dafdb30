"""A web server to which nobody is connected does nothing, and holds nothing of those who were.

Daphne looks after its connections each second, and at their time-outs every two, whether or not there are any; and
Twisted writes down each second what time it is, for a log that nobody keeps.
"""

from collections.abc import Callable
from typing import Any

from daphne.http_protocol import WebRequest
from daphne.server import Server
from twisted.internet import reactor as twisted_reactor

reactor: Any = twisted_reactor
# As Daphne waits before its first look.
LOOK_AFTER_S = 1


class RestingServer(Server):  # type: ignore[misc]
    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._resting: list[Callable[[], None]] = []

    def listen_success(self, port: Any) -> None:
        super().listen_success(port)
        clock, self.http_factory._logDateTimeCall = self.http_factory._logDateTimeCall, None
        if clock is not None:
            clock.cancel()

    def application_checker(self) -> None:
        self._look(super().application_checker)

    def timeout_checker(self) -> None:
        self._look(super().timeout_checker)

    def protocol_connected(self, protocol: Any) -> None:
        super().protocol_connected(protocol)
        resting, self._resting = self._resting, []
        for look in resting:
            reactor.callLater(LOOK_AFTER_S, look)

    def protocol_disconnected(self, protocol: Any) -> None:
        super().protocol_disconnected(protocol)
        if isinstance(protocol, WebRequest) and protocol.transport is None:
            # A websocket took its connection over. Twisted still has the request in line, and each holds the other.
            protocol.channel.requests.clear()

    def _look(self, look: Callable[[], None]) -> None:
        """`look` sees to the next one by itself."""
        if self.connections:
            look()
        else:
            self._resting.append(look)
