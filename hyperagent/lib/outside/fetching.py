"""Reads one page of the web at an address that somebody chose, within bounds of bytes, time and redirects.

Each redirect is looked at as the first address was. No cookies, no referrer, no proxy. Knows no table.
"""

import asyncio
import zlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from hyperagent.lib.outside.addresses import Address, BadAddress, InsideBadAddress, canonical, is_same_site
from hyperagent.lib.outside.egress import Egress, NotAllowed
from hyperagent.lib.outside.egress import egress as configured

if TYPE_CHECKING:
    import aiohttp

    from hyperagent.lib.outside.client import Lookup

MOST_REDIRECTS: Final = 5
USER_AGENT: Final = "HyperAgent/1"
_REDIRECTS: Final = (301, 302, 303, 307, 308)
_READ_BYTES: Final = 65_536


class Fault(StrEnum):
    BAD_ADDRESS = "bad_address"
    PRIVATE_ADDRESS = "private_address"
    NOT_ALLOWED = "not_allowed"
    ELSEWHERE = "elsewhere"
    TOO_MANY_REDIRECTS = "too_many_redirects"
    TOO_BIG = "too_big"
    TIMED_OUT = "timed_out"
    UNREACHABLE = "unreachable"
    UNREADABLE = "unreadable"


class NotFetched(Exception):
    """Nothing was read; the message is a sentence for people. `hops`: how many redirects had come."""

    def __init__(self, fault: Fault, message: str, *, hops: int = 0) -> None:
        super().__init__(message)
        self.fault = fault
        self.hops = hops

    @property
    def for_models(self) -> str:
        """Without the host that a redirect led to: whoever answered chose its name, and may say anything by it."""
        return _BEHIND_A_REDIRECT.get(self.fault, str(self)) if self.hops else str(self)


_BEHIND_A_REDIRECT: Final = {
    Fault.ELSEWHERE: "It redirects to another host, which was not followed.",
    Fault.NOT_ALLOWED: "It redirects to a host that is not among those that this installation lets its agents reach.",
    Fault.UNREACHABLE: "It redirects to a host to which there is no connection.",
}


@dataclass(frozen=True, slots=True)
class Fetched:
    """`url`: where it was in the end. Any status, for what it means is the caller's to say. `body`: unpacked.
    `headers`: their names in lower case."""

    url: str
    status: int
    content_type: str
    body: bytes = field(repr=False)
    headers: Mapping[str, str]


async def fetch(
    url: str,
    *,
    max_bytes: int,
    timeout_s: float,
    accept: str = "*/*",
    allow_private: bool = False,
    headers: Mapping[str, str] | None = None,
    lookup: "Lookup | None" = None,
    stays: bool = False,
    egress: Egress | None = None,
) -> Fetched:
    """Follows MOST_REDIRECTS. `max_bytes`: of the body, unpacked; more is refused, not cut. `timeout_s`: for all of it.
    `lookup` answers for DNS. `stays`: not to another host, unless that counts as ours. `egress`: where one may go at
    all, as the installation is configured unless it is given. Raises NotFetched.
    """
    from hyperagent.lib.outside import client  # half a second; only who follows addresses opens this door

    sent = {"accept": accept, "accept-encoding": "gzip, deflate", "user-agent": USER_AGENT, **(headers or {})}
    session = client.guarded_session(
        allow_private=allow_private, timeout_s=timeout_s, connections=1, lookup=lookup or client.asked_of_dns
    )
    rules = configured() if egress is None else egress
    hops = 0
    try:
        async with session, asyncio.timeout(timeout_s):
            address = canonical(url, allow_private=allow_private)
            for _ in range(MOST_REDIRECTS + 1):
                rules.check(address.host)
                found = await _read(session, address, sent, max_bytes)
                if isinstance(found, Fetched):
                    return found
                hops += 1
                address = _next(address, found, allow_private=allow_private, stays=stays, rules=rules)
    except BadAddress as error:
        raise NotFetched(_fault_of(error), str(error), hops=hops) from None
    except NotFetched as error:
        error.hops = hops
        raise
    except TimeoutError:
        raise NotFetched(Fault.TIMED_OUT, f"No answer within {timeout_s:g} seconds.") from None
    raise NotFetched(Fault.TOO_MANY_REDIRECTS, f"It redirects more than {MOST_REDIRECTS} times.")


def _next(address: Address, location: str, *, allow_private: bool, stays: bool, rules: Egress) -> Address:
    """Where a redirect leads to. Raises BadAddress, and NotFetched for another host where one is to stay.

    A redirect itself adds nothing of ours: the server makes it of the address that it was sent. But it may hand all of
    that on, `https://ours.example/out?to=https://theirs.example/?…` say. So an address that was let through for its
    host, or that somebody agreed to for its host, stays there; one that says nothing new may lead anywhere.
    """
    there = address.at(location, allow_private=allow_private)
    if stays and not is_same_site(there.host, address.host) and not rules.trusts(there.host):
        raise NotFetched(Fault.ELSEWHERE, f"It redirects to another host, to {there.url}, which was not followed.")
    return there


def _fault_of(error: BadAddress) -> Fault:
    match error:
        case InsideBadAddress():
            return Fault.PRIVATE_ADDRESS
        case NotAllowed():
            return Fault.NOT_ALLOWED
        case _:
            return Fault.BAD_ADDRESS


async def _read(
    session: "aiohttp.ClientSession", address: Address, headers: Mapping[str, str], max_bytes: int
) -> Fetched | str:
    """What is there, or where it redirects to."""
    import aiohttp
    from yarl import URL

    from hyperagent.lib.outside.client import is_inside, words_for

    try:
        where = URL(address.url, encoded=True)
        async with session.get(where, headers=headers, allow_redirects=False) as response:
            if response.status in _REDIRECTS and (location := response.headers.get("location")):
                return location
            body = await body_of(response, max_bytes)
            return Fetched(
                url=address.url,
                status=response.status,
                content_type=response.content_type,
                body=body,
                headers={name.lower(): value for name, value in response.headers.items()},
            )
    except TimeoutError:
        raise
    except zlib.error as error:
        raise NotFetched(Fault.UNREADABLE, f"What it sends cannot be unpacked: {error}.") from None
    except (aiohttp.ClientError, OSError, ValueError) as error:
        fault = Fault.PRIVATE_ADDRESS if is_inside(error) else Fault.UNREACHABLE
        raise NotFetched(fault, words_for(error)) from None


async def body_of(response: "aiohttp.ClientResponse", max_bytes: int) -> bytes:
    """Unpacked, in pieces: what is too big ends at the bound. Raises NotFetched, zlib.error."""
    packed = response.headers.get("content-encoding", "").strip().lower()
    pieces = response.content.iter_chunked(_READ_BYTES)
    if packed in ("gzip", "x-gzip", "deflate"):
        pieces = unpacked(pieces)  # type: ignore[assignment]
    elif packed not in ("", "identity"):
        raise NotFetched(Fault.UNREADABLE, "It is packed in a way that was not asked for.")
    body = bytearray()
    async for piece in pieces:
        body += piece
        if len(body) > max_bytes:
            raise NotFetched(Fault.TOO_BIG, f"It has more than {max_bytes:,} bytes.")
    return bytes(body)


async def unpacked(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """gzip or deflate, in pieces of at most _READ_BYTES: a bomb ends at the reader's bound. Raises zlib.error."""
    unpacker = None
    async for piece in pieces:
        if unpacker is None:
            # gzip and zlib name themselves; some servers send deflate bare.
            is_named = piece[:2] == b"\x1f\x8b" or (piece[0] & 0x0F == 8 and int.from_bytes(piece[:2]) % 31 == 0)
            unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32 if is_named else -zlib.MAX_WBITS)
        rest, is_full = piece, False
        # After a full piece it may have more in hand, though it has taken all that there is.
        while (rest or is_full) and not unpacker.eof:
            found = unpacker.decompress(rest, _READ_BYTES)
            yield found
            rest, is_full = unpacker.unconsumed_tail, len(found) == _READ_BYTES
    if unpacker is not None and not unpacker.eof:
        raise zlib.error("it breaks off in the middle")
