"""The user's mailboxes: searching, reading, drafts, and sending after a person's yes (S131, S178, S179).

`data` has the form of S179: the action, and what it gave under its name.
"""

from typing import Annotated, Any

from django.utils.translation.trans_null import gettext_noop
from pydantic import Field

from agents.engine.events import Source
from agents.mail.answering import quoting, reply_to
from agents.mail.attaching import Attachment, files_of, looked_at
from agents.tools import previews
from agents.tools.tool import Call, Reply, Sends, ToolError, ToOthers, tool
from agents.tools.values import (
    Address,
    DraftMail,
    Folder,
    MailAttachment,
    MailboxFacts,
    MailHeader,
    MailMessage,
    OutgoingMail,
    Subject,
)

MAIL = ("mail",)
EXCERPT_CHARS = 300
BODY_CHARS = 100_000
SUBJECT_CHARS = 500

Query = Annotated[str, "In Gmail's search syntax, such as from:bob@example.org subject:report newer_than:7d"]
Limit = Annotated[int, "How many at most, newest first", Field(ge=1, le=50)]
Recipients = Annotated[tuple[Address, ...], "Mail addresses, without names", Field(min_length=1, max_length=50)]
MoreRecipients = Annotated[tuple[Address, ...], "Mail addresses, without names", Field(max_length=50)]
# Of tools that had none before: without any, a call is the same as then, and so is what people agreed to.
HiddenRecipients = Annotated[
    tuple[Address, ...], "Mail addresses, without names", Field(max_length=50, exclude_if=lambda some: not some)
]
Body = Annotated[str, "The whole text, with greeting and sign-off", Field(min_length=1, max_length=BODY_CHARS)]
MessageId = Annotated[str, "The message's id, as a search gives it", Field(min_length=1, max_length=500)]
Account = Annotated[
    str, "The address of the mailbox, as list_mailboxes gives it; without it the default one", Field(max_length=254)
]
Attachments = Annotated[tuple[Attachment, ...], "Files of the workspace that go along", Field(max_length=20)]


@tool(label=gettext_noop("List the mailboxes"), agents=MAIL, needs=("mailbox",), sends=Sends.NOWHERE)
async def list_mailboxes(call: Call) -> Reply:
    """Lists the user's mailboxes, the default one first."""
    found = await call.providers.mailbox.accounts(call.about)
    lines = [_mailbox_line(one) for one in found]
    data = {"action": "list_mailboxes", "mailboxes": list(found), "count": len(found)}
    return Reply(content="\n".join(lines) or "There is no mailbox.", data=data)


@tool(
    label=gettext_noop("List the labels of a mailbox"),
    agents=MAIL,
    needs=("mailbox",),
    untrusted=True,
    sends=Sends.NOWHERE,
)
async def list_labels(call: Call, account: Account = "") -> Reply:
    """Lists the labels that the user made, for searching by label:name. Only Gmail has them."""
    found = await call.providers.mailbox.labels(call.about, account=account)
    data = {"action": "list_labels", "labels": list(found), "count": len(found)}
    return Reply(content="\n".join(found) or "This mailbox has no labels.", data=data)


@tool(label=gettext_noop("Search the inbox"), agents=MAIL, needs=("mailbox",), untrusted=True, sends=Sends.NOWHERE)
async def search_inbox(call: Call, query: Query = "", max_results: Limit = 10, account: Account = "") -> Reply:
    """Finds mails that the user received; the newest without a query. Only their heads: read_message has the text."""
    return await _search(call, "inbox", query, max_results, account)


@tool(label=gettext_noop("Search the sent mails"), agents=MAIL, needs=("mailbox",), untrusted=True, sends=Sends.NOWHERE)
async def search_sent(call: Call, query: Query = "", max_results: Limit = 10, account: Account = "") -> Reply:
    """Finds mails that the user sent. Only their heads: read_message has the text."""
    return await _search(call, "sent", query, max_results, account)


@tool(label=gettext_noop("Search the drafts"), agents=MAIL, needs=("mailbox",), untrusted=True, sends=Sends.NOWHERE)
async def search_drafts(call: Call, query: Query = "", max_results: Limit = 10, account: Account = "") -> Reply:
    """Finds the user's drafts, which were not sent. Only their heads: read_message has the text."""
    return await _search(call, "drafts", query, max_results, account)


@tool(label=gettext_noop("Read a mail"), agents=MAIL, needs=("mailbox",), untrusted=True, sends=Sends.NOWHERE)
async def read_message(call: Call, message_id: MessageId, account: Account = "") -> Reply:
    """Reads one mail with its whole text. What is attached is named only: read_attachment, save_attachment."""
    message = await call.providers.mailbox.read(call.about, message_id, account=account)
    return Reply(
        content=message_text(message), data={"action": "read", "message": message}, sources=(_source(message),)
    )


@tool(label=gettext_noop("Read a mail thread"), agents=MAIL, needs=("mailbox",), untrusted=True, sends=Sends.NOWHERE)
async def read_thread(
    call: Call,
    message_id: MessageId,
    max_results: Annotated[int, "How many mails of it at most, the newest", Field(ge=1, le=30)] = 10,
    account: Account = "",
) -> Reply:
    """Reads the whole conversation that a mail belongs to, oldest first. For one mail alone: read_message."""
    found = await call.providers.mailbox.thread(call.about, message_id, limit=max_results, account=account)
    text = "\n\n---\n\n".join(map(message_text, found))
    data = {"action": "read", "messages": list(found), "count": len(found)}
    return Reply(content=text, data=data, sources=tuple(map(_source, found)))


# A large mail over a slow line, and servers that look through all of it; the copy among those sent takes as long again.
SENDING_S = 360
KEEPING_S = 180


async def _is_among_drafts(call: Call, account: str = "", **_: Any) -> bool | None:
    return await call.providers.mailbox.holds(call.about, "drafts", message_id_of(call), account=account)


async def _was_sent(call: Call, account: str = "", draft: DraftMail | None = None, **_: Any) -> bool | None:
    """One that is not in Sent may have been sent all the same: the copy comes there afterwards, and people tidy up."""
    if not call.touched:
        return False
    account = account or (draft.account if draft is not None else "")
    return await call.providers.mailbox.holds(call.about, "sent", message_id_of(call), account=account) or None


async def _new_mail(
    call: Call, account: str = "", attachments: tuple[Attachment, ...] = (), **_: Any
) -> dict[str, Any]:
    """From which address, and with which files exactly: what people approve."""
    return {"account": await _address_of(call, account), "attachments": await _looked_at(call, attachments)}


async def _answer(
    call: Call,
    *,
    message_id: str,
    to: tuple[str, ...],
    body: str,
    cc: tuple[str, ...] = (),
    attachments: tuple[Attachment, ...] = (),
    account: str = "",
    quote: bool = True,
    **_: Any,
) -> dict[str, Any]:
    """The same for an answer; and its subject, and the whole text with what it quotes."""
    original = await call.providers.mailbox.read(call.about, message_id, account=account)
    own = await _address_of(call, account or original.account)
    answer = reply_to(original, body, message_id="", reply_all=False, to=to)
    kept = [address for address in to if address.lower() != own.lower()]
    return {
        "account": own,
        "to": kept or list(to),
        "cc": [address for address in cc if address.lower() != own.lower()],
        "subject": answer.subject[:SUBJECT_CHARS],
        "body": quoting(body, original, limit=BODY_CHARS) if quote else body,
        "quote": False,
        "attachments": await _looked_at(call, attachments),
    }


async def _whole_draft(call: Call, *, draft_id: str, account: str = "", **_: Any) -> dict[str, Any]:
    draft = await call.providers.mailbox.draft(call.about, draft_id, account=account)
    return {"draft": draft.model_dump(mode="json")}


@tool(
    label=gettext_noop("Draft a mail"),
    agents=MAIL,
    needs=("mailbox",),
    effect="write",
    probe=_is_among_drafts,
    settle=_new_mail,
    timeout_s=KEEPING_S,
    sends=Sends.NOWHERE,
)
async def draft_email(
    call: Call,
    *,
    to: MoreRecipients,
    subject: Subject,
    body: Body,
    cc: MoreRecipients = (),
    bcc: HiddenRecipients = (),
    attachments: Attachments = (),
    account: Account = "",
) -> Reply:
    """Puts a mail among the user's drafts, for them to look at and send. Nothing is sent."""
    mail = OutgoingMail(message_id=message_id_of(call), to=to, cc=cc, bcc=bcc, subject=subject, body=body)
    files = await files_of(call, attachments)
    draft = await call.providers.mailbox.save_draft(call.about, mail, files=files, account=account)
    text = f"The draft '{subject}' was saved (id {draft.id})."
    return Reply(content=text, data={"action": "draft", "draft": {**draft.model_dump(mode="json"), "body": body}})


@tool(
    label=gettext_noop("Send a mail"),
    agents=MAIL,
    needs=("mailbox",),
    effect="write",
    requires_approval=True,
    irreversible=True,
    probe=_was_sent,
    preview=previews.mail,
    settle=_new_mail,
    timeout_s=SENDING_S,
    sends=ToOthers(),
)
async def send_email(
    call: Call,
    *,
    to: Recipients,
    subject: Subject,
    body: Body,
    cc: MoreRecipients = (),
    bcc: MoreRecipients = (),
    attachments: Attachments = (),
    account: Account = "",
) -> Reply:
    """Sends a mail in the user's name. It cannot be taken back. To answer a mail, reply_to_message."""
    mail = OutgoingMail(message_id=message_id_of(call), to=to, cc=cc, bcc=bcc, subject=subject, body=body)
    files = await files_of(call, attachments)
    sent = await call.providers.mailbox.send(call.about, mail, files=files, touching=call.touching, account=account)
    return Reply(content=f"The mail '{subject}' was sent to {', '.join(to)}.", data={"action": "send", "sent": sent})


@tool(
    label=gettext_noop("Answer a mail"),
    agents=MAIL,
    needs=("mailbox",),
    effect="write",
    requires_approval=True,
    irreversible=True,
    probe=_was_sent,
    preview=previews.mail,
    settle=_answer,
    timeout_s=SENDING_S,
    sends=ToOthers(),
)
async def reply_to_message(
    call: Call,
    *,
    message_id: MessageId,
    to: Recipients,
    body: Body,
    cc: MoreRecipients = (),
    bcc: HiddenRecipients = (),
    subject: Annotated[str, "Filled in by itself", Field(pattern=r"^[^\r\n]*$", max_length=SUBJECT_CHARS)] = "",
    quote: Annotated[bool, "Whether the mail that it answers stands below the text"] = True,
    attachments: Attachments = (),
    account: Account = "",
) -> Reply:
    """Answers a mail in the user's name, in its thread. It cannot be taken back. For a new mail, send_email.

    Whom it goes to is said here and not taken from the mail, which others wrote: people approve what they see.
    """
    original = await call.providers.mailbox.read(call.about, message_id, account=account)
    mail = reply_to(original, body, message_id=message_id_of(call), reply_all=False, to=to)
    mail = mail.model_copy(update={"cc": cc, "bcc": bcc, "subject": subject or mail.subject})
    files = await files_of(call, attachments)
    sent = await call.providers.mailbox.send(call.about, mail, files=files, touching=call.touching, account=account)
    text = f"The answer was sent to {', '.join((*mail.to, *mail.cc, *mail.bcc))}."
    return Reply(content=text, data={"action": "reply", "reply": sent})


@tool(
    label=gettext_noop("Send a draft"),
    agents=MAIL,
    needs=("mailbox",),
    effect="write",
    requires_approval=True,
    irreversible=True,
    probe=_was_sent,
    preview=previews.draft,
    settle=_whole_draft,
    timeout_s=SENDING_S,
    untrusted=True,
    sends=ToOthers(),
)
async def send_draft(
    call: Call,
    draft_id: Annotated[str, "The draft's id, as search_drafts gives it", Field(min_length=1, max_length=500)],
    account: Account = "",
    draft: Annotated[DraftMail | None, "Filled in by itself"] = None,
) -> Reply:
    """Sends one of the user's drafts as it is. It cannot be taken back. To change it first, write it anew."""
    if draft is None or draft.id != draft_id:
        raise ToolError("A draft is sent as it is. Write a new mail to send something else.")
    now = await call.providers.mailbox.draft(call.about, draft_id, account=account)
    if now != draft:
        raise ToolError("The draft is not the one that was approved: a draft is sent as it is. Nothing was sent.")
    sent = await call.providers.mailbox.send_draft(
        call.about,
        draft_id,
        message_id=message_id_of(call),
        digest=draft.digest,
        touching=call.touching,
        account=account,
    )
    text = f"The draft '{draft.subject}' was sent to {', '.join(draft.to)}."
    return Reply(content=text, data={"action": "send", "sent": sent})


def message_id_of(call: Call) -> str:
    """The Message-ID of what this call writes: by it the mail is found again if nobody recorded how the call ended."""
    return f"<{call.key}@hyperagent>"


async def _search(call: Call, folder: Folder, query: str, limit: int, account: str) -> Reply:
    found = await call.providers.mailbox.search(call.about, folder, query, limit=limit, account=account)
    named = "drafts" if folder == "drafts" else "messages"
    data = {"action": f"search_{folder}", named: list(found), "count": len(found)}
    return Reply(content=_heads_text(found, query), data=data)


async def _address_of(call: Call, account: str) -> str:
    """The mailbox that this is from, by its name; empty where there is none to choose."""
    found = await call.providers.mailbox.accounts(call.about)
    if not account:
        return next((one.address for one in found), "")
    named = next((one.address for one in found if one.address.lower() == account.strip().lower()), None)
    if named is None:
        addresses = ", ".join(one.address for one in found) or "none"
        raise ToolError(f"There is no mailbox {account} here. There are: {addresses}.")
    return named


async def _looked_at(call: Call, attachments: tuple[Attachment, ...]) -> list[dict[str, Any]]:
    return [one.model_dump(mode="json") for one in await looked_at(call, attachments)]


def _source(message: MailMessage) -> Source:
    return Source(type="mail", source=message.subject or message.id, excerpt=message.body[:EXCERPT_CHARS] or None)


def _mailbox_line(mailbox: MailboxFacts) -> str:
    marks = [mailbox.kind, *(["default"] if mailbox.is_default else [])]
    trouble = f" Not working: {mailbox.trouble}" if mailbox.trouble else ""
    return f"{mailbox.address} ({', '.join(marks)}).{trouble}"


def _heads_text(found: tuple[MailHeader, ...], query: str) -> str:
    if not found:
        return f"No mail was found for '{query}'." if query else "There is no mail."
    return "\n\n".join(
        f"id {head.id}\nFrom: {head.sender}\nTo: {', '.join(head.to)}\nDate: {head.date}\nSubject: {head.subject}\n"
        f"{head.snippet}"
        for head in found
    )


def message_text(message: MailMessage) -> str:
    lines = [
        f"id {message.id}",
        f"From: {message.sender}",
        f"To: {', '.join(message.to)}",
        f"Cc: {', '.join(message.cc)}" if message.cc else "",
        f"Date: {message.date}",
        f"Subject: {message.subject}",
        f"Attachments: {'; '.join(map(_attachment_text, message.attachments))}" if message.attachments else "",
    ]
    return "\n".join(line for line in lines if line) + f"\n\n{message.body}"


def _attachment_text(attachment: MailAttachment) -> str:
    return f"{attachment.number}: {attachment.name} ({attachment.size_bytes:,} bytes)"
