"""Finds what was lost on its way: documents whose job died, and what is left of documents that are gone.

A document may go without anybody asking for it by `memory.actions`: with its owner's account. Rows that hang on it go
with it; keywords, vectors and files do not, and are found here.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final
from uuid import UUID

import structlog
from django.core.files.storage import default_storage
from django.db import connection, transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from hyperagent.accounts.models import User
from hyperagent.lib.queue import enqueue, oldest_waiting_s
from memory.ingestion import files, pictures
from memory.ingestion.lease import UNFINISHED
from memory.models import Document

log = structlog.get_logger(__name__)

INGEST: Final = "memory.tasks.ingest"
AT_ONCE: Final = 200
# A document that nobody holds waits for a job. If jobs wait, its own may be among them.
LOST_AFTER_S: Final = 60
LOST_AFTER_WHILE_JOBS_WAIT_S: Final = 900
# A file that is just being written has no row yet.
FILE_GRACE: Final = timedelta(hours=1)
_OF_NOBODY: Final = """
    WITH RECURSIVE one AS (
        (SELECT document_id FROM {table} ORDER BY document_id LIMIT 1)
        UNION ALL
        SELECT (SELECT t.document_id FROM {table} t WHERE t.document_id > one.document_id
                ORDER BY t.document_id LIMIT 1)
          FROM one WHERE one.document_id IS NOT NULL
    )
    SELECT document_id FROM one
     WHERE document_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM memory_document d WHERE d.id = document_id)
"""
"""Looks at each document's first row in the index, not at all rows."""


def enqueue_lost() -> int:
    """How many were asked for again, at most AT_ONCE."""
    patience_s = LOST_AFTER_WHILE_JOBS_WAIT_S if oldest_waiting_s() > 0 else LOST_AFTER_S
    died = Q(lease_until__lte=Now())
    forgotten = Q(lease_until=None, updated_at__lte=Now() - timedelta(seconds=patience_s))
    with transaction.atomic():
        lost = list(
            Document.objects.select_for_update(skip_locked=True)
            .filter(died | forgotten, status__in=UNFINISHED)
            .order_by("updated_at")
            .values_list("pk", flat=True)[:AT_ONCE]
        )
        for document_id in lost:
            enqueue(INGEST, document_id)
        Document.objects.filter(pk__in=lost).update(lease_until=None, updated_at=Now())
    if lost:
        log.info("documents.found_again", count=len(lost))
    return len(lost)


def remove_leftovers() -> int:
    """How many documents' leftovers went."""
    return _remove_rows("memory_posting") + _remove_rows("memory_vector") + _remove_files() + pictures.trim()


def _remove_rows(table: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(_OF_NOBODY.format(table=table))
        gone = [document_id for (document_id,) in cursor.fetchall()]
        for document_id in gone:
            # Again looked at: one that was just being added is there by now.
            cursor.execute(
                f"DELETE FROM {table} WHERE document_id = %s"
                " AND NOT EXISTS (SELECT 1 FROM memory_document d WHERE d.id = %s)",
                [document_id, document_id],
            )
    return len(gone)


def _remove_files() -> int:
    removed = 0
    for owner_id, names in _stored():
        paths = [f"{files.FOLDER}/{owner_id}/{name}" for name in names]
        known = set(Document.objects.filter(stored_as__in=paths).values_list("stored_as", flat=True))
        is_there = _is_user(owner_id)
        for path in paths:
            if path not in known and (not is_there or _is_old(path)):
                files.remove(path)
                removed += 1
    return removed


def _stored() -> Iterator[tuple[str, list[str]]]:
    """The names of files by the folders in which they lie."""
    try:
        owners, _ = default_storage.listdir(files.FOLDER)
    except FileNotFoundError:
        return
    for owner_id in owners:
        yield owner_id, _listed(f"{files.FOLDER}/{owner_id}")


def _listed(folder: str) -> list[str]:
    try:
        return list(default_storage.listdir(folder)[1])
    except FileNotFoundError:
        return []


def _is_user(owner_id: str) -> bool:
    try:
        return User.objects.filter(pk=UUID(owner_id)).exists()
    except ValueError:
        return False


def _is_old(path: str) -> bool:
    try:
        return default_storage.get_modified_time(path) < timezone.now() - FILE_GRACE
    except FileNotFoundError:
        return False
