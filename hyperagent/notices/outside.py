"""The door to the world outside: posts to addresses that people chose. It follows no redirect, reads no more than it
keeps, waits no longer than TIMEOUT_S, and connects to no address within our own networks.

The address is looked at when the socket is made, after DNS has been asked and for each connection: a name that means
something else a moment later gains nothing. Knows no table and no secret.
"""

import asyncio
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hyperagent.lib.text import clean_text
from hyperagent.notices.addresses import is_public

if TYPE_CHECKING:
    import aiohttp

TIMEOUT_S = 10.0
READ_BYTES = 2_000
GONE = 410


@dataclass(frozen=True, slots=True)
class Post:
    url: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """`error`: why it does not count as delivered, a sentence; empty if it does. `head`: how the answer begins."""

    status: int | None
    head: str
    error: str

    @property
    def is_gone(self) -> bool:
        return self.status == GONE


class InsideAddress(OSError):
    """The name leads into our own networks."""


async def post_all(posts: Sequence[Post], *, allow_private: bool) -> list[Answer]:
    """All at once, in at most TIMEOUT_S. The answers stand in the order of the posts."""
    import aiohttp  # half a second; only the queue's process opens this door

    def make_socket(address: Any) -> socket.socket:
        family, kind, protocol, _, where = address
        if not allow_private and not is_public(str(where[0])):
            raise InsideAddress("This name leads into a private network, where webhooks are not sent.")
        return socket.socket(family, kind, protocol)

    connector = aiohttp.TCPConnector(
        limit=len(posts) or 1, force_close=True, use_dns_cache=False, socket_factory=make_socket
    )
    async with aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=TIMEOUT_S),
        auto_decompress=False,
        trust_env=False,
    ) as session:
        return list(await asyncio.gather(*(_post(session, post) for post in posts)))


async def _post(session: "aiohttp.ClientSession", post: Post) -> Answer:
    import aiohttp

    try:
        async with asyncio.timeout(TIMEOUT_S):
            async with session.post(post.url, data=post.body, headers=post.headers, allow_redirects=False) as response:
                head = await _head_of(response)
                return Answer(response.status, head, _fault_of(response.status))
    except TimeoutError:
        return Answer(None, "", f"No answer within {TIMEOUT_S:.0f} seconds.")
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return Answer(None, "", _words_for(error))


async def _head_of(response: "aiohttp.ClientResponse") -> str:
    """How the answer begins. What follows is not read: the connection is closed with it."""
    head = b""
    while len(head) < READ_BYTES and (more := await response.content.read(READ_BYTES - len(head))):
        head += more
    response.close()
    return clean_text(head.decode("utf-8", errors="replace"))


def _fault_of(status: int) -> str:
    if 200 <= status < 300:
        return ""
    if 300 <= status < 400:
        return f"Answered {status}, a redirect. Redirects are not followed; enter the address that it leads to."
    return f"Answered {status}. Any status from 200 to 299 counts as delivered."


def _words_for(error: Exception) -> str:
    import aiohttp

    host = getattr(error, "host", "")
    cause = getattr(error, "os_error", None)
    match error:
        case aiohttp.ClientConnectorCertificateError():
            words = f"The certificate is not valid: {error.certificate_error}"
        case aiohttp.ClientSSLError():
            words = f"No encrypted connection can be made: {error}"
        case aiohttp.ClientConnectorDNSError():
            words = f"The name {host} cannot be resolved."
        case aiohttp.ClientConnectorError():
            inside = isinstance(cause, InsideAddress)
            words = str(cause) if inside else f"No connection to {host}: {getattr(cause, 'strerror', None) or cause}"
        case aiohttp.ServerDisconnectedError():
            words = "The connection was closed without an answer."
        case _:
            words = f"The answer cannot be read: {error or type(error).__name__}"
    return clean_text(words)
