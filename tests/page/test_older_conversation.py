"""A conversation that the first page of the list does not have: it is what it is everywhere, and can be changed."""

import uuid
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.page.recorded import plain
from tests.page.stage import MADE_AT, Stage, Turn

pytestmark = pytest.mark.slow

OLDER = str(uuid.uuid4())
NEWEST: dict[str, Any] = {"next": None, "previous": None, "results": []}
ROW = {
    "id": OLDER,
    "title": "Shore power",
    "updated_at": MADE_AT,
    "running": False,
    "is_temporary": False,
    "project": {"id": str(uuid.uuid4()), "name": "Harbour"},
}


def options(page: Page) -> list[str]:
    page.get_by_role("button", name="Options for this conversation").click()
    found = page.get_by_role("menu", name="Options for this conversation").get_by_role("menuitem").all_inner_texts()
    page.keyboard.press("Escape")
    return found


def test_one_that_is_opened_at_first_has_its_title_and_all_that_can_be_done_with_it(open_stage: Any) -> None:
    stage: Stage = open_stage(Turn(plain(), status="completed"), answers={"/conversations": (200, NEWEST)})
    page = stage.page

    expect(page.get_by_role("heading", name="Vector databases")).to_be_visible()
    expect(page).to_have_title("Vector databases · HyperAgent")
    expect(page.get_by_role("button", name="Share", exact=True)).to_be_visible()
    assert {"Pin", "Rename", "Delete"} <= set(options(page))


def test_one_that_is_opened_later_is_asked_for(open_stage: Any) -> None:
    answers = {"/conversations": (200, NEWEST), f"/conversations/{OLDER}": (200, ROW)}
    stage: Stage = open_stage(Turn(plain(), status="completed"), answers=answers)
    page = stage.page

    page.evaluate(
        "id => { history.pushState(null, '', `/c/${id}/`); dispatchEvent(new PopStateEvent('popstate')); }", OLDER
    )

    expect(page.get_by_role("heading", name="Shore power")).to_be_visible()
    expect(page.get_by_role("button", name="Project: Harbour")).to_be_visible()
    assert {"Pin", "Rename", "Delete"} <= set(options(page))
