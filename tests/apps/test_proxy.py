"""What the proxy lets through, in both directions, and what it says of an app that answers wrongly or not at all."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import httpx
import pytest
from django.test import RequestFactory

from agents.apps import proxy, records
from agents.apps.exchange import Head
from agents.apps.proxy import Previews, answer_headers, request_headers
from agents.apps.records import AppRow
from agents.apps.views import address_of
from agents.sandbox.base import SandboxError
from hyperagent.lib.asgi import CUT_OFF

LABEL = "abcdefgh" * 4
APP = AppRow(uuid4(), uuid4(), uuid4(), "Shop", "serve", 5173, LABEL, "1", datetime.now(UTC))
Serving = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Box:
    def __init__(self, port: int) -> None:
        self.port = port

    async def connect(self, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if not self.port:
            raise SandboxError("Nothing listens.")
        return await asyncio.open_connection("127.0.0.1", self.port)


@asynccontextmanager
async def previewing(serve: Serving | None, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Any]:
    """What shows the app that `serve` answers for; None: nothing listens."""

    async def existing(*_: Any) -> Box:
        return Box(server.sockets[0].getsockname()[1] if server else 0)

    async def inner(*_: Any) -> None:
        raise AssertionError("this was for the app")

    monkeypatch.setattr(records, "by_label", lambda label: APP if label == LABEL else None)
    server = await asyncio.start_server(serve, "127.0.0.1", 0) if serve else None
    host: Any = type("Host", (), {"existing": staticmethod(existing)})
    try:
        yield Previews(inner, suffix="localhost", host=lambda: host)
    finally:
        if server:
            server.close()


@asynccontextmanager
async def shown(serve: Serving | None, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[httpx.AsyncClient]:
    """A browser at that app."""
    async with previewing(serve, monkeypatch) as previews:
        transport = httpx.ASGITransport(app=previews)
        async with httpx.AsyncClient(transport=transport, base_url=f"http://{LABEL}.localhost") as client:
            yield client


class Asking:
    """One GET, as a server passes it on. `leaves` once the answer has begun, or stays."""

    scope: Any = {
        "type": "http",
        "method": "GET",
        "path": "/",
        "query_string": b"",
        "headers": [(b"host", f"{LABEL}.localhost".encode())],
    }

    def __init__(self, *, leaves: bool = False) -> None:
        self.said: list[Any] = []
        self._leaves = leaves
        self._begun = asyncio.Event()
        self._heard = iter([{"type": "http.request", "body": b""}])

    async def receive(self) -> Any:
        for message in self._heard:
            return message
        await self._begun.wait()
        if not self._leaves:
            await asyncio.Event().wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        self.said.append(message)
        self._begun.set()


def saying(answer: bytes, heard: list[bytes] | None = None) -> Serving:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.readuntil(b"\r\n\r\n")
        if b"content-length" in request.lower():
            length = int(request.lower().split(b"content-length:")[1].split(b"\r\n")[0])
            request += await reader.readexactly(length)
        if heard is not None:
            heard.append(request)
        writer.write(answer)
        await writer.drain()
        writer.close()

    return serve


async def test_method_path_query_and_body_reach_the_app_and_its_answer_the_browser(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heard: list[bytes] = []
    answer = b"HTTP/1.1 201 Created\r\ncontent-length: 2\r\nx-mine: 1\r\n\r\nok"

    async with shown(saying(answer, heard), monkeypatch) as browser:
        got = await browser.post("/items%2F1?a=b%20c", content=b"name=x", headers={"connection": "keep-alive"})

    assert (got.status_code, got.text, got.headers["x-mine"]) == (201, "ok", "1")
    assert heard[0].startswith(b"POST /items%2F1?a=b%20c HTTP/1.1\r\n")
    assert heard[0].endswith(b"\r\n\r\nname=x")
    assert b"connection: close" in heard[0].lower()


@pytest.mark.parametrize(
    "answer",
    [b"", b"\x00\xff garbage\r\n\r\n", b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 20_000, b"SSH-2.0-OpenSSH\r\n"],
)
async def test_what_is_no_http_is_told_in_a_sentence(answer: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(saying(answer), monkeypatch) as browser:
        got = await browser.get("/")

    assert (got.status_code, got.text) == (502, proxy.NO_ANSWER)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n5\r\nwo",
        b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhello",
    ],
)
async def test_an_answer_that_the_app_does_not_end_is_not_given_as_whole(
    answer: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = Asking()

    async with previewing(saying(answer), monkeypatch) as previews:
        await previews(browser.scope, browser.receive, browser.send)

    assert browser.said[0]["type"] == "http.response.start"
    assert browser.said[-1] == CUT_OFF
    assert all(message["more_body"] for message in browser.said[1:-1])


async def test_a_browser_that_leaves_is_not_answered_any_further(monkeypatch: pytest.MonkeyPatch) -> None:
    left = asyncio.Event()

    async def stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        with suppress(ConnectionError):
            await reader.read()
        left.set()
        writer.close()

    browser = Asking(leaves=True)
    async with previewing(stream, monkeypatch) as previews, asyncio.timeout(10):
        await previews(browser.scope, browser.receive, browser.send)
        await left.wait()

    assert browser.said[0]["status"] == 200


async def test_where_nothing_listens_and_where_too_much_is_sent_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(None, monkeypatch) as browser:
        assert (await browser.get("/")).status_code == 502
    monkeypatch.setattr(proxy, "MOST_BODY_BYTES", 10)
    async with shown(saying(b"HTTP/1.1 200 OK\r\n\r\n"), monkeypatch) as browser:
        assert (await browser.post("/", content=b"x" * 11)).status_code == 413


def test_an_app_cannot_weaken_the_policy_or_set_cookies_for_other_names() -> None:
    theirs = [
        (b"Content-Security-Policy", b"default-src *"),
        (b"Set-Cookie", b"a=1; Path=/"),
        (b"Set-Cookie", b"b=2; Domain=localhost"),
        (b"Transfer-Encoding", b"chunked"),
        (b"Clear-Site-Data", b'"*"'),
        (b"Content-Security-Policy-Report-Only", b"default-src 'none'; report-uri https://evil.example/"),
        (b"Reporting-Endpoints", b'default="https://evil.example/"'),
        (b"Report-To", b'{"endpoints": [{"url": "https://evil.example/"}]}'),
        (b"NEL", b'{"report_to": "default", "max_age": 9}'),
        (b"X-Mine", b"1"),
    ]

    passed = answer_headers(Head(200, theirs))

    names = [name for name, _ in passed]
    assert names.count(b"content-security-policy") == 1
    assert (b"content-security-policy", proxy.POLICY.encode()) in passed
    assert [value for name, value in passed if name == b"set-cookie"] == [b"a=1; Path=/"]
    assert b"transfer-encoding" not in names
    assert b"clear-site-data" not in names
    assert not any(b"evil" in value for _, value in passed), "what a page did is reported nowhere"
    assert b"nel" not in names
    assert (b"x-mine", b"1") in passed


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1:8000", f"http://{LABEL}.localhost:8000/"),
        ("localhost", f"http://{LABEL}.localhost/"),
        ("192.168.1.7:8000", ""),  # to whoever sits there, localhost is another machine
    ],
)
def test_on_the_machine_itself_an_app_has_a_name_below_localhost(host: str, address: str, settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    settings.CONFIG = settings.CONFIG.model_copy(update={"preview_host": "", "site_url": "http://127.0.0.1:8000"})

    assert address_of(APP, RequestFactory().get("/", headers={"host": host})) == address


def test_what_is_of_the_browsers_connection_is_not_passed_on() -> None:
    assert request_headers([(b"content-length", b"3"), (b"te", b"gzip")]) == [
        (b"content-length", b"3"),
        (b"connection", b"close"),
    ]
    mine = [(b"host", b"x"), (b"connection", b"close, X-Hop , host"), (b"x-hop", b"1"), (b"x-app", b"2")]
    assert request_headers(mine) == [(b"host", b"x"), (b"x-app", b"2"), (b"connection", b"close")]
