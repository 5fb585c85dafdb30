"""The run view on a stage: plan and graph, agents, steps, outputs, the timeline and its replay, from recorded runs."""

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from agents.engine import events as e
from tests.clean_page import axe_faults
from tests.page import recorded, recorded_hands
from tests.page.conftest import FORMS
from tests.page.recorded import Recorded
from tests.page.stage import Stage, Turn

PARTS = ("Plan", "Agents", "Steps", "Outputs", "Timeline")
EVENTS = 20_000


def panel(page: Page) -> Locator:
    return page.locator(".run-panel")


def open_run(page: Page) -> None:
    page.locator(".activity-open").last.click()
    page.locator(".run-transport").wait_for()


def part(page: Page, name: str) -> None:
    panel(page).get_by_role("tab", name=name).click()


def scrubber(page: Page) -> Locator:
    return page.get_by_role("slider", name="Moment of the run")


def at(page: Page) -> int:
    return int(scrubber(page).get_attribute("aria-valuenow") or -1)


def statuses(page: Page) -> list[str | None]:
    return [task.get_attribute("data-status") for task in panel(page).locator(".task-row").all()]


@pytest.mark.slow
@pytest.mark.spec("B9", "B10", "S144", "S145", "S147", "S148")
def test_a_finished_run_is_replayed_event_by_event(open_stage: Any) -> None:
    run = recorded.finished()
    page = open_stage(Turn(run, status="completed")).page
    open_run(page)
    assert statuses(page) == ["completed", "completed", "completed", "failed", "completed"]
    planned = next(event["seq"] for event in run.events if event["type"] == "plan_overview")
    begun = next(event["seq"] for event in run.events if event["type"] == "plan_step")

    scrubber(page).focus()
    page.keyboard.press("Home")
    expect(panel(page)).to_contain_text("There is no plan yet.")
    for _ in range(planned):
        page.keyboard.press("ArrowRight")
    assert at(page) == planned
    assert statuses(page) == ["pending"] * 5
    for _ in range(begun - planned):
        page.keyboard.press("ArrowRight")
    assert statuses(page)[0] == "running"

    part(page, "Timeline")
    expect(panel(page).locator(".run-answer")).to_contain_text("Nothing of it was written yet.")
    expect(panel(page).locator(".lanes-now")).to_be_visible()
    panel(page).get_by_role("combobox", name="Speed").select_option("50")
    panel(page).get_by_role("button", name="Play").click()
    expect(panel(page).get_by_role("button", name="Play")).to_be_visible()  # it played to the end
    assert at(page) == len(run.events)
    expect(panel(page).locator(".run-answer")).to_contain_text("Look again at about two million chunks.")
    page.keyboard.press("Tab")
    panel(page).get_by_role("button", name="To the end").click()
    expect(panel(page).locator(".lanes-now")).to_have_count(0)


@pytest.mark.slow
@pytest.mark.spec("S148")
def test_the_graph_is_walked_by_arrows_and_leads_to_the_agent(open_stage: Any) -> None:
    page = open_stage(Turn(recorded.diamond_in_the_middle())).page
    open_run(page)
    panel(page).get_by_role("button", name="Graph").click()
    nodes = panel(page).locator(".graph-node")
    expect(nodes).to_have_count(5)
    expect(panel(page).locator(".graph-edges path")).to_have_count(6)
    assert [node.get_attribute("data-status") for node in nodes.all()][2:] == ["running", "running", "pending"]

    panel(page).locator("[data-node=gather]").focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowDown", "ArrowUp", "Enter"):
        page.keyboard.press(key)
    detail = panel(page).locator(".run-card")
    expect(detail).to_be_focused()
    expect(detail).to_have_attribute("data-task", "compute")
    detail.get_by_role("button", name="Show its agent").click()

    agent = panel(page).locator(f".node[data-agent='{recorded.agent_id('compute')}']")
    expect(agent.get_by_role("button").first).to_have_attribute("aria-expanded", "true")
    expect(agent).to_contain_text("With all below")
    expect(agent.get_by_role("button", name="Stop", exact=True)).to_be_visible()


@pytest.mark.slow
def test_steps_are_found_by_words_agent_and_kind(open_stage: Any) -> None:
    page = open_stage(Turn(recorded.finished(), status="completed")).page
    open_run(page)
    part(page, "Steps")
    search = panel(page).get_by_role("searchbox")
    steps = panel(page).locator(".step")

    search.fill("the weaviate 2026")  # "Search the web" is what the step is called
    expect(steps).to_have_count(1)
    steps.get_by_role("button").first.click()
    expect(steps.get_by_label("Result")).to_contain_text("8 results, best")
    search.fill("")
    panel(page).get_by_role("combobox", name="Kind").select_option(label="Model calls (3)")
    expect(steps).to_have_count(3)
    panel(page).get_by_role("combobox", name="Agent").select_option(index=1)
    expect(panel(page).get_by_role("status").last).to_contain_text("1 of")


@pytest.mark.slow
@pytest.mark.spec("B10")
def test_of_a_long_result_the_beginning_is_told_and_the_whole_is_read_where_somebody_wants_it(open_stage: Any) -> None:
    run = recorded.diamond_in_the_middle()
    found = "\n".join(f"page {number}" for number in range(200))
    run.tell("ours", e.ToolCall(tool="fetch_url", args={"url": "https://example.org/all"}, id="long"))
    run.tell("ours", e.ToolResult(tool="fetch_url", content=found, id="long"))
    address = f"/executions/{run.execution_id}/events/{run.last['seq']}/result"
    stage = open_stage(Turn(run), answers={address: (503, {"error": {"code": "away", "message": "Not now."}})})
    page = stage.page
    open_run(page)
    part(page, "Steps")
    panel(page).get_by_role("searchbox").fill("example.org/all")
    step = panel(page).locator(".step")
    step.get_by_role("button").first.click()
    result = step.get_by_label("Result")
    expect(result).not_to_contain_text("page 199")

    step.get_by_role("button", name="Show all of it").click()
    expect(step.get_by_role("alert")).to_have_text("Not now.")
    stage.answers[address] = (200, {"tool": "fetch_url", "content": found, "chars": 9_000})
    step.get_by_role("button", name="Show all of it").click()

    expect(result).to_contain_text("page 199")
    expect(step).to_contain_text("Of 9,000 characters this is what was kept.")
    expect(step.get_by_text("Only the beginning is shown.")).to_have_count(0)


@pytest.mark.slow
def test_all_that_was_made_is_in_one_place(open_stage: Any) -> None:
    page = open_stage(Turn(recorded_hands.analysed(), status="completed"), picture=b"").page
    open_run(page)
    expect(panel(page)).to_contain_text("No plan: this run did without one.")

    part(page, "Outputs")

    expect(panel(page).locator("figure.chart")).to_have_count(2)
    expect(panel(page).get_by_role("group", name="Files")).to_contain_text("by month.csv")


@pytest.mark.slow
@pytest.mark.spec("B10", "B9")
def test_its_address_and_width_stay_and_it_opens_and_closes_by_key(in_run: Stage) -> None:
    page = in_run.page
    page.locator("#composer-text").focus()
    page.keyboard.press("Control+Shift+E")
    expect(panel(page)).to_be_focused()
    assert f"?run={in_run.turns[0].run.execution_id}" in page.url
    resize = page.get_by_role("separator", name="Width of the run view")
    resize.focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowLeft")
    width = resize.get_attribute("aria-valuenow")
    assert width == "384"

    page.reload()
    expect(page.get_by_role("separator", name="Width of the run view")).to_have_attribute("aria-valuenow", "384")
    page.keyboard.press("Control+Shift+E")
    expect(panel(page)).to_have_count(0)
    assert "run=" not in page.url


@pytest.fixture
def in_run(open_stage: Any) -> Stage:
    stage: Stage = open_stage(Turn(recorded.diamond_in_the_middle()), viewport={"width": 1440, "height": 900})
    return stage


def test_a_live_run_follows_its_end_unless_somebody_looks_back(in_run: Stage) -> None:
    page, turn = in_run.page, in_run.turns[0]
    open_run(page)
    expect(scrubber(page)).to_have_attribute("tabindex", "0")
    before = len(turn.run.events)
    recorded.end(turn.run, recorded.STEPS[2])
    in_run.tell(turn, before)
    expect(panel(page).locator(".task-row[data-step=compute]")).to_have_attribute("data-status", "completed")

    scrubber(page).focus()
    page.keyboard.press("Home")
    before = len(turn.run.events)
    recorded.end(turn.run, recorded.STEPS[3])
    in_run.tell(turn, before)
    expect(panel(page)).to_contain_text("There is no plan yet.")
    expect(panel(page).locator(".node")).to_have_count(0)
    panel(page).get_by_role("button", name="Live").click()
    expect(panel(page).locator(".task-row[data-step=check]")).to_have_attribute("data-status", "completed")


@pytest.mark.slow
@pytest.mark.parametrize("form", list(FORMS))
def test_every_part_fits_and_keeps_axes_rules(open_stage: Any, form: str) -> None:
    stage = open_stage(Turn(recorded.finished(), status="completed"), **FORMS[form])
    page = stage.page
    open_run(page)
    is_sheet = form.startswith("phone")
    assert page.locator("#content").evaluate("element => element.inert") == is_sheet

    faults = []
    for name in PARTS:
        part(page, name)
        if name == "Plan":
            panel(page).get_by_role("button", name="Graph").click()
        assert page.locator("html").evaluate("element => element.scrollWidth - element.clientWidth") <= 0
        if is_sheet and name not in ("Plan", "Timeline"):
            continue  # in the other form
        faults += [f"{name}: {fault}" for fault in axe_faults(page, context=".run-panel")]
    assert faults == []

    page.get_by_role("button", name="Back to the chat" if is_sheet else "Close the run view").click()
    expect(panel(page)).to_have_count(0)
    expect(page.locator(".activity-open")).to_be_focused()


@pytest.mark.slow
@pytest.mark.spec("B24")
@pytest.mark.threat("T10")
def test_whatever_a_run_says_is_text(open_stage: Any) -> None:
    hostile = '<img src=x onerror="alert(1)"><script>alert(2)</script>'
    run = Recorded()
    run.tell(recorded.ROOT, e.PlanOverview(steps=(e.PlannedStep(id=hostile, agent=hostile, task=hostile),)))
    run.agent("x", hostile, "running", task=hostile, step_id=hostile)
    run.tell("x", e.ToolCall(tool=hostile, args={hostile: f"{hostile}\n"}, id="1"))
    run.tell("x", e.ToolResult(tool=hostile, content=hostile, id="1"))
    run.tell("x", e.Interrupt(request_id="r", kind="decision", question=hostile, options=(hostile,)))
    page = open_stage(Turn(run)).page
    open_run(page)

    for name in PARTS:
        part(page, name)
        for button in panel(page).locator("[aria-expanded=false]").all():
            button.click()
        if name == "Plan":
            panel(page).get_by_role("button", name="Graph").click()
            panel(page).locator(".graph-node").click()
        assert panel(page).locator("img, script, iframe").count() == 0
        assert name == "Outputs" or "<img" in panel(page).inner_text().lower()


@pytest.mark.slow
def test_of_a_run_of_many_events_only_what_is_seen_is_drawn(open_stage: Any) -> None:
    run = Recorded()
    names = [f"worker {number}" for number in range(8)]
    for name in names:
        run.agent(name, "web", "running", task=name)
    while len(run.events) < EVENTS - 20:
        number = len(run.events)
        name = names[number % 8]
        run.tell(name, e.ToolCall(tool="search", args={"query": f"about {number}"}, id=str(number)))
        run.tell(name, e.ToolResult(tool="search", content=f"found {number}", id=str(number)))
    run.finish("That was much.")
    page = open_stage(Turn(run, status="completed")).page
    open_run(page)

    part(page, "Steps")
    expect(panel(page).locator(".steps-count")).to_have_text(re.compile(r"9,9\d\d steps"))
    assert 0 < panel(page).locator(".step").count() < 300
    page.locator(".run-body").focus()
    page.keyboard.press("End")
    last = next(event for event in reversed(run.events) if event["type"] == "tool_call")
    expect(panel(page).locator(".step").last).to_contain_text(last["args"]["query"])
    assert panel(page).locator(".step").count() < 300
    part(page, "Timeline")
    expect(panel(page).locator(".lane")).to_have_count(9)


@pytest.mark.slow
def test_of_a_run_whose_log_is_kept_no_longer_the_view_says_so_and_asks_no_more(open_stage: Any) -> None:
    run = recorded.finished()
    words = "The log of this run, with its steps, is no longer kept. Its question and its answer are."
    gone = (410, {"error": {"code": "log_not_kept", "message": words}})
    stage = open_stage(Turn(run, status="completed"), answers={f"/executions/{run.execution_id}/events": gone})

    stage.page.goto(f"{stage.page.url}?run={run.execution_id}")
    said = panel(stage.page).get_by_role("alert")

    expect(said).to_have_text(words)
    expect(said.get_by_role("button")).to_have_count(0)


@pytest.mark.slow
@pytest.mark.parametrize("width", [1920, 1024, 390, 320])
def test_the_graph_and_its_buttons_lie_within_the_panel(open_stage: Any, width: int) -> None:
    page = open_stage(Turn(recorded.finished(), status="completed"), viewport={"width": width, "height": 844}).page
    open_run(page)
    panel(page).get_by_role("button", name="Graph").click()

    expect(panel(page).locator(".graph")).to_be_visible()
    too_wide = page.locator(".run-body").evaluate("body => body.scrollWidth - body.clientWidth")
    box, fit = panel(page).bounding_box(), panel(page).get_by_role("button", name="All of it").bounding_box()

    assert too_wide <= 0
    assert box is not None
    assert fit is not None
    assert fit["x"] + fit["width"] <= box["x"] + box["width"]
    if width < 480:
        canvas = panel(page).locator(".graph-canvas").bounding_box()
        assert canvas is not None
        assert canvas["height"] > 150
        assert fit["y"] >= canvas["y"] + canvas["height"]
    # Beside the chat where there is room, with the conversations out of the way on a small window.
    assert page.locator(".main").get_attribute("inert") == ("" if width < 800 else None)
    assert page.locator(".app").evaluate("app => app.classList.contains('has-sidebar')") == (width > 1100)
