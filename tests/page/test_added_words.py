"""What somebody adds to an answer while it is written: nothing that was read goes away, and the words stand where they
were said, in every tab and at any time."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.page import recorded
from tests.page.conftest import Watched
from tests.page.stage import Stage, Turn
from tests.page.test_chat import answer, answered, ask, box, open_chat, wait_for_words
from tests.scripted import Script

FEET = "It is 33 feet high.\n\nThe tower beside it is 66 feet high."
METRES = "In metres: 10 and 20."


@pytest.fixture
def alices(person: Any, visit: Any) -> Watched:
    watched: Watched = visit(person(), viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    return watched


def read(page: Page) -> list[str]:
    """The answer as one reads it: its texts, and what was added to it, in their order."""
    return [piece.inner_text() for piece in answer(page).locator(".prose, .is-added").all()]


@pytest.mark.slow
@pytest.mark.spec("S93")
def test_what_was_read_stays_and_added_words_stand_where_they_were_said_in_every_tab(
    alices: Watched, live_site: Any
) -> None:
    live_site.model.script(
        Script(match="metres please", text=METRES, held_after=3), Script(match="How high", text=FEET, held_after=8)
    )
    page = open_chat(alices, live_site)
    ask(page, "How high is it?")
    wait_for_words(page, "It is 33 feet high.")
    second = alices.new_page()
    second.goto(page.url)
    wait_for_words(second, "It is 33 feet high.")

    box(page).fill("metres please")
    box(page).press("Enter")

    expect(answer(page).locator(".is-added")).to_have_text("You added: metres please")
    assert read(page)[0].startswith("It is 33 feet high."), "above them stands what was read"
    live_site.model.release()
    for tab in (page, second):
        wait_for_words(tab, "In metres: 10 and 20.")
        answered(tab)
        assert read(tab) == [FEET, "You added: metres please", METRES]
    page.reload()
    answered(page)
    expect(answer(page).locator(".is-added")).to_have_text("You added: metres please")
    assert read(page) == [FEET, "You added: metres please", METRES]
    assert alices.errors == []


def steered(stage: Stage, count: int) -> list[dict[str, Any]]:
    """The frames by which words were added, once there are so many."""
    while len(found := [frame for frame in stage.frames if frame["type"] == "steer"]) < count:
        stage.page.wait_for_timeout(20)
    return found


@pytest.mark.slow
def test_words_that_got_no_answer_are_told_to_the_next_socket_under_the_same_id(open_stage: Any) -> None:
    stage: Stage = open_stage(Turn(recorded.diamond_in_the_middle()))
    stage.steer_answer = None
    box(stage.page).fill("metres please")
    box(stage.page).press("Enter")
    stage.page.get_by_text("Adding…").wait_for()
    steered(stage, 1)

    stage.steer_answer = {"type": "steered"}
    stage.break_off()

    expect(box(stage.page)).to_have_value("")
    first, again = steered(stage, 2)
    assert first == again
    assert first["client_id"]


@pytest.mark.slow
def test_words_of_which_nobody_knows_whether_they_arrived_keep_their_id_when_they_are_sent_anew(
    open_stage: Any,
) -> None:
    stage: Stage = open_stage(Turn(recorded.diamond_in_the_middle()))
    page = stage.page
    page.clock.install()
    stage.steer_answer = None
    box(page).fill("metres please")
    box(page).press("Enter")
    steered(stage, 1)

    page.clock.fast_forward(16_000)
    expect(page.locator("#composer-why")).to_have_text("The server did not say that it got this. Try again.")
    stage.steer_answer = {"type": "steered"}
    box(page).press("Enter")
    expect(box(page)).to_have_value("")
    box(page).fill("metres please")
    box(page).press("Enter")

    first, again, anew = steered(stage, 3)
    assert first == again
    assert anew["client_id"] != first["client_id"], "said once more on purpose"


@pytest.mark.slow
def test_words_that_are_added_offline_are_added_once_when_the_connection_is_back(
    alices: Watched, live_site: Any
) -> None:
    live_site.model.script(
        Script(match="metres please", text=METRES, times=0), Script(match="How high", text=FEET, held_after=8)
    )
    page = open_chat(alices, live_site)
    ask(page, "How high is it?")
    wait_for_words(page, "It is 33 feet high.")
    alices.context.set_offline(True)
    expect(page.get_by_role("status").filter(has_text="offline")).to_be_visible()

    box(page).fill("metres please")
    box(page).press("Enter")
    page.get_by_text("Adding…").wait_for()
    alices.context.set_offline(False)

    expect(answer(page).locator(".is-added")).to_have_text("You added: metres please")
    expect(box(page)).to_have_value("")
    live_site.model.release()
    answered(page)
    assert read(page) == [FEET, "You added: metres please", METRES]
