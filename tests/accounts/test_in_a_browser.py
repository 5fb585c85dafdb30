"""The account's pages in a real browser: wide and narrow, light and dark, without JavaScript, and by axe's rules."""

from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

from hyperagent.accounts import actions
from tests.accounts.conftest import PASSWORD

OUTSIDE = ["login/", "register/", "password/reset/", "password/reset/done/", "password/reset/x/y/"]
INSIDE = ["profile/", "password/change/", "tokens/"]
WIDTHS = [1440, 390]
SCHEMES = ["light", "dark"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        # Playwright's loop runs in this thread, which makes Django believe that every query here blocks it.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser: Browser, live_server: Any) -> Iterator[Any]:
    contexts = []

    def open_it(**options: Any) -> Page:
        context = browser.new_context(base_url=live_server.url, **options)
        contexts.append(context)
        return context.new_page()

    yield open_it
    for context in contexts:
        context.close()


def sign_in(page: Page, email: str) -> None:
    page.goto("/accounts/login/?next=/accounts/profile/")
    page.get_by_label("E-mail").fill(email)
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Profile").wait_for()


def faults_of(page: Page, path: str) -> list[str]:
    faults = []
    page.on("console", lambda message: faults.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(f"/accounts/{path}")
    wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    if wider > 0:
        faults.append(f"{wider} px wider than the window")
    faults += [f"{found['id']}: {found['nodes'][0]['html']}" for found in Axe().run(page).response["violations"]]
    return faults


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), zip(WIDTHS, SCHEMES, strict=True))
def test_every_page_is_clean_at_this_width_and_scheme(alice: Any, open_page: Any, width: int, scheme: str) -> None:
    for number in range(3):
        actions.make_token(alice, name=f"A token with a rather long name, number {number}")
    page = open_page(viewport={"width": width, "height": 900}, color_scheme=scheme)

    faults = {path: faults_of(page, path) for path in OUTSIDE}
    sign_in(page, alice.email)
    faults |= {path: faults_of(page, path) for path in INSIDE}

    assert faults == {path: [] for path in OUTSIDE + INSIDE}


@pytest.mark.slow
def test_without_javascript_alice_makes_a_token_and_changes_her_password(alice: Any, open_page: Any) -> None:
    page = open_page(java_script_enabled=False)
    sign_in(page, alice.email)

    page.goto("/accounts/tokens/")
    page.get_by_label("Name", exact=True).fill("laptop")
    page.get_by_role("button", name="Make token").click()
    raw = page.locator(".secret").inner_text()

    page.goto("/accounts/password/change/")
    page.get_by_label("Your password now").fill("wrong")
    page.get_by_label("New password", exact=True).fill("a quite different sentence")
    page.get_by_label("New password again").fill("a quite different sentence")
    page.get_by_role("button", name="Change password").click()
    refused = page.get_by_label("Your password now")

    assert raw.startswith("ha_")
    assert refused.get_attribute("aria-invalid") == "true"
    assert page.locator(f"#{refused.get_attribute('aria-describedby')}").inner_text() == "This is not your password."
