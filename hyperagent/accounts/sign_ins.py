"""Where somebody is signed in, and the end of it: in one browser, or in all others. The sessions are Django's."""

import uuid
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY, login, update_session_auth_hash
from django.db import transaction
from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import get_language

from hyperagent.accounts.browsers import browser_name
from hyperagent.accounts.models import SignIn, User
from hyperagent.accounts.requests import address_of
from hyperagent.accounts.sessions import BEGUN
from hyperagent.audit.kinds import AuditKind
from hyperagent.audit.recording import Target, actor_of, record
from hyperagent.lib.languages import ENGLISH, known, remember_choice
from hyperagent.lib.text import clean_text

BROWSER_CHARS = 300


@dataclass(frozen=True, slots=True)
class Place:
    """A browser in which somebody is signed in. `is_here`: the one that asks."""

    id: uuid.UUID | None
    browser: str
    address: str
    since: datetime | None
    is_here: bool


def sign_in(request: HttpRequest, user: User) -> None:
    """The password was right, or the account is new. Notes where, and in which language they read."""
    login(request, user)
    request.session[BEGUN] = timezone.now().timestamp()
    note(request, user)
    User.objects.filter(pk=user.pk).update(read_in=known(get_language() or ENGLISH))
    record(AuditKind.SIGN_IN_SUCCEEDED, actor=actor_of(user), target=_target(user), request=request)


def note(request: HttpRequest, user: User) -> None:
    SignIn.objects.update_or_create(
        session_key=request.session.session_key,
        defaults={
            "user": user,
            "browser": clean_text(request.headers.get("User-Agent", ""))[:BROWSER_CHARS],
            "address": (address_of(request) or "")[:64],
        },
    )


def with_choices(response: HttpResponse, user: User) -> HttpResponse:
    """The person's language goes with them into this browser."""
    if user.language:
        remember_choice(response, user.language)
    return response


def stay_here(request: HttpRequest, user: User) -> None:
    """After a change that ends all sessions of the user: this one goes on, under another key."""
    before = request.session.session_key
    update_session_auth_hash(request, user)
    SignIn.objects.filter(session_key=before).update(session_key=request.session.session_key)


def places(request: HttpRequest, user: User) -> list[Place]:
    """Where this person is signed in now, this browser first. Two queries."""
    here = request.session.session_key
    rows = {row.session_key: row for row in SignIn.objects.filter(user=user)}
    alive = _alive(rows.keys() - {here}, user)
    found = [_place(row, is_here=False) for key, row in rows.items() if key in alive]
    mine = _place(rows[here], is_here=True) if here in rows else _unnoted(request)
    return [mine, *found]


def end_one(user: User, sign_in_id: uuid.UUID) -> bool:
    """False if the user is signed in nowhere of that name."""
    row = SignIn.objects.filter(user=user, pk=sign_in_id).first()
    if row is None:
        return False
    with transaction.atomic():
        _sessions().filter(session_key=row.session_key).delete()
        row.delete()
        record(AuditKind.SESSIONS_ENDED, actor=actor_of(user), target=_target(user), details={"which": "one"})
    return True


def end_all(user: User) -> None:
    """Every session of this person ends, known here or not: each carries a number that is not theirs any more."""
    User.objects.filter(pk=user.pk).update(sessions_ended=F("sessions_ended") + 1)
    user.refresh_from_db(fields=["sessions_ended"])
    keys = list(SignIn.objects.filter(user=user).values_list("session_key", flat=True))
    _sessions().filter(session_key__in=keys).delete()
    SignIn.objects.filter(user=user).delete()


def end_others(request: HttpRequest, user: User) -> None:
    here = request.session.session_key
    record(
        AuditKind.SESSIONS_ENDED,
        actor=actor_of(user),
        target=_target(user),
        details={"which": "others"},
        request=request,
    )
    User.objects.filter(pk=user.pk).update(sessions_ended=F("sessions_ended") + 1)
    user.refresh_from_db(fields=["sessions_ended"])
    others = SignIn.objects.filter(user=user).exclude(session_key=here)
    _sessions().filter(session_key__in=list(others.values_list("session_key", flat=True))).delete()
    others.delete()
    stay_here(request, user)


def _target(user: User) -> Target:
    return Target("user", str(user.pk), user.email)


def prune() -> None:
    """What is left of sessions that are over."""
    _sessions().filter(expire_date__lte=timezone.now()).delete()
    alive = _sessions().filter(expire_date__gt=timezone.now()).values("session_key")
    SignIn.objects.exclude(session_key__in=alive).delete()


def is_alive(session_key: str, user: User) -> bool:
    """Whether this session still opens the door for this person. One query."""
    return bool(_alive({session_key}, user))


def _alive(keys: set[str], user: User) -> set[str]:
    """Those of these sessions that still open the door."""
    if not keys:
        return set()
    rows = _sessions().filter(session_key__in=keys, expire_date__gt=timezone.now())
    digest = user.get_session_auth_hash()
    return {row.session_key for row in rows if row.get_decoded().get(HASH_SESSION_KEY) == digest}


def _place(row: SignIn, *, is_here: bool) -> Place:
    return Place(row.pk, browser_name(row.browser), row.address, row.signed_in_at, is_here)


def _unnoted(request: HttpRequest) -> Place:
    return Place(None, browser_name(request.headers.get("User-Agent", "")), address_of(request) or "", None, True)


def _sessions() -> Any:
    return import_module(settings.SESSION_ENGINE).SessionStore.get_model_class().objects
