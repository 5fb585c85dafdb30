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
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Final, TypeVar

import structlog

from agents.mail.files import AttachedFile
from agents.mail.imap import LIFE_S, MAIL_BYTES, PUTTING_LIFE_S, Connection, Found, connected, shown_id
from agents.mail.imap import TIMEOUT_S as IMAP_TIMEOUT_S
from agents.mail.lanes import Lane, Lanes
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
from agents.mail.queries import terms_of
from agents.mail.reading import head_of, message_of
from agents.mail.smtp import COMMAND_TIMEOUT_S as SMTP_TIMEOUT_S
from agents.mail.smtp import Handover
from agents.mail.writing import Letter, known_ids
from agents.runtime.driven import About
from agents.tools.tool import ToolError
from agents.tools.values import Folder, MailboxFacts, MailHeader, MailMessage
from hyperagent.lib.mail_servers import MailServer

log = structlog.get_logger(__name__)

T = TypeVar("T")
FOLDERS: Final[tuple[Folder, ...]] = ("inbox", "sent", "drafts")
IN_THREADS: Final[tuple[Folder, ...]] = ("inbox", "sent")
_ID: Final = re.compile(r"^(inbox|sent|drafts)\.(\d{1,10})\.(\d{1,10})$")


class ServerAccount(OneMailbox):
    """Makes no connection until it is asked for something.

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
        super().__init__(smtp.sender, smtp.sender_name)
        self._smtp = smtp
        self._imap = imap
        self._handing_over = handing_over
        self._lane = lane or Lanes().of("")
        self._finishing: set[asyncio.Future[str]] = set()

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
        return (MailboxFacts(address=self.address, name=self.sender_name, kind="shared", is_default=True),)

    async def labels(self, about: About, *, account: str = "") -> tuple[str, ...]:
        """IMAP has none."""
        return ()

    async def search(
        self, about: About, folder: Folder, query: str, *, limit: int, account: str = ""
    ) -> tuple[MailHeader, ...]:
        """Newest first."""
        terms = terms_of(query, today=datetime.now(UTC).date(), own=self.address)

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

    async def _keep_draft(self, letter: Letter, *, thread_id: str | None) -> str:
        return await self._with_mailbox(
            lambda mailbox: mailbox.put("drafts", letter.kept, r"(\Draft \Seen)"), life_s=PUTTING_LIFE_S
        )

    async def _raw_draft(self, draft_id: str) -> bytes:
        return await self._with_mailbox(lambda mailbox: _raw_draft(mailbox, draft_id))

    async def _remove_draft(self, draft_id: str) -> None:
        _, validity, uid = draft_id.split(".")
        await self._with_mailbox(lambda mailbox: mailbox.remove("drafts", int(uid), uid_validity=int(validity)))

    async def _hand_over(self, letter: Letter, touching: Touching, *, thread_id: str | None) -> str:
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
            return await self._with_mailbox(lambda mailbox: _keep(mailbox, letter), life_s=PUTTING_LIFE_S)
        except ToolError as error:
            log.warning("mail.not_kept", message_id=letter.message_id, why=error.message)
            return ""

    async def _with_mailbox(self, work: Callable[[Connection], T], *, life_s: float = LIFE_S) -> T:
        def connect_and_work() -> T:
            with connected(self._imap, life_s=life_s) as mailbox:
                return work(mailbox)

        async with self._lane.reading:
            return await asyncio.wrap_future(self._lane.lanes.reading.submit(connect_and_work))


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
    if match is None and not is_message_id(message_id):
        raise ToolError(NO_SUCH_MAIL.format(id=message_id))
    for folder, uids in _places(mailbox, match, message_id):
        mail = mailbox.whole(uids[0]) if uids else None
        if mail is not None:
            return folder, mail
    raise ToolError(MOVED.format(id=message_id))


def _raw_draft(mailbox: Connection, draft_id: str) -> bytes:
    if not draft_id.startswith("drafts."):
        raise ToolError(NO_DRAFT.format(id=draft_id))
    _, mail = _found(mailbox, draft_id)
    if mail.size > MAIL_BYTES:
        raise ToolError("This draft is too large to be sent from here. Send it with a mail program.")
    return mail.raw


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
