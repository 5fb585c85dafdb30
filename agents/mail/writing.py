"""A mail as the bytes that travel, and the addresses of its envelope. Pure. Knows no server."""

import re
from dataclasses import dataclass
from datetime import datetime
from email.header import Header
from email.headerregistry import HeaderRegistry, UnstructuredHeader
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from typing import Any, Final

from agents.tools.tool import ToolError
from agents.tools.values import OutgoingMail

MAX_REFERENCES: Final = 20
MAX_ID_CHARS: Final = 250
# What may stand in a header that others wrote and we send on.
_MESSAGE_ID: Final = re.compile(rf"^<[!-;=?-~]{{1,{MAX_ID_CHARS}}}>$")
# In a header these begin a comment, a literal address or an escape.
_MEANING_MORE: Final = frozenset("()[]\\")


@dataclass(frozen=True, slots=True)
class Letter:
    """A mail ready to go. `sent` goes to the recipients; `kept`, which names those of the blind copy, to the mailbox.

    `needs_utf8`: an address has letters before the @ that only a server with SMTPUTF8 takes.
    """

    message_id: str
    sender: str
    recipients: tuple[str, ...]
    sent: bytes
    kept: bytes
    needs_utf8: bool


def letter_of(mail: OutgoingMail, *, sender: str, at: datetime) -> Letter:
    """Raises ToolError for an address whose domain cannot be written in ASCII."""
    sender = envelope_address(sender)
    to, cc, bcc = (tuple(map(envelope_address, some)) for some in (mail.to, mail.cc, mail.bcc))
    recipients = tuple(dict.fromkeys((*to, *cc, *bcc)))
    needs_utf8 = not "".join((sender, *recipients)).isascii()
    policy = _POLICY.clone(utf8=needs_utf8)
    message = EmailMessage(policy)
    message["From"] = sender
    for name, addresses in (("To", to), ("Cc", cc), ("Bcc", bcc)):
        if addresses:
            message[name] = ", ".join(addresses)
    message["Subject"] = one_line(mail.subject)
    message["Date"] = format_datetime(at)
    message["Message-ID"] = mail.message_id
    if mail.in_reply_to and (answered := known_ids((mail.in_reply_to,))):
        message["In-Reply-To"] = answered[0]
        message["References"] = " ".join(known_ids((*mail.references, answered[0])))
    message.set_content(mail.body.replace("\r\n", "\n").replace("\r", "\n"), charset="utf-8", cte="quoted-printable")
    kept = message.as_bytes()
    del message["Bcc"]
    return Letter(mail.message_id, sender, recipients, message.as_bytes(), kept, needs_utf8)


def envelope_address(address: str) -> str:
    """The domain in ASCII, as servers know it; letters before the @ stay. Raises ToolError for what servers and headers
    would read as something else than it looks like."""
    local, _, domain = address.rpartition("@")
    try:
        ascii_domain = domain.encode("idna").decode("ascii")
    except UnicodeError:
        ascii_domain = ""
    if not ascii_domain or not address.isprintable() or set(address) & _MEANING_MORE:
        raise ToolError(f"{one_line(address)} is no address that a mail can be sent to. Check it with the user.")
    return f"{local}@{ascii_domain}"


def known_ids(texts: tuple[str, ...]) -> tuple[str, ...]:
    """The message ids among these, without doubles: the first, which begins the thread, and the newest."""
    ids = list(dict.fromkeys(word for text in texts for word in text.split() if _MESSAGE_ID.match(word)))
    # The last is the one that is answered: where it came up before, it still stands last.
    if texts and ids and texts[-1] in ids:
        ids.remove(texts[-1])
        ids.append(texts[-1])
    return tuple(ids) if len(ids) <= MAX_REFERENCES else (ids[0], *ids[1 - MAX_REFERENCES :])


def one_line(text: str) -> str:
    """What separates lines or is no character to see, as blanks: nothing of it may begin a new header."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


class _Whole:
    """A header whose words are kept whole, one a line where they do not fit: the standard library would encode long
    ones, and servers would not know them again."""

    max_count = 1
    parse = staticmethod(UnstructuredHeader.parse)

    def fold(self: Any, *, policy: Any) -> str:
        lines, line = [], f"{self.name}:"
        for word in str(self).split():
            if len(line) + len(word) < policy.max_line_length or line.endswith(":"):
                line += f" {word}"
            else:
                lines.append(line)
                line = f" {word}"
        end: str = policy.linesep
        return end.join([*lines, line]) + end


class _Subject:
    max_count = 1
    parse = staticmethod(UnstructuredHeader.parse)

    def fold(self: Any, *, policy: Any) -> str:
        text = str(self)
        charset = "us-ascii" if text.isascii() and "=?" not in text else "utf-8"
        header = Header(text, charset, maxlinelen=policy.max_line_length, header_name=self.name)
        return f"{self.name}: {header.encode(linesep=policy.linesep)}{policy.linesep}"


def _registry() -> Any:
    registry: Any = HeaderRegistry()
    for name in ("from", "to", "cc", "bcc", "message-id", "in-reply-to", "references"):
        registry.map_to_type(name, _Whole)
    registry.map_to_type("subject", _Subject)
    return registry


_POLICY: Final = SMTP.clone(header_factory=_registry(), max_line_length=76, cte_type="7bit")
