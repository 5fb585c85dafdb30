"""Bytes to and from a provider over HTTP: connections, time limits, cancellation. Knows nothing of what they say.

aiohttp under it, because a chunk costs a quarter of what httpx takes for it.
"""

import asyncio
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Self

import aiohttp

from hyperagent.lib.llm.errors import Reason
from hyperagent.lib.llm.pace import Pace
from hyperagent.lib.llm.providers import Limits

ERROR_BODY_LIMIT_BYTES = 64 * 1024
_DRAIN_TIMEOUT_S = 0.25
# Whoever answers sooner is waited for by a program rather than read by a person.
PACED_AFTER_S = 0.1


class TransportFault(Exception):
    """The connection gave no answer, or stopped giving one."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


class Transport:
    """One pool of connections per event loop, so that nothing is shared between loops. With a `pace`, streams that go
    on for a while are read at its beats; its loop is then the only one."""

    def __init__(self, limits: Limits, pace: Pace | None = None) -> None:
        self._limits = limits
        self._pace = pace
        self._sessions: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, aiohttp.ClientSession]
        self._sessions = weakref.WeakKeyDictionary()

    async def post(self, url: str, *, headers: Mapping[str, str], body: bytes) -> "Response":
        """Sends, and returns when the response's head has come. Raises TransportFault."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            async with asyncio.timeout(self._limits.first_token_timeout_s):
                response = await self._session().post(url, data=body, headers=headers, allow_redirects=False)
        except TimeoutError as error:
            raise _fault(error, limit=self._limits.first_token_timeout_s) from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise _fault(error, limit=None) from error
        return Response(response, self._limits, began, self._pace)

    async def aclose(self) -> None:
        session = self._sessions.pop(asyncio.get_running_loop(), None)
        if session is not None:
            await session.close()

    def _session(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        session = self._sessions.get(loop)
        if session is None or session.closed:
            session = self._sessions[loop] = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=60),
                cookie_jar=aiohttp.DummyCookieJar(),
                # No total limit: an answer may take minutes. Silence is watched below, by one timer a stream.
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._limits.connect_timeout_s),
                headers={"Accept-Encoding": "identity", "User-Agent": "hyperagent"},
                trust_env=False,
            )
        return session


class Response:
    """A response whose body is read chunk by chunk. Leaving it by cancellation closes the connection at once, which
    tells the provider to stop generating."""

    def __init__(
        self, response: aiohttp.ClientResponse, limits: Limits, began: float, pace: Pace | None = None
    ) -> None:
        self._response = response
        self._limits = limits
        self._pace = pace
        self._paced_from: float | None = None
        # Closing the response would leave its reader asleep for ever; an error in its stream wakes it.
        self._watch = _Watch(
            limits.first_token_timeout_s, lambda: response.content.set_exception(_Silence()), since=began
        )
        self.status = response.status
        self.content_type = response.content_type
        self.headers: Mapping[str, str] = response.headers
        self._begun = False
        self._pieces = 0
        self._grown_at = began

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._watch.stop()
        if kind is None and not self._response.content.at_eof():
            # The last bytes of a finished stream usually wait already; read, they let the connection live on.
            with suppress(TimeoutError, aiohttp.ClientError, OSError):
                async with asyncio.timeout(_DRAIN_TIMEOUT_S):
                    await self._response.content.readany()
        if self._response.content.at_eof():
            self._response.release()
        else:
            self._response.close()

    async def read(self) -> bytes:
        """The next bytes, b"" at the end. Raises TransportFault when they stay out too long or the stream breaks."""
        try:
            chunk = await self._response.content.readany()
        except _Silence as error:
            reason = Reason.SILENCE if self._begun else Reason.NO_FIRST_TOKEN
            raise TransportFault(reason, f"nothing came for {self._watch.limit_s:g} s") from error
        except (aiohttp.ClientError, OSError) as error:
            raise TransportFault(Reason.STREAM_CUT, f"{type(error).__name__}: {error}") from error
        if self._paced_from is None:
            self._paced_from = asyncio.get_running_loop().time() + PACED_AFTER_S
        self._watch.touch()
        return chunk

    def heard(self, pieces: int) -> None:
        """Of how many pieces of an answer the bytes until now were. Raises TransportFault when they are as many as they
        were for too long: what only keeps the line open is no answer."""
        now = asyncio.get_running_loop().time()
        if pieces != self._pieces:
            self._begin()
            self._pieces, self._grown_at = pieces, now
        elif now - self._grown_at > self._limits.keep_alive_timeout_s:
            reason = Reason.SILENCE if pieces else Reason.NO_FIRST_TOKEN
            raise TransportFault(reason, f"nothing was said for {self._limits.keep_alive_timeout_s:g} s")

    async def read_at_beat(self) -> bytes:
        """The same, at the next beat where the stream has gone on for a while: until then its connection is not read,
        and what comes meanwhile is one chunk."""
        connection = self._response.connection  # None once all of the response has come
        transport = connection.transport if connection is not None else None
        if self._pace is not None and transport is not None and self._is_long():
            transport.pause_reading()
            try:
                await self._pace.beat()
            finally:
                transport.resume_reading()
        return await self.read()

    def _begin(self) -> None:
        """The first token is there, or the first of a body: many a stream is open long before."""
        if not self._begun:
            self._begun = True
            self._watch.limit(self._limits.token_timeout_s)

    def _is_long(self) -> bool:
        return self._paced_from is not None and asyncio.get_running_loop().time() >= self._paced_from

    async def read_some(self, limit_bytes: int) -> bytes:
        """The body up to a limit, for error messages and whole answers."""
        parts: list[bytes] = []
        size = 0
        while size < limit_bytes and (chunk := await self.read()):
            self._begin()
            self.heard(0)
            parts.append(chunk)
            size += len(chunk)
        return b"".join(parts)[:limit_bytes]


class _Silence(Exception):
    """Put into a stream on which nothing came for too long."""


class _Watch:
    """Rings when nothing was touched for `limit_s`. Touching is one float, the timer is set anew only when it fires:
    a timer per chunk would cost more than reading the chunk."""

    __slots__ = ("_last", "_loop", "_on_silence", "_timer", "limit_s")

    def __init__(self, limit_s: float, on_silence: Callable[[], None], *, since: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._on_silence = on_silence
        self.limit_s = limit_s
        self._last = since
        self._timer: asyncio.TimerHandle | None = None
        self._set()

    def touch(self) -> None:
        self._last = self._loop.time()

    def limit(self, limit_s: float) -> None:
        self.stop()
        self.limit_s = limit_s
        self.touch()
        self._set()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _set(self) -> None:
        self._timer = self._loop.call_at(self._last + self.limit_s, self._fire)

    def _fire(self) -> None:
        if self._last + self.limit_s > self._loop.time():
            self._set()
            return
        self._on_silence()


def _fault(error: Exception, *, limit: float | None) -> TransportFault:
    if limit is not None and not isinstance(error, aiohttp.ClientError):
        return TransportFault(Reason.NO_FIRST_TOKEN, f"no response within {limit:g} s")
    if isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientPayloadError | ConnectionResetError):
        return TransportFault(Reason.STREAM_CUT, f"{type(error).__name__}: {error}")
    return TransportFault(Reason.NOT_CONNECTED, f"{type(error).__name__}: {error}")
