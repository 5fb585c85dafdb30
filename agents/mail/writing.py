"""A mail as the bytes that travel, and the addresses of its envelope. Pure. Knows no server."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from email.header import Header
from email.headerregistry import HeaderRegistry, UnstructuredHeader
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, getaddresses, parseaddr
from typing import Any, Final

from agents.mail.files import AttachedFile, safe_name
from agents.tools.tool import ToolError
from agents.tools.values import DraftMail, OutgoingMail
from hyperagent.lib import clipping
from hyperagent.lib.domains import ascii_domain

MAX_REFERENCES: Final = 20
MAX_ID_CHARS: Final = 250
NAME_CHARS: Final = 60
FOLD: Final = "\r\n"
NOT_ALL_SHOWN: Final = (
    "This draft would go to others than people are shown: its head is broken, or it has too many addresses. Nothing "
    "was sent. Write it anew."
)
_SPECIAL: Final = re.compile(r'[()<>@,:;".\[\]\\]')
_ATTACHED_AS: Final = ("application", "audio", "font", "image", "text", "video")
_SUBTYPE: Final = re.compile(r"^[a-zA-Z0-9][\w.+-]{0,99}$")
_WRITTEN_ANEW: Final = (
    b"from",
    b"sender",
    b"date",
    b"message-id",
    b"return-path",
    b"x-mozilla-status",
    b"x-unsent",
    b"x-hyperagent-id",
)
# What may stand in a header that others wrote and we send on.
_MESSAGE_ID: Final = re.compile(rf"^<[!-;=?-~]{{1,{MAX_ID_CHARS}}}>$")
# In a header these begin a comment, a literal address or an escape.
_MEANING_MORE: Final = frozenset("()[]\\")


@dataclass(frozen=True, slots=True)
class Letter:
    """A mail ready to go. `sent` goes to the recipients; `kept`, which names those of the blind copy, to the mailbox.

    `needs_utf8`: an address has letters before the @ that only a server with SMTPUTF8 takes. `is_8bit`: it has bytes
    that only a server with 8BITMIME takes; none that was written here has.
    """

    message_id: str
    sender: str
    recipients: tuple[str, ...]
    sent: bytes
    kept: bytes
    needs_utf8: bool
    is_8bit: bool = False


def letter_of(
    mail: OutgoingMail, *, sender: str, at: datetime, sender_name: str = "", files: Sequence[AttachedFile] = ()
) -> Letter:
    """Raises ToolError for an address whose domain cannot be written in ASCII."""
    sender = envelope_address(sender)
    to, cc, bcc = (tuple(map(envelope_address, some)) for some in (mail.to, mail.cc, mail.bcc))
    recipients = tuple(dict.fromkeys((*to, *cc, *bcc)))
    needs_utf8 = not "".join((sender, *recipients)).isascii()
    policy = _POLICY.clone(utf8=needs_utf8)
    message = EmailMessage(policy)
    message["From"] = f"{one_line(sender_name)} <{sender}>"
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
    for file in files:
        maintype, _, subtype = file.media_type.partition("/")
        is_known = maintype in _ATTACHED_AS and _SUBTYPE.match(subtype) is not None
        kind = (maintype, subtype) if is_known else ("application", "octet-stream")
        message.add_attachment(file.content, *kind, filename=safe_name(file.name))
    kept = message.as_bytes()
    del message["Bcc"]
    return Letter(mail.message_id, sender, recipients, message.as_bytes(), kept, needs_utf8)


def letter_of_draft(
    raw: bytes, shown: DraftMail, *, message_id: str, sender: str, at: datetime, sender_name: str = ""
) -> Letter:
    """A draft that was written elsewhere, as it is but for its id, its date and whom it is from. `shown`: what people
    were shown of it. Raises ToolError, also where it would go to others than those."""
    head, body = _halves(raw)
    fields = [field for field in _fields(head) if _name_of(field) not in _WRITTEN_ANEW]
    found = {name: _addresses_in(fields, name) for name in (b"to", b"cc", b"bcc")}
    if not any(found.values()):
        raise ToolError("This draft has no address that it could go to. Write it anew with one.")
    recipients = tuple(dict.fromkeys(envelope_address(one) for some in found.values() for one in some))
    agreed = {envelope_address(parseaddr(one)[1]) for one in (*shown.to, *shown.cc, *shown.bcc)}
    if set(recipients) != agreed:
        raise ToolError(NOT_ALL_SHOWN)
    sender = envelope_address(sender)
    needs_utf8 = not "".join((sender, *recipients)).isascii()
    own = [
        f"From: {_named(sender_name, sender)}".encode(),
        f"Date: {format_datetime(at)}".encode(),
        f"Message-ID: {message_id}".encode(),
    ]
    seen = [field for field in fields if _name_of(field) != b"bcc"]
    sent = b"\r\n".join([*own, *seen, b"", body])
    kept = b"\r\n".join([*own, *fields, b"", body])
    return Letter(message_id, sender, recipients, sent, kept, needs_utf8, is_8bit=not sent.isascii())


def _halves(raw: bytes) -> tuple[bytes, bytes]:
    lines = raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    head, _, body = lines.partition(b"\n\n")
    return head, body.replace(b"\n", b"\r\n")


def _fields(head: bytes) -> list[bytes]:
    """Each header with the lines that belong to it."""
    fields: list[bytes] = []
    for line in head.split(b"\n"):
        if line[:1] in (b" ", b"\t") and fields:
            fields[-1] += b"\r\n" + line
        elif b":" in line:
            fields.append(line)
    return fields


def _name_of(field: bytes) -> bytes:
    return field.partition(b":")[0].strip().lower()


def _addresses_in(fields: list[bytes], name: bytes) -> list[str]:
    values = [field.partition(b":")[2].decode("utf-8", "replace") for field in fields if _name_of(field) == name]
    return [address for _, address in getaddresses(values) if address]


def _named(name: str, address: str) -> str:
    """`Name <address>`, the name in one word of ASCII where it is not plain; without a name the address alone."""
    plain = one_line(name)[:NAME_CHARS]
    if not plain:
        return address
    if not plain.isascii() or "=?" in plain:
        return f"{Header(plain, 'utf-8', header_name='From').encode(linesep=FOLD)} <{address}>"
    quoted = re.sub(r'["\\]', "", plain)
    return f'"{quoted}" <{address}>' if _SPECIAL.search(plain) else f"{plain} <{address}>"


def envelope_address(address: str) -> str:
    """The domain in ASCII, as servers know it; letters before the @ stay. Raises ToolError for what servers and headers
    would read as something else than it looks like."""
    local, _, domain = address.rpartition("@")
    try:
        written = ascii_domain(domain)
    except UnicodeError:
        written = ""
    if not written or not address.isprintable() or set(address) & _MEANING_MORE:
        raise ToolError(f"{one_line(address)} is no address that a mail can be sent to. Check it with the user.")
    return f"{local}@{written}"


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
    return clipping.one_line("".join(char if char.isprintable() else " " for char in text))


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


class _Sender:
    max_count = 1
    parse = staticmethod(UnstructuredHeader.parse)

    def fold(self: Any, *, policy: Any) -> str:
        name, _, address = str(self).rpartition("<")
        return f"{self.name}: {_named(name, address.rstrip('>'))}{policy.linesep}"


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
    for name in ("to", "cc", "bcc", "message-id", "in-reply-to", "references"):
        registry.map_to_type(name, _Whole)
    registry.map_to_type("from", _Sender)
    registry.map_to_type("subject", _Subject)
    return registry


_POLICY: Final = SMTP.clone(header_factory=_registry(), max_line_length=76, cte_type="7bit")
