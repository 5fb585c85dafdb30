"""Reading schedules and their history. Writes nothing."""

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet

from conversations.schedules.kinds import Cause, Outcome, PausedWhy, State
from conversations.schedules.models import Schedule, ScheduledRun
from conversations.schedules.times import NEXT_SHOWN, next_times
from hyperagent.accounts.models import User
from hyperagent.lib.stored_sentences import in_our_words


def schedules_of(user: User) -> QuerySet[Schedule]:
    return Schedule.objects.of(user).select_related("project", "conversation")


def runs_of(schedule: Schedule) -> QuerySet[ScheduledRun]:
    """Newest first, each with what it needs to be shown."""
    return with_runs(ScheduledRun.objects.filter(schedule=schedule)).order_by("-created_at", "-id")


def last_runs(schedules: Iterable[Schedule]) -> dict[UUID, ScheduledRun]:
    """The newest of each, by the schedule's id. One query."""
    rows = with_runs(ScheduledRun.objects.filter(schedule__in=list(schedules)))
    newest = rows.order_by("schedule_id", "-created_at", "-id").distinct("schedule_id")
    return {run.schedule_id: run for run in newest}


def with_runs(rows: QuerySet[ScheduledRun]) -> QuerySet[ScheduledRun]:
    heavy = ("input", "result", "answer", "question")
    return rows.select_related("execution", "conversation").defer(*(f"execution__{name}" for name in heavy))


def coming(schedule: Schedule, *, now: datetime) -> list[datetime]:
    """Its next times, as it stands; none while it is paused or over. `now`: by the database's clock."""
    if schedule.state is not State.ACTIVE or schedule.next_due_at is None:
        return []
    due = schedule.next_due_at
    return [due, *next_times(schedule.rhythm, max(due, now), until=schedule.ends_at, count=NEXT_SHOWN - 1)]


def status_of(run: ScheduledRun) -> str:
    """What became of it: of what was started the status of its run, else why nothing was."""
    if run.outcome != Outcome.STARTED:
        return run.outcome
    return str(run.execution.status) if run.execution is not None else "gone"


def failed_by_itself(schedule: Schedule) -> bool:
    """Of one that was paused because it does not work: whether its runs failed. Else they could not be begun."""
    if schedule.paused_why != PausedWhy.REFUSED:
        return False
    newest = schedule.runs.exclude(cause=Cause.NOW).order_by("-created_at", "-id").values_list("outcome", flat=True)
    return newest.first() == Outcome.STARTED


def error_of(run: ScheduledRun) -> str:
    """In words; empty where nothing went wrong."""
    if run.outcome == Outcome.REFUSED:
        return run.refusal
    return in_our_words(run.execution.error_message) if run.execution is not None else ""


def conversation_id_of(run: ScheduledRun) -> UUID | None:
    """Where it can be read; None if that was deleted."""
    talk = run.conversation
    return talk.pk if talk is not None and talk.deleted_at is None else None
