"""Letters in words, each in the language of its reader. How they leave is known to `hyperagent.lib.outgoing_mails`.

A link that opens a door is made when its letter is sent, and stands in no row: so it is good for as long as the letter
says, however often that was tried.
"""

from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.tokens import default_token_generator
from django.core.mail import EmailMessage
from django.db.models.functions import Now
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.utils.translation import gettext as _

from hyperagent.accounts import exporting, invitations
from hyperagent.accounts.letter_models import Letter, LetterKind
from hyperagent.accounts.models import User
from hyperagent.accounts.people_models import Invitation
from hyperagent.accounts.scopes import UserKind
from hyperagent.lib.languages import speaking
from hyperagent.lib.outgoing_mails import OutgoingMails


class Letters(OutgoingMails[Letter]):
    def message_of(self, mail: Letter) -> EmailMessage | None:
        if mail.invitation is not None:
            return _invitation(mail, mail.invitation)
        assert mail.user is not None
        if not mail.user.is_active or mail.user.kind != UserKind.PERSON:
            return None
        with speaking(mail.user.spoken):
            return _to_person(mail, mail.user)

    def handed_over(self, mail: Letter) -> None:
        # It may have waited for a day or two, and says how long its link is good from when it is read.
        Invitation.objects.filter(letters=mail).update(mailed_at=Now(), ends_at=invitations.end())


outgoing = Letters(Letter.objects)


def _invitation(letter: Letter, invitation: Invitation) -> EmailMessage | None:
    found = Invitation.objects.open().filter(pk=invitation.pk).select_related("invited_by").first()
    if found is None:
        return None
    by = found.invited_by
    with speaking(by.spoken if by else ""):
        context = {"link": invitations.link_of(found), "days": settings.CONFIG.invitation_days, "by": by}
        text = render_to_string("people/invitation_email.txt", context)
        return _message(letter, found.email, _("You are invited to HyperAgent"), text)


def _to_person(letter: Letter, user: User) -> EmailMessage:
    match LetterKind(letter.kind):
        case LetterKind.PASSWORD_RESET:
            subject, template = _("Reset your HyperAgent password"), "accounts/password_reset_email.txt"
            more = {"link": _reset_link(user), "hours": settings.PASSWORD_RESET_TIMEOUT // 3600}
        case LetterKind.SECURITY_NEWS:
            subject, template = (
                _("The security of your HyperAgent account was changed"),
                "accounts/security_news_email.txt",
            )
            more = {"link": _page("settings:security")}
        case LetterKind.EXPORT_READY:
            subject, template = _("Your data is ready"), "accounts/export_ready_email.txt"
            more = {"link": _page("settings:data"), "days": exporting.KEPT.days}
        case LetterKind.INVITATION:
            raise ValueError(f"the letter {letter.pk} invites somebody who has an account")
    return _message(letter, user.email, subject, render_to_string(template, {"user": user, **letter.facts, **more}))


def _message(letter: Letter, to: str, subject: str, text: str) -> EmailMessage:
    """Under an id of its own, by which the same letter is known again."""
    headers = {
        "Message-ID": f"<{letter.pk}@{urlsplit(settings.SITE_URL).hostname}>",
        "Auto-Submitted": "auto-generated",
    }
    return EmailMessage(subject, text, to=[to], headers=headers)


def _reset_link(user: User) -> str:
    """Leads to the configured address, not to whatever host the request claimed."""
    uid = urlsafe_base64_encode(force_bytes(user.pk))
    token = default_token_generator.make_token(user)
    return f"{settings.SITE_URL}{reverse('accounts:password_reset_confirm', kwargs={'uidb64': uid, 'token': token})}"


def _page(name: str) -> str:
    return f"{settings.SITE_URL}{reverse(name)}"
