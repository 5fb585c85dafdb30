"""Dialogs: what is selected in one does not close it, who leaves it is where they came from, and it is heard."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.page.recorded import plain
from tests.page.stage import MADE_AT, Stage, Turn


@pytest.fixture
def page(open_stage: Any) -> Page:
    stage: Stage = open_stage(Turn(plain(), status="completed"))
    stage.answers[f"/conversations/{stage.conversation_id}/share"] = (200, {"enabled": True, "results": []})
    return stage.page


def opened(page: Page) -> Any:
    page.get_by_role("button", name="Share", exact=True).click()
    dialog = page.get_by_role("dialog", name="Share")
    dialog.get_by_role("button", name="Make a link").wait_for()
    return dialog


def test_a_selection_that_ends_beside_a_dialog_does_not_close_it(page: Page) -> None:
    dialog = opened(page)
    words = dialog.locator(".share-lead").bounding_box()
    assert words is not None

    page.mouse.move(words["x"] + 20, words["y"] + 5)
    page.mouse.down()
    page.mouse.move(20, words["y"] + 5)
    page.mouse.up()

    expect(dialog).to_be_visible()
    page.mouse.click(20, words["y"] + 5)
    expect(dialog).to_have_count(0)


def test_who_leaves_a_dialog_by_its_button_is_where_they_came_from(page: Page) -> None:
    dialog = opened(page)

    dialog.get_by_role("button", name="Close").press("Enter")

    expect(dialog).to_have_count(0)
    expect(page.get_by_role("button", name="Share", exact=True)).to_be_focused()


# A browser has it on https and on localhost alone; people open this on plain http inside a network.
WITHOUT_CLIPBOARD = """
    Object.defineProperty(navigator, "clipboard", { value: undefined });
    document.addEventListener("copy", () => (window.copied = String(getSelection())));
"""


@pytest.mark.slow
def test_in_a_dialog_an_address_is_copied_without_the_clipboards_api_and_said_there(open_stage: Any) -> None:
    link = {
        "id": "7",
        "url": "https://example.org/s/abc",
        "message_id": None,
        "keeps_up": False,
        "views": 0,
        "created_at": MADE_AT,
        "last_seen_at": None,
        "ends_at": None,
    }
    stage: Stage = open_stage(Turn(plain(), status="completed"))
    page = stage.page
    stage.answers[f"/conversations/{stage.conversation_id}/share"] = (200, {"enabled": True, "results": [link]})
    page.add_init_script(WITHOUT_CLIPBOARD)
    page.reload()
    page.locator(".answer").last.wait_for()
    dialog = opened(page)
    copy = dialog.get_by_role("button", name="Copy")

    copy.press("Enter")

    expect(dialog.get_by_role("button", name="Copied")).to_be_focused()
    assert page.evaluate("window.copied") == link["url"]
    # All below a dialog is as if it were not there, for screen readers too.
    expect(dialog.get_by_role("log")).to_contain_text("Copied")
