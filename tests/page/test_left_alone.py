"""Whoever reads, writes or presses something is left where they are, whatever comes or fails meanwhile."""

import uuid
from typing import Any

from playwright.sync_api import Page, expect

from tests.page.recorded import plain
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


def test_who_reads_the_beginning_stays_there_when_another_question_is_asked(open_stage: Any) -> None:
    turns = [Turn(plain(TALL), question=f"Question {number}?", status="completed") for number in (1, 2, 3)]
    stage: Stage = open_stage(*turns)
    page = stage.page
    before = read_the_beginning(page)

    stored(stage, {"text": "Question 4?", "client_id": str(uuid.uuid4())}, turns[-1].ids[1])
    expect(page.locator(".question", has_text="Question 4?")).to_have_count(1)
    settle(page)

    assert place_of(page, "Question 1?") == before


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
