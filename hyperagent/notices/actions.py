"""Everything that changes what is told to the world outside. The apps above call `emit` and `tell_people`; page, API
and admin call the verbs on endpoints. Rows are written in the caller's transaction, and nothing is sent here.
"""

import uuid
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from hyperagent.accounts.models import User
from hyperagent.accounts.scopes import UserKind
from hyperagent.audit.kinds import AuditKind
from hyperagent.audit.recording import JSON, Target, actor_of, record
from hyperagent.lib.outside.addresses import url_fault
from hyperagent.lib.queue import enqueue
from hyperagent.lib.refusals import Conflict, NotThere, Refused
from hyperagent.lib.secrets import Purpose, seal
from hyperagent.lib.signatures import new_secret
from hyperagent.lib.stored_faults import fault_in_our_words
from hyperagent.lib.text import clean_value
from hyperagent.lib.times import iso
from hyperagent.notices.kinds import CHOOSABLE, ON_BY_DEFAULT, OPEN, DeliveryStatus, EventType, MailKind
from hyperagent.notices.models import HEAD_CHARS, Delivery, Endpoint, Mail, Preference
from hyperagent.notices.words import one_line, short_values

MAX_ENDPOINTS = 20
MAX_FACTS = 12
DELIVER = "hyperagent.notices.tasks.deliver"
SEND_MAIL = "hyperagent.notices.tasks.send_mail"
_IDS_OF_EVENTS = uuid.UUID("b2d0a7c4-6f0e-4e36-9d0b-2c1c6a3b7f52")


# ── What the apps above say ───────────────────────────────────────────────────────────────────────────────────────────


def emit(
    event_type: EventType,
    *,
    user_id: uuid.UUID | None,
    subject_id: uuid.UUID | str,
    payload: Mapping[str, Any],
    title: str = "",
    path: str = "",
    others: Collection[uuid.UUID] = (),
) -> int:
    """Writes a delivery for every endpoint that listens, and returns how many. The same event again writes nothing.

    `payload`: ids, kinds, times, small numbers. `title`: short untrusted text, for the people whose matter it is and
    not for the installation's endpoints. `path` leads to it on this site. `others`: people besides the owner whose
    matter it is, such as approvers. One query if nobody listens.
    """
    event_id = f"evt_{uuid.uuid5(_IDS_OF_EVENTS, f'{event_type} {subject_id}').hex}"
    whose = {person for person in (user_id, *others) if person is not None}
    with transaction.atomic():
        listening = list(Endpoint.objects.listening(event_type, whose))
        if not listening:
            return 0
        told = set(
            Delivery.objects.filter(event_id=event_id, endpoint__in=listening).values_list("endpoint", flat=True)
        )
        shown = short_values(clean_value(dict(payload))) | ({"link": link_to(path)} if path else {})
        moment = iso(timezone.now())
        fresh = [
            Delivery(
                endpoint=endpoint,
                event_id=event_id,
                type=event_type,
                payload={
                    "type": event_type.value,
                    "timestamp": moment,
                    "data": shown if endpoint.is_installations or not title else {**shown, "title": one_line(title)},
                },
            )
            for endpoint in listening
            if endpoint.pk not in told
        ]
        Delivery.objects.bulk_create(fresh, ignore_conflicts=True)
        for delivery in fresh:
            # One that rests because it fails is left to the sweep.
            if delivery.endpoint.failing_since is None:
                enqueue(DELIVER, delivery.pk)
    return len(fresh)


def tell_people(
    user_ids: Iterable[uuid.UUID],
    kind: MailKind,
    *,
    subject_id: uuid.UUID | str,
    title: str,
    path: str,
    facts: Mapping[str, str] | None = None,
) -> int:
    """Writes a mail for each of these people who wants such mails, and returns how many. Nobody gets a second one of
    this kind about the same subject.

    `title` and `facts` (label → value) are untrusted text: cut, and shown as text. `path`: where the link leads, on
    this site, which asks for a login.
    """
    link_to(path)
    wanted = kind in ON_BY_DEFAULT
    with transaction.atomic():
        there = User.objects.filter(pk__in=list(user_ids), is_active=True, kind=UserKind.PERSON)
        people = set(there.values_list("pk", flat=True))
        otherwise = Preference.objects.filter(user_id__in=people, kind=kind, wanted=not wanted)
        exceptions = set(otherwise.values_list("user", flat=True))
        chosen = people - exceptions if wanted else exceptions
        known = Mail.objects.filter(user_id__in=chosen, kind=kind, subject_id=str(subject_id))
        shown = [[one_line(label, 40), one_line(value)] for label, value in (facts or {}).items()][:MAX_FACTS]
        fresh = [
            Mail(user_id=person, kind=kind, subject_id=str(subject_id), title=one_line(title), facts=shown, path=path)
            for person in sorted(chosen - set(known.values_list("user", flat=True)))
        ]
        Mail.objects.bulk_create(fresh, ignore_conflicts=True)
        for mail in fresh:
            enqueue(SEND_MAIL, mail.pk)
    return len(fresh)


def link_to(path: str) -> str:
    """The full address of a page of this site. Raises ValueError for what would lead elsewhere."""
    if not path.startswith("/") or path.startswith("//") or "\\" in path:
        raise ValueError(f"{path!r} is no path of this site; begin it with one slash")
    return f"{settings.SITE_URL}{path}"


# ── Endpoints ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def add_endpoint(
    user: User | None, *, url: str, events: Collection[str], by: User | None = None
) -> tuple[Endpoint, str]:
    """The endpoint (without a user: the installation's), and its secret, which cannot be had again. Raises Refused.

    `by`: the administrator who does it; without, it is the user."""
    checked = _checked_url(url)
    chosen = _checked_events(events)
    with transaction.atomic():
        if user is not None:
            User.objects.hold(user.pk)
        if Endpoint.objects.filter(user=user, deleted_at=None).count() >= MAX_ENDPOINTS:
            raise Conflict(
                "too_many_webhooks",
                _("There are {limit} webhooks already. Delete one first.").format(limit=MAX_ENDPOINTS),
            )
        secret = new_secret()
        sealed = seal(secret, Purpose.WEBHOOK)
        endpoint = Endpoint.objects.create(user=user, url=checked, events=chosen, secret_sealed=sealed)
        _record(AuditKind.WEBHOOK_ADDED, endpoint, by or user, events=chosen)
    endpoint.refresh_from_db()
    return endpoint, secret


def change_endpoint(
    endpoint: Endpoint,
    *,
    url: str | None = None,
    events: Collection[str] | None = None,
    enabled: bool | None = None,
    by: User | None = None,
) -> Endpoint:
    """Changes what is given. Switched off, it gives up what was still to be sent; switched on, it begins anew."""
    with transaction.atomic():
        now = _locked(endpoint.pk)
        if url is not None and url != now.url:
            now.url = _checked_url(url)
            now.failing_since = now.resting_until = None
        if events is not None:
            now.events = _checked_events(events)
        if enabled is True and now.disabled_at is not None:
            now.disabled_at = now.failing_since = now.resting_until = None
            now.disabled_why = ""
        now.save()
        if enabled is False:
            disable(now.pk, why="")
        given = {"url": url, "events": events, "enabled": enabled}
        _record(
            AuditKind.WEBHOOK_CHANGED, now, by or now.user, what=[name for name in given if given[name] is not None]
        )
    now.refresh_from_db()
    return now


def disable(endpoint_id: uuid.UUID, *, why: str) -> bool:
    """Nothing is sent any more, and what was to be sent is given up. False if it was switched off already.

    With a reason it is our doing, and its people are told.
    """
    with transaction.atomic():
        live = Endpoint.objects.filter(pk=endpoint_id, disabled_at=None, deleted_at=None)
        if not live.update(disabled_at=Now(), disabled_why=why[:HEAD_CHARS]):
            return False
        _give_up(endpoint_id, "The webhook was switched off before this was delivered.")
        if why:
            endpoint = Endpoint.objects.get(pk=endpoint_id)
            _tell_of_the_end(endpoint)
            _record(AuditKind.WEBHOOK_CHANGED, endpoint, None, what=["enabled"], why="it failed")
    return True


def delete_endpoint(endpoint: Endpoint, *, by: User | None = None) -> None:
    """Its secret goes at once, and its log after a while."""
    with transaction.atomic():
        if Endpoint.objects.filter(pk=endpoint.pk, deleted_at=None).update(deleted_at=Now(), secret_sealed=""):
            _record(AuditKind.WEBHOOK_REMOVED, endpoint, by or endpoint.user)
        _give_up(endpoint.pk, "The webhook was deleted before this was delivered.")


def send_test(endpoint: Endpoint) -> Delivery:
    """An event of its own that goes to this endpoint only. Raises Conflict if it is off, or a test waits already."""
    with transaction.atomic():
        _check_enabled(_locked(endpoint.pk))
        if Delivery.objects.filter(endpoint=endpoint, type=EventType.TEST, status__in=OPEN).exists():
            raise Conflict("test_under_way", _("A test is on its way already. Look at the log in a moment."))
        delivery = Delivery.objects.create(
            endpoint=endpoint,
            event_id=f"evt_{uuid.uuid4().hex}",
            type=EventType.TEST,
            payload={
                "type": EventType.TEST.value,
                "timestamp": iso(timezone.now()),
                "data": {"webhook_id": str(endpoint.pk), "link": link_to("/settings/webhooks/")},
            },
        )
        _send_now(delivery)
    return delivery


def deliver_again(delivery: Delivery) -> Delivery:
    """The same event under the same id, at once. Raises Conflict if its endpoint is off or deleted."""
    with transaction.atomic():
        _check_enabled(_locked(delivery.endpoint_id))
        Delivery.objects.filter(pk=delivery.pk).update(
            status=DeliveryStatus.PENDING, next_attempt_at=Now(), delivered_at=None
        )
        _send_now(delivery)
    delivery.refresh_from_db()
    return delivery


def set_preferences(user: User, wanted: Mapping[MailKind, bool]) -> None:
    with transaction.atomic():
        for kind, is_wanted in wanted.items():
            Preference.objects.update_or_create(user=user, kind=kind, defaults={"wanted": is_wanted})


def preferences_of(user: User) -> dict[MailKind, bool]:
    """Every kind, with what holds for this person. One query."""
    chosen = dict(Preference.objects.filter(user=user).values_list("kind", "wanted"))
    return {kind: chosen.get(kind.value, kind in ON_BY_DEFAULT) for kind in MailKind}


def _record(kind: AuditKind, endpoint: Endpoint, by: User | None, **details: JSON) -> None:
    """Its host and no more: an address may hold a secret."""
    target = Target("webhook", str(endpoint.pk), endpoint.host)
    details = {**details, "is_installations": endpoint.is_installations}
    record(kind, actor=actor_of(by), target=target, details=details)


def _send_now(delivery: Delivery) -> None:
    """A person waits for it: it does not wait for the endpoint to recover."""
    Endpoint.objects.filter(pk=delivery.endpoint_id, resting_until__gt=Now()).update(resting_until=Now())
    enqueue(DELIVER, delivery.pk)


def _locked(endpoint_id: uuid.UUID) -> Endpoint:
    found = Endpoint.objects.select_for_update(no_key=True).filter(pk=endpoint_id, deleted_at=None).first()
    if found is None:
        raise NotThere
    return found


def _check_enabled(endpoint: Endpoint) -> None:
    if not endpoint.enabled:
        raise Conflict("webhook_disabled", _("This webhook is switched off. Switch it on first."))


def _give_up(endpoint_id: uuid.UUID, why: str) -> None:
    Delivery.objects.filter(endpoint=endpoint_id, status__in=OPEN).update(
        status=DeliveryStatus.GIVEN_UP, last_error=why
    )


def _tell_of_the_end(endpoint: Endpoint) -> None:
    if endpoint.user_id is not None:
        people = [endpoint.user_id]
    else:
        people = list(User.objects.filter(is_staff=True, is_active=True).values_list("pk", flat=True))
    tell_people(
        people,
        MailKind.WEBHOOK_DISABLED,
        subject_id=f"{endpoint.pk} {iso(endpoint.disabled_at)}",
        title=endpoint.host,
        path=f"/settings/webhooks/{endpoint.pk}/",
        facts={"Webhook": endpoint.host, gettext_noop("Why"): endpoint.disabled_why},
    )


def _checked_url(url: str) -> str:
    typed = url.strip()
    fault = fault_in_our_words(url_fault(typed, allow_private=settings.WEBHOOK_ALLOW_PRIVATE) or "")
    if fault:
        raise Refused.at("url", fault, code="bad_url")
    return typed


def _checked_events(events: Collection[str]) -> list[str]:
    unknown = [name for name in events if name not in set(CHOOSABLE)]
    if unknown or not events:
        named = _("'{name}' is not an event.").format(name=unknown[0][:40]) + " " if unknown else ""
        fault = _("{named}Choose one or more of {names}.").format(named=named, names=", ".join(CHOOSABLE))
        raise Refused.at("events", fault, code="bad_events")
    return [kind.value for kind in CHOOSABLE if kind in set(events)]
