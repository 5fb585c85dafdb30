"""OpenID Connect as arithmetic: what a provider says of itself, where a person is sent, what the claims say. Pure."""

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any, Final, Self
from urllib.parse import urlencode, urlsplit

from hyperagent.accounts.addresses import looks_like_another
from hyperagent.lib import oauth
from hyperagent.lib.sign_on import SignOn
from hyperagent.lib.text import clean_text

DISCOVERY: Final = "/.well-known/openid-configuration"
# By RFC 8176; a provider that asked for more than a password says so.
SEVERAL_FACTORS: Final = "mfa"
# So long ago a person may have signed in at the provider to count as asked anew.
FRESH_S: Final = 300


class Doing(StrEnum):
    SIGN_IN = "sign_in"
    LINK = "link"
    CONFIRM = "confirm"


@dataclass(frozen=True, slots=True)
class Provider:
    """What its discovery says, as far as it is used."""

    issuer: str
    authorization_url: str
    token_url: str
    keys_url: str
    userinfo_url: str
    posts_secret: bool
    """Whether the token endpoint takes the client's secret in the form: odd letters in a header are read two ways."""


@dataclass(frozen=True, slots=True)
class PendingSignIn:
    """What is kept while a person is at the provider: their coming back has to fit. `time_zone`: of the browser's
    clock, for an account that is made then."""

    state: str
    nonce: str
    verifier: str
    doing: Doing
    next: str
    time_zone: str = ""

    @classmethod
    def fresh(cls, doing: Doing, *, next_url: str, time_zone: str = "") -> Self:
        return cls(oauth.fresh_state(), secrets.token_urlsafe(24), oauth.fresh_verifier(), doing, next_url, time_zone)

    def stored(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def read(cls, stored: Any) -> "PendingSignIn | None":
        if not isinstance(stored, dict):
            return None
        # Whoever went there before a deploy has no zone.
        found = {"time_zone": "", **stored}
        if found.keys() != {field.name for field in fields(cls)}:
            return None
        return cls(**{**found, "doing": Doing(found["doing"])})


@dataclass(frozen=True, slots=True)
class Identity:
    """Who came back, as the provider vouches for it. `roles`: the values of the claim; None if it was not there."""

    issuer: str
    subject: str
    email: str
    is_verified: bool
    name: str
    roles: frozenset[str] | None
    has_second_factor: bool
    signed_in_at: float | None


def discovery_url(issuer: str) -> str:
    return issuer.rstrip("/") + DISCOVERY


def provider_in(document: Any, *, issuer: str) -> Provider | None:
    """None for a document that says no provider, or one that leads from https to plain http."""
    if not isinstance(document, dict) or not isinstance(document.get("issuer"), str):
        return None
    urls = {name: document.get(name) for name in ("authorization_endpoint", "token_endpoint", "jwks_uri")}
    userinfo = document.get("userinfo_endpoint") or ""
    if not all(is_endpoint(url, issuer=issuer) for url in (*urls.values(), *([userinfo] if userinfo else []))):
        return None
    methods = document.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
    return Provider(
        issuer=document["issuer"],
        authorization_url=str(urls["authorization_endpoint"]),
        token_url=str(urls["token_endpoint"]),
        keys_url=str(urls["jwks_uri"]),
        userinfo_url=str(userinfo),
        posts_secret="client_secret_post" in methods,
    )


def is_endpoint(url: object, *, issuer: str) -> bool:
    if not isinstance(url, str):
        return False
    try:
        parts = urlsplit(url)
        allowed = ("https",) if issuer.startswith("https://") else ("https", "http")
        return parts.scheme in allowed and bool(parts.hostname)
    except ValueError:
        return False


def is_same_issuer(one: str, other: str) -> bool:
    """But for the slash at the end, which people leave out and providers do not agree on."""
    return one.rstrip("/") == other.rstrip("/")


def authorization_url(provider: Provider, sign_on: SignOn, going: PendingSignIn, *, redirect_url: str) -> str:
    """Where the person is sent."""
    asked = {
        "response_type": "code",
        "client_id": sign_on.client_id,
        "redirect_uri": redirect_url,
        "scope": " ".join(sign_on.scopes),
        "state": going.state,
        "nonce": going.nonce,
        **oauth.challenged(going.verifier),
    }
    if going.doing is Doing.CONFIRM:
        # With a greatest age a provider has to say when they were asked.
        asked |= {"prompt": "login", "max_age": str(FRESH_S)}
    joint = "&" if urlsplit(provider.authorization_url).query else "?"
    return f"{provider.authorization_url}{joint}{urlencode(asked)}"


def is_nonce(claims: Mapping[str, Any], going: PendingSignIn) -> bool:
    said = claims.get("nonce")
    return isinstance(said, str) and hmac.compare_digest(said.encode(), going.nonce.encode())


def is_for_us(claims: Mapping[str, Any], client_id: str) -> bool:
    """A token for several says for which of them it was made."""
    audience = claims.get("aud")
    if isinstance(audience, list) and len(audience) > 1 and "azp" not in claims:
        return False
    return bool(claims.get("azp", client_id) == client_id)


def arrival_of(claims: Mapping[str, Any], sign_on: SignOn) -> Identity:
    """`claims` are looked at already; what they say is cleaned here."""
    email = claims.get("email")
    methods = claims.get("amr")
    at = claims.get("auth_time")
    return Identity(
        issuer=str(claims["iss"]),
        subject=clean_text(str(claims["sub"])),
        # One that would show as another's is none that an account can have.
        email="" if not isinstance(email, str) or looks_like_another(email.strip()) else email.strip()[:254],
        # Some providers say it as a word.
        is_verified=claims.get("email_verified") in (True, "true"),
        name=clean_text(str(claims.get("name") or "")).strip()[:120],
        roles=values_of(claims, sign_on.roles_claim),
        has_second_factor=isinstance(methods, list) and SEVERAL_FACTORS in methods,
        signed_in_at=float(at) if isinstance(at, (int, float)) and not isinstance(at, bool) else None,
    )


def values_of(claims: Mapping[str, Any], name: str) -> frozenset[str] | None:
    """The words of a claim, which may lie deeper (`realm_access.roles`) or be one word. None if it is not there."""
    if not name:
        return None
    found: Any = claims.get(name)
    if found is None:
        found = claims
        for part in name.split("."):
            found = found.get(part) if isinstance(found, dict) else None
    if isinstance(found, str):
        return frozenset({found})
    if isinstance(found, list):
        return frozenset(word for word in found if isinstance(word, str))
    return None


def is_of_domain(email: str, domains: tuple[str, ...]) -> bool:
    return not domains or email.rpartition("@")[2].lower() in domains


def is_fresh(arrival: Identity, *, now_s: float) -> bool:
    """Whether they were asked anew. A provider that does not say when was asked to, and is believed."""
    return arrival.signed_in_at is None or now_s - arrival.signed_in_at < FRESH_S
