"""Everything that changes which mailboxes a person has connected. The page calls these verbs; each begins with whose.

Passwords and tokens come in here, are tried, sealed and stored, and go out nowhere.
"""

import re
import uuid
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from asgiref.sync import async_to_sync, sync_to_async
from django.conf import settings
from django.core.cache import cache
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _
from pydantic import SecretStr

from agents.mail import account_status
from agents.mail.account import ServerAccount
from agents.mail.credentials import Grant, Password, sealed, unsealed
from agents.mail.gmail import oauth
from agents.mail.gmail.account import own_identity
from agents.mail.gmail.api import GmailApi
from agents.mail.gmail.google import Google, google
from agents.mail.kinds import AccountKind, AccountState
from agents.mail.lines import IMAP_PORTS, SMTP_PORTS
from agents.mail.mailboxes import servers_of
from agents.mail.models import MailAccount
from agents.mail.troubles import MailTrouble
from agents.tools.tool import ToolError
from hyperagent.accounts.models import User
from hyperagent.audit.kinds import AuditKind
from hyperagent.audit.recording import Target, actor_of, record
from hyperagent.lib.clipping import one_line
from hyperagent.lib.mail_servers import Security
from hyperagent.lib.outside.addresses import BadAddress
from hyperagent.lib.outside.sockets import host_name
from hyperagent.lib.refusals import Conflict, NotThere, Refused, TooMuch
from hyperagent.lib.secrets import Unreadable
from hyperagent.lib.stored_faults import fault_in_our_words
from hyperagent.lib.text import clean_text

MOST_ACCOUNTS: Final = 10
# Whoever tries is told whether a password is right, and whether something answers there.
TRIES: Final = 20
TRIES_WITHIN_S: Final = 3_600
CHECK_TIMEOUT_S: Final = 10.0
NOT_REGISTERED: Final = "This installation is not registered at Google any more. Ask an administrator."
UNREADABLE: Final = "Its password cannot be read any more, because SECRET_KEY was changed. Connect it again."
_ADDRESS: Final = re.compile(r"^[^\s@<>,;:\"()\[\]\\]{1,64}@[^\s@<>,;:\"()\[\]\\]{1,189}$")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A mailbox as a person described it. An empty password keeps the one that is stored."""

    address: str
    imap_host: str
    imap_port: int
    imap_security: str
    smtp_host: str
    smtp_port: int
    smtp_security: str
    user_name: str = ""
    display_name: str = ""
    password: str = field(default="", repr=False)


def connect_by_servers(user: User, wanted: Wanted, *, instead_of: uuid.UUID | None = None) -> MailAccount:
    """Tries it, and keeps it only if both servers let us in. `instead_of`: the one that is connected again. Raises
    Refused, with the fault at its field.
    """
    former = _own(user, instead_of) if instead_of else None
    row = _row_of(user, wanted, former)
    _count_try(user)
    try:
        _servers_of(row).check(timeout_s=CHECK_TIMEOUT_S)
    except ToolError as error:
        raise Refused("mailbox_refused", fault_in_our_words(_without_way(error.message))) from None
    return _kept(user, row)


def check(user: User, account_id: uuid.UUID) -> MailAccount:
    """Tries a connected mailbox, and notes how it stands, unless it was connected anew meanwhile: then it was not that
    one that was tried. Raises Refused with what is wrong, NotThere."""
    account = _own(user, account_id)
    _count_try(user)
    try:
        if account.kind == AccountKind.IMAP:
            _servers_of(account).check(timeout_s=CHECK_TIMEOUT_S)
        else:
            _check_gmail(account)
    except MailTrouble as trouble:
        account_status.note_trouble(account.id, trouble.state, trouble.message, sealed_as=account.sealed)
        raise Refused("mailbox_trouble", fault_in_our_words(trouble.message)) from None
    account_status.note_fine(account.id, sealed_as=account.sealed)
    return _own(user, account_id)


def make_default(user: User, account_id: uuid.UUID) -> MailAccount:
    with transaction.atomic():
        account = _own(User.objects.hold(user.pk), account_id)
        MailAccount.objects.filter(user=user, is_default=True).exclude(id=account.id).update(is_default=False)
        MailAccount.objects.filter(id=account.id).update(is_default=True)
    account.refresh_from_db()
    return account


def rename(user: User, account_id: uuid.UUID, display_name: str) -> MailAccount:
    """What stands before the address in mails."""
    account = _own(user, account_id)
    account.display_name = _name(display_name)
    account.save(update_fields=["display_name"])
    return account


def disconnect(user: User, account_id: uuid.UUID) -> str:
    """Its credentials are gone at once; Google is told as well. The address that it was."""
    account = _own(user, account_id)
    with transaction.atomic():
        User.objects.hold(user.pk)
        MailAccount.objects.filter(id=account.id).delete()
        _some_default(user)
        _record(AuditKind.CONNECTION_REMOVED, user, account)
    known = google()
    if account.kind == AccountKind.GMAIL and known is not None:
        with suppress(Unreadable):
            async_to_sync(oauth.revoke)(known, unsealed(account.sealed, Grant))
    return account.address


# ── Gmail ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def gmail_redirect_url() -> str:
    return f"{settings.SITE_URL}/mail/gmail/callback/"


def gmail_consent_url(going: oauth.PendingConsent, *, address: str = "") -> str:
    """Where a person is sent to let us in. Raises Refused where Google does not know this installation."""
    return oauth.consent_url(_google(), going, redirect_url=gmail_redirect_url(), address=address)


def connect_gmail(user: User, going: oauth.PendingConsent, code: str) -> MailAccount:
    """What a person came back with from Google. The mailbox is the one that they chose there."""
    known = _google()
    try:
        grant = async_to_sync(oauth.exchange)(known, code=code, going=going, redirect_url=gmail_redirect_url())
        address, name = async_to_sync(own_identity)(GmailApi(known, grant, _not_kept))
    except MailTrouble as trouble:
        raise Refused("gmail_refused", fault_in_our_words(trouble.message)) from None
    row = MailAccount(
        user=user, kind=AccountKind.GMAIL, address=address, display_name=_name(name), sealed=sealed(grant)
    )
    return _kept(user, row)


async def _not_kept(grant: Grant) -> None:
    """It is fresh: nothing is renewed yet."""


def _check_gmail(account: MailAccount) -> None:
    """Gives the account the leave that was renewed on the way, as it is stored then."""

    async def keep(grant: Grant) -> None:
        account.sealed = await sync_to_async(account_status.keep_grant)(account.id, grant, instead_of=account.sealed)

    async def ready(api: GmailApi) -> None:
        await api.ready()

    known = google()
    if known is None:
        raise MailTrouble(NOT_REGISTERED)
    try:
        grant = unsealed(account.sealed, Grant)
    except Unreadable:
        raise MailTrouble(UNREADABLE, state=AccountState.RECONNECT) from None
    async_to_sync(ready)(GmailApi(known, grant, keep))


def _google() -> Google:
    known = google()
    if known is None:
        raise Conflict(
            "gmail_not_configured", _("Gmail by sign-in at Google is not set up here. An administrator can.")
        )
    return known


# ── by servers ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _row_of(user: User, wanted: Wanted, former: MailAccount | None) -> MailAccount:
    """Unsaved. Raises Refused, all faults at once."""
    faults: dict[str, list[str]] = {}
    address = clean_text(wanted.address).strip()
    if not _ADDRESS.match(address) or not address.isprintable():
        faults["address"] = [_("Write it like name@example.org.")]
    imap = _checked(faults, "imap", (wanted.imap_host, wanted.imap_port, wanted.imap_security), IMAP_PORTS)
    smtp = _checked(faults, "smtp", (wanted.smtp_host, wanted.smtp_port, wanted.smtp_security), SMTP_PORTS)
    password, user_name = wanted.password, wanted.user_name.strip() or address
    if not password and former is not None and _is_same_place(former, imap[0], smtp[0], user_name):
        password = _stored_password(former)
    if not password or len(password) > 500 or not (password + user_name).isprintable():
        faults["password"] = [_("Enter the password. For another server or user it has to be entered again.")]
    if faults:
        raise Refused("bad_mailbox", _("Something is not right yet."), fields=faults)
    return MailAccount(
        user=user,
        kind=AccountKind.IMAP,
        address=address,
        display_name=_name(wanted.display_name),
        imap_host=imap[0],
        imap_port=imap[1],
        imap_security=wanted.imap_security,
        smtp_host=smtp[0],
        smtp_port=smtp[1],
        smtp_security=wanted.smtp_security,
        user_name=user_name[:254],
        sealed=sealed(Password(password=SecretStr(password))),
    )


def _checked(
    faults: dict[str, list[str]], kind: str, server: tuple[str, int, str], ports: tuple[int, ...]
) -> tuple[str, int]:
    """A server's name in its one spelling, and its port. A password never travels in the clear to another network."""
    host, port, security = server
    free = settings.MAIL_ALLOW_PRIVATE
    try:
        name = host_name(host.strip().rstrip("."), allow_private=free)
    except BadAddress as fault:
        faults[f"{kind}_host"], name = [fault_in_our_words(str(fault))], ""
    if not (port in ports or (free and 0 < port < 65_536)):
        faults[f"{kind}_port"] = [_("One of {names}.").format(names=", ".join(map(str, ports)))]
    allowed = (Security.SSL, Security.TLS, *((Security.PLAIN,) if free else ()))
    if security not in allowed:
        faults[f"{kind}_security"] = [_("Choose TLS or STARTTLS.")]
    return name, port


def _is_same_place(former: MailAccount, imap_host: str, smtp_host: str, user_name: str) -> bool:
    """A stored password goes to no other server than it was entered for."""
    return (former.imap_host, former.smtp_host, former.user_name) == (imap_host, smtp_host, user_name)


def _stored_password(account: MailAccount) -> str:
    try:
        return unsealed(account.sealed, Password).password.get_secret_value()
    except Unreadable:
        return ""


def _servers_of(account: MailAccount) -> ServerAccount:
    try:
        password = unsealed(account.sealed, Password).password.get_secret_value()
    except Unreadable:
        raise MailTrouble(UNREADABLE, state=AccountState.RECONNECT) from None
    return ServerAccount(*servers_of(account, password))


def _without_way(message: str) -> str:
    """The way out is the form that they are looking at."""
    return message.replace(" Connect the mailbox again at /mail/.", " Check what you entered.")


# ── rows ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _kept(user: User, row: MailAccount) -> MailAccount:
    """In the place of one with the same address, which keeps its id: what was found in it is still found there."""
    try:
        with transaction.atomic():
            User.objects.hold(user.pk)
            former = MailAccount.objects.filter(user=user, address__iexact=row.address).first()
            if former is None and MailAccount.objects.filter(user=user).count() >= MOST_ACCOUNTS:
                said = _("You have {limit} mailboxes already. Disconnect one first.").format(limit=MOST_ACCOUNTS)
                raise Conflict("too_many_mailboxes", said)
            if former is not None:
                row.id, row.is_default, row.created_at = former.id, former.is_default, former.created_at
                row.display_name = row.display_name or former.display_name
                row._state.adding = False
            row.save()
            _some_default(user)
            _record(AuditKind.CONNECTION_ADDED if former is None else AuditKind.CONNECTION_CHANGED, user, row)
    except IntegrityError:
        raise Conflict(
            "mailbox_connected", _("This mailbox was connected a moment ago. Load the page again.")
        ) from None
    row.refresh_from_db()
    return row


def _record(kind: AuditKind, user: User, account: MailAccount) -> None:
    """Not its address: mailboxes are people's, and the log outlives them."""
    target = Target("mail_account", str(account.pk))
    record(kind, actor=actor_of(user), target=target, details={"kind": str(account.kind)})


def _some_default(user: User) -> None:
    """Whoever has a mailbox has a default one: the first that was connected."""
    own = MailAccount.objects.filter(user=user)
    if not own.filter(is_default=True).exists():
        first = own.order_by("created_at", "id").first()
        if first is not None:
            own.filter(id=first.id).update(is_default=True)


def _own(user: User, account_id: uuid.UUID) -> MailAccount:
    found = MailAccount.objects.filter(user=user, id=account_id).first()
    if found is None:
        raise NotThere
    return found


def _name(text: str) -> str:
    shown = "".join(char if char.isprintable() else " " for char in clean_text(text))
    return one_line(shown)[:60]


def _count_try(user: User) -> None:
    """Raises TooMuch."""
    key = f"mail-tries:{user.pk}"
    cache.add(key, 0, TRIES_WITHIN_S)
    try:
        tries = cache.incr(key)
    except ValueError:
        # It ended in this moment.
        tries = 1
    if tries > TRIES:
        raise TooMuch("too_many_tries", _("That were many tries within an hour. Try again later."))
