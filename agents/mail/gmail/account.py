"""One mailbox at Gmail, by its REST API. Implements the provider `Mailbox` for whoever it belongs to.

Gmail may give a mail another Message-ID than it was sent with, so each carries ours once more in a header of its own:
by it a mail is found again whose sending nobody recorded. Not found proves nothing here either (`agents.mail.account`).
"""

import asyncio
import base64
import binascii
import html
import re
from collections.abc import Awaitable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from agents.mail.files import AttachedFile
from agents.mail.gmail.api import GmailApi, Gone, TooLarge
from agents.mail.imap import MAIL_BYTES
from agents.mail.mailbox import (
    MOVED,
    NO_DRAFT,
    NO_SUCH_MAIL,
    OneMailbox,
    Touching,
    is_message_id,
    newest_of,
    whole_attachment,
)
from agents.mail.reading import CUT, head_of_fields, message_of
from agents.mail.troubles import MailTrouble
from agents.mail.writing import Letter
from agents.runtime.driven import About
from agents.tools.tool import ToolError
from agents.tools.values import Folder, MailboxFacts, MailHeader, MailMessage

T = TypeVar("T")
AT_ONCE: Final = 8
WHOLE_AT_ONCE: Final = 2
"""Whole mails, with all that is attached to them: each may take a hundred megabytes while it is read."""
LABELS: Final = {"inbox": "INBOX", "sent": "SENT"}
OWN_HEADER: Final = "X-HyperAgent-Id"
# How many of the newest mails are looked at for our header.
LOOKED_AT: Final = 25
LABELS_SHOWN: Final = 60
_SAYS_WHERE: Final = re.compile(r"(?:^|[\s({-])(?:in|label|category):", re.IGNORECASE)
_MAIL: Final = re.compile(r"^g\.([0-9a-zA-Z_-]{1,64})$")
_DRAFT: Final = re.compile(r"^d\.([0-9a-zA-Z_-]{1,64})$")
_HEAD: Final = "id,threadId,snippet,internalDate,payload/headers"


class GmailAccount(OneMailbox):
    def __init__(self, api: GmailApi, *, address: str, name: str = "") -> None:
        super().__init__(address, name)
        self._api = api
        self._some = asyncio.Semaphore(AT_ONCE)
        self._whole = asyncio.Semaphore(WHOLE_AT_ONCE)
        self._sending: set[asyncio.Future[dict[str, Any]]] = set()

    async def accounts(self, about: About) -> tuple[MailboxFacts, ...]:
        return (MailboxFacts(address=self.address, name=self.sender_name, kind="gmail", is_default=True),)

    async def labels(self, about: About, *, account: str = "") -> tuple[str, ...]:
        """Those that the person made, for searching by `label:`."""
        said = await self._api.get("labels")
        names = [str(one.get("name", "")) for one in said.get("labels", ()) if one.get("type") == "user"]
        return tuple(sorted(names))[:LABELS_SHOWN]

    async def search(
        self, about: About, folder: Folder, query: str, *, limit: int, account: str = ""
    ) -> tuple[MailHeader, ...]:
        """Newest first, by Gmail's own words. A query that says where to look is not kept to the inbox."""
        if folder == "drafts":
            found = await self._listed("drafts", {"q": query, "maxResults": limit})
            named = [(f"d.{one['id']}", str(one["message"]["id"])) for one in found]
        else:
            found = await self._listed("messages", _asked(folder, query, limit))
            named = [(f"g.{one['id']}", str(one["id"])) for one in found]
        return await _still_there(self._head(shown, id_) for shown, id_ in named)

    async def read(self, about: About, message_id: str, *, account: str = "") -> MailMessage:
        return await self._read(await self._id_of(message_id))

    async def thread(self, about: About, message_id: str, *, limit: int, account: str = "") -> tuple[MailMessage, ...]:
        first = await self.read(about, message_id)
        said = await self._api.get(f"threads/{first.thread_id}", {"format": "minimal", "fields": "messages/id"})
        ids = [f"g.{one['id']}" for one in said.get("messages", ()) if isinstance(one, dict) and "id" in one]
        others = [id_ for id_ in ids if id_ != first.id][-limit:]
        found = await _still_there(self._read(id_) for id_ in others)
        return newest_of(found, first, limit)

    async def attachment(self, about: About, message_id: str, number: int, *, account: str = "") -> AttachedFile:
        try:
            raw, _ = await self._raw(await self._id_of(message_id))
        except TooLarge:
            raise ToolError(f"This mail is larger than {MAIL_BYTES:,} bytes: look at it in Gmail.") from None
        return await asyncio.to_thread(whole_attachment, raw, number, is_cut=False)

    async def holds(self, about: About, folder: Folder, message_id: str, *, account: str = "") -> bool | None:
        """Whether a mail that was sent with this Message-ID is there now; None if the mailbox cannot tell."""
        kind = "drafts" if folder == "drafts" else "messages"
        by_id: dict[str, str | int] = {"q": f"rfc822msgid:{message_id.strip('<>')}", "maxResults": 1}
        where: dict[str, str | int] = {} if folder == "drafts" else {"labelIds": LABELS[folder]}
        try:
            if await self._listed(kind, {**by_id, **where}):
                return True
            newest = await self._listed(kind, {"maxResults": LOOKED_AT, **where})
            ids = [str(one["message"]["id"] if folder == "drafts" else one["id"]) for one in newest]
            marks = await _still_there(self._own_mark(id_) for id_ in ids)
        except (ToolError, TooLarge, KeyError, TypeError):
            return None
        return message_id in marks

    # --- inside

    async def _listed(self, kind: str, params: Mapping[str, str | int]) -> list[dict[str, Any]]:
        said = await self._api.get(kind, params)
        return [one for one in said.get(kind, ()) if isinstance(one, dict) and "id" in one]

    async def _head(self, shown: str, id_: str) -> MailHeader:
        async with self._some:
            said = await self._api.get(f"messages/{id_}", {"format": "metadata", "fields": _HEAD})
        snippet = html.unescape(str(said.get("snippet", "")))
        head = head_of_fields(shown, _fields(said), snippet, arrived=_arrived(said))
        return head.model_copy(update={"thread_id": _text_or_none(said.get("threadId"))})

    async def _own_mark(self, id_: str) -> str:
        async with self._some:
            said = await self._api.get(f"messages/{id_}", {"format": "metadata", "fields": "payload/headers"})
        return next((value for name, value in _fields(said) if name.lower() == OWN_HEADER.lower()), "")

    async def _id_of(self, message_id: str) -> str:
        if _MAIL.match(message_id) or _DRAFT.match(message_id):
            return message_id
        if not is_message_id(message_id):
            raise ToolError(NO_SUCH_MAIL.format(id=message_id))
        found = await self._listed("messages", {"q": f"rfc822msgid:{message_id.strip('<>')}", "maxResults": 1})
        if not found:
            raise ToolError(MOVED.format(id=message_id))
        return f"g.{found[0]['id']}"

    async def _read(self, shown: str) -> MailMessage:
        try:
            async with self._whole:
                raw, said = await self._raw(shown)
                message = await asyncio.to_thread(message_of, shown, raw, arrived=_arrived(said), is_cut=False)
        except TooLarge:
            return await self._beginning(shown)
        return message.model_copy(update={"thread_id": _text_or_none(said.get("threadId"))})

    async def _beginning(self, shown: str) -> MailMessage:
        """Of a mail that is too large to be read."""
        head = await self._head(shown, shown.removeprefix("g."))
        return MailMessage(**{**head.model_dump(by_alias=False), "body": f"{head.snippet}\n\n{CUT}"})

    async def _raw(self, shown: str) -> tuple[bytes, dict[str, Any]]:
        draft = _DRAFT.match(shown)
        path = f"drafts/{draft[1]}" if draft else f"messages/{shown.removeprefix('g.')}"
        async with self._some:
            said = await self._api.get(path, {"format": "raw"}, max_bytes=MAIL_BYTES * 3 // 2)
        message = said.get("message", {}) if draft else said
        return await asyncio.to_thread(_decoded, message.get("raw")), message

    async def _raw_draft(self, draft_id: str) -> bytes:
        if not _DRAFT.match(draft_id):
            raise ToolError(NO_DRAFT.format(id=draft_id))
        try:
            return (await self._raw(draft_id))[0]
        except TooLarge:
            raise ToolError("This draft is too large to be sent from here. Send it in Gmail.") from None

    async def _keep_draft(self, letter: Letter, *, thread_id: str | None) -> str:
        raw = _marked(letter)
        encoded = await asyncio.to_thread(_encoded, raw)
        await self._api.ready()
        said = await self._api.keep_draft(raw, encoded=encoded, thread_id=thread_id)
        return f"d.{said['id']}" if "id" in said else ""

    async def _remove_draft(self, draft_id: str) -> None:
        await self._api.delete(f"drafts/{draft_id.removeprefix('d.')}")

    async def _hand_over(self, letter: Letter, touching: Touching, *, thread_id: str | None) -> str:
        raw = _marked(letter)
        encoded = await asyncio.to_thread(_encoded, raw)
        await self._api.ready()
        await touching()
        # From here on it goes to its end, also where nobody waits any more: Gmail's Sent tells what happened.
        sending = asyncio.ensure_future(self._api.send(raw, encoded=encoded, thread_id=thread_id))
        self._sending.add(sending)
        sending.add_done_callback(self._sending.discard)
        said = await asyncio.shield(sending)
        return f"g.{said['id']}" if "id" in said else ""


async def _still_there(getting: Iterable[Awaitable[T]]) -> tuple[T, ...]:
    """Without those that are gone since they were listed: a draft that somebody is writing is another one every few
    seconds."""

    async def one(awaited: Awaitable[T]) -> list[T]:
        try:
            return [await awaited]
        except Gone:
            return []

    found = await asyncio.gather(*map(one, getting))
    return tuple(got for gots in found for got in gots)


def _asked(folder: Folder, query: str, limit: int) -> dict[str, str | int]:
    if folder == "inbox" and _SAYS_WHERE.search(query):
        return {"q": f"{query} -in:sent -in:drafts", "maxResults": limit}
    return {"q": query, "maxResults": limit, "labelIds": LABELS[folder]}


def _marked(letter: Letter) -> bytes:
    """With our header, and with those of the blind copy, whom Gmail takes out by itself."""
    return f"{OWN_HEADER}: {letter.message_id}\r\n".encode() + letter.kept


def _encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode()


def _decoded(raw: Any) -> bytes:
    text = raw if isinstance(raw, str) else ""
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        raise ToolError("Gmail gave a mail that cannot be read. Look at it in Gmail.") from None


def _fields(said: Mapping[str, Any]) -> list[tuple[str, str]]:
    payload = said.get("payload")
    headers = payload.get("headers", ()) if isinstance(payload, dict) else ()
    return [(str(one.get("name", "")), str(one.get("value", ""))) for one in headers if isinstance(one, dict)]


def _arrived(said: Mapping[str, Any]) -> datetime | None:
    try:
        return datetime.fromtimestamp(int(said["internalDate"]) / 1000, UTC)
    except (KeyError, ValueError, TypeError, OverflowError, OSError):
        return None


def _text_or_none(value: Any) -> str | None:
    return str(value)[:100] if value else None


async def own_identity(api: GmailApi) -> tuple[str, str]:
    """The address that we were let into, and the name that it sends by; empty if it has none."""
    said = await api.get("profile")
    address = str(said.get("emailAddress", ""))[:254]
    if "@" not in address:
        raise MailTrouble("Google did not say which mailbox this is. Try again later.")
    try:
        aliases = (await api.get("settings/sendAs")).get("sendAs", ())
    except ToolError:
        return address, ""
    names = [str(one.get("displayName", "")) for one in aliases if isinstance(one, dict) and one.get("isPrimary")]
    return address, next(iter(names), "")
