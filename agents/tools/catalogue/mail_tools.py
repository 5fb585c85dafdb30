"""The user's mailbox: searching, reading, drafts, and sending after a person's yes (S131, S178, S179).

`data` has the form of S179: the action, and what it gave under its name.
"""

from email.utils import parseaddr
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from agents.engine.events import Source
from agents.tools import previews
from agents.tools.tool import Call, Reply, ToolError, tool
from agents.tools.values import Address, Folder, MailHeader, MailMessage, OutgoingMail, Subject

MAIL = ("mail",)
EXCERPT_CHARS = 300

Query = Annotated[str, "In Gmail's search syntax, such as from:bob@example.org subject:report newer_than:7d"]
Limit = Annotated[int, "How many at most, newest first", Field(ge=1, le=50)]
Recipients = Annotated[tuple[Address, ...], "Mail addresses, without names", Field(min_length=1, max_length=50)]
MoreRecipients = Annotated[tuple[Address, ...], "Mail addresses, without names", Field(max_length=50)]
Body = Annotated[str, "The whole text, with greeting and sign-off", Field(min_length=1, max_length=100_000)]
MessageId = Annotated[str, "The message's id, as a search gives it", Field(min_length=1, max_length=500)]

_address: TypeAdapter[str] = TypeAdapter(Address)


@tool(agents=MAIL, needs=("mailbox",), untrusted=True)
async def search_inbox(call: Call, query: Query = "", max_results: Limit = 10) -> Reply:
    """Finds mails that the user received; the newest without a query. Only their heads: read_message has the text."""
    return await _search(call, "inbox", query, max_results)


@tool(agents=MAIL, needs=("mailbox",), untrusted=True)
async def search_sent(call: Call, query: Query = "", max_results: Limit = 10) -> Reply:
    """Finds mails that the user sent. Only their heads: read_message has the text."""
    return await _search(call, "sent", query, max_results)


@tool(agents=MAIL, needs=("mailbox",), untrusted=True)
async def search_drafts(call: Call, query: Query = "", max_results: Limit = 10) -> Reply:
    """Finds the user's drafts, which were not sent. Only their heads: read_message has the text."""
    return await _search(call, "drafts", query, max_results)


@tool(agents=MAIL, needs=("mailbox",), untrusted=True)
async def read_message(call: Call, message_id: MessageId) -> Reply:
    """Reads one mail with its whole text."""
    message = await call.providers.mailbox.read(call.about, message_id)
    source = Source(type="mail", source=message.subject or message.id, excerpt=message.body[:EXCERPT_CHARS] or None)
    return Reply(content=_message_text(message), data={"action": "read", "message": message}, sources=(source,))


# The servers of both sides may look through the whole mail before they answer.
SENDING_S = 180


async def _is_among_drafts(call: Call, **_: Any) -> bool | None:
    return await call.providers.mailbox.holds(call.about, "drafts", message_id_of(call))


async def _was_sent(call: Call, **_: Any) -> bool | None:
    """One that is not in Sent may have been sent all the same: the copy comes there afterwards, and people tidy up."""
    if not call.touched:
        return False
    return await call.providers.mailbox.holds(call.about, "sent", message_id_of(call)) or None


@tool(agents=MAIL, needs=("mailbox",), effect="write", probe=_is_among_drafts)
async def draft_email(
    call: Call,
    to: MoreRecipients,
    subject: Subject,
    body: Body,
    cc: MoreRecipients = (),
) -> Reply:
    """Puts a mail among the user's drafts, for them to look at and send. Nothing is sent."""
    mail = OutgoingMail(message_id=message_id_of(call), to=to, cc=cc, subject=subject, body=body)
    draft = await call.providers.mailbox.save_draft(call.about, mail)
    text = f"The draft '{subject}' was saved (id {draft.id})."
    return Reply(content=text, data={"action": "draft", "draft": {**draft.model_dump(mode="json"), "body": body}})


@tool(
    agents=MAIL,
    needs=("mailbox",),
    effect="write",
    requires_approval=True,
    irreversible=True,
    probe=_was_sent,
    preview=previews.mail,
    timeout_s=SENDING_S,
)
async def send_email(
    call: Call,
    *,
    to: Recipients,
    subject: Subject,
    body: Body,
    cc: MoreRecipients = (),
    bcc: MoreRecipients = (),
) -> Reply:
    """Sends a mail in the user's name. It cannot be taken back. To answer a mail, reply_to_message."""
    mail = OutgoingMail(message_id=message_id_of(call), to=to, cc=cc, bcc=bcc, subject=subject, body=body)
    sent = await call.providers.mailbox.send(call.about, mail, touching=call.touching)
    return Reply(content=f"The mail '{subject}' was sent to {', '.join(to)}.", data={"action": "send", "sent": sent})


@tool(
    agents=MAIL,
    needs=("mailbox",),
    effect="write",
    requires_approval=True,
    irreversible=True,
    probe=_was_sent,
    preview=previews.mail,
    timeout_s=SENDING_S,
)
async def reply_to_message(
    call: Call, message_id: MessageId, to: Recipients, body: Body, cc: MoreRecipients = ()
) -> Reply:
    """Answers a mail in the user's name, in its thread. It cannot be taken back. For a new mail, send_email.

    Whom it goes to is said here and not taken from the mail, which others wrote: people approve what they see.
    """
    original = await call.providers.mailbox.read(call.about, message_id)
    mail = reply_to(original, body, message_id=message_id_of(call), reply_all=False)
    mail = mail.model_copy(update={"to": to, "cc": cc})
    sent = await call.providers.mailbox.send(call.about, mail, touching=call.touching)
    text = f"The answer was sent to {', '.join((*mail.to, *mail.cc))}."
    return Reply(content=text, data={"action": "reply", "reply": sent})


def message_id_of(call: Call) -> str:
    """The Message-ID of what this call writes: by it the mail is found again if nobody recorded how the call ended."""
    return f"<{call.key}@hyperagent>"


def reply_to(original: MailMessage, body: str, *, message_id: str, reply_all: bool) -> OutgoingMail:
    """The answer in the original's thread. Raises ToolError if the original names nobody to answer to."""
    to = _addresses((original.reply_to or original.sender,))
    if not to:
        raise ToolError("This mail names no sender that an answer could go to. Ask the user for the address.")
    others = _addresses((*original.to, *original.cc)) if reply_all else ()
    subject = " ".join(original.subject.split())
    return OutgoingMail(
        message_id=message_id,
        to=to,
        cc=tuple(address for address in others if address not in to),
        subject=subject if subject.lower().startswith("re:") else f"Re: {subject}",
        body=body,
        in_reply_to=original.message_id,
        references=(*original.references, *((original.message_id,) if original.message_id else ())),
        thread_id=original.thread_id,
    )


async def _search(call: Call, folder: Folder, query: str, limit: int) -> Reply:
    found = await call.providers.mailbox.search(call.about, folder, query, limit=limit)
    named = "drafts" if folder == "drafts" else "messages"
    data = {"action": f"search_{folder}", named: list(found), "count": len(found)}
    return Reply(content=_heads_text(found, query), data=data)


def _addresses(texts: tuple[str, ...]) -> tuple[str, ...]:
    """The mail addresses in these header values, without names and doubles; what is none is left out."""
    found: list[str] = []
    for text in texts:
        try:
            address = _address.validate_python(parseaddr(text)[1] if text.isprintable() else "")
        except ValidationError:
            continue
        if address not in found:
            found.append(address)
    return tuple(found)


def _heads_text(found: tuple[MailHeader, ...], query: str) -> str:
    if not found:
        return f"No mail was found for '{query}'." if query else "There is no mail."
    return "\n\n".join(
        f"id {head.id}\nFrom: {head.sender}\nTo: {', '.join(head.to)}\nDate: {head.date}\nSubject: {head.subject}\n"
        f"{head.snippet}"
        for head in found
    )


def _message_text(message: MailMessage) -> str:
    lines = [
        f"id {message.id}",
        f"From: {message.sender}",
        f"To: {', '.join(message.to)}",
        f"Cc: {', '.join(message.cc)}" if message.cc else "",
        f"Date: {message.date}",
        f"Subject: {message.subject}",
        f"Attachments: {', '.join(message.attachments)}" if message.attachments else "",
    ]
    return "\n".join(line for line in lines if line) + f"\n\n{message.body}"
