"""The mailbox of this installation: one account, reached by SMTP and IMAP. Implements the provider `Mailbox`.

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
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Final, TypeVar

import structlog

from agents.mail.imap import MAIL_BYTES, Connection, connected, shown_id
from agents.mail.queries import terms_of
from agents.mail.reading import head_of, message_of
from agents.mail.smtp import Handover
from agents.mail.writing import Letter, letter_of
from agents.runtime.context import About
from agents.tools.tool import ToolError
from agents.tools.values import Folder, MailHeader, MailMessage, OutgoingMail, StoredMail
from hyperagent.lib.mail_servers import MailServer

log = structlog.get_logger(__name__)

T = TypeVar("T")
# Mail servers let an account in a few times at once: a process takes no more than this of each.
CONNECTIONS: Final = 4
FOLDERS: Final[tuple[Folder, ...]] = ("inbox", "sent", "drafts")
_ID: Final = re.compile(r"^(inbox|sent|drafts)\.(\d{1,10})\.(\d{1,10})$")
_MESSAGE_ID: Final = re.compile(r"^<[^\s<>\"\\]{1,490}>$")


class MailAccount:
    """Makes no connection until it is asked for something. `About` is not looked at: everybody has the same account."""

    def __init__(self, smtp: MailServer, imap: MailServer, *, handing_over: type[Handover] = Handover) -> None:
        self._smtp = smtp
        self._imap = imap
        self._handing_over = handing_over
        self._one_of_few = asyncio.Semaphore(CONNECTIONS)
        self._sending = ThreadPoolExecutor(CONNECTIONS, thread_name_prefix="smtp")
        self._reading = ThreadPoolExecutor(CONNECTIONS, thread_name_prefix="imap")
        self._finishing: set[asyncio.Future[str]] = set()

    @property
    def address(self) -> str:
        return self._smtp.sender

    @property
    def servers(self) -> tuple[MailServer, ...]:
        return self._smtp, self._imap

    def troubles(self) -> list[str]:
        """Connects and signs in to both, and changes nothing: what is wrong, a sentence each. Blocking."""
        found = []
        for check in (self._check_smtp, self._check_imap):
            try:
                check()
            except ToolError as error:
                found.append(error.message)
        return found

    async def search(self, about: About, folder: Folder, query: str, *, limit: int) -> tuple[MailHeader, ...]:
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

    async def read(self, about: About, message_id: str) -> MailMessage:
        """By the id that a search gave, or by the Message-ID."""
        match = _ID.match(message_id)
        if match is None and not _MESSAGE_ID.match(message_id):
            raise ToolError(f"There is no mail with the id {message_id}: search for it, and take the id from there.")

        def work(mailbox: Connection) -> MailMessage:
            for folder, uids in _places(mailbox, match, message_id):
                mail = mailbox.whole(uids[0]) if uids else None
                if mail is not None:
                    id_ = shown_id(folder, mailbox.uid_validity, mail.uid)
                    return message_of(id_, mail.raw, arrived=mail.arrived, is_cut=mail.size > MAIL_BYTES)
            raise ToolError(f"The mail {message_id} is no longer where it was: search for it again.")

        return await self._with_mailbox(work)

    async def save_draft(self, about: About, mail: OutgoingMail) -> StoredMail:
        letter = self._letter(mail)
        id_ = await self._with_mailbox(lambda mailbox: mailbox.put("drafts", letter.kept, r"(\Draft \Seen)"))
        return _stored(mail, id_)

    async def send(self, about: About, mail: OutgoingMail, *, touching: Callable[[], Awaitable[None]]) -> StoredMail:
        """Leaves the account's own address out of an answer to all. ToolError says whether it may have been sent."""
        if mail.in_reply_to and len(mail.to) + len(mail.cc) > 1:
            mail = mail.model_copy(update={"to": self._others(mail.to) or mail.to, "cc": self._others(mail.cc)})
        letter = self._letter(mail)
        # Whole mails, one after the other: one that is begun does not wait behind others before its last line.
        async with self._one_of_few:
            return _stored(mail, await self._hand_over(letter, touching))

    async def holds(self, about: About, folder: Folder, message_id: str) -> bool | None:
        """Whether a mail with this Message-ID is in the folder now; None if the mailbox cannot tell."""

        def work(mailbox: Connection) -> bool:
            mailbox.open(folder)
            return bool(mailbox.holds(message_id))

        try:
            return await self._with_mailbox(work)
        except ToolError:
            return None

    # --- inside

    def _check_smtp(self) -> None:
        handover = self._handing_over(self._smtp)
        try:
            handover.check()
        finally:
            handover.close()

    def _check_imap(self) -> None:
        with connected(self._imap) as mailbox:
            mailbox.open("inbox")

    def _letter(self, mail: OutgoingMail) -> Letter:
        return letter_of(mail, sender=self.address, at=datetime.now(UTC))

    def _others(self, addresses: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(address for address in addresses if address.lower() != self.address.lower())

    async def _hand_over(self, letter: Letter, touching: Callable[[], Awaitable[None]]) -> str:
        handover = self._handing_over(self._smtp)
        preparing = self._sending.submit(handover.prepare, letter)
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
            await asyncio.wrap_future(self._sending.submit(handover.finish))
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

        return await asyncio.wrap_future(self._reading.submit(connect_and_work))


def _keep(mailbox: Connection, letter: Letter) -> str:
    """Some servers put what they send into Sent by themselves."""
    mailbox.open("sent", make=True)
    kept = mailbox.holds(letter.message_id)
    if kept:
        return shown_id("sent", mailbox.uid_validity, kept[0])
    return mailbox.put("sent", letter.kept, r"(\Seen)")


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


def _stored(mail: OutgoingMail, id_: str) -> StoredMail:
    return StoredMail(id=id_ or mail.message_id, message_id=mail.message_id, to=mail.to, subject=mail.subject)
