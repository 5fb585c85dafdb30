"""How a run came to its answer, on the page: the plan as a checklist, the tree of agents, their calls, and all of it
again after a reload. The page is the product's; the runs are recorded ones.
"""

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from agents.engine import events as e
from tests.clean_page import axe_faults
from tests.page import recorded
from tests.page.conftest import FORMS
from tests.page.recorded import ROOT, Recorded
from tests.page.stage import Stage, Turn

HOSTILE = '<img src=x onerror="alert(1)"><script>alert(2)</script> [x](javascript:alert(3)) \u202egnp.exe'

# And is painted: what holds the reader's place has done so by then.
GROWS = """async (node) => {
    node.style.paddingBlockEnd = "300px";
    for (let frame = 0; frame < 3; frame += 1) await new Promise(requestAnimationFrame);
}"""


def line(page: Page) -> Locator:
    return page.locator(".activity-line").last


def tasks(page: Page) -> list[str | None]:
    return [task.get_attribute("data-status") for task in page.locator(".task-row").all()]


def open_tree(page: Page) -> None:
    page.get_by_role("button", name=re.compile("Agents and tools")).click()


def node(page: Page, name: str) -> Locator:
    return page.locator(".node").filter(has=page.locator(":scope > .row-button .agent-badge", has_text=name)).last


def open_node(page: Page, name: str) -> Locator:
    found = node(page, name)
    found.locator(":scope > .row-button").click()
    return found


OPEN_ALL = """async () => {
    const drawn = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
    const closed = () => document.querySelector(".activity [aria-expanded=false]:not(.intervene *)");
    const comes = () => document.querySelector(".activity-body:not(:has(.workers))"); // loaded when it is first wanted
    for (let button; (button = closed()) || comes(); await drawn()) button?.click();
    for (const button of document.querySelectorAll(".intervene-row button:nth-child(2)")) button.click();
    for (const details of document.querySelectorAll(".answer details")) details.open = true;
    await drawn();
}"""


def shown(page: Page) -> str:
    """All that stands in the answer, opened, without the clocks that go on."""
    page.evaluate(OPEN_ALL)
    return re.sub(r"\b\d+(\.\d+)? s\b|\b\d+:\d\d\b", "", page.locator(".answer").last.inner_text())


@pytest.fixture
def in_the_middle(open_stage: Any) -> Stage:
    stage: Stage = open_stage(Turn(recorded.diamond_in_the_middle()))
    return stage


@pytest.mark.spec("S148")
def test_a_plan_is_a_checklist_with_progress_while_it_is_worked_on(in_the_middle: Stage) -> None:
    page = in_the_middle.page

    expect(line(page)).to_contain_text("Plan · 2 of 5 done · Data analysis and Web at work")
    assert tasks(page) == ["completed", "completed", "running", "running", "pending"]
    bar = page.get_by_role("progressbar", name="Progress of the plan")
    assert (bar.get_attribute("aria-valuenow"), bar.get_attribute("aria-valuemax")) == ("2", "5")
    expect(page.locator(".plan-stage.is-together .task-row")).to_have_count(3)
    expect(page.get_by_label("Plan", exact=True)).to_contain_text("This plan will ask you about: “Send a mail”")


@pytest.mark.spec("S148")
def test_a_task_opens_to_what_it_shall_bring(in_the_middle: Stage) -> None:
    page = in_the_middle.page
    task = page.locator(".task-row[data-step=write]")

    task.get_by_role("button").click()

    expect(task).to_contain_text("A clear choice, its reason, and when to look again")
    expect(task).to_contain_text("after tasks 2, 3, 4")


@pytest.mark.spec("S148", "S16")
def test_the_plan_follows_the_events_and_folds_when_the_answer_is_there(in_the_middle: Stage) -> None:
    page, turn = in_the_middle.page, in_the_middle.turns[0]
    before = len(turn.run.events)
    recorded.end(turn.run, recorded.STEPS[2])
    recorded.end(turn.run, recorded.STEPS[3], "failed", "The site is down.")
    in_the_middle.tell(turn, before)
    expect(line(page)).to_contain_text("3 of 5 done")
    assert tasks(page)[2:4] == ["completed", "failed"]
    expect(page.locator(".task-row[data-step=check]")).to_contain_text("The site is down.")

    before = len(turn.run.events)
    turn.run.tell(ROOT, e.PlanOverview(steps=recorded.STEPS, revision=1, notice="prices from our documents"))
    in_the_middle.tell(turn, before)
    expect(page.get_by_text("Plan amended: prices from our documents")).to_be_visible()

    before = len(turn.run.events)
    turn.run.finish("Take pgvector.")
    in_the_middle.tell(turn, before)
    expect(page.locator(".plan")).to_have_count(0)
    expect(line(page)).to_contain_text(re.compile(r"^Plan · 3 of 5 done · \d"))
    line(page).click()
    expect(page.locator(".plan")).to_be_visible()


@pytest.mark.spec("S149", "S90", "S95", "B15")
def test_the_tree_shows_who_works_under_whom_on_what_and_at_what_cost(in_the_middle: Stage) -> None:
    page = in_the_middle.page
    open_tree(page)

    data = node(page, "Data analysis")
    expect(data).to_have_attribute("data-status", "running")
    expect(data.locator(".tree .node")).to_contain_text("Fit the latency curve")
    expect(node(page, "Research")).to_contain_text("3,760 tokens")
    writing = open_node(page, "Writing")
    expect(writing).to_contain_text("Documents (task 2), Data analysis (task 3), Web (task 4)")


@pytest.mark.spec("S134", "S136", "S147")
def test_calls_stand_below_their_stage_with_their_own_results(in_the_middle: Stage) -> None:
    page = in_the_middle.page
    open_tree(page)
    research = open_node(page, "Research")
    calls = research.locator(".entry-stage .tool-call")

    expect(calls).to_have_count(3)
    assert [call.get_attribute("data-status") for call in calls.all()] == ["completed", "completed", "failed"]
    expect(calls.nth(2)).to_contain_text("Error: the server did not answer within 3 s.")
    expect(calls.nth(0).locator(".tool-name")).to_have_text("Search the web")
    expect(calls.nth(0)).not_to_contain_text("web_search")
    calls.nth(0).get_by_role("button").click()
    expect(calls.nth(0).locator(".tool-detail")).to_contain_text("Tool web_search")
    expect(calls.nth(0).get_by_label("Arguments")).to_contain_text('"top_k": 8')
    expect(calls.nth(0).get_by_label("Result")).to_have_text("8 results, best: Approximate search in Postgres")
    expect(calls.nth(1)).not_to_contain_text("8 results")
    expect(research.get_by_text("2 sources")).to_be_visible()


@pytest.mark.spec("S134", "S5")
def test_routing_and_handoffs_can_be_seen(in_the_middle: Stage) -> None:
    page = in_the_middle.page
    open_tree(page)

    expect(page.locator(".routing")).to_contain_text("Planned for several agents · heuristic · 0.92")
    expect(open_node(page, "Data analysis")).to_contain_text("Data analysis → Code: Fit the latency curve")


@pytest.mark.slow
@pytest.mark.spec("S5")
def test_a_doubtful_route_offers_the_other_modes_and_asks_again_in_one(open_stage: Any) -> None:
    stage = open_stage(Turn(recorded.plain(), question="Why is the sky blue?", status="completed"))

    stage.page.get_by_role("button", name="Research").click()

    expect(stage.page.get_by_role("article", name="Question, not sent yet")).to_contain_text("Why is the sky blue?")
    said = [(frame["type"], frame["text"], frame["mode"]) for frame in stage.frames]
    assert said == [("say", "Why is the sky blue?", "research")]


@pytest.mark.slow
def test_a_doubtful_route_that_still_runs_is_stopped_before_it_is_asked_again(open_stage: Any) -> None:
    run = recorded.plain()
    del run.events[-2:]
    stage = open_stage(Turn(run, question="Why is the sky blue?"))

    stage.page.get_by_role("button", name="Web").click()

    expect(stage.page.get_by_role("article", name="Question, not sent yet")).to_be_visible()
    assert [frame["type"] for frame in stage.frames] == ["cancel", "say"]


@pytest.mark.slow
@pytest.mark.spec("B10")
def test_a_reload_in_the_middle_shows_the_same(in_the_middle: Stage) -> None:
    page = in_the_middle.page
    before = shown(page)

    page.reload()
    page.locator(".plan").wait_for()

    assert shown(page) == before
    assert "Fit the latency curve" in before


@pytest.mark.slow
@pytest.mark.spec("B10")
def test_a_run_that_is_over_shows_the_same_to_who_watched_and_to_who_comes_later(open_stage: Any) -> None:
    run = recorded.finished()
    watched = open_stage(Turn(run.until(30), ids=("q", "a")))
    watched.tell(Turn(run), 30)
    expect(line(watched.page)).to_contain_text("4 of 5 done · 1 failed")

    later = open_stage(Turn(run, status="completed", ids=("q", "a")))
    expect(line(later.page)).to_contain_text("4 of 5 done · 1 failed")

    assert shown(later.page) == shown(watched.page)


@pytest.mark.slow
def test_what_is_opened_at_the_end_of_a_page_grows_below_the_readers_eyes(open_stage: Any) -> None:
    stage = open_stage(Turn(recorded.finished(), status="completed"), viewport={"width": 1280, "height": 760})
    expect(line(stage.page)).to_contain_text("Plan")

    line(stage.page).click()

    expect(stage.page.locator(".node").last).to_be_attached()
    expect(stage.page.get_by_role("button", name="Jump to the latest")).to_be_visible()
    expect(line(stage.page)).to_be_in_viewport()
    place = line(stage.page).bounding_box()
    stage.page.locator(".node").last.evaluate(GROWS)
    assert line(stage.page).bounding_box() == place


@pytest.mark.slow
def test_what_could_not_be_read_of_an_old_run_can_be_read_again(open_stage: Any) -> None:
    run = recorded.plain()
    path = f"/executions/{run.execution_id}/events"
    refusal = {"error": {"code": "busy", "message": "The database is busy."}}
    stage = open_stage(Turn(run, status="completed"), answers={path: (503, refusal)})
    line(stage.page).click()
    expect(stage.page.get_by_text("The database is busy.")).to_be_visible()

    del stage.answers[path]
    stage.page.get_by_role("button", name="Try again").click()

    expect(stage.page.locator(".routing")).to_contain_text("Routed to Chat · by the model · 0.41")


@pytest.mark.slow
def test_text_of_agents_is_never_mixed(open_stage: Any) -> None:
    run = Recorded()
    for name in ("one", "two"):
        run.agent(name, "chat", "running", task=name)
    for part in ("first ", "part"):
        run.tell("one", e.Token(content=part))
        run.tell("two", e.Token(content=part.upper()))
    stage = open_stage(Turn(run))

    expect(stage.page.locator(".prose p")).to_have_text(["first part", "FIRST PART"])


@pytest.mark.slow
@pytest.mark.spec("B24")
@pytest.mark.threat("T10", "T11")
def test_whatever_models_and_tools_write_is_text(open_stage: Any) -> None:
    step = e.PlannedStep(id=HOSTILE, agent=HOSTILE, task=HOSTILE, expected_outcome=HOSTILE, tools=(HOSTILE,))
    run = Recorded()
    run.tell(ROOT, e.Routing(agent=HOSTILE, reason=HOSTILE, method=HOSTILE))
    run.tell(ROOT, e.PlanOverview(steps=(step,), notice=HOSTILE, asks_about=(HOSTILE,)))
    run.agent("x", HOSTILE, "running", task=HOSTILE, step_id=HOSTILE, user_comment=HOSTILE)
    run.tell("x", e.Stage(name=HOSTILE, description=HOSTILE, status=e.StageStatus.RUNNING))
    run.tell(
        "x",
        e.ToolCall(tool=HOSTILE, args={HOSTILE: HOSTILE}, id="1"),
        e.ToolResult(tool=HOSTILE, content=HOSTILE, id="1"),
    )
    run.tell("x", e.Handoff(source_agent=HOSTILE, target_agent=HOSTILE, task_description=HOSTILE))
    run.tell("x", e.CodeResult(code=HOSTILE, stdout=HOSTILE, stderr=HOSTILE, exit_code=1))
    run.tell("x", e.Guardrail(scanner=HOSTILE, action=HOSTILE, reason=HOSTILE))
    run.tell("x", e.SkillOutput(skill_id=HOSTILE, output={HOSTILE: HOSTILE}))
    run.tell(
        "x", e.SourceFound(source=e.Source(type="web", source=HOSTILE, url="javascript:alert(4)", excerpt=HOSTILE))
    )
    run.tell(
        "x", e.Interrupt(request_id="r", kind="decision", question=HOSTILE, options=(HOSTILE,), details={HOSTILE: 1})
    )
    run.agent("x", HOSTILE, "failed", error=HOSTILE)
    stage = open_stage(Turn(run))

    text = shown(stage.page)

    assert text.count("<img src=x onerror=") > 12
    assert stage.page.locator(".answer :is(img, script, iframe, a[href^='javascript:'])").count() == 0


@pytest.mark.slow
def test_events_of_later_versions_do_no_harm(open_stage: Any) -> None:
    run = recorded.diamond_in_the_middle()
    for event in (
        {"type": "hologram"},
        {"type": "constructor"},
        {"type": "agent_state", "agent_name": "web", "status": "levitating"},
    ):
        told = {"execution_id": run.execution_id, "agent_id": recorded.agent_id("odd"), "timestamp": run.now_ms}
        run.events.append({"seq": len(run.events) + 1, **told, **event})
    stage = open_stage(Turn(run))

    open_tree(stage.page)

    expect(stage.page.locator(".node[data-status=levitating]")).to_be_visible()


@pytest.mark.slow
@pytest.mark.parametrize("form", list(FORMS))
def test_everything_opened_fits_and_keeps_axes_rules(open_stage: Any, form: str) -> None:
    review = recorded.asking(
        "plan", "Shall I go on?", details={"tasks": [one.model_dump(mode="json") for one in recorded.STEPS]}
    )
    turns = (
        Turn(recorded.finished(), status="completed"),
        Turn(recorded.diamond_in_the_middle()),
        Turn(review, status="awaiting_user"),
    )
    stage = open_stage(*turns, **FORMS[form])
    page = stage.page
    page.locator(".request").wait_for()
    page.locator(".answer").first.scroll_into_view_if_needed()  # what is out of view is not read
    page.get_by_text("4 of 5 done").wait_for()
    page.evaluate(OPEN_ALL)
    page.locator("#composer-text").fill("And one more thing")

    for part in ("html", ".thread"):
        assert page.locator(part).evaluate("element => element.scrollWidth - element.clientWidth") <= 0
    assert axe_faults(page) == []


def test_the_whole_of_it_is_reached_by_keyboard(in_the_middle: Stage) -> None:
    page = in_the_middle.page
    line(page).focus()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Open the run view")).to_be_focused()

    for words in ("benchmarks", "documents", "latency", "licence", "recommendation", "Agents and tools"):
        page.keyboard.press("Tab")
        expect(page.locator(":focus")).to_contain_text(words)
    page.keyboard.press("Enter")
    expect(page.get_by_role("list", name="Agents", exact=True)).to_be_visible()


def test_states_are_told_without_the_clock(in_the_middle: Stage) -> None:
    status = in_the_middle.page.locator(".activity [role=status]")

    assert status.inner_text() == "Plan · 2 of 5 done · Data analysis and Web at work"
