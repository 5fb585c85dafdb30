"""The end of an account. In one transaction it is nobody's any more: no name, no way in, nothing that goes on. What was
kept of the person is erased after that by the queue, lot by lot, until nothing is left.

The row of the account stays, without a name, so that the audit still tells one person's decisions from another's.
"""

import time
import uuid
from datetime import timedelta
from typing import Final

import structlog
from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import models, transaction
from django.db.models import Q
from django.db.models.functions import Coalesce, Now
from django.utils import timezone
from django.utils.translation import gettext as _

from hyperagent.accounts import sign_ins
from hyperagent.accounts.models import ApiToken, Closing, LoginAttempt, User, email_key
from hyperagent.accounts.people import revoke_invitations_by, shut_programs_of, why_last
from hyperagent.accounts.people_models import Invitation
from hyperagent.accounts.personal import parts
from hyperagent.audit.kinds import AuditKind
from hyperagent.audit.recording import Actor, Target, record
from hyperagent.lib import queue
from hyperagent.lib.refusals import Conflict, NotAllowed

log = structlog.get_logger(__name__)

ERASE: Final = "hyperagent.accounts.tasks.erase_account"
# The queue ends a job after 300 s: it stops by itself before, and the next one goes on.
WORK_S: Final = 200.0
LEASE: Final = timedelta(seconds=400)
# Runs that were cancelled end within seconds; they are looked at again.
LOOK_AGAIN: Final = timedelta(seconds=20)


def pseudonym(user_id: uuid.UUID) -> str:
    """What stands where a name was: the same everywhere, and leading back to nobody."""
    return f"deleted user {user_id.hex[:4]}"


def why_not(user: User) -> str | None:
    """Why this account cannot be closed, a sentence for people; None if it can."""
    return why_last(user)


def close(user: User, *, by: User) -> None:
    """Twice is as once. Whether they may is asked with the rows locked: whoever lost the right a moment ago may not.

    Raises NotAllowed for what only an administrator may, and Conflict for the last of them.
    """
    with transaction.atomic():
        # All administrators' rows, in one order: of the last two that leave at the same instant, one stays.
        wanted = Q(pk__in=(user.pk, by.pk)) | Q(is_staff=True) | Q(is_superuser=True)
        # No key: what refers to these rows is written all the while, by drivers that hold runs which are wanted here.
        locked = {row.pk: row for row in User.objects.select_for_update(no_key=True).filter(wanted).order_by("pk")}
        user = locked.get(user.pk) or user
        if user.deleted_at is not None:
            return
        if not _may_close(user, locked.get(by.pk)):
            raise NotAllowed("not_yours", _("Only an administrator may delete somebody else's account."))
        if reason := why_not(user):
            raise Conflict("last_administrator", reason)
        for part in reversed(parts()):
            part.suspend(user.pk)
            part.stop(user.pk)
        shut_programs_of(by, user)
        revoke_invitations_by(user)
        # By nobody's name any more; what was written before is forgotten with the rest.
        who = Actor(by.pk, pseudonym(by.pk) if by.pk == user.pk else by.email)
        record(AuditKind.USER_DELETED, actor=who, target=Target("user", str(user.pk), pseudonym(user.pk)))
        _forget_the_name(user)
        Closing.objects.create(user=user, asked_by=by)
        queue.enqueue(ERASE, user.pk)
    log.info("account.closed", user=str(user.pk), by=str(by.pk))


def _may_close(user: User, by: User | None) -> bool:
    if by is None or not by.is_active:
        return False
    return by.pk == user.pk or (by.is_staff and (by.is_superuser or not user.is_superuser))


def erase(user_id: uuid.UUID, *, work_s: float = WORK_S) -> None:
    """Goes on where the one before was stopped. Nothing for an account that somebody is just erasing."""
    if not _taken(user_id):
        return
    if any(part.is_going(user_id) for part in parts()):
        _leave(user_id, problem="Runs that were cancelled have not ended yet.", again=LOOK_AGAIN)
        return
    until = time.monotonic() + work_s
    # Those above first: they stand on what is below.
    for part in reversed(parts()):
        while part.erase(user_id):
            if time.monotonic() > until:
                _leave(user_id, problem="", again=timedelta())
                queue.enqueue(ERASE, user_id)
                return
    Closing.objects.filter(pk=user_id).update(done_at=Now(), lease_until=None, problem="")
    log.info("account.erased", user=str(user_id))


def go_on() -> None:
    """Asks again for those whose job was lost, was killed, or had to wait."""
    for user_id in _due().values_list("pk", flat=True):
        queue.enqueue(ERASE, user_id)


def _due() -> models.QuerySet[Closing]:
    free = Q(lease_until=None) | Q(lease_until__lt=Now())
    return Closing.objects.filter(free, done_at=None)


def _taken(user_id: uuid.UUID) -> bool:
    return bool(_due().filter(pk=user_id).update(lease_until=Now() + LEASE))


def _leave(user_id: uuid.UUID, *, problem: str, again: timedelta) -> None:
    Closing.objects.filter(pk=user_id, done_at=None).update(lease_until=Now() + again, problem=problem)


def _forget_the_name(user: User) -> None:
    """From here on nobody can sign in as this account, and nothing says whose it was. Its rows are locked."""
    name, email = pseudonym(user.pk), user.email
    sign_ins.end_all(user)
    ApiToken.objects.owned_by(user).filter(revoked_at=None).update(revoked_at=Now())
    LoginAttempt.objects.filter(subject=email_key(email)[:254]).delete()
    user.groups.clear()
    user.user_permissions.clear()
    user.email = f"deleted-{user.pk}@deleted.invalid"
    # They go once the audit log does not call them by the address any more.
    came_by = Invitation.objects.filter(Q(accepted_by=user) | Q(email__iexact=email))
    came_by.update(email=user.email, revoked_at=Coalesce("revoked_at", Now()))
    user.display_name = name
    user.is_active = user.is_staff = user.is_superuser = False
    user.time_zone = user.language = user.read_in = ""
    user.last_login = None
    user.deleted_at = timezone.now()
    user.set_unusable_password()
    user.save()
    # What administrators did with the account names it.
    mentions = LogEntry.objects.filter(content_type=ContentType.objects.get_for_model(User), object_id=str(user.pk))
    mentions.update(object_repr=name)
