"""Approvals from the model's call to its effect, in a browser on the real site: Daphne, runners, the scripted model.

The protected call is `fork`: it needs nothing that is not there, and its task shows in what the model is asked.
"""

import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, WebSocketRoute, expect

from tests.page.test_approvals import card, cards, press
from tests.page.test_chat import answered
from tests.page.test_planned_run import task
from tests.page.waiting import join_group, policy
from tests.pipeline.graphs import PARALLEL, SATISFIED, forking, plan_text
from tests.pipeline.graphs import QUESTION as PLANNED
from tests.scripted import Script, ScriptedCall

pytestmark = pytest.mark.slow

QUESTION = "Look into sails for me"
ANSWER = "Sails catch the wind."


@pytest.fixture(autouse=True)
def _forks_are_asked_about(live_site: Any) -> Iterator[None]:
    live_site.model.reset()
    with policy(live_site, "fork"):
        yield


def know(site: Any, *prompts: str, more: tuple[Script, ...] = ()) -> None:
    """The model calls fork once for each prompt, in one answer; then it says what it found."""
    site.model.script(
        *more,
        Script(match=QUESTION, tool_calls=forking(*prompts)),
        Script(match=QUESTION, text=ANSWER, times=0),
    )


def told(site: Any) -> str:
    """All that the model was sent."""
    return json.dumps([call.body for call in site.model.calls], ensure_ascii=False)


def forked(site: Any, run: uuid.UUID, prompt: str) -> bool:
    """Whether an agent was started on this task."""
    return any(event["type"] == "agent_state" and event.get("task") == prompt for event in site.events(run))


def ask(visit: Any, who: Any, site: Any, execution_id: uuid.UUID) -> Page:
    """The page of the conversation in which this run waits."""
    found = site.query("SELECT conversation_id FROM agents_execution WHERE id = %s", execution_id)
    page: Page = visit(who).new_page()
    page.goto(f"{site.base_url}/c/{found[0]['conversation_id']}/")
    card(page).wait_for(timeout=30_000)
    return page


def closed(page: Page) -> Locator:
    return page.locator(".approval-closed")


@pytest.mark.spec("S120", "S133", "B5")
def test_an_edited_call_is_carried_out_as_edited_and_a_late_answer_in_a_second_tab_changes_nothing(
    live_site: Any, person: Any, visit: Any
) -> None:
    alice = person()
    know(live_site, "Find a sailmaker")
    run = alice.ask(QUESTION, mode="chat")
    page = ask(visit, alice, live_site, run)
    late = page.context.new_page()
    frozen = frozen_socket(late)
    late.goto(page.url)
    card(late).wait_for()
    frozen.append(True)

    press(page, "e")
    page.get_by_role("textbox", name="Prompt").fill("Find a ropemaker")
    page.get_by_role("button", name="Approve with these changes").click()
    expect(closed(page)).to_contain_text("Approved with changes by you")
    press(late, "a")
    expect(closed(late).get_by_role("alert")).to_contain_text("Your answer changed nothing.")

    expect(answered(page).locator(".prose")).to_have_text(ANSWER)
    expect(closed(page).locator(".change")).to_contain_text("Find a ropemaker")
    assert forked(live_site, run, "Find a ropemaker")
    assert not forked(live_site, run, "Find a sailmaker")


def frozen_socket(page: Page) -> list[bool]:
    """What the server tells this page is lost as soon as there is something in the list."""
    frozen: list[bool] = []

    def route(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()
        socket.on_message(server.send)
        server.on_message(lambda message: None if frozen else socket.send(message))

    page.route_web_socket("**/ws/conversations/**", route)
    return frozen


@pytest.mark.spec("S122", "S133")
def test_a_no_with_its_reason_is_what_the_model_reads(live_site: Any, person: Any, visit: Any) -> None:
    alice = person()
    know(live_site, "Find a sailmaker")
    run = alice.ask(QUESTION, mode="chat")
    page = ask(visit, alice, live_site, run)

    press(page, "d")
    page.keyboard.type("We have a sailmaker")
    page.keyboard.press("Enter")

    expect(answered(page).locator(".prose")).to_be_visible()
    expect(closed(page)).to_contain_text("Denied by you")
    assert "We have a sailmaker" in told(live_site)
    assert not forked(live_site, run, "Find a sailmaker")


@pytest.mark.spec("S123", "B6")
def test_nobodys_answer_is_not_shown_as_a_no(live_site: Any, person: Any, visit: Any) -> None:
    alice = person()
    know(live_site, "Find a sailmaker")
    run = alice.ask(QUESTION, mode="chat")
    page = ask(visit, alice, live_site, run)

    over = "UPDATE hitl_request SET expires_at = clock_timestamp() WHERE execution_id = %s RETURNING request_id"
    live_site.query(over, run)
    live_site.manage("shell", "-v0", "-c", "from hitl.actions import end_overdue; end_overdue()")

    expect(answered(page).locator(".prose")).to_be_visible()
    expect(closed(page)).to_contain_text("Nobody decided in time")
    expect(closed(page)).not_to_contain_text("Denied")
    assert not forked(live_site, run, "Find a sailmaker")


@pytest.mark.spec("S132")
def test_several_calls_of_one_answer_are_decided_one_by_one(live_site: Any, person: Any, visit: Any) -> None:
    alice = person()
    know(live_site, "Find a sailmaker", "Find a ropemaker")
    run = alice.ask(QUESTION, mode="chat")
    page = ask(visit, alice, live_site, run)
    expect(page.locator(".approval-folded")).to_have_count(1)
    expect(card(page)).to_contain_text("1 of 2")
    first = card(page).locator(".arguments").inner_text()

    press(page, "a")
    expect(card(page)).to_contain_text("2 of 2")
    page.locator(".approval[data-keys=on]").wait_for()
    page.keyboard.press("d")
    page.keyboard.press("Enter")

    expect(answered(page).locator(".prose")).to_have_text(ANSWER)
    expect(cards(page)).to_have_count(0)
    makers = ("sailmaker", "ropemaker")
    yes, no = makers if "sailmaker" in first else makers[::-1]
    assert forked(live_site, run, f"Find a {yes}")
    assert not forked(live_site, run, f"Find a {no}")


@pytest.mark.spec("S127", "S128")
@pytest.mark.parametrize("intent", ["enhance", "override"])
def test_a_yes_with_instructions_comes_back_with_another_call(
    live_site: Any, person: Any, visit: Any, intent: str
) -> None:
    alice = person()
    understood = Script(match="## Instructions", text=json.dumps({"intent": intent}), times=0)
    again = Script(match=QUESTION, tool_calls=forking("Find a sailmaker in Kiel"))
    live_site.model.script(understood, Script(match=QUESTION, tool_calls=forking("Find a sailmaker")), again)
    live_site.model.script(Script(match=QUESTION, text=ANSWER, times=0))
    run = alice.ask(QUESTION, mode="chat")
    page = ask(visit, alice, live_site, run)

    card(page).get_by_role("button", name="With instructions").click()
    page.keyboard.type("Only in Kiel")
    page.keyboard.press("Enter")

    expect(closed(page)).to_contain_text("Instructions: Only in Kiel")
    expect(card(page)).to_contain_text("Find a sailmaker in Kiel", timeout=20_000)
    press(page, "a")
    expect(answered(page).locator(".prose")).to_have_text(ANSWER)
    assert "Only in Kiel" in told(live_site)
    assert forked(live_site, run, "Find a sailmaker in Kiel")


@pytest.mark.spec("S110", "S121")
def test_what_a_subagent_asks_is_shown_in_its_persons_conversation_with_the_way_to_it(
    live_site: Any, person: Any, visit: Any
) -> None:
    alice = person()
    live_site.model.script(
        Script(match="Find a sailmaker", tool_calls=forking("Ring the harbour")),
        Script(match="Find a sailmaker", text="The harbour knows one.", times=0),
        Script(match="Find a ropemaker", text="There is none.", times=0),
        Script(match=QUESTION, tool_calls=forking("Find a sailmaker")),
        Script(match=QUESTION, tool_calls=forking("Find a ropemaker")),
    )
    run = alice.ask(QUESTION, mode="chat")
    page = ask(visit, alice, live_site, run)
    of_root = page.locator(".approval", has_text="Find a ropemaker")
    of_child = page.locator(".approval", has_text="Ring the harbour")
    press(page, "a")
    expect(of_root).to_be_visible()
    expect(of_root.locator(".asker-step")).to_have_count(0)
    expect(of_child.locator(".asker-step")).to_have_text(["Chat"])
    page.reload()
    expect(of_child.locator(".asker-step")).to_have_text(["Chat"])

    # The root waits for what its child finds.
    child = next(
        event["agent_id"]
        for event in live_site.events(run)
        if event["type"] == "agent_state" and event.get("task") == "Find a sailmaker"
    )
    waiting = ScriptedCall(name="wait", arguments=json.dumps({"handle": child}))
    live_site.model.script(Script(match=QUESTION, tool_calls=[waiting]), Script(match=QUESTION, text=ANSWER, times=0))
    of_root.get_by_role("button", name="Approve").click()
    expect(of_root).to_have_count(0)
    of_child.get_by_role("button", name="Approve").click()

    expect(answered(page).locator(".prose")).to_have_text(ANSWER)
    assert forked(live_site, run, "Ring the harbour")
    assert "The harbour knows one." in told(live_site)


@pytest.mark.spec("S121", "S125")
def test_of_two_agents_in_parallel_one_ends_while_the_other_waits_for_its_yes(
    live_site: Any, person: Any, visit: Any
) -> None:
    alice = person()
    live_site.model.script(
        Script(match="## Results\n### ", text="The board reads: both were found.", times=0),
        Script(match="## Results\n- id", text=SATISFIED, times=0),
        Script(match="## Task\nWork on alpha now.", tool_calls=forking("Ring the harbour")),
        Script(match="## Task\nWork on alpha now.", text="Found alpha.", times=0),
        Script(match="## Task\nWork on beta now.", text="Found beta.", times=0),
        Script(match=PLANNED, text=plan_text(PARALLEL), times=0),
    )
    page = ask(visit, alice, live_site, alice.ask(PLANNED))
    expect(card(page)).to_contain_text("Ring the harbour")

    expect(task(page, "beta")).to_have_attribute("data-status", "completed")
    expect(task(page, "alpha")).to_have_attribute("data-status", "awaiting_user")
    press(page, "a")

    expect(answered(page).locator(".prose")).to_have_text("The board reads: both were found.")
    expect(closed(page)).to_contain_text("Approved by you")


@pytest.mark.spec("B3", "B4", "S110")
def test_a_reviewer_decides_in_the_inbox_what_the_run_waits_for(live_site: Any, person: Any, visit: Any) -> None:
    alice, bob, charlie = person(), person("Bob"), person("Charlie")
    join_group(live_site, bob, "reviewer")
    by_reviewers = {"approver_kind": "role", "approver_role": "reviewer", "position": 0}
    with policy(live_site, "fork", require_different_person=True, **by_reviewers):
        know(live_site, "Find a sailmaker")
        run = alice.ask(QUESTION, mode="chat")
        page = ask(visit, alice, live_site, run)
    expect(card(page)).to_contain_text("Waits for a reviewer, but not you.")
    expect(card(page).get_by_role("button", name="Approve")).to_have_count(0)
    request_id = page.locator(".approval").get_attribute("data-request")
    refused = visit(charlie).new_page().goto(f"{live_site.base_url}/inbox/{request_id}/")
    assert refused is not None
    assert refused.status == 404
    assert charlie.post("hitl/respond", {"request_id": request_id, "decision": "approved"}).status_code == 404
    assert alice.post("hitl/respond", {"request_id": request_id, "decision": "approved"}).status_code == 403

    bobs = visit(bob).new_page()
    bobs.goto(f"{live_site.base_url}/inbox/{request_id}/")
    expect(card(bobs)).to_contain_text("Find a sailmaker")
    press(bobs, "a")

    expect(closed(bobs)).to_contain_text("Approved by you")
    expect(closed(page)).to_contain_text("Approved by Bob", timeout=20_000)
    expect(answered(page).locator(".prose")).to_have_text(ANSWER)


@pytest.mark.timeout(300)  # runners are started anew
@pytest.mark.spec("S115", "S119", "S132", "B1", "B6", "B10")
def test_a_yes_is_carried_out_after_a_reload_and_a_restart_of_all_runners(
    live_site: Any, person: Any, visit: Any
) -> None:
    alice = person()
    know(live_site, "Find a sailmaker")
    run = alice.ask(QUESTION, mode="chat")
    page = ask(visit, alice, live_site, run)
    expect(card(page)).to_contain_text("Find a sailmaker")
    assert not forked(live_site, run, "Find a sailmaker")

    runners = live_site.runners
    for name in runners:
        live_site.kill(name)
    page.reload()
    press(page, "a")
    expect(closed(page)).to_contain_text("Approved by you")
    for name in runners:
        live_site.restart(name)

    expect(answered(page).locator(".prose")).to_have_text(ANSWER)
    assert forked(live_site, run, "Find a sailmaker")
    page.reload()
    expect(closed(page)).to_contain_text("Approved by you")
