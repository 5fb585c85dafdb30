"""The closed choices of mail accounts."""

from enum import StrEnum


class AccountKind(StrEnum):
    IMAP = "imap"
    GMAIL = "gmail"


class AccountState(StrEnum):
    """`trouble`: the last try failed, and the next may not. `reconnect`: only its owner can mend it."""

    OK = "ok"
    TROUBLE = "trouble"
    RECONNECT = "reconnect"
