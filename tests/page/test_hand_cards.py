"""What agents do with their hands, on the page: programs, charts, pictures, files, the browser, apps. The page is the
product's, under its content policy; the runs are recorded ones.
"""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from agents.engine import events as e
from tests.clean_page import axe_faults
from tests.page import recorded_hands as recorded
from tests.page.conftest import FORMS
from tests.page.recorded import Recorded
from tests.page.stage import Stage, Turn
from tests.page.test_activity import HOSTILE, OPEN_ALL

PICTURE = (Path(__file__).parents[2] / "docs" / "images" / "chat.png").read_bytes()
QUESTION = "Analyse this CSV and plot it"


def programs(page: Page) -> Locator:
    return page.locator(".programs .program")


def over(run: Recorded) -> Turn:
    return Turn(run, question=QUESTION, status="completed", ids=("q", "a"))


def draw_all(page: Page) -> None:
    """A chart is drawn when it comes near the window."""
    page.locator(".chart").nth(1).wait_for()
    for chart in page.locator(".chart").all():
        chart.scroll_into_view_if_needed()
        chart.locator("[data-drawn]").wait_for()


def shown(page: Page) -> str:
    """All that stands in the answer, without the clocks."""
    draw_all(page)
    return re.sub(r"\b\d+(\.\d+)? s\b", "", page.locator(".answer").last.inner_text())


@pytest.mark.slow
@pytest.mark.spec("S134", "S139", "S177")
def test_a_program_is_watched_while_it_runs_and_what_came_of_it_stands_below_the_answer(open_stage: Any) -> None:
    run = recorded.analysing(until_output=True)
    stage: Stage = open_stage(Turn(run, question=QUESTION, ids=("q", "a")), picture=PICTURE)
    page = stage.page
    head = programs(page).get_by_role("button", name=re.compile("Running Python"))
    expect(head).to_have_attribute("aria-expanded", "true")
    expect(page.get_by_label("Program", exact=True)).to_contain_text("# Revenue by month")
    expect(page.locator(".program-code .hljs-keyword").first).to_have_text("import")
    expect(page.get_by_label("Program", exact=True)).not_to_contain_text("savefig")
    page.get_by_role("button", name="Show all 21 lines").click()
    expect(page.get_by_label("Program", exact=True)).to_contain_text('figure.savefig("revenue.png", dpi=150)')
    output = page.get_by_label("Output", exact=True)
    expect(output).to_have_text("Rows: 6\nTotal: 12,840\nwarning: one value is missing\n")
    expect(output.locator(".is-err.ansi-yellow")).to_have_text("warning")

    before = len(run.events)
    run.tell("data", e.TerminalOutput(content="Best month: June with 2,610\n", id="p1"))
    stage.tell(stage.turns[0], before)
    expect(output).to_contain_text("Best month: June with 2,610")

    before = len(run.events)
    recorded.ended(run)
    run.say("data", recorded.ANSWER)
    run.agent("data", "data", "completed")
    run.finish(recorded.ANSWER)
    stage.tell(stage.turns[0], before)
    expect(page.locator(".program")).to_have_attribute("data-status", "completed")
    expect(page.locator(".program .program-body")).to_have_count(0)
    expect(page.locator(".chart-title")).to_have_text(["Revenue by region", "Revenue"])
    expect(
        page.get_by_role("img", name="Bar chart: Revenue by region. North, South. 6 values in 2 series.")
    ).to_be_visible()
    expect(page.get_by_role("img", name="Revenue by month")).to_have_js_property("complete", True)
    chips = page.get_by_role("group", name="Files").get_by_role("listitem")
    expect(chips).to_have_text(["revenue.png38 kB", "tables/by month.csv412 B", "drawn.png20 kB"])
    link = f"/api/v1/files/conversation/{stage.conversation_id}"
    expect(chips.nth(1).get_by_role("link", name="Download by month.csv")).to_have_attribute(
        "href", f"{link}/tables/by%20month.csv"
    )
    expect(page.locator(".picture img")).to_have_attribute("src", f"{link}/revenue.png?inline=1&version=2")
    watched = shown(page)

    later = open_stage(over(run), picture=PICTURE)
    assert shown(later.page) == watched


@pytest.mark.slow
@pytest.mark.spec("S139")
def test_a_chart_is_a_table_and_files_to_save_and_follows_the_theme(open_stage: Any) -> None:
    stage: Stage = open_stage(over(recorded.analysed()), picture=PICTURE)
    page = stage.page
    draw_all(page)
    bars = page.locator(".chart").first
    bars.scroll_into_view_if_needed()
    pixel = "canvas => [...canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data].join()"
    light = bars.locator("canvas").evaluate(pixel)
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    expect(bars.locator("canvas")).not_to_have_js_property("width", 0)
    assert bars.locator("canvas").evaluate(pixel) != light

    bars.get_by_role("button", name="Table").click()
    expect(bars.get_by_role("columnheader")).to_have_text(["North", "South"])
    expect(bars.get_by_role("row").nth(3)).to_have_text("Mar1,105")
    with page.expect_download() as saved:
        bars.get_by_role("button", name="Save the figures as CSV").click()
    assert saved.value.suggested_filename == "revenue-by-region.csv"
    assert Path(saved.value.path()).read_text().splitlines()[:2] == [",North,South", "Jan,980,850"]
    bars.get_by_role("button", name="Chart", exact=True).click()
    bars.locator("[data-drawn]").wait_for()
    with page.expect_download() as saved:
        bars.get_by_role("button", name="Save the chart as PNG").click()
    assert Path(saved.value.path()).read_bytes().startswith(b"\x89PNG")

    page.get_by_role("button", name="Open the picture: Revenue by month").click()
    expect(page.get_by_role("dialog", name="Revenue by month").get_by_role("img")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


@pytest.mark.slow
@pytest.mark.spec("S139", "S140")
def test_commands_the_browser_an_app_and_a_skill_are_shown_in_words(open_stage: Any) -> None:
    stage: Stage = open_stage(Turn(recorded.building()), picture=PICTURE)
    page = stage.page
    page.route("**/previews/*/", lambda route: route.fulfill(body="<h1>Shop</h1>", content_type="text/html"))
    expect(programs(page)).to_have_count(4)
    page.get_by_role("button", name="1 earlier program").click()
    expect(programs(page)).to_have_count(5)
    failed = programs(page).nth(2)
    expect(failed).to_have_attribute("data-status", "failed")
    failed.get_by_role("button", name=re.compile("Ran a command · exit 1")).click()
    expect(failed).to_contain_text("$ npm test")
    expect(failed).to_contain_text("expected 2 to be 3")
    expect(failed).to_contain_text("It ended with exit code 1.")
    browser = page.get_by_role("group", name="Browser")
    expect(browser).to_contain_text("Clicked Add to basket")
    expect(browser.get_by_role("img", name="The page Shop")).to_be_visible()
    assert page.locator("iframe").count() == 0

    page.get_by_role("button", name="Open preview").click()
    frame = page.locator("iframe")
    expect(frame).to_have_attribute("sandbox", "allow-scripts allow-forms allow-same-origin")
    expect(page.frame_locator("iframe").get_by_role("heading", name="Shop")).to_be_visible()

    page.evaluate(OPEN_ALL)
    skill = page.locator(".entry-skill")
    expect(skill).to_contain_text("Used the skill data analysis")
    expect(skill.get_by_role("definition")).to_have_text(["What sells?", "2", "a.csv, b.csv"])


@pytest.mark.slow
@pytest.mark.spec("B24")
@pytest.mark.threat("T10")
def test_what_programs_and_models_say_is_text_and_nothing_of_elsewhere_is_loaded(open_stage: Any) -> None:
    run = Recorded()
    run.agent("x", "data", "running", task="x")
    run.tell("x", e.TerminalCommand(command=HOSTILE, language=HOSTILE, id="1"))
    run.tell("x", e.TerminalOutput(content=f"{HOSTILE}\x1b]8;;javascript:alert(1)\x07link\x1b[0m", id="1"))
    run.tell("x", e.TerminalComplete(exit_code=1, note=HOSTILE, id="1"))
    run.tell("x", e.CodeResult(code=HOSTILE, stderr=HOSTILE))
    datasets = [{"label": HOSTILE, "data": [1, 2], "backgroundColor": "url(https://evil.example/x)"}]
    spec = {"type": "bar", "data": {"labels": [HOSTILE, "b"], "datasets": datasets}, "options": {"onClick": "alert(1)"}}
    run.tell("x", e.Visualization(title=HOSTILE, spec=spec), e.Visualization(title="none", spec={"type": "evil"}))
    for path in (HOSTILE, "https://evil.example/a.png", "../../a.png", "//evil.example/a.png"):
        run.tell("x", e.Image(path=path, alt=HOSTILE), e.WorkspaceUpdate(path=path, operation="written"))
    run.tell("x", e.BrowserAction(action=HOSTILE, target=HOSTILE, url="javascript:alert(1)", title=HOSTILE))
    run.tell("x", e.BrowserStream(url="https://evil.example/"))
    run.tell("x", e.AppPreview(url="https://evil.example/", title=HOSTILE), e.AppPreview(url="javascript:alert(1)"))
    run.tell("x", e.SkillOutput(skill_id=HOSTILE, output={HOSTILE: {HOSTILE: HOSTILE}}))
    stage: Stage = open_stage(Turn(run))
    page = stage.page
    page.locator(".chart").scroll_into_view_if_needed()
    page.locator(".chart-frame[data-drawn]").wait_for()

    page.evaluate(OPEN_ALL)

    assert page.locator(".answer").inner_text().count("<img src=x onerror=") > 12
    own = page.locator(".answer :is(script, iframe, object)")
    assert own.count() == 0
    sources = page.locator(".answer :is(img, a)").evaluate_all("all => all.map((one) => one.src || one.href)")
    assert [source for source in sources if not source.startswith(stage.site)] == []
    expect(page.get_by_text("A chart cannot be shown")).to_be_visible()


@pytest.mark.slow
def test_a_megabyte_of_output_does_not_hold_up_the_page(open_stage: Any) -> None:
    run = recorded.analysing(until_output=True)
    stage: Stage = open_stage(Turn(run))
    page = stage.page
    before = len(run.events)
    lines = "".join(f"line {number} of what a program prints without end\n" for number in range(1_000))
    for number in range(22):
        run.tell("data", e.TerminalOutput(content=f"{lines}block {number}\n", id="p1"))
    stage.tell(stage.turns[0], before)

    expect(page.get_by_label("Output", exact=True)).to_contain_text("block 21")
    page.get_by_role("button", name="Show what was printed before").click()

    expect(page.get_by_text("characters before this are not shown")).to_be_visible()
    drawn = page.get_by_label("Output", exact=True).evaluate("element => element.textContent.length")
    assert 100_000 < drawn <= 150_000


@pytest.mark.slow
@pytest.mark.spec("S144")
def test_tokens_do_not_draw_programs_and_charts_anew(open_stage: Any) -> None:
    run = recorded.analysing()
    stage: Stage = open_stage(Turn(run), picture=PICTURE)
    page = stage.page
    draw_all(page)
    run.say("data", "It")
    stage.tell(stage.turns[0], len(run.events) - 1)
    expect(page.locator(".prose")).to_contain_text("It")
    page.evaluate(
        """() => {
            window.changes = 0;
            const watch = new MutationObserver((records) => (window.changes += records.length));
            for (const part of document.querySelectorAll(".programs, .results"))
                watch.observe(part, { subtree: true, childList: true, characterData: true, attributes: true });
        }"""
    )
    before = len(run.events)

    run.say("data", " ".join(f"word{number}" for number in range(300)))
    stage.tell(stage.turns[0], before)

    expect(page.locator(".prose")).to_contain_text("word299")
    assert page.evaluate("window.changes") == 0


@pytest.mark.slow
@pytest.mark.spec("S52")
def test_files_are_attached_to_the_next_question(open_stage: Any, tmp_path: Path) -> None:
    known = "0a1b2c3d-0000-4000-8000-000000000001"
    full = (507, {"error": {"code": "no_room", "message": "There is no room left to keep the file."}})
    stage: Stage = open_stage(over(Recorded().tell("x", e.Complete(answer="Hello"))), answers={"/documents": full})
    page = stage.page
    (tmp_path / "sales.csv").write_text("month,sales\nJan,1\n")
    page.locator("input[type=file]").set_input_files(tmp_path / "sales.csv")
    chip = page.get_by_role("list", name="Files for this question").get_by_role("listitem")
    expect(chip).to_contain_text("There is no room left to keep the file.")

    stage.answers["/documents"] = (201, {"doc_id": known, "filename": "sales.csv"})
    chip.get_by_role("button", name="Try again: sales.csv").click()
    expect(chip).to_contain_text("18 B")
    page.get_by_label("Your question").fill("Plot it")
    page.keyboard.press("Enter")

    expect(page.get_by_role("list", name="Attached files").get_by_role("link", name="sales.csv")).to_have_attribute(
        "href", f"/documents/{known}/"
    )
    expect(chip).to_have_count(0)
    assert [frame["attachment_ids"] for frame in stage.frames] == [[known]]


@pytest.mark.slow
@pytest.mark.parametrize("form", list(FORMS))
def test_all_of_it_opened_fits_and_keeps_axes_rules(open_stage: Any, form: str) -> None:
    turns = (over(recorded.analysed()), Turn(recorded.building()))
    stage: Stage = open_stage(*turns, picture=PICTURE, **FORMS[form])
    page = stage.page
    page.route("**/previews/*/", lambda route: route.fulfill(body="<title>Shop</title>", content_type="text/html"))
    page.locator(".answer").first.scroll_into_view_if_needed()
    draw_all(page)
    page.evaluate(OPEN_ALL)
    page.locator(".chart").last.get_by_role("button", name="Table").click()
    page.get_by_role("button", name="Open preview").click()

    for part in ("html", ".thread"):
        assert page.locator(part).evaluate("element => element.scrollWidth - element.clientWidth") <= 0
    assert axe_faults(page, iframes=False) == []


@pytest.mark.slow
def test_programs_and_charts_are_reached_by_keyboard(open_stage: Any) -> None:
    page = open_stage(over(recorded.analysed()), picture=PICTURE).page
    draw_all(page)
    page.get_by_role("button", name=re.compile("Ran Python")).focus()

    page.keyboard.press("Enter")
    expect(page.get_by_label("Output", exact=True)).to_be_visible()
    names = []
    for _ in range(8):
        page.keyboard.press("Tab")
        names.append(
            page.locator(":focus").evaluate("element => element.getAttribute('aria-label') || element.innerText")
        )

    assert names[:5] == ["Copy code", "Program", "Show all 21 lines", "Copy output", "Output"]
    assert "Table" in names[5]
