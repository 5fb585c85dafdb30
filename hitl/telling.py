"""News of requests: that one waits, that it still waits, that it ends soon, that nobody answered. Each is told once, in
the transaction that marks it as told; who is told what, and how it is sent: `hyperagent.notices`.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC
from functools import partial
from typing import Any
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import Case, Count, DurationField, ExpressionWrapper, F, Q, QuerySet, Value, When
from django.db.models.functions import Now
from django.utils.translation import gettext_noop

from hitl.deadlines import LAST, LAST_PART, LONG
from hitl.kinds import Happening, RequestStatus, Via
from hitl.models import Decision, Request
from hitl.reading import deciders_of
from hyperagent.accounts.models import User
from hyperagent.lib.announcing import personal_group, publish
from hyperagent.lib.outage import database_was_away
from hyperagent.lib.times import iso
from hyperagent.notices import actions as notices
from hyperagent.notices.kinds import EventType, MailKind

log = structlog.get_logger(__name__)

AT_ONCE = 50
# How long before its end a request is reminded of for the last time.
_PART = ExpressionWrapper((F("expires_at") - F("created_at")) * LAST_PART, DurationField())
_LAST = Case(When(expires_at__gt=F("created_at") + LONG, then=Value(LAST)), default=_PART, output_field=DurationField())


def tell_of_new() -> int:
    """Programs hear of requests that have opened, and approvers of those that wait for them. How many, at most AT_ONCE.

    Who asked sees the card: they get no mail yet.
    """
    with transaction.atomic():
        opened = _taken(Request.objects.pending().filter(announced_at=None).order_by("created_at"))
        deciders = deciders_of([request.pk for request in opened])
        for request in opened:
            others = deciders[request.pk] - {request.user_id}
            with _alone(request):
                _emit(EventType.APPROVAL_REQUESTED, request, str(request.pk), others)
                _mail(MailKind.REQUEST_WAITING, request, str(request.pk), others)
        _mark(opened, announced_at=Now())
    return len(opened)


def remind() -> int:
    """Whoever may decide is reminded of what still waits, by mail and on their open pages: soon, and once more near its
    end. Programs hear of it at the last time. How many, at most AT_ONCE.
    """
    in_time = Q(expires_at=None) | Q(expires_at__gt=Now())
    with transaction.atomic():
        due = Request.objects.pending().filter(in_time, remind_at__lte=Now(), reminded_at=None)
        waiting = _taken(due.order_by("remind_at"))
        deciders = deciders_of([request.pk for request in waiting])
        before = _reminded_before(waiting)
        # Before they are marked: the rows and the clock say which those are.
        again = _to_be_reminded_again(waiting)
        for request in waiting:
            # One that was put off is reminded of again, which is another matter than the first time.
            times = before.get(request.pk, 0)
            subject = f"{request.pk}:{times + 1}" if times else str(request.pk)
            with _alone(request):
                if request.pk not in again:
                    _emit(EventType.APPROVAL_EXPIRING, request, subject, deciders[request.pk] - {request.user_id})
                _mail(MailKind.REQUEST_REMINDER, request, subject, deciders[request.pk])
            transaction.on_commit(partial(_show_reminder, request, deciders[request.pk]))
        rows = [Decision(request=request, happening=Happening.REMINDED, via=Via.CLOCK) for request in waiting]
        Decision.objects.bulk_create(rows)
        _mark(waiting, reminded_at=Now())
        Request.objects.filter(pk__in=again).update(remind_at=F("expires_at") - _LAST, reminded_at=None)
    return len(waiting)


def tell_of_timeouts() -> int:
    """Whose run it was learns that nobody answered in time. How many, at most AT_ONCE."""
    with transaction.atomic():
        ended = _taken(
            Request.objects.filter(status=RequestStatus.TIMED_OUT, timeout_told_at=None).order_by("responded_at")
        )
        for request in ended:
            with _alone(request):
                _mail(MailKind.REQUEST_TIMED_OUT, request, str(request.pk), {request.user_id})
        _mark(ended, timeout_told_at=Now())
    return len(ended)


def waits_for(user_id: UUID, subject_id: str) -> bool:
    """Whether the request that a mail was written about still waits for this person: it may have been decided before
    the mail left, or be for others now. Against what is no request nothing is said."""
    try:
        request_id = UUID(subject_id.partition(":")[0])
    except ValueError:
        return True
    return user_id in deciders_of([request_id])[request_id]


def shows(user_id: UUID, data: Mapping[str, Any]) -> bool:
    """Whether this person may see the request that a webhook is to be told of, decided or not: they may have been an
    approver then, and be none now."""
    person = User.objects.filter(pk=user_id).first()
    return person is not None and Request.objects.visible_to(person).filter(pk=data["request_id"]).exists()


def _taken(rows: QuerySet[Request]) -> list[Request]:
    """Some of these, for this transaction alone; those that another process has are its own to tell of."""
    return list(rows.select_for_update(skip_locked=True)[:AT_ONCE])


@contextmanager
def _alone(request: Request) -> Iterator[None]:
    """Of a request that cannot be told of, nobody hears; the others of its batch are not held up by it for ever. While
    the database is away it is nobody's fault, and all of them are told of later."""
    try:
        with transaction.atomic():
            yield
    except Exception as error:
        if database_was_away(error):
            raise
        log.exception("request.cannot_be_told_of", request_id=str(request.pk))


def _mark(requests: Iterable[Request], **marks: Any) -> None:
    Request.objects.filter(pk__in=[request.pk for request in requests]).update(**marks)


def _to_be_reminded_again(requests: Iterable[Request]) -> set[UUID]:
    """Those whose last reminder is still to come."""
    rows = Request.objects.filter(pk__in=[request.pk for request in requests])
    return set(rows.filter(expires_at__gt=Now() + _LAST).values_list("pk", flat=True))


def _reminded_before(requests: Iterable[Request]) -> dict[UUID, int]:
    rows = Decision.objects.filter(request__in=list(requests), happening=Happening.REMINDED).order_by()
    return dict(rows.values_list("request").annotate(Count("id")))


def _show_reminder(request: Request, people: Iterable[UUID]) -> None:
    """To the inboxes that these people have open; who has none open finds the request marked when they come."""
    told = {
        "type": "reminder",
        "request_id": str(request.pk),
        "conversation_id": str(request.conversation_id) if request.conversation_id else None,
        "title": _title(request),
        "expires_at": iso(request.expires_at),
    }
    for person in people:
        publish(personal_group(person), told)


def _emit(event: EventType, request: Request, subject: str, others: Iterable[UUID]) -> None:
    notices.emit(
        event,
        user_id=request.user_id,
        subject_id=subject,
        payload={
            "request_id": str(request.pk),
            "kind": request.kind,
            "execution_id": str(request.execution_id),
            "conversation_id": str(request.conversation_id) if request.conversation_id else None,
            "agent": request.agent_name,
            "tools": request.tool_names,
            "risk": request.risk,
            "expires_at": iso(request.expires_at),
        },
        title=_title(request),
        path=_path(request),
        others=set(others),
    )


def _mail(kind: MailKind, request: Request, subject: str, people: Iterable[UUID | None]) -> None:
    told = [person for person in people if person is not None]
    if not told:
        return
    # Said in their reader's language when the mail is written.
    facts = {gettext_noop("Agent"): request.agent_name}
    if request.tool_names:
        facts[gettext_noop("Tool")] = ", ".join(request.tool_names)
    if request.expires_at is not None:
        facts[gettext_noop("Ends")] = f"{request.expires_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    notices.tell_people(told, kind, subject_id=subject, title=_title(request), path=_path(request), facts=facts)


def _title(request: Request) -> str:
    asked = request.question if isinstance(request.question, dict) else {"question": request.question}
    return str(asked.get("question") or request.task_description or "")


def _path(request: Request) -> str:
    return f"/inbox/{request.pk}"
