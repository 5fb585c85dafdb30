"""The account's pages in a real browser: by keyboard, on a phone, and without JavaScript."""

import zipfile
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from hyperagent.accounts import exporting
from hyperagent.accounts.models import DataExport, User
from tests import chromium
from tests.accounts.conftest import PASSWORD


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        # Playwright's loop runs in this thread, which makes Django believe that every query here blocks it.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        browser = playwright.chromium.launch(executable_path=chromium.EXECUTABLE, args=["--no-sandbox"])
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
    page.goto("/accounts/login/?next=/settings/profile/")
    page.get_by_label("E-mail").fill(email)
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Profile", exact=True).wait_for()


@pytest.mark.slow
def test_without_javascript_alice_makes_a_token_and_changes_her_password(alice: Any, open_page: Any) -> None:
    page = open_page(java_script_enabled=False)
    sign_in(page, alice.email)

    page.goto("/settings/tokens/")
    page.get_by_label("Name", exact=True).fill("laptop")
    page.get_by_role("button", name="Make token").click()
    raw = page.locator(".secret").inner_text()

    page.goto("/settings/security/")
    page.get_by_label("Your password now").fill("wrong")
    page.get_by_label("New password", exact=True).fill("a quite different sentence")
    page.get_by_label("New password again").fill("a quite different sentence")
    page.get_by_role("button", name="Change password").click()
    refused = page.get_by_label("Your password now")

    assert raw.startswith("ha_")
    assert refused.get_attribute("aria-invalid") == "true"
    assert page.locator(f"#{refused.get_attribute('aria-describedby')}").inner_text() == "This is not your password."


@pytest.mark.slow
def test_a_refused_registration_leads_to_what_is_wrong_and_one_that_is_not_keeps_the_zone_of_the_browser(
    db: None, open_page: Any
) -> None:
    page = open_page(timezone_id="America/New_York")
    page.goto("/accounts/register/")
    page.get_by_label("E-mail").fill("dora@example.org")
    page.get_by_label("Password", exact=True).fill("dora")
    page.get_by_label("Password again").fill("dora")

    page.keyboard.press("Enter")

    expect(page.get_by_text("too short")).to_be_in_viewport()
    expect(page.get_by_label("Password", exact=True)).to_be_focused()
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Password again").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.locator("#chat").wait_for(state="attached")
    assert User.objects.get(email="dora@example.org").time_zone == "America/New_York"


def test_a_wrong_password_is_told_above_the_form_whose_first_field_has_the_focus(alice: Any, open_page: Any) -> None:
    page = open_page(viewport={"width": 390, "height": 844})
    page.goto("/accounts/login/")
    page.get_by_label("E-mail").fill(alice.email)
    page.get_by_label("Password").fill("wrong")

    page.keyboard.press("Enter")

    expect(page.get_by_role("alert")).to_be_in_viewport()
    expect(page.get_by_label("E-mail")).to_be_focused()


# The first answer to a page that reads itself again ends in its middle.
BREAKS_OFF_ONCE = """
const plain = window.fetch;
window.fetch = (...asked) => {
  if (asked[0] !== location.href) return plain(...asked);
  window.fetch = plain;
  const body = new ReadableStream({ start: (stream) => stream.error(new TypeError("broken off")) });
  return Promise.resolve(new Response(body));
};
"""


@pytest.mark.slow
@pytest.mark.spec("S148")
def test_alice_gets_around_by_keyboard_chooses_dark_takes_her_data_and_leaves(
    alice: Any, open_page: Any, settings: Any, tmp_path: Any
) -> None:
    settings.MEDIA_ROOT = tmp_path / "media"
    page = open_page(viewport={"width": 1440, "height": 900}, color_scheme="light")
    sign_in(page, alice.email)

    menu = page.get_by_label("Menu of Alice")
    menu.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    first = page.evaluate("document.activeElement.textContent.trim()")
    page.keyboard.press("Escape")
    closed = (page.get_by_role("link", name="Mail").count(), menu.evaluate("e => e === document.activeElement"))

    page.goto("/settings/appearance/")
    page.get_by_label("Dark").check()
    page.get_by_role("button", name="Save").click()
    page.get_by_text("Saved.").wait_for()
    dark = page.evaluate("document.documentElement.dataset.theme")

    page.add_init_script(BREAKS_OFF_ONCE)
    page.goto("/settings/data/")
    page.get_by_role("button", name="Export my data").click()
    page.locator("#export-state[data-waits]").wait_for()
    exporting.make(DataExport.objects.get(user=alice).pk)
    # The page finds out by itself.
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    names = zipfile.ZipFile(download.value.path()).namelist()

    page.get_by_role("link", name="Delete my account…").click()
    page.get_by_label("Your e-mail address").fill(alice.email)
    page.get_by_label("Your password").fill("wrong")
    page.get_by_role("button", name="Delete my account for good").click()
    kept = page.get_by_label("Your e-mail address").input_value()
    page.get_by_label("Your password").fill(PASSWORD)
    page.get_by_role("button", name="Delete my account for good").click()
    page.get_by_role("heading", name="Your account is deleted").wait_for()

    assert (first, closed, dark, kept) == ("Settings", (0, True), "dark", alice.email)
    assert "profile.json" in names
    assert not User.objects.get(pk=alice.pk).is_active


@pytest.mark.slow
def test_on_a_phone_the_bar_and_its_menu_lead_everywhere_without_javascript(alice: Any, open_page: Any) -> None:
    page = open_page(viewport={"width": 390, "height": 844}, java_script_enabled=False)
    sign_in(page, alice.email)

    bar = page.get_by_role("navigation", name="Main").get_by_role("link").all_inner_texts()
    page.get_by_label("Menu of Alice").click()
    page.locator(".frame-menu").get_by_role("link", name="Memory").click()
    page.get_by_role("heading", name="Memory", exact=True).wait_for()
    page.get_by_label("Menu of Alice").click()
    page.get_by_role("button", name="Sign out").click()

    assert bar == ["Chat", "Inbox", "Documents", "Files"]
    page.get_by_role("heading", name="Sign in").wait_for()
