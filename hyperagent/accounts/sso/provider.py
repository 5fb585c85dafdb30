"""The calls to the provider of single sign-on, all by the one door (`hyperagent.lib.outside.calling`). An administrator
set its address, so it may be a private one.

What it says of itself and its keys are kept in this process for a while, not in the cache: whoever can write there
could write keys.
"""

import base64
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar
from urllib.parse import quote

from asgiref.sync import async_to_sync

from hyperagent.accounts.sso import protocol
from hyperagent.accounts.sso.problems import NotSignedOn, Why
from hyperagent.accounts.sso.protocol import Identity, PendingSignIn, Provider
from hyperagent.lib.outside.calling import Answer, NotAnswered, NotJson, call
from hyperagent.lib.sign_on import SignOn

TIMEOUT_S: Final = 10.0
ANSWER_BYTES: Final = 1_000_000
KEPT_S: Final = 600.0
# An unknown key has the keys read anew, and not more often than this: else bad tokens would make us ask and ask.
KEYS_AGAIN_S: Final = 10.0
_kept: dict[str, tuple[float, Any]] = {}

T = TypeVar("T")


def discover(sign_on: SignOn) -> Provider:
    """Raises NotSignedOn."""
    return _remembered(protocol.discovery_url(sign_on.issuer), lambda url: _discovered(sign_on, url), KEPT_S)


def forget() -> None:
    """Has everything asked anew."""
    _kept.clear()


def exchange(sign_on: SignOn, going: PendingSignIn, *, code: str, redirect_url: str) -> Identity:
    """What a person came back with, for who they are. Raises NotSignedOn."""
    provider = discover(sign_on)
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": redirect_url,
        "code_verifier": going.verifier,
    }
    headers = {}
    if not sign_on.client_secret:
        form["client_id"] = sign_on.client_id
    elif provider.posts_secret:
        form |= {"client_id": sign_on.client_id, "client_secret": sign_on.client_secret}
    else:
        pair = f"{quote(sign_on.client_id, safe='')}:{quote(sign_on.client_secret, safe='')}"
        headers["authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    answer = _call(sign_on, "POST", provider.token_url, form=form, headers=headers)
    said = _json(sign_on, answer)
    if not answer.is_ok:
        raise _refused(sign_on, answer, said)
    claims = _claims(sign_on, provider, said.get("id_token"))
    if not protocol.is_nonce(claims, going) or not protocol.is_for_us(claims, sign_on.client_id):
        raise NotSignedOn(Why.BAD_TOKEN, name=sign_on.name, detail="the nonce or the party is another one")
    return protocol.arrival_of(_completed(sign_on, provider, claims, said.get("access_token")), sign_on)


def _discovered(sign_on: SignOn, url: str) -> Provider:
    answer = _call(sign_on, "GET", url)
    document = _json(sign_on, answer) if answer.is_ok else None
    provider = protocol.provider_in(document, issuer=sign_on.issuer)
    if provider is None:
        raise NotSignedOn(Why.AWAY, name=sign_on.name, detail=f"no discovery at {url}: {answer.status}")
    if not protocol.is_same_issuer(provider.issuer, sign_on.issuer):
        raise NotSignedOn(Why.WRONG_ISSUER, name=sign_on.name, detail=f"it calls itself {provider.issuer}")
    return provider


def _claims(sign_on: SignOn, provider: Provider, token: object) -> Mapping[str, Any]:
    from hyperagent.accounts.sso import id_tokens  # PyJWT: only who comes back opens this door

    def looked_at(keys: Any) -> Mapping[str, Any]:
        return id_tokens.claims_in(str(token or ""), keys=keys, issuer=provider.issuer, client_id=sign_on.client_id)

    def read(url: str) -> dict[str, Any]:
        answer = _call(sign_on, "GET", url)
        if not answer.is_ok:
            raise NotSignedOn(Why.AWAY, name=sign_on.name, detail=f"no keys at {url}: {answer.status}")
        return _json(sign_on, answer)

    try:
        try:
            return looked_at(_remembered(provider.keys_url, read, KEPT_S))
        except id_tokens.UnknownKey:
            return looked_at(_remembered(provider.keys_url, read, KEYS_AGAIN_S))
    except id_tokens.OffClock as error:
        raise NotSignedOn(Why.CLOCK, name=sign_on.name, detail=str(error)) from None
    except id_tokens.BadToken as error:
        raise NotSignedOn(Why.BAD_TOKEN, name=sign_on.name, detail=str(error)) from None


def _completed(
    sign_on: SignOn, provider: Provider, claims: Mapping[str, Any], access_token: object
) -> Mapping[str, Any]:
    """With what the token left out and the provider says when it is asked. What the token says goes before."""
    wanted = ["email", "email_verified", *([sign_on.roles_claim] if sign_on.roles_claim else [])]
    has_all = all(name in claims or protocol.values_of(claims, name) is not None for name in wanted)
    if has_all or not provider.userinfo_url or not isinstance(access_token, str):
        return claims
    answer = _call(sign_on, "GET", provider.userinfo_url, headers={"authorization": f"Bearer {access_token}"})
    said = _json(sign_on, answer) if answer.is_ok else {}
    if said.get("sub") != claims["sub"]:
        # Of somebody else, or not at all: what the token says has to do.
        return claims
    if "email" in claims and said.get("email") != claims["email"]:
        # Said of another address.
        said = {name: value for name, value in said.items() if name != "email_verified"}
    return {**said, **claims}


def _refused(sign_on: SignOn, answer: Answer, said: Mapping[str, Any]) -> NotSignedOn:
    error = str(said.get("error", ""))[:60]
    match error:
        case "invalid_grant":
            why = Why.EXPIRED
        case "invalid_client" | "unauthorized_client" | "redirect_uri_mismatch":
            why = Why.MISCONFIGURED
        case _:
            why = Why.AWAY if answer.status >= 500 or answer.status == 429 else Why.REFUSED
    return NotSignedOn(why, name=sign_on.name, detail=f"the token endpoint said {answer.status} {error!r}")


def _call(sign_on: SignOn, method: str, url: str, **what: Any) -> Answer:
    try:
        return async_to_sync(call)(method, url, max_bytes=ANSWER_BYTES, timeout_s=TIMEOUT_S, **what)
    except NotAnswered as error:
        raise NotSignedOn(Why.AWAY, name=sign_on.name, detail=f"{url}: {error}") from None


def _json(sign_on: SignOn, answer: Answer) -> dict[str, Any]:
    try:
        said = answer.json()
    except NotJson as error:
        raise NotSignedOn(Why.AWAY, name=sign_on.name, detail=str(error)) from None
    return said if isinstance(said, dict) else {}


def _remembered(url: str, ask: Callable[[str], T], at_most_s: float) -> T:
    at, value = _kept.get(url, (0.0, None))
    if value is not None and time.monotonic() - at < at_most_s:
        return value  # type: ignore[no-any-return]
    fresh = ask(url)
    _kept[url] = (time.monotonic(), fresh)
    return fresh
