"""Accounts of programs: no password, no sign-in, no mail. They act by tokens that administrators make, as far as their
scopes reach and until their end; a person answers for each of them, and decides what it asks.
"""

import secrets
import uuid
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Coalesce, Least, Now
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext as _

from hyperagent.accounts import people
from hyperagent.accounts.models import ApiToken, User
from hyperagent.accounts.people import hold, tell
from hyperagent.accounts.people_models import ServiceAccount
from hyperagent.accounts.personal import parts
from hyperagent.accounts.scopes import SERVICE_SCOPES, Scope, UserKind
from hyperagent.accounts.tokens import LONGEST_TOKEN_LIFETIME, TOKEN_LIFETIME, new_token, token_digest
from hyperagent.audit.kinds import AuditKind
from hyperagent.audit.recording import Target, actor_of, record
from hyperagent.lib.refusals import Conflict, NotThere, Refused
from hyperagent.lib.text import clean_text

# Nothing is ever delivered there, and no provider of sign-on can prove it.
DOMAIN: Final = "service.invalid"
LONGEST: Final = timedelta(days=3 * 366)
USUAL: Final = timedelta(days=365)
GRACES: Final = (timedelta(), timedelta(hours=1), timedelta(days=1), timedelta(days=7))
NAME_CHARS: Final = 100
PURPOSE_CHARS: Final = 200


@dataclass(frozen=True, slots=True)
class ServiceAccountInput:
    """How a service account shall be."""

    name: str
    owner_id: uuid.UUID
    scopes: Collection[str]
    ends_at: datetime
    group_ids: Collection[int] = ()
    purpose: str = ""


def make(by: User, wish: ServiceAccountInput) -> User:
    """Raises Refused with every fault at its field, and NotAllowed."""
    with transaction.atomic():
        hold(by, by.pk)
        fit = _checked(wish)
        user = User(
            email=f"{slugify(fit.name)[:40] or 'program'}.{secrets.token_hex(4)}@{DOMAIN}",
            display_name=fit.name,
            kind=UserKind.SERVICE,
            is_staff=Scope.ADMIN in fit.scopes,
        )
        user.set_unusable_password()
        user.save(force_insert=True)
        ServiceAccount.objects.create(
            user=user,
            owner_id=fit.owner_id,
            purpose=fit.purpose,
            scopes=list(fit.scopes),
            ends_at=fit.ends_at,
            made_by=by,
        )
        _tell(AuditKind.SERVICE_ACCOUNT_MADE, by, user, fit)
        people.set_groups(by, user.pk, fit.group_ids)
    return user


def change(by: User, user_id: uuid.UUID, wish: ServiceAccountInput) -> User:
    """Its tokens reach as far as it does from now on, and no longer than it. Whoever answers for it now decides what it
    has asked already."""
    with transaction.atomic():
        user = of(hold(by, user_id).user)
        fit = _checked(wish, ends_at_now=user.service_account.ends_at)
        user.display_name, user.is_staff = fit.name, Scope.ADMIN in fit.scopes
        user.save(update_fields=["display_name", "is_staff"])
        program = user.service_account
        if program.owner_id != fit.owner_id:
            for part in parts():
                part.program_handed_over(user.pk, program.owner_id, fit.owner_id)
        program.owner_id, program.purpose = fit.owner_id, fit.purpose
        program.scopes, program.ends_at = list(fit.scopes), fit.ends_at
        program.save()
        ApiToken.objects.owned_by(user).update(expires_at=Least("expires_at", fit.ends_at))
        _tell(AuditKind.SERVICE_ACCOUNT_CHANGED, by, user, fit)
        people.set_groups(by, user.pk, fit.group_ids)
    return user


def change_some(by: User, user_id: uuid.UUID, **given: Any) -> User:
    """Fields of `ServiceAccountInput`; what is left out stays as it is at this moment, whoever has just changed it."""
    with transaction.atomic():
        user = of(hold(by, user_id).user)
        program = user.service_account
        # Whoever answered for it may be gone; that is refused as such.
        owner_id: Any = program.owner_id
        now = ServiceAccountInput(
            name=user.display_name,
            owner_id=owner_id,
            scopes=program.scopes,
            ends_at=program.ends_at,
            group_ids=tuple(people.plain_groups().filter(user=user).values_list("pk", flat=True)),
            purpose=program.purpose,
        )
        return change(by, user_id, replace(now, **given))


def make_token(
    by: User,
    user_id: uuid.UUID,
    *,
    name: str,
    scopes: Collection[str] | None = None,
    expires_at: datetime | None = None,
) -> tuple[ApiToken, str]:
    """The token's row, and the token itself, which cannot be had again. Without scopes: all of the account's."""
    with transaction.atomic():
        user = of(hold(by, user_id).user)
        program = user.service_account
        if not user.is_active:
            raise Conflict("deactivated", _("This service account is deactivated. Activate it first."))
        now = timezone.now()
        ends = min(expires_at or now + TOKEN_LIFETIME, program.ends_at)
        faults = _token_faults(program, scopes, ends, now)
        if faults:
            raise Refused.of(faults)
        wanted = [scope for scope in program.scopes if scopes is None or scope in set(scopes)]
        return _written(by, user, name=name, scopes=wanted, expires_at=ends)


def rotate(by: User, user_id: uuid.UUID, token_id: uuid.UUID, *, grace: timedelta) -> tuple[ApiToken, str]:
    """A new token of the same name, scopes and length of life, which is that of the old one before it was replaced for
    the first time. The old one opens doors for the grace, and no longer."""
    if grace not in GRACES:
        raise Refused.at("grace_hours", _("Choose one of {hours} hours.").format(hours=_hours()))
    with transaction.atomic():
        user = of(hold(by, user_id).user)
        old = ApiToken.objects.usable().owned_by(user).select_for_update(of=("self",)).filter(pk=token_id).first()
        if old is None:
            raise NotThere
        lives = (old.was_to_end_at or old.expires_at) - old.created_at
        ends = min(timezone.now() + lives, user.service_account.ends_at)
        made = _written(by, user, name=old.name, scopes=old.scopes, expires_at=ends)
        if grace:
            ends_anyway = Coalesce("was_to_end_at", "expires_at")
            ApiToken.objects.filter(pk=old.pk).update(
                expires_at=Least("expires_at", Now() + grace), was_to_end_at=ends_anyway
            )
        else:
            _revoke(by, user, old)
    return made


def revoke(by: User, user_id: uuid.UUID, token_id: uuid.UUID) -> None:
    """Twice is as once. Raises NotThere."""
    with transaction.atomic():
        user = of(hold(by, user_id).user)
        token = ApiToken.objects.owned_by(user).filter(pk=token_id).first()
        if token is None:
            raise NotThere
        if token.revoked_at is None:
            _revoke(by, user, token)


def end_overdue() -> None:
    """Those whose end has come are deactivated, and those whose owner was by no verb of ours: what they have going
    stops."""
    is_over = Q(ends_at__lte=Now()) | Q(owner=None) | Q(owner__is_active=False)
    over = ServiceAccount.objects.filter(is_over, user__is_active=True).order_by("pk")
    for user_id in over.values_list("user", flat=True):
        people.deactivate(None, user_id)


def usual_end() -> datetime:
    return timezone.now() + USUAL


def of(user: User) -> User:
    """Raises NotThere for a person."""
    if not user.is_service:
        raise NotThere
    return user


def _checked(wish: ServiceAccountInput, *, ends_at_now: datetime | None = None) -> ServiceAccountInput:
    """An end that stays as it is may have passed: what else is wrong with it can be put right all the same."""
    name, purpose = clean_text(wish.name).strip(), clean_text(wish.purpose).strip()
    faults: dict[str, list[str]] = {}
    if not 1 <= len(name) <= NAME_CHARS:
        faults["name"] = [_("A name of 1 to {count} characters is needed.").format(count=NAME_CHARS)]
    if len(purpose) > PURPOSE_CHARS:
        faults["purpose"] = [_("At most {count} characters.").format(count=PURPOSE_CHARS)]
    if wrong := _scope_faults(wish.scopes, SERVICE_SCOPES):
        faults["scopes"] = wrong
    if not User.objects.filter(pk=wish.owner_id, is_active=True, kind=UserKind.PERSON).exists():
        faults["owner"] = [_("Name an active person who answers for it.")]
    now = timezone.now()
    if wish.ends_at != ends_at_now and not now < wish.ends_at <= now + LONGEST:
        faults["ends_at"] = [_("The end has to be a day to come, within three years.")]
    if faults:
        raise Refused.of(faults)
    scopes = tuple(scope.value for scope in SERVICE_SCOPES if scope in set(wish.scopes))
    return ServiceAccountInput(name, wish.owner_id, scopes, wish.ends_at, tuple(wish.group_ids), purpose)


def _scope_faults(names: Collection[str], allowed: Collection[str]) -> list[str]:
    if not names:
        return [_("At least one scope of {names} is needed.").format(names=", ".join(allowed))]
    wrong = [name for name in names if name not in set(allowed)]
    return [
        _("'{name}' cannot be given here; use one or more of {known}.").format(name=name[:40], known=", ".join(allowed))
        for name in wrong
    ]


def _token_faults(
    program: ServiceAccount, scopes: Collection[str] | None, ends: datetime, now: datetime
) -> dict[str, list[str]]:
    faults: dict[str, list[str]] = {}
    if scopes is not None and (wrong := _scope_faults(scopes, program.scopes)):
        faults["scopes"] = wrong
    if ends <= now:
        faults["expires_at"] = [_("The end date is past. Choose a later one.")]
    elif ends > now + LONGEST_TOKEN_LIFETIME:
        days = LONGEST_TOKEN_LIFETIME.days
        faults["expires_at"] = [_("A token lives {days} days at most. Choose an earlier end date.").format(days=days)]
    return faults


def _written(by: User, user: User, *, name: str, scopes: Collection[str], expires_at: datetime) -> tuple[ApiToken, str]:
    raw = new_token()
    token = ApiToken.objects.create(
        user=user,
        name=clean_text(name).strip()[:NAME_CHARS] or user.display_name,
        digest=token_digest(raw),
        scopes=list(scopes),
        expires_at=expires_at,
    )
    _tell_of_token(AuditKind.TOKEN_MADE, by, user, token)
    return token, raw


def _revoke(by: User, user: User, token: ApiToken) -> None:
    ApiToken.objects.filter(pk=token.pk).update(revoked_at=Now())
    _tell_of_token(AuditKind.TOKEN_REVOKED, by, user, token)


def _tell_of_token(kind: AuditKind, by: User, user: User, token: ApiToken) -> None:
    details = {"scopes": token.scopes, "account": user.kind, "user": str(user.pk)}
    record(kind, actor=actor_of(by), target=Target("api_token", str(token.pk), token.name), details=details)


def _tell(kind: AuditKind, by: User, user: User, fit: ServiceAccountInput) -> None:
    tell(kind, by, user, owner=str(fit.owner_id), scopes=list(fit.scopes), ends_at=fit.ends_at.isoformat())


def _hours() -> str:
    return ", ".join(str(int(grace.total_seconds() // 3600)) for grace in GRACES)
