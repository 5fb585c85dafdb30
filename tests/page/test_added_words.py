"""What somebody adds to an answer while it is written: nothing that was read goes away, and the words stand where they
were said, in every tab and at any time."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.page.conftest import Watched
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
