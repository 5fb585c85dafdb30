"""How a person's mailboxes stand: which there are, whether they can be used, and what was last found of them.

Reads and notes; nothing here connects. Synchronous, with Django's connection.
"""

import uuid
from typing import Final

from django.db.models.functions import Now

from agents.mail.credentials import Grant, sealed
from agents.mail.kinds import AccountKind, AccountState
from agents.mail.models import TROUBLE_CHARS, MailAccount

NONE_YET: Final = "You have connected no mailbox yet. Connect one at /mail/."
RECONNECT_ALL: Final = "Your mailbox {address} has to be connected again, at /mail/. {trouble}"


def accounts_of(user_id: uuid.UUID | None) -> list[MailAccount]:
    """The default one first. One query."""
    return list(MailAccount.objects.of(user_id)) if user_id is not None else []


def why_none(user_id: uuid.UUID | None) -> str:
    """Why this user has no mailbox to work in, with the way out; empty if there is one."""
    found = accounts_of(user_id)
    if not found:
        return NONE_YET
    if all(account.state == AccountState.RECONNECT for account in found):
        return RECONNECT_ALL.format(address=found[0].address, trouble=found[0].trouble).strip()
    return ""


def note_trouble(account_id: uuid.UUID, state: AccountState, words: str, *, sealed_as: str) -> None:
    """Unless its credentials were changed since: then it was another attempt that failed."""
    rows = MailAccount.objects.filter(id=account_id, sealed=sealed_as)
    rows.update(state=state, trouble=words[:TROUBLE_CHARS], trouble_at=Now())


def note_fine(account_id: uuid.UUID, *, sealed_as: str) -> None:
    rows = MailAccount.objects.filter(id=account_id, sealed=sealed_as)
    rows.exclude(state=AccountState.OK).update(state=AccountState.OK, trouble="", trouble_at=None)


def keep_grant(account_id: uuid.UUID, grant: Grant, *, instead_of: str) -> str:
    """Stores a renewed leave as it was stored before; what another process renewed meanwhile stays. How it is stored
    now."""
    fresh = sealed(grant)
    rows = MailAccount.objects.filter(id=account_id, kind=AccountKind.GMAIL, sealed=instead_of)
    return fresh if rows.update(sealed=fresh) else instead_of
