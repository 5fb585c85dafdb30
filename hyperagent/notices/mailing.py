"""Mails in words. How they leave is known to `hyperagent.lib.outgoing_mails`.

A mail is sent once. Only where the process dies between the server's yes and our note of it, it is sent again under the
same Message-ID. Its link holds no secret: it leads to a page that asks for a login, and opening it decides nothing.
"""

from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import EmailMessage, EmailMultiAlternatives
from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from hyperagent.lib.languages import speaking
from hyperagent.lib.outgoing_mails import OutgoingMails
from hyperagent.lib.stored_faults import fault_in_our_words
from hyperagent.lib.stored_sentences import amounts_in_our_words, in_our_words
from hyperagent.lib.tool_labels import tool_label
from hyperagent.notices.actions import link_to
from hyperagent.notices.kinds import MailKind
from hyperagent.notices.matters import concerns_still
from hyperagent.notices.models import Mail
from hyperagent.notices.words import one_line

TOOL, WHY, STATE = "Tool", "Why", "State"
PREFERENCES_PATH = "/settings/notifications/"
HEADINGS = {
    MailKind.REQUEST_WAITING: gettext_noop("A request waits for your decision"),
    MailKind.REQUEST_REMINDER: gettext_noop("A request still waits for an answer"),
    MailKind.REQUEST_TIMED_OUT: gettext_noop("A request ended without an answer"),
    MailKind.WEBHOOK_DISABLED: gettext_noop("A webhook was switched off"),
    MailKind.BUDGET_THRESHOLD: gettext_noop("A budget comes to its end"),
    MailKind.SCHEDULE_FAILED: gettext_noop("A schedule does not work"),
}
BUTTONS = {
    MailKind.REQUEST_WAITING: gettext_noop("Look at it and decide"),
    MailKind.REQUEST_REMINDER: gettext_noop("Look at it and decide"),
    MailKind.REQUEST_TIMED_OUT: gettext_noop("Look at it"),
    MailKind.WEBHOOK_DISABLED: gettext_noop("Look at the webhook"),
    MailKind.BUDGET_THRESHOLD: gettext_noop("Look at the budgets"),
    MailKind.SCHEDULE_FAILED: gettext_noop("Look at the schedule"),
}


def message_of(mail: Mail) -> EmailMultiAlternatives:
    """The mail in words, in the language of whom it goes to: plain text, and the same in simple HTML."""
    with speaking(mail.user.spoken):
        return _message_of(mail)


def _message_of(mail: Mail) -> EmailMultiAlternatives:
    kind = MailKind(mail.kind)
    heading = _(HEADINGS[kind])
    # Among the questions are sentences of ours; a model's own text has no translation and stays.
    title = in_our_words(mail.title)
    context = {
        "heading": heading,
        "button": _(BUTTONS[kind]),
        "title": title,
        "facts": [(_(label), _in_words(label, value)) for label, value in mail.facts],
        "link": link_to(mail.path),
        "preferences": link_to(PREFERENCES_PATH),
    }
    host = urlsplit(settings.SITE_URL).hostname
    message = EmailMultiAlternatives(
        subject=one_line(f"{heading}: {title}" if title else heading, 160),
        body=render_to_string("notices/mail.txt", context),
        to=[mail.user.email],
        headers={
            "Message-ID": f"<{mail.pk}@{host}>",
            "Auto-Submitted": "auto-generated",
            "List-Unsubscribe": f"<{link_to(PREFERENCES_PATH)}>",
        },
    )
    message.attach_alternative(render_to_string("notices/mail.html", context), "text/html")
    return message


def _in_words(label: str, value: str) -> str:
    """A fact as people say it: tools are written as models call them, why a run failed in sentences of ours."""
    if label == TOOL:
        return ", ".join(tool_label(name) for name in value.split(", "))
    if label == STATE:
        return _(value)
    if label == WHY:
        return in_our_words(fault_in_our_words(value))
    return amounts_in_our_words(value)


class Mails(OutgoingMails[Mail]):
    def message_of(self, mail: Mail) -> EmailMessage | None:
        # Whoever became inactive meanwhile is not written to, nor who has nothing to do with it any more.
        is_wanted = mail.user.is_active and concerns_still(mail.user_id, MailKind(mail.kind), mail.subject_id)
        return message_of(mail) if is_wanted else None


outgoing = Mails(Mail.objects)
