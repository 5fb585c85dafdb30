"""Other people's secrets as they are stored: encrypted with keys derived from SECRET_KEY, one for each purpose.

The first key seals; all of them open, so that SECRET_KEY can be changed while SECRET_KEY_FALLBACKS has the former one.
Knows no table. The cryptography, 7 MB, is imported with the first secret, which most processes never see.
"""

import base64
from enum import StrEnum
from typing import TYPE_CHECKING

from django.conf import settings

if TYPE_CHECKING:
    from cryptography.fernet import MultiFernet


class Purpose(StrEnum):
    """What HKDF is told of each, to the byte. They stay as they are: what was sealed under another opens no more."""

    MAILBOX = "hyperagent: credentials of mailboxes, version 1"
    MCP_SERVER = "hyperagent: secrets of MCP servers, version 1"
    SECOND_FACTOR = "hyperagent: second factors"
    WEBHOOK = "hyperagent.notices: secrets of webhooks, version 1"


class Unreadable(Exception):
    """It was sealed with a SECRET_KEY that this process does not have, or for another purpose, or is damaged."""

    def __init__(self) -> None:
        super().__init__("The stored secret cannot be read: SECRET_KEY is another one than it was stored with.")


def seal(secret: str, purpose: Purpose) -> str:
    """As it is stored. What is sealed for one purpose cannot be opened for another."""
    return _box(purpose).encrypt(secret.encode()).decode()


def unseal(sealed: str, purpose: Purpose) -> str:
    """Raises Unreadable; whoever asks says what a person can do then, such as to connect again."""
    from cryptography.fernet import InvalidToken

    try:
        return _box(purpose).decrypt(sealed.encode()).decode()
    except (InvalidToken, UnicodeError):
        raise Unreadable from None


def _box(purpose: Purpose) -> "MultiFernet":
    from cryptography.fernet import Fernet, MultiFernet
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    def derived(key: str) -> bytes:
        hkdf = HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose.encode())
        return base64.urlsafe_b64encode(hkdf.derive(key.encode()))

    return MultiFernet([Fernet(derived(key)) for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)])
