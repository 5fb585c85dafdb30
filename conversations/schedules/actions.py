"""Everything that people do with schedules: page, API and admin call these verbs. What happens when a time comes is in
`starting`.
"""

import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from conversations.schedules import starting
from conversations.schedules.kinds import MOST_ACTIVE, Cause, PausedWhy, State
from conversations.schedules.models import Schedule, ScheduledRun
from conversations.schedules.times import next_after
from conversations.schedules.validation import ScheduleInput, checked, has_same_times
from hyperagent.accounts.models import User
from hyperagent.lib.database import db_now
from hyperagent.lib.refusals import Conflict, NotThere


def create(user: User, wish: ScheduleInput) -> Schedule:
    """Raises Refused with every fault at its field, and Conflict where there are too many."""
    with transaction.atomic():
        now = db_now()
        fit = checked(user, wish, now=now, counts_from=now)
        _check_room(user)
        made = Schedule(user=user, counts_from=now, **fit.columns)
        made.next_due_at = next_after(fit.rhythm, now)
        made.save(force_insert=True)
    made.refresh_from_db()
    return made


def change(user: User, schedule_id: uuid.UUID, wish: ScheduleInput) -> Schedule:
    """Other times count from now on; the same times stay as they are, past ones too. One that is paused stays so; one
    that was over and gets other times goes on."""
    with transaction.atomic():
        schedule = own(user, schedule_id, locked=True)
        now = db_now()
        has_same_pause = wish.kind == schedule.kind and wish.every_s == schedule.every_s
        counts_from = schedule.counts_from if has_same_pause else now
        is_as_it_was = has_same_times(schedule, wish)
        fit = checked(user, wish, now=None if is_as_it_was else now, counts_from=counts_from)
        goes_on = schedule.state is State.OVER and not is_as_it_was
        if goes_on:
            _check_room(user)
            schedule.ended_at = None
        # A time that has come and is not asked yet is not lost by a change of the words.
        moves = goes_on or fit.rhythm != schedule.rhythm
        for name, value in {**fit.columns, "counts_from": counts_from}.items():
            setattr(schedule, name, value)
        if moves and schedule.paused_at is None:
            schedule.next_due_at = next_after(fit.rhythm, now)
        schedule.save()
    return own(user, schedule_id)


def change_some(
    user: User, schedule_id: uuid.UUID, *, check: Callable[[ScheduleInput], None], **given: Any
) -> Schedule:
    """Fields of `ScheduleInput`; what is left out stays as it is at this moment, whoever has just changed it. `check`
    is shown what it is and what it is to be, and raises where this may not be done."""
    with transaction.atomic():
        now = ScheduleInput.of(own(user, schedule_id, locked=True))
        wish = replace(now, **given)
        check(now)
        check(wish)
        return change(user, schedule_id, wish)


def pause(user: User, schedule_id: uuid.UUID) -> Schedule:
    """Times that come meanwhile are not made up for. Twice is as once."""
    with transaction.atomic():
        schedule = own(user, schedule_id, locked=True)
        if schedule.state is State.OVER:
            raise Conflict("schedule_over", _("This schedule is over: there is nothing to pause."))
        if schedule.paused_at is None:
            schedule.next_due_at, schedule.paused_at, schedule.paused_why = None, db_now(), PausedWhy.PERSON
            schedule.save(update_fields=["next_due_at", "paused_at", "paused_why"])
    return schedule


def resume(user: User, schedule_id: uuid.UUID) -> Schedule:
    """Goes on with its next time from now on. Twice is as once."""
    with transaction.atomic():
        schedule = own(user, schedule_id, locked=True)
        if schedule.state is State.ACTIVE:
            return schedule
        now = db_now()
        due = next_after(schedule.rhythm, now)
        if due is None or (schedule.ends_at is not None and due > schedule.ends_at):
            raise Conflict("schedule_over", _("No time of this schedule is to come. Choose other times first."))
        _check_room(user)
        schedule.next_due_at, schedule.resumed_at = due, now
        schedule.paused_at, schedule.paused_why, schedule.ended_at = None, "", None
        schedule.save(update_fields=["next_due_at", "resumed_at", "paused_at", "paused_why", "ended_at"])
    return schedule


def run_now(user: User, schedule_id: uuid.UUID) -> ScheduledRun:
    """Asks it at once, whether it is paused, over or neither; its times stay. Raises Conflict while its last run goes
    on, and whatever hinders a question of this person's."""
    with transaction.atomic():
        schedule = own(user, schedule_id, locked=True)
        if starting.hindrance(schedule) is not None:
            raise Conflict(
                "still_running", _("Its last run is not over yet. Wait for it, decide what it asks, or stop it.")
            )
        return starting.ask(schedule, due_at=db_now(), cause=Cause.NOW)


def delete(user: User, schedule_id: uuid.UUID) -> None:
    """Its history goes too; conversations and runs stay."""
    with transaction.atomic():
        own(user, schedule_id, locked=True).delete()


def pause_all(user_id: uuid.UUID) -> None:
    """Whose account is closed."""
    with transaction.atomic():
        Schedule.objects.active().filter(user=user_id).update(
            next_due_at=None, paused_at=db_now(), paused_why=PausedWhy.OWNER_INACTIVE
        )


def own(user: User, schedule_id: uuid.UUID, *, locked: bool = False) -> Schedule:
    """Raises NotThere."""
    rows = Schedule.objects.of(user).select_related("user", "project", "conversation")
    if locked:
        rows = rows.select_for_update(of=("self",), no_key=True)
    found = rows.filter(pk=schedule_id).first()
    if found is None:
        raise NotThere
    return found


def _check_room(user: User) -> None:
    User.objects.hold(user.pk)
    if Schedule.objects.of(user).active().count() >= MOST_ACTIVE:
        raise Conflict(
            "too_many_schedules",
            _("You have {limit} active schedules, which is as many as may be. Pause or delete one first.").format(
                limit=MOST_ACTIVE
            ),
        )
