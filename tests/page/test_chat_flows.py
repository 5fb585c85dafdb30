"""What one does with questions and answers, on a stage: queue, edit, follow up, look at details, paste."""

import json
import re
import uuid
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from agents.engine import events
from tests.page import recorded
from tests.page.recorded import Recorded, plain
from tests.page.stage import Stage, Turn
from tests.page.test_hand_cards import PICTURE

MADE_AT = "2026-11-20T09:10:00Z"


def box(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Your question")


def say_frames(stage: Stage) -> list[dict[str, Any]]:
    return [frame for frame in stage.frames if frame["type"] == "say"]


def unfinished() -> tuple[Recorded, list[Any]]:
    """A run that is being answered, and the events that end it."""
    run = plain("Because short waves are scattered more.")
    ending = run.events[-2:]
    del run.events[-2:]
    return run, ending


def stored(stage: Stage, frame: dict[str, Any], parent_id: str | None) -> str:
    """The server says that it has a question, whose answer is then being written; the answer's run."""
    assert stage.socket is not None
    execution = {"id": str(uuid.uuid4()), "status": "running", "last_seq": 0, "error": None, "model": None}
    shared: dict[str, Any] = {"created_at": MADE_AT, "mode": "task", "sources": [], "checks": [], "attachments": []}
    ids = str(uuid.uuid4()), str(uuid.uuid4())
    message = {"id": ids[0], "parent_id": parent_id, "role": "user", "text": frame["text"], "execution": None, **shared}
    message["client_id"] = frame["client_id"]
    reply = {"id": ids[1], "parent_id": ids[0], "role": "assistant", "text": "", "client_id": None, **shared}
    reply["execution"] = {**execution, "usage": None, "started_at": MADE_AT, "ended_at": None}
    said = {"type": "said", "message": message, "reply": reply, "client_id": frame["client_id"]}
    stage.socket.send(json.dumps(said))
    return str(execution["id"])


@pytest.mark.slow
def test_the_next_questions_wait_are_seen_taken_back_and_sent_in_order(open_stage: Any) -> None:
    run, ending = unfinished()
    stage: Stage = open_stage(Turn(run))
    page, turn = stage.page, stage.turns[0]
    page.get_by_role("button", name="Stop (Esc)").wait_for()

    for text in ("First next", "Second next", "Third next"):
        box(page).fill(text)
        box(page).press("Control+Enter")
    waiting = page.get_by_role("article", name="Question that waits")
    expect(waiting).to_have_count(3)
    expect(waiting.first).to_contain_text("sent when the answer is finished")
    waiting.nth(1).get_by_role("button", name="Edit").click()
    expect(box(page)).to_have_value("Second next")
    box(page).fill("")
    assert say_frames(stage) == []
    page.reload()
    expect(page.get_by_role("article", name="Question that waits")).to_have_count(2)

    before = len(run.events)
    run.events.extend(ending)
    stage.tell(turn, before)
    page.wait_for_function("!document.querySelector('.answer[aria-busy=true]')")
    expect(page.get_by_role("article", name="Question, not sent yet")).to_contain_text("First next")
    expect(page.get_by_role("article", name="Question that waits")).to_contain_text("Third next")
    [first] = say_frames(stage)
    execution_id = stored(stage, first, turn.ids[1])
    expect(page.get_by_role("article", name="Question, not sent yet")).to_have_count(0)
    assert stage.socket is not None
    done = {
        "type": "complete",
        "execution_id": execution_id,
        "agent_id": "x",
        "seq": 1,
        "timestamp": 1,
        "answer": "Done.",
    }
    stage.socket.send(json.dumps({"type": "event", "event": done}))
    expect(page.get_by_role("article", name="Question that waits")).to_have_count(0)

    assert [frame["text"] for frame in say_frames(stage)] == ["First next", "Third next"]


@pytest.mark.slow
def test_who_comes_back_says_what_it_has_and_when_that_was(open_stage: Any) -> None:
    run, _ = unfinished()
    stage: Stage = open_stage(Turn(run))
    stage.page.get_by_role("button", name="Stop (Esc)").wait_for()
    last = run.events[-1]
    expect(stage.page.locator(".answer").last).to_contain_text("scattered more")
    broken = stage.socket
    assert broken is not None

    broken.close(code=1012)
    while stage.socket is broken:  # until the test's time is over
        stage.page.wait_for_timeout(20)

    assert stage.socket is not None
    said = parse_qs(urlsplit(stage.socket.url).query)
    assert {name: json.loads(said[name][0]) for name in ("after", "at")} == {
        "after": {run.execution_id: last["seq"]},
        "at": {run.execution_id: last["timestamp"]},
    }


@pytest.mark.slow
def test_a_question_is_edited_as_a_branch_and_the_keyboard_goes_between_them(open_stage: Any) -> None:
    stage: Stage = open_stage(Turn(plain("Blue is scattered."), question="Why is the sky blue?", status="completed"))
    page, turn = stage.page, stage.turns[0]
    question = page.get_by_role("article", name="Question")

    question.hover()
    question.get_by_role("button", name="Edit question").click()
    field = page.get_by_role("textbox", name="Your question, changed")
    expect(field).to_be_focused()
    field.press("Escape")
    expect(question.get_by_role("button", name="Edit question")).to_be_focused()
    page.keyboard.press("Enter")
    expect(field).to_be_focused()
    field.fill("Why is the sea blue?")
    field.press("Enter")

    page.get_by_role("article", name="Question, not sent yet").wait_for()
    [frame] = say_frames(stage)
    assert (frame["text"], frame["edits"]) == ("Why is the sea blue?", turn.ids[0])
    stored(stage, frame, None)
    expect(question).to_contain_text("2 / 2")
    expect(page.get_by_role("button", name="Stop (Esc)")).to_be_visible()
    page.get_by_role("button", name="Question before this").press("Enter")
    expect(question).to_contain_text("Why is the sky blue?")
    expect(page.get_by_role("button", name="Question after this")).to_be_focused()
    expect(page.get_by_role("button", name="Stop (Esc)")).to_have_count(0)  # it runs in the other branch

    box(page).fill("And at night?")
    box(page).press("Enter")
    page.get_by_role("article", name="Question, not sent yet").wait_for()
    assert say_frames(stage)[-1]["after"] == turn.ids[1]


@pytest.mark.slow
def test_what_may_be_asked_next_is_put_into_the_box_or_sent(open_stage: Any) -> None:
    turn = Turn(plain(), status="completed", follow_ups=("Why not violet?", "And at night?"))
    stage: Stage = open_stage(Turn(plain("Older."), status="completed", follow_ups=("Not shown",)), turn)
    page = stage.page
    chips = page.get_by_role("list", name="You may ask next").get_by_role("button")

    assert chips.all_inner_texts() == ["Why not violet?", "And at night?"]
    chips.first.click()
    expect(box(page)).to_have_value("Why not violet?")
    expect(box(page)).to_be_focused()
    assert say_frames(stage) == []
    chips.nth(1).click(modifiers=["Control"])
    page.get_by_role("article", name="Question, not sent yet").wait_for()
    assert [frame["text"] for frame in say_frames(stage)] == ["And at night?"]
    stored(stage, say_frames(stage)[0], turn.ids[1])
    expect(chips).to_have_count(0)

    assert stage.socket is not None
    news = {"type": "follow_ups", "message_id": turn.ids[1], "questions": ["Why?"]}
    stage.socket.send(json.dumps(news))
    expect(chips).to_have_count(0)  # of an answer that is no longer the newest


@pytest.mark.slow
def test_what_was_added_too_late_and_refused_is_shown_with_the_reason_and_not_lost(open_stage: Any) -> None:
    turn = Turn(plain(), status="completed")
    stage: Stage = open_stage(turn)
    page = stage.page
    assert stage.socket is not None

    unasked = {"text": "In years.", "why": "You have as many answers under way as may be."}
    stage.socket.send(json.dumps({"type": "unasked", "message_id": turn.ids[1], "unasked": unasked}))

    notice = page.get_by_role("alert").filter(has_text="In years.")
    expect(notice).to_contain_text("Not sent. You have as many answers under way as may be.")
    notice.get_by_role("button", name="Put it into the box").click()
    expect(box(page)).to_have_value("In years.")


@pytest.mark.slow
def test_the_details_of_an_answer_tell_what_it_took_and_lead_to_the_run(open_stage: Any) -> None:
    stage: Stage = open_stage(Turn(plain(), status="completed"))
    page = stage.page

    page.get_by_role("button", name="Details").click()
    panel = page.get_by_role("dialog", name="Details of the answer")
    expect(panel).to_contain_text(re.compile(r"Begun\s*\d+ \w+ \d{4}, \d\d:\d\d"))
    expect(panel).to_contain_text("First word after")
    for words in ("gpt-5.2", "$0.04", "9,340 read, 1,812 written", "In total"):
        expect(panel).to_contain_text(words)
    page.keyboard.press("Escape")

    expect(panel).to_be_hidden()
    expect(page.get_by_role("button", name="Details")).to_be_focused()


@pytest.mark.slow
def test_a_run_that_failed_in_part_is_retried_from_what_failed(open_stage: Any) -> None:
    run = recorded.diamond_in_the_middle()
    run.tell(
        recorded.ROOT,
        events.Error(code="model_unavailable", message="The provider is away. Try again in a minute."),
    )
    stage: Stage = open_stage(Turn(run))
    page = stage.page

    failure = page.get_by_role("alert").filter(has_text="The provider is away")
    expect(failure.get_by_role("button", name="Try again")).to_be_visible()
    with page.expect_response(re.compile("/retry$")):
        failure.get_by_role("button", name="Retry from what failed").click()

    assert (f"/executions/{run.execution_id}/retry", {}) in stage.posts


PASTE = """([kind, name, text]) => {
    const data = new DataTransfer();
    if (kind) data.items.add(new File(["x"], name, { type: kind }));
    if (text) { data.setData("text/plain", text); data.setData("text/html", `<b>${text}</b>`); }
    const box = document.getElementById("composer-text");
    return !box.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
}"""


@pytest.mark.slow
def test_files_are_pasted_and_taken_off_and_text_with_a_picture_stays_text(open_stage: Any) -> None:
    added = (201, {"doc_id": str(uuid.uuid4())})
    stage: Stage = open_stage(Turn(plain(), status="completed"), answers={"/documents": added})
    page = stage.page
    chips = page.get_by_role("list", name="Files for this question").get_by_role("listitem")

    assert page.evaluate(PASTE, ["image/png", "image.png", ""]) is True
    assert page.evaluate(PASTE, ["text/csv", "sales.csv", ""]) is True
    assert page.evaluate(PASTE, ["image/png", "image.png", "cells of a table"]) is False

    expect(chips).to_have_count(2)
    expect(chips.first).to_contain_text("picture-2")
    chips.first.get_by_role("button").click()
    expect(chips).to_have_count(1)
    box(page).fill("What sells best?")
    box(page).press("Enter")
    expect(chips).to_have_count(0)
    assert len(say_frames(stage)[0]["attachment_ids"]) == 1


@pytest.mark.slow
def test_a_draft_goes_along_to_another_tab(open_stage: Any) -> None:
    stage: Stage = open_stage(Turn(plain(), status="completed"))
    page = stage.page
    second = page.context.new_page()
    other = Stage(second, stage.turns, stage.site, conversation_id=stage.conversation_id).enter()
    second.evaluate("document.activeElement.blur()")

    page.bring_to_front()
    box(page).fill("half a thought")

    expect(box(other.page)).to_have_value("half a thought")


@pytest.mark.slow
def test_the_list_has_pinned_ones_first_and_marks_what_runs_and_what_is_new(open_stage: Any) -> None:
    stage: Stage = open_stage(Turn(plain(), status="completed"))
    page = stage.page
    pinned, other = str(uuid.uuid4()), str(uuid.uuid4())

    def listed(**of_the_other: Any) -> None:
        """The list is read again when one comes back to the tab."""
        rows = [
            {"id": stage.conversation_id, "title": "Open", "updated_at": MADE_AT, "running": False},
            {"id": other, "title": "Other", "updated_at": MADE_AT, "running": False, **of_the_other},
            {
                "id": pinned,
                "title": "Old",
                "updated_at": "2020-01-01T00:00:00Z",
                "running": False,
                "pinned_at": MADE_AT,
            },
        ]
        stage.answers["/conversations"] = (200, {"next": None, "previous": None, "results": rows})
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")

    listed(running=True)
    expect(page.locator(".side-list h2").first).to_have_text("Pinned")
    expect(page.locator(".side-list section").first.locator(".entry")).to_have_count(1)
    entry = page.locator(".entry", has_text="Other")
    expect(entry.get_by_role("img", name="An answer is being written")).to_be_visible()
    listed(updated_at="2099-01-01T00:00:00Z")
    expect(entry.get_by_role("img", name="New answer")).to_be_visible()
    expect(page.locator(".entry.is-current").get_by_role("img")).to_have_count(0)

    entry.get_by_role("button", name="Options for Other").click()
    stage.answers[f"/conversations/{other}"] = (200, {"id": other, "title": "Other", "pinned_at": MADE_AT})
    page.get_by_role("menuitem", name="Pin", exact=True).click()
    expect(page.locator(".side-list section").first.locator(".entry")).to_have_count(2)


@pytest.mark.slow
def test_a_picture_of_the_conversations_files_is_shown(open_stage: Any) -> None:
    turn = Turn(plain("![Chart](charts/revenue%202.png) ![x](../secret.png) ![y](https://evil.example/y.png)"))
    turn.status = "completed"
    stage: Stage = open_stage(turn, picture=PICTURE)
    page = stage.page

    image = page.get_by_role("img", name="Chart")
    expect(image).to_have_attribute(
        "src", re.compile(f"/api/v1/files/conversation/{stage.conversation_id}/charts/revenue%202.png")
    )
    page.wait_for_function("document.querySelector('.prose img').naturalWidth > 0")
    expect(page.get_by_role("link", name="Picture: y (on evil.example)")).to_be_visible()


@pytest.mark.slow
def test_what_is_sent_from_below_an_answer_is_asked_as_the_box_would(open_stage: Any) -> None:
    turn = Turn(plain(), status="completed", follow_ups=("Why not violet?",))
    stage: Stage = open_stage(turn)
    page = stage.page
    chip = page.get_by_role("list", name="You may ask next").get_by_role("button")
    page.get_by_role("button", name="Mode: Auto").click()
    page.get_by_role("menuitemradio", name=re.compile("^Research")).click()
    page.get_by_role("combobox", name="Depth").select_option("deep")

    chip.click(modifiers=["Control"])

    page.get_by_role("article", name="Question, not sent yet").wait_for()
    [sent] = say_frames(stage)
    assert (sent["text"], sent["mode"], sent["options"]) == ("Why not violet?", "research", {"depth": "deep"})


@pytest.mark.slow
def test_a_pin_that_is_refused_says_why(open_stage: Any) -> None:
    stage: Stage = open_stage(Turn(plain(), status="completed"))
    page = stage.page
    why = "The server is being mended. Try again in a moment."
    stage.answers[f"/conversations/{stage.conversation_id}"] = (503, {"error": {"code": "away", "message": why}})

    page.locator(".top-bar").get_by_role("button", name="Options for this conversation").click()
    page.locator("#conversation-menu").get_by_role("menuitem", name="Pin", exact=True).click()

    told = page.get_by_role("alert").filter(has_text=why)
    expect(told).to_be_visible()
    told.get_by_role("button", name="Dismiss").click()
    expect(told).to_have_count(0)


@pytest.mark.slow
def test_a_menu_is_walked_by_keys_and_left_by_tab(open_stage: Any) -> None:
    page = open_stage(Turn(plain(), status="completed")).page
    page.get_by_role("button", name="Mode: Auto").press("Enter")
    items = page.locator("#mode-menu").get_by_role("menuitemradio")
    expect(items.first).to_be_focused()
    page.keyboard.press("End")
    expect(page.locator("#mode-menu").get_by_role("menuitemcheckbox")).to_be_focused()
    page.keyboard.press("Home")
    expect(items.first).to_be_focused()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowDown")
    expect(items.first).to_be_focused()

    page.keyboard.press("Shift+Tab")

    expect(page.locator("#mode-menu")).to_be_hidden()
    expect(page.get_by_role("button", name="Attach files")).to_be_focused()
