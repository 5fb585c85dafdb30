"""Answers: whom they go to, what they quote, the thread that they stand in. And mails that are passed on. Pure."""

from collections.abc import Collection
from email.utils import getaddresses
from typing import Final

from pydantic import TypeAdapter, ValidationError

from agents.mail.reading import CUT, SUBJECT_CHARS, TOO_DEEP
from agents.tools.tool import ToolError
from agents.tools.values import Address, MailMessage, OutgoingMail
from hyperagent.lib.clipping import one_line

QUOTED_CHARS: Final = 20_000
QUOTED_LINES: Final = 300
LEFT_OUT: Final = "> […]"
FORWARDED: Final = "---------- Forwarded message ----------"

_address: TypeAdapter[str] = TypeAdapter(Address)


def reply_to(
    original: MailMessage,
    body: str,
    *,
    message_id: str,
    reply_all: bool,
    own: Collection[str] = (),
    to: tuple[str, ...] = (),
) -> OutgoingMail:
    """The answer in the original's thread. `own`: addresses of whoever answers; an answer to a mail of theirs goes to
    whom that went. `to`: whom it goes to, where that is said. Raises ToolError if nobody and nothing names them.
    """
    mine = {address.lower() for address in own}
    sender = addresses_in((original.reply_to or original.sender,))
    is_own = bool(sender) and all(address.lower() in mine for address in sender)
    to = to or ((addresses_in(original.to) or sender) if is_own else sender)
    if not to:
        raise ToolError("This mail names no sender that an answer could go to. Ask the user for the address.")
    others = addresses_in((*original.to, *original.cc)) if reply_all else ()
    return OutgoingMail(
        message_id=message_id,
        to=to,
        cc=tuple(address for address in others if address not in to and address.lower() not in mine),
        subject=answering_subject(original),
        body=body,
        in_reply_to=original.message_id,
        references=(*original.references, *((original.message_id,) if original.message_id else ())),
        thread_id=original.thread_id,
    )


def answering_subject(original: MailMessage) -> str:
    subject = one_line(original.subject)
    return subject if subject.lower().startswith(("re:", "aw:", "sv:")) else f"Re: {subject}".strip()


def quoting(body: str, original: MailMessage, *, limit: int) -> str:
    """The text with the mail that it answers below it. `limit`: characters of all of it."""
    lines = original.body.strip().splitlines()
    head = ", ".join(part for part in (original.sender, original.date.replace("T", " ")) if part)
    quoted: list[str] = []
    left = min(QUOTED_CHARS, limit - len(body) - len(head) - 100)
    for line in lines:
        shown = f">{line}" if line.startswith(">") else f"> {line}".rstrip()
        left -= len(shown) + 1
        if left < 0 or len(quoted) == QUOTED_LINES:
            quoted.append(LEFT_OUT)
            break
        quoted.append(shown)
    if not quoted or quoted == [LEFT_OUT]:
        return body
    return f"{body.rstrip()}\n\n{head}:\n" + "\n".join(quoted)


def forwarded_subject(original: MailMessage) -> str:
    subject = one_line(original.subject)
    return subject if subject.lower().startswith(("fwd:", "fw:", "wg:")) else f"Fwd: {subject}".strip()[:SUBJECT_CHARS]


def forwarded(original: MailMessage, *, limit: int) -> str:
    """The whole mail as it stands below the text of whoever passes it on. Raises ToolError for one of more than `limit`
    characters, or that was not read to its end."""
    head = (
        ("From", original.sender),
        ("To", ", ".join(original.to)),
        ("Date", original.date.replace("T", " ")),
        ("Subject", original.subject),
    )
    lines = [FORWARDED, *(f"{name}: {value}" for name, value in head if value)]
    whole = "\n".join(lines) + f"\n\n{original.body.strip()}"
    if len(whole) > limit or original.body.endswith((CUT, TOO_DEEP)):
        raise ToolError("This mail is too long to be passed on from here. Do it in your mailbox.")
    return whole


def addresses_in(texts: Collection[str]) -> tuple[str, ...]:
    """The mail addresses in these header values, without names and doubles; what is none is left out."""
    found: list[str] = []
    # One by one: what is broken in one would run on into the next.
    named = (address for text in texts if text.isprintable() for _, address in getaddresses([text]))
    for one in named:
        try:
            address = _address.validate_python(one)
        except ValidationError:
            continue
        if address not in found:
            found.append(address)
    return tuple(found)
