"""Keeps what was found at a connector's places in step with documents: new, changed, gone.

What changed becomes a new document, which takes the place of the former one only once a search finds it. A document
that somebody deleted by hand stays deleted until its file or page changes; one that the connector did not make is never
deleted by it. Every write holds the connector's row, and happens only while this look is the one that counts.
"""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import IO, Any, Final

from django.db import transaction
from django.db.models import Q, QuerySet, Subquery
from django.db.models.functions import Now

from hyperagent.lib.refusals import NotThere
from hyperagent.lib.text import clean_text
from memory.actions import documents
from memory.connecting.values import LookLost, Tally
from memory.kinds import SEARCHABLE, DocumentStatus, Origin, Visibility
from memory.models import Connector, ConnectorItem, Document

_PROBLEM_CHARS: Final = 500
_FORMER_STAYS: Final = "Its newer version cannot be read, so the former one stays."
_UNREADABLE: Final = (DocumentStatus.FAILED, DocumentStatus.CANCELLED)


def key_of(place: str) -> str:
    return hashlib.sha256(place.encode("utf-8", errors="replace")).hexdigest()


class Items:
    """The items of a connector during one look. `held_until`: the look's lease, by which it is known to count.
    `known`: as they were when it began, or as it left them."""

    def __init__(self, connector: Connector, held_until: datetime, tally: Tally) -> None:
        self._connector = connector
        self._held_until = held_until
        self._tally = tally
        self.known: dict[str, ConnectorItem] = {item.place_key: item for item in connector.items.all()}

    def take_in(
        self, place: str, key: str, file: IO[bytes], *, filename: str, marks: Mapping[str, Any], digest: str = ""
    ) -> None:
        """What stands there now. Raises LookLost, and Refused for a file that is not taken."""
        with self._holding():
            item = self._item(place, key)
            is_new = item.pk is None
            is_another = (is_new or not digest or digest != item.digest) and self._become(item, file, filename)
            item.marks, item.digest, item.problem, item.absences = dict(marks), digest, "", 0
            self._save(item)
        self._tally.new += is_new
        self._tally.changed += is_another and not is_new

    def unchanged(self, key: str) -> None:
        with self._holding():
            item = self._item(self.known[key].place, key)
            item.problem, item.absences = "", 0
            self._save(item)

    def there(self, key: str) -> None:
        """It stands as it was left: nothing is written, unless the last look missed it."""
        item = self.known[key]
        if item.absences:
            with self._holding():
                item = self._item(item.place, key)
                item.absences = 0
                self._save(item)
        if item.problem:
            self._tally.problems.append(f"{item.place}: {item.problem.rstrip('.')}")

    def not_read(self, place: str, key: str, problem: str, *, marks: Mapping[str, Any] = {}) -> None:
        """What it became before stays. `marks`: with which it need not be tried again."""
        with self._holding():
            item = self._item(place, key)
            item.problem, item.absences, item.marks = clean_text(problem)[:_PROBLEM_CHARS], 0, dict(marks)
            self._save(item)
        self._tally.problems.append(f"{clean_text(place)}: {problem.rstrip('.')}")

    def absent(self, key: str, *, patience: int) -> None:
        """It is gone: its document too, once that is so for `patience` looks in a row."""
        known = self.known.get(key)
        if known is None:
            return
        with self._holding():
            item = self._item(known.place, key)
            item.absences += 1
            if item.absences < patience:
                self._save(item)
                return
            former = [found for found in (item.document, item.successor) if found is not None]
            item.delete()
            del self.known[key]
            for document in former:
                drop(self._connector, document)
            self._tally.gone += 1

    def _item(self, place: str, key: str) -> ConnectorItem:
        """As it is now, and held: since the look began a newer version may have taken its place, or its owner may have
        deleted its document."""
        rows = ConnectorItem.objects.select_for_update(of=("self",)).select_related("document", "successor")
        found = rows.filter(connector=self._connector, place_key=key).first()
        return found or ConnectorItem(connector=self._connector, place=clean_text(place), place_key=key)

    def _become(self, item: ConnectorItem, file: IO[bytes], filename: str) -> bool:
        """Whether it is another document now."""
        document, _is_new = documents.add(
            self._connector.owner,
            file,
            filename=filename,
            origin=Origin.CONNECTOR,
            connector=self._connector,
            source_url=_source_of(self._connector, item.place),
        )
        if document.pk in (item.document_id, item.successor_id):
            if document.pk == item.document_id and item.successor is not None:
                self._give_up(item)
                return True
            return False
        self._give_up(item)
        if item.document is None:
            item.document = document
        else:
            item.successor = document
        return True

    def _give_up(self, item: ConnectorItem) -> None:
        """A version that another one overtook before it was found by any search."""
        overtaken, item.successor = item.successor, None
        if overtaken is not None:
            self._save(item)
            drop(self._connector, overtaken)

    def _save(self, item: ConnectorItem) -> None:
        item.save()
        ConnectorItem.objects.filter(pk=item.pk).update(looked_at=Now())
        self.known[item.place_key] = item

    @contextmanager
    def _holding(self) -> Iterator[None]:
        with transaction.atomic():
            held = Connector.objects.select_for_update(no_key=True, of=("self",))
            if not held.filter(pk=self._connector.pk, looking_until=self._held_until).exists():
                raise LookLost
            yield


def settle(item_id: int) -> bool:
    """Lets a newer version take its place if a search finds it by now. Whether it did."""
    with transaction.atomic():
        rows = ConnectorItem.objects.select_for_update(of=("self",)).select_related(
            "connector__owner", "document", "successor"
        )
        item = rows.filter(pk=item_id).first()
        if item is None or item.successor is None:
            return False
        if item.document is not None and item.successor.status in _UNREADABLE:
            item.problem = f"{_FORMER_STAYS} {item.successor.reason}".strip()
            item.save(update_fields=["problem"])
            return False
        if item.document is not None and item.successor.status not in SEARCHABLE:
            return False
        former, item.document, item.successor = item.document, item.successor, None
        if item.problem.startswith(_FORMER_STAYS):
            item.problem = ""
        item.save(update_fields=["document", "successor", "problem"])
        if former is not None:
            _share_as(former, item)
            drop(item.connector, former)
    return True


def waiting() -> list[int]:
    """Items whose newer version may take its place, or turned out to be none."""
    ready = Q(successor__status__in=SEARCHABLE) | Q(document=None, successor__isnull=False)
    broken = Q(successor__status__in=_UNREADABLE, problem="")
    return list(ConnectorItem.objects.filter(ready | broken).order_by("pk").values_list("pk", flat=True)[:1_000])


def drop(connector: Connector, document: Document) -> bool:
    """Deletes a document that this connector made, unless another place has the same words: one of its own, or of
    another connector, whose document it is from then on. Whether it is gone."""
    if document.connector_id != connector.pk:
        return False
    others = ConnectorItem.objects.filter(Q(document=document) | Q(successor=document))
    if others.exists():
        if not others.filter(connector=connector).exists():
            Document.objects.filter(pk=document.pk).update(connector=Subquery(others.values("connector")[:1]))
        _call_as_found(document, others)
        return False
    try:
        documents.delete(connector.owner, document.pk)
    except NotThere:
        # Its owner deleted it meanwhile.
        return False
    return True


def _call_as_found(document: Document, items: QuerySet[ConnectorItem]) -> None:
    """A file that was renamed or moved is not called any more by what it was before."""
    found = {_source_of(item.connector, item.place): item.place for item in items.select_related("connector")}
    if document.source_url in found:
        return
    source, place = next(iter(found.items()))
    if "://" not in place:
        documents.found_elsewhere(document.pk, filename=place.rpartition("/")[2], source_url=source)


def _source_of(connector: Connector, place: str) -> str:
    return place if "://" in place else f"{connector.location}/{place}"


def _share_as(former: Document, item: ConnectorItem) -> None:
    """Whoever sees the former version at this moment sees the newer one, which nobody but its owner did. One that is
    somewhere else too, or that its owner has shared already, stays as it is."""
    newer = item.document
    if newer is None or newer.connector_id != item.connector_id:
        return
    if ConnectorItem.objects.filter(Q(document=newer) | Q(successor=newer)).exclude(pk=item.pk).exists():
        return
    # Held: whoever changes who sees it has done so before, or changes a document that is gone.
    seen = Document.objects.select_for_update().filter(pk=former.pk).first()
    if seen is None:
        return
    if Document.objects.filter(pk=newer.pk, visibility=Visibility.PRIVATE).update(visibility=seen.visibility):
        newer.groups.set(seen.groups.all())
    for project in seen.projects.all():
        project.documents.add(newer)
