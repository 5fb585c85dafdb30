"""Other people's secrets as they are stored: encrypted with keys derived from SECRET_KEY, one for each purpose.

The first key seals; all of them open, so that SECRET_KEY can be changed while SECRET_KEY_FALLBACKS has the former one.
Knows no table and no setting: who stores a secret hands in `installation_keys()`.
"""

import base64
from collections.abc import Sequence

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings


class Unreadable(Exception):
    """It was sealed with a SECRET_KEY that this process does not have, or for another purpose, or is damaged."""

    def __init__(self) -> None:
        super().__init__("The stored secret cannot be read: SECRET_KEY is another one than it was stored with.")


def installation_keys() -> tuple[str, ...]:
    """SECRET_KEY and its former values, the present one first."""
    return (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)


def seal(secret: str, *, purpose: str, keys: Sequence[str]) -> str:
    """As it is stored. What is sealed for one purpose cannot be opened for another."""
    return _box(purpose, keys).encrypt(secret.encode()).decode()


def unseal(sealed: str, *, purpose: str, keys: Sequence[str]) -> str:
    """Raises Unreadable; whoever asks says what a person can do then, such as to connect again."""
    try:
        return _box(purpose, keys).decrypt(sealed.encode()).decode()
    except (InvalidToken, UnicodeError):
        raise Unreadable from None


def _box(purpose: str, keys: Sequence[str]) -> MultiFernet:
    return MultiFernet([Fernet(_derived(key, purpose)) for key in keys])


def _derived(key: str, purpose: str) -> bytes:
    info = f"hyperagent: {purpose}".encode()
    return base64.urlsafe_b64encode(HKDF(algorithm=SHA256(), length=32, salt=None, info=info).derive(key.encode()))
