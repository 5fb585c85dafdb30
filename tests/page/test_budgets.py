"""The pages of budgets and prices on a real site: people see how theirs stand, administrators set them."""

import os
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.page.conftest import FORMS
from tests.page.test_approvals import faults_of

_CALL = """
    INSERT INTO agents_modelcall (step_id, user_id, execution_id, agent_name, provider, model, prompt_tokens,
        completion_tokens, cost_usd, at) VALUES (%s, %s, %s, 'chat', %s, %s, 52000, 8000, %s, %s) RETURNING step_id
"""
_GROUP = """
    WITH made AS (INSERT INTO auth_group (name) VALUES (%s) RETURNING id)
    INSERT INTO accounts_user_groups (user_id, group_id) SELECT %s, id FROM made RETURNING group_id AS id
"""


def use(site: Any, person: Any, model: str, cost: str | None) -> None:
    step = -(uuid.uuid4().int % 2**62)  # no step's: those count up from 1
    site.query(_CALL, step, person.id, uuid.uuid4(), "mine", model, cost, datetime.now(UTC))


def keep_picture(page: Page, name: str) -> None:
    if folder := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=Path(folder) / f"budgets-{name}.png", full_page=True)


def set_budget(page: Page, amount: str, *, whose: str, person: str = "", group: str = "", unit: str = "usd") -> None:
    page.get_by_label("For").select_option(whose)
    if person:
        page.get_by_label("Person").fill(person)
    if group:
        page.get_by_label("Group").select_option(label=group)
    page.get_by_label("Amount").fill(amount)
    page.get_by_label("Unit").select_option(unit)
    page.get_by_label("Period").select_option("month")
    page.get_by_role("button", name="Set").click()
    expect(page.get_by_role("status")).to_contain_text("Set:")


@pytest.mark.slow
@pytest.mark.spec("B11")
@pytest.mark.parametrize("form", FORMS)
def test_administrators_set_budgets_and_prices_and_people_see_how_theirs_stand(
    form: str, visit: Any, person: Any, live_site: Any
) -> None:
    alice, bob = person(), person("Bob", is_staff=True)
    group, model = f"sales {uuid.uuid4().hex[:6]}", f"llama-{uuid.uuid4().hex[:6]}"
    live_site.query(_GROUP, group, alice.id)
    use(live_site, alice, "gpt", "4.31")
    use(live_site, alice, model, None)
    watched = visit(bob, reduced_motion="reduce", **FORMS[form])
    admin = watched.new_page()

    admin.goto("/usage/budgets/")
    set_budget(admin, "5", whose="user", person=alice.email)
    set_budget(admin, "100000", whose="group", group=group, unit="tokens")
    keep_picture(admin, f"set-{form}")
    faults = faults_of(admin)
    admin.goto("/usage/prices/")
    admin.get_by_role("link", name=f"Set the price of mine/{model}").click()
    keep_picture(admin, f"prices-{form}")
    faults += faults_of(admin)
    admin.get_by_label("Read (input)").fill("0.4")
    admin.get_by_label("Written").fill("1.6")
    admin.get_by_role("button", name="Set").click()
    expect(admin.get_by_role("status")).to_contain_text(f"The price of mine/{model} holds from now on.")
    expect(admin.get_by_role("row").filter(has_text=f"mine/{model}")).to_contain_text("Holds now")
    keep_picture(admin, f"priced-{form}")
    faults += faults_of(admin)
    assert admin.evaluate("document.documentElement.scrollWidth <= innerWidth")
    admin.locator("summary").filter(has_text=f"Take back… mine/{model}").click()
    admin.get_by_role("button", name=f"Take back mine/{model}").click()
    expect(admin.get_by_role("status")).to_contain_text(f"The own price of mine/{model} is taken back.")
    admin.locator("summary").filter(has_text="of earlier").click()
    keep_picture(admin, f"taken-back-{form}")
    faults += faults_of(admin)
    assert admin.evaluate("document.documentElement.scrollWidth <= innerWidth")
    own = visit(alice, reduced_motion="reduce", **FORMS[form]).new_page()
    own.goto("/usage/")
    keep_picture(own, f"own-{form}")

    assert faults + faults_of(own) == []
    expect(own.get_by_text("86 % of your budget of $5.00 a month are used.")).to_be_visible()
    expect(own.get_by_role("heading", name="Budgets", exact=True)).to_be_visible()
    bars = own.locator(".budget-list > li")
    expect(bars).to_have_count(2)
    expect(bars.filter(has_text="Yours")).to_contain_text("$0.69 left")
    expect(bars.filter(has_text="Yours")).to_contain_text("1 call of a model without a known price is not in it.")
    expect(bars.filter(has_text=group)).to_contain_text("used up")
    assert own.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert (watched.errors, watched.foreign, watched.dialogs) == ([], [], [])
