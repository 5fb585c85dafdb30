"""An httpx2 client whose every connection goes by the rule of this door, for protocols that come as a library on top of
httpx2 (MCP is one). Each request is looked at, those of redirects and of sign-in included: its address, every IP
address of its name, how much comes back. No proxy, nothing packed. Imports httpx2: open this file late.
"""

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import suppress
from typing import Any, Final

import httpcore2
import httpx2

from hyperagent.lib.outside.addresses import INSIDE, Address, BadAddress, canonical, is_public
from hyperagent.lib.outside.client import Lookup, asked_of_dns
from hyperagent.lib.outside.egress import Egress
from hyperagent.lib.outside.egress import egress as configured
from hyperagent.lib.outside.fetching import USER_AGENT
from hyperagent.lib.outside.json_values import ValueCounter
from hyperagent.lib.outside.sockets import TURN_S

# For who catches and types them: httpx2 is imported here only.
Auth = httpx2.Auth
HttpError = httpx2.HTTPError
HttpTimeout = httpx2.TimeoutException

# They write addresses and answers into the log, which are the business of whoever asked.
for _name in ("httpx2", "httpcore2", "mcp.client"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)

CONNECT_S: Final = 15.0
CONNECTIONS: Final = 8


class Refused(httpx2.ConnectError):
    """This door does not let it through; the message is a sentence for people."""


class TooMuch(httpx2.ReadError):
    """More comes back than is read; the message is a sentence for people."""


class GuardedTransport(httpx2.AsyncBaseTransport):
    """`last_status`: of the newest answer, for who gets no more than "it failed" from the library above."""

    def __init__(self, *, allow_private: bool, max_bytes: int, max_values: int, lookup: Lookup, egress: Egress) -> None:
        self.last_status = 0
        self._egress = egress
        self._allow_private = allow_private
        self._max_bytes = max_bytes
        self._max_values = max_values
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=ssl.create_default_context(),
            max_connections=CONNECTIONS,
            max_keepalive_connections=CONNECTIONS,
            keepalive_expiry=30,
            network_backend=_Backend(lookup, allow_private=allow_private),
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        address = self._address(request)
        request.headers["accept-encoding"] = "identity"
        target = httpcore2.URL(
            scheme=address.scheme, host=address.host, port=address.port, target=address.path.encode("ascii")
        )
        asked = httpcore2.Request(
            method=request.method,
            url=target,
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        try:
            answer = await self._pool.handle_async_request(asked)
        except httpcore2.TimeoutException as error:
            raise httpx2.TimeoutException(f"No answer from {address.host} in time.", request=request) from error
        except (httpcore2.NetworkError, httpcore2.ProtocolError, OSError) as error:
            raise _told(error, address, request) from error
        self.last_status = answer.status
        response = httpx2.Response(
            answer.status,
            headers=answer.headers,
            stream=_Bounded(answer.stream, self._max_bytes, self._max_values, request),
            extensions=answer.extensions,
        )
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            await response.aclose()
            raise TooMuch("The server sends packed data though it was asked not to.", request=request)
        return response

    async def aclose(self) -> None:
        await self._pool.aclose()

    def _address(self, request: httpx2.Request) -> Address:
        try:
            address = canonical(str(request.url), allow_private=self._allow_private)
            self._egress.check(address.host)
            return address
        except BadAddress as fault:
            raise Refused(str(fault), request=request) from None


class _Backend(httpcore2.AsyncNetworkBackend):
    """Asks DNS for each connection, demands that every answer is public, and connects to one of just these."""

    def __init__(self, lookup: Lookup, *, allow_private: bool) -> None:
        self._lookup = lookup
        self._allow_private = allow_private
        self._sockets = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        try:
            async with asyncio.timeout(timeout):
                found = await self._lookup(host, port)
        except OSError:
            raise httpcore2.ConnectError(f"The name {host} cannot be resolved.") from None
        if not self._allow_private and not all(map(is_public, found)):
            raise httpcore2.ConnectError(INSIDE)
        turn_s = TURN_S if timeout is None else min(TURN_S, timeout)
        for address in found[:-1]:
            with suppress(httpcore2.ConnectError, httpcore2.ConnectTimeout):
                return await self._sockets.connect_tcp(address, port, turn_s)
        if not found:
            raise httpcore2.ConnectError(f"The name {host} cannot be resolved.")
        return await self._sockets.connect_tcp(found[-1], port, timeout)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class _Bounded(httpx2.AsyncByteStream):
    """What a server sends, up to its bounds."""

    def __init__(self, stream: Any, max_bytes: int, max_values: int, request: httpx2.Request) -> None:
        self._stream = stream
        self._max_bytes = max_bytes
        self._max_values = max_values
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left, values = self._max_bytes, ValueCounter()
        try:
            async for piece in self._stream:
                left -= len(piece)
                if left < 0:
                    raise TooMuch(
                        f"The server sends more than {self._max_bytes:,} bytes at once.", request=self._request
                    )
                if values.take(piece) > self._max_values:
                    raise TooMuch(
                        f"The server sends more than {self._max_values:,} values at once.", request=self._request
                    )
                yield piece
        except (httpcore2.NetworkError, httpcore2.ProtocolError) as error:
            raise httpx2.ReadError("The connection was closed in the middle.", request=self._request) from error
        except httpcore2.TimeoutException as error:
            raise httpx2.ReadTimeout("The server stopped in the middle.", request=self._request) from error

    async def aclose(self) -> None:
        await self._stream.aclose()


def guarded_http_client(
    *,
    allow_private: bool,
    max_bytes: int,
    max_values: int,
    read_timeout_s: float,
    headers: Mapping[str, str] | None = None,
    auth: httpx2.Auth | None = None,
    lookup: Lookup = asked_of_dns,
    egress: Egress | None = None,
) -> tuple[httpx2.AsyncClient, GuardedTransport]:
    """To be closed by whoever opens it. `max_bytes`: of each answer. `max_values`: of the JSON
    in it, which is what reading it takes time by. `read_timeout_s`: of silence within one. `egress`:
    as the installation is configured, unless it is given."""
    rules = configured() if egress is None else egress
    transport = GuardedTransport(
        allow_private=allow_private, max_bytes=max_bytes, max_values=max_values, lookup=lookup, egress=rules
    )
    client = httpx2.AsyncClient(
        transport=transport,
        headers={"user-agent": USER_AGENT, **(headers or {})},
        auth=auth,
        timeout=httpx2.Timeout(CONNECT_S, read=read_timeout_s),
        follow_redirects=False,
        trust_env=False,
    )
    return client, transport


def host_asked(error: HttpError) -> str:
    """The host of the request that failed; empty where the library does not say."""
    try:
        return error.request.url.raw_host.decode("ascii")
    except RuntimeError:
        return ""


def _told(error: Exception, address: Address, request: httpx2.Request) -> httpx2.ConnectError:
    # The library's words have the line that it could not read.
    said = "What it answered is no HTTP" if isinstance(error, httpcore2.ProtocolError) else str(error)
    if said.endswith("."):
        return Refused(said, request=request)
    return httpx2.ConnectError(f"No connection to {address.host}: {said or type(error).__name__}.", request=request)
