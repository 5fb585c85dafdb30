"""The arithmetic of single sign-on, and its settings: plain values, no database and no provider."""

from typing import Any

import pytest

from hyperagent.accounts.sso import protocol, roles
from hyperagent.accounts.sso.protocol import Doing, PendingSignIn
from hyperagent.lib.conf import BadConfig, load
from hyperagent.lib.sign_on import SignOn

ACME = SignOn(issuer="https://acme.example", client_id="us", roles_claim="groups")
DOCUMENT = {
    "issuer": "https://acme.example/",
    "authorization_endpoint": "https://acme.example/authorize?tenant=1",
    "token_endpoint": "https://acme.example/token",
    "jwks_uri": "https://acme.example/keys",
}


def env(**values: str) -> dict[str, str]:
    return {"SECRET_KEY": "k" * 40, **values}


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        {},
        {**DOCUMENT, "issuer": 7},
        {**DOCUMENT, "jwks_uri": "http://acme.example/keys"},
        {**DOCUMENT, "token_endpoint": "file:///etc/passwd"},
        {**DOCUMENT, "userinfo_endpoint": "//acme.example"},
        {**DOCUMENT, "authorization_endpoint": "javascript:alert(1)"},
        {**DOCUMENT, "authorization_endpoint": "https://[::"},
    ],
)
def test_a_document_that_says_no_provider_or_leads_out_of_https_is_none(document: Any) -> None:
    assert protocol.provider_in(document, issuer="https://acme.example") is None


def test_a_person_is_sent_with_a_challenge_a_state_and_a_nonce_that_nobody_guesses() -> None:
    provider = protocol.provider_in(DOCUMENT, issuer="https://acme.example")
    assert provider is not None
    first, second = (PendingSignIn.fresh(Doing.SIGN_IN, next_url="/") for _ in range(2))
    url = protocol.authorization_url(provider, ACME, first, redirect_url="https://us.example/back")

    assert url.startswith("https://acme.example/authorize?tenant=1&response_type=code&")
    assert f"state={first.state}&nonce={first.nonce}&code_challenge=" in url
    assert first.verifier not in url
    assert "code_challenge_method=S256" in url
    assert len({first.state, first.nonce, first.verifier, second.state, second.nonce, second.verifier}) == 6
    assert PendingSignIn.read(first.stored()) == first
    assert PendingSignIn.read({**first.stored(), "more": 1}) is None
    assert protocol.is_same_issuer(provider.issuer, ACME.issuer)
    assert not protocol.is_same_issuer("https://acme.example.evil.example", ACME.issuer)


@pytest.mark.parametrize(
    ("said", "is_verified"),
    [(True, True), ("true", True), (False, False), ("false", False), (None, False), (1, True), ("yes", False)],
)
def test_an_address_is_verified_only_where_the_provider_says_so(said: object, is_verified: bool) -> None:
    claims = {"iss": "i", "sub": "s", "email": "a@b.example", "email_verified": said}

    assert protocol.arrival_of(claims, ACME).is_verified is is_verified


def test_what_claims_say_is_cleaned_and_read_at_any_depth() -> None:
    deep = {"realm_access": {"roles": ["a", 7, None, "b"]}, "https://x.example/groups": ["c"], "one": "d"}
    arrival = protocol.arrival_of({"iss": "i", "sub": "s\x00", "name": "A\x00lice", "email": ["x"], "amr": "mfa"}, ACME)

    assert protocol.values_of(deep, "realm_access.roles") == frozenset({"a", "b"})
    assert protocol.values_of(deep, "https://x.example/groups") == frozenset({"c"})
    assert protocol.values_of(deep, "one") == frozenset({"d"})
    assert protocol.values_of(deep, "nowhere.at.all") is None
    assert "\x00" not in arrival.subject + arrival.name
    assert (arrival.email, arrival.has_second_factor, arrival.roles) == ("", False, None)


def test_a_token_is_for_us_if_its_party_is() -> None:
    assert protocol.is_for_us({"aud": "us"}, "us")
    assert protocol.is_for_us({"aud": ["us", "them"], "azp": "us"}, "us")
    assert not protocol.is_for_us({"aud": ["us", "them"]}, "us")
    assert not protocol.is_for_us({"aud": "us", "azp": "them"}, "us")


def test_only_what_came_by_the_claim_goes_with_it() -> None:
    came = roles.change(wanted={"auditor", "Sales"}, held={"user", "auditor"}, given=set())
    gone = roles.change(wanted=set(), held={"user", "auditor", "Sales"}, given={"Sales", "taken here meanwhile"})

    assert came == roles.Change(frozenset({"Sales"}), frozenset(), frozenset({"Sales"}))
    assert gone == roles.Change(frozenset(), frozenset({"Sales"}), frozenset())


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"OIDC_ISSUER": "acme", "OIDC_CLIENT_ID": "x"}, "OIDC_ISSUER='acme' is not allowed"),
        ({"OIDC_ISSUER": "https://acme.example"}, "OIDC_CLIENT_ID is not set"),
        ({"OIDC_ROLES": "[1]", "OIDC_ROLES_CLAIM": "g"}, "OIDC_ROLES='[1]' is not allowed"),
        ({"OIDC_ROLES": '{"a": "auditor"}'}, "OIDC_ROLES_CLAIM is not set, and OIDC_ROLES needs it"),
        ({"OIDC_SCOPES": "email profile"}, "OIDC_SCOPES="),
        ({"OIDC_REQUIRED": "true"}, "OIDC_ISSUER is not set, and OIDC_REQUIRED needs it"),
        ({"MFA_REQUIRED_FOR": "some"}, "none, administrators or everybody"),
    ],
)
def test_a_setting_that_cannot_be_meant_stops_the_start_by_its_name(values: dict[str, str], named: str) -> None:
    with pytest.raises(BadConfig) as stopped:
        load(env(**values), needs_servers=False)

    assert named in stopped.value.text()


def test_the_settings_as_they_are_meant() -> None:
    values = {
        "OIDC_ISSUER": "http://10.0.0.7:8080/realms/acme",
        "OIDC_CLIENT_ID": "us",
        "OIDC_CLIENT_SECRET": "hush",
        "OIDC_SCOPES": "openid, email groups",
        "OIDC_ROLES_CLAIM": "groups",
        "OIDC_ROLES": '{"boss": "administrator"}',
        "OIDC_ALLOWED_DOMAINS": "@Acme.example",
    }
    read = load(env(**values), needs_servers=False).sign_on

    assert read is not None
    assert (read.scopes, read.roles, read.allowed_domains) == (
        ("openid", "email", "groups"),
        {"boss": "administrator"},
        ("acme.example",),
    )
    assert "hush" not in repr(read)
    assert load(env(), needs_servers=False).sign_on is None
