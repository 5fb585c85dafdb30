"""How long the event logs and journals of runs are kept: LOG_RETENTION_DAYS after their end. Whole months go at once,
what lies in no month by lots. That a run was, its question and answer, what it cost and did to the world stay.

Before anything goes the audit log says so, and for how many days logs are kept then: a log that is gone without that
was not dropped here (`Drops`).
"""

import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Min, Q, QuerySet
from django.db.models.functions import Now

from agents.log import partitions
from agents.log.partitions import Busy, Month
from agents.models import AgentExecution, Execution
from hyperagent.audit.kinds import AuditKind
from hyperagent.audit.models import AuditCut, AuditEvent
from hyperagent.audit.recording import record
from hyperagent.lib.database import db_now

log = structlog.get_logger(__name__)

WHAT: Final = "logs"
# Between what the audit log says and the mark of a run: a job takes less, and clocks differ.
WITHIN: Final = timedelta(minutes=15)
RUNS_AT_ONCE: Final = 50
MARKED_AT_ONCE: Final = 2_000
# The queue ends a job after 300 s: it stops by itself before, and the next one goes on.
WORK_S: Final = 200.0


def keep_no_longer(*, work_s: float = WORK_S) -> None:
    """All of it, or as much as there is time for. May run twice at once."""
    days: int = settings.CONFIG.log_retention_days
    if not days:
        return
    before = db_now() - timedelta(days=days)
    until = time.monotonic() + work_s
    runs = 0
    for lot in _lots(_outside_of_months(before), RUNS_AT_ONCE):
        if not runs:
            _say_that_it_begins(days)
        runs += _drop_runs(lot)
        if time.monotonic() > until:
            break
    months: list[Month] = []
    for month in _months_over(before):
        for lot in _lots(_of_month(month).filter(log_dropped_at=None), MARKED_AT_ONCE):
            if not runs:
                _say_that_it_begins(days)
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
            details={"what": WHAT, "days": days, "runs": runs, "months": names},
        )
        log.info("log_retention.done", runs=runs, months=names)


class Drops:
    """What the audit log says of logs that went because their time was over. Three queries."""

    def __init__(self) -> None:
        said = AuditEvent.objects.filter(kind=AuditKind.RETENTION_RAN, details__what=WHAT).order_by("at")
        self._said = list(said.values_list("at", "details__days"))
        is_cut = AuditCut.objects.exists()
        self._begins = AuditEvent.objects.aggregate(first=Min("at"))["first"] if is_cut else None

    def explain(self, run: Execution) -> bool:
        """Whether the log of this run, which is marked as dropped, was dropped by this job, its time being over. What
        went before the audit log that is still kept begins is believed."""
        dropped, ended = run.log_dropped_at, run.ended_at
        if dropped is None or ended is None or dropped <= ended:
            return False
        if self._begins is not None and dropped < self._begins - WITHIN:
            return True
        first = bisect_left(self._said, dropped - WITHIN, key=lambda said: said[0])
        until = bisect_right(self._said, dropped + WITHIN, key=lambda said: said[0])
        return any(ended <= dropped - timedelta(days=days) + WITHIN for _at, days in self._said[first:until])


def _say_that_it_begins(days: int) -> None:
    record(AuditKind.RETENTION_RAN, actor=None, details={"what": WHAT, "days": days, "begins": True})


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
    return Execution.objects.filter(id__in=ids, log_dropped_at=None).update(log_dropped_at=Now())
