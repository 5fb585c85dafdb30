"""Mails as mail programs save them (.eml): who wrote to whom and when, what it says, and the names of what is attached.
What is said in HTML is read where it is not said in plain text as well. A mail that is attached is an attachment.
"""

from collections.abc import Iterator
from email import policy
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.parser import BytesParser
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Final

from hyperagent.lib.html_text import text_of
from hyperagent.lib.text import text_encoding
from memory.kinds import BlockKind
from memory.reading import caps, reasons
from memory.reading.cleaning import one_line
from memory.reading.decoding import decoded
from memory.reading.paging import Missing, Part
from memory.reading.parsers.text import paragraphs
from memory.reading.titles import sensible
from memory.reading.values import Head

_TOLD: Final = ("From", "To", "Cc", "Date")
_FIELD_CHARS: Final = 20_000
_MOST_PARTS: Final = 500
_HTML_CHARS: Final = 4_000_000
# What the standard library raises for mails that are none, or nested without end.
_BROKEN: Final = (RecursionError, ValueError, LookupError, TypeError, AttributeError, AssertionError)


def parts(path: Path, *, filename: str) -> Iterator[Head | Part | Missing]:
    with path.open("rb") as file:
        raw = file.read(caps.MAIL_BYTES + 1)
    try:
        message = BytesParser(policy=policy.compat32).parsebytes(raw[: caps.MAIL_BYTES])
        said, attached = _split(message)
        texts = [text for ways in said for text in _texts(ways)]
    except _BROKEN as error:
        raise reasons.broken("mail", program="a mail program") from error
    subject = one_line(_field(message, "Subject"))
    yield Head(0, sensible(subject, filename), {"published": _day(message)})
    yield Part(BlockKind.HEADING, subject, 1)
    told = ((name, one_line(_field(message, name))) for name in _TOLD)
    yield Part(BlockKind.PARAGRAPH, "\n".join(f"{name}: {value}" for name, value in told if value))
    for text in texts:
        for paragraph in paragraphs(text):
            yield Part(BlockKind.PARAGRAPH, paragraph)
    if attached:
        names = "\n".join(f"- {_name(part)}" for part in attached)
        yield Part(BlockKind.LIST, f"Attachments:\n{names}")
    if len(raw) > caps.MAIL_BYTES:
        yield Missing(f"Partly read: the first {caps.MAIL_BYTES // caps.MIB} MB; the rest is left out.")


def _texts(ways: list[Message]) -> list[str]:
    """Of one text in several ways: the plain one, else that of the HTML."""
    plain = [part for part in ways if part.get_content_type() == "text/plain"]
    html = [part for part in ways if part not in plain]
    return [text for text in map(_text, plain) if text.strip()] or [text_of(_text(part)[:_HTML_CHARS]) for part in html]


def _split(message: Message) -> tuple[list[list[Message]], list[Message]]:
    """The texts that it has, each in all its ways, and the parts that are attached; without recursion. What stands
    beside a text, as the footers that mailing lists put below it, is one of its own."""
    said: dict[int, list[Message]] = {}
    attached: list[Message] = []
    waiting: list[tuple[Message, int | None]] = [(message, None)]
    given = 0
    while waiting and given < _MOST_PARTS:
        part, way = waiting.pop()
        inner = part.get_payload()
        if part.get_content_maintype() == "multipart" and isinstance(inner, list):
            if way is None and part.get_content_type() == "multipart/alternative":
                way = id(part)
            waiting.extend((one, way) for one in reversed([one for one in inner if isinstance(one, Message)]))
            continue
        given += 1
        is_attached = part.get_content_disposition() == "attachment" or bool(_file_name(part))
        if not is_attached and part.get_content_type() in ("text/plain", "text/html"):
            said.setdefault(id(part) if way is None else way, []).append(part)
        else:
            attached.append(part)
    return list(said.values()), attached


def _text(part: Message) -> str:
    payload = part.get_payload(decode=True)
    if not isinstance(payload, bytes):
        return ""
    named = text_encoding(str(part.get_content_charset() or ""))
    # What says ASCII, UTF-8 or nothing at all is often none of these.
    return decoded(payload) if named in ("", "utf-8") else payload.decode(named, "replace")


def _name(part: Message) -> str:
    return one_line(_file_name(part)) or f"without a name ({one_line(part.get_content_type())})"


def _file_name(part: Message) -> str:
    fields = Message(policy.compat32)
    for name in ("Content-Disposition", "Content-Type"):
        fields[name] = _raw_field(part, name)
    try:
        return _decoded(str(fields.get_filename() or ""))
    except _BROKEN:
        return "with a name that cannot be read"


def _field(message: Message, name: str) -> str:
    return _decoded(_raw_field(message, name))


def _raw_field(message: Message, name: str) -> str:
    """Bytes beyond ASCII are UTF-8 (RFC 6532): the library makes nothing of them."""
    found = next((value for key, value in message.raw_items() if key.lower() == name.lower()), "")
    return str(found).encode("utf-8", "surrogateescape").decode("utf-8", "replace")[:_FIELD_CHARS]


def _decoded(value: str) -> str:
    """In letters, as far as its encoding can be read."""
    try:
        pieces = decode_header(value)
    except (HeaderParseError, ValueError, LookupError):
        return value
    return "".join(
        piece.decode(text_encoding(charset or "") or "utf-8", "replace") if isinstance(piece, bytes) else piece
        for piece, charset in pieces
    )


def _day(message: Message) -> str:
    try:
        return parsedate_to_datetime(_field(message, "Date")[:100]).date().isoformat()
    except (ValueError, TypeError, OverflowError, IndexError):
        return ""
