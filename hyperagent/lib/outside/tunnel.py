"""A guarded TCP connection for proxies: what is said on it is between others, only where it goes is decided here.

The same rule as for pages: every address of the name must be public, the connection goes to one of just these, and
where it came out is looked at once more.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Final

from hyperagent.lib.outside import sockets
from hyperagent.lib.outside.addresses import INSIDE, PORTS, BadAddress, InsideBadAddress, is_public
from hyperagent.lib.outside.egress import Egress, NotAllowed
from hyperagent.lib.outside.egress import egress as configured

# The IP addresses of a name.
Lookup = Callable[[str, int], Awaitable[list[str]]]

READ_BYTES: Final = 1 << 16


class Because(StrEnum):
    """Why there is no connection, in the words of RFC 9209."""

    PROHIBITED = "destination_ip_prohibited"
    DNS = "dns_error"
    REFUSED = "connection_refused"
    TIMEOUT = "connection_timeout"
    UNAVAILABLE = "destination_unavailable"


class NotConnected(OSError):
    """`message` is a sentence for people, with nothing in it that the other side said."""

    def __init__(self, because: Because, message: str) -> None:
        super().__init__(message)
        self.because = because
        self.message = message


async def asked_of_dns(host: str, port: int) -> list[str]:
    return await asyncio.to_thread(sockets.asked_of_dns, host, port)


async def connected(
    host: str,
    port: int,
    *,
    timeout_s: float,
    allow_private: bool = False,
    lookup: Lookup = asked_of_dns,
    egress: Egress | None = None,
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """To the first of its addresses that answers, all of it within `timeout_s`; the last may take what is left of that.
    `egress`: as the installation is configured, unless it is given. Raises NotConnected."""
    try:
        name = sockets.host_name(host, allow_private=allow_private)
        (configured() if egress is None else egress).check(name)
    except (InsideBadAddress, NotAllowed) as fault:
        raise NotConnected(Because.PROHIBITED, str(fault)) from None
    except BadAddress as fault:
        raise NotConnected(Because.UNAVAILABLE, str(fault)) from None
    if not allow_private and port not in PORTS:
        ports = ", ".join(map(str, PORTS))
        raise NotConnected(Because.PROHIBITED, f"Port {port} is not used here. Allowed are {ports}.")
    try:
        async with asyncio.timeout(timeout_s):
            found = await _addresses(name, port, allow_private=allow_private, lookup=lookup)
            return await _to_one_of(found, name, port, allow_private=allow_private)
    except TimeoutError:
        raise NotConnected(Because.TIMEOUT, f"{name} did not answer within {timeout_s:g} s.") from None


async def _addresses(name: str, port: int, *, allow_private: bool, lookup: Lookup) -> list[str]:
    try:
        found = await lookup(name, port)
    except OSError:
        found = []
    if not found:
        raise NotConnected(Because.DNS, f"The name {name} cannot be resolved.")
    if not allow_private and not all(map(is_public, found)):
        raise NotConnected(Because.PROHIBITED, INSIDE)
    return found


async def _to_one_of(
    found: list[str], name: str, port: int, *, allow_private: bool
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    trouble: OSError | None = None
    for address in found:
        connection = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
        try:
            connection.setblocking(False)
            async with asyncio.timeout(None if address == found[-1] else sockets.TURN_S):
                await asyncio.get_running_loop().sock_connect(connection, (address, port))
            if not allow_private and not is_public(str(connection.getpeername()[0])):
                raise NotConnected(Because.PROHIBITED, INSIDE)
            return await asyncio.open_connection(sock=connection, limit=READ_BYTES)
        except NotConnected:
            connection.close()
            raise
        except OSError as error:
            connection.close()
            trouble = error
        except BaseException:
            connection.close()
            raise
    if isinstance(trouble, ConnectionRefusedError):
        raise NotConnected(Because.REFUSED, f"{name} refuses connections at port {port}.") from None
    raise NotConnected(Because.UNAVAILABLE, f"There is no way to {name} at port {port}.") from None
