"""Sealing: events that are committed get their place in the log, a number without gaps and a hash over the one before.

Not when they are written: a number without gaps, or a hash of the row before, would have every writer wait for the
one before it to commit. So rows are written free, and this, in one process at a time, puts what is committed in order.
A row that commits late comes later in the log. Readers go by the number, so none of them ever passes over a row.
"""

from typing import Final

from django.db import connection, transaction

from hyperagent.audit.chain import GENESIS, Link, hash_of
from hyperagent.audit.models import AuditEvent, AuditHead

AT_ONCE: Final = 1_000


def seal() -> int:
    """Seals whatever was committed when it was called, and returns the number of the last event in the log. One query
    if there is nothing to do."""
    newest = AuditEvent.objects.filter(number=None).order_by("-id").values_list("id", flat=True).first()
    if newest is not None:
        while _seal_some(newest):
            pass
    return AuditHead.objects.values_list("number", flat=True).first() or 0


def link_of(row: AuditEvent, *, number: int) -> Link:
    return Link(
        number=number,
        at=row.at,
        kind=row.kind,
        actor_id=row.actor_id,
        actor_name=row.actor_name,
        target_type=row.target_type,
        target_id=row.target_id,
        target_name=row.target_name,
        address=row.address,
        browser=row.browser,
        request_id=row.request_id,
        details=row.details,
        actor_salt=_bytes(row.actor_salt),
        actor_digest=bytes(row.actor_digest),
        target_salt=_bytes(row.target_salt),
        target_digest=bytes(row.target_digest),
        hash=_bytes(row.hash),
    )


def _seal_some(newest: int) -> bool:
    """Whether there may be more."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("INSERT INTO audit_head (id, number, hash) VALUES (1, 0, %s) ON CONFLICT DO NOTHING", [GENESIS])
        head = AuditHead.objects.select_for_update().get()
        rows = list(AuditEvent.objects.filter(number=None, id__lte=newest).order_by("id")[:AT_ONCE])
        if not rows:
            return False
        number, before, places = head.number, bytes(head.hash), []
        for row in rows:
            number += 1
            before = hash_of(link_of(row, number=number), before=before)
            places.append((row.id, number, before))
        ids, numbers, hashes = (list(column) for column in zip(*places, strict=True))
        cursor.execute(_PLACE, [ids, numbers, hashes])
        AuditHead.objects.update(number=number, hash=before)
    return len(rows) == AT_ONCE


def _bytes(value: object) -> bytes | None:
    return None if value is None else bytes(value)  # type: ignore[call-overload]


_PLACE = """
UPDATE audit_event e SET number = p.number, hash = p.hash
FROM unnest(%s::bigint[], %s::bigint[], %s::bytea[]) AS p (id, number, hash)
WHERE e.id = p.id
"""
