"""A websocket to an app, over a stream that is open already (RFC 6455, by the part of `websockets` that does no I/O).

What comes from the app is not trusted: sizes and times are bounded. The app sees a browser on its own machine: servers
of development open no socket for pages of other hosts, and who may open one was asked before.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
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
_READ_BYTES: Final = 8_192
"""At once: of frames of two bytes each, reading so many takes the loop 20 ms."""
LEAST_BYTES: Final = 2_000
"""As which the smallest frame counts, whatever it is: what it takes is not its bytes."""
_OF_MESSAGES: Final = (Opcode.TEXT, Opcode.BINARY, Opcode.CONT)
GOING_AWAY: Final = 1001
_OWN: Final = range(3000, 5000)
"""Codes by which applications say why they close; of the others only the ordinary end is passed on."""
# The handshake's own, and what its two connections do not share.
_OURS: Final = {b"host", b"origin", b"connection", b"upgrade", b"keep-alive", b"content-length", b"transfer-encoding"}


class Room:
    """For what has come of messages that are not whole yet: so much at most, of all that share it."""

    def __init__(self, most_bytes: int, outer: "Room | None" = None) -> None:
        self._left = most_bytes
        self._outer = outer

    def take(self, size: int) -> None:
        """Less than nothing gives back. Raises BadAnswer where there is no more."""
        if size > self._left:
            raise BadAnswer("The app begins more messages at once than are held.")
        if self._outer is not None:
            self._outer.take(size)
        self._left -= size


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
        self._check_it_reads()

    async def heard(self, keep_pace: Callable[[int], Awaitable[None]], room: Room) -> AsyncGenerator[str | bytes, None]:
        """Whole messages, until either side has closed. `keep_pace` is awaited with the size of what was read before
        more is, whether or not it is a message. Raises BadAnswer where the app does not read what it asks for (pongs),
        and where there is no room for what it begins."""
        protocol = self._opened()
        content, held, read = bytearray(), 0, 0
        is_text = False
        try:
            while True:
                frames, self._unread = self._unread, []
                frames += [event for event in protocol.events_received() if isinstance(event, Frame)]
                await keep_pace(max(read, LEAST_BYTES * len(frames)))
                for frame in frames:
                    if frame.opcode not in _OF_MESSAGES:
                        continue
                    if frame.opcode is not Opcode.CONT:
                        is_text, content = frame.opcode is Opcode.TEXT, bytearray()
                    content += frame.data
                    if frame.fin:
                        whole, content = bytes(content), bytearray()
                        yield whole.decode("utf-8", "replace") if is_text else whole
                if protocol.state is not OPEN or self._reader.at_eof():
                    return
                waiting = len(content) + len(protocol.reader.buffer)
                room.take(waiting - held)
                held = waiting
                read = await self._read(protocol)
        finally:
            room.take(-held)

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

    async def _read(self, protocol: ClientProtocol) -> int:
        """How many bytes came; 0 at the end."""
        content = await self._reader.read(_READ_BYTES)
        if content:
            protocol.receive_data(content)
        else:
            protocol.receive_eof()
        self._flush()
        self._check_it_reads()
        return len(content)

    def _check_it_reads(self) -> None:
        if self._writer.transport.get_write_buffer_size() > MOST_WAITING_BYTES:
            raise BadAnswer("The app does not read what is sent to it.")

    def _flush(self) -> None:
        """Also what is answered without being asked: pongs, and the echo of a close."""
        for content in self._opened().data_to_send():
            if content:
                self._writer.write(content)


def _told(code: int | None) -> int:
    return code if code is not None and (code == 1000 or code in _OWN) else GOING_AWAY
