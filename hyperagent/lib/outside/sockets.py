"""Connections to servers that a person named and that speak no HTTP, such as mail servers. Blocking; for a thread.

The same rules as for pages: every address that the name has must be public, and the connection goes to one of just
these. Nothing is said on it here.
"""

import socket
from collections.abc import Callable
from itertools import zip_longest
from typing import Final

from hyperagent.lib.outside.addresses import NOT_AN_ADDRESS, NOT_PRINTABLE, BadAddress, canonical, is_public

NO_SERVER: Final = "This is no server's name. Write it like mail.example.org."

# The IP addresses of a name.
Lookup = Callable[[str, int], list[str]]

TURN_S: Final = 2.0
"""For an address of which nothing is heard, while there is another one. What is lost is sent again after 1 s."""


class InsideServer(OSError):
    """The name leads into our own networks, or is none."""


def asked_of_dns(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return _by_turns(list(dict.fromkeys(str(where[0]) for *_, where in found)))


def _by_turns(found: list[str]) -> list[str]:
    """One of IPv6 and one of IPv4 in turn (RFC 8305): where one of them leads nowhere from here, the second that is
    tried is of the other."""
    first = [address for address in found if (":" in address) == (":" in found[0])]
    other = [address for address in found if address not in first]
    return [address for pair in zip_longest(first, other) for address in pair if address is not None]


def host_name(host: str, *, allow_private: bool) -> str:
    """A host in its one spelling. Raises BadAddress, with a sentence for whoever typed it."""
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    typed = f"[{bare}]" if ":" in bare else bare
    if not bare or any(sign in bare for sign in "/?#@[]"):
        raise BadAddress(NO_SERVER)
    try:
        return canonical(f"https://{typed}", allow_private=allow_private).host
    except BadAddress as fault:
        raise (BadAddress(NO_SERVER) if str(fault) in (NOT_AN_ADDRESS, NOT_PRINTABLE) else fault) from None


def connected(
    host: str, port: int, *, timeout_s: float, allow_private: bool, lookup: Lookup = asked_of_dns
) -> socket.socket:
    """To the first of its addresses that answers. `timeout_s`: for each of them, and afterwards for each answer.
    Raises OSError, and InsideServer where the name leads into our own networks.
    """
    try:
        name = host_name(host, allow_private=allow_private)
    except BadAddress:
        raise InsideServer from None
    found = lookup(name, port)
    if not found:
        raise OSError("the name has no address")
    if not allow_private and not all(map(is_public, found)):
        raise InsideServer
    trouble = OSError("nothing was tried")
    for address in found:
        try:
            return socket.create_connection((address, port), timeout=timeout_s)
        except OSError as error:
            trouble = error
    raise trouble
