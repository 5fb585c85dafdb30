"""What a web process says on its websockets is handed to the kernel at once, as far as that takes it.

Twisted would ask the kernel for each message to be told when there is room, and then to be told no more: of a stream,
that was a third of what a message takes. And Autobahn would put together what it logs of each, whether or not anybody
reads that. What cannot be taken closes the websocket with the protocol's code for that. Of one that was closed nothing
stays. What is said as `PACED` returns once there is room for more.
"""

import asyncio
from typing import Any

from daphne.ws_protocol import WebSocketFactory, WebSocketProtocol
from twisted.internet.tcp import Connection

MOST_WAITING_BYTES = 1_000_000
# Well above what consumers bear (`conversations.frames`): they say what is too long.
MOST_HEARD_BYTES = 16_000_000
STALLED_S = 120.0
_LOOKS_EVERY_S = 0.05


class EagerProtocol(WebSocketProtocol):  # type: ignore[misc]
    # What stands here goes before the factory's. Daphne's number, a MiB, is near what consumers take, and holds for
    # what clients are told as well; and a connection that is dropped tells nobody why, so its client comes again.
    maxMessagePayloadSize = maxFramePayloadSize = MOST_HEARD_BYTES  # noqa: N815 - Autobahn's
    failByDrop = False  # noqa: N815 - Autobahn's

    def sendData(self, data: bytes, sync: bool = False, chopsize: int | None = None) -> None:  # noqa: N802 - Autobahn's
        if self.state != self.STATE_OPEN or sync or chopsize or self.send_queue:
            super().sendData(data, sync, chopsize)
            return
        self.trafficStats.outgoingOctetsWireLevel += len(data)
        if left := data[_taken(self.transport, data) :]:
            self.transport.write(left)

    async def may_go_on(self) -> None:
        """Returns once there is room for more. Whoever has made none for two minutes is not there any more."""
        until = asyncio.get_running_loop().time() + STALLED_S
        least = _waiting_bytes(self.transport)
        while least > MOST_WAITING_BYTES:
            await asyncio.sleep(_LOOKS_EVERY_S)
            now, waiting = asyncio.get_running_loop().time(), _waiting_bytes(self.transport)
            if waiting < least:
                least, until = waiting, now + STALLED_S
            elif now >= until:
                self.transport.abortConnection()
                return

    def _connectionLost(self, reason: Any) -> None:  # noqa: N802 - Autobahn's
        super()._connectionLost(reason)
        # What nobody waits for any more has this as its result: each would hold the other.
        self.is_closed = None


def _taken(transport: Connection, data: bytes) -> int:
    """How many bytes of it the kernel took. None, where something waits that was said before, or TLS has to come
    first; nor where the connection is broken, which Twisted finds when it tries."""
    if not isinstance(transport, Connection) or transport.TLS or not transport.connected:
        return 0
    if transport.dataBuffer or transport._tempDataBuffer:
        return 0
    taken = transport.writeSomeData(data)
    return taken if isinstance(taken, int) else 0


def _waiting_bytes(transport: Any) -> int:
    """That Twisted holds for one who has not read yet; none of a connection that is gone."""
    if not isinstance(transport, Connection) or not transport.connected:
        return 0
    return int(len(transport.dataBuffer) - transport.offset + transport._tempDataLen)


def install() -> None:
    WebSocketFactory.protocol = EagerProtocol
