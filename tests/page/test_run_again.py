"""A run that is begun again from its failed agent, and gone another way from a step, in a browser on a real site."""

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.page.conftest import Watched
from tests.page.test_chat import answered, ask, faults_of, open_chat
from tests.page.test_planned_run import ANSWER, choose
from tests.pipeline.graphs import DIAMOND, QUESTION, SATISFIED, plan_text
from tests.scripted import Script


@pytest.fixture
def page(person: Any, visit: Any, live_site: Any) -> Page:
    watched: Watched = visit(person(), viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    page = open_chat(watched, live_site)
    choose(page, "Auto")
    return page


def know(site: Any) -> None:
    """A plan of four tasks, of which the second breaks off at its first try."""
    others = [name for name in DIAMOND if name != "beta"]
    site.model.script(
        Script(match="## Results\n### ", text=ANSWER, times=0),
        Script(match="## Results\n- id", text=SATISFIED, times=0),
        Script(match="## Task\nWork on beta now.", status=400, error_message="It broke off."),
        Script(match="## Task\nWork on beta now.", text="Found beta.", times=0),
        *(Script(match=f"## Task\nWork on {name} now.", text=f"Found {name}.", times=0) for name in others),
        Script(match=QUESTION, text=plan_text(DIAMOND), times=0),
    )


def panel(page: Page) -> Locator:
    return page.locator(".run-panel")


def part(page: Page, name: str) -> None:
    panel(page).get_by_role("tab", name=name).click()


def node(page: Page, words: str) -> Locator:
    return panel(page).locator(".node", has_text=words).last


def alphas(site: Any) -> int:
    """How often a model was asked to work on the first task."""
    return sum(call.last_user.startswith("## Task\nWork on alpha now.") for call in site.model.calls)


def run_id(page: Page) -> str:
    return page.url.partition("?run=")[2]


@pytest.mark.slow
@pytest.mark.spec("B14", "B15", "B10")
def test_a_run_is_begun_again_from_its_failed_agent_and_gone_another_way_from_a_step(
    page: Page, live_site: Any
) -> None:
    know(live_site)
    ask(page, QUESTION)
    answered(page)
    page.get_by_role("button", name="Open the run view").click()
    first = run_id(page)
    before = alphas(live_site)
    part(page, "Agents")
    expect(node(page, "Work on beta now.")).to_have_attribute("data-status", "failed")

    node(page, "Work on beta now.").get_by_role("button", name="Retry from here").click()
    dialog = page.get_by_role("dialog", name="Let Chat work again?")
    expect(dialog).to_contain_text("is not done twice")
    dialog.get_by_role("button", name="Begin again").click()

    expect(page.locator(".branches")).to_contain_text("2 / 2")
    expect(answered(page).locator(".prose")).to_have_text(ANSWER)
    assert run_id(page) not in ("", first)
    second = run_id(page)
    for name in DIAMOND:
        expect(node(page, f"Work on {name} now.")).to_have_attribute("data-status", "completed")
    assert alphas(live_site) == before  # what was done is kept

    part(page, "Plan")
    expect(panel(page).locator(".task-row[data-status=completed]")).to_have_count(4)
    page.reload()
    other = page.context.new_page()
    other.goto(page.url)
    for tab in (page, other):
        panel(tab).locator(".run-transport").wait_for()
        expect(panel(tab).locator(".task-row[data-status=completed]")).to_have_count(4)
    other.close()

    part(page, "Steps")
    step = panel(page).locator(".step[data-kind=model]").last
    step.hover()
    step.get_by_role("button", name="Go another way from here").click()
    dialog = page.get_by_role("dialog", name="Go another way from this step?")
    expect(dialog.get_by_role("combobox")).to_have_value(re.compile(r"^\d"))
    expect(dialog).to_contain_text("Kept")
    dialog.get_by_role("button", name="Begin from here").click()

    expect(page.locator(".branches")).to_contain_text("3 / 3")
    answered(page)
    assert run_id(page) not in (first, second)
    expect(panel(page).locator(".run-status")).to_have_attribute("data-status", "completed")
    page.go_back()
    expect(panel(page)).to_have_count(0)
    assert faults_of(page) == []
