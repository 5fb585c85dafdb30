"""Secrets of endpoints, and the signatures made with them, by the Standard Webhooks convention
(standardwebhooks.com): HMAC-SHA256 over `id.timestamp.body`. Knows no table.
"""

import base64
import hashlib
import hmac
import secrets

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

PREFIX = "whsec_"
SECRET_BYTES = 32
_PURPOSE = b"hyperagent.notices: secrets of webhooks, version 1"


class SecretUnreadable(Exception):
    """It was sealed with another SECRET_KEY than this process has."""


def new_secret() -> str:
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def seal(secret: str, *, key: str) -> str:
    """The secret as it is stored: encrypted with a key that is derived from `key`, the installation's SECRET_KEY."""
    return _box(key).encrypt(secret.encode()).decode()


def unseal(sealed: str, *, key: str) -> str:
    try:
        return _box(key).decrypt(sealed.encode()).decode()
    except InvalidToken:
        raise SecretUnreadable(
            "The secret of this endpoint cannot be read, because SECRET_KEY was changed. Delete it and add it anew."
        ) from None


def signed_headers(secret: str, *, event_id: str, timestamp_s: int, body: bytes) -> dict[str, str]:
    """The three headers by which a receiver knows that the body is ours, whole and not old."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    digest = hmac.new(key, f"{event_id}.{timestamp_s}.".encode() + body, hashlib.sha256).digest()
    return {
        "webhook-id": event_id,
        "webhook-timestamp": str(timestamp_s),
        "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
    }


def _box(key: str) -> Fernet:
    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=_PURPOSE).derive(key.encode())
    return Fernet(base64.urlsafe_b64encode(derived))
