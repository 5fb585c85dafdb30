"""What was filled in is there again where its form was not taken."""

from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.page.conftest import Watched
from tests.page.test_memories import memory, remember

QUESTION = "What did our three suppliers change in their terms this month?\nName the clauses."


def sign_in(page: Page, someone: Any) -> None:
    page.wait_for_url("**/accounts/login/**")
    page.get_by_label("E-mail").fill(someone.email)
    page.get_by_label("Password", exact=True).fill(someone.password)
    page.keyboard.press("Enter")


def sign_out(watched: Watched) -> None:
    """As when the time of a session is over."""
    watched.context.clear_cookies(name="sessionid")


@pytest.mark.slow
def test_a_form_that_is_sent_after_its_session_was_over_is_filled_in_after_the_next_sign_in(
    person: Any, visit: Any
) -> None:
    alice, bob = person(), person("Bob")
    watched = visit(alice)
    page = watched.new_page()
    page.goto("/schedules/new/")
    page.get_by_label("What to ask").fill(QUESTION)
    page.get_by_label("Name", exact=True).fill("Suppliers")
    page.locator(".schedule-pick", has_text="month").first.click()
    sign_out(watched)

    page.get_by_role("button", name="Make schedule").click()
    sign_in(page, alice)

    expect(page.get_by_label("What to ask")).to_have_value(QUESTION)
    expect(page.get_by_label("Name", exact=True)).to_have_value("Suppliers")
    expect(page.get_by_role("status").filter(has_text="It is there again.")).to_be_visible()
    page.locator("input[name=on_approval]").first.check()
    page.get_by_role("button", name="Make schedule").click()
    expect(page.get_by_role("heading", name="Suppliers")).to_be_visible()
    page.goto("/schedules/new/")
    expect(page.get_by_label("What to ask")).to_have_value("")  # it was taken

    page.get_by_label("What to ask").fill(QUESTION)
    sign_out(watched)
    page.get_by_role("button", name="Make schedule").click()
    sign_in(page, bob)
    page.wait_for_url("**/schedules/new/")
    expect(page.get_by_label("What to ask")).to_have_value("")
    assert (watched.errors, watched.dialogs) == ([], [])


@pytest.mark.slow
def test_a_correction_that_was_sent_without_a_session_stands_where_it_was_written(
    live_site: Any, person: Any, visit: Any
) -> None:
    alice = person()
    remember(live_site, alice, "Her dog is called Rex.")
    watched = visit(alice)
    page = watched.new_page()
    page.goto("/memory/")
    dog = memory(page, "Her dog is called Rex.")
    dog.get_by_text("Edit").click()
    dog.get_by_role("textbox").fill("Her dog is called Max, and he is two years old.")
    sign_out(watched)

    dog.get_by_role("button", name="Save").click()
    sign_in(page, alice)

    page.wait_for_url("**/memory/")
    expect(dog.get_by_role("textbox")).to_have_value("Her dog is called Max, and he is two years old.")
    dog.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status")).to_contain_text("Corrected.")
    expect(page.get_by_text("It is there again.")).to_have_count(0)


@pytest.mark.slow
def test_a_form_of_a_page_that_was_open_for_too_long_is_filled_in_when_one_goes_back(
    live_site: Any, person: Any, visit: Any
) -> None:
    watched = visit(person())
    page = watched.new_page()
    page.goto("/projects/")
    page.get_by_label("Name").fill("Harbour")
    page.get_by_label("Instructions").fill("Figures are in thousands of euros.")
    watched.context.add_cookies([{"name": "csrftoken", "value": "d" * 32, "url": live_site.base_url}])

    page.get_by_role("button", name="Begin project").click()
    expect(page.locator("main")).to_contain_text("This page was open for too long.")
    page.go_back()

    expect(page.get_by_label("Instructions")).to_have_value("Figures are in thousands of euros.")
    page.get_by_role("button", name="Begin project").click()
    expect(page.get_by_role("heading", name="Harbour")).to_be_visible()


@pytest.mark.slow
def test_a_form_that_is_clicked_twice_is_sent_once(live_site: Any, person: Any, visit: Any) -> None:
    alice = person()
    page = visit(alice).new_page()
    page.goto("/settings/tokens/")
    page.get_by_role("textbox", name="Name").fill("Backup")
    sent: list[str] = []
    held: list[Route] = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    page.route("**/settings/tokens/", lambda route: held.append(route), times=2)  # noqa: PLW0108 -- it marks what it is given
    button = page.get_by_role("button", name="Make token")
    button.scroll_into_view_if_needed()
    box = button.bounding_box()
    assert box is not None
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    with page.expect_request("**/settings/tokens/"):
        page.mouse.click(*middle)
    page.mouse.click(*middle)
    page.wait_for_timeout(100)

    assert len(sent) == 1
    held[0].continue_()
    expect(page.get_by_role("heading", name="Your new token “Backup”")).to_be_visible()
    rows = live_site.query("SELECT count(*) FROM accounts_apitoken WHERE user_id = %s AND name = 'Backup'", alice.id)
    assert rows[0]["count"] == 1
