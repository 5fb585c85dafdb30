"""The documents on a real site: dropped, read by real jobs, opened at the cited passage, and seen by nobody else."""

import sys
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.page.conftest import FORMS
from tests.page.test_approvals import faults_of
from tests.page.test_store import RUN_ALL

# Jobs let everybody else go first.
READ_WITHIN_MS = 150_000
REPORT = """# Annual report

The year was quiet.

## Results

| Region | Revenue |
| --- | --- |
| North | 4.2 |
| <b>South</b> | 1.1 |

## Outlook

Nobody expects the zebra to return before spring. <script>document.title = "run"</script>
"""
DROP = """async ([names, texts]) => {
    const files = new DataTransfer();
    names.forEach((name, at) => files.items.add(new File([texts[at]], name)));
    for (const type of ["dragenter", "dragover", "drop"]) {
        const event = new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer: files });
        document.querySelector("main").dispatchEvent(event);
    }
}"""


@pytest.fixture
def jobs(live_site: Any) -> Iterator[None]:
    """The queue's own process, for as long as a test needs it."""
    live_site._start("jobs", (sys.executable, "manage.py", "jobs"), {"HYPERAGENT_PROCESS": "jobs"})
    yield
    live_site.kill("jobs", 15)


def rows(page: Page) -> Locator:
    return page.locator(".doc-row")


def row(page: Page, name: str) -> Locator:
    return rows(page).filter(has_text=name)


def drop(page: Page, **files: str) -> None:
    names = [name.replace("_", ".") for name in files]
    page.evaluate(DROP, [names, list(files.values())])


def menu(page: Page, name: str, *, choose: str) -> None:
    page.get_by_role("button", name=f"Options for {name}").click()
    page.get_by_role("menuitem", name=choose).click()


@pytest.mark.slow
def test_what_the_pages_say_is_a_function_of_what_they_are_told(watched: Any, static_site: str) -> None:
    page = watched.new_page()
    page.goto(f"{static_site}/tests/page/render.html")

    result = page.evaluate(RUN_ALL, f"{static_site}/tests/page/documents_cases.mjs")

    assert result["faults"] == {}
    assert result["count"] >= 9


@pytest.mark.slow
@pytest.mark.spec("S163", "B19", "B20")
@pytest.mark.usefixtures("jobs")
def test_dropped_files_are_read_found_and_opened_at_the_passage(person: Any, visit: Any) -> None:
    alice, charlie = person(), person("Charlie")
    watched = visit(alice, **FORMS["wide and light"])
    page = watched.new_page()
    page.goto("/documents/")
    expect(page.get_by_role("heading", name="Add what your answers should know")).to_be_visible()
    faults = faults_of(page)

    drop(page, report_md=REPORT, empty_txt="", long_txt="\f".join(f"Text of page {at}." for at in range(1, 14)))

    expect(row(page, "report.md")).to_contain_text("Searchable", timeout=READ_WITHIN_MS)
    expect(row(page, "empty.txt").locator(".doc-reason")).not_to_be_empty(timeout=READ_WITHIN_MS)
    expect(row(page, "empty.txt")).to_contain_text("Not read")
    expect(row(page, "long.txt")).to_contain_text("13 pages", timeout=READ_WITHIN_MS)
    expect(page.locator(".upload")).to_have_count(0)
    drop(page, copy_md=REPORT)
    expect(page.locator(".upload")).to_contain_text("Already here: report.md")
    faults += faults_of(page)

    page.goto("/documents/search/?q=zebra&mode=keyword")
    expect(page.locator(".passage").first).to_contain_text("Words no. 1")
    expect(page.locator(".trace-stage").filter(has_text="By words")).to_be_visible()
    faults += faults_of(page)
    page.locator(".passage").first.get_by_role("link").first.click()

    expect(page.locator("mark.cited").last).to_be_in_viewport()
    expect(page.get_by_role("group", name="Cited passage")).to_be_visible()
    expect(page.get_by_role("cell", name="<b>South</b>")).to_be_visible()
    expect(page).to_have_title("Annual report · HyperAgent")
    assert "chunk=" in page.url
    faults += faults_of(page)
    theirs = visit(charlie).new_page()
    for address in (page.url, page.url.partition("?")[0]):
        refused = theirs.goto(address)
        assert refused is not None
        assert refused.status == 404
        assert "zebra" not in theirs.content()
    theirs.goto("/documents/search/?q=zebra")
    expect(theirs.get_by_role("heading", name="Nothing found")).to_be_visible()
    page.goto("/documents/")
    row(page, "long.txt").get_by_role("link").click()
    page.get_by_role("spinbutton", name="Page").fill("12")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Text of page 12.")).to_be_in_viewport()
    assert faults == []
    assert (watched.errors, watched.foreign, watched.dialogs) == ([], [], [])


@pytest.mark.slow
@pytest.mark.spec("B20")
def test_a_document_is_shared_and_deleted_from_its_row_on_a_phone(live_site: Any, person: Any, visit: Any) -> None:
    alice, bob = person(), person("Bob")
    page = visit(alice, **FORMS["phone and dark"]).new_page()
    page.goto("/documents/")
    page.get_by_label("Files to add").set_input_files({"name": "plan.md", "mimeType": "", "buffer": b"# Plan\n\nGo."})
    expect(row(page, "plan.md")).to_contain_text("Only you")
    bobs = visit(bob).new_page()
    bobs.goto("/documents/?q=plan")
    expect(rows(bobs)).to_have_count(0)

    menu(page, "plan.md", choose="Share")
    page.get_by_role("radio", name="Everyone").check()
    faults = faults_of(page)
    page.get_by_role("button", name="Save").click()
    expect(row(page, "plan.md")).to_contain_text("Everyone")
    bobs.reload()

    expect(row(bobs, "plan.md").first).to_contain_text("From Alice")
    bobs.get_by_role("button", name="Options for plan.md").first.click()
    expect(bobs.get_by_role("menuitem", name="Download")).to_be_visible()
    expect(bobs.get_by_role("menuitem", name="Delete")).to_have_count(0)
    menu(page, "plan.md", choose="Delete")
    page.get_by_role("button", name="Delete").click()
    expect(rows(page)).to_have_count(0)
    assert live_site.query("SELECT 1 FROM memory_document WHERE owner_id = %s", alice.id) == []
    assert faults == []


@pytest.mark.slow
def test_that_others_lose_a_document_with_it_is_said_where_a_project_alone_shares_it(person: Any, visit: Any) -> None:
    page = visit(person(), **FORMS["wide and light"]).new_page()
    page.goto("/documents/")
    page.get_by_label("Files to add").set_input_files({"name": "plan.md", "mimeType": "", "buffer": b"# Plan\n\nGo."})
    expect(row(page, "plan.md")).to_contain_text("Only you")
    for_others = page.get_by_role("dialog").filter(has_text="for those who share it too")
    menu(page, "plan.md", choose="Delete")
    expect(page.get_by_role("dialog")).to_be_visible()
    expect(for_others).to_have_count(0)

    page.goto("/projects/")
    page.get_by_label("Name").fill("Tender")
    page.get_by_role("button", name="Begin project").click()
    page.get_by_label("One of your documents").select_option(label="plan.md")
    page.locator(".project-line").filter(has=page.locator("#add-document")).get_by_role("button", name="Add").click()
    page.locator("#project-documents").get_by_role("link", name="plan.md").click()
    page.get_by_role("button", name="More options for plan.md").click()
    page.get_by_role("menuitem", name="Delete").click()
    expect(for_others).to_be_visible()
    page.goto("/documents/")

    menu(page, "plan.md", choose="Delete")
    expect(for_others).to_be_visible()


@pytest.mark.slow
def test_a_file_is_refused_stopped_and_tried_again_beside_its_name(person: Any, visit: Any) -> None:
    page = visit(person(), **FORMS["wide and light"]).new_page()
    page.goto("/documents/")
    refusal = {"error": {"code": "no_room", "message": "There is no room left. Delete documents first."}}
    page.route("**/api/v1/documents", lambda route: route.fulfill(status=413, json=refusal))
    drop(page, big_pdf="%PDF-")
    upload = page.locator(".upload")
    expect(upload.get_by_role("alert")).to_have_text(refusal["error"]["message"])
    faults = faults_of(page)
    page.unroute("**/api/v1/documents")
    page.route("**/api/v1/documents", lambda route: None)  # nobody answers

    page.get_by_role("button", name="Try again: big.pdf").click()
    expect(page.locator(".uploads-head")).to_contain_text("Adding 1 file")
    with page.expect_event("dialog") as asked:
        page.close(run_before_unload=True)
    assert asked.value.type == "beforeunload"
    page.get_by_role("button", name="Stop big.pdf").click()

    expect(upload).to_have_count(0)
    assert faults == []
