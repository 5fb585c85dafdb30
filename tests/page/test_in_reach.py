"""What people look for is where they look, and what they press is not covered or cut: on a phone, with many and with
long names, and where a password or a secret is typed or shown.
"""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.page import asked
from tests.page.conftest import FORMS
from tests.page.stage import Turn
from tests.page.test_approvals import faults_of
from tests.page.test_projects import begin_project
from tests.page.waiting import open_request
from tests.person import new_person

PHONE = FORMS["phone and dark"]
# What is at the middle of the element, from its own edge to edge.
IS_FREE = """(button) => {
    const box = button.getBoundingClientRect();
    return [0.1, 0.5].every((part) => {
        const hit = document.elementFromPoint(box.left + box.width * part, box.top + box.height / 2);
        return button.contains(hit);
    });
}"""


@pytest.mark.slow
@pytest.mark.spec("B5")
def test_nothing_lies_over_the_buttons_of_a_card_on_a_phone(open_stage: Any) -> None:
    request = asked.approval(asked.code_call())
    run = asked.waiting_for()
    asked.ask(run, request)
    answers = {"/hitl/requests": asked.listed(request)}
    page = open_stage(Turn(run, status="awaiting_user"), answers=answers, **PHONE).page
    card = page.locator(".approval")
    deny = card.get_by_role("button", name="Deny")
    expect(deny).to_be_visible()

    # Where the arrow to the latest shows, because the card does not end the page.
    page.evaluate("""() => {
        const thread = document.querySelector(".thread");
        document.querySelector(".thread-content").style.paddingBlockEnd = "60rem";
        const deny = [...document.querySelectorAll(".approval button")].find((one) => one.textContent.includes("Deny"));
        const foot = thread.getBoundingClientRect().bottom - 34;
        thread.scrollTop += deny.getBoundingClientRect().top + 18 - foot;
    }""")
    arrow = page.get_by_role("button", name="Jump to the latest")
    expect(arrow).to_be_visible()

    assert deny.evaluate(IS_FREE)
    approve = card.get_by_role("button", name="Approve").bounding_box()
    assert approve is not None
    assert approve["y"] < (deny.bounding_box() or {})["y"], "the yes has a line of its own"


@pytest.mark.slow
@pytest.mark.spec("B3")
def test_no_bar_of_a_phone_lies_over_one_answer_to_many_nor_over_the_way_back(
    person: Any, visit: Any, live_site: Any
) -> None:
    alice = person()
    for _ in range(6):
        open_request(live_site, alice, asked.mail_call())
    page = visit(alice, **PHONE).new_page()

    page.goto("/inbox/")
    for box in page.locator(".row-check input").all()[:2]:
        box.check()
    many = page.get_by_role("toolbar", name="Selected requests").get_by_role("button")
    expect(many).to_have_count(3)
    assert [button.evaluate(IS_FREE) for button in many.all()] == [True] * 3

    page.goto("/files/")
    page.locator("#files-box").set_input_files([{"name": "a.txt", "mimeType": "text/plain", "buffer": b"x"}])
    page.get_by_role("button", name="Options for a.txt").click()
    page.get_by_role("menuitem", name="Delete").click()
    undo = page.get_by_role("button", name="Undo")
    expect(undo).to_be_visible()
    assert undo.evaluate(IS_FREE)


@pytest.mark.slow
@pytest.mark.spec("B3")
def test_a_name_without_a_blank_makes_no_page_wider_than_its_window(live_site: Any, visit: Any) -> None:
    # Her address begins with it.
    alice = new_person(live_site, "Donaudampfschifffahrt" * 5)
    page = visit(alice, **PHONE).new_page()

    for address in ("/", "/settings/", "/settings/profile/", "/settings/notifications/", "/settings/data/delete/"):
        page.goto(address)
        expect(page.locator("h1")).to_be_visible()
        over = page.evaluate("() => document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert over <= 0, f"{address} is {over} pixels too wide"


@pytest.mark.slow
@pytest.mark.spec("B5")
def test_a_card_does_not_say_twice_that_it_needs_a_yes(open_stage: Any) -> None:
    request = asked.approval(asked.code_call(), why="execute_code needs a person's approval.")
    run = asked.waiting_for()
    asked.ask(run, request)
    page = open_stage(Turn(run, status="awaiting_user"), answers={"/hitl/requests": asked.listed(request)}).page

    expect(page.locator(".approval")).to_contain_text("wants to use “Run a program”")
    expect(page.locator(".approval")).not_to_contain_text("Asked because")


@pytest.mark.slow
def test_a_conversation_is_renamed_from_its_own_page_with_the_list_hidden(
    person: Any, visit: Any, live_site: Any
) -> None:
    alice = person()
    made = alice.post("conversations", {"title": "First name"}).json()
    alice.post(f"conversations/{made['id']}/messages", {"text": "Hello"})
    page = visit(alice).new_page()
    page.goto(f"/c/{made['id']}/")
    page.get_by_role("button", name="Hide the conversations").click()

    page.get_by_role("button", name="Options for this conversation").click()
    expect(page.locator("#conversation-menu").get_by_role("menuitem", name="Pin")).to_be_focused()
    page.locator("#conversation-menu").get_by_role("menuitem", name="Rename").click()
    page.get_by_label("New title").fill("Second name")
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", level=1)).to_have_text("Second name")


@pytest.mark.slow
def test_a_menu_of_many_projects_stays_in_the_window_and_begins_another_at_its_head(person: Any, visit: Any) -> None:
    alice = person()
    page = visit(alice, **PHONE).new_page()
    begin_project(page, "A name that is a great deal longer than anybody would choose for a project of their own")
    for number in range(24):
        alice.post("projects", {"name": f"Project {number}"})

    page.goto("/projects/")
    expect(page.get_by_label("Name")).to_be_hidden()
    page.get_by_text("New project", exact=True).click()
    expect(page.get_by_label("Name")).to_be_in_viewport()
    page.goto("/")
    page.get_by_role("button", name="Choose a project").click()
    menu = page.locator("#project-menu")

    box = menu.bounding_box()
    assert box is not None
    assert box["y"] >= 0
    assert box["y"] + box["height"] <= 844
    last = menu.get_by_role("menuitemradio").last
    last.scroll_into_view_if_needed()
    expect(last).to_be_in_viewport()
    assert faults_of(page) == []


@pytest.mark.slow
def test_a_password_can_be_looked_at_before_it_is_sent(visit: Any) -> None:
    page: Page = visit(None).new_page()
    page.goto("/accounts/login/")
    field = page.locator("input[name=password]")
    field.fill("a long secret")

    page.get_by_role("button", name="Show").click()
    expect(field).to_have_attribute("type", "text")
    expect(field).to_be_focused()
    expect(field).to_have_value("a long secret")
    page.get_by_role("button", name="Hide").click()

    expect(field).to_have_attribute("type", "password")
    assert faults_of(page) == []


@pytest.mark.slow
def test_a_new_token_is_copied_with_one_press(person: Any, visit: Any) -> None:
    watched = visit(person())
    watched.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = watched.new_page()
    page.goto("/settings/tokens/")
    page.get_by_role("textbox", name="Name").fill("ci")
    page.get_by_role("button", name="Make token").click()

    page.get_by_role("button", name="Copy").click()

    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == page.locator("code.secret").inner_text()


@pytest.mark.slow
def test_a_budget_asks_for_a_person_or_a_group_only_where_it_is_for_one(person: Any, visit: Any) -> None:
    page = visit(person(is_staff=True)).new_page()
    page.goto("/usage/budgets/")
    expect(page.get_by_label("Person")).to_be_hidden()
    expect(page.get_by_label("Group")).to_be_hidden()

    page.get_by_label("For").select_option("user")
    expect(page.get_by_label("Person")).to_be_visible()
    page.get_by_label("For").select_option("group")

    expect(page.get_by_label("Group")).to_be_visible()
    expect(page.get_by_label("Person")).to_be_hidden()


@pytest.mark.slow
def test_nothing_can_be_filtered_where_there_is_nothing(person: Any, visit: Any) -> None:
    page = visit(person()).new_page()
    for address in ("/inbox/", "/documents/"):
        page.goto(address)
        expect(page.locator(".inbox-filters")).to_be_hidden()
        page.goto(f"{address}?q=harbour")

        expect(page.locator(".inbox-filters")).to_be_visible()


def test_a_page_that_is_not_for_you_says_whom_to_ask(person: Any, visit: Any) -> None:
    page = visit(person()).new_page()
    page.goto("/people/")

    expect(page.get_by_role("main")).to_contain_text("ask an administrator")


@pytest.mark.slow
def test_files_for_which_there_is_no_room_are_told_of_where_one_writes(person: Any, visit: Any) -> None:
    page = visit(person()).new_page()
    page.goto("/")
    files: list[Any] = [{"name": f"{number}.txt", "mimeType": "text/plain", "buffer": b"x"} for number in range(12)]

    page.get_by_label("Files to attach").set_input_files(files)

    told = page.locator(".composer").get_by_role("alert").filter(has_text="A question takes at most 10 files.")
    expect(told).to_be_visible()
    expect(page.locator(".attachment")).to_have_count(10)
    page.locator(".attachment").last.get_by_role("button", name="9.txt").click()
    expect(told).to_have_count(0)


@pytest.mark.slow
def test_examples_begin_with_the_first_on_a_phone_whatever_the_roster_brings(person: Any, visit: Any) -> None:
    watched = visit(person(), **PHONE)
    page = watched.new_page()
    page.route("**/api/v1/agents", lambda route: (page.wait_for_timeout(300), route.continue_()))
    page.goto("/")
    first = page.locator(".prompts button").first
    expect(first).not_to_contain_text("Write a mail")

    assert page.locator(".prompts").evaluate("(row) => row.scrollLeft") == 0
    box = first.bounding_box()
    assert box is not None
    assert box["x"] >= 0


@pytest.mark.slow
def test_a_check_box_stands_beside_its_words_on_a_phone(person: Any, visit: Any) -> None:
    page = visit(person(), **PHONE, locale="de-DE").new_page()
    lead = """(labels) => labels.map((label) => {
        const words = document.createRange();
        words.setStartAfter(label.querySelector("input"));
        words.setEndAfter(label.lastChild);
        const [first] = [...words.getClientRects()].filter(({ width }) => width > 1);
        const box = label.querySelector("input").getBoundingClientRect();
        const off = Math.abs(first.top + first.height / 2 - box.top - box.height / 2);
        return [first.left - box.right > 0, Math.round(off)];
    })"""

    apart = """(fields) => fields.map((field) => {
        const words = document.createRange();
        words.selectNodeContents(field.querySelector("label"));
        const lines = [...words.getClientRects()].filter(({ width }) => width > 1);
        const box = field.querySelector("input").getBoundingClientRect();
        const off = Math.abs(lines[0].top + lines[0].height / 2 - box.top - box.height / 2);
        return [lines[0].left - box.right > 0, Math.round(off), lines.length];
    })"""

    for path in ("/settings/tokens/", "/settings/webhooks/"):
        page.goto(path)
        found = page.locator("fieldset label:has(input[type=checkbox])").evaluate_all(lead)
        assert len(found) >= 4
        assert all(is_beside and off <= 2 for is_beside, off in found), (path, found)
    page.goto("/settings/notifications/")
    found = page.locator(".field:has(> input[type=checkbox])").evaluate_all(apart)
    assert max(lines for *_, lines in found) > 1
    assert all(is_beside and off <= 2 for is_beside, off, _ in found), found


@pytest.mark.slow
def test_a_list_of_runs_shows_what_they_cost(person: Any, visit: Any, live_site: Any) -> None:
    admin = person("Bob-with-a-name-that-is-rather-long", is_staff=True, is_superuser=True)
    live_site.until_ended(admin.ask("Hello"))
    page = visit(admin, viewport={"width": 1440, "height": 900}).new_page()

    page.goto("/admin/agents/execution/")

    assert page.locator("#changelist .results").evaluate("(box) => box.scrollWidth - box.clientWidth") <= 0


@pytest.mark.slow
def test_no_field_is_so_small_that_a_phone_enlarges_the_page(person: Any, visit: Any) -> None:
    watched = visit(person(), **PHONE, has_touch=True, is_mobile=True)
    page = watched.new_page()
    small = """(fields) => fields
        .filter((field) => field.checkVisibility() && parseFloat(getComputedStyle(field).fontSize) < 16)
        .map((field) => field.name || field.id || field.outerHTML)"""
    fields = "select, textarea, input:not([type=checkbox], [type=radio], [type=hidden])"

    for path in ("/", "/search/", "/documents/search/", "/files/", "/usage/", "/settings/tokens/"):
        page.goto(path)
        if path == "/":
            page.get_by_role("button", name=re.compile("^Mode")).click()
            page.get_by_role("menuitemradio", name=re.compile("^Research")).click()
        assert page.locator(fields).evaluate_all(small) == [], path
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, path


@pytest.mark.slow
def test_long_words_of_what_one_searches_by_are_not_cut(person: Any, visit: Any) -> None:
    alice = person()
    wide = visit(alice, viewport={"width": 1440, "height": 900}, locale="de-DE").new_page()
    cut = """(fields) => fields.filter((field) => {
        const free = field.cloneNode(true);
        free.style.maxInlineSize = free.style.inlineSize = "max-content";
        field.after(free);
        const isCut = field.offsetWidth < free.offsetWidth;
        free.remove();
        return isCut;
    }).map(({ name }) => name)"""

    wide.goto("/documents/search/")
    assert wide.locator(".search-options select").evaluate_all(cut) == [], "options"
    wide.goto("/search/?q=hallo")
    assert wide.locator(".find-found > .tabs").evaluate("(tabs) => tabs.scrollWidth - tabs.clientWidth") <= 0

    phone = visit(alice, **PHONE, has_touch=True, is_mobile=True, locale="de-DE").new_page()
    phone.goto("/files/")
    room = phone.locator(".file-bar input[type=search]").evaluate("""(field) => {
        const style = getComputedStyle(field);
        const pen = document.createElement("canvas").getContext("2d");
        pen.font = style.font;
        const inside = field.clientWidth - parseFloat(style.paddingInlineStart) - parseFloat(style.paddingInlineEnd);
        return inside - pen.measureText(field.placeholder).width;
    }""")
    assert room >= 0
