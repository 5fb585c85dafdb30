"""Schedules for tests, and time that moves by their rows."""

from datetime import timedelta
from typing import Any

from django.db.models.functions import Now

from agents.engine.states import ExecutionStatus
from agents.models import Execution
from conversations.schedules import actions
from conversations.schedules.kinds import ApprovalRule, Kind
from conversations.schedules.models import Schedule
from conversations.schedules.validation import ScheduleInput

QUESTION = "What is new?"


def wish(**changes: Any) -> ScheduleInput:
    """Every day at nine, in Berlin."""
    given = {"question": QUESTION, "on_approval": ApprovalRule.WAIT, "kind": Kind.CRON, "time_zone": "Europe/Berlin"}
    return ScheduleInput(**{**given, "cron": "0 9 * * *", **changes})


def hourly(**changes: Any) -> ScheduleInput:
    return wish(kind=Kind.EVERY, every_s=3_600, cron="", **changes)


def made(user: Any, asked: ScheduleInput | None = None) -> Schedule:
    return actions.create(user, asked or hourly())


def falls_due(schedule: Schedule, ago: timedelta = timedelta(seconds=30)) -> Schedule:
    """As if its next time had come so long ago."""
    begun = {"counts_from": Now() - ago - timedelta(seconds=schedule.every_s)} if schedule.every_s else {}
    moment = {"at": Now() - ago} if schedule.at else {}
    Schedule.objects.filter(pk=schedule.pk).update(next_due_at=Now() - ago, **begun, **moment)
    schedule.refresh_from_db()
    return schedule


def finish_runs(status: ExecutionStatus = ExecutionStatus.COMPLETED) -> None:
    """As a runner leaves them."""
    ended = {"ended_at": Now()} if status is ExecutionStatus.COMPLETED else {}
    Execution.objects.update(status=status, **ended)
