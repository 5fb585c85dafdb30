"""Which events somebody wants to read, and those events: newest first for people, in order for whoever takes them away.
Who may read is not known here.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db.models import Q, QuerySet

from hyperagent.audit.models import AuditEvent
from hyperagent.audit.sealing import seal
from hyperagent.lib.threads import in_thread

AT_ONCE: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Everything at once has to fit. Empty: whatever."""

    kinds: tuple[str, ...] = ()
    actor_ids: tuple[UUID, ...] | None = None
    target_id: str = ""
    address: str = ""
    since: datetime | None = None
    until: datetime | None = None


def found(wanted: Wanted) -> QuerySet[AuditEvent]:
    fits = Q()
    if wanted.kinds:
        fits &= Q(kind__in=wanted.kinds)
    if wanted.actor_ids is not None:
        fits &= Q(actor_id__in=wanted.actor_ids)
    if wanted.target_id:
        fits &= Q(target_id=wanted.target_id)
    if wanted.address:
        fits &= Q(address=wanted.address)
    if wanted.since:
        fits &= Q(at__gte=wanted.since)
    if wanted.until:
        fits &= Q(at__lt=wanted.until)
    return AuditEvent.objects.sealed().filter(fits)


def after(number: int, *, limit: int = AT_ONCE) -> list[AuditEvent]:
    """What follows this number, in order, with all that is committed by now."""
    seal()
    return list(AuditEvent.objects.filter(number__gt=number).order_by("number")[:limit])


async def lots(rows: QuerySet[AuditEvent], *, until: int) -> AsyncIterator[list[AuditEvent]]:
    """All of these up to a number, in order, a lot at a time: a million of them need no more memory than a thousand,
    and no thread or connection is held while the reader reads."""
    number = 0
    while lot := await in_thread(_lot)(rows, number, until):
        number = lot[-1].number or 0
        yield lot


def _lot(rows: QuerySet[AuditEvent], number: int, until: int) -> list[AuditEvent]:
    return list(rows.filter(number__gt=number, number__lte=until).order_by("number")[:AT_ONCE])
