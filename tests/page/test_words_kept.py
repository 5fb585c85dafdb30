"""What somebody wrote is theirs until it is sent, whatever is put beside it and wherever they go meanwhile."""

import uuid
from typing import Any

from playwright.sync_api import Page, expect

from tests.page.recorded import plain
from tests.page.stage import MADE_AT, Stage, Turn
from tests.page.test_chat_flows import box

OTHER = str(uuid.uuid4())
GONE = str(uuid.uuid4())


def list_others(stage: Stage) -> None:
    """Beside the conversation that is open: another one, and one that is there no longer."""
    named = {stage.conversation_id: "Here", OTHER: "Other", GONE: "Gone"}
    rows = [{"id": one, "title": title, "updated_at": MADE_AT, "running": False} for one, title in named.items()]
    stage.answers["/conversations"] = (200, {"next": None, "previous": None, "results": rows})
    gone = {"error": {"code": "not_found", "message": "There is nothing here."}}
    stage.answers[f"/conversations/{GONE}/messages"] = (404, gone)
    stage.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


def go(page: Page, title: str) -> None:
    page.locator(".entry", has_text=title).get_by_role("link").click()


def test_what_is_put_into_the_box_stands_below_what_somebody_wrote_there(open_stage: Any) -> None:
    turn = Turn(plain(), status="completed", follow_ups=("Why not violet?", "And at night?"))
    stage: Stage = open_stage(turn)
    page = stage.page
    chips = page.get_by_role("list", name="You may ask next").get_by_role("button")

    chips.first.click()
    chips.nth(1).click()
    expect(box(page)).to_have_value("And at night?")  # nobody wrote the first
    box(page).fill("What I was about to ask")
    chips.first.click()

    expect(box(page)).to_have_value("What I was about to ask\n\nWhy not violet?")
    page.reload()
    expect(box(page)).to_have_value("What I was about to ask\n\nWhy not violet?")


def test_what_was_put_into_the_box_once_does_not_come_back(open_stage: Any) -> None:
    stage: Stage = open_stage(Turn(plain(), status="completed", follow_ups=("Why not violet?",)))
    page = stage.page
    list_others(stage)
    page.get_by_role("list", name="You may ask next").get_by_role("button").click()
    expect(box(page)).to_have_value("Why not violet?")
    box(page).fill("My own words")

    go(page, "Gone")
    page.get_by_role("heading", name="This conversation does not exist").wait_for()
    go(page, "Here")
    expect(box(page)).to_be_focused()

    expect(box(page)).to_have_value("My own words")
