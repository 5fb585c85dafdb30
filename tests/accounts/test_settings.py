"""The settings: what each form keeps and refuses, where a person is signed in, and addresses that moved."""

import re
import uuid
from datetime import UTC, datetime
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.core import mail
from django.test import Client

from hitl.models import Request
from hyperagent.accounts import actions
from hyperagent.accounts.browsers import browser_name
from hyperagent.accounts.budget_models import Budget
from hyperagent.accounts.mfa.factors import Kind
from hyperagent.accounts.models import SignIn, User
from hyperagent.accounts.sign_on_models import ProviderIdentity
from tests.accounts.conftest import PASSWORD
from tests.jobs import do_jobs

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
CHROME_ON_ANDROID = "Mozilla/5.0 (Linux; Android 16) AppleWebKit/537.36 (KHTML) Chrome/141.0 Mobile Safari/537.36"
EDGE = "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0 Safari/537.36 Edg/141.0"
SECTIONS = ("profile", "appearance", "language", "security", "connections", "tokens", "data", "data/delete")


def signed_in(email: str, browser: str = FIREFOX) -> Client:
    client = Client(headers={"user-agent": browser})
    assert client.post("/accounts/login/", {"email": email, "password": PASSWORD}).status_code == 302
    return client


def outside_of_sure(html: str, action: str) -> list[str]:
    """The buttons that send a form with this address at the first press."""
    forms = re.findall(rf'<form method="post" action="[^"]*{action}">(.*?)</form>', html, re.DOTALL)
    assert forms, f"no form sends to {action}"
    plain = [re.sub(r'<details class="sure">.*?</details>', "", form, flags=re.DOTALL) for form in forms]
    return [form for form in plain if "<button" in form]


def is_signed_in(client: Client) -> bool:
    return client.get("/settings/profile/").status_code == 200


def test_a_session_or_a_token_is_ended_by_two_presses(alice: Any, alices_page: Client) -> None:
    here = signed_in(alice.email)
    signed_in(alice.email, CHROME_ON_ANDROID)
    actions.make_token(alice)

    security = here.get("/settings/security/").content.decode()
    tokens = here.get("/settings/tokens/").content.decode()

    assert outside_of_sure(security, "/sign-ins/[^/]+/end/") == []
    assert outside_of_sure(security, "/sign-ins/others/end/") == []
    assert outside_of_sure(tokens, "/revoke/") == []


def test_a_second_factor_a_link_of_single_sign_on_and_a_budget_are_removed_by_two_presses(
    alice: User, alices_page: Client
) -> None:
    for kind in (Kind.TOTP, Kind.WEBAUTHN):
        Authenticator.objects.create(user=alice, type=kind, data={"name": "Laptop"})
    ProviderIdentity.objects.create(user=alice, issuer="https://a.example", subject="1", email="alice@a.example")
    User.objects.filter(pk=alice.pk).update(is_staff=True)
    Budget.objects.create(whose="user", user=alice, period="day", unit="usd", amount=5)

    factors = alices_page.get("/settings/security/second-factor/").content.decode()
    security = alices_page.get("/settings/security/").content.decode()
    budgets = alices_page.get("/usage/budgets/").content.decode()

    assert outside_of_sure(factors, "/second-factor/[^/]+/remove/") == []
    assert outside_of_sure(security, "/sign-on/[^/]+/unlink/") == []
    assert outside_of_sure(budgets, "/usage/budgets/[^/]+/end/") == []
    assert 'Unlink<span class="visually-hidden"> alice@a.example</span></button>' in security
    assert f'Remove<span class="visually-hidden"> {alice.email}, $5.00 a day</span></button>' in budgets


def test_a_stranger_is_asked_to_sign_in_for_every_section(page: Client, db: None) -> None:
    answers = [page.get(f"/settings/{section}/") for section in SECTIONS]

    assert [answer["Location"].split("?")[0] for answer in answers] == ["/accounts/login/"] * len(SECTIONS)


def test_the_frame_names_the_current_place_and_counts_what_waits(alices_page: Client, alice: Any) -> None:
    Request.objects.create(
        execution_id=uuid.uuid4(), agent_id=uuid.uuid4(), agent_name="mail", user=alice, kind="input", question={}
    )
    html = alices_page.get("/documents/").content.decode()
    in_settings = alices_page.get("/settings/language/").content.decode()

    assert html.count('href="/documents/" aria-current="page"') == 1
    assert 'href="/settings/language/" aria-current="page"' in in_settings
    assert '<span class="frame-count">1<' in html
    assert "/admin/" not in html


def test_alice_sets_her_name_and_zone_and_times_are_told_in_it(alice: Any, alices_page: Client) -> None:
    alices_page.post("/settings/profile/", {"display_name": "Alice Liddell", "time_zone": "Asia/Tokyo"})
    refused = alices_page.post("/settings/profile/", {"display_name": "Kept", "time_zone": "Mars/Olympus"})
    SignIn.objects.create(user=alice, session_key=str(alices_page.session.session_key))
    SignIn.objects.update(signed_in_at=datetime(2026, 1, 1, 20, tzinfo=UTC))

    alice.refresh_from_db()
    assert (alice.display_name, alice.time_zone, alice.initials) == ("Alice Liddell", "Asia/Tokyo", "AL")
    assert b'value="Kept"' in refused.content
    assert b"Select a valid choice" in refused.content
    assert "2 Jan 2026 05:00 JST" in alices_page.get("/settings/security/").content.decode()


def test_the_theme_stands_in_every_page_from_then_on(alice: Any, alices_page: Client) -> None:
    alices_page.post("/settings/appearance/", {"theme": "dark"})
    refused = alices_page.post("/settings/appearance/", {"theme": "pink"})

    html = alices_page.get("/settings/").content.decode()
    assert 'data-theme="dark" data-account-theme="dark"' in html
    assert b"Select a valid choice" in refused.content


@pytest.mark.slow
def test_the_language_goes_with_alice_into_every_browser(alice: Any, alices_page: Client) -> None:
    answer = alices_page.post("/settings/language/", {"language": "de"})
    elsewhere = signed_in(alice.email)

    assert answer.cookies[settings.LANGUAGE_COOKIE_NAME].value == "de"
    assert elsewhere.cookies[settings.LANGUAGE_COOKIE_NAME].value == "de"
    assert '<html lang="de"' in elsewhere.get("/settings/").content.decode()
    alices_page.post("/settings/language/", {"language": ""})
    assert User.objects.get(pk=alice.pk).language == ""
    assert alices_page.cookies[settings.LANGUAGE_COOKIE_NAME].value == ""


def test_whoever_chose_no_language_gets_mails_in_that_of_their_pages(alice: Any) -> None:
    def subject() -> str:
        actions.ask_for_password_reset(alice.email, address=None)
        do_jobs()
        return str(mail.outbox[-1].subject)

    before = subject()
    german = Client(headers={"accept-language": "de-AT,de;q=0.9"})
    german.post("/accounts/login/", {"email": alice.email, "password": PASSWORD})
    read = subject()
    german.post("/settings/language/", {"language": "en"})

    assert before == subject() == "Reset your HyperAgent password"
    assert read == "Ihr HyperAgent-Passwort zurücksetzen"


@pytest.mark.slow
def test_alice_sees_where_she_is_signed_in_and_ends_one_and_all_others(alice: Any, charlie: Any) -> None:
    here, phone, edge = signed_in(alice.email), signed_in(alice.email, CHROME_ON_ANDROID), signed_in(alice.email, EDGE)
    unnoted, charlies = Client(), signed_in(charlie.email)
    unnoted.force_login(alice)

    html = here.get("/settings/security/").content.decode()
    of_phone = SignIn.objects.get(user=alice, browser=CHROME_ON_ANDROID)
    by_charlie = charlies.post(f"/settings/security/sign-ins/{of_phone.pk}/end/")
    here.post(f"/settings/security/sign-ins/{of_phone.pk}/end/")

    assert all(name in html for name in ("Firefox on Linux", "Chrome on Android", "Edge on Windows", "This browser"))
    assert by_charlie.status_code == 404
    assert [is_signed_in(one) for one in (here, phone, edge, unnoted, charlies)] == [True, False, True, True, True]
    here.post("/settings/security/sign-ins/others/end/")
    assert [is_signed_in(one) for one in (here, edge, unnoted, charlies)] == [True, False, False, True]
    assert SignIn.objects.filter(user=alice).count() == 1


def test_a_new_password_ends_the_others_and_keeps_this_browser_in_the_list(alice: Any) -> None:
    here, edge = signed_in(alice.email), signed_in(alice.email, EDGE)
    new = "a quite different sentence"

    here.post("/settings/security/", {"old_password": PASSWORD, "password": new, "password_again": new})

    html = here.get("/settings/security/").content.decode()
    assert not is_signed_in(edge)
    assert "Firefox on Linux" in html
    assert "Edge on Windows" not in html


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("/accounts/profile/", "/settings/profile/"),
        ("/accounts/tokens/?page=2", "/settings/tokens/?page=2"),
        ("/accounts/password/change/", "/settings/security/"),
    ],
)
def test_an_address_that_moved_leads_on_with_all_that_was_sent(alices_page: Client, before: str, now: str) -> None:
    for answer in (alices_page.get(before), alices_page.post(before, {"display_name": "x"})):
        assert (answer.status_code, answer["Location"]) == (308, now)


@pytest.mark.parametrize(
    ("agent", "name"),
    [(FIREFOX, "Firefox on Linux"), (EDGE, "Edge on Windows"), ("curl/8.1", "curl"), ("", "Unknown browser")],
)
def test_a_browser_is_told_in_words(agent: str, name: str) -> None:
    assert browser_name(agent) == name
