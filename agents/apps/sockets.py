"""A websocket to an app, over a stream that is open already (RFC 6455, by the part of `websockets` that does no I/O).

What comes from the app is not trusted: sizes and times are bounded. The app sees a browser on its own machine: servers
of development open no socket for pages of other hosts, and who may open one was asked before.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import Final

from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.protocol import OPEN
from websockets.typing import Origin, Subprotocol
from websockets.uri import WebSocketURI

from agents.apps.exchange import BadAnswer, Headers

MOST_MESSAGE_BYTES: Final = 8_000_000
MOST_WAITING_BYTES: Final = 4_000_000
"""That the app has not read yet."""
_READ_BYTES: Final = 65_536
_OF_MESSAGES: Final = (Opcode.TEXT, Opcode.BINARY, Opcode.CONT)
GOING_AWAY: Final = 1001
_OWN: Final = range(3000, 5000)
"""Codes by which applications say why they close; of the others only the ordinary end is passed on."""
# The handshake's own, and what its two connections do not share.
_OURS: Final = {b"host", b"origin", b"connection", b"upgrade", b"keep-alive", b"content-length", b"transfer-encoding"}


class AppSocket:
    """Open it, then say and hear at the same time; `code` says how it was closed once nothing more is heard."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._protocol: ClientProtocol | None = None
        self._unread: list[Frame] = []

    async def open(self, target: bytes, *, port: int, headers: Headers, subprotocols: Sequence[str]) -> str | None:
        """The subprotocol that the app chose. Raises BadAnswer where it does not want to."""
        path, _, query = target.decode("latin-1").partition("?")
        self._protocol = protocol = ClientProtocol(
            WebSocketURI(secure=False, host="localhost", port=port, path=path, query=query),
            origin=Origin(f"http://localhost:{port}"),
            subprotocols=[Subprotocol(name) for name in subprotocols] or None,
            max_size=MOST_MESSAGE_BYTES,
        )
        request = protocol.connect()
        for name, value in headers:
            if name.lower() not in _OURS and not name.lower().startswith(b"sec-websocket-") and value.isascii():
                request.headers[name.decode("latin-1")] = value.decode("latin-1")
        protocol.send_request(request)
        self._flush()
        while True:
            await self._read(protocol)
            events = protocol.events_received()
            if protocol.handshake_exc is not None:
                raise BadAnswer("The app opens no websocket there.")
            if events:
                # The answer to the handshake is the first of them.
                self._unread = [event for event in events if isinstance(event, Frame)]
                return protocol.subprotocol
            if self._reader.at_eof():
                raise BadAnswer("The app closed the connection without an answer.")

    def say(self, message: str | bytes) -> None:
        """Never waits. Raises BadAnswer where the app reads too slowly; what is said to a closed one is lost."""
        protocol = self._opened()
        if protocol.state is not OPEN:
            return
        if isinstance(message, str):
            protocol.send_text(message.encode())
        else:
            protocol.send_binary(message)
        self._flush()
        if self._writer.transport.get_write_buffer_size() > MOST_WAITING_BYTES:
            raise BadAnswer("The app does not read what is sent to it.")

    async def heard(self) -> AsyncIterator[str | bytes]:
        """Whole messages, until either side has closed."""
        protocol = self._opened()
        pieces: list[bytes] = []
        is_text = False
        while True:
            frames, self._unread = self._unread, []
            frames += [event for event in protocol.events_received() if isinstance(event, Frame)]
            for frame in frames:
                if frame.opcode not in _OF_MESSAGES:
                    continue
                if frame.opcode is not Opcode.CONT:
                    is_text, pieces = frame.opcode is Opcode.TEXT, []
                pieces.append(bytes(frame.data))
                if frame.fin:
                    content, pieces = b"".join(pieces), []
                    yield content.decode("utf-8", "replace") if is_text else content
            if protocol.state is not OPEN or self._reader.at_eof():
                return
            await self._read(protocol)

    @property
    def code(self) -> int:
        """For the browser: as the app closed, as far as that is for others to know."""
        closed = self._protocol.close_rcvd if self._protocol is not None else None
        return _told(closed.code if closed is not None else None)

    def close(self, code: int | None = None) -> None:
        """`code`: as the browser closed. Nothing is waited for."""
        if self._protocol is not None and self._protocol.state is OPEN:
            with suppress(OSError):
                self._protocol.send_close(_told(code))
                self._flush()
        if self._writer.transport.get_write_buffer_size():
            # The app does not read: it would be waited for without an end.
            self._writer.transport.abort()
        else:
            self._writer.close()

    # --- inside

    def _opened(self) -> ClientProtocol:
        assert self._protocol is not None, "it was not opened"
        return self._protocol

    async def _read(self, protocol: ClientProtocol) -> None:
        content = await self._reader.read(_READ_BYTES)
        if content:
            protocol.receive_data(content)
        else:
            protocol.receive_eof()
        self._flush()

    def _flush(self) -> None:
        """Also what is answered without being asked: pongs, and the echo of a close."""
        for content in self._opened().data_to_send():
            if content:
                self._writer.write(content)


def _told(code: int | None) -> int:
    return code if code is not None and (code == 1000 or code in _OWN) else GOING_AWAY
