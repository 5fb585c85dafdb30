"""What a sitemap says (sitemaps.org): pages, or other sitemaps. Pure."""

import gzip
import io
import zlib
from dataclasses import dataclass
from typing import Final
from xml.parsers import expat

MAX_BYTES: Final = 50_000_000
"""Of one file, unpacked: what the protocol allows."""
_LOCATION_CHARS: Final = 2_000


class NotASitemap(ValueError):
    """The message is a sentence for people."""


@dataclass(frozen=True, slots=True)
class Sitemap:
    """Addresses as they are written there, in their order, each once."""

    pages: tuple[str, ...] = ()
    sitemaps: tuple[str, ...] = ()


def sitemap_of(body: bytes, *, most: int) -> Sitemap:
    """At most `most` of either. Packed or not; a plain list of addresses, one a line, is one too. Raises
    NotASitemap."""
    text = _unpacked(body)
    if text.lstrip()[:8].lower().startswith((b"http://", b"https://")):
        lines = text.decode("utf-8", errors="replace").splitlines()
        return Sitemap(pages=_unique([line.strip() for line in lines if line.strip()], most))
    reader = _Reader(most)
    reader.read(text)
    if reader.root not in ("urlset", "sitemapindex"):
        raise NotASitemap(f"It is no sitemap: it begins with <{reader.root[:40]}>.")
    return Sitemap(_unique(reader.found["url"], most), _unique(reader.found["sitemap"], most))


def _unique(addresses: list[str], most: int) -> tuple[str, ...]:
    return tuple(dict.fromkeys(addresses))[:most]


def _unpacked(body: bytes) -> bytes:
    if not body.startswith(b"\x1f\x8b"):
        return body
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(body)) as packed:
            text = packed.read(MAX_BYTES + 1)
    except (OSError, EOFError, zlib.error):
        raise NotASitemap("It is packed, and cannot be unpacked.") from None
    if len(text) > MAX_BYTES:
        raise NotASitemap(f"It has more than {MAX_BYTES:,} bytes.")
    return text


class _Reader:
    """Collects each <loc> that stands in a <url> or <sitemap>. Declarations of entities are refused: no sitemap needs
    them, and they are how a small file becomes a huge one."""

    def __init__(self, most: int) -> None:
        self.root = ""
        self.found: dict[str, list[str]] = {"url": [], "sitemap": []}
        self._most = most
        self._path: list[str] = []
        self._location: list[str] | None = None

    def read(self, text: bytes) -> None:
        parser = expat.ParserCreate(namespace_separator="}")
        parser.StartDoctypeDeclHandler = self._doctype
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        try:
            parser.Parse(text, True)
        except expat.ExpatError as error:
            raise NotASitemap(f"It is no sitemap: its XML is broken in line {error.lineno}.") from None
        except (ValueError, LookupError) as error:
            if isinstance(error, NotASitemap):
                raise
            raise NotASitemap("It is no sitemap: its encoding is not known.") from None

    def _doctype(self, *_: object) -> None:
        raise NotASitemap("It declares a document type, which no sitemap needs.")

    def _start(self, name: str, _: object) -> None:
        local = name.rpartition("}")[2]
        self.root = self.root or local
        self._path.append(local)
        if local == "loc" and len(self._path) == 3 and self._path[1] in self.found:
            self._location = []

    def _end(self, _: str) -> None:
        self._path.pop()
        if self._location is None:
            return
        address = "".join(self._location).strip()
        kept = self.found[self._path[-1]]
        # One more than wanted, so that it can be told that there are more.
        if 0 < len(address) <= _LOCATION_CHARS and len(kept) < 2 * self._most:
            kept.append(address)
        self._location = None

    def _characters(self, text: str) -> None:
        if self._location is not None:
            self._location.append(text)
