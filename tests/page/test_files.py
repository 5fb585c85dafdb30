"""The files of workspaces on a real site: dropped, looked at, changed, taken back, and seen by nobody else."""

import re
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.page.conftest import FORMS
from tests.page.test_approvals import faults_of
from tests.page.test_documents import drop
from tests.person import CSRF_TOKEN, Person

HOSTILE = "<img src=x onerror=alert(1)>.md"
MARKDOWN = """# Plan

- [x] Look
- [ ] Leap

<script>document.title = "run"</script> <img src="https://evil.example/x.png">
"""
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360606060000000050001"
    "a5f645400000000049454e44ae426082"
)
PASTE = """([bytes]) => {
    const files = new DataTransfer();
    files.items.add(new File([new Uint8Array(bytes)], "image.png", { type: "image/png" }));
    dispatchEvent(new ClipboardEvent("paste", { bubbles: true, cancelable: true, clipboardData: files }));
}"""


def row(page: Page, name: str) -> Locator:
    return page.locator(".doc-row").filter(has=page.get_by_role("link", name=name, exact=True))


def put(person: Person, place: str, path: str, content: bytes) -> None:
    """As a program with the person's session would."""
    answer = httpx.put(
        person.site.url(f"files/{place}/{quote(path)}"),
        content=content,
        cookies=dict(person.cookies),
        headers={"X-CSRFToken": CSRF_TOKEN, "Referer": person.site.base_url},
        timeout=30,
    )
    assert answer.status_code in (200, 201), answer.text


def menu(page: Page, name: str, *, choose: str) -> None:
    page.get_by_role("button", name=f"Options for {name}").click()
    page.get_by_role("menuitem", name=choose).click()


@pytest.mark.slow
@pytest.mark.spec("S81")
def test_files_are_dropped_looked_at_changed_and_taken_back(person: Any, visit: Any) -> None:
    alice, charlie = person(), person("Charlie")
    watched = visit(alice, **FORMS["wide and light"])
    page = watched.new_page()
    page.goto("/files/")
    expect(page.get_by_role("heading", name="No files here yet")).to_be_visible()
    expect(page.locator("body.is-live")).to_be_visible()
    faults = faults_of(page)

    drop(page, sales_csv="region,revenue\nNorth,4.2\n<b>South</b>,1.1\n", tool_py="def add(a, b):\n    return a + b\n")
    expect(row(page, "sales.csv")).to_be_visible()
    expect(row(page, "tool.py")).to_be_visible()
    drop(page, sales_csv="region,revenue\nNorth,9.9\n")
    expect(row(page, "sales.csv")).to_contain_text("Version 2")
    put(alice, f"user/{alice.id}", f"notes/{HOSTILE}", MARKDOWN.encode())
    page.reload()
    expect(page.locator(".doc-row").first).to_contain_text("notes")
    expect(page.get_by_text("taken, with older versions")).to_be_visible()
    faults += faults_of(page)

    # One file, its older version, and back.
    row(page, "sales.csv").get_by_role("link").click()
    expect(page.get_by_role("cell", name="9.9")).to_be_visible()
    page.get_by_role("link", name="Version 1").click()
    expect(page.get_by_role("cell", name="<b>South</b>")).to_be_visible()
    faults += faults_of(page)
    page.get_by_role("button", name="make this one the newest").click()
    expect(page.get_by_role("link", name="Version 3")).to_be_visible()
    expect(page.get_by_role("cell", name="4.2")).to_be_visible()

    # Its name, by the keyboard; then away, and taken back.
    menu(page, "sales.csv", choose="Rename")
    expect(page.get_by_label("Folder and name")).to_be_focused()
    page.keyboard.insert_text("in/2026")
    faults += faults_of(page)
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/in/2026\.csv$"))
    page.get_by_role("link", name="in", exact=True).click()
    menu(page, "2026.csv", choose="Delete")
    expect(page.get_by_text("2026.csv is deleted.")).to_be_visible()
    expect(row(page, "2026.csv")).to_have_count(0)
    faults += faults_of(page)
    page.get_by_role("button", name="Undo: 2026.csv").click()
    expect(row(page, "2026.csv")).to_be_visible()

    # What somebody else may have written is shown, and never run.
    page.goto(f"/files/user/{alice.id}/notes/")
    row(page, HOSTILE).get_by_role("link").click()
    expect(page.locator(".prose").get_by_text("☑ Look")).to_be_visible()
    faults += faults_of(page)
    page.get_by_role("button", name="Show its source").click()
    expect(page.get_by_text("<script>document.title")).to_be_visible()
    expect(page).to_have_title(f"{HOSTILE} · Files · HyperAgent")
    page.goto(f"/files/user/{alice.id}/tool.py")
    expect(page.locator(".hljs-keyword").first).to_have_text("def")

    theirs = visit(charlie).new_page()
    for address in ("", "notes/", f"notes/{quote(HOSTILE)}", "in/2026.csv?version=1"):
        refused = theirs.goto(f"/files/user/{alice.id}/{address}")
        assert refused is not None
        assert (refused.status, "Plan" in theirs.content()) == (404, False)
    assert faults == []
    assert (watched.errors, watched.foreign, watched.dialogs) == ([], [], [])


@pytest.mark.slow
@pytest.mark.spec("S81")
@pytest.mark.parametrize("form", list(FORMS))
def test_each_file_that_was_deleted_can_be_put_back_at_once_and_for_a_week(form: str, person: Any, visit: Any) -> None:
    alice = person()
    for name in ("plan.md", "notes.md", "in/list.md"):
        put(alice, f"user/{alice.id}", name, b"# Words")
    watched = visit(alice, **FORMS[form])
    page = watched.new_page()
    page.goto("/files/")
    expect(page.locator("body.is-live")).to_be_visible()
    for name in ("plan.md", "notes.md"):
        menu(page, name, choose="Delete")
        expect(row(page, name)).to_have_count(0)
    undone = page.get_by_role("button", name="Undo: ")
    expect(undone).to_have_count(2)
    faults = faults_of(page)
    page.get_by_role("button", name="Undo: plan.md").click()
    expect(row(page, "plan.md")).to_be_visible()
    expect(undone).to_have_count(1)

    # From its own page one comes to its folder, which has the way back as well.
    page.goto(f"/files/user/{alice.id}/in/list.md")
    page.get_by_role("button", name="Options for list.md").click()
    page.get_by_role("menuitem", name="Delete").click()
    page.wait_for_url(f"**/files/user/{alice.id}/in/")
    expect(page.get_by_role("button", name="Undo: list.md")).to_be_visible()

    page.reload()
    expect(undone).to_have_count(0)
    page.get_by_role("link", name="Show the 2 deleted files").click()
    expect(page.locator(".doc-row")).to_have_count(2)
    faults += faults_of(page)
    page.get_by_role("button", name="Put back notes.md").click()
    expect(page.locator(".doc-row")).to_have_count(1)
    page.get_by_role("link", name="My files").click()
    expect(row(page, "notes.md")).to_be_visible()
    assert faults == []
    assert (watched.errors, watched.foreign, watched.dialogs) == ([], [], [])


@pytest.mark.slow
@pytest.mark.spec("S81", "B30")
def test_a_projects_files_are_its_members_on_a_phone_and_a_picture_is_pasted(person: Any, visit: Any) -> None:
    alice, bob, charlie = person(), person("Bob"), person("Charlie")
    project = alice.post("projects", {"name": "Plans"}).json()["id"]
    alice.post(f"projects/{project}/members", {"email": bob.email})
    put(alice, f"project/{project}", "alices.txt", b"Words of Alice.")
    watched = visit(bob, **FORMS["phone and dark"])
    page = watched.new_page()

    page.goto("/files/?tab=projects")
    faults = faults_of(page)
    row(page, "Plans").get_by_role("link").click()
    expect(page.locator("body.is-live")).to_be_visible()
    page.evaluate(PASTE, [list(PNG)])
    pasted = page.get_by_role("link", name=re.compile(r"^Pasted .*\.png$"))
    expect(pasted).to_be_visible()
    faults += faults_of(page)
    page.get_by_role("button", name="Options for alices.txt").click()
    expect(page.get_by_role("menuitem", name="Download")).to_be_visible()
    expect(page.get_by_role("menuitem", name="Delete")).to_have_count(0)
    page.keyboard.press("Escape")
    pasted.click()

    picture = page.locator(".file-preview img")
    expect(picture).to_be_visible()
    expect(picture).to_have_js_property("naturalWidth", 1)
    expect(page.locator(".version-list")).to_contain_text("by Bob")
    faults += faults_of(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    theirs = visit(charlie).new_page()
    theirs.goto("/files/?tab=projects")
    expect(theirs.get_by_role("heading", name="You are in no project")).to_be_visible()
    assert faults == []
    assert (watched.errors, watched.foreign, watched.dialogs) == ([], [], [])
