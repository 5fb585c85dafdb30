"""The pages of mailboxes in a real browser: wide and narrow, light and dark, by axe's rules; and what is suggested."""

import os
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from agents.mail.models import MailAccount
from tests.accounts.test_in_a_browser import browser, open_page, sign_in
from tests.clean_page import faults_of
from tests.mail.own import connected

__all__ = ["browser", "open_page"]


@pytest.mark.slow
@pytest.mark.spec("S178")
@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_every_page_is_clean_at_this_width_and_scheme(
    bob: Any, open_page: Any, settings: Any, width: int, scheme: str
) -> None:
    settings.GMAIL_CLIENT_ID = "client"
    connected(bob, display_name="Bob Ärmel")
    connected(
        bob,
        address=f"{'a-long-name-' * 5}@mail.example.org",
        state="reconnect",
        trouble="The mailbox at imap.example.org:993 did not accept user and password. Connect the mailbox again.",
    )
    row = connected(bob, address="work@example.org", state="trouble", trouble="Gmail cannot be reached just now.")
    MailAccount.objects.filter(pk=row.pk).update(kind="gmail", trouble_at=row.created_at)
    page = open_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    sign_in(page, bob.email)

    paths = ["", f"{row.pk}/again/", f"{MailAccount.objects.get(address=bob.email).pk}/again/"]
    faults = {path: faults_of(page, f"../mail/{path}") for path in [paths[0], paths[2]]}
    page.goto(page.url.replace(paths[2], ""))
    page.get_by_label("E-mail address").fill("bob@gmail.com")
    page.get_by_label("E-mail address").blur()
    expect(page.locator("[data-mail-hint]")).to_contain_text("app password")
    page.locator(".mail-servers > summary").click()
    expect(page.get_by_label("IMAP server")).to_have_attribute("placeholder", "imap.gmail.com")
    if folder := os.environ.get("SHOTS"):
        page.screenshot(path=Path(folder) / f"mail-{width}.png", full_page=True)

    assert faults == {path: [] for path in [paths[0], paths[2]]}
