"""What is the same in every mailbox, however it is reached: drafts, sending, and how its mails are told apart.

Where a draft lies and who takes a mail is for those below. A large mail takes a second to be written or read: both are
done in threads, beside the other runs of the process.
"""

import asyncio
import re
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Final

import structlog

from agents.mail.files import AttachedFile
from agents.mail.imap import MAIL_BYTES
from agents.mail.reading import attached_in, draft_of
from agents.mail.writing import Letter, letter_of, letter_of_draft
from agents.runtime.driven import About
from agents.tools.tool import ToolError
from agents.tools.values import DraftMail, MailMessage, OutgoingMail, StoredMail

log = structlog.get_logger(__name__)

Touching = Callable[[], Awaitable[None]]

DRAFT_CHANGED: Final = "The draft is not the one any more that was approved: somebody changed it. Nothing was sent."
NO_SUCH_MAIL: Final = "There is no mail with the id {id}: search for it, and take the id from there."
MOVED: Final = "The mail {id} is no longer where it was: search for it again."
NO_DRAFT: Final = "{id} is no draft's id: take one as search_drafts gives it."
_MESSAGE_ID: Final = re.compile(r"^<[^\s<>\"\\]{1,490}>$")


class OneMailbox(ABC):
    """`address`, `sender_name`: whom its mails are from. `About` is not looked at: whose it is was decided before."""

    def __init__(self, address: str, sender_name: str) -> None:
        self.address = address
        self.sender_name = sender_name

    async def save_draft(
        self, about: About, mail: OutgoingMail, *, files: Sequence[AttachedFile] = (), account: str = ""
    ) -> StoredMail:
        letter = await self._letter(mail, files)
        return self._stored(mail, await self._keep_draft(letter, thread_id=mail.thread_id))

    async def draft(self, about: About, draft_id: str, *, account: str = "") -> DraftMail:
        raw = await self._raw_draft(draft_id)
        return await asyncio.to_thread(_shown, draft_id, raw)

    async def send(
        self,
        about: About,
        mail: OutgoingMail,
        *,
        touching: Touching,
        files: Sequence[AttachedFile] = (),
        account: str = "",
    ) -> StoredMail:
        """Leaves the account's own address out of an answer to all. ToolError says whether it may have been sent."""
        mail = without_own(mail, self.address)
        letter = await self._letter(mail, files)
        return self._stored(mail, await self._hand_over(letter, touching, thread_id=mail.thread_id))

    async def send_draft(
        self,
        about: About,
        draft_id: str,
        *,
        message_id: str,
        digest: str,
        touching: Touching,
        account: str = "",
    ) -> StoredMail:
        raw = await self._raw_draft(draft_id)
        draft = await asyncio.to_thread(_shown, draft_id, raw)
        if draft.digest != digest:
            raise ToolError(DRAFT_CHANGED)
        letter = await asyncio.to_thread(
            letter_of_draft,
            raw,
            draft,
            message_id=message_id,
            sender=self.address,
            sender_name=self.sender_name,
            at=datetime.now(UTC),
        )
        id_ = await self._hand_over(letter, touching, thread_id=None)
        try:
            await self._remove_draft(draft_id)
        except ToolError as error:
            # It was sent: that it stays among the drafts is no reason to say otherwise.
            log.warning("mail.draft_not_removed", why=error.message)
        return StoredMail(
            id=id_ or message_id, message_id=message_id, to=draft.to, subject=draft.subject, sender=self.address
        )

    # --- for those below

    @abstractmethod
    async def _keep_draft(self, letter: Letter, *, thread_id: str | None) -> str:
        """Its id; empty if the mailbox did not say."""

    @abstractmethod
    async def _raw_draft(self, draft_id: str) -> bytes:
        """All of it. Raises ToolError for what is no draft, or too large to be sent from here."""

    @abstractmethod
    async def _hand_over(self, letter: Letter, touching: Touching, *, thread_id: str | None) -> str:
        """The id of the mail among those sent; empty if the mailbox did not say. `touching` is awaited right before it
        may leave. ToolError says whether it may have been sent."""

    @abstractmethod
    async def _remove_draft(self, draft_id: str) -> None:
        """Raises ToolError."""

    # --- inside

    async def _letter(self, mail: OutgoingMail, files: Sequence[AttachedFile]) -> Letter:
        at = datetime.now(UTC)
        return await asyncio.to_thread(
            letter_of, mail, sender=self.address, sender_name=self.sender_name, at=at, files=files
        )

    def _stored(self, mail: OutgoingMail, id_: str) -> StoredMail:
        return StoredMail(
            id=id_ or mail.message_id,
            message_id=mail.message_id,
            to=mail.to,
            subject=mail.subject,
            sender=self.address,
        )


def without_own(mail: OutgoingMail, own: str) -> OutgoingMail:
    """An answer to all does not come back to who sends it; one to oneself alone does."""
    if not mail.in_reply_to or len(mail.to) + len(mail.cc) <= 1:
        return mail

    def others(addresses: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(address for address in addresses if address.lower() != own.lower())

    return mail.model_copy(update={"to": others(mail.to) or mail.to, "cc": others(mail.cc)})


def is_message_id(text: str) -> bool:
    return _MESSAGE_ID.match(text) is not None


def whole_attachment(raw: bytes, number: int, *, is_cut: bool) -> AttachedFile:
    """Raises ToolError where it is not there, or not all of it."""
    file = attached_in(raw, number)
    if file is None:
        raise ToolError(f"This mail has no attachment {number}: read_message says which it has.")
    if is_cut:
        raise ToolError(f"This mail is larger than {MAIL_BYTES:,} bytes: look at its attachments in a mail program.")
    return file


def newest_of(found: Iterable[MailMessage], asked_for: MailMessage, limit: int) -> tuple[MailMessage, ...]:
    """Oldest first; the one that was asked for is among them."""
    ordered = sorted((mail for mail in found if mail != asked_for), key=_moment_of, reverse=True)[: limit - 1]
    return tuple(sorted([*ordered, asked_for], key=_moment_of))


def _moment_of(mail: MailMessage) -> float:
    try:
        moment = datetime.fromisoformat(mail.date)
    except ValueError:
        return 0.0
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _shown(draft_id: str, raw: bytes) -> DraftMail:
    return draft_of(draft_id, raw, digest=sha256(raw.replace(b"\r\n", b"\n")).hexdigest())
