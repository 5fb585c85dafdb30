"""What people and programs are told of schedules that do not work: by mail, and as `run.failed` to webhooks. Decides
nothing; whether a schedule goes on is `starting`'s to say.
"""

from typing import Final

from django.utils.translation import gettext_noop

from agents.models import Execution
from conversations.schedules.models import Schedule, ScheduledRun
from hyperagent.lib.times import iso
from hyperagent.notices import actions as notices
from hyperagent.notices.kinds import EventType, MailKind

# Said in their reader's language when the mail is written.
_DUE: Final = gettext_noop("Due")
_WHY: Final = gettext_noop("Why")
_FAILURES: Final = gettext_noop("Failures in a row")
_STATE: Final = gettext_noop("State")
_PAUSED: Final = gettext_noop("paused")


def tell_of_refusal(schedule: Schedule, run: ScheduledRun, *, is_first: bool) -> None:
    """A time that could not be asked. Programs are told of each; people of the first of several in a row."""
    notices.emit(
        EventType.RUN_FAILED,
        user_id=schedule.user_id,
        subject_id=run.pk,
        payload={
            "execution_id": None,
            "conversation_id": None,
            "user_id": str(schedule.user_id),
            "status": run.outcome,
            "mode": schedule.mode,
            "error_code": "not_started",
            "schedule_id": str(schedule.pk),
            "due_at": iso(run.due_at),
        },
        title=schedule.title,
        path=_path(schedule),
    )
    if is_first:
        _mail(schedule, subject=str(run.pk), facts={_DUE: _shown(schedule, run), _WHY: run.refusal})


def tell_of_pause(schedule: Schedule, run: ScheduledRun, *, failures: int) -> None:
    """It goes on no more by itself. `run`: the last of those that did not work."""
    execution: Execution | None = run.execution
    why = run.refusal or (execution.error_message if execution is not None else "")
    facts = {_FAILURES: str(failures), _WHY: why, _STATE: _PAUSED}
    _mail(schedule, subject=f"{run.pk} paused", facts=facts)


def _mail(schedule: Schedule, *, subject: str, facts: dict[str, str]) -> None:
    notices.tell_people(
        [schedule.user_id],
        MailKind.SCHEDULE_FAILED,
        subject_id=subject,
        title=schedule.title,
        path=_path(schedule),
        facts=facts,
    )


def _shown(schedule: Schedule, run: ScheduledRun) -> str:
    return f"{schedule.local(run.due_at):%Y-%m-%d %H:%M} {schedule.time_zone}"


def _path(schedule: Schedule) -> str:
    return f"/schedules/{schedule.pk}/"
