"""Signatures of what is posted outside, by the Standard Webhooks convention (standardwebhooks.com): HMAC-SHA256 over
`id.timestamp.body`; and the secrets that they are made with.
"""

import base64
import hashlib
import hmac
import secrets
from typing import Final

PREFIX: Final = "whsec_"
SECRET_BYTES: Final = 32


def new_secret() -> str:
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def signed_headers(secret: str, *, event_id: str, timestamp_s: int, body: bytes) -> dict[str, str]:
    """The three headers by which a receiver knows that the body is ours, whole and not old. `secret`: `whsec_` and
    Base64."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    digest = hmac.new(key, f"{event_id}.{timestamp_s}.".encode() + body, hashlib.sha256).digest()
    return {
        "webhook-id": event_id,
        "webhook-timestamp": str(timestamp_s),
        "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
    }
