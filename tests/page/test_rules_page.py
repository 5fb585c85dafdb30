"""The page of standing rules on a real site: what stands, in its own words, and how it is taken back."""

import uuid
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.page.test_approvals import faults_of
from tests.page.waiting import make_rule


@pytest.mark.slow
@pytest.mark.spec("B7")
def test_a_rule_stands_in_its_own_words_until_its_owner_takes_it_back(live_site: Any, person: Any, visit: Any) -> None:
    alice, bob = person(), person("Bob")
    text = "send_email to example.com is allowed without asking, 20 times at most."
    rule_id = make_rule(live_site, alice, text, max_uses=20, uses=3)
    make_rule(live_site, alice, "write_file is denied.", effect="deny", tool="write_file")
    theirs = make_rule(live_site, bob, "Bob's own rule.")
    page = visit(alice, java_script_enabled=False).new_page()
    page.goto(f"{live_site.base_url}/rules/")
    standing = page.get_by_role("list", name="Rules that stand")
    expect(standing.get_by_role("listitem")).to_have_count(2)
    expect(standing.get_by_role("listitem").filter(has_text=text)).to_contain_text("Used 3 of 20 times")
    expect(page.locator("main")).not_to_contain_text("Bob's own rule")

    revoke = page.get_by_role("button", name=f"Revoke {text}", exact=True)
    expect(revoke).to_be_hidden()
    page.locator("summary").filter(has_text=text).click()
    expect(standing.get_by_role("listitem")).to_have_count(2)
    revoke.click()

    expect(page.get_by_role("status")).to_contain_text("The rule is revoked.")
    expect(standing.get_by_role("listitem")).to_have_count(1)
    expect(page.get_by_role("list", name="Rules that are over")).to_contain_text(text)
    found = live_site.query("SELECT revoked_at FROM hitl_rule WHERE id = ANY(%s)", [uuid.UUID(rule_id)])
    assert found[0]["revoked_at"] is not None
    page.locator("form[action*=revoke]").evaluate(f"form => form.action = '/rules/{theirs}/revoke/'")
    page.locator("summary").filter(has_text="Revoke…").click()
    page.get_by_role("button", name="Revoke ").click()
    expect(page.get_by_role("heading", name="Nothing here")).to_be_visible()
    found = live_site.query("SELECT revoked_at FROM hitl_rule WHERE id = ANY(%s)", [uuid.UUID(theirs)])
    assert found[0]["revoked_at"] is None


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_the_rules_fit_and_keep_axes_rules(live_site: Any, person: Any, visit: Any, width: int, scheme: str) -> None:
    alice = person()
    page = visit(alice, viewport={"width": width, "height": 844}, color_scheme=scheme).new_page()
    page.goto(f"{live_site.base_url}/rules/")
    expect(page.get_by_role("heading", name="No rules yet")).to_be_visible()
    faults = faults_of(page)
    make_rule(live_site, alice, "send_email to example.com is allowed without asking.")
    page.reload()

    assert faults + faults_of(page) == []
