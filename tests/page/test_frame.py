"""What stands beside every page: the chat's own frame and that of the others are one."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from hyperagent.accounts.templatetags.frame import PLACES, Shown

pytestmark = pytest.mark.slow

PAGES = (
    "/inbox/",
    "/documents/",
    "/files/",
    "/projects/",
    "/schedules/",
    "/memory/",
    "/usage/",
    "/settings/",
    "/people/",
)

# The pages of somebody who is new.
EMPTY = (
    "/inbox/", "/rules/", "/documents/", "/files/", "/projects/", "/connectors/", "/schedules/", "/mail/", "/usage/",
    "/search/?q=zzz",
)  # fmt: skip
WITH_TABS = ("/inbox/", "/documents/", "/files/", "/usage/", "/people/groups/", "/search/?q=zzz")
OUTSIDE = (
    *EMPTY, "/memory/", "/schedules/new/", "/usage/budgets/", "/usage/prices/", "/people/", "/people/groups/",
    "/people/invitations/", "/people/service-accounts/", "/settings/tokens/",
)  # fmt: skip
WIDTHS = "(parts) => parts.map((part) => Math.round(part.getBoundingClientRect().width))"


def entries(page: Page, list_: str) -> list[str]:
    return [
        text.split("\n")[0].strip()
        for text in page.locator(f"{list_} > li > a:visible > span:first-of-type").all_inner_texts()
    ]


def test_the_chat_and_every_other_page_have_one_list_of_places_and_of_conversations(person: Any, visit: Any) -> None:
    alice = person("Alice", is_staff=True, is_superuser=True)
    alice.post("conversations", {})
    page = visit(alice, viewport={"width": 1440, "height": 900}).new_page()

    page.goto("/")
    expect(page.locator(".side-list .entry")).to_have_count(1)
    in_chat = (entries(page, ".side-places"), page.locator(".sidebar .avatar").inner_text())
    page.goto("/inbox/")
    expect(page.locator(".frame-talks a")).to_have_count(1)
    elsewhere = (entries(page, ".frame-places > ul"), page.locator(".frame .avatar").inner_text())

    assert in_chat == elsewhere
    assert in_chat[0] == [str(place.title) for place in PLACES if place.shown is not Shown.BAR]


def test_the_list_stands_where_the_chat_has_it_and_is_hidden_where_it_was_hidden_there(person: Any, visit: Any) -> None:
    alice = person()
    for title in ("Heat pumps", "Gas heating"):
        alice.post("conversations", {"title": title})
    page = visit(alice, viewport={"width": 1440, "height": 900}).new_page()
    rows = ".brand-mark, .frame-link, .side-keys kbd, .side-search .icon, h2, .entry > a, .frame-person, .user-button"

    def beside(frame: str) -> list[tuple[int, int]]:
        boxes = [one.bounding_box() for one in page.locator(frame).locator(rows).filter(visible=True).all()]
        return [(round(box["x"]), round(box["y"])) for box in boxes if box is not None]

    page.goto("/")
    expect(page.locator(".side-list .entry")).to_have_count(2)
    in_chat = beside(".sidebar")
    page.goto("/projects/")
    expect(page.locator(".frame-talks a")).to_have_count(2)
    assert beside("header.frame") == in_chat

    page.get_by_placeholder("Find a conversation").fill("pump")
    expect(page.locator(".frame-talks a")).to_have_text(["Heat pumps"])
    page.get_by_placeholder("Find a conversation").fill("wind")
    expect(page.locator(".frame-talks")).to_have_text("No conversation has such a title.")
    page.goto("/")
    page.keyboard.press("Control+b")
    expect(page.get_by_role("button", name="Show the conversations")).to_be_visible()
    page.goto("/projects/", wait_until="commit")
    expect(page.locator("header.frame .brand")).to_be_hidden()
    expect(page.locator("h1")).to_be_in_viewport()
    page.get_by_role("button", name="Show or hide the conversations").click()
    expect(page.locator("header.frame .brand")).to_be_visible()
    page.goto("/")
    expect(page.get_by_role("button", name="Hide the conversations")).to_be_visible()


def test_every_title_begins_at_one_place(person: Any, visit: Any) -> None:
    alice = person("Alice", is_staff=True, is_superuser=True)
    page = visit(alice, viewport={"width": 1440, "height": 900}).new_page()
    places = {}

    for address in PAGES:
        page.goto(address)
        box = page.locator("h1").first.bounding_box()
        assert box is not None
        places[address] = (round(box["x"]), round(box["y"] + box["height"] / 2))

    assert len(set(places.values())) == 1, places


def test_pages_outside_the_chat_have_two_widths_and_one_kind_of_tabs_and_of_empty_lists(
    person: Any, visit: Any
) -> None:
    page = visit(person(is_staff=True, is_superuser=True), viewport={"width": 1920, "height": 900}).new_page()
    widths: set[int] = set()
    for path in OUTSIDE:
        page.goto(path)
        found = page.locator("main > :is(section, form, p, div, ul, header):visible").evaluate_all(WIDTHS)
        widths |= {width for width in found if width > 1}
        assert page.locator("main .nothing").count() >= (path in EMPTY), path
        assert page.locator("main .tabs").count() >= (path in WITH_TABS), path

    assert widths == {46 * 16, 72 * 16}
