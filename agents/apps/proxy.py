"""Shows apps: each on an origin of its own, `<label>.<PREVIEW_HOST>`, so that what a model wrote shares neither cookies
nor storage with this product. Stands before Django, and passes on what is for it.

Who knows the label may look, as long as the app's box lives; the label is told to its user only (`views`). What is
shown can reach nothing but itself: a policy says so to the browser.
"""

import asyncio
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from typing import Any, Final

import structlog
from django.db import DatabaseError

from agents.apps import records
from agents.apps.exchange import HOP_BY_HOP, BadAnswer, Exchange, Head, Headers
from agents.apps.joining import AT_ONCE_BYTES, BYTES_PER_S, REFUSED, Pace, carry, is_of_its_page
from agents.apps.records import LABEL_LENGTH, LABEL_LETTERS, AppRow
from agents.apps.sockets import AppSocket, Room
from agents.sandbox.base import SandboxError
from agents.sandbox.host.client import SandboxHost
from hyperagent.lib.asgi import CUT_OFF
from hyperagent.lib.threads import in_thread

log = structlog.get_logger(__name__)

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Application = Callable[[Any, Any, Any], Awaitable[None]]

MOST_BODY_BYTES: Final = 10_000_000
ANSWERS_WITHIN_S: Final = 60.0
OPENS_WITHIN_S: Final = 15.0
KNOWN_FOR_S: Final = 5.0
MOST_SOCKETS_OF_ONE: Final = 32
MOST_SOCKETS: Final = 256
"""In one process, of all apps."""
MOST_BEGUN_BYTES_OF_ONE: Final = 16_000_000
MOST_BEGUN_BYTES: Final = 64_000_000
"""Of messages from apps that are not whole yet."""
_LABEL: Final = re.compile(rf"[{LABEL_LETTERS}]{{{LABEL_LENGTH}}}")
POLICY: Final = (
    "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; connect-src 'self'; form-action 'self'; "
    "base-uri 'self'; worker-src 'self' blob:"
)
_OURS: Final = (
    (b"content-security-policy", POLICY.encode()),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-robots-tag", b"noindex"),
    (b"cache-control", b"no-store"),
)
_PASSED_BY: Final = HOP_BY_HOP | {b"transfer-encoding"}
# What would weaken ours, or reach beyond this origin. A browser sends reports to wherever these say, whatever our
# policy lets a page reach.
_REPORTING: Final = {b"content-security-policy-report-only", b"report-to", b"reporting-endpoints", b"nel"}
_NOT_THEIRS: Final = (
    _PASSED_BY | {name for name, _ in _OURS} | _REPORTING | {b"strict-transport-security", b"clear-site-data"}
)
ASLEEP: Final = "This app is not running any more. Open its preview in the conversation again: that starts it."
UNKNOWN: Final = "There is no app here."
NO_ANSWER: Final = "The app does not answer. What it wrote stands in the conversation; ask for it to be mended there."
TOO_BIG: Final = f"More than {MOST_BODY_BYTES // 1_000_000} MB cannot be sent to an app."
AWAY: Final = "The app cannot be shown just now. Try again in a minute."


class Previews:
    """`suffix`: the name below which each app has its own; empty: there are no previews."""

    def __init__(self, inner: Application, *, suffix: str, host: Callable[[], SandboxHost]) -> None:
        self._inner = inner
        self._suffix = f".{suffix}".lower()
        self._host = host
        self._known: dict[str, tuple[float, AppRow]] = {}
        self._sockets: Counter[str] = Counter()
        self._room = Room(MOST_BEGUN_BYTES)
        self._shares: dict[str, tuple[Pace, Room]] = {}
        """One for all sockets of an app, while it has any."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        label = self._label_of(scope)
        if label is None:
            await self._inner(scope, receive, send)
        elif scope["type"] == "http":
            await self._show(label, scope, receive, send)
        else:
            await self._join(label, scope, receive, send)

    def _label_of(self, scope: Scope) -> str | None:
        if self._suffix == "." or scope["type"] not in ("http", "websocket"):
            return None
        host = next((value for name, value in scope["headers"] if name == b"host"), b"").decode("latin-1").lower()
        name = host.rpartition(":")[0] if re.search(r":\d+$", host) else host
        return name.removesuffix(self._suffix) if name.endswith(self._suffix) else None

    async def _show(self, label: str, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            app = await self._app(label)
            if app is None:
                await _say(send, 404, UNKNOWN)
                return
            box = await self._host().existing(app.user_id, app.task_id)
            if box is None:
                await _say(send, 503, ASLEEP)
                return
            exchange = Exchange(*await box.connect(app.port))
        except DatabaseError:
            await _say(send, 503, AWAY)
        except SandboxError:
            await _say(send, 502, NO_ANSWER)
        else:
            try:
                await _passed_on(exchange, scope, receive, send)
            finally:
                exchange.close()

    async def _join(self, label: str, scope: Scope, receive: Receive, send: Send) -> None:
        """A websocket to the app; refused at the handshake where there is none to open, or it is another page's."""
        await receive()  # websocket.connect
        is_full = self._sockets[label] >= MOST_SOCKETS_OF_ONE or self._sockets.total() >= MOST_SOCKETS
        if is_full or not is_of_its_page(scope["headers"]):
            await send(_NOT_OPENED)
            return
        self._sockets[label] += 1
        try:
            await self._joined(label, scope, receive, send)
        finally:
            self._sockets[label] -= 1
            self._sockets += Counter()  # without those that have none
            if label not in self._sockets:
                self._shares.pop(label, None)

    async def _joined(self, label: str, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            app = await self._app(label)
            box = None if app is None else await self._host().existing(app.user_id, app.task_id)
            if app is None or box is None:
                await send(_NOT_OPENED)
                return
            socket = AppSocket(*await box.connect(app.port))
        except (DatabaseError, SandboxError) as error:
            log.info("preview.no_socket", why=str(error))
            await send(_NOT_OPENED)
            return
        try:
            async with asyncio.timeout(OPENS_WITHIN_S):
                chosen = await socket.open(
                    _target(scope), port=app.port, headers=scope["headers"], subprotocols=scope["subprotocols"]
                )
            await send({"type": "websocket.accept", "subprotocol": chosen})
            pace, room = self._shares.setdefault(label, self._fresh_share())
            await carry(socket, receive, send, pace=pace, room=room, may_go_on=lambda: self._may_go_on(label))
        except (BadAnswer, TimeoutError, OSError) as error:
            log.info("preview.no_socket", why=str(error))
            await send(_NOT_OPENED)
        finally:
            socket.close()

    def _fresh_share(self) -> tuple[Pace, Room]:
        return Pace(at_once=AT_ONCE_BYTES, per_s=BYTES_PER_S), Room(MOST_BEGUN_BYTES_OF_ONE, self._room)

    async def _may_go_on(self, label: str) -> bool:
        """While the database is away nobody can say that it may not."""
        try:
            return await self._app(label) is not None
        except DatabaseError:
            return True

    async def _app(self, label: str) -> AppRow | None:
        """A page asks for many files at once: what was read of a label holds for some seconds."""
        if not _LABEL.fullmatch(label):
            return None
        now = time.monotonic()
        known = self._known.get(label)
        if known is not None and now - known[0] < KNOWN_FOR_S:
            return known[1]
        app = await in_thread(records.by_label)(label)
        self._known = {name: known for name, known in self._known.items() if now - known[0] < KNOWN_FOR_S}
        if app is not None:
            self._known[label] = (now, app)
        return app


_NOT_OPENED: Final = {"type": "websocket.close", "code": REFUSED}


class _TooBig(Exception):
    pass


async def _passed_on(exchange: Exchange, scope: Scope, receive: Receive, send: Send) -> None:
    begun = False

    async def answer(clock: asyncio.Timeout) -> None:
        nonlocal begun
        head = await exchange.head()
        clock.reschedule(None)
        await send({"type": "http.response.start", "status": head.status, "headers": answer_headers(head)})
        begun = True
        async for piece in exchange.body():
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    try:
        async with asyncio.timeout(ANSWERS_WITHIN_S) as clock:
            await exchange.ask(scope["method"], _target(scope), request_headers(scope["headers"]))
            async for piece in _body(receive):
                await exchange.give(piece)
            await _unless_gone(receive, answer(clock))
    except _TooBig:
        await _say(send, 413, TOO_BIG)
    except (BadAnswer, TimeoutError, OSError) as error:
        log.info("preview.no_answer", why=str(error))
        if begun:
            await send(CUT_OFF)
        else:
            await _say(send, 502, NO_ANSWER)


async def _unless_gone(receive: Receive, answering: Coroutine[Any, Any, None]) -> None:
    """Ends it where the browser goes away: once it has asked, that is all that is still heard of it."""
    tasks = [asyncio.ensure_future(answering), asyncio.ensure_future(receive())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        answered, _ = await asyncio.gather(*tasks, return_exceptions=True)
    if isinstance(answered, Exception):
        raise answered


def _target(scope: Scope) -> bytes:
    path: bytes = scope.get("raw_path") or scope["path"].encode("utf-8")
    query: bytes = scope["query_string"]
    target = path.split(b"?")[0] or b"/"
    return target + b"?" + query if query else target


def request_headers(headers: Headers) -> list[tuple[bytes, bytes]]:
    """What a browser sent, for an app: one connection for each request. A body has the length that the server knows."""
    own = _PASSED_BY | {b"expect"} | _named_by_connection(headers)
    return [*((name, value) for name, value in headers if name.lower() not in own), (b"connection", b"close")]


def _named_by_connection(headers: Headers) -> frozenset[bytes]:
    """What whoever sent it says is of this connection alone (RFC 9110, 7.6.1). Without some, it is no request."""
    values = (value for name, value in headers if name.lower() == b"connection")
    return frozenset(one.strip().lower() for value in values for one in value.split(b",")) - {
        b"host",
        b"content-length",
    }


def answer_headers(head: Head) -> list[tuple[bytes, bytes]]:
    """What an app answered, without what is not its to say. A cookie for other names than its own is left out."""
    kept = [
        (name.lower(), value)
        for name, value in head.headers
        if name.lower() not in _NOT_THEIRS and not (name.lower() == b"set-cookie" and b"domain" in value.lower())
    ]
    return [*kept, *_OURS]


async def _body(receive: Receive) -> AsyncIterator[bytes]:
    length = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise BadAnswer("The browser went away.")
        piece = message.get("body", b"")
        length += len(piece)
        if length > MOST_BODY_BYTES:
            raise _TooBig
        if piece:
            yield piece
        if not message.get("more_body"):
            return


async def _say(send: Send, status: int, text: str) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(text.encode())).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*headers, *_OURS]})
    await send({"type": "http.response.body", "body": text.encode()})
