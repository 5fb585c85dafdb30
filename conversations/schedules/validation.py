"""What somebody wants a schedule to be, checked field by field: every fault is told at once, at its place. Writes
nothing.
"""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.utils.translation import gettext as _

from agents.modes import resolve_mode
from conversations.actions import checked_question
from conversations.attaching import attached
from conversations.models import Conversation
from conversations.schedules.cron import BadCron, parsed
from conversations.schedules.kinds import (
    LEAST_APART_S,
    MOST_AHEAD_DAYS,
    MOST_APART_S,
    TITLE_CHARS,
    ApprovalRule,
    Kind,
    Talk,
    WhenMissed,
)
from conversations.schedules.models import Schedule
from conversations.schedules.times import Cron, Every, Once, Rhythm, next_after
from hitl.remembering import preapproved_from
from hyperagent.accounts.models import User
from hyperagent.lib.clipping import one_line
from hyperagent.lib.refusals import NotThere, Refused
from hyperagent.lib.text import clean_text, title_from
from hyperagent.lib.times import is_tellable
from memory import projects

Faults = dict[str, list[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleInput:
    """`at` and `ends_at` without a zone are of `time_zone`. `preapproved`: as `hitl.remembering` reads it."""

    question: str
    on_approval: ApprovalRule
    kind: Kind
    time_zone: str
    at: datetime | None = None
    every_s: int | None = None
    cron: str = ""
    title: str = ""
    mode: str = ""
    talk: Talk = Talk.NEW
    conversation_id: uuid.UUID | None = None
    project_id: uuid.UUID | None = None
    document_ids: tuple[uuid.UUID, ...] = ()
    preapproved: Any = ()
    when_missed: WhenMissed = WhenMissed.ONCE
    ends_at: datetime | None = None

    @property
    def zone(self) -> ZoneInfo:
        """Once it is checked."""
        return ZoneInfo(self.time_zone)

    @classmethod
    def of(cls, schedule: Schedule) -> Self:
        """What it is now: of one whose conversation was deleted, the next run begins another."""
        talk = schedule.conversation
        return cls(
            question=schedule.question,
            on_approval=ApprovalRule(schedule.on_approval),
            kind=Kind(schedule.kind),
            time_zone=schedule.time_zone,
            at=schedule.at,
            every_s=schedule.every_s,
            cron=schedule.cron,
            title=schedule.title,
            mode=schedule.mode,
            talk=Talk(schedule.talk),
            conversation_id=talk.pk if talk is not None and talk.deleted_at is None else None,
            project_id=schedule.project_id,
            document_ids=tuple(schedule.document_ids),
            preapproved=tuple(schedule.preapproved),
            when_missed=WhenMissed(schedule.when_missed),
            ends_at=schedule.ends_at,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The columns of a schedule, and the rhythm that they make."""

    columns: dict[str, Any]
    rhythm: Rhythm
    ends_at: datetime | None


def checked(user: User, wish: ScheduleInput, *, now: datetime | None, counts_from: datetime) -> Checked:
    """Raises Refused, with every fault at its field. Five queries at most. `counts_from`: where pauses begin. `now`:
    None where its times are those that it has already: nobody has chosen them now, and none needs be to come."""
    faults: Faults = {}
    question = _tried(faults, "question", lambda: checked_question(wish.question)) or ""
    columns = {
        "question": question,
        "title": _title(faults, wish.title) or title_from(question, limit=TITLE_CHARS - 1),
        "mode": _tried(faults, "mode", lambda: resolve_mode(wish.mode).name if wish.mode else "") or "",
        "on_approval": wish.on_approval,
        "preapproved": _preapproved(faults, wish),
        "when_missed": wish.when_missed,
        **_place(faults, user, wish),
        **_documents(faults, user, wish),
    }
    rhythm, ends_at = _times(faults, wish, now=now, counts_from=counts_from)
    if faults or rhythm is None:
        raise Refused.of(faults)
    columns |= {"kind": wish.kind, "time_zone": wish.time_zone, "at": None, "every_s": None, "cron": ""}
    match rhythm:
        case Once(at):
            columns["at"] = at
        case Every(_begins_at, pause_s):
            columns["every_s"] = pause_s
        case Cron():
            columns["cron"] = " ".join(wish.cron.split())
    return Checked(columns={**columns, "ends_at": ends_at}, rhythm=rhythm, ends_at=ends_at)


def has_same_times(schedule: Schedule, wish: ScheduleInput) -> bool:
    zone = _zone({}, wish.time_zone)
    if zone is None or (wish.kind, wish.time_zone) != (schedule.kind, schedule.time_zone):
        return False
    own = {Kind.ONCE: schedule.at, Kind.EVERY: schedule.every_s, Kind.CRON: schedule.cron}[wish.kind]
    wanted = {
        Kind.ONCE: _aware({}, "at", wish.at, zone),
        Kind.EVERY: wish.every_s,
        Kind.CRON: " ".join(wish.cron.split()),
    }[wish.kind]
    return (wanted, _aware({}, "ends_at", wish.ends_at, zone)) == (own, schedule.ends_at)


def times_of(wish: ScheduleInput, *, now: datetime) -> tuple[Rhythm | None, datetime | None, Faults]:
    """When it would come and end, and what is wrong with that; for a look beforehand."""
    faults: Faults = {}
    rhythm, ends_at = _times(faults, wish, now=now, counts_from=now)
    return rhythm, ends_at, faults


def _times(
    faults: Faults, wish: ScheduleInput, *, now: datetime | None, counts_from: datetime
) -> tuple[Rhythm | None, datetime | None]:
    zone = _zone(faults, wish.time_zone)
    if zone is None:
        return None, None
    rhythm = _rhythm(faults, wish, zone=zone, now=now, counts_from=counts_from)
    ends_at = _aware(faults, "ends_at", wish.ends_at, zone)
    if now is not None and rhythm is not None and not faults.keys() & {"at", "every_s", "cron"}:
        _check_there_is_a_time(faults, rhythm, ends_at, now)
    return rhythm, ends_at


def _rhythm(
    faults: Faults, wish: ScheduleInput, *, zone: ZoneInfo, now: datetime | None, counts_from: datetime
) -> Rhythm | None:
    """None where there is a fault, which is added."""
    match wish.kind:
        case Kind.ONCE:
            return _once(faults, _aware(faults, "at", wish.at, zone), now)
        case Kind.EVERY:
            return _every(faults, wish.every_s, counts_from)
        case Kind.CRON:
            return _cron(faults, wish.cron, zone)


def _once(faults: Faults, at: datetime | None, now: datetime | None) -> Once | None:
    if at is None:
        faults.setdefault("at", [_("Say when: a day and a time.")])
    elif now is not None and not now < at <= now + timedelta(days=MOST_AHEAD_DAYS):
        faults["at"] = [_("Choose a time that is still to come, within ten years.")]
    else:
        return Once(at)
    return None


def _every(faults: Faults, pause_s: int | None, counts_from: datetime) -> Every | None:
    if pause_s is None or not LEAST_APART_S <= pause_s <= MOST_APART_S or pause_s % 60:
        faults["every_s"] = [_("Choose whole minutes: at least five, at most a year.")]
        return None
    return Every(counts_from, pause_s)


def _cron(faults: Faults, text: str, zone: ZoneInfo) -> Cron | None:
    try:
        expression = parsed(clean_text(text))
    except BadCron as bad:
        faults["cron"] = [str(bad)]
        return None
    if expression.closest_minutes * 60 < LEAST_APART_S:
        faults["cron"] = [
            _("Two of its times are {minutes} min apart; at least {least} min must lie between them.").format(
                minutes=expression.closest_minutes, least=LEAST_APART_S // 60
            )
        ]
    return Cron(expression, zone)


def _check_there_is_a_time(faults: Faults, rhythm: Rhythm, ends_at: datetime | None, now: datetime) -> None:
    first = next_after(rhythm, now)
    if first is None:
        faults["cron"] = [_("No day is like this, so it would never come. Look at the day and the month.")]
    elif ends_at is not None and ends_at < first:
        faults["ends_at"] = [_("It ends before its first time. Choose a later end, or none.")]


def _zone(faults: Faults, name: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        # OSError: a name that is a folder of the database of zones.
        faults["time_zone"] = [
            _("There is no time zone '{name}'. Use one such as Europe/Berlin or UTC.").format(name=name[:40])
        ]
        return None


def _aware(faults: Faults, field: str, moment: datetime | None, zone: ZoneInfo) -> datetime | None:
    try:
        found = moment and (moment if moment.tzinfo is not None else moment.replace(tzinfo=zone)).astimezone(UTC)
    except OverflowError:
        found = None
    if moment is not None and (found is None or not is_tellable(found)):
        faults[field] = [_("This is no time that can be kept. Choose one within ten years.")]
        return None
    return found


def _title(faults: Faults, text: str) -> str:
    title = one_line(clean_text(text))
    if len(title) > TITLE_CHARS:
        faults["title"] = [_("A title has at most {limit} characters.").format(limit=TITLE_CHARS)]
    return title


def _place(faults: Faults, user: User, wish: ScheduleInput) -> dict[str, Any]:
    """Where it is asked. A conversation that exists has its project already."""
    found: dict[str, Any] = {"talk": wish.talk, "conversation_id": None, "project_id": None}
    if wish.project_id is not None:
        try:
            found["project_id"] = projects.seen(user, wish.project_id).pk
        except NotThere:
            faults["project_id"] = [_("There is no such project that you are in. Choose another, or none.")]
    if wish.talk == Talk.SAME and wish.conversation_id is not None:
        if not Conversation.objects.of(user).filter(pk=wish.conversation_id, is_temporary=False).exists():
            faults["conversation_id"] = [_("You have no such conversation. Leave this out to begin a new one.")]
        found["conversation_id"] = wish.conversation_id
    return found


def _documents(faults: Faults, user: User, wish: ScheduleInput) -> dict[str, Any]:
    ids = list(dict.fromkeys(wish.document_ids))
    _tried(faults, "document_ids", lambda: attached(user, {"document_ids": ids}))
    return {"document_ids": ids}


def _preapproved(faults: Faults, wish: ScheduleInput) -> list[dict[str, Any]]:
    """Only what the rule is about is kept: a yes that nobody sees any more would be a silent one."""
    if wish.on_approval != ApprovalRule.PREAPPROVED:
        return []
    try:
        found = preapproved_from(wish.preapproved or [])
    except Refused as refused:
        faults |= refused.fields
        return []
    if not found:
        faults["preapproved"] = [_("Say which calls are approved: a tool, and towards whom or what.")]
    return [{"tool": one.tool, "conditions": [condition.as_json() for condition in one.conditions]} for one in found]


def _tried(faults: Faults, field: str, check: Callable[[], Any]) -> Any:
    try:
        return check()
    except Refused as refused:
        faults[field] = next(iter(refused.fields.values()), [refused.message])
        return None
