"""Background jobs of the accounts app. Each takes ids, and finds nothing to do if its row is gone."""

from datetime import timedelta
from typing import Final
from uuid import UUID

from django.db.models.functions import Now

from hyperagent.accounts import (
    attempts,
    closing,
    exporting,
    invitations,
    letters,
    mailing,
    people,
    service_accounts,
    sign_ins,
)
from hyperagent.accounts.letter_models import Letter, LetterKind
from hyperagent.accounts.models import User
from hyperagent.accounts.people_models import Invitation
from hyperagent.accounts.scopes import UserKind
from hyperagent.lib.lanes import Lane
from hyperagent.lib.outgoing_mails import WAITING
from hyperagent.lib.queue import task

LETTERS_KEPT: Final = timedelta(days=90)


@task
def mail_password_reset(user_id: str) -> None:
    """Queued for strangers too, with an id that nobody has: only here it is looked whether there is anybody. Somebody
    waits for it, so it does not wait for a second job."""
    user = User.objects.filter(pk=user_id, is_active=True, kind=UserKind.PERSON).first()
    if user is not None:
        letter = Letter.objects.create(kind=LetterKind.PASSWORD_RESET, user=user)
        mailing.outgoing.send_one(letter.pk)


@task
def send_letter(letter_id: str) -> None:
    mailing.outgoing.send_one(UUID(letter_id))


@task(every_s=60)
def sweep_letters() -> None:
    """What the mail server did not take at first, and what a lost job was to send."""
    mailing.outgoing.send_due()


@task(every_s=86_400)
def prune_letters() -> None:
    Letter.objects.filter(created_at__lt=Now() - LETTERS_KEPT).exclude(WAITING).delete()


@task
def mail_security_news(user_id: str, what: str, kind: str) -> None:
    """Asked for by servers of the version before, while an upgrade is under way."""
    user = User.objects.filter(pk=user_id).first()
    if user is not None:
        letters.write(LetterKind.SECURITY_NEWS, user, what=what, kind=kind)


@task(every_s=3600)
def prune_attempts() -> None:
    """Forgets tries that no limit looks at any more, and with them addresses that are none of our people's."""
    attempts.prune()


@task(every_s=3600)
def prune_sign_ins() -> None:
    """Forgets where people were signed in whose sessions are over."""
    sign_ins.prune()


@task(lane=Lane.LONG)
def make_export(export_id: str) -> None:
    exporting.make(UUID(export_id))


@task(lane=Lane.LONG)
def erase_account(user_id: str) -> None:
    """Erases what was kept of a person whose account is closed, or goes on with it."""
    closing.erase(UUID(user_id))


@task(every_s=60)
def go_on_with_exports() -> None:
    """What lost or killed jobs left of exports, and those whose time is over."""
    exporting.go_on()


@task(every_s=60)
def go_on_with_farewells() -> None:
    """What lost or killed jobs left of closed accounts."""
    closing.go_on()


@task(every_s=60)
def stop_the_inactive() -> None:
    """Service accounts whose end has come or whose owner is gone, and what goes on of people who were deactivated."""
    service_accounts.end_overdue()
    people.sweep()


@task
def mail_invitation(invitation_id: str) -> None:
    """Asked for by servers of the version before, while an upgrade is under way."""
    invitation = Invitation.objects.open().filter(pk=invitation_id, mailed_at=None).first()
    if invitation is not None:
        invitations.mail(invitation)
