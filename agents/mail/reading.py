"""A mail's bytes, as strangers wrote them, as values. Pure. Never raises for what a mail holds.

The parser of the standard library takes time by lines times depth; what would take too long is not parsed.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from email import policy
from email.errors import MessageError
from email.header import decode_header
from email.message import Message
from email.parser import BytesHeaderParser, BytesParser
from email.utils import getaddresses, parsedate_to_datetime
from mimetypes import MimeTypes
from typing import Final

from agents.mail.files import AttachedFile
from agents.tools.values import DraftMail, MailAttachment, MailHeader, MailMessage
from hyperagent.lib.clipping import one_line
from hyperagent.lib.file_names import fitted
from hyperagent.lib.html_text import text_of
from hyperagent.lib.text import clean_text, text_encoding

MAX_WORK: Final = 800_000
"""Lines times depth of a mail that is parsed: some seconds at most. One of 10 MB with attachments has a third of it."""
ORDINARY_DEPTH: Final = 4
ORDINARY_LINES: Final = 420_000
"""Of a mail as large as is read at all, with its files where they usually are: it is parsed all the same."""
HEADER_BYTES: Final = 64_000
FIELD_CHARS: Final = 20_000
MAX_ADDRESSES: Final = 200
MAX_PARTS: Final = 500
MAX_REFERENCES: Final = 50
BODY_CHARS: Final = 200_000
HTML_CHARS: Final = 1_000_000
SNIPPET_CHARS: Final = 200
SUBJECT_CHARS: Final = 500
NAME_CHARS: Final = 120
TOO_DEEP: Final = "(This mail is nested too deeply to be read. Tell the user to look at it in a mail program.)"
CUT: Final = "(The mail is longer than this; the rest was not read.)"
# Python's own list only: what the machine's files say differs from one to the next.
_KNOWN: Final = MimeTypes()
_ENDINGS: Final = {"text/calendar": ".ics", "text/plain": ".txt"}
# What the library raises for mails that are none.
_BROKEN: Final = (
    MessageError, RecursionError, ValueError, LookupError, TypeError, AttributeError, AssertionError,
)  # fmt: skip
_SPECIAL: Final = re.compile(r'[()<>@,:;".\[\]\\]')
# In a name they would look like an address, or end the quotes.
_MISLEADING: Final = re.compile(r'[<>@"\\]')


def head_of(id_: str, raw: bytes, *, arrived: datetime | None) -> MailHeader:
    """From a mail's beginning."""
    message, body, _ = _read(raw)
    return _head(id_, message, body, arrived)


def head_of_fields(
    id_: str, fields: Iterable[tuple[str, str]], snippet: str, *, arrived: datetime | None
) -> MailHeader:
    """From a head that somebody took apart before."""
    message = Message(policy.compat32)
    for name, value in list(fields)[:MAX_PARTS]:
        message[name] = value.replace("\r", " ").replace("\n", " ")
    return _head(id_, message, snippet, arrived)


def _head(id_: str, message: Message, body: str, arrived: datetime | None) -> MailHeader:
    return MailHeader(
        id=id_,
        sender=(_addresses(message, "From") or ("",))[0],
        to=_addresses(message, "To"),
        subject=_line(message, "Subject", SUBJECT_CHARS),
        date=_date(message, arrived),
        snippet=one_line(clean_text(body))[:SNIPPET_CHARS],
        message_id=_message_id(message),
    )


def message_of(id_: str, raw: bytes, *, arrived: datetime | None, is_cut: bool) -> MailMessage:
    """`is_cut`: the mail is longer than `raw`."""
    message, body, attachments = _read(raw)
    clipped = body[:BODY_CHARS]
    return MailMessage(
        id=id_,
        sender=(_addresses(message, "From") or ("",))[0],
        to=_addresses(message, "To"),
        cc=_addresses(message, "Cc"),
        reply_to=", ".join(_addresses(message, "Reply-To")) or None,
        subject=_line(message, "Subject", SUBJECT_CHARS),
        date=_date(message, arrived),
        snippet=one_line(body)[:SNIPPET_CHARS],
        message_id=_message_id(message),
        references=_references(message),
        body=f"{clipped}\n\n{CUT}" if is_cut or len(body) > BODY_CHARS else clipped,
        attachments=attachments,
    )


def attached_in(raw: bytes, number: int) -> AttachedFile | None:
    """One attachment of a mail, by its number; None if there is none such."""
    message = _parsed(raw)
    parts = _split(message)[1] if message is not None else []
    if not 1 <= number <= len(parts):
        return None
    part = parts[number - 1]
    kind = part.get_content_type()
    return AttachedFile(_file_name(part) or nameless(number, kind), kind, _payload(part))


def nameless(number: int, kind: str) -> str:
    """What an attachment is called, as a file, to which nobody gave a name: mails that are attached have none."""
    ending = _ENDINGS.get(kind) or _KNOWN.guess_extension(kind) or ""
    return f"attachment-{number}{ending}"


def draft_of(id_: str, raw: bytes, *, digest: str) -> DraftMail:
    """As it would be sent."""
    message, body, attachments = _read(raw)
    return DraftMail(
        id=id_,
        to=_addresses(message, "To"),
        cc=_addresses(message, "Cc"),
        bcc=_addresses(message, "Bcc"),
        subject=_line(message, "Subject", SUBJECT_CHARS),
        body=body[:BODY_CHARS],
        attachments=attachments,
        digest=digest,
    )


def _read(raw: bytes) -> tuple[Message, str, tuple[MailAttachment, ...]]:
    """Headers, text and what is attached."""
    message = _parsed(raw)
    if message is None:
        return _headers(raw), TOO_DEEP, ()
    try:
        body, attachments = _contents(message)
    except _BROKEN:
        return _headers(raw), TOO_DEEP, ()
    return message, body, attachments


def _parsed(raw: bytes) -> Message | None:
    """None for what would take too long."""
    small = raw.lower()
    depth = small.count(b"multipart/") + small.count(b"message/")
    lines = raw.count(b"\n")
    if lines * (depth + 1) > MAX_WORK and not (depth <= ORDINARY_DEPTH and lines <= ORDINARY_LINES):
        return None
    try:
        return BytesParser(policy=policy.compat32).parsebytes(raw)
    except _BROKEN:
        return None


def _headers(raw: bytes) -> Message:
    """Of what cannot be parsed as a whole."""
    return BytesHeaderParser(policy=policy.compat32).parsebytes(raw[:HEADER_BYTES])


def _contents(message: Message) -> tuple[str, tuple[MailAttachment, ...]]:
    """Where the same is said in several ways the plain text, else that of the HTML; and all that is said beside it, as
    the footers that mailing lists put below a mail."""
    said, attached = _split(message)
    text = "\n\n".join(piece for piece in map(_words, said) if piece)
    attachments = tuple(_attachment(part, number) for number, part in enumerate(attached, start=1))
    return clean_text(text.replace("\r\n", "\n")), attachments


def _words(ways: list[Message]) -> str:
    """Of one text in several ways."""
    plain = [part for part in ways if part.get_content_type() == "text/plain"]
    if text := "\n\n".join(piece.strip() for piece in map(_text, plain) if piece.strip()):
        return text
    return "\n\n".join(text_of(_text(part)[:HTML_CHARS]) for part in ways if part not in plain)


def _split(message: Message) -> tuple[list[list[Message]], list[Message]]:
    """The texts that it has, each in all its ways, and the parts that are attached."""
    said: dict[int, list[Message]] = {}
    attached: list[Message] = []
    for part, way in _parts(message):
        kind = part.get_content_type()
        if _file_name(part) or part.get_content_disposition() == "attachment":
            attached.append(part)
        elif kind in ("text/plain", "text/html"):
            said.setdefault(way, []).append(part)
        elif not kind.startswith("multipart/"):
            attached.append(part)
    return list(said.values()), attached


def _attachment(part: Message, number: int) -> MailAttachment:
    kind = _shown(part.get_content_type(), NAME_CHARS)
    name = _file_name(part) or f"without a name ({kind})"
    return MailAttachment(number=number, name=name, media_type=kind, size_bytes=len(_payload(part)))


def _payload(part: Message) -> bytes:
    """The bytes of an attachment; of a mail that is attached, that mail, and none if it cannot be written as one."""
    if part.is_multipart():
        try:
            return b"".join(inner.as_bytes() for inner in part.get_payload() if isinstance(inner, Message))
        except _BROKEN:
            return b""
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _parts(message: Message) -> Iterator[tuple[Message, int]]:
    """The leaves, in order, without recursion; those that say the same in several ways have the same number. Mails that
    are attached count as one part each."""
    waiting: list[tuple[Message, int | None]] = [(message, None)]
    given = 0
    while waiting and given < MAX_PARTS:
        part, way = waiting.pop()
        if part.get_content_maintype() == "multipart" and isinstance(part.get_payload(), list):
            if way is None and part.get_content_type() == "multipart/alternative":
                way = id(part)
            inner = [one for one in part.get_payload() if isinstance(one, Message)]
            waiting.extend((one, way) for one in reversed(inner))
        else:
            given += 1
            yield part, id(part) if way is None else way


def _text(part: Message) -> str:
    payload = part.get_payload(decode=True)
    if not isinstance(payload, bytes):
        return ""
    return _decoded(payload, str(part.get_content_charset() or "utf-8"))


def _decoded(text: bytes, charset: str) -> str:
    return text.decode(text_encoding(charset) or "utf-8", "replace")


def _file_name(part: Message) -> str:
    """Many programs write it as they write a subject, which RFC 2047 forbids, or in UTF-8 as it is."""
    fields = Message(policy.compat32)
    for name in ("Content-Disposition", "Content-Type"):
        fields[name] = next(iter(_values(part, name)), "")
    try:
        found = fields.get_filename() or ""
    except (ValueError, LookupError, TypeError, AttributeError):
        found = "with a name that cannot be read"
    return fitted(_shown(_in_letters(str(found)[:FIELD_CHARS]), FIELD_CHARS))


def _field(message: Message, name: str) -> str:
    """A header's value in letters, broken encodings as far as they can be read."""
    return _in_letters(next(iter(_values(message, name)), "")[:FIELD_CHARS])


def _in_letters(value: str) -> str:
    """What the encoded words say that stand in it."""
    try:
        pieces = decode_header(value)
    except (MessageError, ValueError, LookupError):
        return value
    return "".join(
        _decoded(piece, charset or "latin-1") if isinstance(piece, bytes) else piece for piece, charset in pieces
    )


def _values(message: Message, name: str) -> list[str]:
    """Of each header of this name. Bytes beyond ASCII are UTF-8 (RFC 6532): the library makes nothing of them."""
    found = [value for key, value in message.raw_items() if key.lower() == name.lower()]
    return [str(value).encode("utf-8", "surrogateescape").decode("utf-8", "replace") for value in found]


def _line(message: Message, name: str, limit: int) -> str:
    return _shown(_field(message, name), limit)


def _shown(text: str, limit: int) -> str:
    """One line of what can be seen: signs that turn the direction of writing or hide letters are none."""
    plain = "".join(char if char.isprintable() else " " for char in clean_text(text))
    return one_line(plain)[:limit]


def _message_id(message: Message) -> str | None:
    return _line(message, "Message-ID", FIELD_CHARS).split(" ")[0][:500] or None


def _references(message: Message) -> tuple[str, ...]:
    """The mails of its thread, from the first one on. One that names only the mail that it answers stands in the thread
    of that (RFC 5322, 3.6.4)."""
    found = _line(message, "References", FIELD_CHARS).split()
    if not found:
        words = _line(message, "In-Reply-To", FIELD_CHARS).split()
        answered = [word for word in words if word.startswith("<") and word.endswith(">")]
        found = answered if len(answered) == 1 else []
    return tuple(found if len(found) <= MAX_REFERENCES else [found[0], *found[1 - MAX_REFERENCES :]])


def _addresses(message: Message, name: str) -> tuple[str, ...]:
    """Each as `Name <address>`. The name is decoded after the addresses were told apart, so that it cannot be one."""
    values = [value[:FIELD_CHARS] for value in _values(message, name)[:5]]
    try:
        pairs = getaddresses(values)[:MAX_ADDRESSES]
    except (RecursionError, ValueError, LookupError, IndexError):
        return ()
    return tuple(shown for shown in (_address(*pair) for pair in pairs) if shown)


def _address(name: str, address: str) -> str:
    holder = Message()
    holder["X"] = name.replace("\n", " ").replace("\r", " ")
    shown_name, shown_address = _line(holder, "X", NAME_CHARS), _shown(address, FIELD_CHARS).replace(" ", "")
    if not shown_name:
        return shown_address
    if not shown_address:
        return _SPECIAL.sub(" ", shown_name).strip()
    quoted = f'"{_MISLEADING.sub(" ", shown_name)}"' if _SPECIAL.search(shown_name) else shown_name
    return f"{quoted} <{shown_address}>"


def _date(message: Message, arrived: datetime | None) -> str:
    """As ISO 8601: when it was written, or when it came."""
    try:
        return parsedate_to_datetime(str(message.get("Date", ""))[:100]).isoformat()
    except (ValueError, TypeError, OverflowError, IndexError):
        return arrived.isoformat() if arrived else ""
