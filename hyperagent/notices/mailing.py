"""Sending mails: takes what is due, writes it in words, and hands it to the mail server of EMAIL_URL.

Without a mail server (EMAIL_URL is consolemail://) it stands in the log, and is not said to be sent.

A mail is sent once. Only where the process dies between the server's yes and our note of it, it is sent again under the
same Message-ID. Its link holds no secret: it leads to a page that asks for a login, and opening it decides nothing.
"""

import logging
import time
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.db import connection, transaction
from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from hyperagent.accounts.invitations import mails_leave
from hyperagent.lib.languages import speaking
from hyperagent.lib.told import amounts_in_our_words, in_our_words
from hyperagent.notices.actions import link_to
from hyperagent.notices.kinds import MAIL_PAUSES_S, MailKind, pause_after
from hyperagent.notices.models import HEAD_CHARS, Mail
from hyperagent.notices.words import one_line

log = logging.getLogger(__name__)

LEASE_S = 120
NO_SERVER = "It stands in the log only: EMAIL_URL names no mail server."
SWEEP_S = 40.0
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


def send_one(mail_id: UUID) -> None:
    """If it is due; else nothing."""
    _send_next(only=mail_id)


def send_due() -> int:
    """Whatever is due, one after the other, for up to SWEEP_S. Returns how many were tried."""
    began_s, tries = time.monotonic(), 0
    while time.monotonic() - began_s < SWEEP_S and _send_next():
        tries += 1
    return tries


def message_of(mail: Mail) -> EmailMultiAlternatives:
    """The mail in words, in the language of whom it goes to: plain text, and the same in simple HTML."""
    with speaking(mail.user.language):
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
        "facts": [(_(label), amounts_in_our_words(value)) for label, value in mail.facts],
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


def _send_next(*, only: UUID | None = None) -> bool:
    """Takes one that is due and sends it. False if there is none."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_TAKE, {"only": only, "lease": LEASE_S})
        row = cursor.fetchone()
    if row is None:
        return False
    mail = Mail.objects.select_related("user").get(pk=row[0])
    try:
        message_of(mail).send()
    except (OSError, ValueError) as error:  # what the mail server says (SMTPException is an OSError), or a bad address
        _failed(mail, error)
    else:
        _handed_over(mail)
    return True


def _handed_over(mail: Mail) -> None:
    if mails_leave():
        _execute(_SENT, {"id": mail.pk})
    else:
        _execute(_GIVEN_UP, {"id": mail.pk, "error": NO_SERVER})


def _failed(mail: Mail, error: Exception) -> None:
    pause_s = pause_after(mail.attempts, MAIL_PAUSES_S)
    log.warning("the mail %s was not taken (try %d): %s", mail.pk, mail.attempts, error)
    values = {"id": mail.pk, "error": one_line(str(error), HEAD_CHARS), "pause": pause_s}
    _execute(_GIVEN_UP if pause_s is None else _AGAIN, values)


def _execute(sql: str, values: dict[str, Any]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)


# Whoever became inactive meanwhile is not written to.
_TAKE = """
WITH due AS (
    SELECT m.id FROM notices_mail m JOIN accounts_user u ON u.id = m.user_id AND u.is_active
    WHERE m.sent_at IS NULL AND m.given_up_at IS NULL AND m.next_attempt_at <= clock_timestamp()
      AND (%(only)s::uuid IS NULL OR m.id = %(only)s)
    ORDER BY m.next_attempt_at LIMIT 1
    FOR UPDATE OF m SKIP LOCKED
)
UPDATE notices_mail m
SET attempts = m.attempts + 1, next_attempt_at = clock_timestamp() + %(lease)s * interval '1 second'
FROM due WHERE m.id = due.id
RETURNING m.id
"""

_SENT = "UPDATE notices_mail SET sent_at = clock_timestamp(), last_error = '' WHERE id = %(id)s"

_AGAIN = """
UPDATE notices_mail SET last_error = %(error)s, next_attempt_at = clock_timestamp() + %(pause)s * interval '1 second'
WHERE id = %(id)s
"""

_GIVEN_UP = "UPDATE notices_mail SET last_error = %(error)s, given_up_at = clock_timestamp() WHERE id = %(id)s"
