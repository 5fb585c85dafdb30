"""What somebody wrote is theirs until it is sent, whatever is put beside it and wherever they go meanwhile."""

import uuid
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.page.recorded import plain
from tests.page.stage import MADE_AT, Stage, Turn
from tests.page.test_chat_flows import box, say_frames, unfinished

OTHER = str(uuid.uuid4())
GONE = str(uuid.uuid4())


def list_others(stage: Stage, *, running: bool = False) -> None:
    """Beside the conversation that is open: another one, and one that is there no longer."""
    named = {stage.conversation_id: "Here", OTHER: "Other", GONE: "Gone"}
    rows = [{"id": one, "title": title, "updated_at": MADE_AT, "running": running} for one, title in named.items()]
    stage.answers["/conversations"] = (200, {"next": None, "previous": None, "results": rows})
    gone = {"error": {"code": "not_found", "message": "There is nothing here."}}
    stage.answers[f"/conversations/{GONE}/messages"] = (404, gone)
    stage.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


def go(page: Page, title: str) -> None:
    page.locator(".entry", has_text=title).get_by_role("link").click()


@pytest.mark.slow
def test_what_is_put_into_the_box_stands_below_what_somebody_wrote_there(open_stage: Any) -> None:
    turn = Turn(plain(), status="completed", follow_ups=("Why not violet?", "And at night?"))
    stage: Stage = open_stage(turn)
    page = stage.page
    chips = page.get_by_role("list", name="You may ask next").get_by_role("button")

    chips.first.click()
    chips.nth(1).click()
    expect(box(page)).to_have_value("And at night?")  # nobody wrote the first
    box(page).fill("What I was about to ask")
    chips.first.click()

    expect(box(page)).to_have_value("What I was about to ask\n\nWhy not violet?")
    page.reload()
    expect(box(page)).to_have_value("What I was about to ask\n\nWhy not violet?")


@pytest.mark.slow
def test_a_waiting_question_is_taken_back_with_its_files_and_beside_what_was_written_since(open_stage: Any) -> None:
    run, _ = unfinished()
    added = (201, {"doc_id": "3f1f6a54-8c1c-4a0e-9d7e-0c0f6f3f9c11"})
    stage: Stage = open_stage(Turn(run), answers={"/documents": added})
    page = stage.page
    page.get_by_role("button", name="Stop (Esc)").wait_for()
    page.locator("input[type=file]").set_input_files({"name": "sales.csv", "mimeType": "text/csv", "buffer": b"a,b"})
    chips = page.get_by_role("list", name="Files for this question").get_by_role("listitem")
    expect(page.locator(".attachment.is-added")).to_have_count(1)
    box(page).fill("What sells best?")
    box(page).press("Control+Enter")
    waiting = page.get_by_role("article", name="Question that waits")
    waiting.wait_for()

    box(page).fill("Half a thought")
    waiting.get_by_role("button", name="Edit").click()

    expect(box(page)).to_have_value("Half a thought\n\nWhat sells best?")
    expect(chips).to_have_count(1)
    expect(chips).to_contain_text("sales.csv")
    expect(chips).not_to_contain_text("undefined")
    box(page).press("Control+Enter")
    expect(waiting.get_by_role("list", name="Attached files")).to_have_text("sales.csv")


@pytest.mark.slow
def test_what_was_put_into_the_box_once_does_not_come_back(open_stage: Any) -> None:
    stage: Stage = open_stage(Turn(plain(), status="completed", follow_ups=("Why not violet?",)))
    page = stage.page
    list_others(stage)
    page.get_by_role("list", name="You may ask next").get_by_role("button").click()
    expect(box(page)).to_have_value("Why not violet?")
    box(page).fill("My own words")

    go(page, "Gone")
    page.get_by_role("heading", name="This conversation does not exist").wait_for()
    go(page, "Here")
    expect(box(page)).to_be_focused()

    expect(box(page)).to_have_value("My own words")


@pytest.mark.slow
def test_words_on_their_way_to_one_answer_hold_up_no_other_conversation(open_stage: Any) -> None:
    run, _ = unfinished()
    stage: Stage = open_stage(Turn(run))
    page = stage.page
    list_others(stage)
    page.get_by_role("button", name="Stop (Esc)").wait_for()
    stage.steer_answer = None
    box(page).fill("In years, please")
    box(page).press("Enter")
    page.get_by_text("Adding…").wait_for()
    stage.turns[0] = Turn(plain("Another answer."), status="completed")

    go(page, "Other")
    page.get_by_text("Another answer.").wait_for()
    box(page).fill("Something else")

    expect(page.get_by_role("button", name="Send", exact=True)).to_be_enabled()
    box(page).press("Enter")
    page.get_by_role("article", name="Question, not sent yet").wait_for()
    assert [frame["text"] for frame in say_frames(stage)] == ["Something else"]


@pytest.mark.slow
def test_a_fault_of_one_conversation_is_not_told_in_the_next(open_stage: Any) -> None:
    run, _ = unfinished()
    stage: Stage = open_stage(Turn(run))
    page = stage.page
    list_others(stage)
    page.get_by_role("button", name="Stop (Esc)").wait_for()
    stage.steer_answer = {"type": "error", "error": {"code": "late", "message": "The answer is over."}}
    box(page).fill("In years, please")
    box(page).press("Enter")
    expect(page.get_by_role("alert").filter(has_text="The answer is over.")).to_be_visible()

    go(page, "Other")
    expect(page.locator(".entry.is-current")).to_contain_text("Other")

    expect(page.get_by_text("The answer is over.")).to_have_count(0)
    go(page, "Here")
    expect(box(page)).to_have_value("In years, please")


@pytest.mark.slow
def test_what_one_tab_sent_does_not_stay_in_the_box_of_another(open_stage: Any) -> None:
    stage: Stage = open_stage(Turn(plain(), status="completed"))
    page = stage.page
    second = page.context.new_page()
    # As in a tab that lies behind: its box has the focus of the tab, and the tab has not that of the window.
    second.add_init_script("Document.prototype.hasFocus = () => false")
    other = Stage(second, stage.turns, stage.site, conversation_id=stage.conversation_id).enter()
    expect(box(other.page)).to_be_focused()

    page.bring_to_front()
    box(page).fill("half a thought")
    expect(box(other.page)).to_have_value("half a thought")
    box(page).press("Enter")

    expect(box(other.page)).to_have_value("")


@pytest.mark.slow
def test_nothing_is_written_behind_a_question_that_is_on_its_way(open_stage: Any) -> None:
    stage: Stage = open_stage(Turn(plain(), status="completed"))
    page = stage.page
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.keyboard.press("Control+Shift+o")
    page.get_by_role("list", name="Examples").wait_for()
    page.route("**/api/v1/conversations", hold)

    box(page).press_sequentially("First question")
    box(page).press("Enter")
    page.wait_for_function("document.getElementById('composer-text').readOnly")
    page.keyboard.type(" and a second")

    expect(box(page)).to_have_value("First question")
    made = {"id": OTHER, "title": "", "updated_at": MADE_AT, "running": False, "is_temporary": False}
    held[0].fulfill(status=201, json=made)
    page.get_by_role("article", name="Question, not sent yet").wait_for()
    expect(box(page)).to_have_value("")
    expect(box(page)).to_be_focused()
    while not say_frames(stage):  # by the new conversation's socket, once that is open
        page.wait_for_timeout(20)
    assert [frame["text"] for frame in say_frames(stage)] == ["First question"]


@pytest.mark.slow
def test_a_question_that_is_being_changed_is_found_again_until_it_is_sent_or_given_up(open_stage: Any) -> None:
    stage: Stage = open_stage(Turn(plain("Blue is scattered."), question="Why is the sky blue?", status="completed"))
    page, turn = stage.page, stage.turns[0]
    list_others(stage)
    changed = page.get_by_role("textbox", name="Your question, changed")
    question = page.get_by_role("article", name="Question")
    question.hover()
    question.get_by_role("button", name="Edit question").click()
    changed.fill("Why is the sea blue?")

    stage.turns[0] = Turn(plain("Another answer."), status="completed")
    go(page, "Other")
    page.get_by_text("Another answer.").wait_for()
    expect(changed).to_have_count(0)
    stage.turns[0] = turn
    go(page, "Here")

    expect(changed).to_have_value("Why is the sea blue?")
    expect(page.locator("#composer-text")).to_be_focused()
    page.reload()
    expect(changed).to_have_value("Why is the sea blue?")
    changed.press("Escape")
    page.reload()
    expect(question).to_contain_text("Why is the sky blue?")
    expect(changed).to_have_count(0)


@pytest.mark.slow
def test_a_waiting_question_that_is_taken_back_in_one_tab_is_not_sent_by_another(open_stage: Any) -> None:
    run, ending = unfinished()
    stage: Stage = open_stage(Turn(run))
    page, turn = stage.page, stage.turns[0]
    page.get_by_role("button", name="Stop (Esc)").wait_for()
    box(page).fill("And at night?")
    box(page).press("Control+Enter")
    waiting = page.get_by_role("article", name="Question that waits")
    waiting.wait_for()
    other = Stage(page.context.new_page(), stage.turns, stage.site, conversation_id=stage.conversation_id).enter()
    of_other = other.page.get_by_role("article", name="Question that waits")
    of_other.wait_for()

    waiting.get_by_role("button", name="Remove").click()
    expect(waiting).to_have_count(0)

    expect(of_other).to_have_count(0)
    had = len(run.events)
    run.events.extend(ending)
    other.tell(turn, had)
    other.page.wait_for_function("!document.querySelector('.answer[aria-busy=true]')")
    assert say_frames(other) == []


@pytest.mark.slow
def test_a_title_that_is_being_typed_stays_when_the_list_is_drawn_anew(open_stage: Any) -> None:
    stage: Stage = open_stage(Turn(plain(), status="completed"))
    page = stage.page
    list_others(stage)
    page.locator(".entry.is-current > a", has_text="Here").press("F2")
    title = page.get_by_label("New title")
    expect(title).to_have_value("Here")
    title.fill("My own words")

    list_others(stage, running=True)
    expect(page.locator(".entry", has_text="Other").get_by_role("img")).to_be_visible()

    expect(title).to_have_value("My own words")
    expect(title).to_be_focused()


@pytest.mark.slow
def test_a_file_that_has_not_arrived_is_not_left_out_silently(open_stage: Any) -> None:
    refused = (422, {"error": {"code": "not_supported", "message": "This cannot be read."}})
    stage: Stage = open_stage(Turn(plain(), status="completed"), answers={"/documents": refused})
    page = stage.page
    page.locator("input[type=file]").set_input_files({"name": "plan.xyz", "mimeType": "", "buffer": b"x"})
    expect(page.locator(".attachment.is-failed")).to_contain_text("This cannot be read.")

    box(page).fill("What does it say?")
    box(page).press("Enter")

    expect(page.locator("#composer-why")).to_have_text("A file has not arrived: try it again, or take it off.")
    expect(box(page)).to_have_value("What does it say?")
    assert say_frames(stage) == []
    page.get_by_role("button", name="Take plan.xyz off").click()
    box(page).press("Enter")
    page.get_by_role("article", name="Question, not sent yet").wait_for()
    assert [frame["text"] for frame in say_frames(stage)] == ["What does it say?"]


@pytest.mark.slow
def test_a_changed_question_that_is_too_long_says_so(open_stage: Any) -> None:
    stage: Stage = open_stage(Turn(plain(), question="Why?", status="completed"))
    page = stage.page
    question = page.get_by_role("article", name="Question")
    question.hover()
    question.get_by_role("button", name="Edit question").click()

    page.get_by_role("textbox", name="Your question, changed").fill("a" * 100_005)

    expect(question.get_by_role("alert")).to_have_text("5 characters too long: the limit is 100,000")
    expect(question.get_by_role("button", name="Send")).to_be_disabled()
