"""The page of usage on a real site: what it shows in each form, with and without JavaScript."""

import os
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.page.conftest import FORMS
from tests.page.test_approvals import faults_of

pytestmark = pytest.mark.slow

_CALL = """
    INSERT INTO agents_modelcall (step_id, user_id, execution_id, agent_name, provider, model, prompt_tokens,
        completion_tokens, cost_usd, at) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s) RETURNING step_id
"""
MODELS = (("openai", "gpt-5.4", "0.042"), ("anthropic", "claude-sonnet", "0.0131"), ("bundled", "smollm2", None))


def use(site: Any, person: Any, *, days: int = 40) -> None:
    """Some calls on each day until today, one in three of a model without a known price."""
    now = datetime.now(UTC)
    for day in range(days):
        run = uuid.uuid4()
        for number, (provider, model, cost) in enumerate(MODELS):
            step = -(uuid.uuid4().int % 2**62)  # no step's: those count up from 1
            read, written = 1200 + 90 * (day * 7 % 13), 40 * (number + day % 5)
            agent = ("turn", "web", "research")[number]
            site.query(
                _CALL, step, person.id, run, agent, provider, model, read, written, cost, now - timedelta(days=day)
            )


def keep_picture(page: Page, name: str) -> None:
    """Of the whole page, where somebody wants to look at it."""
    if folder := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=Path(folder) / f"usage-{name}.png", full_page=True)


@pytest.mark.parametrize("form", FORMS)
def test_usage_is_shown_by_day_model_and_agent_and_keeps_axes_rules(
    form: str, visit: Any, person: Any, live_site: Any
) -> None:
    alice = person()
    use(live_site, alice)
    watched = visit(alice, timezone_id="Europe/Berlin", reduced_motion="reduce", **FORMS[form])
    page = watched.new_page()

    page.goto("/usage/")

    expect(page.locator("[data-chart][data-drawn=cost]")).to_be_visible()
    assert "at least" in page.locator(".usage-card").first.inner_text()
    expect(page.get_by_text("30 calls of models without a known price are not in the cost.")).to_be_visible()
    models = page.get_by_role("table", name="").filter(has_text="gpt-5.4")
    expect(models.get_by_role("row").filter(has_text="smollm2")).to_contain_text("unknown")
    expect(page.get_by_role("link", name="Use Europe/Berlin")).to_be_visible()
    keep_picture(page, form)
    assert faults_of(page) == []

    page.get_by_role("button", name="Tokens").click()
    expect(page.locator("[data-chart][data-drawn=tokens]")).to_be_visible()
    page.get_by_text("Figures as a table").click()
    expect(page.locator("[data-days] tbody tr")).to_have_count(30)
    page.get_by_text("Other range").press("Enter")
    expect(page.get_by_label("From")).to_be_visible()
    assert faults_of(page) == []
    page.get_by_label("From").press("Escape")
    expect(page.get_by_label("From")).to_be_hidden()
    expect(page.get_by_text("Other range")).to_be_focused()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("link", name="Use Europe/Berlin").click()
    expect(page.get_by_text("Days of Europe/Berlin")).to_be_visible()
    assert (watched.errors, watched.foreign, watched.dialogs) == ([], [], [])


def test_everything_can_be_had_without_javascript_and_an_administrator_sees_everybody(
    visit: Any, person: Any, live_site: Any
) -> None:
    alice, bob = person(), person("Bob", is_staff=True)
    use(live_site, alice, days=10)
    plain = visit(alice, java_script_enabled=False).new_page()
    page = visit(bob, reduced_motion="reduce", **FORMS["wide and light"]).new_page()

    plain.goto("/usage/")
    plain.get_by_role("link", name="7 days").click()
    plain.get_by_text("Figures as a table").click()
    rows = plain.locator("[data-days] tbody tr").count()
    with plain.expect_download() as saved:
        plain.get_by_role("link", name="Download as CSV").click()
    page.goto("/usage/")
    empty = page.get_by_role("heading", name="Nothing used yet").is_visible()
    keep_picture(page, "empty")
    faults = faults_of(page)
    page.get_by_role("link", name="Everybody").click()
    page.get_by_role("link", name=alice.email).click()

    assert (rows, len(saved.value.path().read_text().splitlines())) == (7, 8)
    assert (empty, faults) == (True, [])
    expect(page.get_by_role("heading", name="Usage of Alice")).to_be_visible()
    keep_picture(page, "of-a-person")
    assert faults_of(page) == []
    page.get_by_role("link", name="Everybody's usage").click()
    expect(page.get_by_role("heading", name="By person")).to_be_visible()
    assert faults_of(page) == []
