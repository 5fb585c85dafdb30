"""Websockets of apps, through the proxy: who may open one, what passes, what ends it. A real server is the app."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Self

import pytest
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.utils import accept_key

from agents.apps import joining, proxy, records, sockets
from agents.apps.joining import Pace
from agents.apps.proxy import Previews
from agents.sandbox.base import SandboxError
from tests.apps.test_proxy import APP, LABEL, Box
from tests.pauses import with_longest_pause_s

HOST = f"{LABEL}.localhost:8000"
Handler = Callable[[ServerConnection], Awaitable[None]]
Raw = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Browser:
    """One end of a websocket as the server gives it to the application (ASGI)."""

    def __init__(self, previews: Any, *, path: str = "/", query: str = "", **headers: str) -> None:
        told = {"host": HOST, "origin": f"http://{HOST}", **headers}
        self.scope = {
            "type": "websocket",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in told.items() if value],
            "subprotocols": told.get("sec_websocket_protocol", "").split(", ")
            if "sec_websocket_protocol" in told
            else [],
        }
        self._previews = previews
        self._to_app: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._from_app: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def __aenter__(self) -> Self:
        self._to_app.put_nowait({"type": "websocket.connect"})
        self.task = asyncio.ensure_future(self._previews(self.scope, self._to_app.get, self._from_app.put))
        return self

    async def __aexit__(self, *_: object) -> None:
        self.leave()
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(self.task), 5)
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)

    def leave(self, code: int = 1001) -> None:
        self._to_app.put_nowait({"type": "websocket.disconnect", "code": code})

    def say(self, message: str | bytes) -> None:
        kind = "text" if isinstance(message, str) else "bytes"
        self._to_app.put_nowait({"type": "websocket.receive", kind: message})

    async def hears(self) -> dict[str, Any]:
        return await asyncio.wait_for(self._from_app.get(), 10)

    async def is_told(self) -> str | bytes:
        message = await self.hears()
        assert message["type"] == "websocket.send", message
        told: str | bytes = message.get("text") or message["bytes"]
        return told

    @property
    def waiting(self) -> int:
        """Messages that nobody has looked at."""
        return self._from_app.qsize()

    async def is_refused(self) -> bool:
        """At the handshake."""
        return await self.hears() == {"type": "websocket.close", "code": joining.REFUSED}

    async def is_closed(self) -> int:
        message = await self.hears()
        assert message["type"] == "websocket.close", message
        code: int = message["code"]
        return code


@pytest.fixture
def previews(monkeypatch: pytest.MonkeyPatch) -> Callable[[int | None], Any]:
    """The proxy before an app that listens at this port; None: its box is gone. 0: nothing listens in it."""

    def made(port: int | None) -> Any:
        async def existing(*_: Any) -> Box | None:
            return None if port is None else Box(port)

        async def inner(*_: Any) -> None:
            raise AssertionError("this was for the app")

        monkeypatch.setattr(records, "by_label", lambda label: APP if label == LABEL else None)
        host: Any = type("Host", (), {"existing": staticmethod(existing)})
        return Previews(inner, suffix="localhost", host=lambda: host)

    return made


@asynccontextmanager
async def an_app(handler: Handler, **options: Any) -> AsyncIterator[int]:
    async with serve(handler, "127.0.0.1", 0, **options) as server:
        yield next(iter(server.sockets)).getsockname()[1]


@asynccontextmanager
async def raw(handler: Raw) -> AsyncIterator[int]:
    server = await asyncio.start_server(handler, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def echoes(connection: ServerConnection) -> None:
    async for message in connection:
        await connection.send(message)


async def test_an_app_and_its_page_talk_by_a_websocket(previews: Any) -> None:
    asked: list[Any] = []

    async def app(connection: ServerConnection) -> None:
        asked.append(connection.request)
        await echoes(connection)

    async with an_app(app, subprotocols=["vite-hmr"]) as port:
        more = {"cookie": "theme=dark", "sec_websocket_protocol": "other, vite-hmr", "sec_websocket_key": "theirs"}
        async with Browser(previews(port), path="/hot/a%2Fb", query="token=a%20b", **more) as browser:
            accepted = await browser.hears()
            browser.say("Grüße\n")
            browser.say(b"\x00\xff" * 300_000)
            told = [await browser.is_told(), await browser.is_told()]

    assert accepted == {"type": "websocket.accept", "subprotocol": "vite-hmr"}
    assert told == ["Grüße\n", b"\x00\xff" * 300_000]
    assert asked[0].path == "/hot/a%2Fb?token=a%20b"
    assert asked[0].headers["Cookie"] == "theme=dark"
    assert asked[0].headers["Sec-WebSocket-Key"] != "theirs"
    # Servers of development open none for a name that they do not know.
    assert (asked[0].headers["Host"], asked[0].headers["Origin"]) == (
        f"localhost:{APP.port}",
        f"http://localhost:{APP.port}",
    )


async def test_pages_of_others_and_who_has_no_label_open_none(previews: Any) -> None:
    async with an_app(echoes) as port:
        there = previews(port)
        refused = [
            Browser(there, origin="http://evil.example.org"),
            Browser(there, origin="http://localhost:8000"),
            Browser(there, origin="null"),
            Browser(there, host=f"{'a' * 32}.localhost:8000", origin=f"http://{'a' * 32}.localhost:8000"),
            Browser(there, host="x.localhost:8000", origin="http://x.localhost:8000"),
            Browser(previews(None)),
            Browser(previews(0)),
        ]
        for browser in refused:
            async with browser:
                assert await browser.is_refused(), browser.scope["headers"]
        async with Browser(there, origin="") as program:
            assert (await program.hears())["type"] == "websocket.accept"


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SSH-2.0-OpenSSH\r\n",
        b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
        b"sec-websocket-accept: wrong\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 20_000,
    ],
)
async def test_an_app_that_opens_none_is_none(answer: bytes, previews: Any) -> None:
    async def app(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        writer.close()

    async with raw(app) as port, Browser(previews(port)) as browser:
        assert await browser.is_refused()


async def test_an_app_that_never_answers_the_handshake_is_given_up(
    previews: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proxy, "OPENS_WITHIN_S", 0.05)

    async def app(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with raw(app) as port, Browser(previews(port)) as browser:
        assert await browser.is_refused()


@pytest.mark.parametrize(("code", "told"), [(1000, 1000), (4001, 4001), (1011, joining.ENDED)])
async def test_an_app_closes_and_its_page_is_told(code: int, told: int, previews: Any) -> None:
    async def app(connection: ServerConnection) -> None:
        await connection.send("Bye")
        await connection.close(code, "not for others")

    async with an_app(app) as port, Browser(previews(port)) as browser:
        await browser.hears()
        assert await browser.is_told() == "Bye"
        assert await browser.is_closed() == told


async def test_a_socket_ends_with_its_app(previews: Any) -> None:
    async def app(connection: ServerConnection) -> None:
        connection.transport.abort()

    async with an_app(app) as port, Browser(previews(port)) as browser:
        await browser.hears()
        assert await browser.is_closed() == joining.ENDED


async def test_an_app_learns_that_its_page_has_gone(previews: Any) -> None:
    closed: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()

    async def app(connection: ServerConnection) -> None:
        with suppress(ConnectionClosed):
            await connection.recv()
        closed.set_result(connection.close_code)

    async with an_app(app) as port, Browser(previews(port)) as browser:
        await browser.hears()
        browser.leave(4000)
        assert await asyncio.wait_for(closed, 10) == 4000


async def test_what_an_app_sends_is_bounded(previews: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "MOST_MESSAGE_BYTES", 1_000)

    async def app(connection: ServerConnection) -> None:
        await connection.send("x" * 1_000)
        await connection.send(["x" * 600, "x" * 600])
        await connection.wait_closed()

    async with an_app(app) as port, Browser(previews(port)) as browser:
        await browser.hears()
        assert await browser.is_told() == "x" * 1_000
        assert await browser.is_closed() == joining.ENDED


async def test_an_app_that_does_not_read_loses_its_page(previews: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "MOST_WAITING_BYTES", 100_000)
    is_over = asyncio.Event()

    async def app(connection: ServerConnection) -> None:
        connection.transport.pause_reading()
        await is_over.wait()
        connection.transport.abort()

    async with an_app(app) as port, Browser(previews(port)) as browser:
        await browser.hears()
        for _ in range(100):
            browser.say(b"x" * 1_000_000)
        try:
            assert await browser.is_closed() == joining.TOO_SLOW
        finally:
            is_over.set()


def frame(opcode: int, content: bytes = b"", *, fin: bool = True) -> bytes:
    """As a server sends it; up to 125 bytes."""
    return bytes([(0x80 if fin else 0) | opcode, len(content)]) + content


def flooding(first: bytes, then: bytes) -> Raw:
    """An app that opens the socket, sends these for as long as somebody takes them, and reads nothing."""

    async def app(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = (await reader.readuntil(b"\r\n\r\n")).decode()
        (key,) = [line.partition(": ")[2] for line in asked.split("\r\n") if line.startswith("Sec-WebSocket-Key")]
        head = (
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Set-Cookie: sessionid=theirs; Domain=localhost\r\nTransfer-Encoding: chunked\r\nKeep-Alive: timeout=9\r\n"
            f"Sec-WebSocket-Accept: {accept_key(key)}\r\n\r\n"
        )
        writer.write(head.encode() + first)
        with suppress(OSError):
            while then:
                writer.write(then)
                await writer.drain()
                await asyncio.sleep(0)
            await asyncio.Event().wait()

    return app


@pytest.mark.slow
@pytest.mark.threat("T30")
@pytest.mark.parametrize(
    ("first", "then"),
    [
        pytest.param(b"", frame(1, b"a") * 20_000, id="tiny messages"),
        pytest.param(frame(1, fin=False), frame(0, fin=False) * 20_000, id="a message that never ends"),
        pytest.param(b"", frame(9, b"p" * 125) * 1_000, id="pings"),
    ],
)
async def test_an_app_that_floods_holds_up_nobody(first: bytes, then: bytes, previews: Any) -> None:
    async def looks_on() -> None:
        await browser.hears()
        await asyncio.sleep(1.5)

    async with raw(flooding(first, then)) as port, Browser(previews(port)) as browser:
        _, longest_s = await with_longest_pause_s(looks_on())
        assert longest_s < 0.5
        assert browser.waiting < 10_000


@pytest.mark.threat("T30")
async def test_an_app_that_pings_and_reads_no_pong_loses_its_page(
    previews: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sockets, "MOST_WAITING_BYTES", 100_000)
    monkeypatch.setattr(proxy, "AT_ONCE_BYTES", 10**9)
    async with raw(flooding(b"", frame(9, b"p" * 125) * 1_000)) as port, Browser(previews(port)) as browser:
        assert await browser.hears() == {"type": "websocket.accept", "subprotocol": None}
        assert await browser.is_closed() == joining.TOO_SLOW


@pytest.mark.threat("T30")
async def test_all_sockets_of_an_app_begin_no_more_than_is_held(previews: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy, "MOST_BEGUN_BYTES_OF_ONE", 100_000)
    begins = frame(1, fin=False) + frame(0, b"x" * 125, fin=False) * 600

    async def app(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await flooding(begins, b"")(reader, writer)

    async with raw(app) as port:
        there = previews(port)
        async with Browser(there) as one:
            await one.hears()
            async with Browser(there) as two:
                await two.hears()
                ends = {asyncio.ensure_future(browser.is_closed()) for browser in (one, two)}
                done, left = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED, timeout=10)
                for task in left:
                    task.cancel()
        assert [task.result() for task in done] == [joining.TOO_SLOW]


async def test_all_sockets_of_an_app_share_its_pace() -> None:
    """Whoever opens more of them gets no more."""
    pace = Pace(at_once=1_000, per_s=10_000)
    began = asyncio.get_running_loop().time()

    await asyncio.gather(*(pace.keep(500) for _ in range(4)))

    assert asyncio.get_running_loop().time() - began > 0.09


async def test_so_many_for_an_app_and_no_more_until_one_is_closed(
    previews: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proxy, "MOST_SOCKETS_OF_ONE", 2)
    async with an_app(echoes) as port:
        there = previews(port)
        async with Browser(there) as one:
            async with Browser(there) as two:
                await one.hears()
                await two.hears()
                async with Browser(there) as three:
                    assert await three.is_refused()
            async with Browser(there) as four:
                assert (await four.hears())["type"] == "websocket.accept"
        monkeypatch.setattr(proxy, "MOST_SOCKETS", 0)
        async with Browser(there) as five:
            assert await five.is_refused()


async def test_a_socket_is_closed_when_its_app_may_not_be_shown_any_more(
    previews: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joining, "LOOKS_EVERY_S", 0.02)
    monkeypatch.setattr(proxy, "KNOWN_FOR_S", 0)
    async with an_app(echoes) as port, Browser(previews(port)) as browser:
        await browser.hears()
        browser.say("Still there?")
        assert await browser.is_told() == "Still there?"
        monkeypatch.setattr(records, "by_label", lambda _: None)
        assert await browser.is_closed() == joining.REFUSED


async def test_an_app_is_heard_no_faster_than_its_pace() -> None:
    clock = asyncio.get_running_loop().time
    pace = Pace(at_once=1_000, per_s=10_000)
    began = clock()
    await pace.keep(1_000)
    at_once_s = clock() - began
    await pace.keep(500)
    await pace.keep(0)

    assert at_once_s < 0.04 < clock() - began


async def test_where_the_boxes_are_away_no_socket_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    async def existing(*_: Any) -> None:
        raise SandboxError("The process that holds the sandboxes is away.")

    async def inner(*_: Any) -> None:
        raise AssertionError("this was for the app")

    monkeypatch.setattr(records, "by_label", lambda label: APP)
    host: Any = type("Host", (), {"existing": staticmethod(existing)})
    async with Browser(Previews(inner, suffix="localhost", host=lambda: host)) as browser:
        assert await browser.is_refused()
