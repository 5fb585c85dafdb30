"""Secrets of endpoints: made, and kept so that no dump shows them. Signatures are made in `hyperagent.lib.signatures`.
Knows no table.
"""

import base64
import secrets
from collections.abc import Sequence

from hyperagent.lib.secrets import Unreadable, seal_by, unseal_by
from hyperagent.lib.signatures import PREFIX, signed_headers

__all__ = ["PREFIX", "SecretUnreadable", "new_secret", "seal", "signed_headers", "unseal"]

SECRET_BYTES = 32
_PURPOSE = b"hyperagent.notices: secrets of webhooks, version 1"


class SecretUnreadable(Exception):
    """It was sealed with another SECRET_KEY than this process has."""


def new_secret() -> str:
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def seal(secret: str, *, key: str) -> str:
    """The secret as it is stored: encrypted with a key that is derived from `key`, the installation's SECRET_KEY."""
    return seal_by((key,), secret, info=_PURPOSE)


def unseal(sealed: str, *, key: str, former: Sequence[str] = ()) -> str:
    """`former`: keys that the installation had before."""
    try:
        return unseal_by((key, *former), sealed, info=_PURPOSE)
    except Unreadable:
        raise SecretUnreadable(
            "The secret of this endpoint cannot be read, because SECRET_KEY was changed. Delete it and add it anew."
        ) from None
