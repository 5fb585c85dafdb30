"""The secret in a link's address. Made of the link's id and the installation's key, so that its owner can copy it again
and the database alone cannot make it; looked up by its hash, so that a new key breaks no link. Pure but for the keys.
"""

import base64
import hashlib
import uuid
from typing import Final

from django.conf import settings
from django.utils.crypto import salted_hmac

_BYTES: Final = 24
"""192 bits."""
# The log blots out what begins so (`hyperagent.lib.log`), wherever an address is written.
_PREFIX: Final = "ha_"
TOKEN_CHARS: Final = len(_PREFIX) + _BYTES * 4 // 3
_SALT: Final = "conversations.share"


def token_of(share_id: uuid.UUID, *, key: str | None = None) -> str:
    """`key`: another one than the installation's own of today."""
    digest = salted_hmac(_SALT, share_id.bytes, secret=key or settings.SECRET_KEY, algorithm="sha256").digest()
    return _PREFIX + base64.urlsafe_b64encode(digest[:_BYTES]).decode()


def hash_of(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def shown_again(share_id: uuid.UUID, token_hash: str) -> str | None:
    """The token of a link that was made with this key or a former one; None once that key is gone: the link works, but
    nobody can show it."""
    for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS):
        token = token_of(share_id, key=key)
        if hash_of(token) == token_hash:
            return token
    return None
