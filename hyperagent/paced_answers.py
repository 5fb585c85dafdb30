"""Answers over HTTP, as Daphne does not give them: no faster than they are read, so that nobody who reads slowly makes
this process hold what they have not read; cut off where they cannot be given to their end, so that it shows; and
without their body for whoever asks for the head alone. What is asked with a form is Django's to read, what came in
pieces is told as whole, and what is larger than anything that is taken is not heard to its end.
"""

import asyncio
from typing import Any

from daphne import http_protocol
from daphne.http_protocol import WebRequest
from django.conf import settings

from hyperagent.eager_sockets import EagerProtocol
from hyperagent.lib.asgi import CUT_OFF, PACED
from hyperagent.refusing_channel import RefusingChannel, refuse
from hyperagent.resting_server import RestingServer

# Whoever has read nothing for so long is not there any more.
STALLED_S = 120.0


class PacedRequest(WebRequest):  # type: ignore[misc]
    """`_room` is there while Twisted has more of the answer than it wants to hold."""

    _heard_bytes = 0
    _is_refused = False
    _room: asyncio.Event | None = None

    def __init__(self, *args: Any, **more: Any) -> None:
        # Twisted would take a form apart before anybody is asked who sends it, whole and while all others wait: for an
        # upload of 80 MB a GB of memory, and eight seconds in which nobody has an answer.
        super().__init__(*args, parsePOSTFormSubmission=False, **more)

    def gotLength(self, length: int | None) -> None:  # noqa: N802 - Twisted's
        super().gotLength(length)
        if length is not None and length > settings.REQUEST_MAX_BYTES:
            self._refuse()

    def handleContentChunk(self, data: bytes) -> None:  # noqa: N802 - Twisted's
        self._heard_bytes += len(data)
        if self._heard_bytes > settings.REQUEST_MAX_BYTES:
            self._refuse()
        if not self._is_refused:
            super().handleContentChunk(data)

    def process(self) -> None:
        if self._is_refused:
            self.loseConnection()
            return
        if self.requestHeaders.hasHeader(b"transfer-encoding"):
            # By now it is whole. A body without a length counts as none at all where it is read.
            self.requestHeaders.removeHeader(b"transfer-encoding")
            self.requestHeaders.setRawHeaders(b"content-length", [b"%d" % self._heard_bytes])
        super().process()

    async def may_go_on(self) -> None:
        if self._room is None:
            return
        try:
            async with asyncio.timeout(STALLED_S):
                await self._room.wait()
        except TimeoutError:
            self._cut_off()

    def handle_reply(self, message: Any) -> None:
        if message["type"] == CUT_OFF["type"]:
            self._cut_off()
            return
        if message["type"] == "http.response.body" and self.method == b"HEAD":
            # Twisted holds back the first piece alone: the second would be read as the connection's next answer. What
            # makes them is told that nobody is there any more, for a stream might have no end.
            message = {"type": "http.response.body"}
        if message.get("more_body") and self.producer is None and self.channel is not None:
            self.registerProducer(self, True)
        super().handle_reply(message)

    def handle_exception(self, exception: BaseException) -> None:
        # Daphne would begin another answer, fail over that, and never again look after its connections.
        if self._response_started:
            self._cut_off()
        else:
            super().handle_exception(exception)

    def finish(self) -> None:
        self._let_go()
        super().finish()

    def connectionLost(self, reason: Any) -> None:  # noqa: N802 - Twisted's
        self._let_go()
        super().connectionLost(reason)

    # --- what Twisted asks of who produces an answer

    def pauseProducing(self) -> None:  # noqa: N802 - Twisted's
        self._room = self._room or asyncio.Event()

    def resumeProducing(self) -> None:  # noqa: N802 - Twisted's
        room, self._room = self._room, None
        if room is not None:
            room.set()

    stopProducing = resumeProducing  # noqa: N815 - Twisted's

    # --- inside

    def _refuse(self) -> None:
        """Who asks would be known only once all of it is here, on this machine's disk."""
        if self.channel is not None and not self._is_refused:
            self._is_refused = True
            said = f"A request has at most {settings.REQUEST_MAX_BYTES:,} bytes here. Send less at once."
            refuse(self.channel, "413 Content Too Large", "too_large", said)

    def _let_go(self) -> None:
        if self.producer is not None:
            self.unregisterProducer()
        self.resumeProducing()

    def _cut_off(self) -> None:
        if self.channel is not None:
            self.channel.transport.abortConnection()


class PacedServer(RestingServer):
    def run(self) -> None:
        http_protocol.WebRequest = PacedRequest
        # Without TLS there is no other protocol to change to, for which Twisted would wrap it.
        http_protocol.HTTPFactory.protocol = RefusingChannel
        super().run()

    async def handle_reply(self, protocol: Any, message: Any) -> None:
        await super().handle_reply(protocol, message)
        is_paced = isinstance(protocol, EagerProtocol) and message.keys() >= PACED.keys()
        if is_paced or isinstance(protocol, PacedRequest):
            await protocol.may_go_on()
