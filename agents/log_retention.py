"""How long the event logs and journals of runs are kept: LOG_RETENTION_DAYS after their end. Whole months go at once,
what lies in no month by lots. That a run was, its question and answer, what it cost and did to the world stay.
"""

import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from agents import partitions
from agents.models import AgentExecution, Execution
from agents.partitions import Busy, Month
from hyperagent.audit.kinds import AuditKind
from hyperagent.audit.recording import record

log = structlog.get_logger(__name__)

RUNS_AT_ONCE: Final = 50
MARKED_AT_ONCE: Final = 2_000
# The queue ends a job after 300 s: it stops by itself before, and the next one goes on.
WORK_S: Final = 200.0


def keep_no_longer(*, work_s: float = WORK_S) -> None:
    """All of it, or as much as there is time for. May run twice at once."""
    days: int = settings.CONFIG.log_retention_days
    if not days:
        return
    before = timezone.now() - timedelta(days=days)
    until = time.monotonic() + work_s
    runs = 0
    for lot in _lots(_outside_of_months(before), RUNS_AT_ONCE):
        runs += _drop_runs(lot)
        if time.monotonic() > until:
            break
    months: list[Month] = []
    for month in _months_over(before):
        for lot in _lots(_of_month(month).filter(log_dropped_at=None), MARKED_AT_ONCE):
            runs += _mark(lot)
        try:
            partitions.drop_month(month)
        except Busy:
            log.warning("log_retention.busy", month=str(month))
            continue
        months.append(month)
        if time.monotonic() > until:
            break
    if runs or months:
        names = [str(month) for month in months]
        record(
            AuditKind.RETENTION_RAN,
            actor=None,
            details={"what": "logs", "days": days, "runs": runs, "months": names},
        )
        log.info("log_retention.done", runs=runs, months=names)


def _months_over(before: datetime) -> Iterator[Month]:
    """Those of whose runs every one ended before that moment, oldest first."""
    for month in sorted({month for one in partitions.LOGS for month in partitions.months_of(one)}):
        if month.ends <= before and not _is_wanted(month, before):
            yield month


def _is_wanted(month: Month, before: datetime) -> bool:
    """Whether a run of the month goes on, or ended since then. Also one whose own id is of no month, or of another, and
    that has an agent in this one."""
    first, end = month.bounds
    if _of_month(month).filter(_kept(before)).exists():
        return True
    strays = AgentExecution.objects.filter(id__gte=first, id__lt=end)
    return strays.filter(_kept(before, "execution__")).exists()


def _kept(before: datetime, run: str = "") -> Q:
    return Q(**{f"{run}ended_at": None}) | Q(**{f"{run}ended_at__gte": before})


def _of_month(month: Month) -> "QuerySet[Execution]":
    first, end = month.bounds
    return Execution.objects.filter(id__gte=first, id__lt=end)


def _outside_of_months(before: datetime) -> "QuerySet[Execution]":
    """The runs that ended before, whose log is there still and in no month."""
    runs = Execution.objects.filter(ended_at__lt=before, log_dropped_at=None)
    for month in partitions.months_of(partitions.EVENTS):
        first, end = month.bounds
        runs = runs.exclude(id__gte=first, id__lt=end)
    return runs


def _lots(runs: "QuerySet[Execution]", size: int) -> Iterator[list[UUID]]:
    """Their ids in order, each once."""
    lot = list(runs.order_by("id").values_list("id", flat=True)[:size])
    while lot:
        yield lot
        lot = list(runs.filter(id__gt=lot[-1]).order_by("id").values_list("id", flat=True)[:size])


def _drop_runs(ids: list[UUID]) -> int:
    """Their rows, in one transaction; gives how many runs there were."""
    agents = list(AgentExecution.objects.filter(execution__in=ids).values_list("id", flat=True))
    with transaction.atomic(), connection.cursor() as cursor:
        marked = _mark(ids)
        cursor.execute("DELETE FROM agents_event WHERE execution_id = ANY(%s)", [ids])
        cursor.execute("DELETE FROM agents_step WHERE agent_id = ANY(%s)", [agents])
    return marked


def _mark(ids: list[UUID]) -> int:
    """From now on readers are told that it is kept no longer, and no copy begins with it."""
    return Execution.objects.filter(id__in=ids, log_dropped_at=None).update(log_dropped_at=timezone.now())
