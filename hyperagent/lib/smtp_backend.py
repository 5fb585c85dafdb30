"""The way to the mail server of EMAIL_URL: Django's own, which also signs in with letters that are not ASCII and sends
to the domains that were meant; and what that server says.
"""

import copy
import smtplib
from base64 import b64encode
from typing import Any, Final

from django.core.mail import EmailMessage
from django.core.mail.backends import smtp

from hyperagent.lib.domains import with_ascii_domain

SIGNED_IN: Final = 235


def said_by(error: Exception) -> str:
    """What hindered a mail, for people: the server's own words, where it had some."""
    if isinstance(error, smtplib.SMTPRecipientsRefused) and error.recipients:
        return _answer(*next(iter(error.recipients.values())))
    if isinstance(error, smtplib.SMTPResponseException):
        return _answer(error.smtp_code, error.smtp_error)
    return str(error) or type(error).__name__


def _answer(code: int, words: bytes | str) -> str:
    return f"{code} {words.decode(errors='replace') if isinstance(words, bytes) else words}"


class EmailBackend(smtp.EmailBackend):
    @property
    def connection_class(self) -> type[smtplib.SMTP]:
        return SslConnection if self.use_ssl else Connection

    def _send(self, email_message: EmailMessage) -> bool:
        """Django's own way with a domain that is not ASCII leads to another's. Raises UnicodeError for one that is
        none."""
        return bool(super()._send(_addressed(email_message)))  # type: ignore[misc]


def _addressed(message: EmailMessage) -> EmailMessage:
    """With domains as servers know them, in the envelope and in the head."""
    sent = copy.copy(message)
    sent.from_email = with_ascii_domain(message.from_email)
    for name in ("to", "cc", "bcc", "reply_to"):
        setattr(sent, name, [with_ascii_domain(str(one)) for one in getattr(message, name)])
    return sent


class Connection(smtplib.SMTP):
    def login(self, user: str, password: str, *, initial_response_ok: bool = True) -> Any:
        """Raises SMTPAuthenticationError for a password that is not taken."""
        self.ehlo_or_helo_if_needed()
        offered = self.esmtp_features.get("auth", "").upper().split()
        if (user + password).isascii() or "PLAIN" not in offered:
            return super().login(user, password, initial_response_ok=initial_response_ok)
        # The library's own way knows ASCII only.
        code, said = self.docmd("AUTH", "PLAIN " + b64encode(f"\0{user}\0{password}".encode()).decode())
        if code != SIGNED_IN:
            raise smtplib.SMTPAuthenticationError(code, said)
        return code, said


class SslConnection(Connection, smtplib.SMTP_SSL):
    """The same where the server speaks TLS from the first byte on."""
