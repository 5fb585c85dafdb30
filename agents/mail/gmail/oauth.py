"""How a person lets us into their Gmail (OAuth 2 with PKCE), how we stay in, and how we leave. Knows no table."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

import structlog
from pydantic import SecretStr

from agents.mail.credentials import Grant
from agents.mail.gmail.google import SCOPES, Google
from agents.mail.kinds import AccountState
from agents.mail.troubles import MailTrouble
from hyperagent.lib import oauth
from hyperagent.lib.outside.calling import Answer, NotAnswered, NotJson, call

log = structlog.get_logger(__name__)

TIMEOUT_S: Final = 20.0
ANSWER_BYTES: Final = 200_000
# An access token that ends within this time is renewed before it is used.
MARGIN_S: Final = 60
AGAIN: Final = "Connect it again at /mail/."
REVOKED: Final = f"Google does not let us into this mailbox any more: the leave has ended or was taken back. {AGAIN}"
AWAY: Final = "Google cannot be reached just now. Try again later."
MISCONFIGURED: Final = (
    "Google does not know this installation. An administrator has to correct GMAIL_CLIENT_ID and GMAIL_CLIENT_SECRET."
)
NOT_ALL: Final = (
    "Google was not given leave for all that is needed. Connect again, and tick reading and composing mails."
)
NO_LASTING: Final = "Google gave leave for an hour only. Take HyperAgent out of your Google account, and connect again."


@dataclass(frozen=True, slots=True)
class PendingConsent:
    """What is kept while a person is at Google: their coming back has to fit."""

    state: str
    verifier: str

    @classmethod
    def fresh(cls) -> "PendingConsent":
        return cls(oauth.fresh_state(), oauth.fresh_verifier())


def consent_url(google: Google, going: PendingConsent, *, redirect_url: str, address: str = "") -> str:
    """Where a person is sent. `address`: the mailbox that is to be connected again, if it is known."""
    asked = {
        "response_type": "code",
        "client_id": google.client_id,
        "redirect_uri": redirect_url,
        "scope": " ".join(SCOPES),
        "state": going.state,
        **oauth.challenged(going.verifier),
        # Offline with consent: else Google gives no refresh token to whoever gave leave before.
        "access_type": "offline",
        "prompt": "consent",
    }
    return f"{google.consent_url}?{urlencode(asked | ({'login_hint': address} if address else {}))}"


async def exchange(google: Google, *, code: str, going: PendingConsent, redirect_url: str) -> Grant:
    """What a person came back with, for tokens. Raises MailTrouble."""
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "code_verifier": going.verifier,
        "redirect_uri": redirect_url,
    }
    answer, said = await _asked(google, form)
    if not answer.is_ok:
        raise _refused(said)
    grant = _grant(said)
    if not set(SCOPES) <= set(str(said.get("scope", " ".join(SCOPES))).split()):
        await revoke(google, grant)
        raise MailTrouble(NOT_ALL, state=AccountState.RECONNECT)
    if not grant.refresh_token.get_secret_value():
        raise MailTrouble(NO_LASTING, state=AccountState.RECONNECT)
    return grant


async def refreshed(google: Google, grant: Grant) -> Grant:
    """With a new access token, and with a new refresh token if Google changed it. Raises MailTrouble."""
    form = {"grant_type": "refresh_token", "refresh_token": grant.refresh_token.get_secret_value()}
    answer, said = await _asked(google, form)
    if not answer.is_ok:
        raise _refused(said)
    fresh = _grant(said)
    kept = fresh.refresh_token if fresh.refresh_token.get_secret_value() else grant.refresh_token
    return fresh.model_copy(update={"refresh_token": kept})


async def revoke(google: Google, grant: Grant) -> bool:
    """Gives the leave back; False where Google did not say that it took it, which is no reason to stay in."""
    form = {"token": (grant.refresh_token.get_secret_value() or grant.access_token.get_secret_value())}
    try:
        answer = await call("POST", google.revoke_url, form=form, max_bytes=ANSWER_BYTES, timeout_s=TIMEOUT_S)
    except NotAnswered as error:
        log.warning("mail.google_not_revoked", why=str(error))
        return False
    return answer.is_ok


def is_stale(grant: Grant) -> bool:
    return not grant.access_token.get_secret_value() or grant.expires_at < time.time() + MARGIN_S


async def _asked(google: Google, form: Mapping[str, str]) -> tuple[Answer, dict[str, Any]]:
    whole = {**form, "client_id": google.client_id, "client_secret": google.client_secret}
    try:
        answer = await call("POST", google.token_url, form=whole, max_bytes=ANSWER_BYTES, timeout_s=TIMEOUT_S)
        said = answer.json()
    except (NotAnswered, NotJson) as error:
        log.warning("mail.google_away", why=str(error))
        raise MailTrouble(AWAY) from None
    if answer.status >= 500 or answer.status == 429 or not isinstance(said, dict):
        raise MailTrouble(AWAY)
    return answer, said


def _refused(said: Mapping[str, Any]) -> MailTrouble:
    why = str(said.get("error", ""))[:60]
    log.warning("mail.google_refused", why=why)
    if why in ("invalid_client", "unauthorized_client", "redirect_uri_mismatch"):
        return MailTrouble(MISCONFIGURED)
    return MailTrouble(REVOKED, state=AccountState.RECONNECT)


def _grant(said: Mapping[str, Any]) -> Grant:
    token, lasts_s = said.get("access_token"), said.get("expires_in", 3600)
    if not isinstance(token, str) or not token or not isinstance(lasts_s, int):
        raise MailTrouble(AWAY)
    return Grant(
        refresh_token=SecretStr(str(said.get("refresh_token") or "")),
        access_token=SecretStr(token),
        expires_at=time.time() + lasts_s,
    )
