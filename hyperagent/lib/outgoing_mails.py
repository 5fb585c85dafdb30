"""Mails of the product's own: rows that wait until the mail server of EMAIL_URL takes them. What they say, and to whom,
is not known here.

The row is the truth, a job that names it a hint: what a lost job was to send is found by the next sweep. A try is
counted before it begins, so a mail whose tries never come to an end is put aside like one that is refused. Without a
mail server (EMAIL_URL is consolemail://) a mail stands in the log, and is not said to be sent.
"""

import uuid
from abc import ABC, abstractmethod
from datetime import timedelta
from time import monotonic
from typing import Any, Final, Generic, TypeVar

import structlog
from django.conf import settings
from django.core.mail import EmailMessage
from django.db import models, transaction
from django.db.models import F, Q
from django.db.models.functions import Now

from hyperagent.lib.clipping import one_line
from hyperagent.lib.smtp_backend import said_by
from hyperagent.lib.text import clean_text

log = structlog.get_logger(__name__)

PAUSES_S: Final = (60, 300, 1_800, 7_200, 21_600, 43_200, 86_400)
"""Between the tries of one mail; after the last, which is nearly two days later, it is given up."""
LEASE_S: Final = 120
SWEEP_S: Final = 40.0
ERROR_CHARS: Final = 500
NO_SERVER: Final = "It stands in the log only: EMAIL_URL names no mail server."
NOT_WANTED: Final = "Nobody waits for it any more."
NEVER_ENDED: Final = "None of its tries came to an end."


def mails_leave() -> bool:
    """Whether mails go anywhere: without EMAIL_URL they stand in the log."""
    return not settings.CONFIG.email_url.get_secret_value().startswith("consolemail")


class Outgoing(models.Model):
    """A mail that waits, and what came of it. Whoever derives a table indexes `next_attempt_at` of those that are
    `WAITING`."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    attempts = models.PositiveSmallIntegerField(default=0)
    next_attempt_at = models.DateTimeField(db_default=Now())
    last_error = models.CharField(max_length=ERROR_CHARS, blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    sent_at = models.DateTimeField(null=True, blank=True)
    given_up_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True


WAITING: Final = Q(sent_at__isnull=True, given_up_at__isnull=True)
Row = TypeVar("Row", bound=Outgoing)


class OutgoingMails(ABC, Generic[Row]):
    """The mails of one table."""

    def __init__(self, rows: "models.Manager[Row]") -> None:
        self._rows = rows

    @abstractmethod
    def message_of(self, mail: Row) -> EmailMessage | None:
        """In words. None where nobody waits for it any more."""

    def handed_over(self, mail: Row) -> None:
        """The mail server has taken it."""

    def send_one(self, mail_id: uuid.UUID) -> None:
        """If it is due; else nothing."""
        self._send_next(Q(pk=mail_id))

    def send_due(self) -> int:
        """Whatever is due, one after the other, for up to SWEEP_S. Returns how many were tried."""
        began_s, tries = monotonic(), 0
        while monotonic() - began_s < SWEEP_S and self._send_next(Q()):
            tries += 1
        return tries

    def _send_next(self, which: Q) -> bool:
        """Takes one of these that is due, and sends it. False if there is none."""
        mail = self._taken(which)
        if mail is None:
            return False
        if mail.attempts > len(PAUSES_S) + 1:
            self._give_up(mail, mail.last_error or NEVER_ENDED)
            return True
        try:
            message = self.message_of(mail)
            if message is None:
                self._give_up(mail, NOT_WANTED)
                return True
            message.send()
        except (OSError, ValueError) as error:  # of the mail server (SMTPException is an OSError), or a bad address
            log.warning("mail.not_taken", mail=str(mail.pk), tries=mail.attempts, error=said_by(error))
            self._failed(mail, error)
        except Exception as error:  # one that cannot be written holds up no other
            log.exception("mail.not_written", mail=str(mail.pk), tries=mail.attempts)
            self._failed(mail, error)
        else:
            self._sent(mail)
        return True

    def _taken(self, which: Q) -> Row | None:
        with transaction.atomic():
            due = self._rows.filter(which, WAITING, next_attempt_at__lte=Now()).order_by("next_attempt_at")
            mail = due.select_for_update(skip_locked=True).first()
            if mail is None:
                return None
            self._note(mail, attempts=F("attempts") + 1, next_attempt_at=_in(LEASE_S))
        mail.attempts += 1
        return mail

    def _sent(self, mail: Row) -> None:
        if not mails_leave():
            self._give_up(mail, NO_SERVER)
            return
        with transaction.atomic():
            self._note(mail, sent_at=Now(), last_error="")
            self.handed_over(mail)

    def _failed(self, mail: Row, error: Exception) -> None:
        said = one_line(clean_text(said_by(error)))[:ERROR_CHARS]
        if mail.attempts > len(PAUSES_S):
            self._give_up(mail, said)
        else:
            self._note(mail, last_error=said, next_attempt_at=_in(PAUSES_S[mail.attempts - 1]))

    def _give_up(self, mail: Row, why: str) -> None:
        self._note(mail, last_error=why, given_up_at=Now())

    def _note(self, mail: Row, **values: Any) -> None:
        self._rows.filter(pk=mail.pk).update(**values)


def _in(seconds: float) -> Any:
    return Now() + timedelta(seconds=seconds)
