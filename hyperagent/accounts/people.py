"""What administrators do with people: roles, groups, deactivation, activation. Pages, endpoints, admin and commands
call these verbs; by whatever door somebody is deactivated, what they have going stops.

`by` is the administrator; None: the house itself, or whoever may run its commands.
"""

import uuid
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import structlog
from django.contrib.auth.models import Group
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _

from hyperagent.accounts import sign_ins
from hyperagent.accounts.models import ApiToken, User
from hyperagent.accounts.people_models import Invitation
from hyperagent.accounts.personal import parts
from hyperagent.accounts.scopes import GROUP_ROLES, Role, UserKind
from hyperagent.audit.kinds import AuditKind
from hyperagent.audit.recording import JSON, Target, actor_of, record
from hyperagent.lib.refusals import Conflict, NotAllowed, NotThere, Refused

log = structlog.get_logger(__name__)

SWEPT_AT_ONCE: Final = 100


@dataclass(frozen=True, slots=True)
class Locked:
    """A person and whoever changes them, with the rows of all administrators held until the transaction ends."""

    user: User
    by: User | None


@dataclass(frozen=True, slots=True)
class Ticks:
    """Of a list of which some were ticked when it was shown, and others when it was sent."""

    shown: frozenset[Any]
    sent: frozenset[Any]

    def turned(self, held: Collection[Any]) -> frozenset[Any]:
        """What is held now, with what was ticked and without what was unticked: what others changed meanwhile stays."""
        return (frozenset(held) | (self.sent - self.shown)) - (self.shown - self.sent)


def set_roles(by: User | None, user_id: uuid.UUID, roles: Collection[Role]) -> User:
    """Makes these the roles of a person; `user` is everybody's and changes nothing. Raises Refused."""
    wanted = {Role(role) for role in roles} | {Role.USER}
    with transaction.atomic():
        locked = hold(by, user_id)
        user = locked.user
        held = set(user.roles())
        if wanted == held:
            return user
        _check_role_change(locked, held, wanted)
        if Role.ADMINISTRATOR in held ^ wanted:
            user.is_staff = Role.ADMINISTRATOR in wanted
            user.is_superuser = user.is_superuser and user.is_staff
            user.save(update_fields=["is_staff", "is_superuser"])
            if not user.is_staff:
                revoke_invitations_by(user)
        for role in GROUP_ROLES:
            if role in wanted - held:
                user.groups.add(Group.objects.get_or_create(name=role.value)[0])
            elif role in held - wanted:
                user.groups.remove(*Group.objects.filter(name=role.value))
        tell_of_roles(by, user, held)
    return user


def set_groups(by: User | None, user_id: uuid.UUID, group_ids: Collection[int]) -> User:
    """Makes these the groups of a person, roles apart. Raises Refused for a group that is not there."""
    with transaction.atomic():
        user = hold(by, user_id).user
        wanted = {group.pk: group for group in plain_groups().filter(pk__in=list(group_ids))}
        if unknown := set(group_ids) - wanted.keys():
            said = _("There is no group {group_id}.").format(group_id=min(unknown))
            raise Refused.at("groups", said, code="unknown_group")
        held = {group.pk: group for group in plain_groups().filter(user=user)}
        user.groups.remove(*(held.keys() - wanted.keys()))
        user.groups.add(*(wanted.keys() - held.keys()))
        for pk in sorted(wanted.keys() - held.keys()):
            tell(AuditKind.GROUP_CHANGED, by, user, group=pk, change="added")
        for pk in sorted(held.keys() - wanted.keys()):
            tell(AuditKind.GROUP_CHANGED, by, user, group=pk, change="removed")
    return user


def set_both(
    by: User | None, user_id: uuid.UUID, *, roles: Collection[Role] | None, group_ids: Collection[int] | None
) -> None:
    """Roles and groups together, both or nothing; what is None stays as it is."""
    with transaction.atomic():
        if group_ids is not None:
            set_groups(by, user_id, group_ids)
        if roles is not None:
            set_roles(by, user_id, roles)


def turn(by: User | None, user_id: uuid.UUID, *, roles: Ticks, group_ids: Ticks) -> None:
    """`set_both` for who looked at them a while ago and turned some."""
    with transaction.atomic():
        user = hold(by, user_id).user
        held = plain_groups().filter(user=user).values_list("pk", flat=True)
        set_both(by, user_id, roles=roles.turned(user.roles()), group_ids=group_ids.turned(held))


def set_all_rights(by: User | None, user_id: uuid.UUID, has_them: bool) -> User:
    """Gives an administrator all rights, or takes them: whoever has them can set anybody's password, and so sign in as
    anybody. Twice is as once.

    Raises NotThere; NotAllowed for whoever has not got them; Conflict for who is no administrator, and for the last.
    """
    with transaction.atomic():
        locked = hold(by, user_id)
        user = locked.user
        if locked.by is not None and not locked.by.is_superuser:
            raise NotAllowed("not_yours", _("Only an administrator with all rights may give or take them."))
        if user.is_superuser == has_them:
            return user
        if has_them and not (user.is_staff and user.is_active):
            raise Conflict("no_administrator", _("Only an active administrator can have all rights."))
        if not has_them and (reason := why_last(user)):
            raise Conflict("last_administrator", reason)
        user.is_superuser = has_them
        user.save(update_fields=["is_superuser"])
        tell(AuditKind.ROLE_GIVEN if has_them else AuditKind.ROLE_TAKEN, by, user, role="all rights")
    return user


def deactivate(by: User | None, user_id: uuid.UUID) -> User:
    """From the commit on no session, token or socket of theirs opens anything and nothing begins in their name; what
    goes on is stopped right after it. The same for service accounts that they answer for. Twice is as once.

    Raises NotThere; NotAllowed; Conflict for oneself and for the last administrator.
    """
    with transaction.atomic():
        locked = hold(by, user_id)
        user = locked.user
        if not user.is_active:
            return user
        if by is not None and by.pk == user.pk:
            raise Conflict("yourself", _("You cannot deactivate yourself. Ask another administrator to do it."))
        if reason := why_last(user):
            raise Conflict("last_administrator", reason)
        _shut(by, user)
        shut_programs_of(by, user)
    return user


def activate(by: User | None, user_id: uuid.UUID) -> User:
    """They may sign in again. Their tokens are gone for good, and what was stopped or paused stays so until they start
    it themselves. Twice is as once."""
    with transaction.atomic():
        user = hold(by, user_id).user
        if user.is_active:
            return user
        _check_program_can_live(user)
        user.is_active = True
        user.save(update_fields=["is_active"])
        tell(AuditKind.USER_ACTIVATED, by, user)
    return user


def shut_programs_of(by: User | None, owner: User) -> None:
    """Deactivates the service accounts for which nobody answers any more. Within the caller's transaction."""
    for program in User.objects.filter(service_account__owner=owner, is_active=True).order_by("pk"):
        _shut(by, program, because="owner")


def suspend(user_id: uuid.UUID) -> None:
    """Stops what goes on of somebody who is deactivated, part by part, those above first. Twice is as once.

    Each part for itself, and outside of the transaction that locked the account: a run that is being written to wants
    the same rows in another order.
    """
    for part in reversed(parts()):
        with transaction.atomic():
            part.suspend(user_id)


def sweep() -> None:
    """Stops what is left of people who were deactivated by no verb of ours, or by a process that died in between."""
    inactive = User.objects.filter(is_active=False, closing=None).order_by("pk").values_list("pk", flat=True)
    ids = list(inactive)
    for start in range(0, len(ids), SWEPT_AT_ONCE):
        some = ids[start : start + SWEPT_AT_ONCE]
        going = {user_id for part in parts() for user_id in part.going(some)}
        for user_id in going:
            log.warning("account.still_going", user=str(user_id))
            suspend(user_id)


def why_last(user: User) -> str | None:
    """Why this person has to stay an administrator, a sentence for people; None if they need not."""
    others = User.objects.filter(is_active=True, kind=UserKind.PERSON).exclude(pk=user.pk)
    is_last = user.is_staff and not user.is_service and not others.filter(is_staff=True).exists()
    if is_last:
        return _("This is the last administrator. Make somebody else one first.")
    if user.is_superuser and not others.filter(is_superuser=True).exists():
        return _("This is the last administrator with all rights. Give them to another administrator first.")
    return None


def plain_groups() -> QuerySet[Group]:
    """Without those that are roles."""
    return Group.objects.exclude(name__in=[role.value for role in GROUP_ROLES])


def revoke_invitations_by(user: User) -> None:
    """What an administrator promised does not outlive their right: else they could come back by it."""
    Invitation.objects.unanswered().filter(invited_by=user).update(revoked_at=Now())


def tell_of_roles(by: User | None, user: User, before: Collection[Role]) -> None:
    held, had = set(user.roles()), set(before)
    for kind, changed in ((AuditKind.ROLE_GIVEN, held - had), (AuditKind.ROLE_TAKEN, had - held)):
        for role in sorted(changed):
            tell(kind, by, user, role=role.value)


def tell(kind: AuditKind, by: User | None, user: User, **details: JSON) -> None:
    """Into the audit, marked where it is about a program."""
    marked = {**details, "account": user.kind} if user.is_service else details
    record(kind, actor=actor_of(by), target=Target("user", str(user.pk), user.email), details=marked)


def hold(by: User | None, user_id: uuid.UUID, *others: uuid.UUID) -> Locked:
    """The person's row, its administrator's and those of all administrators, locked in one order: of the last two that
    take each other's right at the same instant, one stays. Within the caller's transaction. `others`: who is held next,
    and has to be by the same statement, for each after another would be in no order.

    Raises NotThere for who is not there any more, and NotAllowed for who may not change them.
    """
    wanted = Q(pk__in=[user_id, *others, *([by.pk] if by else [])]) | Q(is_staff=True) | Q(is_superuser=True)
    # No key: what refers to these rows is written all the while.
    rows = {row.pk: row for row in User.objects.select_for_update(no_key=True).filter(wanted).order_by("pk")}
    user = rows.get(user_id)
    if user is None or user.deleted_at is not None:
        raise NotThere
    if by is None:
        return Locked(user, None)
    now = rows.get(by.pk)
    if now is None or not now.is_active or not now.is_staff:
        raise NotAllowed("not_yours", _("Only an administrator may do this."))
    if user.is_superuser and not now.is_superuser:
        raise NotAllowed("not_yours", _("Only an administrator with all rights may change this account."))
    return Locked(user, now)


def _check_role_change(locked: Locked, held: set[Role], wanted: set[Role]) -> None:
    user = locked.user
    if Role.ADMINISTRATOR in held - wanted and user.is_active and (reason := why_last(user)):
        raise Conflict("last_administrator", reason)
    if user.is_service:
        raise Refused("no_roles", _("A service account has scopes in place of roles. Change those."))


def _check_program_can_live(user: User) -> None:
    if not user.is_service:
        return
    program = user.service_account
    if program.ends_at <= timezone.now():
        raise Conflict("ended", _("This service account has ended. Give it a later end date first."))
    if program.owner is None or not program.owner.is_active:
        raise Conflict("no_owner", _("Whoever answers for this service account is not active. Name another one first."))


def _shut(by: User | None, user: User, **details: JSON) -> None:
    """Its row is locked, or nobody else's to change."""
    user.is_active = False
    user.save(update_fields=["is_active"])
    ApiToken.objects.owned_by(user).filter(revoked_at=None).update(revoked_at=Now())
    sign_ins.end_all(user)
    revoke_invitations_by(user)
    tell(AuditKind.USER_DEACTIVATED, by, user, **details)
    log.info("account.deactivated", user=str(user.pk), by=str(by.pk) if by else "")
    transaction.on_commit(partial(suspend, user.pk))
