"""The inbox on a real site: what waits for whom, decided one by one and several at once, and seen by nobody else."""

import uuid
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.page import asked
from tests.page.test_approvals import SIZES, faults_of
from tests.page.waiting import join_group, open_request, policy
from tests.pipeline.graphs import forking
from tests.scripted import Script


def rows(page: Page) -> Locator:
    return page.locator(".inbox-row")


def row(page: Page, words: str) -> Locator:
    return rows(page).filter(has_text=words)


def pane(page: Page) -> Locator:
    return page.locator("#inbox-pane")


def statuses(site: Any, *ids: str) -> list[str]:
    wanted = [uuid.UUID(one) for one in ids]
    found = site.query("SELECT request_id, status FROM hitl_request WHERE request_id = ANY(%s)", wanted)
    by_id = {str(one["request_id"]): one["status"] for one in found}
    return [by_id[one] for one in ids]


@pytest.mark.slow
@pytest.mark.spec("B3")
def test_the_inbox_lists_the_oldest_first_and_a_card_decides(live_site: Any, person: Any, visit: Any) -> None:
    alice = person()
    new = open_request(live_site, alice, asked.note_call(), created_at="2026-11-20T10:00:00Z")
    old = open_request(live_site, alice, asked.mail_call(), question="Send this mail?")
    watched = visit(alice, viewport=SIZES["wide"])
    page = watched.new_page()
    page.goto(f"{live_site.base_url}/inbox/")
    expect(rows(page).nth(0).locator(".row-title")).to_have_text("Send this mail?")
    expect(rows(page).nth(0).locator(".row-gist")).to_contain_text("bob@example.com, carol@example.com")
    expect(rows(page).nth(0)).to_contain_text("High risk · cannot be undone")
    expect(rows(page).nth(1)).to_contain_text("Allow the use of “Make ticket”?")
    expect(page).to_have_title("(2) Inbox · HyperAgent")
    expect(pane(page).locator(".mail-body")).to_contain_text("Best regards")

    pane(page).get_by_role("button", name="Approve", exact=False).first.click()

    expect(pane(page)).to_contain_text("Approved by you")
    expect(rows(page)).to_have_count(1)
    expect(page).to_have_title("(1) Inbox · HyperAgent")
    pane(page).get_by_role("button", name="Next request").click()
    expect(pane(page).locator(".approval")).to_be_focused()
    pane(page).locator(".approval[data-keys=on]").wait_for()
    page.keyboard.press("d")
    page.keyboard.type("Not now")
    page.keyboard.press("Enter")
    expect(pane(page)).to_contain_text("Reason: Not now")
    expect(page.get_by_role("heading", name="Nothing waits for you")).to_be_visible()
    assert statuses(live_site, old, new) == ["approved", "denied"]

    page.get_by_role("link", name="History").click()
    expect(row(page, "Send this mail?")).to_contain_text("Approved by you")
    expect(row(page, "Make ticket")).to_contain_text("Denied by you")
    assert (watched.errors, watched.foreign, watched.dialogs) == ([], [], [])


@pytest.mark.slow
def test_the_next_request_is_offered_whatever_was_being_read_when_one_was_decided(
    live_site: Any, person: Any, visit: Any
) -> None:
    alice = person()
    for at in range(2):
        open_request(live_site, alice, asked.mail_call(subject=f"Number {at}"), created_at=f"2026-11-20T09:0{at}:00Z")
    page = visit(alice, viewport=SIZES["wide"]).new_page()
    page.goto(f"{live_site.base_url}/inbox/")
    expect(rows(page)).to_have_count(2)
    held: list[Route] = []
    page.route("**/inbox/", lambda route: route.continue_() if held else held.append(route))
    with page.expect_request("**/inbox/"):
        open_request(live_site, alice, asked.note_call())

    pane(page).get_by_role("button", name="Approve", exact=False).first.click()
    expect(pane(page)).to_contain_text("Approved by you")
    held[0].continue_()

    expect(pane(page).get_by_role("button", name="Next request")).to_be_visible()
    expect(rows(page)).to_have_count(2)


@pytest.mark.slow
@pytest.mark.spec("B3")
def test_several_are_decided_at_once_with_keys_after_a_summary(live_site: Any, person: Any, visit: Any) -> None:
    alice = person()
    ids = [
        open_request(live_site, alice, asked.mail_call(subject=f"Number {at}"), created_at=f"2026-11-20T09:0{at}:00Z")
        for at in range(4)
    ]
    page = visit(alice, viewport=SIZES["phone"]).new_page()
    page.goto(f"{live_site.base_url}/inbox/")
    expect(rows(page)).to_have_count(4)
    expect(page).to_have_title("(4) Inbox · HyperAgent")
    for key in ("j", "Space", "j", "j", "Space", "k", "k", "j"):
        page.keyboard.press(key)
    expect(page.get_by_role("toolbar", name="Selected requests")).to_contain_text("2 selected")

    page.keyboard.press("d")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Deny these 2 requests?")
    expect(dialog.get_by_role("listitem")).to_have_count(2)
    expect(dialog).not_to_contain_text("Number 1")
    assert set(statuses(live_site, *ids)) == {"pending"}
    dialog.get_by_role("textbox", name="Reason").fill("Too many")
    dialog.get_by_role("button", name="Deny 2").click()

    expect(rows(page)).to_have_count(2)
    expect(page.locator("#announcements")).to_contain_text("2 denied")
    assert statuses(live_site, *ids) == ["denied", "pending", "denied", "pending"]


@pytest.mark.slow
@pytest.mark.spec("B3", "B4")
def test_a_reviewer_sees_what_is_theirs_its_owner_sees_that_it_waits_and_charlie_sees_nothing(
    live_site: Any, person: Any, visit: Any
) -> None:
    alice, bob, charlie = person(), person("Bob"), person("Charlie")
    group = f"press {uuid.uuid4().hex[:6]}"
    join_group(live_site, bob, group)
    for_group = {"approver_kind": "group", "approver_name": group}
    request_id = open_request(live_site, alice, asked.mail_call(), question="Send this mail?", **for_group)
    alices, bobs, charlies = (visit(one).new_page() for one in (alice, bob, charlie))
    address = f"{live_site.base_url}/inbox/{request_id}/"

    alices.goto(f"{live_site.base_url}/inbox/")
    expect(alices.get_by_role("heading", name="Nothing waits for you")).to_be_visible()
    alices.goto(address)
    expect(alices.locator(".approval")).to_contain_text(f"Waits for anybody of the group {group}")
    charlies.goto(f"{live_site.base_url}/inbox/")
    expect(rows(charlies)).to_have_count(0)
    refused = charlies.goto(address)
    assert refused is not None
    assert refused.status == 404
    assert "bob@example.com" not in charlies.content()

    bobs.goto(f"{live_site.base_url}/inbox/")
    expect(row(bobs, "Send this mail?")).to_contain_text("for Alice")
    expect(pane(bobs)).to_contain_text("for Alice")
    expect(pane(bobs).get_by_role("link", name="Open the run")).to_have_count(0)
    pane(bobs).get_by_role("button", name="Deny").click()
    bobs.keyboard.type("Not to the press")
    bobs.keyboard.press("Enter")

    expect(pane(bobs)).to_contain_text("Denied by you")
    expect(alices.locator(".approval-closed")).to_contain_text("Denied by Bob", timeout=20_000)
    expect(alices.locator(".history-list")).to_contain_text("Not to the press")


@pytest.mark.slow
@pytest.mark.spec("B3")
def test_a_link_from_a_mail_asks_who_it_is_and_leads_back(live_site: Any, person: Any, visit: Any) -> None:
    alice = person()
    talk = alice.post("conversations", {}).json()["id"]
    request_id = open_request(live_site, alice, asked.mail_call(), question="Send this mail?", conversation_id=talk)
    page = visit(None).new_page()

    page.goto(f"{live_site.base_url}/inbox/{request_id}")
    page.get_by_label("E-mail").fill(alice.email)
    page.get_by_label("Password").fill(alice.password)
    page.keyboard.press("Enter")

    expect(page).to_have_url(f"{live_site.base_url}/inbox/{request_id}/")
    expect(page.locator(".approval")).to_contain_text("Send this mail?")
    run = page.get_by_role("link", name="Open the run at this point").get_attribute("href")
    assert run is not None
    assert run.endswith(f"/#request-{request_id}")


@pytest.mark.slow
@pytest.mark.spec("B3")
def test_the_inbox_can_be_read_without_javascript_filtered_and_paged(live_site: Any, person: Any, visit: Any) -> None:
    alice = person()
    for number in range(26):
        call = asked.note_call() if number == 25 else asked.mail_call(subject=f"Number {number}")
        open_request(live_site, alice, call, agent_name="mail", created_at=f"2026-11-20T09:{number:02}:00Z")
    page = visit(alice, java_script_enabled=False).new_page()
    page.goto(f"{live_site.base_url}/inbox/")
    expect(rows(page)).to_have_count(25)
    page.get_by_role("link", name="Next").click()
    expect(rows(page)).to_have_count(1)
    expect(rows(page)).to_contain_text("Make ticket")

    page.get_by_role("combobox", name="Risk").select_option("high")
    page.get_by_role("searchbox", name="Search").fill("Number 17")
    page.get_by_role("button", name="Filter").click()
    expect(rows(page)).to_have_count(1)
    rows(page).get_by_role("link").click()
    expect(page.locator("#request")).to_contain_text("Number 17")
    expect(page.locator(".history-list")).to_contain_text("Asked")

    page.goto(f"{live_site.base_url}/inbox/?q=nothing+of+that+kind&risk=<script>&page=99")
    expect(page.get_by_role("heading", name="Nothing fits these filters")).to_be_visible()


@pytest.mark.slow
def test_by_keyboard_a_filter_is_chosen_first_and_then_filtered_by(live_site: Any, person: Any, visit: Any) -> None:
    alice = person()
    open_request(live_site, alice, asked.mail_call())
    page = visit(alice, viewport=SIZES["wide"]).new_page()
    page.goto(f"{live_site.base_url}/inbox/")
    risk = page.get_by_role("combobox", name="Risk")
    page.locator("body.is-live").wait_for()

    risk.focus()
    for _ in range(2):
        page.keyboard.press("ArrowDown")
    expect(risk).to_be_focused()
    chosen = risk.input_value()
    assert chosen
    assert page.url == f"{live_site.base_url}/inbox/"
    page.get_by_role("button", name="Filter").press("Enter")

    page.wait_for_url(f"**/inbox/?*risk={chosen}*")
    risk.click()
    risk.select_option("")
    page.wait_for_url("**/inbox/?*risk=&*")


@pytest.mark.slow
@pytest.mark.parametrize(("size", "scheme"), [("wide", "light"), ("phone", "dark")])
def test_the_inbox_fits_and_keeps_axes_rules(live_site: Any, person: Any, visit: Any, size: str, scheme: str) -> None:
    alice = person()
    open_request(live_site, alice, asked.mail_call(), question="Send this mail?")
    ids = [open_request(live_site, alice, call) for call in (asked.note_call(), asked.diff_call())]
    page = visit(alice, viewport=SIZES[size], color_scheme=scheme).new_page()
    page.goto(f"{live_site.base_url}/inbox/")
    expect(page).to_have_title("(3) Inbox · HyperAgent")
    faults = faults_of(page)
    page.get_by_label("Select: Allow the use of “Make ticket”?").check()
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Approve…").click()
    page.get_by_role("dialog").wait_for()
    faults += faults_of(page)
    page.goto(f"{live_site.base_url}/inbox/{ids[0]}/")
    page.locator(".approval").wait_for()
    faults += faults_of(page)

    assert faults == []


@pytest.mark.slow
@pytest.mark.spec("B3")
@pytest.mark.parametrize("place", ["/files/", "/inbox/", "/documents/", "/settings/webhooks/"])
def test_the_frame_counts_what_waits_as_it_is_now_on_every_page(
    live_site: Any, person: Any, visit: Any, place: str
) -> None:
    alice = person()
    watched = visit(alice, viewport=SIZES["wide"])
    page = watched.new_page()
    page.goto(f"{live_site.base_url}{place}")
    count = page.locator(".frame-places .frame-count")
    expect(count).to_have_count(0)

    with policy(live_site, "fork"):
        live_site.model.script(
            Script(match="Look into sails", tool_calls=forking("Find a sailmaker", "Find a ropemaker")),
            Script(match="Look into sails", text="Sails catch the wind.", times=0),
        )
        run = alice.ask("Look into sails for me", mode="chat")
        expect(count).to_have_text("2 waiting for you", timeout=30_000)
    ids = [
        str(one["request_id"])
        for one in live_site.query("SELECT request_id FROM hitl_request WHERE execution_id = %s", run)
    ]
    alice.post("hitl/respond", {"request_id": ids[0], "decision": "denied"})
    expect(count).to_have_text("1 waiting for you")
    alice.post("hitl/respond", {"request_id": ids[1], "decision": "denied"})
    expect(count).to_have_count(0)
    assert (watched.errors, watched.foreign, watched.dialogs) == ([], [], [])


@pytest.mark.slow
@pytest.mark.spec("B3")
def test_after_several_were_decided_at_once_the_next_one_is_offered(live_site: Any, person: Any, visit: Any) -> None:
    alice = person()
    for _ in range(3):
        open_request(live_site, alice, asked.note_call())
    page = visit(alice, viewport=SIZES["wide"]).new_page()
    page.goto(f"{live_site.base_url}/inbox/")
    for number in (0, 1):
        rows(page).nth(number).get_by_role("checkbox").check()

    page.get_by_role("toolbar", name="Selected requests").get_by_role("button", name="Approve").click()
    page.get_by_role("dialog").get_by_role("button", name="Approve 2").click()

    expect(rows(page)).to_have_count(1)
    expect(pane(page)).not_to_contain_text("Nothing else waits for you here.")
    pane(page).get_by_role("button", name="Next request").click()
    expect(pane(page).locator(".approval")).to_be_visible()


@pytest.mark.slow
def test_the_list_is_read_again_after_an_answer_that_broke_off(live_site: Any, person: Any, visit: Any) -> None:
    alice = person()
    open_request(live_site, alice, asked.mail_call())
    page = visit(alice, viewport=SIZES["wide"]).new_page()
    page.goto(f"{live_site.base_url}/inbox/")
    expect(rows(page)).to_have_count(1)
    page.evaluate(
        """() => {
            const { text } = Response.prototype;
            Response.prototype.text = () => {
                Response.prototype.text = text;
                window.brokeOff = true;
                return Promise.reject(new TypeError("network error"));
            };
            document.dispatchEvent(new Event("visibilitychange"));
        }"""
    )
    page.wait_for_function("() => window.brokeOff")

    open_request(live_site, alice, asked.note_call())
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")

    expect(rows(page)).to_have_count(2)


@pytest.mark.slow
def test_who_is_at_a_box_of_the_list_stays_there_when_the_list_is_read_again(
    live_site: Any, person: Any, visit: Any
) -> None:
    alice = person()
    open_request(live_site, alice, asked.mail_call(), question="Send this mail?")
    page = visit(alice, viewport=SIZES["wide"]).new_page()
    page.goto(f"{live_site.base_url}/inbox/")
    box = row(page, "Send this mail?").get_by_role("checkbox")
    box.focus()

    open_request(live_site, alice, asked.note_call(), created_at="2026-11-20T08:00:00Z")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")

    expect(rows(page)).to_have_count(2)
    expect(rows(page).nth(1)).to_contain_text("Send this mail?")
    expect(box).to_be_focused()


@pytest.mark.slow
def test_an_older_reading_that_fails_late_says_nothing_of_the_request_that_is_open(
    live_site: Any, person: Any, visit: Any
) -> None:
    alice = person()
    old = open_request(live_site, alice, asked.note_call(), created_at="2026-11-20T10:00:00Z")
    open_request(live_site, alice, asked.mail_call(), question="Send this mail?", created_at="2026-11-20T11:00:00Z")
    page = visit(alice, viewport=SIZES["wide"]).new_page()
    held: list[Any] = []

    def hold(route: Any) -> None:
        held.append(route)

    page.route(f"**/api/v1/hitl/requests/{old}", hold)
    page.goto(f"{live_site.base_url}/inbox/")
    row(page, "Send this mail?").locator(".row-link").click()
    expect(pane(page).locator(".mail-body")).to_contain_text("Best regards")

    for route in held:
        with page.expect_event("requestfailed"):
            route.abort()
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    assert len(held) == 1
    expect(pane(page).locator(".form-error")).to_have_count(0)
    expect(pane(page).locator(".mail-body")).to_contain_text("Best regards")
