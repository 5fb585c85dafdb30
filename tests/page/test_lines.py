"""The lines to the server, on a stage: a tab that nobody looks at keeps them, one that is dead is given up, and what
was asked for on it is asked for again.
"""

from typing import Any

import pytest
from playwright.sync_api import Page

from tests.page.recorded import plain
from tests.page.stage import Stage, Turn
from tests.page.test_chat_flows import unfinished

pytestmark = pytest.mark.slow

A_MINUTE_MS = 60_000  # how often browsers run the timers of a tab that has been out of sight for a while


def settle(page: Page) -> None:
    """Until what was sent to and fro has arrived. Not by the page's timers: those are moved by hand."""
    for _ in range(5):
        page.evaluate("1")
        page.wait_for_timeout(20)


def with_a_clock(stage: Stage) -> None:
    stage.page.clock.install()
    stage.page.reload()
    stage.page.locator(".answer").last.wait_for()
    settle(stage.page)


def test_a_tab_whose_timers_run_once_a_minute_keeps_its_lines(open_stage: Any) -> None:
    stage: Stage = open_stage(Turn(plain(), status="completed"))
    stage.answers_pings = True
    with_a_clock(stage)
    line, inboxes = stage.socket, len(stage.inboxes)

    for _ in range(3):
        stage.page.clock.fast_forward(A_MINUTE_MS)
        settle(stage.page)

    assert stage.socket is line
    assert len(stage.inboxes) == inboxes


def test_a_line_on_which_nothing_is_heard_any_more_is_given_up(open_stage: Any) -> None:
    stage: Stage = open_stage(Turn(plain(), status="completed"))
    with_a_clock(stage)
    line, inboxes = stage.socket, len(stage.inboxes)

    for _ in range(4):
        stage.page.clock.fast_forward(20_000)
        settle(stage.page)

    while stage.socket is line or len(stage.inboxes) == inboxes:  # until the test's time is over
        settle(stage.page)


def test_a_stop_that_was_lost_with_its_line_is_said_on_the_next_one(open_stage: Any) -> None:
    run, _ = unfinished()
    stage: Stage = open_stage(Turn(run))
    page = stage.page
    page.get_by_role("button", name="Stop (Esc)").click()
    stops = {"type": "cancel", "execution_id": run.execution_id}
    while stops not in stage.frames:
        settle(page)

    stage.frames.clear()
    stage.break_off()

    while stops not in stage.frames:  # until the test's time is over
        settle(page)
