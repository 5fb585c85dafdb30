"""Whoever reads, writes or presses something is left where they are, whatever comes or fails meanwhile."""

import re
import uuid
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from agents.engine import events as e
from tests.page import asked
from tests.page.recorded import ROOT, Recorded, plain
from tests.page.stage import Stage, Turn
from tests.page.test_chat_flows import box, say_frames, stored, unfinished

TALL = "\n\n".join(f"Paragraph {number} of a long answer." for number in range(40))


def place_of(page: Page, words: str) -> float:
    """How far below the upper edge of the thread the question with these words stands."""
    found: float = page.evaluate(
        """words => {
            const top = (element) => element.getBoundingClientRect().top;
            const one = [...document.querySelectorAll(".question")].find((each) => each.textContent.includes(words));
            return one ? top(one) - top(document.querySelector(".thread")) : NaN;
        }""",
        words,
    )
    return found


def read_the_beginning(page: Page) -> float:
    page.locator(".thread").hover()
    while page.evaluate("document.querySelector('.thread').scrollTop"):
        page.mouse.wheel(0, -2000)
        page.evaluate("new Promise(requestAnimationFrame)")
    return place_of(page, "Question 1?")


def settle(page: Page) -> None:
    page.evaluate(
        "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 100))))"
    )


@pytest.mark.slow
def test_who_reads_the_beginning_stays_there_when_another_question_is_asked(open_stage: Any) -> None:
    turns = [Turn(plain(TALL), question=f"Question {number}?", status="completed") for number in (1, 2, 3)]
    stage: Stage = open_stage(*turns)
    page = stage.page
    before = read_the_beginning(page)

    stored(stage, {"text": "Question 4?", "client_id": str(uuid.uuid4())}, turns[-1].ids[1])
    expect(page.locator(".question", has_text="Question 4?")).to_have_count(1)
    settle(page)

    assert place_of(page, "Question 1?") == before


@pytest.mark.slow
def test_who_reads_stays_there_when_the_first_of_two_waiting_questions_is_sent(open_stage: Any) -> None:
    run, ending = unfinished()
    turns = [Turn(plain(TALL), question="Question 1?", status="completed"), Turn(run, question="Question 2?")]
    stage: Stage = open_stage(*turns)
    page = stage.page
    page.get_by_role("button", name="Stop (Esc)").wait_for()
    for text in ("Question 3?", "Question 4?"):
        box(page).fill(text)
        box(page).press("Control+Enter")
    expect(page.get_by_role("article", name="Question that waits")).to_have_count(2)
    before = read_the_beginning(page)

    had = len(run.events)
    run.events.extend(ending)
    stage.tell(turns[1], had)
    expect(page.get_by_role("article", name="Question that waits")).to_have_count(1)
    stored(stage, say_frames(stage)[0], turns[1].ids[1])
    expect(page.get_by_role("article", name="Question, not sent yet")).to_have_count(0)
    settle(page)

    assert place_of(page, "Question 1?") == before


REFUSED = (429, {"error": {"code": "too_many_requests", "message": "Wait a moment."}})


def asking() -> Recorded:
    """A run that waits for words from a person."""
    run = Recorded()
    run.tell(
        ROOT,
        e.Interrupt(request_id=str(uuid.uuid4()), kind="input", question="Which year?"),
        e.StatusChanged(status="awaiting_user"),
    )
    return run


@pytest.mark.slow
def test_words_for_a_run_that_were_refused_are_there_to_be_mended_and_sent_again(open_stage: Any) -> None:
    stage: Stage = open_stage(Turn(asking()), answers={"/hitl/respond": REFUSED})
    page = stage.page
    field = page.get_by_role("textbox", name="Your answer")

    field.fill("2024")
    field.press("Enter")
    expect(page.get_by_role("alert").filter(has_text="Wait a moment.")).to_be_visible()
    expect(field).to_be_focused()
    page.keyboard.type(" or 2025")

    expect(field).to_have_value("2024 or 2025")


@pytest.mark.slow
def test_an_approval_with_instructions_that_was_refused_keeps_words_and_focus(open_stage: Any) -> None:
    request = asked.approval(asked.mail_call())
    run = asked.waiting_for(request)
    answers = {"/hitl/requests": asked.listed(request), "/hitl/respond": REFUSED}
    page = open_stage(Turn(run), answers=answers).page

    page.get_by_role("button", name="With instructions").click()
    field = page.get_by_role("textbox", name="Instructions")
    field.fill("Shorter")
    field.press("Enter")
    expect(page.get_by_role("alert").filter(has_text="Wait a moment.")).to_be_visible()

    expect(field).to_be_focused()
    expect(field).to_have_value("Shorter")


@pytest.mark.slow
def test_the_keys_of_a_card_still_work_when_its_answer_was_refused(open_stage: Any) -> None:
    request = asked.approval(asked.mail_call())
    run = asked.waiting_for(request)
    answers = {"/hitl/requests": asked.listed(request), "/hitl/respond": REFUSED}
    stage: Stage = open_stage(Turn(run), answers=answers)
    page = stage.page

    page.locator(".approval[data-keys=on]").wait_for()
    page.get_by_role("button", name="Approve", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert").filter(has_text="Wait a moment.")).to_be_visible()
    expect(page.locator("[data-open-request]")).to_be_focused()
    page.keyboard.press("d")

    expect(page.get_by_role("textbox", name="Why not?")).to_be_focused()


@pytest.mark.slow
def test_a_decision_that_was_refused_leaves_the_focus_in_its_card(open_stage: Any) -> None:
    run = Recorded()
    question = e.Interrupt(request_id=str(uuid.uuid4()), kind="decision", question="Which one?", options=("A", "B"))
    run.tell(ROOT, question, e.StatusChanged(status="awaiting_user"))
    stage: Stage = open_stage(Turn(run), answers={"/hitl/respond": REFUSED})
    page = stage.page

    page.get_by_role("button", name="A", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert").filter(has_text="Wait a moment.")).to_be_visible()

    expect(page.locator("[data-open-request]:focus-within")).to_have_count(1)


@pytest.mark.slow
def test_a_conversation_is_deleted_by_a_double_click_and_no_fault_is_told(open_stage: Any) -> None:
    stage: Stage = open_stage(Turn(plain(), status="completed"))
    page = stage.page
    stage.has_refused = True
    sent: list[str] = []

    def answer(route: Route) -> None:
        if route.request.method != "DELETE":
            return route.fallback()
        sent.append(route.request.url)
        if len(sent) == 1:
            return route.fulfill(status=204)
        return route.fulfill(status=404, json={"error": {"code": "not_found", "message": "There is nothing here."}})

    page.route(re.compile("/api/v1/conversations/[^/]+$"), answer)
    page.get_by_role("button", name="Options for this conversation").click()
    page.get_by_role("menuitem", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").dblclick()
    page.get_by_role("list", name="Examples").wait_for()
    settle(page)

    expect(page.get_by_role("dialog")).to_have_count(0)
    assert len(sent) == 1


@pytest.mark.slow
def test_an_answer_is_asked_for_again_once_by_a_double_click(open_stage: Any) -> None:
    stage: Stage = open_stage(Turn(plain(), status="completed"))
    page = stage.page
    page.locator(".answer").hover()

    page.get_by_role("button", name="Answer again").dblclick()
    settle(page)

    assert [path for path, _ in stage.posts if path.endswith("/retry")] == [f"/messages/{stage.turns[0].ids[1]}/retry"]


@pytest.mark.slow
def test_the_title_says_in_another_tab_that_an_answer_is_written_and_that_it_is_there(open_stage: Any) -> None:
    run, ending = unfinished()
    stage: Stage = open_stage(Turn(run))
    page, turn = stage.page, stage.turns[0]
    expect(page).to_have_title("Vector databases · HyperAgent")

    hide(page, True)
    expect(page).to_have_title("… Vector databases · HyperAgent")
    had = len(run.events)
    run.events.extend(ending)
    stage.tell(turn, had)
    expect(page).to_have_title("✓ Vector databases · HyperAgent")
    hide(page, False)

    expect(page).to_have_title("Vector databases · HyperAgent")
    hide(page, True)
    settle(page)
    expect(page).to_have_title("Vector databases · HyperAgent")


def hide(page: Page, is_hidden: bool) -> None:
    """As if another tab lay before this one, or no longer."""
    page.evaluate(
        """isHidden => {
            Object.defineProperty(document, "hidden", { configurable: true, get: () => isHidden });
            document.dispatchEvent(new Event("visibilitychange"));
        }""",
        is_hidden,
    )
