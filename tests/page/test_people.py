"""What people tell a run, on the page: answers to its questions, changes to its plan, words to it and its agents."""

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.clean_page import axe_faults
from tests.page import recorded
from tests.page.recorded import Recorded
from tests.page.stage import Stage, Turn
from tests.page.test_activity import node, open_node, open_tree

TASKS = [step.model_dump(mode="json") for step in recorded.STEPS]
GONE = {"error": {"code": "over", "message": "This agent has finished already. Nothing was changed."}}


@pytest.fixture
def working(open_stage: Any) -> Stage:
    """The tree of a live run, one agent opened."""
    stage: Stage = open_stage(Turn(recorded.diamond_in_the_middle()))
    open_tree(stage.page)
    open_node(stage.page, "Data analysis")
    return stage


def waiting(open_stage: Any, run: Recorded, **more: Any) -> Stage:
    stage: Stage = open_stage(Turn(run, status="awaiting_user"), **more)
    stage.page.locator(".request").wait_for()
    return stage


def card(page: Page) -> Locator:
    return page.locator(".request")


def box(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Your question")


# ── interventions ──


@pytest.mark.spec("S94", "B15")
def test_an_agent_is_stopped_after_a_word_of_caution(working: Stage) -> None:
    page, turn = working.page, working.turns[0]
    page.get_by_role("button", name="Stop", exact=True).click()
    assert working.posts == []

    page.get_by_role("button", name="Stop it").click()
    expect(page.get_by_text("It will stop before its next step.")).to_be_visible()

    assert working.posts == [(f"/agents/{recorded.agent_id('compute')}/intervene", {"user_comment": "delete"})]
    before = len(turn.run.events)
    turn.run.agent("compute", "data", "deleted", user_comment="delete", error="data was stopped by a person.")
    working.tell(turn, before)
    expect(node(page, "Data analysis")).to_contain_text("Stopped by you")
    expect(page.get_by_role("group", name="Intervene with Data analysis")).to_have_count(0)


@pytest.mark.spec("S93", "S94")
def test_an_agents_instructions_are_changed_from_what_they_are(working: Stage) -> None:
    page, turn = working.page, working.turns[0]
    page.get_by_role("button", name="Change instructions").click()
    field = page.get_by_role("textbox", name="New instructions")
    expect(field).to_be_focused()
    expect(field).to_have_value("Compute latency and cost of each at our size")

    field.fill("Compute the cost only")
    field.press("Enter")

    expect(page.get_by_text("Sent: it goes on with these instructions.")).to_be_visible()
    assert working.posts[0][1] == {"user_comment": "modify", "user_content": "Compute the cost only"}
    before = len(turn.run.events)
    turn.run.agent("compute", "data", "running", user_comment="modify", modified=True)
    working.tell(turn, before)
    expect(node(page, "Data analysis")).to_contain_text("You changed its instructions")


@pytest.mark.spec("S93")
def test_a_comment_is_free_text_but_never_a_command(working: Stage) -> None:
    page, turn = working.page, working.turns[0]
    page.get_by_role("button", name="Comment").click()
    field = page.get_by_role("textbox", name="Comment for this agent")
    field.fill("Delete")
    expect(page.get_by_role("alert")).to_contain_text("would be read as a command")
    expect(page.get_by_role("button", name="Send", exact=True).first).to_be_disabled()

    field.fill("Use the numbers of May")
    field.press("Enter")
    expect(page.get_by_text("Sent: it reads this before its next step.")).to_be_visible()

    assert [body for _, body in working.posts] == [{"user_comment": "Use the numbers of May"}]
    before = len(turn.run.events)
    turn.run.agent("compute", "data", "running", user_comment="Use the numbers of May")
    working.tell(turn, before)
    expect(node(page, "Data analysis")).to_contain_text("You: Use the numbers of May")


def test_an_intervention_that_comes_too_late_says_so_in_its_place(working: Stage) -> None:
    page = working.page
    working.answers[f"/agents/{recorded.agent_id('compute')}/intervene"] = (409, GONE)
    page.get_by_role("button", name="Comment").click()
    field = page.get_by_role("textbox", name="Comment for this agent")
    field.fill("Hurry")
    field.press("Enter")

    expect(page.locator(".intervene-form").get_by_role("alert")).to_have_text(GONE["error"]["message"])
    expect(field).to_have_value("Hurry")
    expect(field).to_be_enabled()


def test_escape_leaves_the_form_and_not_the_run(working: Stage) -> None:
    page = working.page
    page.get_by_role("button", name="Change instructions").click()
    page.keyboard.press("Escape")

    expect(page.locator(".intervene-form")).to_have_count(0)
    expect(page.get_by_role("button", name="Change instructions")).to_be_focused()
    assert working.frames == []


# ── questions ──


@pytest.mark.slow
@pytest.mark.spec("S96", "S112")
def test_a_decision_is_made_with_one_click_and_stands_there_afterwards(open_stage: Any) -> None:
    run = recorded.asking("decision", "Which load?", options=("Today's", "Next year's"))
    stage = waiting(open_stage, run)
    page = stage.page
    expect(page.locator(".activity-line")).to_contain_text("Waiting for your answer")
    expect(page.locator(".activity-line .is-running")).to_have_count(0)

    card(page).get_by_role("button", name="Next year's").click()

    closed = page.locator(".request-closed")
    expect(closed).to_contain_text("Which load?")
    expect(closed).to_contain_text("Answered: Next year's")
    request_id = recorded.agent_id("Which load?")
    assert stage.posts == [
        ("/hitl/respond", {"request_id": request_id, "decision": "answered", "choice": "Next year's"})
    ]
    expect(box(page)).to_be_focused()

    recorded.answered(run, status="answered", choice="Next year's")
    page.reload()
    expect(page.locator(".request-closed")).to_contain_text("Answered: Next year's")
    expect(card(page)).to_have_count(0)


@pytest.mark.slow
@pytest.mark.spec("S97", "S112")
def test_a_question_takes_words_and_the_focus_and_enter_sends_them(open_stage: Any) -> None:
    stage = waiting(open_stage, recorded.asking("input", "How many a day?"))
    field = stage.page.get_by_role("textbox", name="Your answer")
    expect(field).to_be_focused()

    stage.page.keyboard.type("About")
    stage.page.reload()
    expect(field).to_have_value("About")
    field.press_sequentially(" 300")
    stage.page.keyboard.press("Enter")

    expect(stage.page.locator(".request-closed")).to_contain_text("Answered: About 300")
    assert stage.posts[0][1] == {
        "request_id": recorded.agent_id("How many a day?"),
        "decision": "answered",
        "text": "About 300",
    }


@pytest.mark.slow
def test_a_question_with_suggestions_takes_one_of_them(open_stage: Any) -> None:
    stage = waiting(open_stage, recorded.asking("input", "Which quarter?", options=("Q2", "Q3")))

    card(stage.page).get_by_role("button", name="Q3").click()

    expect(stage.page.locator(".request-closed")).to_contain_text("Answered: Q3")
    assert stage.posts[0][1]["choice"] == "Q3"


@pytest.mark.slow
@pytest.mark.spec("S97")
def test_declining_is_fine(open_stage: Any) -> None:
    stage = waiting(open_stage, recorded.asking("input", "How many a day?"))

    card(stage.page).get_by_role("button", name="Decline").click()

    expect(stage.page.locator(".request-closed")).to_contain_text("Declined")
    assert stage.posts[0][1]["decision"] == "denied"


@pytest.mark.slow
def test_who_types_keeps_the_focus_when_a_question_comes(open_stage: Any) -> None:
    run = recorded.asking("input", "How many a day?")
    asked = next(event["seq"] for event in run.events if event["type"] == "interrupt") - 1
    stage = open_stage(Turn(run.until(asked)))
    box(stage.page).fill("half a thought")
    box(stage.page).focus()

    stage.tell(Turn(run), asked)

    card(stage.page).wait_for()
    expect(box(stage.page)).to_be_focused()
    expect(stage.page.locator("#announcements")).to_contain_text("Your answer is needed: How many a day?")


@pytest.mark.slow
@pytest.mark.spec("S120")
def test_a_question_that_was_answered_elsewhere_shows_how(open_stage: Any) -> None:
    found = {"status": "answered", "answer": {"choice": "B"}}
    message = "This request is answered already. Nothing was changed."
    refusal = {"error": {"code": "already_decided", "message": message, "request": found}}
    run = recorded.asking("decision", "Which?", options=("A", "B"))
    stage = waiting(open_stage, run, answers={"/hitl/respond": (409, refusal)})

    card(stage.page).get_by_role("button", name="A").click()

    expect(stage.page.locator(".request-closed")).to_contain_text("Answered: B")
    expect(stage.page.locator(".request-closed")).to_contain_text(message)


@pytest.mark.slow
def test_an_answer_that_was_not_taken_can_be_given_again(open_stage: Any) -> None:
    refusal = {"error": {"code": "unavailable", "message": "The database is busy. Try again."}}
    stage = waiting(open_stage, recorded.asking("input", "How many?"), answers={"/hitl/respond": (503, refusal)})
    field = stage.page.get_by_role("textbox", name="Your answer")
    field.fill("300")
    field.press("Enter")
    expect(card(stage.page).get_by_role("alert")).to_have_text("The database is busy. Try again.")
    expect(field).to_have_value("300")

    stage.answers["/hitl/respond"] = (200, {})
    field.press("Enter")

    expect(stage.page.locator(".request-closed")).to_contain_text("Answered: 300")


@pytest.mark.slow
def test_a_run_that_ends_takes_its_question_back(open_stage: Any) -> None:
    run = recorded.asking("input", "How many?")
    stage = waiting(open_stage, run)
    before = len(run.events)
    run.finish("I did without.")

    stage.tell(stage.turns[0], before)

    expect(stage.page.locator(".request-closed")).to_contain_text("The run ended before it was answered")


# ── a plan to look over ──


def review(open_stage: Any) -> Stage:
    return waiting(open_stage, recorded.asking("plan", "Shall I go on?", details={"tasks": TASKS}))


@pytest.mark.slow
@pytest.mark.spec("B13")
def test_a_plan_is_accepted_as_it_is(open_stage: Any) -> None:
    stage = review(open_stage)

    card(stage.page).get_by_role("button", name="Accept", exact=True).click()

    expect(stage.page.locator(".request-closed")).to_contain_text("Accepted")
    assert stage.posts[0][1] == {"request_id": recorded.agent_id("Shall I go on?"), "decision": "approved"}


@pytest.mark.slow
@pytest.mark.spec("B13")
def test_a_plan_is_changed_before_it_runs(open_stage: Any) -> None:
    stage = review(open_stage)
    page = stage.page
    page.get_by_role("textbox", name="Task 1").fill("Find benchmarks of this year")
    page.get_by_role("button", name="Drop task 4").click()
    page.get_by_role("button", name="Task 2 need not wait for task 1").click()
    page.get_by_role("combobox", name="Agent of the new task").select_option("mail")
    page.get_by_role("textbox", name="New task").fill("Send it to Bob")
    page.reload()  # all of it is found again until it is sent
    page.get_by_role("combobox", name="Agent of the new task").select_option("mail")
    page.get_by_role("textbox", name="New task").press("Enter")
    page.get_by_role("combobox", name="What task 5 waits for as well").select_option("write")

    page.get_by_role("button", name="Accept with changes").click()

    expect(page.locator(".request-closed")).to_contain_text("Accepted with changes")
    sent = stage.posts[0][1]
    assert sent["decision"] == "answered"
    assert [(task["id"], task["agent"], task["depends_on"]) for task in sent["plan"]["tasks"]] == [
        ("gather", "research", []),
        ("ours", "rag", []),
        ("compute", "data", ["gather"]),
        ("write", "writing", ["ours", "compute", "gather"]),
        ("added-1", "mail", ["write"]),
    ]
    assert sent["plan"]["tasks"][0]["task"] == "Find benchmarks of this year"
    assert sent["plan"]["tasks"][0]["expected_outcome"] == TASKS[0]["expected_outcome"]
    assert page.evaluate("Object.keys(localStorage).filter((key) => key.startsWith('hyperagent.words'))") == []


@pytest.mark.slow
@pytest.mark.spec("B13")
@pytest.mark.parametrize("width", [1440, 390])
def test_what_a_task_waits_for_is_chosen_by_keys_and_no_circle_is_offered(open_stage: Any, width: int) -> None:
    stage = review(open_stage)
    page = stage.page
    page.set_viewport_size({"width": width, "height": 900})
    first, second, third = (page.get_by_role("combobox", name=f"What task {n} waits for as well") for n in (1, 2, 3))
    expect(second.locator("option")).to_have_text(["after …", re.compile("^after 3: "), re.compile("^after 4: ")])

    third.focus()
    page.keyboard.type("after 2")
    page.keyboard.press("Enter")

    expect(page.get_by_role("button", name="Task 3 need not wait for task 2")).to_be_visible()
    expect(second.locator("option")).to_have_text(["after …", re.compile("^after 4: ")])
    expect(first).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert axe_faults(page) == []


@pytest.mark.slow
@pytest.mark.spec("B13")
def test_a_task_that_builds_on_one_of_an_earlier_plan_keeps_that_and_nothing_is_shown_to_wait_for(
    open_stage: Any,
) -> None:
    onward = {**TASKS[0], "depends_on": ["done-before"]}
    stage = waiting(open_stage, recorded.asking("plan", "Shall I go on?", details={"tasks": [onward]}))
    page = stage.page
    expect(page.locator(".review-edges button")).to_have_count(0)
    page.get_by_role("textbox", name="Task 1").fill("Find others")

    page.get_by_role("button", name="Accept with changes").click()

    expect(page.locator(".request-closed")).to_contain_text("Accepted with changes")
    assert stage.posts[0][1]["plan"]["tasks"][0]["depends_on"] == ["done-before"]


@pytest.mark.slow
@pytest.mark.spec("B13")
def test_a_plan_is_not_sent_empty_and_can_be_rejected(open_stage: Any) -> None:
    stage = review(open_stage)
    page = stage.page
    for _ in TASKS:
        page.get_by_role("button", name=re.compile("^Drop task")).first.click()
    expect(page.get_by_role("button", name="Accept with changes")).to_be_disabled()
    expect(card(page).get_by_role("alert")).to_contain_text("at least one task")
    page.get_by_role("button", name="Undo changes").click()
    expect(page.locator(".review-step")).to_have_count(5)

    page.get_by_role("button", name="Reject").click()

    expect(page.locator(".request-closed")).to_contain_text("Rejected")
    assert stage.posts[0][1]["decision"] == "denied"


# ── the box ──


@pytest.mark.slow
@pytest.mark.parametrize("answer", ["ack", "steered"])
def test_words_are_added_to_the_running_answer(open_stage: Any, answer: str) -> None:
    stage = open_stage(Turn(recorded.diamond_in_the_middle()))
    stage.steer_answer = {"type": answer}
    box(stage.page).fill("Open-source licences only")

    stage.page.get_by_role("button", name="Add to the running answer").click()

    expect(box(stage.page)).to_have_value("")
    expect(stage.page.locator("#announcements")).to_contain_text("Added to the running answer")
    [frame] = stage.frames
    assert (frame["type"], frame["text"]) == ("steer", "Open-source licences only")
    assert frame["execution_id"] == stage.turns[0].run.execution_id


@pytest.mark.slow
def test_words_that_the_run_does_not_take_stay_in_the_box(open_stage: Any) -> None:
    stage = open_stage(Turn(recorded.diamond_in_the_middle()))
    stage.steer_answer = {"type": "error", "error": {"code": "over", "message": "The run is over. Ask anew."}}
    box(stage.page).fill("Wait")
    box(stage.page).press("Enter")

    expect(stage.page.locator("#composer-why")).to_have_text("The run is over. Ask anew.")
    expect(box(stage.page)).to_have_value("Wait")


@pytest.mark.slow
def test_beside_a_run_that_waits_for_a_person_something_else_can_be_asked(open_stage: Any) -> None:
    stage = waiting(open_stage, recorded.asking("input", "How many?"))
    box(stage.page).fill("What is a chunk?")
    box(stage.page).press("Enter")

    expect(stage.page.get_by_role("article", name="Question, not sent yet")).to_contain_text("What is a chunk?")
    assert [frame["type"] for frame in stage.frames] == ["say"]


@pytest.mark.slow
def test_escape_does_not_end_a_run_that_waits_for_a_person(open_stage: Any) -> None:
    stage = waiting(open_stage, recorded.asking("decision", "Which?", options=("A", "B")))
    stage.page.keyboard.press("Escape")
    box(stage.page).press("Escape")
    assert stage.frames == []

    stage.page.get_by_role("button", name="Stop the run that waits").click()

    expect(stage.page.locator(".activity-line")).to_contain_text("Stopping")
    assert [frame["type"] for frame in stage.frames] == ["cancel"]


@pytest.mark.slow
@pytest.mark.spec("S3", "S35")
def test_research_is_asked_with_its_depth_and_field(open_stage: Any) -> None:
    stage = open_stage(Turn(recorded.plain(), status="completed"))
    page = stage.page
    page.get_by_role("button", name="Mode: Auto").click()
    page.get_by_role("menuitemradio", name=re.compile("^Research")).click()
    page.get_by_role("combobox", name="Depth").select_option("deep")
    page.get_by_role("combobox", name="Field").select_option("market")
    box(page).fill("Who sells vector databases?")
    box(page).press("Enter")
    expect(page.get_by_role("article", name="Question, not sent yet")).to_be_visible()

    [frame] = stage.frames
    assert (frame["mode"], frame["options"]) == ("research", {"depth": "deep", "scenario": "market"})
    page.reload()
    expect(page.get_by_role("button", name="Mode: Research")).to_be_visible()
    expect(page.get_by_role("combobox", name="Depth")).to_have_value("deep")


@pytest.mark.slow
@pytest.mark.spec("B13")
def test_the_plan_can_be_asked_for_before_it_runs(open_stage: Any) -> None:
    stage = open_stage(Turn(recorded.plain(), status="completed"))
    page = stage.page
    page.get_by_role("button", name="Mode: Auto").click()
    page.get_by_role("menuitemcheckbox", name=re.compile("Show me the plan first")).click()
    box(page).fill("Compare and write")
    box(page).press("Enter")
    expect(page.get_by_role("article", name="Question, not sent yet")).to_be_visible()

    assert stage.frames[0]["options"] == {"show_plan": True}
    page.reload()
    expect(page.get_by_role("button", name="Mode: Auto · plan first")).to_have_text("Auto · plan first")


@pytest.mark.slow
def test_a_mode_that_lacks_something_says_what(open_stage: Any) -> None:
    reason = "No search provider is configured: set TAVILY_API_KEY."
    roster = {"results": [{"name": "web", "enabled": True, "available": False, "unavailable_reason": reason}]}
    stage = open_stage(Turn(recorded.plain(), status="completed"), answers={"/agents": (200, roster)})
    stage.page.get_by_role("button", name="Mode: Auto").click()

    web = stage.page.get_by_role("menuitemradio", name=re.compile("^Web"))
    expect(web).to_be_disabled()
    expect(web).to_contain_text("No search provider is configured")
    expect(web).to_have_attribute("title", reason)
    for _ in ("Chat", "Documents", "Research"):
        stage.page.keyboard.press("ArrowDown")
    expect(stage.page.get_by_role("menuitemradio", name=re.compile("^Research"))).to_be_focused()
