"""How long the audit log is kept: AUDIT_RETENTION_DAYS, on its own. What conversations' retention deletes is not known
here, and nothing of it touches this log.
"""

from datetime import timedelta
from typing import Final

from django.db import transaction
from django.db.models import Min
from django.db.models.functions import Now

from hyperagent.audit.kinds import AuditKind
from hyperagent.audit.models import AuditCut, AuditEvent, AuditOutflow
from hyperagent.audit.recording import record
from hyperagent.audit.sealing import seal
from hyperagent.audit.sql import changed

AT_ONCE: Final = 5_000


def cut_off(days: int, *, destination: str = "") -> int:
    """Deletes what is older than so many days, whole from the beginning, and returns how many events went. 0 days:
    keeps all. What a `destination` outside has still to be told is kept."""
    if days < 1:
        return 0
    last = seal()
    sealed = AuditEvent.objects.sealed()
    kept = sealed.filter(at__gte=Now() - timedelta(days=days)).aggregate(first=Min("number"))["first"]
    until = min(last if kept is None else kept - 1, _told(destination, last))
    ending = AuditEvent.objects.filter(number=until).first()
    if ending is None:
        return 0
    with transaction.atomic():
        AuditCut.objects.create(number=until, hash=bytes(ending.hash or b""), kept_days=days)
        record(AuditKind.RETENTION_RAN, actor=None, details={"what": "audit", "until": until, "days": days})
    return _delete(until)


def finish() -> int:
    """Goes on where a deletion was stopped."""
    cut = AuditCut.objects.order_by("-number").first()
    return _delete(cut.number) if cut else 0


def _delete(until: int) -> int:
    gone = 0
    while lot := changed(_DELETE, [until, AT_ONCE]):
        gone += lot
    return gone


def _told(destination: str, last: int) -> int:
    if not destination:
        return last
    return AuditOutflow.objects.filter(destination=destination).values_list("number", flat=True).first() or 0


_DELETE = """
DELETE FROM audit_event WHERE id = ANY(ARRAY(
    SELECT id FROM audit_event WHERE number <= %s ORDER BY number LIMIT %s))
"""
