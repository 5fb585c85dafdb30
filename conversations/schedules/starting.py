"""What happens when the time of a schedule comes. One transaction for each time: the time is taken by compare-and-set,
the question is said under a key made of schedule and time, and the history has its row; or nothing of all that, and the
next look at the clock does it. So no time is started twice and none is lost, whoever dies wherever.
"""

import uuid
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction
from django.db.models import Q, QuerySet, Subquery
from django.utils.formats import date_format

from agents.engine.states import ExecutionStatus
from agents.models import Execution
from conversations import actions as talk
from conversations.models import Conversation
from conversations.options import ChosenOptions, OnApproval, approval_rule, chosen
from conversations.schedules import telling
from conversations.schedules.kinds import ApprovalRule, Cause, Outcome, PausedWhy, SkippedWhy, Talk, WhenMissed
from conversations.schedules.models import Schedule, ScheduledRun
from conversations.schedules.times import count_between, next_after
from hyperagent.lib.database import db_now
from hyperagent.lib.languages import speaking
from hyperagent.lib.refusals import Refused, TooMuch

LATE: Final = timedelta(minutes=10)
"""What is asked later than this is said to have been missed: runners look to the second, the queue once a minute."""
MOST_MISSED: Final = 1_000
MOST_AT_ONCE: Final = 1_000
REFUSED_IN_A_ROW: Final = 3
"""After so many times that could not be asked, nobody is left to believe that it works."""
FAILED_IN_A_ROW: Final = 5
"""The same of runs that were begun and failed. More: a provider that is away for an hour comes back."""
KEPT_RUNS: Final = 1_000
REFUSAL_CHARS: Final = 1_000
_ALL_REFUSED: Final = [Outcome.REFUSED] * REFUSED_IN_A_ROW
_IDS_OF_CONVERSATIONS: Final = uuid.UUID("0f3b6f0a-3a3e-4a37-8f1c-6f3f0d9b7c52")


def due_ids() -> list[uuid.UUID]:
    """Whose time has come, the longest waiting first."""
    return list(Schedule.objects.due().order_by("next_due_at").values_list("pk", flat=True)[:MOST_AT_ONCE])


def start_due(schedule_id: uuid.UUID) -> ScheduledRun | None:
    """What came of its time; None where none has come, or somebody else is at it."""
    with transaction.atomic():
        rows = Schedule.objects.due().select_related("user", "conversation")
        schedule = rows.select_for_update(skip_locked=True, no_key=True, of=("self",)).filter(pk=schedule_id).first()
        if schedule is None or schedule.next_due_at is None:
            return None
        now, due_at = db_now(), schedule.next_due_at
        why, until = hindrance(schedule), now
        if schedule.when_missed == WhenMissed.SKIP and now - due_at > LATE and why is not SkippedWhy.OWNER_INACTIVE:
            # A time of the last minutes is not missed: it is due at the next look.
            why, until = SkippedWhy.MISSED, now - LATE
        if not _taken(schedule, due_at, now, after=until, is_stopped=why is SkippedWhy.OWNER_INACTIVE):
            return None
        missed = count_between(schedule.rhythm, due_at, _last(schedule, until), most=MOST_MISSED)
        is_made_up_for = why is not SkippedWhy.MISSED and (missed or now - due_at > LATE)
        cause = Cause.CATCH_UP if is_made_up_for else Cause.TIME
        with speaking(schedule.user.spoken):
            run = _asked_or_not(schedule, due_at, cause, missed, why)
        _forget_old(schedule)
        return run


def pass_over(schedule_id: uuid.UUID) -> None:
    """Moves it to its first time from now on, and asks nothing: its times until now may have been asked after the
    backup that was put back, by runs that are not in it."""
    with transaction.atomic():
        rows = Schedule.objects.due().select_related("user")
        schedule = rows.select_for_update(no_key=True, of=("self",)).filter(pk=schedule_id).first()
        if schedule is None or schedule.next_due_at is None:
            return
        now, due_at = db_now(), schedule.next_due_at
        if _taken(schedule, due_at, now, after=now, is_stopped=False):
            missed = count_between(schedule.rhythm, due_at, _last(schedule, now), most=MOST_MISSED)
            _asked_or_not(schedule, due_at, Cause.TIME, missed, SkippedWhy.RESTORED)


def hindrance(schedule: Schedule) -> SkippedWhy | None:
    """Why it cannot be asked now: while a run of it goes on, or another try of one."""
    if not schedule.user.is_active:
        return SkippedWhy.OWNER_INACTIVE
    begun = schedule.runs.exclude(execution=None).values("execution")
    runs = Execution.objects.filter(Q(pk__in=begun) | Q(effects_root__in=begun))
    statuses = set(runs.live().values_list("status", flat=True))
    if not statuses:
        return None
    return SkippedWhy.STILL_WAITING if statuses == {ExecutionStatus.AWAITING_USER} else SkippedWhy.STILL_RUNNING


def ask(schedule: Schedule, *, due_at: datetime, cause: Cause, missed: int = 0) -> ScheduledRun:
    """Says the question for this time, and writes it down. Within the caller's transaction. Raises Refused."""
    key = f"schedule {schedule.pk} {due_at.isoformat()}"
    conversation = _conversation(schedule, key, due_at)
    question = talk.Question(schedule.question, mode=schedule.mode or None, options=options_of(schedule), client_id=key)
    said = talk.say(schedule.user, conversation.pk, question)
    return ScheduledRun.objects.create(
        schedule=schedule,
        due_at=due_at,
        cause=cause,
        missed=missed,
        outcome=Outcome.STARTED,
        execution=said.execution,
        conversation=conversation,
    )


def options_of(schedule: Schedule) -> ChosenOptions:
    """What the run is told: nobody watches it, so the rule that was chosen is all the yes that it has."""
    rule = OnApproval.WAIT if schedule.on_approval == ApprovalRule.WAIT else OnApproval.DENY
    documents = [str(one) for one in schedule.document_ids]
    options = chosen({"document_ids": documents} if documents else {}) | approval_rule(rule.value, is_watched=False)
    if schedule.on_approval == ApprovalRule.PREAPPROVED:
        options["preapproved"] = schedule.preapproved
    return options


def _asked_or_not(
    schedule: Schedule, due_at: datetime, cause: Cause, missed: int, why: SkippedWhy | None
) -> ScheduledRun:
    row = ScheduledRun(schedule=schedule, due_at=due_at, cause=cause, missed=missed)
    if why is not None:
        row.outcome, row.skipped_why = Outcome.SKIPPED, why
        row.save(force_insert=True)
        return row
    try:
        with transaction.atomic():
            return ask(schedule, due_at=due_at, cause=cause, missed=missed)
    except Refused as refused:
        row.outcome, row.refusal = Outcome.REFUSED, refused.message[:REFUSAL_CHARS]
        is_first = _newest(schedule, 1) != [Outcome.REFUSED]
        row.save(force_insert=True)
        telling.tell_of_refusal(schedule, row, is_first=is_first)
        # What is too much now may not be so the next time.
        if not isinstance(refused, TooMuch) and _newest(schedule, REFUSED_IN_A_ROW) == _ALL_REFUSED:
            _pause(schedule, row, failures=REFUSED_IN_A_ROW)
        return row


def ended(execution: Execution) -> None:
    """Call when a run is over, as often as you like. Pauses the schedule that it is of, if one run after the other has
    failed. One query for what is of none."""
    run = ScheduledRun.objects.select_related("schedule__user").filter(execution=execution).first()
    if run is None or execution.status != ExecutionStatus.FAILED or run.cause == Cause.NOW:
        return
    with transaction.atomic():
        schedule = Schedule.objects.select_for_update(no_key=True).get(pk=run.schedule_id)
        begun = _own_times(schedule).filter(outcome=Outcome.STARTED)
        statuses = list(begun.values_list("execution__status", flat=True)[:FAILED_IN_A_ROW])
        if statuses == [ExecutionStatus.FAILED] * FAILED_IN_A_ROW:
            with speaking(schedule.user.spoken):
                _pause(schedule, run, failures=FAILED_IN_A_ROW)


def _taken(schedule: Schedule, due_at: datetime, now: datetime, *, after: datetime, is_stopped: bool) -> bool:
    """Moves it on to its first time later than `after`, unless somebody else has. `is_stopped`: to none."""
    following = next_after(schedule.rhythm, max(after, due_at))
    if following is not None and schedule.ends_at is not None and following > schedule.ends_at:
        following = None
    schedule.next_due_at = None if is_stopped else following
    schedule.ended_at = now if following is None else None
    if is_stopped and following is not None:
        schedule.paused_at, schedule.paused_why = now, PausedWhy.OWNER_INACTIVE
    changed = {name: getattr(schedule, name) for name in ("next_due_at", "ended_at", "paused_at", "paused_why")}
    return bool(Schedule.objects.filter(pk=schedule.pk, next_due_at=due_at).update(**changed))


def _last(schedule: Schedule, now: datetime) -> datetime:
    return min(now, schedule.ends_at) if schedule.ends_at is not None else now


def _conversation(schedule: Schedule, key: str, due_at: datetime) -> Conversation:
    """The one of this schedule, or a new one. Its id is made of the time's key, so it is begun once."""
    if schedule.talk == Talk.SAME and schedule.conversation is not None and schedule.conversation.deleted_at is None:
        return schedule.conversation
    id_ = uuid.uuid5(_IDS_OF_CONVERSATIONS, key)
    begun = Conversation.objects.filter(pk=id_).first()
    if begun is None:
        begun = talk.create(
            schedule.user,
            title=_title(schedule, due_at),
            conversation_id=id_,
            project_id=schedule.project_id,
        )
    if schedule.talk == Talk.SAME:
        schedule.conversation = begun
        Schedule.objects.filter(pk=schedule.pk).update(conversation=begun)
    return begun


def _title(schedule: Schedule, due_at: datetime) -> str:
    if schedule.talk == Talk.SAME:
        return schedule.title
    return f"{schedule.title} · {date_format(schedule.local(due_at), 'SHORT_DATETIME_FORMAT')}"


def _own_times(schedule: Schedule) -> QuerySet[ScheduledRun]:
    """Those that it began by itself since it was last set going, the newest first."""
    runs = schedule.runs.exclude(cause=Cause.NOW).order_by("-created_at", "-id")
    return runs if schedule.resumed_at is None else runs.filter(created_at__gt=schedule.resumed_at)


def _newest(schedule: Schedule, count: int) -> list[str]:
    """What came of its newest times, the newest first."""
    return list(_own_times(schedule).values_list("outcome", flat=True)[:count])


def _pause(schedule: Schedule, run: ScheduledRun, *, failures: int) -> None:
    """Unless somebody has paused it already. `run`: the last of those that did not work."""
    paused = Schedule.objects.active().filter(pk=schedule.pk)
    if paused.update(next_due_at=None, paused_at=db_now(), paused_why=PausedWhy.REFUSED):
        telling.tell_of_pause(schedule, run, failures=failures)


def _forget_old(schedule: Schedule) -> None:
    newest = schedule.runs.order_by("-created_at", "-id").values("created_at")
    schedule.runs.filter(created_at__lte=Subquery(newest[KEPT_RUNS : KEPT_RUNS + 1])).delete()
