"""One mailbox that is reached by SMTP and IMAP. Implements the provider `Mailbox` for whoever it belongs to.

What each state of a mail that is being sent proves, if the process dies in it:

1. The effect is started, `touching` was not awaited. The server has everything but the last line, or nothing: a
   connection that ends there ends the mail. It was not sent, and whoever takes over sends it.
2. `touching` is durable, the mail is not in Sent. The last line may have left, and the server may have taken it:
   nobody can tell. A person is asked.
3. The mail is in Sent, by its Message-ID, which is made of the effect's key. It was sent: the copy is put there when
   the server has said that it took the mail.
4. The effect is finished.

That a mail is *not* in Sent proves nothing (state 2, a person who tidied up, a server that keeps no copies). And a copy
that is put there before sending would not tell more: between it and the server's word lies the same gap, and people
would find mails in Sent that never left.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Final, TypeVar

import structlog

from agents.mail.files import AttachedFile
from agents.mail.imap import MAIL_BYTES, Connection, Found, connected, shown_id
from agents.mail.imap import TIMEOUT_S as IMAP_TIMEOUT_S
from agents.mail.lanes import Lane, Lanes
from agents.mail.queries import terms_of
from agents.mail.reading import attached_in, draft_of, head_of, message_of
from agents.mail.smtp import COMMAND_TIMEOUT_S as SMTP_TIMEOUT_S
from agents.mail.smtp import Handover
from agents.mail.writing import Letter, known_ids, letter_of, letter_of_draft
from agents.runtime.driven import About
from agents.tools.tool import ToolError
from agents.tools.values import (
    DraftMail,
    Folder,
    MailboxFacts,
    MailHeader,
    MailMessage,
    OutgoingMail,
    StoredMail,
)
from hyperagent.lib.mail_servers import MailServer

log = structlog.get_logger(__name__)

T = TypeVar("T")
FOLDERS: Final[tuple[Folder, ...]] = ("inbox", "sent", "drafts")
IN_THREADS: Final[tuple[Folder, ...]] = ("inbox", "sent")
DRAFT_CHANGED: Final = "The draft is not the one any more that was approved: somebody changed it. Nothing was sent."
_ID: Final = re.compile(r"^(inbox|sent|drafts)\.(\d{1,10})\.(\d{1,10})$")
_MESSAGE_ID: Final = re.compile(r"^<[^\s<>\"\\]{1,490}>$")


class ServerAccount:
    """Makes no connection until it is asked for something. `About` is not looked at: whose it is was decided before.

    `lane`: the share of its owner; without, one of its own.
    """

    def __init__(
        self,
        smtp: MailServer,
        imap: MailServer,
        *,
        handing_over: type[Handover] = Handover,
        lane: Lane | None = None,
    ) -> None:
        self._smtp = smtp
        self._imap = imap
        self._handing_over = handing_over
        self._lane = lane or Lanes().of("")
        self._finishing: set[asyncio.Future[str]] = set()

    @property
    def address(self) -> str:
        return self._smtp.sender

    @property
    def servers(self) -> tuple[MailServer, ...]:
        return self._smtp, self._imap

    def check(self, *, timeout_s: float | None = None) -> None:
        """Connects and signs in to both, and changes nothing. Blocking. Raises MailTrouble for the first that fails."""
        self._check_imap(timeout_s or IMAP_TIMEOUT_S)
        self._check_smtp(timeout_s or SMTP_TIMEOUT_S)

    def troubles(self) -> list[str]:
        """The same for both, what is wrong as a sentence each."""
        found = []
        for check, timeout_s in ((self._check_smtp, SMTP_TIMEOUT_S), (self._check_imap, IMAP_TIMEOUT_S)):
            try:
                check(timeout_s)
            except ToolError as error:
                found.append(error.message)
        return found

    async def accounts(self, about: About) -> tuple[MailboxFacts, ...]:
        return (MailboxFacts(address=self.address, name=self._smtp.sender_name, kind="shared", is_default=True),)

    async def labels(self, about: About, *, account: str = "") -> tuple[str, ...]:
        """IMAP has none."""
        return ()

    async def search(
        self, about: About, folder: Folder, query: str, *, limit: int, account: str = ""
    ) -> tuple[MailHeader, ...]:
        """Newest first."""
        terms = terms_of(query, today=datetime.now(UTC).date())

        def work(mailbox: Connection) -> tuple[MailHeader, ...]:
            mailbox.open(folder)
            found = mailbox.heads(mailbox.search(terms, limit=limit))
            return tuple(
                head_of(shown_id(folder, mailbox.uid_validity, mail.uid), mail.raw, arrived=mail.arrived)
                for mail in found
            )

        return await self._with_mailbox(work)

    async def read(self, about: About, message_id: str, *, account: str = "") -> MailMessage:
        """By the id that a search gave, or by the Message-ID."""

        def work(mailbox: Connection) -> MailMessage:
            folder, mail = _found(mailbox, message_id)
            id_ = shown_id(folder, mailbox.uid_validity, mail.uid)
            return message_of(id_, mail.raw, arrived=mail.arrived, is_cut=mail.size > MAIL_BYTES)

        return await self._with_mailbox(work)

    async def thread(self, about: About, message_id: str, *, limit: int, account: str = "") -> tuple[MailMessage, ...]:
        """By the ids that its mails name, in the inbox and among what was sent."""

        def work(mailbox: Connection) -> tuple[MailMessage, ...]:
            folder, mail = _found(mailbox, message_id)
            id_ = shown_id(folder, mailbox.uid_validity, mail.uid)
            first = message_of(id_, mail.raw, arrived=mail.arrived, is_cut=mail.size > MAIL_BYTES)
            return _thread_of(mailbox, first, limit)

        return await self._with_mailbox(work)

    async def attachment(self, about: About, message_id: str, number: int, *, account: str = "") -> AttachedFile:
        def work(mailbox: Connection) -> AttachedFile:
            _, mail = _found(mailbox, message_id)
            return whole_attachment(mail.raw, number, is_cut=mail.size > MAIL_BYTES)

        return await self._with_mailbox(work)

    async def save_draft(
        self, about: About, mail: OutgoingMail, *, files: Sequence[AttachedFile] = (), account: str = ""
    ) -> StoredMail:
        letter = self._letter(mail, files)
        id_ = await self._with_mailbox(lambda mailbox: mailbox.put("drafts", letter.kept, r"(\Draft \Seen)"))
        return _stored(mail, id_, self.address)

    async def draft(self, about: About, draft_id: str, *, account: str = "") -> DraftMail:
        def work(mailbox: Connection) -> DraftMail:
            folder, mail = _found_draft(mailbox, draft_id)
            id_ = shown_id(folder, mailbox.uid_validity, mail.uid)
            return draft_of(id_, mail.raw, digest=digest_of(mail.raw))

        return await self._with_mailbox(work)

    async def send(
        self,
        about: About,
        mail: OutgoingMail,
        *,
        touching: Callable[[], Awaitable[None]],
        files: Sequence[AttachedFile] = (),
        account: str = "",
    ) -> StoredMail:
        """Leaves the account's own address out of an answer to all. ToolError says whether it may have been sent."""
        mail = without_own(mail, self.address)
        id_ = await self._hand_over(self._letter(mail, files), touching)
        return _stored(mail, id_, self.address)

    async def send_draft(
        self,
        about: About,
        draft_id: str,
        *,
        message_id: str,
        digest: str,
        touching: Callable[[], Awaitable[None]],
        account: str = "",
    ) -> StoredMail:
        def work(mailbox: Connection) -> bytes:
            return _found_draft(mailbox, draft_id)[1].raw

        raw = await self._with_mailbox(work)
        if digest_of(raw) != digest:
            raise ToolError(DRAFT_CHANGED)
        letter = letter_of_draft(
            raw,
            message_id=message_id,
            sender=self.address,
            sender_name=self._smtp.sender_name,
            at=datetime.now(UTC),
        )
        id_ = await self._hand_over(letter, touching)
        await self._remove_draft(draft_id)
        facts = draft_of(draft_id, raw, digest=digest)
        return StoredMail(
            id=id_ or message_id, message_id=message_id, to=facts.to, subject=facts.subject, sender=self.address
        )

    async def holds(self, about: About, folder: Folder, message_id: str, *, account: str = "") -> bool | None:
        """Whether a mail with this Message-ID is in the folder now; None if the mailbox cannot tell."""

        def work(mailbox: Connection) -> bool:
            mailbox.open(folder)
            return bool(mailbox.holds(message_id))

        try:
            return await self._with_mailbox(work)
        except ToolError:
            return None

    # --- inside

    def _check_smtp(self, timeout_s: float) -> None:
        handover = self._handing_over(self._smtp, timeout_s=timeout_s)
        try:
            handover.check()
        finally:
            handover.close()

    def _check_imap(self, timeout_s: float) -> None:
        with connected(self._imap, timeout_s=timeout_s) as mailbox:
            mailbox.open("inbox")

    def _letter(self, mail: OutgoingMail, files: Sequence[AttachedFile]) -> Letter:
        sender_name = self._smtp.sender_name
        return letter_of(mail, sender=self.address, sender_name=sender_name, at=datetime.now(UTC), files=files)

    async def _remove_draft(self, draft_id: str) -> None:
        """It was sent: that it stays among the drafts is no reason to say otherwise."""

        def work(mailbox: Connection) -> None:
            mailbox.remove("drafts", int(_ID.match(draft_id)[3]))  # type: ignore[index]

        try:
            await self._with_mailbox(work)
        except ToolError as error:
            log.warning("mail.draft_not_removed", why=error.message)

    async def _hand_over(self, letter: Letter, touching: Callable[[], Awaitable[None]]) -> str:
        # Whole mails, one after the other: one that is begun does not wait behind others before its last line.
        async with self._lane.sending, self._lane.lanes.all_sending:
            handover = self._handing_over(self._smtp)
            preparing = self._lane.lanes.sending.submit(handover.prepare, letter)
            try:
                await asyncio.wrap_future(preparing)
                await touching()
            except BaseException:
                # A thread that is still at it cannot be stopped; the server forgets the mail when it is done.
                preparing.add_done_callback(lambda _: handover.close())
                raise
            # From here on it goes to its end, also where nobody waits any more: the copy in Sent tells what happened.
            finishing = asyncio.ensure_future(self._finish(handover, letter))
            self._finishing.add(finishing)
            finishing.add_done_callback(self._finishing.discard)
            return await asyncio.shield(finishing)

    async def _finish(self, handover: Handover, letter: Letter) -> str:
        """The id of the copy in Sent. That it could not be kept is no reason to say that the mail was not sent."""
        try:
            await asyncio.wrap_future(self._lane.lanes.sending.submit(handover.finish))
        finally:
            handover.close()
        try:
            return await self._with_mailbox(lambda mailbox: _keep(mailbox, letter))
        except ToolError as error:
            log.warning("mail.not_kept", message_id=letter.message_id, why=error.message)
            return ""

    async def _with_mailbox(self, work: Callable[[Connection], T]) -> T:
        def connect_and_work() -> T:
            with connected(self._imap) as mailbox:
                return work(mailbox)

        async with self._lane.reading:
            return await asyncio.wrap_future(self._lane.lanes.reading.submit(connect_and_work))


def without_own(mail: OutgoingMail, own: str) -> OutgoingMail:
    """An answer to all does not come back to who sends it; one to oneself alone does."""
    if not mail.in_reply_to or len(mail.to) + len(mail.cc) <= 1:
        return mail

    def others(addresses: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(address for address in addresses if address.lower() != own.lower())

    return mail.model_copy(update={"to": others(mail.to) or mail.to, "cc": others(mail.cc)})


def whole_attachment(raw: bytes, number: int, *, is_cut: bool) -> AttachedFile:
    """Raises ToolError where it is not there, or not all of it."""
    file = attached_in(raw, number)
    if file is None:
        raise ToolError(f"This mail has no attachment {number}: read_message says which it has.")
    if is_cut:
        raise ToolError(f"This mail is larger than {MAIL_BYTES:,} bytes: look at its attachments in a mail program.")
    return file


def digest_of(raw: bytes) -> str:
    return sha256(raw.replace(b"\r\n", b"\n")).hexdigest()


def _keep(mailbox: Connection, letter: Letter) -> str:
    """Some servers put what they send into Sent by themselves."""
    mailbox.open("sent", make=True)
    kept = mailbox.holds(letter.message_id)
    if kept:
        return shown_id("sent", mailbox.uid_validity, kept[0])
    return mailbox.put("sent", letter.kept, r"(\Seen)")


def _found(mailbox: Connection, message_id: str) -> tuple[Folder, Found]:
    """The mail with this id, as much of it as is ever read; its folder is open then. Raises ToolError."""
    match = _ID.match(message_id)
    if match is None and not _MESSAGE_ID.match(message_id):
        raise ToolError(f"There is no mail with the id {message_id}: search for it, and take the id from there.")
    for folder, uids in _places(mailbox, match, message_id):
        mail = mailbox.whole(uids[0]) if uids else None
        if mail is not None:
            return folder, mail
    raise ToolError(f"The mail {message_id} is no longer where it was: search for it again.")


def _found_draft(mailbox: Connection, draft_id: str) -> tuple[Folder, Found]:
    if not draft_id.startswith("drafts."):
        raise ToolError(f"{draft_id} is no draft's id: take one as search_drafts gives it.")
    folder, mail = _found(mailbox, draft_id)
    if mail.size > MAIL_BYTES:
        raise ToolError("This draft is too large to be sent from here. Send it with a mail program.")
    return folder, mail


def _thread_of(mailbox: Connection, first: MailMessage, limit: int) -> tuple[MailMessage, ...]:
    """Its mails, oldest first; the one that was asked for is among them however many there are."""
    root = next(iter(first.references), first.message_id)
    known = known_ids((root or "", first.message_id or ""))
    found = {first.message_id or first.id: first}
    for folder in IN_THREADS:
        try:
            mailbox.open(folder)
        except ToolError:
            continue
        uids = sorted({uid for id_ in known for uid in mailbox.naming(id_, limit=limit)}, reverse=True)[:limit]
        for mail in mailbox.wholes(uids):
            id_ = shown_id(folder, mailbox.uid_validity, mail.uid)
            message = message_of(id_, mail.raw, arrived=mail.arrived, is_cut=mail.size > len(mail.raw))
            found.setdefault(message.message_id or id_, message)
    return newest_of(found.values(), first, limit)


def newest_of(found: Iterable[MailMessage], asked_for: MailMessage, limit: int) -> tuple[MailMessage, ...]:
    ordered = sorted((mail for mail in found if mail != asked_for), key=_moment_of, reverse=True)[: limit - 1]
    return tuple(sorted([*ordered, asked_for], key=_moment_of))


def _moment_of(mail: MailMessage) -> float:
    try:
        moment = datetime.fromisoformat(mail.date)
    except ValueError:
        return 0.0
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _places(mailbox: Connection, match: re.Match[str] | None, message_id: str) -> Iterator[tuple[Folder, list[int]]]:
    """Where a mail may be: the folder and number of its id, or whatever has this Message-ID. The folder is open."""
    for folder in FOLDERS:
        if match is not None and match[1] != folder:
            continue
        try:
            mailbox.open(folder)
        except ToolError:
            continue
        if match is None:
            yield folder, mailbox.holds(message_id)
        elif int(match[2]) == mailbox.uid_validity:
            yield folder, [int(match[3])]


def _stored(mail: OutgoingMail, id_: str, sender: str) -> StoredMail:
    return StoredMail(
        id=id_ or mail.message_id, message_id=mail.message_id, to=mail.to, subject=mail.subject, sender=sender
    )
