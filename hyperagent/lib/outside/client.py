"""The connections of this door: no proxy, no cookies, and none to an address within our own networks.

A name is asked of DNS for each connection, and every one of its addresses has to be public; the connection goes to one
of just these, and its address is looked at once more when the socket is made. So a name that means something else a
moment later gains nothing. Imports aiohttp, which takes half a second: open this file late.
"""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from hyperagent.lib.outside.addresses import is_public
from hyperagent.lib.text import clean_text

NOT_READABLE = "The answer cannot be read: it is no HTTP, or breaks off."
# The IP addresses of a name.
Lookup = Callable[[str, int], Awaitable[list[str]]]


class InsideAddress(OSError):
    """The name leads into our own networks."""

    def __init__(self) -> None:
        super().__init__("This name leads into a private network, which is not reached from here.")


class _Resolver(AbstractResolver):
    """Asks DNS, and demands that every answer is public."""

    def __init__(self, lookup: Lookup, *, allow_private: bool) -> None:
        self._lookup = lookup
        self._allow_private = allow_private

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = await self._lookup(host, port)
        if not self._allow_private and not all(map(is_public, found)):
            raise InsideAddress
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in found
        ]

    async def close(self) -> None:
        """Nothing is held."""


async def asked_of_dns(host: str, port: int) -> list[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(where[0]) for *_, where in found))


def guarded_session(
    *, allow_private: bool, timeout_s: float, connections: int, lookup: Lookup = asked_of_dns
) -> aiohttp.ClientSession:
    """To be closed by whoever opens it."""

    def make_socket(address: Any) -> socket.socket:
        family, kind, protocol, _, where = address
        if not allow_private and not is_public(str(where[0])):
            raise InsideAddress
        return socket.socket(family, kind, protocol)

    connector = aiohttp.TCPConnector(
        limit=connections or 1,
        force_close=True,
        use_dns_cache=False,
        resolver=_Resolver(lookup, allow_private=allow_private),
        socket_factory=make_socket,
    )
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=timeout_s),
        auto_decompress=False,
        trust_env=False,
    )


def is_inside(error: Exception) -> bool:
    return isinstance(error, InsideAddress) or isinstance(getattr(error, "os_error", None), InsideAddress)


def words_for(error: Exception) -> str:
    """Why there is no answer, as a sentence for people and models, in which nothing is that the other side said: the
    library's own words have the line that it could not read."""
    host = getattr(error, "host", "")
    cause = getattr(error, "os_error", None)
    match error:
        case _ if is_inside(error):
            words = str(cause or error)
        case aiohttp.ClientConnectorCertificateError():
            words = f"The certificate is not valid: {error.certificate_error}"
        case aiohttp.ClientSSLError():
            words = f"No encrypted connection can be made: {error}"
        case aiohttp.ClientConnectorDNSError():
            words = f"The name {host} cannot be resolved."
        case aiohttp.ClientConnectorError():
            number = getattr(cause, "errno", None)
            # asyncio writes the socket's address over the error's own words.
            words = f"No connection to {host}: {os.strerror(number) if number else cause}."
        case aiohttp.ServerDisconnectedError():
            words = "The connection was closed without an answer."
        case OSError() if error.errno:
            words = f"The connection broke: {os.strerror(error.errno)}."
        case _:
            words = NOT_READABLE
    return clean_text(words)
