"""Finds what was lost on its way: documents whose job died, and what is left of documents that are gone.

A document may go without anybody asking for it by `memory.actions`: with its owner's account. Rows that hang on it go
with it; keywords, vectors and files do not, and are found here.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final
from uuid import UUID, uuid4

import structlog
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper
from django.db.models import Q
from django.db.models.functions import Now

from hyperagent.accounts.models import User
from hyperagent.lib.lanes import Lane
from hyperagent.lib.queue import enqueue, oldest_waiting_s
from memory.ingestion import files, pictures
from memory.ingestion.lease import INGEST
from memory.kinds import UNFINISHED
from memory.models import Document
from memory.stray_bytes import remove_strays

log = structlog.get_logger(__name__)

AT_ONCE: Final = 200
LOST_AFTER_S: Final = 60
LOOKED_AT: Final = 1_000
"""Documents of each table in one sweep: all of a small installation. Looking at 20,000 took 0.7 s in every five
minutes, and would take more with each that is added; so it is a part of them with each sweep."""
_SOME: Final = """
    WITH RECURSIVE one AS (
        (SELECT document_id, 1 AS number FROM {table} WHERE document_id >= %(first)s ORDER BY document_id LIMIT 1)
        UNION ALL
        SELECT (SELECT t.document_id FROM {table} t WHERE t.document_id > one.document_id
                ORDER BY t.document_id LIMIT 1), one.number + 1
          FROM one WHERE one.document_id IS NOT NULL AND one.number < %(most)s
    )
    SELECT one.document_id, d.id IS NULL FROM one LEFT JOIN memory_document d ON d.id = one.document_id
     WHERE one.document_id IS NOT NULL
"""
"""Documents from an id on, and whether they are gone. Looks at each one's first row in the index, not at all rows."""


def enqueue_lost() -> int:
    """How many were asked for again, at most AT_ONCE."""
    # A document that nobody holds waits for a job. Its own may be among those that wait, if it was asked for after the
    # oldest of them was.
    patience_s = oldest_waiting_s(*Lane) + LOST_AFTER_S
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
    return _remove_rows("memory_posting") + _remove_rows("memory_vector") + pictures.trim() + _remove_files()


def _remove_rows(table: str) -> int:
    with connection.cursor() as cursor:
        gone = _of_nobody(cursor, table)
        for document_id in gone:
            # Again looked at: one that was just being added is there by now.
            cursor.execute(
                f"DELETE FROM {table} WHERE document_id = %s"
                " AND NOT EXISTS (SELECT 1 FROM memory_document d WHERE d.id = %s)",
                [document_id, document_id],
            )
    return len(gone)


def _of_nobody(cursor: CursorWrapper, table: str) -> list[UUID]:
    """From a random id on, and again from the first if that came to the end."""
    gone: list[UUID] = []
    most = LOOKED_AT
    for first in (uuid4(), UUID(int=0)):
        if most > 0:
            cursor.execute(_SOME.format(table=table), {"first": first, "most": most})
            found = cursor.fetchall()
            gone += [document_id for document_id, is_gone in found if is_gone]
            most -= len(found)
    return list(dict.fromkeys(gone))


def _remove_files() -> int:
    return remove_strays(files.FOLDER, known=_known, is_there=_is_user)


def _known(names: Sequence[str]) -> set[str]:
    """By the ids that the names end in: the column of names has no index, and of very many files each few hundred would
    be looked for in all documents. The few that are named otherwise, for they took the place of a lost file, are looked
    for among those of their owner."""
    ids = {name: id_ for name in names if (id_ := _id_in(name, -1))}
    known = set(Document.objects.filter(pk__in=ids.values(), stored_as__in=names).values_list("stored_as", flat=True))
    others = [name for name in names if name not in known]
    owners = {id_ for name in others if (id_ := _id_in(name, -2))}
    if not owners:
        return known
    mended = Document.objects.filter(owner__in=owners, stored_as__in=others)
    return known | set(mended.values_list("stored_as", flat=True))


def _id_in(name: str, place: int) -> UUID | None:
    """Of `documents/<owner>/<document>` (`files.name_of`)."""
    try:
        return UUID(name.split("/")[place])
    except (ValueError, IndexError):
        return None


def _is_user(owner_id: str) -> bool:
    try:
        return User.objects.filter(pk=UUID(owner_id)).exists()
    except ValueError:
        return False
