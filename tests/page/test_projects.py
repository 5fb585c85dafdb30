"""Projects on a real site: begun, filled, shared, used for a chat, and left; and connectors."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.page.conftest import FORMS
from tests.page.test_approvals import faults_of

pytestmark = pytest.mark.spec("B30")


def begin_project(page: Page, name: str, instructions: str = "") -> None:
    page.goto("/projects/")
    if (another := page.get_by_text("New project", exact=True)).is_visible():
        another.click()
    page.get_by_label("Name").fill(name)
    page.get_by_label("Instructions").fill(instructions)
    page.get_by_role("button", name="Begin project").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(name)


@pytest.mark.slow
def test_alice_begins_a_project_adds_bob_and_a_file_and_bob_reads_it(
    live_site: Any, person: Any, visit: Any, tmp_path: Path
) -> None:
    alice, bob, charlie = person(), person("Bob"), person("Charlie")
    watched = visit(alice)
    page = watched.new_page()
    begin_project(page, "Harbour plans", "We write British English.")
    page.get_by_label("E-mail address of the new member").fill(bob.email)
    page.locator(".project-line").filter(has=page.locator("#member-email")).get_by_role("button", name="Add").click()
    expect(page.get_by_role("status")).to_contain_text("Bob is a member now.")
    plan = tmp_path / "plan.md"
    plan.write_text("# Plan\n\nThe harbour opens in May.")

    page.locator("#project-files").set_input_files(str(plan))

    added = page.locator("#project-documents li").filter(has_text="plan.md")
    expect(added).to_contain_text("Yours")
    bobs = visit(bob).new_page()
    bobs.goto("/projects/")
    bobs.get_by_role("link", name="Harbour plans").click()
    expect(bobs.locator("#project-documents")).to_contain_text("plan.md")
    expect(bobs.locator("#project-documents")).to_contain_text("From Alice")
    expect(bobs.locator(".project-instructions")).to_have_text("We write British English.")
    expect(bobs.get_by_role("button", name="Take plan.md out of the project")).to_have_count(0)
    charlies = visit(charlie).new_page()
    charlies.goto("/projects/")
    expect(charlies.locator(".project-card")).to_have_count(0)
    assert charlies.goto(page.url).status == 404

    page.locator("summary").filter(has_text=f"Remove… {bob.email}").click()
    assert bobs.reload().status == 200
    page.get_by_role("button", name=f"Remove {bob.email}").click()

    expect(page.get_by_role("status")).to_contain_text("Removed, with their documents.")
    assert bobs.reload().status == 404
    assert (watched.errors, watched.foreign, watched.dialogs) == ([], [], [])


@pytest.mark.slow
def test_files_that_stay_outside_of_the_project_say_so_and_are_tried_again(person: Any, visit: Any) -> None:
    page = visit(person()).new_page()
    begin_project(page, "Harbour plans")
    page.locator("body.is-live").wait_for()
    full = {"error": {"code": "too_many_documents", "message": "A project has 2,000 documents at most."}}
    adding = "**/api/v1/projects/*/documents"
    page.route(adding, lambda route: route.fulfill(status=409, json=full))
    files: Any = [{"name": name, "mimeType": "", "buffer": name.encode()} for name in ("one.md", "two.md")]

    page.locator("#project-files").set_input_files(files)

    rows = page.get_by_role("region", name="Files being added").get_by_role("listitem")
    why = "It is among your documents, and not in the project: A project has 2,000 documents at most."
    expect(rows.filter(has_text=why)).to_have_count(2)
    expect(page.locator("#uploads")).to_contain_text("2 not added")
    page.unroute(adding)
    page.get_by_role("button", name="Try all again").click()
    expect(page.locator("#uploads")).to_contain_text("2 added")
    expect(page.locator("#project-documents li")).to_have_count(2)


@pytest.mark.slow
def test_a_chat_that_begins_in_a_project_shows_it_and_is_listed_there(live_site: Any, person: Any, visit: Any) -> None:
    alice = person()
    watched = visit(alice)
    page = watched.new_page()
    begin_project(page, "Harbour plans", "Answer in French.")
    project_url = page.url
    page.get_by_role("link", name="New chat in this project").click()
    expect(page.locator(".project-button")).to_have_text("Harbour plans")

    page.locator("#composer-text").fill("When does the harbour open?")
    page.keyboard.press("Enter")

    page.wait_for_url("**/c/*/")
    expect(page.locator(".project-button")).to_have_text("Harbour plans")
    expect(page.locator("#chat")).to_contain_text("You said")
    [run] = live_site.query("SELECT input FROM agents_execution WHERE user_id = %s", alice.id)
    assert run["input"]["options"]["project_instructions"]["text"] == "Answer in French."
    page.goto(project_url)
    expect(page.locator("#project-conversations a")).to_have_count(1)
    page.locator("#project-conversations a").click()
    expect(page.locator(".project-button")).to_have_text("Harbour plans")
    page.locator(".project-button").click()
    page.get_by_role("menuitemradio", name="No project").click()
    expect(page.get_by_role("button", name="Choose a project")).to_be_visible()
    page.reload()
    expect(page.get_by_role("button", name="Choose a project")).to_be_visible()
    assert (watched.errors, watched.foreign, watched.dialogs) == ([], [], [])


def test_whoever_has_no_project_sees_nothing_of_them_in_the_chat(person: Any, visit: Any) -> None:
    page = visit(person()).new_page()
    page.goto("/")

    expect(page.locator("#composer-text")).to_be_visible()
    expect(page.locator(".project-button")).to_have_count(0)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_the_pages_of_projects_and_connectors_fit_and_can_be_used_by_everybody(
    person: Any, visit: Any, form: str
) -> None:
    alice = person(is_staff=True)
    watched = visit(alice, **FORMS[form])
    page = watched.new_page()
    begin_project(page, "A project with quite a long name that says what it is about", "Be short. " * 20)
    project_url = page.url
    expect(page.get_by_text("None yet.")).to_be_visible()  # the page's script runs
    page.locator("#project-files").set_input_files({"name": "plan.md", "mimeType": "", "buffer": b"The harbour opens."})
    expect(page.locator("#project-documents li")).to_have_count(1)
    page.get_by_role("link", name="New chat in this project").click()
    page.locator("#composer-text").fill("A first question that is far too long for one line of a phone, as most are")
    page.keyboard.press("Enter")
    page.wait_for_url("**/c/*/")
    page.goto(project_url)
    expect(page.locator("#project-conversations a")).to_have_count(1)
    faults = {"project": faults_of(page)}
    page.goto("/projects/")
    faults["projects"] = faults_of(page)
    page.goto("/connectors/")
    page.get_by_label("Address").fill("https://example.org/" + "a-long-way/" * 12)
    page.get_by_role("button", name="Add connector").click()
    expect(page.locator(".connector")).to_have_count(1)
    page.goto("/connectors/")
    faults["connectors"] = faults_of(page)

    assert faults == {"project": [], "projects": [], "connectors": []}
    for url in (project_url, "/projects/", "/connectors/"):
        page.goto(url)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), url
    assert watched.errors == []


@pytest.mark.slow
def test_a_connector_is_added_switched_off_and_deleted(person: Any, visit: Any) -> None:
    watched = visit(person())
    page = watched.new_page()
    page.goto("/connectors/")
    page.get_by_label("Address").fill("http://127.0.0.1/inside")
    page.get_by_role("button", name="Add connector").click()
    expect(page.locator(".field .errorlist")).to_contain_text("private network")
    expect(page.get_by_label("Address")).to_have_value("http://127.0.0.1/inside")
    expect(page.get_by_label("What it is")).not_to_contain_text("Folder")

    page.get_by_label("Address").fill("https://example.org/news")
    page.get_by_role("button", name="Add connector").click()

    row = page.locator(".connector")
    expect(row).to_contain_text("https://example.org/news")
    row.get_by_role("button", name="Switch off").click()
    expect(row).to_contain_text("Off")
    row.locator("summary").click()
    row.get_by_role("button", name="Keep its documents").click()
    expect(page.locator(".connector")).to_have_count(0)
