"""The rows of boxes: opened, used, ended, and what others want of them. Database code, for threads; holds no box."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Case, Exists, F, OuterRef, Q, When
from django.db.models.functions import Now

from agents.models import Execution
from agents.sandbox.base import BoxType
from agents.sandbox.models import CloseWanted, EndedBecause, SandboxSession
from hyperagent.accounts.models import User


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose box it is. Code and apps of a user and task share one; a desktop is apart (S203)."""

    user_id: UUID | None
    task_id: UUID
    box_type: BoxType = BoxType.CODE

    @property
    def kept_as(self) -> BoxType:
        return BoxType.DESKTOP if self.box_type is BoxType.DESKTOP else BoxType.CODE

    @property
    def key(self) -> str:
        kind = "desktop" if self.kept_as is BoxType.DESKTOP else "unified"
        return f"{kind}:{self.user_id or 'nobody'}:{self.task_id}"


@dataclass(frozen=True, slots=True)
class Wish:
    """What is wanted of an open box. `is_orphan`: its user is gone, or may not work here any more."""

    session_id: UUID
    close_wanted: CloseWanted
    is_orphan: bool


def may_work(user_id: UUID) -> bool:
    return User.objects.filter(pk=user_id, is_active=True).exists()


def open_row(owner: Owner, *, provider: str, host: str) -> UUID | None:
    """The new row's id; None where another machine has this box open. It is asked to keep it and close it."""
    try:
        with transaction.atomic():
            row = SandboxSession.objects.create(
                user_id=owner.user_id,
                task_id=owner.task_id,
                sandbox_type=owner.kept_as.value,
                key=owner.key,
                provider=provider,
                host=host,
            )
    except IntegrityError:
        SandboxSession.objects.filter(key=owner.key, ended_at=None, close_wanted=CloseWanted.NO).update(
            close_wanted=CloseWanted.CLOSE
        )
        return None
    return row.id


def give_up_row(owner: Owner) -> None:
    """Of a machine that does not answer any more."""
    SandboxSession.objects.filter(key=owner.key, ended_at=None).update(
        ended_at=Now(), ended_because=EndedBecause.LOST, note="Its machine did not give it back in time."
    )


def note_use(session_id: UUID, *, seconds: float) -> None:
    with transaction.atomic():
        rows = SandboxSession.objects.select_for_update(no_key=True).annotate(now=Now())
        row: Any = rows.filter(id=session_id).first()
        if row is None:
            return
        hour = _hour_of(row.now)
        by_hour = _lately(row.used_by_hour, hour)
        by_hour[str(hour)] = by_hour.get(str(hour), 0.0) + seconds
        SandboxSession.objects.filter(id=session_id).update(
            used_at=Now(), runs=F("runs") + 1, used_seconds=F("used_seconds") + seconds, used_by_hour=by_hour
        )


def end_row(session_id: UUID, because: EndedBecause, *, note: str = "") -> None:
    SandboxSession.objects.filter(id=session_id, ended_at=None).update(ended_at=Now(), ended_because=because, note=note)


def why_not_kept(owner: Owner) -> str:
    """Of the box before, where it was closed and could not be snapshotted; else empty."""
    closed = SandboxSession.objects.filter(task_id=owner.task_id, key=owner.key, ended_at__isnull=False)
    last = closed.exclude(ended_because=EndedBecause.LOST).order_by("-opened_at").first()
    return last.note if last is not None else ""


def end_rows_of(host: str) -> None:
    """Of an earlier life of this host: nothing of it is left."""
    SandboxSession.objects.filter(host=host, ended_at=None).update(ended_at=Now(), ended_because=EndedBecause.LOST)


def used_today_s(user_id: UUID) -> float:
    """How long programs of this user ran within the last 24 hours, the hour that they began in counted whole: boxes may
    live for days."""
    since = Now() - timedelta(days=1)
    rows = SandboxSession.objects.filter(user_id=user_id, used_at__gt=since)
    found = rows.values_list("used_by_hour", "used_seconds", Now())
    # Of a box whose hours nobody noted yet: all that ran in it.
    return sum(sum(_lately(hours, _hour_of(now)).values()) if hours else float(used) for hours, used, now in found)


def _hour_of(moment: datetime) -> int:
    return int(moment.timestamp() // 3600)


def _lately(by_hour: Mapping[str, float], hour: int) -> dict[str, float]:
    """Of this hour and the 24 before it."""
    return {name: float(seconds) for name, seconds in by_hour.items() if int(name) >= hour - 24}


def wishes(session_ids: Iterable[UUID]) -> list[Wish]:
    """Of those of these boxes of which something is wanted, desktops last (S203). One query."""
    rows = SandboxSession.objects.filter(id__in=list(session_ids)).exclude(key__contains=":nobody:")
    # First the runs of who is deactivated are told to stop: one whose program ends before would go on from there.
    runs_on = Exists(Execution.objects.live().filter(user=OuterRef("user"), cancel_requested_at=None))
    is_orphan = Q(user=None) | (Q(user__is_active=False) & ~runs_on)
    found = rows.filter(~Q(close_wanted=CloseWanted.NO) | is_orphan).annotate(
        is_orphan=Case(When(is_orphan, then=True), default=False)
    )
    in_order = sorted(found, key=lambda row: row.sandbox_type == BoxType.DESKTOP)
    return [Wish(row.id, CloseWanted(row.close_wanted), row.is_orphan) for row in in_order]
