"""Pages of the web, read through the one door: only what their site allows programs to read, and only what changed."""

import asyncio
import hashlib
from codecs import BOM_UTF8
from collections.abc import Mapping
from email.message import Message
from typing import Any, Final
from urllib.parse import unquote

from django.conf import settings

from hyperagent.lib.clipping import one_line
from hyperagent.lib.html_text import text_of
from hyperagent.lib.outside.addresses import Address, BadAddress, canonical
from hyperagent.lib.outside.fetching import Fetched, NotFetched, fetch
from hyperagent.lib.outside.robots import NotAsked, may_read, robots_of
from memory.connecting.values import LookFailed, Read
from memory.reading.decoding import meant_by
from memory.reading.kinds import wide_encoding

TIMEOUT_S: Final = 20.0
MAX_PAGE_BYTES: Final = 20_000_000
_ACCEPT: Final = "text/html,application/xhtml+xml,application/pdf,text/plain,text/markdown;q=0.9,*/*;q=0.5"
_GONE: Final = (404, 410)
_TOO_MANY: Final = 429
_ENDINGS: Final = {
    "text/html": ".html",
    "application/xhtml+xml": ".html",
    "application/pdf": ".pdf",
    "text/plain": ".txt",
    "text/markdown": ".md",
    "text/csv": ".csv",
    "message/rfc822": ".eml",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
    "application/vnd.ms-excel": ".xls",
    "application/vnd.oasis.opendocument.spreadsheet": ".ods",
}
_PLAIN: Final = (".html", ".txt", ".md", ".csv")
READ_BYTES: Final = 2_000_000
"""Of a page that is longer, what comes after it is taken as it is: no site shall keep the queue for long."""
_NOT_TEXT: Final = ("image/", "audio/", "video/", "font/", "text/css", "text/javascript", "application/javascript")


class PageGone(Exception):
    """Its site says that it is not there (any more). The message is a sentence for people."""


class NotRead(Exception):
    """It is there and cannot be used, or not now. The message is a sentence for people."""


class TooSoon(NotRead):
    """Its site asks to be left alone for a while."""


class Site:
    """What was learned during one look of the sites that it reads: their robots.txt, each asked for once."""

    def __init__(self, *, allow_private: bool | None = None) -> None:
        chosen = settings.CONFIG.connector_allow_private if allow_private is None else allow_private
        self.allow_private: bool = chosen
        self._robots: dict[str, str | LookFailed] = {}

    def get(self, url: str, *, max_bytes: int, headers: Mapping[str, str] | None = None) -> Fetched:
        """Raises NotRead for what the site asks programs not to read, LookFailed if it cannot be asked, NotFetched."""
        address = self._address(url)
        self._ask_robots(address)
        found = asyncio.run(self._fetch(address.url, max_bytes=max_bytes, headers=headers))
        if found.url != address.url:
            self._ask_robots(self._address(found.url))
        return found

    def read(self, url: str, marks: Mapping[str, Any], *, host: str = "") -> Read | None:
        """The page if it changed since these marks were made. `host`: it may not lead to another. Raises PageGone,
        NotRead, TooSoon, LookFailed."""
        asked = {"if-none-match": marks.get("etag"), "if-modified-since": marks.get("modified")}
        try:
            found = self.get(url, max_bytes=MAX_PAGE_BYTES, headers={name: str(v) for name, v in asked.items() if v})
        except NotFetched as error:
            raise NotRead(str(error)) from None
        if found.status == 304 and marks:
            return None
        if found.status in _GONE:
            raise PageGone(f"It is not there: its site answered {found.status}.")
        if found.status == _TOO_MANY:
            raise TooSoon(f"Its site answered {found.status}.")
        if not 200 <= found.status < 300:
            raise NotRead(f"Its site answered {found.status}.")
        where = self._address(found.url)
        if host and where.host != host:
            raise NotRead(f"It redirects to another site, {where.host}.")
        if found.content_type.startswith(_NOT_TEXT):
            raise NotRead(f"It is of the kind {found.content_type[:60]}, in which there is no text.")
        given = {"etag": found.headers.get("etag"), "modified": found.headers.get("last-modified")}
        return Read(
            body=_telling_its_encoding(found),
            filename=filename_of(where, found.content_type),
            marks={name: value[:500] for name, value in given.items() if value},
            digest=digest_of(found.body, found.content_type),
        )

    def _address(self, url: str) -> Address:
        try:
            return canonical(url, allow_private=self.allow_private)
        except BadAddress as error:
            raise NotRead(str(error)) from None

    async def _fetch(self, url: str, *, max_bytes: int, headers: Mapping[str, str] | None = None) -> Fetched:
        return await fetch(
            url,
            max_bytes=max_bytes,
            timeout_s=TIMEOUT_S,
            accept=_ACCEPT,
            allow_private=self.allow_private,
            headers=headers,
        )

    def _ask_robots(self, address: Address) -> None:
        if address.origin not in self._robots:
            try:
                self._robots[address.origin] = asyncio.run(robots_of(address.origin, self._fetch))
            except NotAsked as error:
                self._robots[address.origin] = LookFailed(str(error))
        text = self._robots[address.origin]
        if isinstance(text, LookFailed):
            raise text
        if not may_read(text, address.path):
            raise NotRead("Its site asks programs not to read it (robots.txt).")


def _telling_its_encoding(found: Fetched) -> bytes:
    """The page; in UTF-8 and marked so if its site says of one that is not in what else it is written, for the page
    alone may not say so."""
    head = Message()
    head["content-type"] = found.headers.get("content-type", "")
    said = meant_by(head.get_content_charset(""))
    if not said or _ENDINGS.get(found.content_type) not in _PLAIN or wide_encoding(found.body[:4096]):
        return found.body
    try:
        found.body.decode()
    except UnicodeDecodeError:
        return BOM_UTF8 + found.body.decode(said, errors="replace").encode(errors="replace")
    return found.body


def filename_of(address: Address, content_type: str) -> str:
    """The last part of the address, or the host; with an ending that fits the kind."""
    last = unquote(address.path.partition("?")[0].rstrip("/").rpartition("/")[2])
    ending = _ENDINGS.get(content_type, "")
    name = last or address.host
    stem, dot, old = name.rpartition(".")
    if dot and last and f".{old.lower()}" in {".htm", ".php", ".asp", ".aspx", ".jsp", ending}:
        return f"{stem}{ending or f'.{old}'}"
    return f"{name}{ending}"


def digest_of(body: bytes, content_type: str) -> str:
    """SHA-256 of the words of a web page, else of the bytes: each answer of many sites differs in what nobody sees."""
    if _ENDINGS.get(content_type) != ".html":
        return hashlib.sha256(body).hexdigest()
    # Bytes that are no UTF-8 stay what they are: in another encoding all letters but those of English are such.
    said = one_line(text_of(body[:READ_BYTES].decode("utf-8", errors="surrogateescape")))
    return hashlib.sha256(said.encode("utf-8", errors="surrogatepass") + body[READ_BYTES:]).hexdigest()
