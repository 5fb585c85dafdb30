"""The right to work on a document until a time, by the database's clock: claimed, kept alive, lost, given back.

Each claim has a number (the epoch). Whoever writes gives theirs, and changes nothing once it is old: a worker that was
frozen and wakes up can write nothing, and what was cancelled or deleted meanwhile stays so.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from threading import Event, Thread
from typing import Any, Final
from uuid import UUID

import structlog
from django.db import DatabaseError, connection, transaction
from django.db.models import F, Q
from django.db.models.functions import Now

from hyperagent.lib.lanes import Lane
from hyperagent.lib.queue import enqueue
from memory.kinds import MOVES, UNFINISHED, DocumentStatus, Origin
from memory.models import Document

log = structlog.get_logger(__name__)

INGEST: Final = "memory.tasks.ingest"
"""The job that works on a document whose lease it gets."""
LEASE_S: Final = 20.0
RENEW_EVERY_S: Final = 5.0
MAX_ATTEMPTS: Final = 3
"""So often may a document be begun without one batch of it getting stored."""


class Lost(Exception):
    """Somebody else works on it now, or it was cancelled or deleted: stop, and write nothing more."""


def ask_for_job(document: Document) -> None:
    """Which does not wait behind all that nobody gave by hand."""
    enqueue(INGEST, document.pk, lane=Lane.LONG if document.origin == Origin.UPLOAD else Lane.MANY)


def claim(document_id: UUID) -> Document | None:
    """The document as it is now, under a new epoch; None if it is gone, finished, or somebody works on it."""
    free = Q(lease_until=None) | Q(lease_until__lte=Now())
    with transaction.atomic():
        taken = Document.objects.filter(free, pk=document_id, status__in=UNFINISHED).update(
            epoch=F("epoch") + 1, attempts=F("attempts") + 1, lease_until=_until(), updated_at=Now()
        )
        return Document.objects.get(pk=document_id) if taken else None


def write(document: Document, **columns: Any) -> None:
    """Changes these columns and renews the lease: first thing in the transaction of a batch, so that whoever cancels
    or deletes waits for its end. Raises Lost, and then the caller's transaction must not be committed."""
    _change(document, columns, lease_until=_until())


def advance(document: Document, status: DocumentStatus, **columns: Any) -> None:
    """The next state, in which the work goes on. Raises Lost."""
    _move(document, status, columns, lease_until=_until())


def finish(document: Document, status: DocumentStatus, **columns: Any) -> None:
    """The next state, in which nobody holds it. Raises Lost."""
    _move(document, status, columns, lease_until=None)


def give_back(document: Document) -> None:
    """For the next job to go on with at once. Raises Lost."""
    _change(document, {}, lease_until=None)


def hand_back(document: Document, reason: str) -> None:
    """Of whoever could not work on it, through no fault of its own: that was no attempt, and the sweep finds it.
    `reason`: told until there is progress. Raises Lost."""
    held = Document.objects.filter(pk=document.pk, epoch=document.epoch, status=document.status)
    if not held.update(attempts=F("attempts") - 1, reason=reason, lease_until=None, updated_at=Now()):
        raise Lost


def _move(document: Document, status: DocumentStatus, columns: dict[str, Any], *, lease_until: Any) -> None:
    before = DocumentStatus(document.status)
    if status not in MOVES[before]:
        raise ValueError(f"document {document.pk} cannot go from {before} to {status}")
    _change(document, {**columns, "status": status}, lease_until=lease_until)


def _change(document: Document, columns: dict[str, Any], *, lease_until: Any) -> None:
    columns = {"reason": "", **columns}
    held = Document.objects.filter(pk=document.pk, epoch=document.epoch, status=document.status)
    # Whatever is written is progress: only attempts without any are counted, and nothing hinders it any more.
    if not held.update(**columns, attempts=0, lease_until=lease_until, updated_at=Now()):
        raise Lost
    for name, value in columns.items():
        setattr(document, name, value)


@contextmanager
def kept_alive(document: Document) -> Iterator[None]:
    """Within it the lease is renewed from a thread: one page of a file may take longer than a lease lasts."""
    over = Event()
    thread = Thread(target=_renew, args=(document.pk, document.epoch, over), name="lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _renew(document_id: UUID, epoch: int, over: Event) -> None:
    held = Document.objects.filter(pk=document_id, epoch=epoch, lease_until__isnull=False)
    try:
        while not over.wait(RENEW_EVERY_S):
            try:
                held.update(lease_until=_until())
            except DatabaseError as error:
                log.warning("document.lease_not_renewed", document_id=str(document_id), error=str(error))
                connection.close()
    finally:
        connection.close()


def _until() -> Any:
    return Now() + timedelta(seconds=LEASE_S)
