"""Planned questions in a real browser on a real site: the plan while it runs, what a person does to it, and the answer.

The site is `live_site` of these tests; its model knows plans as in `tests.pipeline.graphs`.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.page.conftest import Watched
from tests.page.test_chat import answered, ask, box, faults_of, open_chat
from tests.pipeline.graphs import CHAIN, DIAMOND, PARALLEL, QUESTION, SATISFIED, plan_text
from tests.scripted import Script, ScriptedCall

ANSWER = "The board reads: all of it was found."


@pytest.fixture
def page(person: Any, visit: Any, live_site: Any) -> Page:
    """Alice's page; nothing is loaded from elsewhere."""
    watched: Watched = visit(person(), viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    page = open_chat(watched, live_site)
    choose(page, "Auto")
    return page


def choose(page: Page, label: str) -> None:
    page.get_by_role("button", name=re.compile("^Mode: ")).click()
    page.get_by_role("menuitemradio", name=re.compile(f"^{label}")).click()


def know(site: Any, graph: Mapping[str, Sequence[str]], *, held: Sequence[str] = (), plan: str = "") -> None:
    """Teaches the model a plan, its agents' answers, a verifier that is content, and the composer's answer. Agents that
    are `held` leave a person the time to do something: they answer to the end at `site.model.release()`.
    """
    found = "and more " * 8
    site.model.script(
        Script(match="## Results\n### ", text=ANSWER, times=0),
        Script(match="## Results\n- id", text=SATISFIED, times=0),
        *(
            Script(
                match=f"## Task\nWork on {name} now.",
                text=f"Found {name}. {found}",
                times=0,
                held_after=2 if name in held else None,
            )
            for name in graph
        ),
        Script(match=QUESTION, text=plan or plan_text(graph), times=0),
    )


def task(page: Page, name: str) -> Locator:
    return page.locator(".task-row", has_text=f"Work on {name} now.")


def node(page: Page, words: str) -> Locator:
    return page.locator(".node", has_text=words).last


def open_tree(page: Page) -> None:
    page.get_by_role("button", name=re.compile("^Agents and tools")).click()


def open_activity(page: Page) -> None:
    page.locator(".activity-line").last.click()


def card(page: Page) -> Locator:
    return page.locator(".request")


@pytest.mark.slow
@pytest.mark.spec("S11", "S12", "S28")
def test_a_plan_is_a_checklist_while_it_runs_after_a_reload_in_a_second_tab_and_at_the_end(
    page: Page, live_site: Any
) -> None:
    know(live_site, DIAMOND, held=("beta", "gamma"))
    ask(page, QUESTION)
    expect(page.locator(".task-row")).to_have_count(4)
    expect(task(page, "beta")).to_have_attribute("data-status", "running")
    expect(task(page, "delta")).to_have_attribute("data-status", "pending")

    page.reload()
    second = page.context.new_page()
    second.goto(page.url)
    for tab in (page, second):
        expect(task(tab, "alpha")).to_have_attribute("data-status", "completed")
        expect(tab.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "1")
        expect(task(tab, "beta")).to_have_attribute("data-status", "running")
        expect(task(tab, "gamma")).to_have_attribute("data-status", "running")

    live_site.model.release()
    for tab in (page, second):
        expect(answered(tab).locator(".prose")).to_have_text(ANSWER)
        expect(tab.locator(".activity-line")).to_contain_text("Plan · 4 of 4 done")
        expect(tab.locator(".plan")).to_have_count(0)
        open_activity(tab)
        expect(tab.locator(".task-row[data-status=completed]")).to_have_count(4)
        expect(tab.locator(".node[data-status=completed]")).to_have_count(5)
        expect(node(tab, "Work on beta now.").locator(".node-tokens")).to_contain_text("tokens")
        expect(node(tab, "Writes the answer")).to_contain_text("Composer")
    node(page, "Work on delta now.").get_by_role("button").click()
    expect(node(page, "Work on delta now.")).to_contain_text("Chat (task 2), Chat (task 3)")
    assert faults_of(page) == []


@pytest.mark.slow
@pytest.mark.spec("S94", "S95", "S106", "B15")
def test_an_agent_that_is_stopped_on_the_page_does_not_stop_the_answer(page: Page, live_site: Any) -> None:
    know(live_site, PARALLEL, held=("alpha", "beta"))
    ask(page, QUESTION)
    expect(task(page, "alpha")).to_have_attribute("data-status", "running")
    open_tree(page)
    node(page, "Work on alpha now.").get_by_role("button").first.click()
    node(page, "Work on alpha now.").get_by_role("button", name="Stop", exact=True).click()

    node(page, "Work on alpha now.").get_by_role("button", name="Stop it").click()

    expect(node(page, "Work on alpha now.")).to_have_attribute("data-status", "deleted")
    expect(node(page, "Work on alpha now.")).to_contain_text("Stopped by you")
    expect(task(page, "alpha")).to_have_attribute("data-status", "deleted")
    live_site.model.release()
    expect(answered(page).locator(".prose")).to_have_text(ANSWER)
    expect(page.locator(".activity-line")).to_contain_text("Plan · 1 of 1 done")


@pytest.mark.slow
@pytest.mark.spec("S93", "S100", "B15")
def test_a_waiting_agent_gets_new_instructions_and_the_run_gets_more_words(page: Page, live_site: Any) -> None:
    know(live_site, {"alpha": (), "beta": ("alpha",)}, held=("alpha",))
    live_site.model.script(
        Script(match="## Task\nLook at gamma instead", text="Found gamma.", times=0),
        Script(match="Mention the south", text="Found it, and the south.", times=0),
    )
    ask(page, QUESTION)
    expect(task(page, "alpha")).to_have_attribute("data-status", "running")
    open_tree(page)
    node(page, "Work on beta now.").get_by_role("button").first.click()
    node(page, "Work on beta now.").get_by_role("button", name="Change instructions").click()
    field = page.get_by_role("textbox", name="New instructions")
    expect(field).to_have_value("Work on beta now.")

    field.fill("Look at gamma instead")
    field.press("Enter")

    expect(node(page, "Look at gamma instead")).to_contain_text("You changed its instructions")
    expect(page.locator(".task-row").last).to_contain_text("Look at gamma instead")
    box(page).fill("Mention the south")
    box(page).press("Enter")
    expect(page.get_by_text("You added: Mention the south")).to_be_visible()
    expect(box(page)).to_have_value("")
    live_site.model.release()
    answered(page)
    asked = [json.dumps(call.body) for call in live_site.model.calls]
    assert any("## Task\\nLook at gamma instead" in body for body in asked)
    assert any("Message from the user while you work" in body and "Mention the south" in body for body in asked)
    assert not any("## Task\\nWork on beta now." in body for body in asked)


@pytest.mark.slow
@pytest.mark.spec("B13")
def test_a_plan_that_is_shown_first_runs_as_the_person_changed_it(page: Page, live_site: Any) -> None:
    know(live_site, CHAIN)
    live_site.model.script(Script(match="## Task\nWork on omega now.", text="Found omega.", times=0))
    page.get_by_role("button", name="Mode: Auto").click()
    page.get_by_role("menuitemcheckbox", name=re.compile("Show me the plan first")).click()
    ask(page, QUESTION)
    expect(card(page).locator(".review-step")).to_have_count(3)
    assert not any("Work on" in call.last_user for call in live_site.model.calls)

    page.get_by_role("button", name="Drop task 2").click()
    page.get_by_role("textbox", name="Task 2").fill("Work on omega now.")
    page.get_by_role("button", name="Accept with changes").click()

    answered(page)
    expect(page.locator(".request-closed")).to_contain_text("Accepted with changes")
    expect(page.locator(".activity-line")).to_contain_text("Plan · 2 of 2 done")
    open_activity(page)
    expect(page.locator(".plan")).to_contain_text("You changed this plan")
    expect(page.locator(".task-row")).to_have_count(2)
    tasks = [call.last_user for call in live_site.model.calls if call.last_user.startswith("## Task")]
    assert any(said.startswith("## Task\nWork on omega now.") for said in tasks)
    assert not any(said.startswith("## Task\nWork on beta now.") for said in tasks)


@pytest.mark.slow
@pytest.mark.spec("B13")
def test_a_rejected_plan_does_nothing(page: Page, live_site: Any) -> None:
    know(live_site, PARALLEL)
    page.get_by_role("button", name="Mode: Auto").click()
    page.get_by_role("menuitemcheckbox", name=re.compile("Show me the plan first")).click()
    ask(page, QUESTION)

    card(page).get_by_role("button", name="Reject").click()

    expect(answered(page).locator(".prose")).to_contain_text("nothing was done")
    expect(page.locator(".request-closed")).to_contain_text("Rejected")
    assert not any("## Task" in call.last_user for call in live_site.model.calls)


@pytest.mark.slow
@pytest.mark.spec("S96", "S97")
def test_a_question_back_is_answered_in_words_and_by_a_choice_and_can_be_declined(page: Page, live_site: Any) -> None:
    def lacks(question: str, *options: str) -> str:
        said = {"needs_clarification": True, "questions": [{"question": question, "options": list(options)}]}
        return json.dumps(said)

    clear = json.dumps({"needs_clarification": False})
    route = json.dumps({"agent": "chat", "confidence": 0.9, "reason": "A letter."})
    live_site.model.script(
        Script(match="The person was asked what was missing", text="Dear Alan Kay.", times=0),
        Script(match="Asked: Which Alan?", text=clear, times=0),
        Script(match="Asked: Who is he?", text=lacks("Which Alan?", "Alan Turing", "Alan Kay"), times=0),
        Script(match="What seems to be missing", text=lacks("Who is he?"), times=0),
        Script(match="Translate this for him", text=route, times=0),
    )
    ask(page, "Translate this for him")
    expect(card(page)).to_contain_text("Who is he?")
    expect(page.get_by_role("textbox", name="Your answer")).to_be_focused()
    page.keyboard.type("Alan")
    page.keyboard.press("Enter")
    expect(card(page)).to_contain_text("Which Alan?")
    page.reload()
    card(page).get_by_role("button", name="Alan Kay").click()

    expect(answered(page).locator(".prose")).to_have_text("Dear Alan Kay.")
    closed = page.locator(".request-closed")
    expect(closed.nth(0)).to_contain_text("Answered: Alan")
    expect(closed.nth(1)).to_contain_text("Answered: Alan Kay")

    page.goto(live_site.base_url)
    ask(page, "Translate this for him")
    card(page).get_by_role("button", name="Decline").click()
    expect(answered(page).locator(".prose")).to_contain_text("Tell me more whenever you like")
    expect(closed).to_contain_text("Declined")


@pytest.mark.slow
@pytest.mark.spec("S46")
def test_a_handoff_is_shown_below_the_agent_that_handed_over(page: Page, live_site: Any) -> None:
    arguments = json.dumps({"task_description": "Write an essay about sails", "context": "For children"})
    live_site.model.script(
        Script(match="Explain sails", tool_calls=[ScriptedCall(name="handoff_to_writing", arguments=arguments)]),
        Script(match="Write an essay about sails", text="A sail catches the wind.", times=0),
    )
    choose(page, "Chat")
    ask(page, "Explain sails to me")

    expect(answered(page).locator(".prose")).to_have_text("A sail catches the wind.")
    expect(page.locator(".activity-line")).to_contain_text("Chat and Writing")
    open_activity(page)
    expect(page.locator(".node .node")).to_contain_text("Write an essay about sails")
    page.locator(".node").first.get_by_role("button").first.click()
    expect(page.locator(".node").first).to_contain_text("Chat → Writing")


@pytest.mark.slow
def test_what_is_not_set_up_is_told_before_and_after(page: Page, live_site: Any) -> None:
    page.get_by_role("button", name="Mode: Auto").click()
    web = page.get_by_role("menuitemradio", name=re.compile("^Web"))
    expect(web).to_be_disabled()
    expect(web).to_contain_text("Web search is not configured")
    page.evaluate("localStorage.setItem('hyperagent.mode', '\"web\"')")
    page.context.add_init_script("if (location.host) localStorage.setItem('hyperagent.mode', '\"web\"')")
    page.reload()

    ask(page, "What is the weather in Oslo?")

    expect(answered(page).locator(".prose")).to_contain_text("Web search is not configured")
    expect(answered(page).locator(".answer-foot")).not_to_contain_text("scripted")
    open_activity(page)
    expect(page.locator(".routing")).to_have_text("Routed to Web · as you chose")


@pytest.mark.slow
def test_a_task_that_cannot_be_done_says_why_in_words(page: Page, live_site: Any) -> None:
    graph = {"alpha": (), "beta": ("alpha",)}
    plan = json.loads(plan_text(graph))
    plan["execution_plan"][0]["agent"] = "web"
    know(live_site, {}, plan=json.dumps(plan))
    ask(page, QUESTION)

    answered(page)
    open_activity(page)
    expect(task(page, "alpha")).to_contain_text("What it needs is not set up here")
    expect(task(page, "beta")).to_contain_text("Skipped")
    expect(node(page, "Work on alpha now.")).to_have_attribute("data-status", "failed")
    expect(node(page, "Work on beta now.")).to_contain_text("Not begun: what it needs from web was not done.")
    expect(page.locator(".activity-body")).not_to_contain_text(re.compile(r"[a-z]+_[a-z]+"))


@pytest.mark.slow
@pytest.mark.spec("S5")
def test_where_the_router_is_not_sure_the_page_offers_whom_to_ask_instead(page: Page, live_site: Any) -> None:
    unsure = json.dumps({"agent": "research", "confidence": 0.3, "reason": "It may be research."})
    live_site.model.script(
        Script(match="## Question\nBlorf", text=unsure, times=0), Script(match="Blorf", text="Hm.", times=0)
    )
    ask(page, "Blorf zix quantum gnarl plover stanza")

    answered(page)
    offered = page.locator(".other-modes")
    expect(offered).to_contain_text("Not sure that Chat fits best")
    expect(offered.get_by_role("button", name="Web")).to_have_count(0)
    offered.get_by_role("button", name="Research").click()

    expect(page.get_by_role("article", name="Question")).to_have_count(2)
    expect(answered(page)).to_contain_text("Hm.")
    expect(page.locator(".activity-line").last).to_contain_text("Research")
