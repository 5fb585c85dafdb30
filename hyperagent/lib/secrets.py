"""Other people's secrets as they are stored: encrypted with keys derived from SECRET_KEY, one for each purpose.

The first key seals; all of them open, so that SECRET_KEY can be changed while SECRET_KEY_FALLBACKS has the former one.
Knows no table and no setting: who stores a secret hands in `installation_keys()`. The cryptography, 7 MB, is imported
with the first secret, which most processes never see.
"""

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING

from django.conf import settings

if TYPE_CHECKING:
    from cryptography.fernet import MultiFernet


class Unreadable(Exception):
    """It was sealed with a SECRET_KEY that this process does not have, or for another purpose, or is damaged."""

    def __init__(self) -> None:
        super().__init__("The stored secret cannot be read: SECRET_KEY is another one than it was stored with.")


def installation_keys() -> tuple[str, ...]:
    """SECRET_KEY and its former values, the present one first."""
    return (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)


def seal(secret: str, *, purpose: str, keys: Sequence[str]) -> str:
    """As it is stored. What is sealed for one purpose cannot be opened for another."""
    return seal_by(keys, secret, info=_info(purpose))


def unseal(sealed: str, *, purpose: str, keys: Sequence[str]) -> str:
    """Raises Unreadable; whoever asks says what a person can do then, such as to connect again."""
    return unseal_by(keys, sealed, info=_info(purpose))


def seal_by(keys: Sequence[str], secret: str, *, info: bytes) -> str:
    """`info`: what HKDF is told of the purpose, to the byte."""
    return _box(keys, info).encrypt(secret.encode()).decode()


def unseal_by(keys: Sequence[str], sealed: str, *, info: bytes) -> str:
    """Raises Unreadable."""
    from cryptography.fernet import InvalidToken

    try:
        return _box(keys, info).decrypt(sealed.encode()).decode()
    except (InvalidToken, UnicodeError):
        raise Unreadable from None


def _info(purpose: str) -> bytes:
    return f"hyperagent: {purpose}".encode()


def _box(keys: Sequence[str], info: bytes) -> "MultiFernet":
    from cryptography.fernet import Fernet, MultiFernet
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    def derived(key: str) -> bytes:
        hkdf = HKDF(algorithm=SHA256(), length=32, salt=None, info=info)
        return base64.urlsafe_b64encode(hkdf.derive(key.encode()))

    return MultiFernet([Fernet(derived(key)) for key in keys])
