"""Background jobs of the accounts app. Each takes ids, and finds nothing to do if its row is gone."""

from uuid import UUID

from django.conf import settings
from django.contrib.auth.tokens import default_token_generator
from django.core.mail import send_mail
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.utils.translation import gettext as _

from hyperagent.accounts import attempts, closing, exporting, invitations, people, service_accounts, sign_ins
from hyperagent.accounts.models import User
from hyperagent.accounts.scopes import UserKind
from hyperagent.lib.languages import speaking
from hyperagent.lib.queue import task


@task
def mail_password_reset(user_id: str) -> None:
    """Queued for strangers too, with an id that nobody has. The link leads to the configured address, not to whatever
    host the request claimed."""
    user = User.objects.filter(pk=user_id, is_active=True, kind=UserKind.PERSON).first()
    if user is None:
        return
    uid = urlsafe_base64_encode(force_bytes(user.pk))
    token = default_token_generator.make_token(user)
    path = reverse("accounts:password_reset_confirm", kwargs={"uidb64": uid, "token": token})
    context = {"user": user, "link": f"{settings.SITE_URL}{path}", "hours": settings.PASSWORD_RESET_TIMEOUT // 3600}
    with speaking(user.language):
        send_mail(
            subject=_("Reset your HyperAgent password"),
            message=render_to_string("accounts/password_reset_email.txt", context),
            from_email=None,
            recipient_list=[user.email],
        )


@task
def mail_security_news(user_id: str, what: str, kind: str) -> None:
    """What guards the account was changed, perhaps by somebody who got into it. `what`: as the audit calls it."""
    user = User.objects.filter(pk=user_id, is_active=True, kind=UserKind.PERSON).first()
    if user is None:
        return
    context = {"user": user, "what": what, "kind": kind, "link": f"{settings.SITE_URL}{reverse('settings:security')}"}
    with speaking(user.language):
        send_mail(
            subject=_("The security of your HyperAgent account was changed"),
            message=render_to_string("accounts/security_news_email.txt", context),
            from_email=None,
            recipient_list=[user.email],
        )


@task(every_s=3600)
def prune_attempts() -> None:
    """Forgets tries that no limit looks at any more, and with them addresses that are none of our people's."""
    attempts.prune()


@task(every_s=3600)
def prune_sign_ins() -> None:
    """Forgets where people were signed in whose sessions are over."""
    sign_ins.prune()


@task
def make_export(export_id: str) -> None:
    exporting.make(UUID(export_id))


@task
def erase_account(user_id: str) -> None:
    """Erases what was kept of a person whose account is closed, or goes on with it."""
    closing.erase(UUID(user_id))


@task(every_s=60)
def go_on_with_farewells() -> None:
    """What lost or killed jobs left of exports and closed accounts, and exports whose time is over."""
    exporting.go_on()
    closing.go_on()


@task(every_s=60)
def stop_the_inactive() -> None:
    """Service accounts whose end has come, and what still goes on of people who were deactivated."""
    service_accounts.end_overdue()
    people.sweep()


@task
def mail_invitation(invitation_id: str) -> None:
    invitations.mail(UUID(invitation_id))
