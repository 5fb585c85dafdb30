"""How schedules and their history look to programs: plain JSON, the same in API and export."""

from datetime import datetime
from typing import Any

from conversations.schedules import reading
from conversations.schedules.models import Schedule, ScheduledRun
from conversations.schedules.words import in_words
from hyperagent.lib.times import iso


def run_shape(run: ScheduledRun) -> dict[str, Any]:
    conversation_id = reading.conversation_id_of(run)
    return {
        "id": str(run.pk),
        "cause": run.cause,
        "due_at": iso(run.due_at),
        "started_at": iso(run.created_at),
        "missed": run.missed,
        "status": reading.status_of(run),
        "skipped_why": run.skipped_why or None,
        "error": reading.error_of(run) or None,
        "execution_id": str(run.execution_id) if run.execution_id else None,
        "conversation_id": str(conversation_id) if conversation_id else None,
    }


def schedule_shape(schedule: Schedule, last_run: ScheduledRun | None, *, now: datetime) -> dict[str, Any]:
    """`now`: by the database's clock."""
    talk = schedule.conversation
    return {
        "id": str(schedule.pk),
        "title": schedule.title,
        "question": schedule.question,
        "mode": schedule.mode or None,
        "kind": schedule.kind,
        "at": iso(schedule.at),
        "every_s": schedule.every_s,
        "cron": schedule.cron or None,
        "time_zone": schedule.time_zone,
        "words": in_words(schedule.rhythm, cron=schedule.cron, zone=schedule.zone),
        "talk": schedule.talk,
        "conversation_id": str(talk.pk) if talk is not None and talk.deleted_at is None else None,
        "project_id": str(schedule.project_id) if schedule.project_id else None,
        "document_ids": [str(one) for one in schedule.document_ids],
        "on_approval": schedule.on_approval,
        "preapproved": schedule.preapproved,
        "when_missed": schedule.when_missed,
        "ends_at": iso(schedule.ends_at),
        "state": schedule.state.value,
        "paused_why": schedule.paused_why or None,
        "next_at": [iso(moment) for moment in reading.coming(schedule, now=now)],
        "last_run": run_shape(last_run) if last_run else None,
        "created_at": iso(schedule.created_at),
    }
