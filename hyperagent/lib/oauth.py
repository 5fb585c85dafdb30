"""What is the same wherever people are sent to sign in: the proof that whoever brings the code back is who asked for it
(PKCE), and what is kept in their session while they are away. Knows no provider.
"""

import base64
import hashlib
import secrets
import time
from collections.abc import Mapping
from typing import Any, Final

from django.contrib.sessions.backends.base import SessionBase

AWAY_AT_MOST_S: Final = 900
MOST_AWAY: Final = 5
"""At once, in several windows: the newest."""


def fresh_state() -> str:
    return secrets.token_urlsafe(32)


def fresh_verifier() -> str:
    return secrets.token_urlsafe(48)


def challenged(verifier: str) -> dict[str, str]:
    """What an authorization request says of it (RFC 7636)."""
    digest = hashlib.sha256(verifier.encode()).digest()
    return {
        "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
        "code_challenge_method": "S256",
    }


def keep(session: SessionBase, name: str, state: str, values: Mapping[str, Any]) -> None:
    """`values`: what is needed when they come back with this state."""
    newest = sorted(_away(session, name).items(), key=lambda one: one[1]["at"])[1 - MOST_AWAY :]
    session[name] = {**dict(newest), state: {"at": time.time(), "values": dict(values)}}


def taken(session: SessionBase, name: str, state: str) -> dict[str, Any] | None:
    """What was kept for this state: once, also for whoever comes a second time, and only for so long."""
    away = _away(session, name)
    kept = away.pop(state, None)
    if kept is None:
        return None
    session[name] = away
    # At once: two that come at the same instant are told apart by the provider, which takes the code once.
    session.save()
    values: dict[str, Any] = kept["values"]
    return values if 0 <= time.time() - kept["at"] < AWAY_AT_MOST_S else None


def _away(session: SessionBase, name: str) -> dict[str, dict[str, Any]]:
    """Without what is not of this form: a session may be older than this code."""
    found = session.get(name)
    if not isinstance(found, dict):
        return {}
    return {state: one for state, one in found.items() if isinstance(one, dict) and one.keys() == {"at", "values"}}
