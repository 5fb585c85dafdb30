"""The search over everything, and sharing by a link, in a real browser on a real site."""

import re
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Page, Route, expect

from tests.page.conftest import FORMS
from tests.page.test_approvals import SETTLE, faults_of

pytestmark = pytest.mark.spec("B29")
TABLE = "| Month | Ships |\n|---|---|\n| May | 12 |\n"


def a_turn(person: Any, live_site: Any, question: str) -> tuple[str, str]:
    """Asked and answered; the ids of the conversation and of the reply."""
    run = person.ask(question, mode="chat")
    live_site.until_ended(run)
    [row] = live_site.query("SELECT conversation_id, id FROM conversations_message WHERE execution_id = %s", run)
    return str(row["conversation_id"]), str(row["id"])


def filled(live_site: Any, conversation_id: str, reply_id: str) -> str:
    """Puts 120 turns behind the reply, as rows: nobody waits for them. The id of an early one among them."""
    rows = live_site.query(
        "WITH RECURSIVE turn(n, id, parent) AS (SELECT 1, gen_random_uuid(), %s::uuid"
        " UNION ALL SELECT n + 1, gen_random_uuid(), id FROM turn WHERE n < 120)"
        " INSERT INTO conversations_message (id, conversation_id, parent_id, role, text, mode, metadata, client_id,"
        " created_at) SELECT id, %s::uuid, parent, CASE n %% 2 WHEN 1 THEN 'user' ELSE 'assistant' END,"
        " 'Turn ' || n || CASE n WHEN 20 THEN ' has the albatross' ELSE ' of many words. ' || repeat('More. ', 40) END,"
        " '', '{}', '', clock_timestamp() + n * interval '1 microsecond' FROM turn RETURNING id, text",
        reply_id,
        conversation_id,
    )
    return next(str(row["id"]) for row in rows if "albatross" in row["text"])


def look(page: Page, name: str, pictures: Path) -> list[str]:
    """A picture in each scheme, and what is wrong in the one that it is opened in."""
    faults = faults_of(page)
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for scheme in schemes:
        page.emulate_media(color_scheme=scheme)
        page.evaluate(SETTLE)
        page.screenshot(path=pictures / f"{name}-{scheme}.png")
    return faults


@pytest.mark.slow
def test_what_is_typed_is_found_at_once_and_leads_to_the_message(live_site: Any, person: Any, visit: Any) -> None:
    alice = person()
    conversation_id, reply_id = a_turn(alice, live_site, "Where do seabirds nest?")
    early = filled(live_site, conversation_id, reply_id)
    watched = visit(alice)
    page = watched.new_page()
    earlier: list[str] = []
    page.on("request", lambda asked: earlier.append(asked.url) if "&before=" in asked.url else None)
    page.goto("/search/")
    expect(page.locator("#find-q")).to_be_focused()

    page.keyboard.type("the albatross")

    rows = page.locator(".find-row")
    expect(rows.first).to_contain_text("has the albatross")
    expect(rows.first.locator("mark")).to_have_text(["albatross"])
    expect(page).to_have_url(f"{live_site.base_url}/search/?q=the+albatross")
    page.keyboard.press("ArrowDown")
    expect(rows.first).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.locator("#find-q")).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/c/{conversation_id}/#m-{early}")
    named = page.locator(f"[data-message='{early}']")
    expect(named).to_be_in_viewport()
    expect(named).to_have_class("answer is-named")
    expect(named).to_be_focused()
    expect(named).not_to_have_class("answer is-named")
    expect(named).to_be_in_viewport()
    assert ["limit=1000" in url for url in earlier] == [True], "all that may have it, not page after page"
    page.goto("/search/?q=albatross&kind=message")
    expect(page.locator(".tabs [aria-current]")).to_contain_text("Messages")
    page.locator("#find-q").fill("cormorant")
    expect(page.locator("#find-found")).to_contain_text("Nothing here has “cormorant”")
    assert (watched.errors, watched.foreign, watched.dialogs) == ([], [], [])


@pytest.mark.slow
def test_a_conversation_is_shared_read_gone_on_with_and_revoked(live_site: Any, person: Any, visit: Any) -> None:
    alice, bob = person(), person("Bob")
    conversation_id, _ = a_turn(alice, live_site, f"Tell me of ships\n\n**bold** [own](/files/) <b>x</b>\n\n{TABLE}")
    watched = visit(alice)
    page = watched.new_page()
    page.goto(f"/c/{conversation_id}/")
    page.get_by_role("button", name="Share", exact=True).click()
    dialog = page.get_by_role("dialog", name="Share")
    dialog.get_by_label("Ends").select_option("7")

    dialog.get_by_role("button", name="Make a link").click()

    address = dialog.get_by_label("Address of the link")
    expect(address).to_be_focused()
    url = address.input_value()
    expect(dialog.locator(".share-facts")).to_contain_text("not seen yet · ends in 7 days")
    strangers = visit(None)
    reading = strangers.new_page()
    assert reading.goto(url).status == 200
    expect(reading.locator(".shared-text table")).to_contain_text("May")
    expect(reading.locator(".shared-text strong")).to_have_text("bold")
    expect(reading.locator("article a")).to_have_count(0)
    assert strangers.context.cookies() == []
    bobs = visit(bob)
    going_on = bobs.new_page()
    going_on.goto(url)
    going_on.get_by_role("link", name="Continue in your own chat").click()
    going_on.get_by_role("button", name="Continue").click()
    going_on.wait_for_url("**/c/*/")
    expect(going_on.locator(".answer")).to_contain_text("bold")
    going_on.locator("#composer-text").fill("And then?")
    going_on.keyboard.press("Enter")
    expect(going_on.locator(".answer").nth(1)).to_contain_text("You said")
    dialog.get_by_role("button", name="Revoke…").press("Enter")
    expect(dialog.get_by_role("button", name="Revoke", exact=True)).to_be_focused()
    dialog.get_by_role("button", name="Keep it").press("Enter")
    expect(dialog.get_by_role("button", name="Revoke…")).to_be_focused()
    page.keyboard.press("Enter")
    dialog.get_by_role("button", name="Revoke", exact=True).press("Enter")
    expect(dialog.locator(".share-link")).to_have_count(0)
    assert reading.reload().status == 404
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Share", exact=True)).to_be_focused()
    for one in (watched, bobs):
        assert (one.errors, one.foreign, one.dialogs) == ([], [], [])


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_the_pages_of_search_and_of_a_link_fit_and_can_be_used_by_everybody(
    live_site: Any, person: Any, visit: Any, form: str, tmp_path: Path
) -> None:
    alice = person()
    conversation_id, _ = a_turn(
        alice, live_site, f"Ships {'of-a-long-name-' * 12} in May\n\n{TABLE}\n\n```py\nx = 1\n```"
    )
    a_turn(alice, live_site, "Ships and harbours, what do they need?")
    watched = visit(alice, **FORMS[form])
    page = watched.new_page()
    faults = {}
    for name, path in {
        "empty": "",
        "found": "?q=ships",
        "nothing": "?q=zzzz&kind=file",
        "wrong": "?q=a1&from=x",
    }.items():
        page.goto(f"/search/{path}")
        faults[name] = look(page, name, tmp_path)
    watched.errors.clear()  # the browser names the 400
    page.goto(f"/c/{conversation_id}/")
    if form.startswith("phone"):
        page.get_by_role("button", name="Options for").click()
        page.get_by_role("menuitem", name="Share").click()
    else:
        page.get_by_role("button", name="Share", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Make a link").click()
    expect(page.locator(".share-link")).to_have_count(1)
    faults["dialog"] = look(page, "dialog", tmp_path)
    url = page.get_by_label("Address of the link").input_value()
    stranger = visit(None, **FORMS[form]).new_page()
    stranger.goto(url)
    expect(stranger.locator(".shared-text table")).to_be_visible()
    faults["shared"] = look(stranger, "shared", tmp_path)

    assert {name: found for name, found in faults.items() if found} == {}
    assert watched.errors == []


def test_a_search_that_was_refused_can_be_made_again_with_the_same_words(person: Any, visit: Any) -> None:
    watched = visit(person())
    page = watched.new_page()
    page.goto("/search/")
    refused: list[str] = []

    def refuse(route: Route) -> None:
        refused.append(route.request.url)
        route.fulfill(status=503, content_type="text/html", body="<p>Away</p>")

    page.route(re.compile(r"/search/\?q=seabirds"), refuse, times=1)
    page.keyboard.type("seabirds")
    expect(page.get_by_role("alert")).to_contain_text("The search could not be made")

    page.keyboard.press("Enter")

    expect(page.locator("#find-found")).to_contain_text("Nothing here has “seabirds”")
    assert len(refused) == 1
    watched.errors.clear()
