"""Looking at a connector that is due: who may, for how long, and what is written down of it afterwards.

A look is claimed by one conditional update, by the database's clock, so two workers never look at once. It takes LOOK_S
at most; what is left then comes in the next look, a minute later. Errors end as words on the page, and the next look
waits longer.
"""

import io
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import structlog
from django.conf import settings
from django.db import connection, transaction

from hyperagent.lib.outside.addresses import BadAddress, canonical
from hyperagent.lib.outside.fetching import NotFetched
from hyperagent.lib.refusals import Refused
from hyperagent.lib.text import clean_text
from memory.connecting import folders, pages
from memory.connecting.items import Items, key_of
from memory.connecting.sitemaps import MAX_BYTES, NotASitemap, Sitemap, sitemap_of
from memory.connecting.values import LookFailed, LookLost, Tally
from memory.ingestion.files import TooBig
from memory.kinds import ConnectorKind
from memory.models import Connector

log = structlog.get_logger(__name__)

LOOK_S: Final = 40.0
LEASE_S: Final = 300
UNFINISHED_PAUSE_S: Final = 60
LONGEST_PAUSE_S: Final = 86_400
MAX_PAGES: Final = 500
MAX_SITEMAPS: Final = 50
PATIENCE: Final = 2
"""Gone is what so many looks in a row do not find: a disk, or a site, may be away for one."""
_RESULT_CHARS: Final = 2_000
_DUE: Final = """
    c.is_on AND (c.looking_until IS NULL OR c.looking_until < clock_timestamp())
    AND (c.looked_at IS NULL OR c.looked_at + c.pause_s * interval '1 second' <= clock_timestamp())
    AND EXISTS (SELECT FROM accounts_user u WHERE u.id = c.owner_id AND u.is_active)
"""
_CLAIM: Final = f"""
    UPDATE memory_connector c
       SET looking_until = clock_timestamp() + %s * interval '1 second',
           round_began_at = coalesce(round_began_at, clock_timestamp())
     WHERE c.id = %s AND {_DUE} RETURNING c.looking_until
"""
# Who asks for a look while one goes on takes the beginning of its round away (`actions.look_now`): what that look had
# seen already may be what has changed.
_RECORD: Final = """
    UPDATE memory_connector SET looked_at = clock_timestamp(), looking_until = NULL,
           round_began_at = CASE WHEN %(unfinished)s THEN round_began_at END, result = %(result)s,
           is_failing = %(failing)s, failures = CASE WHEN %(failing)s THEN failures + 1 ELSE 0 END,
           device = %(device)s,
           pause_s = CASE WHEN round_began_at IS NULL THEN 0
                          WHEN %(unfinished)s THEN %(soon)s
                          WHEN %(failing)s THEN least(every_s * power(2, least(failures, 10)),
                                                    greatest(every_s, %(longest)s))
                          ELSE every_s END
     WHERE id = %(id)s AND looking_until = %(held)s
"""  # fmt: skip


def due() -> list[uuid.UUID]:
    """By the database's clock, whoever waits longest first."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT c.id FROM memory_connector c WHERE {_DUE} ORDER BY c.looked_at NULLS FIRST LIMIT 100")
        return [row[0] for row in cursor.fetchall()]


def is_due(connector_id: uuid.UUID) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT 1 FROM memory_connector c WHERE c.id = %s AND {_DUE}", [connector_id])
        return cursor.fetchone() is not None


def look(connector_id: uuid.UUID) -> bool:
    """Looks, if it is due and nobody else does. Whether it looked."""
    held_until = _claimed(connector_id)
    if held_until is None:
        return False
    connector = Connector.objects.select_related("owner").get(pk=connector_id)
    glance = _Look(connector, held_until, time.monotonic() + LOOK_S)
    try:
        result, failing = glance.at_all(), False
    except LookLost:
        return False
    except (LookFailed, pages.NotRead, NotFetched) as failure:
        result, failing = str(failure), True
    except Exception:
        log.exception("connector.look_failed", connector=str(connector_id))
        result, failing = "Something went wrong here; an administrator finds it in the log. It is tried again.", True
    _record(glance, result, failing=failing)
    return True


def _claimed(connector_id: uuid.UUID) -> datetime | None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_CLAIM, [LEASE_S, connector_id])
        row = cursor.fetchone()
    return row[0] if row else None


def _record(glance: "_Look", result: str, *, failing: bool) -> None:
    values: dict[str, Any] = {
        "id": glance.connector.pk,
        "held": glance.held_until,
        "result": clean_text(result)[:_RESULT_CHARS],
        "failing": failing,
        "unfinished": glance.tally.unfinished,
        "device": glance.device,
        "soon": UNFINISHED_PAUSE_S,
        "longest": LONGEST_PAUSE_S,
    }
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_RECORD, values)


@dataclass
class _Wanted:
    """The pages that a sitemap names, on its own host, in their one spelling."""

    host: str
    pages: list[str]
    note: str = ""


class _Look:
    """One look at one connector. `until_s`: on the clock of `time.monotonic`."""

    def __init__(self, connector: Connector, held_until: datetime, until_s: float) -> None:
        self.tally = Tally()
        self.connector = connector
        self.held_until = held_until
        self.device = connector.device
        self._items = Items(connector, held_until, self.tally)
        self._until_s = until_s
        self._began = False

    def at_all(self) -> str:
        """What came of it, as a sentence. Raises LookFailed, LookLost."""
        looks: dict[str, tuple[Callable[[], None], str, str]] = {
            ConnectorKind.FOLDER: (self._at_folder, "file", "files"),
            ConnectorKind.PAGE: (self._at_page, "page", "pages"),
            ConnectorKind.SITEMAP: (self._at_sitemap, "page", "pages"),
        }
        act, one, many = looks[self.connector.kind]
        act()
        return self.tally.sentence(one, many)

    # ── A folder

    def _at_folder(self) -> None:
        folder = self.connector.location
        if not self.connector.owner.is_staff:
            raise LookFailed("Only administrators may watch folders, and its owner is none any more.")
        if fault := folders.folder_fault(folder, settings.CONFIG.watch_roots):
            raise LookFailed(fault)
        found = folders.listed(folder)
        there = {entry.key for entry in found.entries}
        visible = {k for k, item in self._items.known.items() if not item.place.startswith(found.blind or ("\0",))}
        self._check_disk(found, visible, there)
        self.tally.seen = len(found.entries)
        for entry in found.entries:
            known = self._items.known.get(entry.key)
            if known is not None and known.marks in (entry.marks, _too_big(entry)):
                self._items.there(entry.key)
                continue
            if self._is_over():
                return
            self._take_file(folder, entry)
        for key in visible - there:
            self._items.absent(key, patience=PATIENCE)
        if found.blind:
            self.tally.notes.append(
                f"Not readable: {', '.join(found.blind[:3])}{' …' if len(found.blind) > 3 else ''}."
            )

    def _check_disk(self, found: folders.Listed, known: set[str], there: set[str]) -> None:
        """Where a disk is away, an empty folder is left, or what lies beneath it. Raises LookFailed."""
        if known and not there:
            raise LookFailed(
                f"The folder is empty, where {_files(len(known))} known. Is its disk away? Their documents stay. If it"
                " was emptied on purpose, delete this connector with its documents."
            )
        if self.device not in (None, found.device) and known and known.isdisjoint(there):
            raise LookFailed(
                f"Another disk is at this folder, with nothing of what was there: {_files(len(known))} known. Their"
                " documents stay. If this is meant, delete this connector, and add it anew."
            )
        self.device = found.device

    def _take_file(self, folder: str, entry: folders.Entry) -> None:
        try:
            with folders.opened(folder, entry.parts) as file:
                self._items.take_in(entry.place, entry.key, file, filename=entry.parts[-1], marks=entry.marks)
        except OSError as error:
            self._items.not_read(entry.place, entry.key, f"it cannot be opened: {error.strerror or error}")
        except TooBig as refused:
            self._items.not_read(entry.place, entry.key, refused.message, marks=_too_big(entry))
        except Refused as refused:
            self._items.not_read(entry.place, entry.key, refused.message)

    # ── Pages

    def _at_page(self) -> None:
        self._take_page(pages.Site(), self.connector.location)
        self.tally.seen = 1
        if self.tally.problems:
            raise LookFailed(self._items.known[key_of(self.connector.location)].problem)

    def _at_sitemap(self) -> None:
        site = pages.Site()
        wanted = self._wanted(site)
        self.tally.seen = len(wanted.pages)
        if wanted.note:
            self.tally.notes.append(wanted.note)
        for number, url in enumerate(self._not_looked_at_lately(wanted.pages)):
            if self._is_over():
                return
            try:
                self._take_page(site, url, host=wanted.host)
            except pages.TooSoon as answer:
                if number == 0:
                    raise LookFailed(str(answer)) from None
                # The others in a minute: to ask for each of them now is what the site asks not to do.
                self.tally.unfinished = True
                return
        there = {key_of(url) for url in wanted.pages}
        for key in [key for key in self._items.known if key not in there]:
            self._items.absent(key, patience=PATIENCE)
        if wanted.pages and len(self.tally.problems) == len(wanted.pages):
            raise LookFailed(f"None of its {len(wanted.pages)} pages can be read: {self.tally.problems[0]}.")

    def _take_page(self, site: pages.Site, url: str, *, host: str = "") -> None:
        """Raises TooSoon, when it is written down."""
        key = key_of(url)
        known = self._items.known.get(key)
        try:
            found = site.read(url, known.marks if known is not None else {}, host=host)
        except pages.PageGone as gone:
            if known is None:
                self._items.not_read(url, key, str(gone))
            else:
                self._items.absent(key, patience=PATIENCE)
                self.tally.notes.append(f"{url}: {gone}")
            return
        except pages.TooSoon as answer:
            self._items.not_read(url, key, str(answer))
            raise
        except (pages.NotRead, LookFailed) as error:
            self._items.not_read(url, key, str(error))
            return
        if found is None:
            self._items.unchanged(key)
            return
        try:
            self._items.take_in(
                url, key, io.BytesIO(found.body), filename=found.filename, marks=found.marks, digest=found.digest
            )
        except Refused as refused:
            self._items.not_read(url, key, refused.message)

    def _not_looked_at_lately(self, urls: Sequence[str]) -> list[str]:
        """Those that the looks of this round, whose time ran out, did not come to: first what became no document yet,
        then what was not looked at for longest. A site that answers only so often would never be read to its end."""
        began, never = self.connector.round_began_at, datetime.min.replace(tzinfo=UTC)
        known = {url: self._items.known.get(key_of(url)) for url in urls}
        last = {url: item.looked_at if item and item.looked_at else never for url, item in known.items()}
        left = [url for url in urls if began is None or last[url] < began]
        has_become = {url for url, item in known.items() if item and item.document_id}
        return sorted(left, key=lambda url: (url in has_become, last[url]))

    def _wanted(self, site: pages.Site) -> _Wanted:
        """Raises LookFailed, NotRead, NotFetched."""
        start = canonical(self.connector.location, allow_private=site.allow_private)
        listed: list[str] = []
        children, seen = [start.url], {start.url}
        while children and len(listed) <= MAX_PAGES:
            found = self._sitemap(site, children.pop(0))
            listed += found.pages
            for child in (_spelled(url, site, start.host) for url in found.sitemaps):
                if child and child not in seen and len(seen) < MAX_SITEMAPS:
                    seen.add(child)
                    children.append(child)
        spelled = [_spelled(url, site, start.host) for url in listed]
        own = list(dict.fromkeys(url for url in spelled if url))
        note = (
            f"More than {MAX_PAGES} pages are listed; the first {MAX_PAGES} are kept." if len(own) > MAX_PAGES else ""
        )
        if not own:
            raise LookFailed(f"The sitemap names no page of {start.host}.")
        return _Wanted(start.host, own[:MAX_PAGES], note)

    def _sitemap(self, site: pages.Site, url: str) -> Sitemap:
        found = site.get(url, max_bytes=MAX_BYTES)
        if found.status != 200:
            raise LookFailed(f"The sitemap {url} cannot be read: its site answered {found.status}.")
        try:
            return sitemap_of(found.body, most=MAX_PAGES + 1)
        except NotASitemap as fault:
            raise LookFailed(f"{url}: {fault}") from None

    def _is_over(self) -> bool:
        """Never before the first, so that each look comes further."""
        self.tally.unfinished = self._began and time.monotonic() > self._until_s
        self._began = True
        return self.tally.unfinished


def _too_big(entry: folders.Entry) -> dict[str, int]:
    """The marks of a file that was too big: under another limit it is looked at anew."""
    return {**entry.marks, "limit": settings.CONFIG.document_max_bytes}


def _files(count: int) -> str:
    return "1 file was" if count == 1 else f"{count:,} files were"


def _spelled(url: str, site: pages.Site, host: str) -> str:
    """In its one spelling; empty for what is no address, or of another host."""
    try:
        address = canonical(url, allow_private=site.allow_private)
    except BadAddress:
        return ""
    return address.url if address.host == host else ""
