"""Pages of the web as tools reach them: by the one door, which goes to no private network, and only what their site
allows programs to read. Needs no setting."""

import asyncio
import time
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from agents.runtime.driven import About
from agents.tools.tool import ToolError
from agents.tools.values import FetchedPage
from agents.web.extracting import READ_S, Extracted, extracted
from agents.web.found import one_line
from hyperagent.lib.outside.addresses import Address, BadAddress, canonical
from hyperagent.lib.outside.egress import Egress
from hyperagent.lib.outside.fetching import Fetched, NotFetched, fetch
from hyperagent.lib.outside.robots import NotAsked, may_read, robots_of
from memory.reading.values import Unreadable

if TYPE_CHECKING:
    from hyperagent.lib.outside.client import Lookup

MAX_PAGE_BYTES: Final = 10_000_000
TIMEOUT_S: Final = 20.0
READERS: Final = 2
"""Processes that read pages at once."""
ROBOTS_KEPT_S: Final = 3_600.0
ROBOTS_KEPT: Final = 500
_ACCEPT: Final = "text/html,application/xhtml+xml,application/pdf;q=0.9,text/*;q=0.8,*/*;q=0.5"
_TITLE_CHARS: Final = 300
NOT_ASKED: Final = "it cannot be asked what programs may read there (robots.txt)."
_DRAWN_AS_TEXT: Final = "image/svg+xml"


class GuardedPages:
    """`allow_private` is for tests on this machine: no setting turns it on. `lookup` answers for DNS. `egress`: as the
    installation is configured, unless it is given."""

    def __init__(
        self,
        *,
        allow_private: bool = False,
        lookup: "Lookup | None" = None,
        timeout_s: float = TIMEOUT_S,
        read_s: float = READ_S,
        egress: Egress | None = None,
    ) -> None:
        self._egress = egress
        self._allow_private = allow_private
        self._lookup = lookup
        self._timeout_s = timeout_s
        self._read_s = read_s
        self._readers = asyncio.Semaphore(READERS)
        self._robots: dict[str, tuple[float, str]] = {}

    async def fetch(self, about: About, url: str, *, stays: bool = False) -> FetchedPage:
        found = await self.read(url, stays=stays)
        asked = _told(url)
        if found.content_type.startswith("image/") and found.content_type != _DRAWN_AS_TEXT:
            raise ToolError(f"{asked} is an image, in which there is no text. Look at it with analyze_image.")
        try:
            page = await self._extracted(found)
        except Unreadable as refusal:
            raise ToolError(f"{asked} could not be read. {refusal.message}") from None
        if not page.text:
            raise ToolError(
                f"{asked} has no text that can be read: perhaps a program draws it in the browser. Use another."
            )
        return FetchedPage(
            url=found.url, title=one_line(page.title)[:_TITLE_CHARS], text=page.text, is_whole=page.is_whole
        )

    async def read(self, url: str, *, max_bytes: int = MAX_PAGE_BYTES, stays: bool = False) -> Fetched:
        """What is there, of whatever kind. Raises ToolError, which names only the address that was asked for: where a
        redirect leads, whoever answered has written."""
        address = self._address(url)
        await self._ask_robots(address)
        found = await self._fetched(address.url, max_bytes=max_bytes, stays=stays)
        if found.url != address.url:
            there = self._address(found.url)
            is_the_same = there.origin == address.origin
            await self._ask_robots(there, "" if is_the_same else f"The site that {_told(url)} redirects to")
        if not 200 <= found.status < 300:
            raise ToolError(_refusal(_told(url), found.status))
        return found

    async def _extracted(self, found: Fetched) -> Extracted:
        async with self._readers:
            return await asyncio.to_thread(
                extracted,
                found.body,
                filename=_filename_of(self._address(found.url)),
                content_type=found.headers.get("content-type", ""),
                read_s=self._read_s,
            )

    def _address(self, url: str) -> Address:
        try:
            return canonical(url.strip(), allow_private=self._allow_private)
        except BadAddress as fault:
            raise ToolError(f"'{one_line(url)[:200]}' cannot be read. {fault}") from None

    async def _fetched(self, url: str, *, max_bytes: int, stays: bool) -> Fetched:
        try:
            return await self._through_the_door(url, max_bytes=max_bytes, stays=stays)
        except NotFetched as fault:
            raise ToolError(f"{_told(url)} could not be read: {fault.for_models}") from None

    async def _through_the_door(self, url: str, *, max_bytes: int, stays: bool = False) -> Fetched:
        return await fetch(
            url,
            max_bytes=max_bytes,
            timeout_s=self._timeout_s,
            accept=_ACCEPT,
            allow_private=self._allow_private,
            lookup=self._lookup,
            stays=stays,
            egress=self._egress,
        )

    async def _ask_robots(self, address: Address, led_to: str = "") -> None:
        """Raises ToolError for what the site asks programs not to read. `led_to`: what the site is called that a
        redirect chose, whose name no model is told."""
        named = led_to or address.origin
        kept = self._robots.get(address.origin)
        if kept is None or kept[0] < time.monotonic():
            try:
                text = await robots_of(address.origin, self._through_the_door)
            except NotAsked as fault:
                why = NOT_ASKED if led_to else fault.why
                raise ToolError(f"{named} could not be read: {why} Use another source.") from None
            while len(self._robots) >= ROBOTS_KEPT:
                del self._robots[next(iter(self._robots))]
            kept = self._robots[address.origin] = (time.monotonic() + ROBOTS_KEPT_S, text)
        if not may_read(kept[1], address.path):
            raise ToolError(
                f"{named} asks programs not to read this page (robots.txt), and that is respected. "
                "Use another source, or tell the person to open it."
            )


def _told(url: str) -> str:
    return one_line(url.strip())[:300]


def _refusal(asked: str, status: int) -> str:
    match status:
        case 404 | 410:
            why = f"there is no such page (its site answered {status})."
        case 401 | 403 | 407 | 451:
            why = f"its site does not let us read it (it answered {status})."
        case 429:
            why = "its site has too many requests for now (it answered 429)."
        case _:
            why = f"its site answered {status}."
    return f"{asked} could not be read: {why} Use another source."


def _filename_of(address: Address) -> str:
    return unquote(address.path.partition("?")[0].rstrip("/").rpartition("/")[2]) or address.host
