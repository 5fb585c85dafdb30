"""The provider `Mailbox` of an installation: whoever asks works in the mailboxes that they connected, and in no others.

Without one of their own, people work in the installation's mailbox, where an administrator has configured one. Ids of
mails name the mailbox that they are in, so that they are looked for in no other.
"""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, TypeVar
from uuid import UUID

import structlog
from django.db import DatabaseError

from agents.mail import account_status
from agents.mail.account import ServerAccount
from agents.mail.credentials import Grant, Password, unsealed
from agents.mail.files import AttachedFile
from agents.mail.gmail.account import GmailAccount
from agents.mail.gmail.api import GmailApi
from agents.mail.gmail.google import google
from agents.mail.kinds import AccountKind, AccountState
from agents.mail.lanes import Lanes
from agents.mail.models import MailAccount
from agents.mail.troubles import MailTrouble
from agents.runtime.driven import About
from agents.tools.providers import Mailbox
from agents.tools.tool import ToolError
from agents.tools.values import DraftMail, Folder, MailboxFacts, MailHeader, MailMessage, OutgoingMail, StoredMail
from hyperagent.lib.mail_servers import MailServer, Security
from hyperagent.lib.secrets import Unreadable
from hyperagent.lib.threads import in_thread

log = structlog.get_logger(__name__)

H = TypeVar("H", bound=MailHeader)
# Before the mailbox's own id of a mail: the beginning of the account's id.
_MARKED: Final = re.compile(r"^([0-9a-f]{8})~(.+)$", re.DOTALL)
CANNOT_BE_READ: Final = (
    "The password of {address} cannot be read any more, because the installation's SECRET_KEY was changed. Connect the "
    "mailbox again at /mail/."
)
NO_GOOGLE: Final = (
    "This installation is not registered at Google any more. An administrator has to set GMAIL_CLIENT_ID and "
    "GMAIL_CLIENT_SECRET."
)
GONE: Final = "The mailbox of this mail is not connected any more. Search for the mail again."
NO_SUCH_MAIL: Final = "There is no mail with this id: search for it, and take the id from there."
OTHER_MAILBOX: Final = "This mail is in another mailbox than {address}. Leave the account out, or take that one."


@dataclass(slots=True)
class Chosen:
    """The mailbox that a call works in. `mark`: before the ids of its mails; empty for the installation's."""

    box: Mailbox
    address: str
    mark: str = ""

    def shown(self, id_: str) -> str:
        return f"{self.mark}~{id_}" if self.mark and not id_.startswith("<") else id_

    def marked(self, mail: H) -> H:
        return mail.model_copy(update={"id": self.shown(mail.id), "account": self.address})

    def stored(self, mail: StoredMail) -> StoredMail:
        return mail.model_copy(update={"id": self.shown(mail.id), "sender": self.address})


class Mailboxes:
    """`shared`: the installation's own mailbox, if there is one."""

    def __init__(self, shared: ServerAccount | None = None) -> None:
        self.shared = shared
        self._lanes = Lanes()

    def lacking(self, user_id: UUID | None) -> str:
        """Why this user has no mailbox, with the way out; empty if there is one. Synchronous."""
        return "" if self.shared is not None else account_status.why_none(user_id)

    async def why_not_for(self, about: About) -> str:
        """The same. Where that cannot be looked up, the call itself will tell."""
        try:
            return await in_thread(self.lacking)(about.user_id)
        except DatabaseError:
            log.warning("mail.standing_unknown", exc_info=True)
            return ""

    async def accounts(self, about: About) -> tuple[MailboxFacts, ...]:
        """The default one first; with what is wrong with each."""
        rows = await in_thread(account_status.accounts_of)(about.user_id)
        found = [_facts(row, is_first=number == 0) for number, row in enumerate(rows)]
        if self.shared is not None:
            shared = (await self.shared.accounts(about))[0]
            found.append(shared.model_copy(update={"is_default": not found}))
        return tuple(found)

    async def labels(self, about: About, *, account: str = "") -> tuple[str, ...]:
        async with self._chosen(about, account) as (chosen, _):
            return await chosen.box.labels(about)

    async def search(
        self, about: About, folder: Folder, query: str, *, limit: int, account: str = ""
    ) -> tuple[MailHeader, ...]:
        async with self._chosen(about, account) as (chosen, _):
            found = await chosen.box.search(about, folder, query, limit=limit)
            return tuple(map(chosen.marked, found))

    async def read(self, about: About, message_id: str, *, account: str = "") -> MailMessage:
        async with self._chosen(about, account, message_id) as (chosen, id_):
            return chosen.marked(await chosen.box.read(about, id_))

    async def thread(self, about: About, message_id: str, *, limit: int, account: str = "") -> tuple[MailMessage, ...]:
        async with self._chosen(about, account, message_id) as (chosen, id_):
            return tuple(map(chosen.marked, await chosen.box.thread(about, id_, limit=limit)))

    async def attachment(self, about: About, message_id: str, number: int, *, account: str = "") -> AttachedFile:
        async with self._chosen(about, account, message_id) as (chosen, id_):
            return await chosen.box.attachment(about, id_, number)

    async def save_draft(
        self, about: About, mail: OutgoingMail, *, files: Sequence[AttachedFile] = (), account: str = ""
    ) -> StoredMail:
        async with self._chosen(about, account) as (chosen, _):
            return chosen.stored(await chosen.box.save_draft(about, mail, files=files))

    async def draft(self, about: About, draft_id: str, *, account: str = "") -> DraftMail:
        async with self._chosen(about, account, draft_id) as (chosen, id_):
            found = await chosen.box.draft(about, id_)
            return found.model_copy(update={"id": chosen.shown(found.id), "account": chosen.address})

    async def send(
        self,
        about: About,
        mail: OutgoingMail,
        *,
        touching: Callable[[], Awaitable[None]],
        files: Sequence[AttachedFile] = (),
        account: str = "",
    ) -> StoredMail:
        async with self._chosen(about, account) as (chosen, _):
            return chosen.stored(await chosen.box.send(about, mail, touching=touching, files=files))

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
        async with self._chosen(about, account, draft_id) as (chosen, id_):
            sent = await chosen.box.send_draft(about, id_, message_id=message_id, digest=digest, touching=touching)
            return chosen.stored(sent)

    async def holds(self, about: About, folder: Folder, message_id: str, *, account: str = "") -> bool | None:
        try:
            async with self._chosen(about, account) as (chosen, _):
                return await chosen.box.holds(about, folder, message_id)
        except ToolError:
            return None

    # --- inside

    @asynccontextmanager
    async def _chosen(self, about: About, account: str, message_id: str = "") -> AsyncIterator[tuple[Chosen, str]]:
        """The mailbox, and the id as it knows it. What goes wrong with it is noted, and that it goes well again."""
        rows = await in_thread(account_status.accounts_of)(about.user_id)
        mark, id_ = _parted(message_id)
        # An id without a mark is one of the installation's mailbox; a Message-ID is looked for wherever it is wanted.
        is_shared = bool(id_) and not mark and not id_.startswith("<") and not account
        row = None if is_shared else _row(rows, account, mark)
        if row is None:
            yield self._shared_or_none(rows, account, mark), id_
            return
        if row.state == AccountState.RECONNECT:
            raise ToolError(account_status.RECONNECT_ALL.format(address=row.address, trouble=row.trouble).strip())
        opened = _Opened(row)
        try:
            box = opened.box(self._lanes)
            yield Chosen(box, row.address, _mark_of(row)), id_
        except MailTrouble as trouble:
            if trouble.state is not AccountState.OK:
                await in_thread(account_status.note_trouble)(
                    row.id, trouble.state, trouble.message, sealed_as=opened.sealed
                )
            raise
        if row.state != AccountState.OK:
            await in_thread(account_status.note_fine)(row.id, sealed_as=opened.sealed)

    def _shared_or_none(self, rows: Sequence[MailAccount], account: str, mark: str) -> Chosen:
        """The installation's, where it is the one that was meant. Raises ToolError."""
        shared = self.shared
        if mark:
            raise ToolError(GONE)
        if shared is not None and (not account or _same(account, shared.address)):
            return Chosen(shared, shared.address)
        if not rows and shared is None:
            raise ToolError(account_status.NONE_YET)
        if not account:
            raise ToolError(NO_SUCH_MAIL)
        addresses = [row.address for row in rows] + ([shared.address] if shared is not None else [])
        raise ToolError(f"There is no mailbox {account[:100]} here. There are: {', '.join(addresses)}.")


class _Opened:
    """One account on its way to be used. `sealed`: how its credentials are stored now."""

    def __init__(self, row: MailAccount) -> None:
        self._row = row
        self.sealed = row.sealed

    def box(self, lanes: Lanes) -> Mailbox:
        """Raises MailTrouble where its credentials cannot be read."""
        row = self._row
        try:
            if row.kind == AccountKind.IMAP:
                password = unsealed(row.sealed, Password).password.get_secret_value()
                smtp, imap = servers_of(row, password)
                return ServerAccount(smtp, imap, lane=lanes.of(str(row.user_id)))
            grant = unsealed(row.sealed, Grant)
        except Unreadable:
            said = CANNOT_BE_READ.format(address=row.address)
            raise MailTrouble(said, state=AccountState.RECONNECT) from None
        known = google()
        if known is None:
            raise MailTrouble(NO_GOOGLE)
        return GmailAccount(GmailApi(known, grant, self._keep), address=row.address, name=row.display_name)

    async def _keep(self, grant: Grant) -> None:
        self.sealed = await in_thread(account_status.keep_grant)(self._row.id, grant, instead_of=self.sealed)


def servers_of(row: MailAccount, password: str) -> tuple[MailServer, MailServer]:
    """Those to send by and to read from."""
    smtp = MailServer(
        row.smtp_host,
        row.smtp_port,
        Security(row.smtp_security),
        row.user_name,
        password,
        sender=row.address,
        sender_name=row.display_name,
    )
    imap = MailServer(row.imap_host, row.imap_port, Security(row.imap_security), row.user_name, password)
    return smtp, imap


def _facts(row: MailAccount, *, is_first: bool) -> MailboxFacts:
    return MailboxFacts(
        address=row.address,
        name=row.display_name,
        kind="gmail" if row.kind == AccountKind.GMAIL else "imap",
        is_default=is_first,
        trouble=row.trouble if row.state != AccountState.OK else "",
    )


def _row(rows: Sequence[MailAccount], account: str, mark: str) -> MailAccount | None:
    """The one that the id or the address names; without either the default one."""
    if mark:
        found = next((row for row in rows if _mark_of(row) == mark), None)
        if found is not None and account and not _same(account, found.address):
            raise ToolError(OTHER_MAILBOX.format(address=account[:100]))
        return found
    if account:
        return next((row for row in rows if _same(account, row.address)), None)
    return rows[0] if rows else None


def _parted(message_id: str) -> tuple[str, str]:
    """The mark of a mail's mailbox, and its id there."""
    marked = _MARKED.match(message_id)
    return (marked[1], marked[2]) if marked else ("", message_id)


def _mark_of(row: MailAccount) -> str:
    return row.id.hex[:8]


def _same(one: str, other: str) -> bool:
    return one.strip().lower() == other.strip().lower()
