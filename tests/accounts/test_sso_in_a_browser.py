"""The ways in beside the password, in Chromium: a provider with a login page of its own, and passkeys of a device that
Chromium plays.
"""

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from hyperagent.accounts.mfa import factors
from hyperagent.accounts.models import User
from hyperagent.accounts.sign_on_models import ProviderIdentity
from hyperagent.accounts.sso import provider as calls
from tests import chromium
from tests.accounts.conftest import PASSWORD
from tests.accounts.provider.driving import CALLBACK, Provider

DEVICE = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        # Playwright's loop runs in this thread, which makes Django believe that every query here blocks it.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        browser = playwright.chromium.launch(executable_path=chromium.EXECUTABLE, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser, live_server: Any) -> Iterator[Page]:
    context = browser.new_context(base_url=live_server.url)
    page = context.new_page()
    yield page
    context.close()


def sign_in(page: Page, email: str) -> None:
    page.goto("/accounts/login/?next=/settings/security/")
    page.get_by_label("E-mail").fill(email)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()


def sign_out(page: Page) -> None:
    page.locator("summary.frame-person").click()
    page.get_by_role("button", name="Sign out", exact=True).first.click()
    page.get_by_role("heading", name="Sign in").wait_for()


@pytest.mark.slow
def test_the_way_to_the_provider_says_which_zone_the_browser_is_in(
    browser: Browser, live_server: Any, settings: Any
) -> None:
    calls.forget()
    with Provider() as provider:
        settings.SITE_URL, settings.SIGN_ON = live_server.url, provider.sign_on()
        context = browser.new_context(base_url=live_server.url, timezone_id="Asia/Tokyo")
        page = context.new_page()
        page.goto("/accounts/login/?next=/settings/profile/")
        leads = page.get_by_role("link", name="Continue with Acme").get_attribute("href")
        context.close()
    calls.forget()

    assert leads is not None
    assert parse_qs(urlsplit(leads).query) == {"next": ["/settings/profile/"], "time_zone": ["Asia/Tokyo"]}


@pytest.mark.slow
@pytest.mark.spec("B21")
def test_alice_links_the_provider_gets_a_role_and_comes_back_by_it(
    page: Page, alice: User, live_server: Any, settings: Any
) -> None:
    calls.forget()
    with Provider() as provider:
        settings.SITE_URL = live_server.url
        settings.SIGN_ON = provider.sign_on(roles_claim="groups", roles={"auditors": "auditor"})
        person = {"name": "alice", "email": "alice@acme.example"}
        claims = {"id_token": {"groups": ["auditors"]}}
        provider.control(redirect_uri=f"{live_server.url}{CALLBACK}", person=person, claims=claims)

        sign_in(page, alice.email)
        page.get_by_role("link", name="Link Acme").click()
        page.get_by_label("Username").fill("alice")
        page.get_by_label("Password").fill("password at the provider")
        page.get_by_role("button", name="Sign In").click()
        page.get_by_text("Acme is linked").wait_for()
        shown = page.locator("bdi", has_text="alice@acme.example").count()

        sign_out(page)
        page.goto("/accounts/login/?next=/settings/profile/")
        page.get_by_role("link", name="Continue with Acme").click()
        page.get_by_role("heading", name="Profile", exact=True).wait_for()
    calls.forget()

    assert shown == 1
    assert ProviderIdentity.objects.get().user == alice
    assert User.objects.get(pk=alice.pk).roles() == ["user", "auditor"]


@pytest.mark.slow
@pytest.mark.spec("B21")
def test_alice_makes_a_passkey_and_signs_in_by_it_alone_and_after_her_password(page: Page, alice: User) -> None:
    wrong: list[str] = []
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    device = page.context.new_cdp_session(page)
    device.send("WebAuthn.enable")
    device.send("WebAuthn.addVirtualAuthenticator", {"options": DEVICE})

    sign_in(page, alice.email)
    page.get_by_role("link", name="Set up a second factor").click()
    page.get_by_role("link", name="Add a passkey").click()
    page.get_by_label("Name").fill("Laptop")
    page.get_by_role("button", name="Add a passkey").click()
    page.get_by_role("heading", name="Recovery codes").wait_for()
    codes = page.locator(".sign-on-codes code").count()
    page.get_by_role("link", name="I have kept them").click()
    page.locator("bdi", has_text="Laptop").wait_for()

    sign_out(page)
    page.goto("/accounts/login/?next=/settings/profile/")
    page.get_by_role("button", name="Sign in with a passkey").click()
    page.get_by_role("heading", name="Profile", exact=True).wait_for()

    sign_out(page)
    sign_in(page, alice.email)
    page.get_by_role("heading", name="One more step").wait_for()
    page.get_by_role("button", name="Use a passkey").click()
    expect(page.get_by_role("heading", name="Security", exact=True)).to_be_visible()

    # A device that does not know it: a sentence, and the other way stays open.
    sign_out(page)
    device.send("WebAuthn.disable")
    device.send("WebAuthn.enable")
    device.send("WebAuthn.addVirtualAuthenticator", {"options": DEVICE})
    page.get_by_role("button", name="Sign in with a passkey").click()
    refused = page.get_by_text("No passkey was used")
    refused.wait_for()

    assert codes == 10
    assert [factor.name for factor in factors.factors_of(alice)] == ["Laptop"]
    assert wrong == []
