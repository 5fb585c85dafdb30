"""Handing one mail to an SMTP server, in two parts: up to the last line, and the last line. Blocking; for a thread.

Until the last line has left, the server forgets the mail if the connection ends: it surely was not sent. From there on
only the server's answer tells. What a server says is untrusted: it goes to the log, people get our own words.
"""

import smtplib
import ssl
from base64 import b64encode
from typing import Final, Self

import structlog

from agents.mail.kinds import AccountState
from agents.mail.lines import Smtp
from agents.mail.troubles import INSIDE, MailTrouble, clipped
from agents.mail.writing import Letter
from agents.tools.tool import ToolError
from hyperagent.lib.mail_servers import MailServer, Security
from hyperagent.lib.outside.sockets import InsideServer

log = structlog.get_logger(__name__)

COMMAND_TIMEOUT_S: Final = 20
# A server may look through the whole mail before it answers.
LAST_ANSWER_TIMEOUT_S: Final = 90
# Any name that says nothing of this machine.
HELLO: Final = "[127.0.0.1]"
OK: Final = 250
SIGNED_IN: Final = 235
# All of it: a large mail over a slow line, and a server that looks through it.
LIFE_S: Final = 170
NOTHING_SENT: Final = "Nothing was sent."
MAY_BE_SENT: Final = "The connection to the mail server broke while it took the mail: it may have been sent."


class Handover:
    """One mail on its way over one connection. Call `prepare`, then `finish`; `close` in any case."""

    def __init__(self, server: MailServer, *, timeout_s: float = COMMAND_TIMEOUT_S) -> None:
        self._server = server
        self._timeout_s = timeout_s
        self._smtp: smtplib.SMTP | None = None

    def prepare(self, letter: Letter) -> Self:
        """Everything but the last line. Raises ToolError, and then nothing was sent."""
        try:
            smtp = self._smtp = self._connected()
            self._sign_in(smtp)
            self._name_everybody(smtp, letter)
            code, said = smtp.docmd("DATA")
            if code != 354:
                raise _refusal("The mail server does not take this mail", code, said)
            smtp.send(_stuffed(letter.sent))
        except (smtplib.SMTPException, OSError, UnicodeError) as error:
            raise self._trouble(error).with_more(NOTHING_SENT) from error
        return self

    def finish(self) -> None:
        """The last line and the server's answer. ToolError says whether the mail may have been sent."""
        smtp = self._smtp
        assert smtp is not None, "prepared"
        try:
            if smtp.sock is None:
                raise smtplib.SMTPServerDisconnected("closed by then")
            smtp.sock.settimeout(LAST_ANSWER_TIMEOUT_S)
            smtp.send(b".\r\n")
            code, said = smtp.getreply()
        except (smtplib.SMTPException, OSError) as error:
            log.warning("mail.no_last_answer", server=self._server.shown, error=clipped(error))
            raise ToolError(MAY_BE_SENT, may_have_happened=True) from error
        if 400 <= code < 600:
            raise _refusal("The mail server read the mail and refused it", code, said)
        if code != OK:
            log.warning("mail.strange_answer", server=self._server.shown, code=code, said=clipped(said))
            raise ToolError(MAY_BE_SENT, may_have_happened=True)

    def close(self) -> None:
        """Ends the connection at once: saying goodbye would wait for an answer, and could end no mail better."""
        if self._smtp is not None:
            self._smtp.close()

    def check(self) -> None:
        """Connects and signs in. Raises ToolError."""
        try:
            self._smtp = self._connected()
            self._sign_in(self._smtp)
        except (smtplib.SMTPException, OSError, UnicodeError) as error:
            raise self._trouble(error) from error

    # --- inside

    @property
    def _secret(self) -> str:
        return f"\0{self._server.user}\0{self._server.password}"

    def _connected(self) -> smtplib.SMTP:
        context = ssl.create_default_context() if self._server.security is Security.SSL else None
        return Smtp(self._server, HELLO, timeout_s=self._timeout_s, life_s=LIFE_S, context=context)

    def _sign_in(self, smtp: smtplib.SMTP) -> None:
        smtp.ehlo_or_helo_if_needed()
        if self._server.security is Security.TLS:
            smtp.starttls(context=ssl.create_default_context())
            smtp.ehlo_or_helo_if_needed()
        if not self._server.user:
            return
        if "PLAIN" not in smtp.esmtp_features.get("auth", "").upper().split():
            smtp.login(self._server.user, self._server.password)
            return
        # The library's own way knows ASCII only.
        code, said = smtp.docmd("AUTH", "PLAIN " + b64encode(self._secret.encode()).decode())
        if code != SIGNED_IN:
            raise smtplib.SMTPAuthenticationError(code, said)

    def _name_everybody(self, smtp: smtplib.SMTP, letter: Letter) -> None:
        """The envelope. All recipients or none: the mail that was agreed to goes to all of them."""
        if letter.needs_utf8 and not smtp.has_extn("smtputf8"):
            raise ToolError(
                f"The mail server takes no addresses with letters such as ü before the @. {NOTHING_SENT} "
                "Ask for another address."
            )
        options = [f"SIZE={len(letter.sent)}"] if smtp.has_extn("size") else []
        if letter.needs_utf8:
            options += ["SMTPUTF8", "BODY=8BITMIME"]
            smtp.command_encoding = "utf-8"
        if letter.is_8bit:
            if not smtp.has_extn("8bitmime"):
                raise ToolError(
                    f"The mail server takes no mails with bytes such as this one's. {NOTHING_SENT} Write it anew."
                )
            options += [] if letter.needs_utf8 else ["BODY=8BITMIME"]
        code, said = smtp.mail(letter.sender, options)
        if code != OK:
            raise _refusal(f"The mail server does not take this mail from {letter.sender}", code, said)
        refused = []
        for recipient in letter.recipients:
            code, said = smtp.rcpt(recipient)
            if code not in (250, 251):
                log.warning("mail.recipient_refused", server=self._server.shown, code=code, said=clipped(said))
                refused.append(f"{recipient} ({code})")
        if refused:
            raise ToolError(
                f"The mail server refused {', '.join(refused)}. {NOTHING_SENT} Check the addresses, or leave these out."
            )

    def _trouble(self, error: Exception) -> MailTrouble:
        """Before the last line: what went wrong, and whose it is to mend."""
        # What a server says to a password may repeat it.
        said = "" if isinstance(error, smtplib.SMTPAuthenticationError) else clipped(error)
        log.warning("mail.cannot_send", server=self._server.shown, error=type(error).__name__, said=said)
        mend, state = self._server.way_out, AccountState.TROUBLE
        match error:
            # 535 and the like; 454 and 4xx of any kind are a server that cannot look the password up just now.
            case smtplib.SMTPAuthenticationError() if not 400 <= error.smtp_code < 500:
                why, state = f"did not accept user and password. {mend}", AccountState.RECONNECT
            case smtplib.SMTPAuthenticationError():
                why = "could not sign us in just now. Try again later."
            case smtplib.SMTPNotSupportedError():
                why, state = f"does not offer TLS, or no way to sign in that is known. {mend}", AccountState.RECONNECT
            case ssl.SSLError():
                why = f"has no valid certificate, or speaks no TLS here. {mend}"
            case InsideServer():
                why, state = INSIDE, AccountState.RECONNECT
            case UnicodeError():
                why = f"cannot be given this text. {mend}"
            case TimeoutError():
                why = f"gave no answer for {self._timeout_s:g} s. Try again later."
            case smtplib.SMTPServerDisconnected() | OSError():
                why = f"cannot be reached, or hung up. Try again later. If it stays so: {mend}"
            case _:
                why = f"gave an answer that makes no sense. {mend}"
        return MailTrouble(f"The mail server {self._server.shown} {why}", state=state)


def _refusal(what: str, code: int, said: bytes) -> ToolError:
    log.warning("mail.refused", code=code, said=clipped(said))
    way_out = "Try again later." if 400 <= code < 500 else "Change the mail, or ask an administrator."
    return ToolError(f"{what} ({code}). {NOTHING_SENT} {way_out}")


def _stuffed(message: bytes) -> bytes:
    """The mail as it travels: ends of lines as CRLF, dots at a line's beginning doubled, the last line ended."""
    lines = message.replace(b"\r\n", b"\n").replace(b"\r", b"\n").removesuffix(b"\n").split(b"\n")
    return b"\r\n".join(b"." + line if line.startswith(b".") else line for line in lines) + b"\r\n"
