"""The command palette and the keys: everything by keyboard, on a wide window and on a phone."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.clean_page import axe_faults
from tests.page.conftest import FORMS
from tests.page.recorded import plain
from tests.page.stage import Stage, Turn
from tests.page.test_approvals import SETTLE

FOUND = {
    "results": [
        {
            "kind": "document",
            "id": "d1",
            "title": "<img src=x onerror=alert(1)> Travel policy.md",
            "excerpt": [["Hotels up to ", False], ["140", True], [" euro", False]],
            "url": "/documents/d1/",
            "at": "2026-11-20T09:00:00Z",
        },
        {"kind": "memory", "id": "m1", "title": "Hotels", "excerpt": [], "url": "https://evil.example/", "at": ""},
        {"kind": "memory", "id": "2", "title": "", "excerpt": [["In ", False], ["hotels", True]], "url": "/", "at": ""},
    ],
    "more": False,
}


def faults_of(page: Page) -> list[str]:
    page.evaluate(SETTLE)
    return axe_faults(page)


def option(page: Page) -> Any:
    return page.locator("[role=option][aria-selected=true]")


@pytest.mark.slow
@pytest.mark.parametrize("form", list(FORMS))
def test_commands_and_everything_are_found_by_keyboard_alone(open_stage: Any, form: str) -> None:
    stage: Stage = open_stage(Turn(plain(), status="completed"), answers={"/search/all": (200, FOUND)}, **FORMS[form])
    page = stage.page
    modules = "() => performance.getEntriesByType('resource').map(({ name }) => name)"
    late = [name for name in page.evaluate(modules) if re.search("components/(palette|help|share)|vendor/math", name)]
    assert late == []  # the page begins without them

    page.keyboard.press("Control+k")
    box = page.get_by_role("combobox", name="A command, or words to search for")
    expect(box).to_be_focused()
    expect(option(page)).to_contain_text("New conversation")
    assert faults_of(page) == []
    page.keyboard.type("thda")
    expect(option(page)).to_contain_text("Theme: dark")
    page.keyboard.press("Enter")
    expect(page.locator("html[data-theme=dark]")).to_be_attached()
    expect(box).to_have_count(0)

    page.keyboard.press("Control+k")
    expect(option(page)).to_contain_text("Theme: dark")  # what was used lately comes first
    page.keyboard.press("ArrowUp")
    expect(option(page)).not_to_contain_text("Theme: dark")
    page.keyboard.type("hotel")
    expect(page.get_by_role("option").filter(has_text="Travel policy")).to_contain_text("Hotels up to 140 euro")
    expect(page.get_by_role("option").filter(has_text="In hotels")).not_to_contain_text("New conversation")
    expect(page.get_by_role("dialog").locator("img")).to_have_count(0)
    assert faults_of(page) == []
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)

    page.keyboard.press("Control+k")
    expect(box).to_be_focused()
    page.keyboard.type("keys")
    page.keyboard.press("Enter")
    sheet = page.get_by_role("dialog", name="Keys")
    expect(sheet).to_contain_text("Commands, and search over everything")
    assert faults_of(page) == []
    page.keyboard.press("Escape")
    expect(sheet).to_have_count(0)


@pytest.mark.slow
def test_the_drawer_of_a_phone_is_closed_by_escape_and_gives_the_focus_back(open_stage: Any) -> None:
    stage: Stage = open_stage(Turn(plain(), status="completed"), **FORMS["phone and dark"])
    page = stage.page

    page.get_by_role("button", name="Show the conversations").click()
    expect(page.get_by_role("link", name="Usage")).to_be_visible()
    expect(page.locator(".sidebar :focus")).to_have_count(1)
    assert faults_of(page) == []
    page.keyboard.press("Escape")

    expect(page.get_by_role("button", name="Show the conversations")).to_be_focused()


FRAMED = ("/inbox/", "/documents/", "/settings/", "/memory/", "/usage/", "/api/docs/")


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_every_page_of_the_frame_has_the_commands_and_the_sheet_of_keys(form: str, person: Any, visit: Any) -> None:
    watched = visit(person(), reduced_motion="reduce", **FORMS[form])
    page = watched.new_page()
    dialogs = page.get_by_role("dialog")
    faults = []

    for address in FRAMED:
        page.goto(address)
        page.keyboard.press("?")
        sheet = page.get_by_role("dialog", name="Keys")
        expect(sheet.get_by_role("heading", name="In the inbox")).to_be_visible()
        keys = {row.inner_text() for row in sheet.locator("dt").all()}
        assert {"J", "K", "A", "D", "Space"} <= keys
        faults += [f"{address}: {fault}" for fault in faults_of(page)] if address == FRAMED[0] else []
        page.keyboard.press("Escape")
        expect(dialogs).to_have_count(0)

        page.keyboard.press("Control+k")
        expect(page.get_by_role("combobox", name="A command, or words to search for")).to_be_focused()
        expect(page.get_by_role("option").filter(has_text="Show or hide the conversations")).to_have_count(0)
        faults += [f"{address}: {fault}" for fault in faults_of(page)] if address == FRAMED[1] else []
        page.keyboard.press("Escape")
        expect(dialogs).to_have_count(0)

    page.keyboard.press("Control+k")
    page.keyboard.type("projects")
    expect(option(page)).to_contain_text("Go to the projects")
    page.keyboard.press("Enter")
    page.wait_for_url("**/projects/")
    page.goto("/search/")
    page.get_by_role("searchbox").first.press("?")
    expect(dialogs).to_have_count(0)  # it is written there
    assert (faults, watched.errors) == ([], [])


@pytest.mark.slow
def test_a_search_that_cannot_be_made_does_not_say_that_nothing_is_there(open_stage: Any) -> None:
    away = (503, {"error": {"code": "away", "message": "The database is away."}})
    page = open_stage(Turn(plain(), status="completed"), answers={"/search/all": away}).page
    page.keyboard.press("ControlOrMeta+k")
    page.get_by_role("combobox").fill("seabirds")

    expect(page.get_by_role("alert")).to_contain_text("The search could not be made")
    expect(page.get_by_text("Nothing fits")).to_have_count(0)
    page.get_by_role("combobox").fill("inbox")
    expect(page.get_by_role("option").first).to_contain_text("Go to the inbox")
