"""The cards of two questions that are more than a choice: a budget at its end, and a call that may have happened."""

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.page import asked, recorded
from tests.page.stage import Stage, Turn
from tests.page.test_approvals import faults_of
from tests.page.test_people import card, waiting
from tests.page.test_run import open_run, panel, part

BUDGET = {
    "labels": {"raise": "Raise the limit to 20,000 tokens", "finish": "Finish now", "stop": "Stop the run"},
    "unit": "tokens",
    "used": 10_412,
    "limit": 10_000,
    "suggested": 20_000,
    "used_tokens": 10_412,
    "used_cost_usd": None,
    "known_cost_usd": 0.12,
    "unpriced_models": ["house-model"],
    "asking": "research",
    "end": 1,
}


def out_of_budget(open_stage: Any) -> Stage:
    run = recorded.asking("budget", "What shall be done?", options=("raise", "finish", "stop"), details=BUDGET)
    return waiting(open_stage, run)


@pytest.mark.slow
@pytest.mark.spec("B12", "B11")
def test_a_budget_is_raised_to_what_is_typed_but_not_below_what_is_used(open_stage: Any) -> None:
    stage = out_of_budget(open_stage)
    page = stage.page
    expect(card(page)).to_contain_text("10,412 of 10,000 tokens")
    expect(card(page)).to_contain_text("at least $0.12")
    expect(card(page)).to_contain_text("What house-model costs is not known")
    assert faults_of(page) == []
    field = page.get_by_role("spinbutton", name="New limit in tokens")
    field.fill("9000")
    expect(card(page).get_by_role("alert")).to_contain_text("more than what is used: 10,412 tokens")
    expect(page.get_by_role("button", name="Raise the limit")).to_be_disabled()

    field.fill("30000")
    page.reload()
    page.get_by_role("button", name="Raise the limit to 30,000 tokens").click()

    expect(page.locator(".request-closed")).to_contain_text("Raise the limit to 30,000 tokens")
    answer = stage.posts[0][1]
    assert (answer["decision"], answer["choice"], answer["text"]) == ("answered", "raise", "30000")


@pytest.mark.slow
@pytest.mark.spec("B12")
def test_a_new_limit_in_money_is_said_as_money(open_stage: Any) -> None:
    labels = {"raise": "Raise the limit to $2.00"}
    details = {**BUDGET, "labels": labels, "unit": "usd", "used": 1.02, "limit": 1, "suggested": 2}
    run = recorded.asking("budget", "What shall be done?", options=("raise", "finish", "stop"), details=details)
    page = waiting(open_stage, run).page
    field = page.get_by_role("spinbutton", name="New limit in US dollars")
    field.fill("")
    expect(page.get_by_role("button", name="Raise the limit", exact=True)).to_be_disabled()

    field.fill("7.5")
    page.get_by_role("button", name="Raise the limit to $7.50").click()

    expect(page.locator(".request-closed")).to_contain_text("Raise the limit to $7.50")


@pytest.mark.slow
@pytest.mark.spec("B12")
def test_a_run_without_budget_finishes_with_what_there_is(open_stage: Any) -> None:
    stage = out_of_budget(open_stage)

    card(stage.page).get_by_role("button", name="Finish now").click()

    expect(stage.page.locator(".request-closed")).to_contain_text("Finish now")
    assert stage.posts[0][1]["choice"] == "finish"


@pytest.mark.slow
@pytest.mark.spec("B12", "B29")
def test_the_steps_of_a_run_say_what_was_asked_and_chosen_as_its_card_does(open_stage: Any) -> None:
    asks = "This run has used 10,412 tokens, and its budget is 10,000 tokens. What shall be done?"
    run = recorded.asking("budget", asks, options=("raise", "finish", "stop"), details=BUDGET)
    page = open_stage(Turn(recorded.answered(run, status="answered", choice="raise", text="30000"))).page

    open_run(page)
    part(page, "Steps")

    step = panel(page).locator(".step", has_text="What shall be done?")
    expect(step).to_contain_text("Answered: Raise the limit to 30,000 tokens")


@pytest.mark.slow
@pytest.mark.spec("B2")
def test_what_may_have_happened_is_shown_with_what_is_known_and_three_ways_out(open_stage: Any) -> None:
    call = asked.mail_call()
    details = {
        "in_doubt": True,
        "labels": {"done": "It was sent", "again": "Send it again", "skip": "Leave it"},
        "tool_calls": [call],
        "tool": "send_email",
        "started_at": "2026-11-20T09:00:00Z",
    }
    options = ("done", "again", "skip")
    stage = waiting(open_stage, recorded.asking("decision", "Was it sent?", options=options, details=details))
    page = stage.page
    expect(card(page)).to_contain_text("It is not known whether this happened")
    expect(card(page).locator(".mail-body")).to_contain_text("Best regards")
    expect(card(page)).to_contain_text("If it did happen, it happens twice.")
    assert faults_of(page) == []

    card(page).get_by_role("button", name="Leave it").click()

    expect(page.locator(".request-closed")).to_contain_text("Leave it")
    assert stage.posts[0][1]["choice"] == "skip"
