"""Whose account it is that the provider vouches for, and the links between the two. Raises NotSignedOn for what cannot
be, and changes nothing then.
"""

import time
import uuid

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from hyperagent.accounts import invitations, people, sign_ins
from hyperagent.accounts.actions import revoke_all_tokens
from hyperagent.accounts.mfa.factors import OnlyWayIn, opens_alone
from hyperagent.accounts.models import User
from hyperagent.accounts.sign_on_models import ProviderIdentity
from hyperagent.accounts.sso import roles
from hyperagent.accounts.sso.problems import NotSignedOn, Why
from hyperagent.accounts.sso.protocol import Identity, is_fresh, is_of_domain
from hyperagent.audit.kinds import AuditKind
from hyperagent.audit.recording import Target, actor_of, record
from hyperagent.lib.refusals import Conflict
from hyperagent.lib.sign_on import SignOn


def account_of(arrival: Identity, sign_on: SignOn, *, time_zone: str = "") -> User:
    """Whoever signs in by this: linked before, linked now by a verified address, or new. With the roles that came.
    `time_zone`: of one that is new."""
    if sign_on.allowed_domains and not (arrival.is_verified and is_of_domain(arrival.email, sign_on.allowed_domains)):
        raise NotSignedOn(Why.FOREIGN_DOMAIN, name=sign_on.name)
    try:
        return _account_of(arrival, sign_on, time_zone)
    except IntegrityError:
        # The same person came twice at the same instant, for the first time: now there is an account.
        return _account_of(arrival, sign_on, time_zone)


@transaction.atomic
def _account_of(arrival: Identity, sign_on: SignOn, time_zone: str) -> User:
    identity = _identities(arrival).select_for_update(of=("self",)).select_related("user").first()
    if identity is None:
        user, how = _first_time(arrival, sign_on, time_zone)
        identity = _link(user, arrival, by=user, how=how)
    user = identity.user
    if not user.is_active or user.is_service:
        raise NotSignedOn(Why.DEACTIVATED, name=sign_on.name)
    ProviderIdentity.objects.filter(pk=identity.pk).update(email=arrival.email, used_at=Now())
    roles.follow(user, identity, arrival.roles, sign_on)
    user.refresh_from_db()
    return user


def link(user: User, arrival: Identity, sign_on: SignOn) -> None:
    """To an account whose owner is signed in, whatever its address. Twice is as once."""
    with transaction.atomic():
        found = _identities(arrival).first()
        if found is not None and found.user_id != user.pk:
            raise NotSignedOn(Why.OTHERS, name=sign_on.name)
        if found is None:
            _link(user, arrival, by=user, how="settings")


def unlink(user: User, identity_id: uuid.UUID) -> bool:
    """False if the user has no such link. Raises OnlyWayIn, Conflict; what came by its claim goes with it."""
    with transaction.atomic():
        # With the administrators' rows, in their order: what came by the claim is taken after it.
        people.hold(None, user.pk)
        identity = ProviderIdentity.objects.filter(user=user, pk=identity_id).first()
        if identity is None:
            return False
        others = ProviderIdentity.objects.filter(user=user).exclude(pk=identity.pk).exists()
        if not (others or user.has_usable_password() or opens_alone(user)):
            raise OnlyWayIn
        sign_on = settings.SIGN_ON
        if sign_on is not None and sign_on.is_required and not others and not user.is_staff:
            raise Conflict("required", _("Everybody signs in by {name} here.").format(name=sign_on.name))
        if sign_on is not None:
            roles.follow(user, identity, frozenset(), sign_on)
        identity.delete()
        _tell(AuditKind.SSO_UNLINKED, user, by=user, issuer=identity.issuer)
    return True


def check_same(user: User, arrival: Identity, sign_on: SignOn) -> None:
    """They showed anew that it is them."""
    if not _identities(arrival).filter(user=user).exists():
        raise NotSignedOn(Why.SOMEBODY_ELSE, name=sign_on.name)
    if not is_fresh(arrival, now_s=time.time()):
        raise NotSignedOn(Why.NOT_FRESH, name=sign_on.name)


def identities_of(user: User) -> list[ProviderIdentity]:
    return list(ProviderIdentity.objects.filter(user=user))


def _first_time(arrival: Identity, sign_on: SignOn, time_zone: str) -> tuple[User, str]:
    """An account for somebody whom this provider never brought before, and how it was found."""
    if not arrival.email:
        raise NotSignedOn(Why.NO_EMAIL, name=sign_on.name)
    held = User.objects.with_email(arrival.email).select_for_update(no_key=True).first()
    if held is not None:
        return _held(held, arrival, sign_on), "email"
    if not arrival.is_verified:
        raise NotSignedOn(Why.UNVERIFIED, name=sign_on.name)
    invited = invitations.open_for(arrival.email)
    if not sign_on.creates_users and invited is None:
        raise NotSignedOn(Why.NO_ACCOUNT, name=sign_on.name)
    user = User.objects.create_user(arrival.email, None, display_name=arrival.name, time_zone=time_zone)
    _tell(AuditKind.USER_CREATED, user, by=None, by_sso=True)
    if invited is not None:
        invitations.accept(invited, user)
    return user, "new"


def _held(held: User, arrival: Identity, sign_on: SignOn) -> User:
    """The account that has this address, if the address shows that it is the same person.

    Where anybody may register, nobody looked whose address an account was made with: its maker may wait in it for the
    one whose address it is. And a second subject with one address may be a successor who was given it.
    """
    if not held.is_active:
        raise NotSignedOn(Why.DEACTIVATED, name=sign_on.name)
    if not arrival.is_verified:
        raise NotSignedOn(Why.UNVERIFIED_TAKEN, name=sign_on.name)
    is_known_there = held.identities.filter(issuer=arrival.issuer).exists()
    if held.is_service or settings.REGISTRATION_OPEN or is_known_there:
        raise NotSignedOn(Why.TAKEN, name=sign_on.name)
    if not held.is_staff:
        # From here on it is opened by the provider alone. Administrators keep their emergency way in.
        held.set_unusable_password()
        held.save(update_fields=["password"])
        sign_ins.end_all(held)
        revoke_all_tokens(held)
    return held


def _link(user: User, arrival: Identity, *, by: User, how: str) -> ProviderIdentity:
    identity = ProviderIdentity.objects.create(
        user=user, issuer=arrival.issuer, subject=arrival.subject, email=arrival.email
    )
    _tell(AuditKind.SSO_LINKED, user, by=by, issuer=arrival.issuer, how=how)
    return identity


def _identities(arrival: Identity) -> QuerySet[ProviderIdentity]:
    return ProviderIdentity.objects.filter(issuer=arrival.issuer, subject=arrival.subject)


def _tell(kind: AuditKind, user: User, *, by: User | None, **details: str | bool) -> None:
    record(kind, actor=actor_of(by), target=Target("user", str(user.pk), user.email), details=details)
