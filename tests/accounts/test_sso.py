"""Single sign-on against a real provider in a process of its own, which tells the truth or lies as the test has it."""

import time
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import Group
from django.test import Client

from hyperagent.accounts import actions, invitations, people, people_groups
from hyperagent.accounts.attempts import Try, take
from hyperagent.accounts.limits import Door
from hyperagent.accounts.mfa import factors, session_marks
from hyperagent.accounts.mfa.factors import Kind
from hyperagent.accounts.models import SignIn, User
from hyperagent.accounts.scopes import Role
from hyperagent.accounts.sign_on_models import ProviderIdentity
from hyperagent.accounts.sso import provider as calls
from hyperagent.accounts.sso.arriving import account_of, unlink
from hyperagent.accounts.sso.protocol import Identity
from hyperagent.accounts.tokens import user_for_token
from hyperagent.audit.models import AuditEvent
from hyperagent.lib.refusals import Conflict
from hyperagent.lib.sign_on import SignOn
from hyperagent.management.commands.doctor import check_sign_on
from tests.accounts.provider.driving import CALLBACK, Provider
from tests.accounts.test_invitations import path_of

pytestmark = [pytest.mark.django_db, pytest.mark.threat("T25")]
SITE = "http://testserver"


@pytest.fixture(scope="module")
def running() -> Iterator[Provider]:
    with Provider() as provider:
        yield provider


@pytest.fixture
def provider(running: Provider, settings: Any) -> Iterator[Provider]:
    """Truthful, with Alice signed in there."""
    calls.forget()
    settings.SITE_URL, settings.REGISTRATION_OPEN = SITE, False
    settings.SIGN_ON = running.sign_on()
    alice = {"name": "alice", "email": "Alice@example.org"}
    running.control(lie="", claims={}, redirect_uri=f"{SITE}{CALLBACK}", person=alice, enter="alice")
    yield running
    calls.forget()


def who(page: Client) -> str:
    """The address of who is signed in here; empty for nobody."""
    user = page.get("/settings/profile/").context
    return str(user["user"].email) if user and user["user"].is_authenticated else ""


def said(answer: Any) -> str:
    return " ".join(str(message) for message in answer.context["messages"])


def claims(**values: Any) -> dict[str, Any]:
    return {"id_token": values, "userinfo": values}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("told", "kept"), [("Asia/Tokyo", "Asia/Tokyo"), ("Mars/Olympus", ""), ("", "")], ids=["known", "unknown", "none"]
)
def test_a_new_account_lives_by_the_clock_of_the_browser_that_made_it(
    provider: Provider, page: Client, told: str, kept: str
) -> None:
    provider.walk(page, f"/accounts/sso/?time_zone={told}")
    page.logout()
    provider.walk(page, "/accounts/sso/?time_zone=Europe/Berlin")

    assert User.objects.get().time_zone == kept


@pytest.mark.slow
@pytest.mark.spec("B21")
def test_a_stranger_with_a_verified_address_gets_an_account_and_comes_back_to_it(
    provider: Provider, page: Client
) -> None:
    first = provider.walk(page, "/accounts/sso/?next=/settings/appearance/")
    user = User.objects.get()
    page.logout()
    again = provider.walk(page)

    assert first.redirect_chain[-1][0] == "/settings/appearance/"
    assert (user.email, user.display_name, user.has_usable_password()) == ("Alice@example.org", "Alice", False)
    assert again.redirect_chain[0][0] == "/"
    assert User.objects.count() == ProviderIdentity.objects.count() == 1
    assert SignIn.objects.filter(user=user).exists()
    kinds = set(AuditEvent.objects.values_list("kind", flat=True))
    assert {"user.created", "sso.linked", "sign_in.succeeded"} <= kinds


@pytest.mark.slow
def test_whoever_was_invited_and_comes_by_the_provider_is_told_that_they_are_in(
    provider: Provider, page: Client, bob: User
) -> None:
    page.get(path_of(invitations.invite(bob, "alice@example.org", roles=["auditor"])))

    arrived = provider.walk(page, "/accounts/sso/?next=/accounts/invited/")

    assert (arrived.status_code, arrived.redirect_chain[-1][0]) == (200, "/settings/")
    assert "You have accepted the invitation." in arrived.content.decode()
    assert User.objects.get(email="Alice@example.org").roles() == [Role.USER, Role.AUDITOR]
    assert page.get("/accounts/invited/").status_code == 410


def test_an_address_that_the_provider_has_not_verified_takes_over_no_account_and_makes_none(
    provider: Provider, page: Client, alice: User
) -> None:
    provider.control(person={"name": "alice", "email": alice.email, "verified": False}, enter="alice")
    taken = provider.walk(page)
    provider.control(person={"name": "alice", "email": "new@example.org", "verified": False}, enter="alice")
    new = provider.walk(page)

    assert "Sign in with your password, then link Acme in Settings > Security" in said(taken)
    assert "Acme has not verified your e-mail address" in said(new)
    assert who(page) == ""
    assert not ProviderIdentity.objects.exists()
    assert User.objects.count() == 1


@pytest.mark.slow
def test_where_anybody_may_register_a_verified_address_opens_no_account_that_a_stranger_may_have_made(
    provider: Provider, page: Client, alice: User, settings: Any
) -> None:
    _, raw = actions.make_token(alice)
    settings.REGISTRATION_OPEN = True
    refused = provider.walk(page)
    settings.REGISTRATION_OPEN = False
    let_in = provider.walk(page)

    alice.refresh_from_db()
    assert user_for_token(raw) is None
    assert "There is an account with your e-mail address already" in said(refused)
    assert who(page) == alice.email
    assert let_in.status_code == 200
    assert not alice.has_usable_password()


@pytest.mark.slow
def test_an_account_is_linked_in_the_settings_and_unlinked_again(
    provider: Provider, alices_page: Client, alice: User, settings: Any
) -> None:
    provider.control(person={"name": "alice", "email": "other@elsewhere.example", "verified": False}, enter="alice")
    stranger = alices_page.get("/accounts/sso/?link=guessed")
    alices_page.post("/settings/security/confirm/", {"password": "correct horse battery staple"})
    shown = alices_page.get("/settings/security/").content.decode()
    link = shown.partition('href="/accounts/sso/?link=')[2].partition('"')[0]

    linked = provider.walk(alices_page, f"/accounts/sso/?link={link}")
    identity = ProviderIdentity.objects.get()
    elsewhere = Client()
    provider.walk(elsewhere)
    unlinked = alices_page.post(f"/settings/security/sign-on/{identity.pk}/unlink/", follow=True)

    assert stranger["Location"] == "/settings/security/"
    assert "Acme is linked" in said(linked)
    assert (identity.user, identity.email) == (alice, "other@elsewhere.example")
    assert who(elsewhere) == alice.email
    assert "not linked any more" in said(unlinked)
    assert not ProviderIdentity.objects.exists()


@pytest.mark.parametrize(("kind", "may"), [(Kind.TOTP, False), (Kind.WEBAUTHN, True)], ids=["app", "passkey"])
def test_the_last_way_in_is_not_unlinked_and_an_app_that_shows_digits_is_none(
    alice: User, kind: Kind, may: bool
) -> None:
    alice.set_unusable_password()
    alice.save()
    identity = ProviderIdentity.objects.create(user=alice, issuer="https://a.example", subject="1")
    Authenticator.objects.create(user=alice, type=kind, data={"name": "Laptop"})

    with nullcontext() if may else pytest.raises(Conflict, match="your only way in"):
        unlink(alice, identity.pk)

    assert ProviderIdentity.objects.filter(user=alice).exists() is not may


@pytest.mark.parametrize("way", ["nothing", "password", "sign-on", "another passkey"])
def test_a_passkey_that_is_the_only_way_in_is_not_removed(alice: User, way: str) -> None:
    if way != "password":
        alice.set_unusable_password()
        alice.save()
    passkey = Authenticator.objects.create(user=alice, type=Kind.WEBAUTHN, data={"name": "Laptop"})
    Authenticator.objects.create(user=alice, type=Kind.TOTP, data={})
    if way == "sign-on":
        ProviderIdentity.objects.create(user=alice, issuer="https://a.example", subject="1")
    if way == "another passkey":
        Authenticator.objects.create(user=alice, type=Kind.WEBAUTHN, data={"name": "Phone"})

    with pytest.raises(Conflict, match="your only way in") if way == "nothing" else nullcontext():
        factors.remove(alice, passkey.pk)

    assert Authenticator.objects.filter(pk=passkey.pk).exists() is (way == "nothing")


@pytest.mark.slow
def test_what_is_linked_to_one_account_is_not_linked_to_another(
    provider: Provider, page: Client, charlies_page: Client, charlie: User
) -> None:
    provider.walk(page)
    charlies_page.post("/settings/security/confirm/", {"password": "correct horse battery staple"})
    shown = charlies_page.get("/settings/security/").content.decode()
    link = shown.partition('href="/accounts/sso/?link=')[2].partition('"')[0]
    refused = provider.walk(charlies_page, f"/accounts/sso/?link={link}")

    assert "belongs to another account here" in said(refused)
    assert not charlie.identities.exists()


@pytest.mark.slow
@pytest.mark.spec("B21")
def test_roles_come_and_go_with_the_claim_and_what_an_administrator_gave_stays(
    provider: Provider, page: Client, settings: Any
) -> None:
    roles = {"audit": "auditor", "boss": "administrator", "sales": "Sales", "review": "reviewer"}
    settings.SIGN_ON = provider.sign_on(roles_claim="realm_access.roles", roles=roles)
    User.objects.create_user("root@example.org", is_staff=True)
    provider.control(claims=claims(realm_access={"roles": ["audit", "boss", "sales", "unknown"]}))
    provider.walk(page)
    user = User.objects.get(email="Alice@example.org")
    first = (user.roles(), set(user.groups.values_list("name", flat=True)))
    Group.objects.get_or_create(name="reviewer")[0].user_set.add(user)

    page.logout()
    provider.control(claims=claims(realm_access={"roles": ["review"]}))
    provider.walk(page)
    second = User.objects.get(pk=user.pk).roles()
    page.logout()
    provider.control(claims={})
    provider.walk(page)
    third = User.objects.get(pk=user.pk)

    assert first == (["user", "auditor", "administrator"], {"auditor", "Sales"})
    assert second == ["user", "reviewer"]
    assert third.roles() == ["user", "reviewer"]
    assert not third.groups.filter(name="Sales").exists()
    changes = AuditEvent.objects.filter(kind__in=("role.given", "role.taken"), actor_id=None)
    assert changes.count() == 4


@pytest.mark.slow
def test_the_last_administrator_stays_one_whatever_the_claim_says(
    provider: Provider, page: Client, settings: Any
) -> None:
    settings.SIGN_ON = provider.sign_on(roles_claim="groups", roles={"boss": "administrator"})
    provider.control(claims=claims(groups=["boss"]))
    provider.walk(page)
    page.logout()
    provider.control(claims={})
    provider.walk(page)
    kept = User.objects.get().is_staff
    User.objects.create_user("other@example.org", is_staff=True)
    page.logout()
    provider.walk(page)

    assert kept
    assert not User.objects.get(email="Alice@example.org").is_staff


@pytest.mark.django_db(transaction=True)
def test_what_an_administrator_takes_and_gives_while_somebody_signs_in_by_claim_stays_so(
    alice: User, bob: User, during: Any
) -> None:
    people.set_roles(bob, alice.pk, [Role.ADMINISTRATOR])
    legal = people_groups.make(bob, "Legal")
    sign_on = SignOn(
        issuer="https://id.example.org",
        client_id="x",
        roles_claim="groups",
        roles={"audit": "auditor", "sales": "Sales"},
    )
    ProviderIdentity.objects.create(user=alice, issuer=sign_on.issuer, subject="a", email=alice.email)
    arrival = Identity(sign_on.issuer, "a", alice.email, True, "Alice", frozenset({"audit", "sales"}), False, None)

    with during(lambda: account_of(arrival, sign_on)):
        people.set_both(bob, alice.pk, roles=[], group_ids=[legal.pk])

    assert User.objects.get(pk=alice.pk).roles() == [Role.USER, Role.AUDITOR]
    assert {group.name for group in people.plain_groups().filter(user=alice)} == {"Legal", "Sales"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lie", "sentence"),
    [
        ("nonce", "cannot be trusted"),
        ("signature", "cannot be trusted"),
        ("none", "cannot be trusted"),
        ("hmac", "cannot be trusted"),
        ("audience", "cannot be trusted"),
        ("party", "cannot be trusted"),
        ("key", "cannot be trusted"),
        ("issuer", "cannot be trusted"),
        ("expired", "clocks of Acme and of this installation differ"),
        ("future", "clocks of Acme and of this installation differ"),
        ("down", "Acme cannot be reached just now"),
    ],
)
def test_a_token_that_is_not_the_providers_for_us_and_of_now_opens_nothing(
    provider: Provider, page: Client, lie: str, sentence: str
) -> None:
    back = provider.there(page)
    provider.control(lie=lie)
    answer = page.get(back, follow=True)

    assert sentence in said(answer)
    assert answer.redirect_chain[-1][0] == "/accounts/login/"
    assert "Traceback" not in answer.content.decode()
    assert who(page) == ""
    assert not User.objects.exists()
    assert AuditEvent.objects.filter(kind="sign_in.failed").count() == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lie", "sentence"),
    [
        *((lie, "cannot be trusted") for lie in ("nonce", "signature", "none", "hmac", "audience", "issuer", "key")),
        *((lie, "cannot be trusted") for lie in ("no nonce", "no expiry", "no subject", "an empty subject")),
        *((lie, "cannot be trusted") for lie in ("a long subject", "its own key", "no keys", "keys of nonsense")),
        *((lie, "cannot be trusted") for lie in ("no token", "a token of nonsense", "nothing")),
        *((lie, "Acme cannot be reached just now") for lie in ("keys away", "keys as a page", "a page")),
    ],
)
def test_nor_does_it_open_the_account_that_there_is_of_that_address(
    provider: Provider, page: Client, alice: User, lie: str, sentence: str
) -> None:
    """Which a truthful provider would: the installation's addresses are its own."""
    provider.control(person={"name": "alice", "email": alice.email}, enter="alice")
    back = provider.there(page)
    calls.forget()
    provider.control(lie=lie)
    answer = page.get(back, follow=True)

    assert sentence in said(answer)
    assert answer.redirect_chain[-1][0] == "/accounts/login/"
    assert who(page) == ""
    alice.refresh_from_db()
    assert alice.has_usable_password()
    assert User.objects.count() == 1
    assert not ProviderIdentity.objects.exists()
    assert not SignIn.objects.exists()


@pytest.mark.slow
def test_a_way_back_is_gone_once_and_by_the_browser_that_went_there(provider: Provider, page: Client) -> None:
    back = provider.there(page)
    another = Client().get(back, follow=True)
    first = page.get(back, follow=True)
    page.logout()
    replayed = page.get(back, follow=True)
    # The same code once more, by a state that is new: the provider has taken it back.
    code = back.partition("code=")[2].partition("&")[0]
    state = page.get("/accounts/sso/")["Location"].partition("state=")[2].partition("&")[0]
    spent = page.get(f"{CALLBACK}?code={code}&state={state}", follow=True)

    assert "begun in another browser" in said(another)
    assert first.context["user"].is_authenticated
    assert "was used before" in said(replayed)
    assert "was used before" in said(spent)
    assert who(page) == ""


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("error=access_denied", "Acme did not let you in"),
        ("error=%3Cscript%3E&error_description=call%20555", "Acme ended the sign-in with an error"),
        ("", "Acme ended the sign-in with an error"),
        ("code=x&iss=http%3A%2F%2Fevil.example", "not from Acme as it is configured"),
        ("code=invented", "was used before"),
    ],
)
def test_what_comes_back_in_place_of_a_code_is_a_sentence(
    provider: Provider, page: Client, query: str, sentence: str
) -> None:
    state = page.get("/accounts/sso/")["Location"].partition("state=")[2].partition("&")[0]
    answer = page.get(f"{CALLBACK}?state={state}&{query}", follow=True)

    shown = answer.content.decode()
    assert sentence in said(answer)
    assert "555" not in shown
    assert "<script>" not in shown.partition("<main")[2]


@pytest.mark.slow
@pytest.mark.parametrize(
    "target", ["//evil.example", "https://evil.example/", "javascript:alert(1)", "\\\\evil.example"]
)
def test_nobody_is_sent_elsewhere_after_the_sign_in(provider: Provider, page: Client, target: str) -> None:
    answer = page.get(provider.there(page, f"/accounts/sso/?next={target}"))

    assert answer["Location"] == "/"


@pytest.mark.slow
def test_who_may_not_come_in_is_told_why(provider: Provider, page: Client, settings: Any) -> None:
    settings.SIGN_ON = provider.sign_on(creates_users=False)
    no_account = said(provider.walk(page))
    settings.SIGN_ON = provider.sign_on(allowed_domains=("acme.example",))
    foreign = said(provider.walk(page))
    settings.SIGN_ON = provider.sign_on()
    provider.walk(page)
    page.logout()
    User.objects.update(is_active=False)
    inactive = said(provider.walk(page))

    assert "no account here for you" in no_account
    assert "none of the domains" in foreign
    assert "deactivated" in inactive
    assert who(page) == ""


def test_a_provider_that_is_another_one_or_cannot_be_reached_is_a_sentence_on_the_page_of_the_login(
    provider: Provider, page: Client, settings: Any
) -> None:
    elsewhere = provider.url.replace("127.0.0.1", "localhost")
    settings.SIGN_ON = provider.sign_on(issuer=f"{elsewhere}/")
    same = page.get("/accounts/sso/")
    settings.SIGN_ON = provider.sign_on(issuer="http://127.0.0.1:9")
    away = page.get("/accounts/sso/", follow=True)
    provider.control(lie="down")
    calls.forget()
    settings.SIGN_ON = provider.sign_on()
    broken = page.get("/accounts/sso/", follow=True)
    settings.SIGN_ON = None

    assert same["Location"].startswith(f"{elsewhere}/identity/o/authorize?")
    assert "cannot be reached" in said(away)
    assert "cannot be reached" in said(broken)
    assert page.get("/accounts/sso/").status_code == 404


def test_the_doctor_asks_the_provider_and_says_what_to_register(provider: Provider, settings: Any) -> None:
    def found(issuer: str) -> tuple[str, str]:
        config = settings.CONFIG.model_copy(update={"oidc_issuer": issuer, "oidc_client_id": "hyperagent"})
        finding = list(check_sign_on(config))[-1]
        return finding.state.value, finding.what

    assert found(provider.url)[0] == "ok"
    assert "/accounts/sso/callback/" in found(provider.url)[1]
    assert found(f"{provider.url}/elsewhere")[0] == "ERROR"
    assert found("")[0] == "ok"


def test_wrong_credentials_of_the_client_are_an_administrators_to_mend(
    provider: Provider, page: Client, settings: Any
) -> None:
    settings.SIGN_ON = provider.sign_on(client_secret="wrong")
    answer = provider.walk(page)

    assert "OIDC_CLIENT_SECRET" in said(answer)


def test_too_many_ways_back_from_one_address_have_to_wait(provider: Provider, page: Client) -> None:
    back = provider.there(page)
    for _ in range(30):
        take(Try(Door.SSO, "127.0.0.1", "127.0.0.1"))
    answer = page.get(back, follow=True)

    assert "Too many tries" in said(answer)
    assert who(page) == ""


@pytest.mark.spec("B21")
def test_where_single_sign_on_is_required_passwords_open_for_administrators_only(
    provider: Provider, page: Client, api: Any, alice: User, settings: Any
) -> None:
    settings.SIGN_ON = provider.sign_on(is_required=True)
    typed = {"email": alice.email, "password": "correct horse battery staple"}
    shown = page.get("/accounts/login/").content.decode()
    refused = page.post("/accounts/login/", typed).content.decode()
    token = api.post("/api/v1/auth/token", typed)
    User.objects.filter(pk=alice.pk).update(is_staff=True)
    let_in = page.post("/accounts/login/", typed)

    assert "For emergencies" in shown
    assert "Everybody but administrators signs in by Acme here." in refused
    assert (token.status_code, token.json()["error"]["code"]) == (403, "sso_required")
    assert let_in.status_code == 302


@pytest.mark.slow
def test_who_has_no_password_leaves_for_good_after_showing_anew_who_they_are(provider: Provider, page: Client) -> None:
    provider.walk(page)
    typed = {"typed": "alice@example.org"}
    session = page.session
    session[session_marks.CONFIRMED_AT] = 0
    session.save()
    asked = page.get("/settings/data/delete/")
    shown = page.get(asked["Location"]).content.decode()
    provider.control(claims={"id_token": {"auth_time": 1}})
    stale = provider.walk(page, "/accounts/sso/?confirm=1&next=/settings/data/delete/")
    provider.control(claims={"id_token": {"auth_time": int(time.time())}})
    provider.walk(page, "/accounts/sso/?confirm=1&next=/settings/data/delete/")
    page.post("/settings/data/delete/", typed)

    assert asked["Location"] == "/settings/security/confirm/?next=%2Fsettings%2Fdata%2Fdelete%2F"
    assert "Continue with Acme" in shown
    assert "Acme did not ask you anew" in said(stale)
    assert User.objects.get().deleted_at is not None
    assert not ProviderIdentity.objects.filter(user__is_active=True).exists()


@pytest.mark.slow
def test_a_second_factor_here_is_asked_for_unless_the_provider_asked_for_one(
    provider: Provider, page: Client, settings: Any
) -> None:
    provider.walk(page)
    user = User.objects.get()
    Authenticator.objects.create(user=user, type="webauthn", data={"name": "Key"})
    page.logout()
    half_in = provider.walk(page)
    nobody_yet = who(page)
    provider.control(claims={"id_token": {"amr": ["pwd", "mfa"]}})
    provider.walk(page)

    assert half_in.redirect_chain[0][0] == "/accounts/login/second/"
    assert (nobody_yet, who(page)) == ("", user.email)


@pytest.mark.slow
def test_the_providers_word_alone_confirms_nobody_who_has_a_second_factor_here(
    provider: Provider, page: Client
) -> None:
    provider.walk(page)
    factor = Authenticator.objects.create(user=User.objects.get(), type="webauthn", data={"name": "Key"})
    session = page.session
    session[session_marks.CONFIRMED_AT], session[session_marks.SHOWN] = 0, True
    session.save()
    remove, confirm = (
        f"/settings/security/second-factor/{factor.pk}/remove/",
        "/accounts/sso/?confirm=1&next=/settings/",
    )

    provider.control(claims={"id_token": {"auth_time": int(time.time())}})
    led = provider.walk(page, confirm)
    refused = page.post(remove)["Location"]
    provider.control(claims={"id_token": {"auth_time": int(time.time()), "amr": ["pwd", "mfa"]}})
    provider.walk(page, confirm)
    page.post("/settings/security/second-factor/codes/")

    assert led.redirect_chain[-1][0] == "/settings/security/confirm/?next=%2Fsettings%2F"
    assert said(led) == "Acme asked for no second factor: show yours here."
    assert refused.startswith("/settings/security/confirm/")
    assert factors.recovery_codes_left(User.objects.get()) == 10


def test_the_session_ends_with_all_others_and_a_sign_out_asks_the_provider_nothing(
    provider: Provider, page: Client
) -> None:
    provider.walk(page)
    user = User.objects.get()
    before = who(page)
    User.objects.filter(pk=user.pk).update(sessions_ended=1)

    assert before == user.email
    assert who(page) == ""
