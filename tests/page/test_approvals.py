"""Approvals in the chat: what a call would do, the answers to it, and what is left of it when it was decided. The page
is the product's; the runs are recorded ones.
"""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from agents.engine import events as e
from tests.clean_page import axe_faults
from tests.page import asked
from tests.page.asked import Json
from tests.page.conftest import Watched
from tests.page.recorded import plain
from tests.page.stage import Stage, Turn
from tests.page.test_store import RUN_ALL

SIZES = {"wide": {"width": 1440, "height": 900}, "phone": {"width": 390, "height": 844}}
Waiting = Callable[..., Stage]


@pytest.fixture
def waiting(open_stage: Any) -> Waiting:
    """Opens the chat where a run waits for these approvals."""

    def open_it(*requests: Json, answers: Any = None, **more: Any) -> Stage:
        told = {"/hitl/requests": asked.listed(*requests), **(answers or {})}
        turn = Turn(asked.waiting_for(*requests), status="awaiting_user")
        stage: Stage = open_stage(turn, answers=told, **more)
        cards(stage.page).first.wait_for()
        return stage

    return open_it


def cards(page: Page) -> Locator:
    return page.locator(".approval:not(.is-loading)")


def card(page: Page) -> Locator:
    return cards(page).first


def press(page: Page, key: str) -> None:
    """As soon as the card takes keys."""
    page.locator(".approval[data-keys=on]").first.wait_for()
    page.keyboard.press(key)


def decided(request: Json, status: str, **more: Any) -> Json:
    now = datetime.now(UTC).isoformat()
    return {**request, "status": status, "may_decide": False, "ended_at": now, "decided_by": "1", **more}


# What never ends, a spinner for one, cannot be finished.
SETTLE = """document.getAnimations()
    .filter((animation) => Number.isFinite(animation.effect?.getComputedTiming().endTime))
    .forEach((animation) => animation.finish())"""


def faults_of(page: Page) -> list[str]:
    # A colour on its way to another has a contrast of its own.
    page.evaluate(SETTLE)
    wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    found = [f"{wider} px wider than the window"] if wider > 0 else []
    return found + axe_faults(page)


@pytest.mark.spec("B5", "B7", "B10")
def test_what_the_cards_say_is_a_function_of_what_they_are_told(watched: Watched, static_site: str) -> None:
    page = watched.new_page()
    page.goto(f"{static_site}/tests/page/render.html")

    result = page.evaluate(RUN_ALL, f"{static_site}/tests/page/request_cases.mjs")

    assert result["faults"] == {}
    assert result["count"] >= 15


# ── what is asked ──


@pytest.mark.slow
@pytest.mark.spec("S132", "B5")
def test_a_mail_is_shown_as_a_mail_with_who_asks_why_and_until_when(waiting: Waiting) -> None:
    page = waiting(asked.approval(asked.mail_call())).page

    expect(card(page)).to_contain_text("Send this mail?")
    expect(card(page)).to_contain_text("High risk · cannot be undone")
    expect(card(page)).to_contain_text("Ends in 3 days")
    expect(card(page)).to_contain_text("Send the recommendation to Bob and the team")
    expect(card(page)).not_to_contain_text("Asked because")
    expect(card(page).locator(".mail-head dd").first).to_have_text("bob@example.comcarol@example.com")
    expect(card(page).locator(".mail-body")).to_contain_text("pgvector answers our 95th percentile in 12 ms")
    expect(card(page).locator(".mail-body")).to_contain_text("Best regards\nAlice")
    expect(card(page)).to_be_focused()
    expect(page.locator("#announcements")).to_contain_text("Approval needed: Send this mail?")
    expect(page.locator(".activity-line")).to_contain_text("Waiting for approval")


@pytest.mark.slow
@pytest.mark.spec("B6", "S111")
def test_a_reminder_marks_the_count_and_the_card_and_is_said(waiting: Waiting) -> None:
    request = asked.approval(asked.mail_call())
    told = {**request, "was_reminded": True}
    stage = waiting(request, answers={f"/hitl/requests/{request['request_id']}": (200, told)})
    page, inbox = stage.page, stage.inboxes[-1]
    inbox.send(json.dumps({"type": "requests", "pending": 1}))
    expect(page.locator(".frame-count")).to_have_text("1 waiting for you")

    named = {"request_id": request["request_id"], "conversation_id": stage.conversation_id, "title": "Send this mail?"}
    inbox.send(json.dumps({"type": "reminder", **named, "expires_at": None}))

    expect(page.locator(".frame-count.is-reminded")).to_have_text("1 still waiting for you")
    expect(card(page)).to_contain_text("Your approval is still needed")
    expect(page.locator("#announcements")).to_contain_text("Still waits for you: Send this mail?")
    inbox.send(json.dumps({"type": "requests", "pending": 2}))
    expect(page.locator(".frame-count")).to_have_text("2 waiting for you")


@pytest.mark.slow
def test_code_is_coloured_and_a_change_is_a_diff(waiting: Waiting) -> None:
    requests = (asked.approval(asked.code_call()), asked.approval(asked.diff_call()))
    page = waiting(*requests).page
    expect(card(page).locator(".code-block .hljs-keyword").first).to_have_text("import")
    expect(card(page).locator(".code-block")).to_contain_text("4 lines")

    page.get_by_role("button", name="2 of 2").click()

    expect(card(page).locator(".diff-line.is-gone")).to_have_text("−Removed: retries = 3")
    expect(card(page).locator(".diff-line.is-new").last).to_have_text("+Added: colour = true")
    expect(card(page).locator(".diff-note")).to_have_count(0)


@pytest.mark.slow
def test_what_a_diff_does_not_show_is_said_below_it(waiting: Waiting) -> None:
    call = asked.diff_call()
    call["preview"] |= {"before": "", "notes": ["unreadable", "clipped", "constructor"]}
    page = waiting(asked.approval(call)).page

    expect(card(page).locator(".diff-note")).to_have_text(
        [
            "What the file has now is no text that can be shown. All of it would be replaced.",
            "Only the beginning of this change is shown.",
        ]
    )


@pytest.mark.slow
@pytest.mark.threat("T20")
def test_what_is_written_to_deceive_is_shown_by_name_and_nothing_of_it_runs(waiting: Waiting) -> None:
    body = "Pay\u200b now <img src=x onerror=alert(1)> <script>alert(2)</script>"
    call = asked.mail_call(to=["bob\u202emoc.elpmaxe@evil.example"], subject="<b>Hi</b>", body=body)
    page = waiting(asked.approval(call, question="<script>alert(3)</script>?")).page

    expect(card(page).locator(".addresses").first).to_have_text("bob⟨U+202E⟩moc.elpmaxe@evil.example")
    expect(card(page).locator(".mail-body")).to_contain_text("Pay⟨U+200B⟩ now <img src=x")
    expect(card(page)).to_contain_text("signs in it that cannot be seen")
    assert page.locator(".approval img, .approval script, .approval b").count() == 0


@pytest.mark.slow
@pytest.mark.threat("T20")
def test_all_of_a_long_call_is_shown_and_enter_approves_nothing(waiting: Waiting) -> None:
    to = [f"person{number}@example.org" for number in range(50)]
    body = "An ordinary line.\n" * 600 + "and pay 10,000 to Eve"
    stage = waiting(asked.approval(asked.mail_call(to=to, subject="Minutes", body=body)))
    page = stage.page

    shown = card(page).inner_text()
    assert len(body) > 10_000
    assert [address for address in to if address not in shown] == []
    assert "and pay 10,000 to Eve" in shown
    page.keyboard.press("Enter")
    assert not page.locator(".approval button:focus", has_text="Approve").count()
    assert stage.posts == []


@pytest.mark.slow
@pytest.mark.spec("B4")
def test_what_waits_for_a_reviewer_says_so_and_offers_nothing(waiting: Waiting) -> None:
    approvers = {"kind": "role", "name": "reviewer", "different_person": True}
    page = waiting(asked.approval(asked.mail_call(), approvers=approvers, may_decide=False)).page

    expect(card(page)).to_contain_text("Waits for a reviewer, but not you.")
    expect(card(page).get_by_role("button", name="Approve")).to_have_count(0)
    card(page).focus()
    page.keyboard.press("a")
    expect(card(page)).to_contain_text("Waiting for approval")


@pytest.mark.slow
@pytest.mark.spec("S110")
def test_a_subagents_request_names_the_agents_above_it(open_stage: Any) -> None:
    request = asked.approval(asked.mail_call(), agent_name="writing")
    run = asked.waiting_for()
    run.agent("sub", "writing", "awaiting_user", parent="write", task="Send it")
    asked.ask(run, request, agent="sub")
    stage = open_stage(Turn(run, status="awaiting_user"), answers={"/hitl/requests": asked.listed(request)})

    expect(card(stage.page).locator(".asker-line")).to_contain_text("MailWritingwants to use “Send a mail”")
    expect(stage.page.locator(".approval")).to_have_count(1)


# ── the answers ──


@pytest.mark.slow
@pytest.mark.spec("S119", "B5")
@pytest.mark.threat("T18")
def test_one_key_approves_exactly_what_is_shown(waiting: Waiting) -> None:
    request = asked.approval(asked.mail_call())
    stage = waiting(request, answers={"/hitl/respond": (200, decided(request, "approved", decided_by_name="Alice"))})

    press(stage.page, "a")

    closed = stage.page.locator(".approval-closed")
    expect(closed).to_contain_text("Approved by you")
    answer = {"request_id": request["request_id"], "decision": "approved", "arguments_hash": request["arguments_hash"]}
    assert stage.posts == [("/hitl/respond", answer)]
    expect(stage.page.locator("#announcements")).to_contain_text("Approved")
    closed.get_by_role("button", name="Show what was asked").click()
    expect(closed.locator(".mail-body")).to_be_visible()


@pytest.mark.slow
@pytest.mark.threat("T20")
def test_a_key_that_was_meant_for_something_else_approves_nothing(waiting: Waiting) -> None:
    request = asked.approval(asked.mail_call())
    stage = waiting(request)
    page = stage.page
    card(page).wait_for()
    page.locator(".approval[data-keys=on]").wait_for()

    page.keyboard.press("Control+a")
    page.get_by_role("textbox", name="Your question").fill("a")
    page.get_by_role("textbox", name="Your question").press("a")
    card(page).get_by_role("button", name="Deny").click()
    page.keyboard.type("a bad idea")

    assert stage.posts == []
    expect(page.get_by_role("textbox", name="Why not?")).to_have_value("a bad idea")


@pytest.mark.slow
@pytest.mark.threat("T20")
def test_who_begins_to_write_while_a_card_takes_the_focus_approves_nothing(waiting: Waiting) -> None:
    request = asked.approval(asked.mail_call())
    stage = waiting(request, answers={"/hitl/respond": (200, decided(request, "approved"))})
    page = stage.page
    page.locator(".approval[data-keys=on]").wait_for()
    card(page).focus()

    page.keyboard.type("as I said", delay=60)
    expect(page.get_by_role("textbox", name="Your question")).to_have_value("as I said")
    page.wait_for_timeout(600)

    assert stage.posts == []
    expect(page.locator(".approval-closed")).to_have_count(0)


@pytest.mark.slow
@pytest.mark.spec("S133")
def test_a_denial_carries_its_reason(waiting: Waiting) -> None:
    request = asked.approval(asked.mail_call())
    answer = decided(request, "denied", user_instructions="Last year's numbers", decided_by_name="Alice")
    stage = waiting(request, answers={"/hitl/respond": (200, answer)})

    press(stage.page, "d")
    expect(stage.page.get_by_role("textbox", name="Why not?")).to_be_focused()
    stage.page.keyboard.type("Last year's numbers")
    stage.page.keyboard.press("Enter")

    expect(stage.page.locator(".approval-closed")).to_contain_text("Denied by you")
    expect(stage.page.locator(".approval-closed")).to_contain_text("Reason: Last year's numbers")
    assert stage.posts[0][1]["decision"] == "denied"
    assert stage.posts[0][1]["instructions"] == "Last year's numbers"


@pytest.mark.slow
@pytest.mark.spec("S133")
def test_a_reason_that_is_half_written_is_found_again_until_it_is_given(waiting: Waiting) -> None:
    request = asked.approval(asked.mail_call())
    answer = decided(request, "denied", user_instructions="Last year's numbers", decided_by_name="Alice")
    stage = waiting(request, answers={"/hitl/respond": (200, answer)})
    page, why = stage.page, stage.page.get_by_role("textbox", name="Why not?")

    press(page, "d")
    why.press_sequentially("Last year's")
    page.reload()
    press(page, "d")
    expect(why).to_have_value("Last year's")
    why.press_sequentially(" numbers")
    page.keyboard.press("Enter")

    expect(page.locator(".approval-closed")).to_contain_text("Reason: Last year's numbers")
    assert stage.posts[0][1]["instructions"] == "Last year's numbers"
    assert page.evaluate("Object.keys(localStorage).filter((key) => key.startsWith('hyperagent.words'))") == []


@pytest.mark.slow
@pytest.mark.spec("S133", "B5")
def test_arguments_are_edited_in_fields_and_what_is_refused_is_told_at_its_field(waiting: Waiting) -> None:
    request = asked.approval(asked.mail_call())
    refusal = {
        "error": {
            "code": "invalid",
            "message": "The arguments do not fit.",
            "fields": {"edited_arguments.to.1": ["This is not an address."]},
        }
    }
    stage = waiting(request, answers={"/hitl/respond": (400, refusal)})
    page = stage.page
    press(page, "e")
    form = page.locator(".edit")
    expect(form.get_by_role("button", name="Approve with these changes")).to_be_disabled()
    form.get_by_role("button", name="Remove carol@example.com").click()
    form.get_by_role("textbox", name="To").fill("not an address")
    form.get_by_role("textbox", name="To").press("Enter")
    form.get_by_role("textbox", name="Subject").fill("Please read")
    expect(form.locator(".change", has_text="subject")).to_contain_text("+Added: Please read")

    form.get_by_role("button", name="Approve with these changes").click()

    expect(form.locator(".edit-field", has_text="To").first.get_by_role("alert")).to_have_text(
        "This is not an address."
    )
    expect(form.get_by_role("textbox", name="Subject")).to_have_value("Please read")
    edited = {**asked.MAIL, "to": ["bob@example.com", "not an address"], "subject": "Please read"}
    assert stage.posts[0][1]["edited_arguments"] == edited

    stage.answers["/hitl/respond"] = (200, decided(request, "approved", edited_arguments=edited))
    form.get_by_role("button", name="Approve with these changes").click()
    closed = page.locator(".approval-closed")
    expect(closed).to_contain_text("Approved with changes by you")
    expect(closed.locator(".change", has_text="subject")).to_contain_text("Please read")


@pytest.mark.slow
@pytest.mark.spec("S133", "B5")
def test_arguments_that_are_half_changed_are_found_again_until_they_are_given_or_taken_back(waiting: Waiting) -> None:
    request = asked.approval(asked.mail_call())
    stage = waiting(request)
    page, subject = stage.page, stage.page.get_by_role("textbox", name="Subject")

    press(page, "e")
    subject.fill("Please read")
    page.reload()
    press(page, "e")
    expect(subject).to_have_value("Please read")
    expect(page.locator(".edit .change", has_text="subject")).to_contain_text("+Added: Please read")

    page.get_by_role("button", name="Undo changes").click()
    expect(subject).to_have_value(asked.MAIL["subject"])
    expect(page.get_by_role("button", name="Approve with these changes")).to_be_disabled()
    page.reload()
    press(page, "e")
    expect(subject).to_have_value(asked.MAIL["subject"])


@pytest.mark.slow
def test_arguments_can_be_edited_as_json_and_escape_leaves_the_form_and_not_the_run(waiting: Waiting) -> None:
    request = asked.approval(asked.note_call())
    stage = waiting(request)
    page = stage.page
    press(page, "e")
    page.get_by_role("combobox", name="Priority").select_option("urgent")
    page.get_by_role("button", name="Edit as JSON").click()
    field = page.get_by_role("textbox", name="Arguments as JSON")
    expect(field).to_have_value(re.compile('"priority": "urgent"'))
    field.fill("{")
    expect(page.locator(".edit").get_by_role("alert")).to_contain_text("This is not JSON")

    field.press("Escape")

    expect(page.locator(".edit")).to_have_count(0)
    expect(card(page)).to_be_focused()
    assert (stage.posts, stage.frames) == ([], [])


@pytest.mark.slow
@pytest.mark.spec("S127")
def test_a_yes_can_carry_instructions_and_can_wait(waiting: Waiting) -> None:
    requests = [asked.approval(asked.mail_call()), asked.approval(asked.mail_call(subject="Two"))]
    later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    stage = waiting(*requests, answers={"/hitl/respond": (200, decided(requests[0], "approved"))})
    page = stage.page
    expect(card(page)).to_contain_text("1 of 2")
    card(page).get_by_role("button", name="With instructions").click()
    page.get_by_role("textbox", name="Instructions").fill("In German")
    page.get_by_role("button", name="Approve with these instructions").click()

    expect(card(page)).to_contain_text("2 of 2")
    expect(card(page)).to_be_focused()
    assert stage.posts[0][1]["instructions"] == "In German"

    stage.answers["/hitl/respond"] = (200, {**requests[1], "snoozed_until": later})
    card(page).get_by_role("button", name="Decide later").click()
    page.get_by_role("menuitem", name="In an hour").click()
    expect(page.locator(".approval-closed.is-snoozed")).to_contain_text("Put off until")
    assert stage.posts[1][1]["decision"] == "snoozed"
    page.get_by_role("button", name="Decide now").click()
    expect(card(page)).to_contain_text("2 of 2")


@pytest.mark.slow
@pytest.mark.spec("B7", "S113")
def test_a_rule_is_read_in_words_before_it_is_saved(waiting: Waiting) -> None:
    request = asked.approval(asked.note_call())
    words = "make_ticket is allowed without asking while title is exactly “Look at chunk counts”, 5 times at most."
    preview = (200, {"text": words, "rule": {}})
    answers = {"/hitl/rules/preview": preview, "/hitl/respond": (200, decided(request, "approved"))}
    stage = waiting(request, answers=answers)
    page = stage.page
    page.get_by_role("combobox", name="Next time").select_option("rule")
    page.get_by_role("textbox", name="At most").fill("5")

    expect(page.locator(".rule-text")).to_have_text(words)
    stage.posts.clear()
    page.get_by_role("button", name="Approve and remember").click()

    expect(page.locator(".approval-closed")).to_be_visible()
    condition = {"path": "title", "op": "equals", "value": "Look at chunk counts"}
    remembered = {"scope": "rule", "conditions": [condition], "uses": 5, "text": words}
    assert [body.get("remember") for path, body in stage.posts if path == "/hitl/respond"] == [remembered]


@pytest.mark.slow
def test_where_no_rule_may_be_made_the_card_says_why(waiting: Waiting) -> None:
    page = waiting(asked.approval(asked.mail_call())).page

    expect(card(page)).to_contain_text("This cannot be undone, so you are asked each time.")
    expect(page.get_by_role("combobox", name="Next time")).to_have_count(0)


@pytest.mark.slow
@pytest.mark.spec("B7")
def test_a_no_to_what_cannot_be_undone_can_be_given_once_and_for_all(waiting: Waiting) -> None:
    request = asked.approval(asked.mail_call())
    words = "Always deny send_email by the mail agent, in this run."
    answers = {
        "/hitl/rules/preview": (200, {"text": words, "rule": {}}),
        "/hitl/respond": (200, decided(request, "denied")),
    }
    stage = waiting(request, answers=answers)
    page = stage.page
    page.get_by_role("button", name="Deny").click()

    page.get_by_role("combobox", name="Next time").select_option("run")
    expect(page.locator(".rule-text")).to_have_text(words)
    page.get_by_role("button", name="Deny and remember").click()

    expect(page.locator(".approval-closed")).to_be_visible()
    (sent,) = (body for path, body in stage.posts if path == "/hitl/respond")
    assert (sent["decision"], sent["remember"]["scope"]) == ("denied", "run")


@pytest.mark.slow
@pytest.mark.spec("S120")
def test_who_comes_too_late_sees_what_was_decided(waiting: Waiting) -> None:
    request = asked.approval(asked.mail_call())
    found = decided(request, "denied", decided_by="2", decided_by_name="Bob", user_instructions="Wrong list")
    refusal = {"error": {"code": "already_decided", "message": "This is denied already.", "request": found}}
    stage = waiting(request, answers={"/hitl/respond": (409, refusal)})

    press(stage.page, "a")

    closed = stage.page.locator(".approval-closed")
    expect(closed).to_contain_text("Denied by Bob")
    expect(closed).to_contain_text("Reason: Wrong list")
    expect(closed.get_by_role("alert")).to_have_text("Denied by Bob meanwhile. Your answer changed nothing.")


@pytest.mark.slow
@pytest.mark.spec("S121", "S123", "B6")
def test_what_is_decided_elsewhere_or_by_nobody_closes_the_card_at_once(waiting: Waiting) -> None:
    requests = [asked.approval(asked.mail_call()), asked.approval(asked.code_call())]
    stage = waiting(*requests)
    turn, page = stage.turns[0], stage.page
    before = len(turn.run.events)
    ended = [
        decided(requests[0], "approved", decided_by="2", decided_by_name="Bob"),
        decided(requests[1], "timed_out", decided_by=None),
    ]
    stage.answers["/hitl/requests"] = asked.listed(*ended)
    turn.run.tell("write", e.HitlApproved(request_id=requests[0]["request_id"]))
    turn.run.tell("write", e.HitlTimeout(request_id=requests[1]["request_id"]))
    stage.tell(turn, before)

    expect(page.locator(".approval-closed").nth(0)).to_contain_text("Approved by Bob")
    expect(page.locator(".approval-closed").nth(1)).to_contain_text("Nobody decided in time")
    expect(page.locator(".approval-closed").nth(1)).not_to_contain_text("Denied")
    expect(cards(page)).to_have_count(0)

    page.reload()
    expect(page.locator(".approval-closed").nth(0)).to_contain_text("Approved by Bob")


@pytest.mark.slow
@pytest.mark.parametrize(("size", "scheme"), [("wide", "light"), ("phone", "dark")])
def test_cards_fit_and_keep_axes_rules(waiting: Waiting, size: str, scheme: str) -> None:
    requests = [asked.approval(asked.note_call()), asked.approval(asked.mail_call()), asked.approval(asked.diff_call())]
    rule = {"/hitl/rules/preview": (200, {"text": "A rule.", "rule": {}})}
    page = waiting(*requests, answers=rule, viewport=SIZES[size], color_scheme=scheme).page
    page.get_by_role("combobox", name="Next time").select_option("rule")
    expect(page.locator(".rule-text")).to_have_text("A rule.")
    faults = faults_of(page)

    press_edit = page.get_by_role("button", name="Edit", exact=True)
    press_edit.click()
    page.get_by_role("textbox", name="Title").fill("Another")
    faults += faults_of(page)
    page.get_by_role("button", name="3 of 3").click()
    faults += faults_of(page)

    assert faults == []


@pytest.mark.slow
@pytest.mark.spec("B3")
def test_a_link_leads_to_an_approval_of_long_ago(open_stage: Any) -> None:
    request = decided(asked.approval(asked.mail_call()), "approved", decided_by_name="Alice")
    name = request["request_id"]
    run = asked.waiting_for(request)
    request["execution_id"] = run.execution_id
    run.tell("write", e.HitlApproved(request_id=name))
    run.finish("It is sent.")
    tall = "\n\n".join(f"Paragraph {number} of a long answer." for number in range(40))
    turns = [Turn(run, status="completed"), *(Turn(plain(tall), status="completed") for _ in range(8))]
    answers = {"/hitl/requests": asked.listed(request), f"/hitl/requests/{name}": (200, request)}
    stage: Stage = open_stage(*turns, answers=answers)

    stage.page.goto(f"{stage.site}/c/{stage.conversation_id}/#request-{name}")
    stage.page.reload()

    expect(stage.page.locator(f"#request-{name}")).to_be_in_viewport()
