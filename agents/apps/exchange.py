"""One HTTP/1.1 exchange over a stream that is open already, by h11. What comes from the app is not trusted: its size
and time are bounded by whoever reads."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import h11

Headers = Sequence[tuple[bytes, bytes]]
HOP_BY_HOP: Final = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"upgrade",
    }
)
"""Of one connection, and not passed on (RFC 9110, 7.6.1). How a body is framed is for whoever passes it on to say."""
_READ_BYTES: Final = 65_536


class BadAnswer(Exception):
    """What came is no HTTP; the message says what is wrong with it, without a word of the app's."""


@dataclass(frozen=True, slots=True)
class Head:
    status: int
    headers: Headers


class Exchange:
    """Send the head and the body, then read the head and the body."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._state = h11.Connection(our_role=h11.CLIENT, max_incomplete_event_size=_READ_BYTES)

    async def ask(self, method: str, target: bytes, headers: Headers) -> None:
        await self._send(h11.Request(method=method, target=target, headers=list(headers)))

    async def give(self, body: bytes) -> None:
        await self._send(h11.Data(data=body))

    async def head(self) -> Head:
        """Ends the body that was given. Raises BadAnswer."""
        await self._send(h11.EndOfMessage())
        while True:
            event = await self._next()
            if isinstance(event, h11.Response):
                return Head(event.status_code, event.headers.raw_items())
            if not isinstance(event, h11.InformationalResponse):
                raise BadAnswer("The app closed the connection without an answer.")

    async def body(self) -> AsyncIterator[bytes]:
        """Raises BadAnswer where it breaks off."""
        while True:
            event = await self._next()
            if isinstance(event, h11.Data):
                yield bytes(event.data)
            else:
                return

    def close(self) -> None:
        """Whatever is not sent by now is of no use to the other side."""
        self._writer.transport.abort()

    async def _send(self, event: Any) -> None:
        try:
            raw = self._state.send(event)
        except h11.LocalProtocolError as error:
            raise BadAnswer("The request cannot be passed on to the app.") from error
        if raw:
            self._writer.write(raw)
            await self._writer.drain()

    async def _next(self) -> Any:
        try:
            while True:
                event = self._state.next_event()
                if event is not h11.NEED_DATA:
                    return event
                self._state.receive_data(await self._reader.read(_READ_BYTES))
        except h11.RemoteProtocolError as error:
            raise BadAnswer("What the app answered is no HTTP.") from error
