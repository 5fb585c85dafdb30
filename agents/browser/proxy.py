"""The door "web" of a desktop: an HTTP proxy by which its browser reaches public addresses of the web, nothing else.

It lives in the process that holds the boxes, outside the walls. What comes from the box is taken for hostile: heads,
connections and time are bounded. Encrypted connections are passed on unread.
"""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import h11
import structlog

from agents.apps.exchange import HOP_BY_HOP, BadAnswer, Exchange, Head, Headers
from agents.sandbox.host.address import short_path
from hyperagent.lib.outside.addresses import BadAddress, canonical
from hyperagent.lib.outside.tunnel import READ_BYTES, Because, Lookup, NotConnected, asked_of_dns, connected

log = structlog.get_logger(__name__)

STATUS_HEADER: Final = "proxy-status"
"""Has the reason, where the proxy and not the site answered; a site's own is taken out where it can be read."""
_HEAD_BYTES: Final = 1 << 16
_NOT_THEIRS: Final = HOP_BY_HOP | {STATUS_HEADER.encode()}
_STATUSES: Final = {Because.PROHIBITED: 403, Because.TIMEOUT: 504}

NO_REQUEST: Final = "What the browser asked for is no request to a proxy."
NO_ANSWER: Final = "What the server answered is no HTTP, or broke off."


@dataclass(frozen=True, slots=True)
class Bounds:
    connections: int = 64
    head_s: float = 30
    connecting_s: float = 15
    idle_s: float = 300


class WebDoor:
    """One for each desktop. `private`: `host:port` within one's own networks that may be reached all the same."""

    def __init__(
        self,
        path: Path,
        *,
        private: Collection[str] = (),
        bounds: Bounds | None = None,
        lookup: Lookup = asked_of_dns,
    ) -> None:
        self.path = path
        self._private = frozenset(private)
        self._bounds = bounds or Bounds()
        self._lookup = lookup
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        with short_path(self.path) as path:
            self._server = await asyncio.start_unix_server(self._serve, path, limit=READ_BYTES)
        self.path.chmod(0o600)

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for connection in tuple(self._connections):
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        with suppress(OSError):
            self.path.unlink()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if len(self._connections) >= self._bounds.connections:
            writer.transport.abort()
            return
        self._connections.add(task)
        try:
            await self._one(_Asker(reader, writer))
        except (OSError, TimeoutError, h11.ProtocolError, BadAnswer, asyncio.CancelledError):
            # Cancelled when the box closes; nobody waits for this task. All else is the end of one connection.
            return
        finally:
            self._connections.discard(task)
            writer.close()

    async def _one(self, asker: "_Asker") -> None:
        """One request, and the connection ends: the next may go elsewhere."""
        async with asyncio.timeout(self._bounds.head_s):
            request = await asker.request()
        if request is None:
            return
        method, target = request.method.decode(), request.target.decode("ascii", "replace")
        try:
            if method == "CONNECT":
                host, port = _place(target)
                far = await self._connected(host, port)
                await self._tunnel(asker, *far)
            else:
                await self._exchange(asker, request, method, target)
        except NotConnected as fault:
            await asker.refuse(_STATUSES.get(fault.because, 502), fault.because, fault.message)

    async def _connected(self, host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await connected(
            host,
            port,
            timeout_s=self._bounds.connecting_s,
            allow_private=f"{host}:{port}" in self._private,
            lookup=self._lookup,
        )

    async def _tunnel(self, asker: "_Asker", reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            asker.writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            writer.write(asker.ahead)
            async with asyncio.timeout(self._bounds.idle_s) as clock:
                await asyncio.gather(
                    _pass(asker.reader, writer, clock, self._bounds.idle_s),
                    _pass(reader, asker.writer, clock, self._bounds.idle_s),
                )
        finally:
            writer.transport.abort()

    async def _exchange(self, asker: "_Asker", request: h11.Request, method: str, target: str) -> None:
        try:
            # The port is looked at when it is connected to.
            address = canonical(target, allow_private=True)
        except BadAddress as fault:
            raise NotConnected(Because.UNAVAILABLE, str(fault)) from None
        if address.scheme != "http":
            raise NotConnected(Because.UNAVAILABLE, NO_REQUEST)
        exchange = Exchange(*await self._connected(address.host, address.port))
        begun = False
        try:
            async with asyncio.timeout(self._bounds.idle_s) as clock:
                host = address.origin.removeprefix("http://").encode()
                await exchange.ask(method, address.path.encode("ascii"), _passed_on(request, host))
                async for piece in asker.body():
                    await exchange.give(piece)
                    _later(clock, self._bounds.idle_s)
                head = await exchange.head()
                begun = True
                await asker.answer(head)
                async for piece in exchange.body():
                    await asker.give(piece)
                    _later(clock, self._bounds.idle_s)
                await asker.end()
        except (BadAnswer, OSError) as fault:
            if begun:
                raise
            raise NotConnected(Because.UNAVAILABLE, NO_ANSWER) from fault
        finally:
            exchange.close()


class _Asker:
    """The browser's side of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self._state = h11.Connection(our_role=h11.SERVER, max_incomplete_event_size=_HEAD_BYTES)

    @property
    def ahead(self) -> bytes:
        """What was said behind the head of a CONNECT already."""
        return bytes(self._state.trailing_data[0])

    async def request(self) -> h11.Request | None:
        """None where the connection was closed without one."""
        event = await self._next()
        if not isinstance(event, h11.Request):
            return None
        if event.method == b"CONNECT":
            await self._next()
        return event

    async def body(self) -> AsyncIterator[bytes]:
        while isinstance(event := await self._next(), h11.Data):
            yield bytes(event.data)

    async def answer(self, head: Head) -> None:
        kept = [(name, value) for name, value in head.headers if name.lower() not in _NOT_THEIRS]
        await self._send(h11.Response(status_code=head.status, headers=[*kept, (b"connection", b"close")]))

    async def give(self, piece: bytes) -> None:
        await self._send(h11.Data(data=piece))

    async def end(self) -> None:
        await self._send(h11.EndOfMessage())

    async def refuse(self, status: int, because: str, message: str) -> None:
        details = message.encode("ascii", "replace").decode().replace("\\", "").replace('"', "'")
        said = message.encode()
        headers = [
            (STATUS_HEADER, f'HyperAgent; error={because}; details="{details}"'),
            ("content-type", "text/plain; charset=utf-8"),
            ("content-length", str(len(said))),
            ("connection", "close"),
        ]
        await self._send(h11.Response(status_code=status, headers=headers))
        await self.give(said)
        await self.end()

    async def _send(self, event: h11.Event) -> None:
        if raw := self._state.send(event):
            self.writer.write(raw)
            await self.writer.drain()

    async def _next(self) -> object:
        while True:
            event = self._state.next_event()
            if event is not h11.NEED_DATA:
                return event
            self._state.receive_data(await self.reader.read(READ_BYTES))


def _place(target: str) -> tuple[str, int]:
    """What CONNECT names: `host:port`, an IPv6 address in brackets. Raises NotConnected."""
    try:
        parts = urlsplit(f"//{target}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or not port or "@" in target or "/" in target:
        raise NotConnected(Because.UNAVAILABLE, NO_REQUEST)
    return host, port


def _passed_on(request: h11.Request, host: bytes) -> Headers:
    not_theirs = _NOT_THEIRS | {b"host", b"expect"}
    kept = [(name, value) for name, value in request.headers.raw_items() if name.lower() not in not_theirs]
    return [(b"Host", host), *kept, (b"Connection", b"close")]


async def _pass(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, clock: asyncio.Timeout, idle_s: float
) -> None:
    while piece := await reader.read(READ_BYTES):
        _later(clock, idle_s)
        writer.write(piece)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


def _later(clock: asyncio.Timeout, idle_s: float) -> None:
    clock.reschedule(asyncio.get_running_loop().time() + idle_s)
