"""Asking people to come: an address, the roles and groups that wait for them, and a link that opens the door once.

The link is signed, not kept: it holds the invitation's id and how often it was sent, so only the last one is good. A
link that is over, used, revoked, changed or never was is answered by the same words.
"""

import uuid
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.contrib.sessions.backends.base import SessionBase
from django.core import signing
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Lower, Now
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from hyperagent.accounts import letters, people
from hyperagent.accounts.actions import new_person
from hyperagent.accounts.addresses import LOOKS_LIKE_ANOTHER, looks_like_another
from hyperagent.accounts.models import User, email_key
from hyperagent.accounts.people_models import Invitation, InvitationState
from hyperagent.accounts.scopes import Role, UserKind
from hyperagent.audit.kinds import AuditKind
from hyperagent.audit.recording import JSON, Target, actor_of, record
from hyperagent.lib.outgoing_mails import mails_leave
from hyperagent.lib.refusals import Conflict, NotAllowed, NotThere, Refused

_SALT: Final = "hyperagent.accounts.invitations"
_KEY: Final = "invitation"
"""Where a browser's session keeps which invitation it has opened."""


def invite(by: User | None, email: str, *, roles: Collection[str] = (), group_ids: Collection[int] = ()) -> Invitation:
    """Raises Refused with every fault at its field; Conflict where there is an account, or an open invitation."""
    email = User.objects.normalize_email(email.strip())
    faults = _faults(email, roles)
    groups = {group.pk: group for group in people.plain_groups().filter(pk__in=list(group_ids))}
    if unknown := set(group_ids) - groups.keys():
        faults["groups"] = [_("There is no group {group_id}.").format(group_id=min(unknown))]
    if faults:
        raise Refused.of(faults)
    with transaction.atomic():
        if by is not None:
            people.hold(by, by.pk)
        _check_free(email)
        held = [role.value for role in Role if role in set(roles) and role is not Role.USER]
        made = Invitation.objects.create(email=email, roles=held, invited_by=by, ends_at=end())
        made.groups.set(groups.values())
        _tell(AuditKind.USER_INVITED, by, made, roles=held, groups=sorted(groups))
        mail(made)
    return made


def send_again(by: User | None, invitation_id: uuid.UUID) -> Invitation:
    """Under a new link and with a new end; the link before it is over. Raises NotAllowed."""
    with transaction.atomic():
        if by is not None:
            people.hold(by, by.pk)
        found = _unanswered(invitation_id)
        Invitation.objects.filter(pk=found.pk).update(number=F("number") + 1, ends_at=end(), mailed_at=None)
        found.refresh_from_db()
        _tell(AuditKind.USER_INVITED, by, found, number=found.number)
        mail(found)
    return found


def revoke(by: User | None, invitation_id: uuid.UUID) -> Invitation:
    """Its link is over. Twice is as once; NotAllowed, and Conflict for one that was accepted."""
    with transaction.atomic():
        if by is not None:
            people.hold(by, by.pk)
        found = Invitation.objects.select_for_update().filter(pk=invitation_id).first()
        if found is None:
            raise NotThere
        if found.state is InvitationState.ACCEPTED:
            raise _over()
        if found.revoked_at is None:
            found.revoked_at = timezone.now()
            found.save(update_fields=["revoked_at"])
            _tell(AuditKind.INVITATION_REVOKED, by, found)
    return found


def link_of(invitation: Invitation) -> str:
    """The full address. Whoever has it can accept: it is for the one whom it is sent to."""
    word = signing.Signer(salt=_SALT).sign_object([invitation.pk.hex, invitation.number])
    return f"{settings.SITE_URL}{reverse('accounts:invited', kwargs={'word': word})}"


def link_to_give(invitation: Invitation) -> str:
    """The link of one that is open, for whoever invites to hand it over themselves; empty where a mail brings it. Reads
    all of its letters."""
    is_brought = mails_leave() and not invitation.is_unmailed
    return "" if is_brought or invitation.state is not InvitationState.OPEN else link_of(invitation)


def mail(invitation: Invitation) -> None:
    """With the caller's transaction. Where no mails leave, the link is shown to be copied, and stands in no log."""
    if mails_leave():
        letters.invite(invitation)


# ── At the door ───────────────────────────────────────────────────────────────────────────────────────────────────────


def of_link(word: str) -> Invitation | None:
    """The invitation to which this link leads, if it opens the door at this moment."""
    try:
        id_, number = signing.Signer(salt=_SALT).unsign_object(word)
        return Invitation.objects.open().filter(pk=uuid.UUID(id_), number=number).first()
    except (signing.BadSignature, ValueError, TypeError):
        return None


def open_for(email: str) -> Invitation | None:
    """What waits for whoever has proved, at the provider of single sign-on say, to have this address."""
    return Invitation.objects.open().alias(key=Lower("email")).filter(key=email_key(email)).first()


def remember(session: SessionBase, invitation: Invitation) -> None:
    """From here on the address of no page holds the link. Outlives signing in."""
    session[_KEY] = [invitation.pk.hex, invitation.number]


def remembered(session: SessionBase) -> Invitation | None:
    """The invitation that was opened in this browser, if it still opens the door."""
    kept = session.get(_KEY)
    if not kept:
        return None
    return Invitation.objects.open().filter(pk=uuid.UUID(kept[0]), number=kept[1]).first()


def was_accepted(session: SessionBase, user: User) -> bool:
    """Whether the invitation that was opened in this browser is one that this person has accepted: whoever comes by the
    provider of single sign-on has done so by coming."""
    kept = session.get(_KEY)
    if not kept:
        return False
    return Invitation.objects.filter(pk=uuid.UUID(kept[0]), accepted_by=user).exists()


def forget(session: SessionBase) -> None:
    session.pop(_KEY, None)


def accept(invitation: Invitation, user: User) -> None:
    """Gives a person who has proved to have this address what waits for them. Once.

    Raises NotAllowed for another address than the one that was invited, and Conflict for an invitation that is over.
    """
    with transaction.atomic():
        # Before the look at what they hold, and before the invitation, as whoever sends one again or revokes it does.
        now = people.hold(None, user.pk).user
        found = Invitation.objects.open().select_for_update().filter(pk=invitation.pk, number=invitation.number).first()
        if found is None:
            raise _over()
        if now.is_service or email_key(found.email) != email_key(now.email):
            raise NotAllowed("another_address", _("This invitation is for another e-mail address."))
        people.set_roles(None, user.pk, [*now.roles(), *(Role(role) for role in found.roles)])
        groups = {*people.plain_groups().filter(user=user), *found.groups.all()}
        people.set_groups(None, user.pk, [group.pk for group in groups])
        found.accepted_at, found.accepted_by = timezone.now(), user
        found.save(update_fields=["accepted_at", "accepted_by"])
        _tell(AuditKind.INVITATION_ACCEPTED, user, found)
    user.refresh_from_db()


def accept_as_new(invitation: Invitation, password: str, *, display_name: str = "", time_zone: str = "") -> User:
    """Makes the account of whoever was invited; registration need not be open for that. Raises a `ValidationError` by
    field, or Conflict."""
    with transaction.atomic():
        user = new_person(invitation.email, password, display_name=display_name, time_zone=time_zone)
        record(
            AuditKind.USER_CREATED,
            actor=actor_of(user),
            target=Target("user", str(user.pk), user.email),
            details={"invitation": str(invitation.pk)},
        )
        accept(invitation, user)
    return user


def _faults(email: str, roles: Collection[str]) -> dict[str, list[str]]:
    faults: dict[str, list[str]] = {}
    try:
        validate_email(email)
    except ValidationError:
        faults["email"] = [_("Enter an e-mail address.")]
    if looks_like_another(email):
        faults["email"] = [str(LOOKS_LIKE_ANOTHER)]
    if wrong := [role for role in roles if role not in set(Role)]:
        said = _("'{name}' is not a role; use one or more of {known}.")
        faults["roles"] = [said.format(name=wrong[0][:40], known=", ".join(Role))]
    return faults


def _check_free(email: str) -> None:
    if User.objects.with_email(email).filter(kind=UserKind.PERSON).exists():
        raise Conflict("has_account", _("Somebody with this e-mail address has an account already."))
    others = Invitation.objects.alias(key=Lower("email")).filter(key=email_key(email))
    # Those whose time is over make room.
    others.unanswered().filter(ends_at__lte=Now()).update(revoked_at=Now())
    if others.unanswered().exists():
        raise Conflict(
            "invited_already", _("There is an open invitation for this address. Send it again, or revoke it.")
        )


def _unanswered(invitation_id: uuid.UUID) -> Invitation:
    found = Invitation.objects.select_for_update().filter(pk=invitation_id).first()
    if found is None:
        raise NotThere
    if found.state in (InvitationState.ACCEPTED, InvitationState.REVOKED):
        raise _over()
    return found


def end() -> datetime:
    """Of a link that is sent now."""
    return timezone.now() + timedelta(days=settings.CONFIG.invitation_days)


def _over() -> Conflict:
    return Conflict("invitation_over", _("This invitation is over: it was used, revoked, or its time has passed."))


def _tell(kind: AuditKind, by: User | None, invitation: Invitation, **details: JSON) -> None:
    target = Target("invitation", str(invitation.pk), invitation.email)
    record(kind, actor=actor_of(by), target=target, details=details)
