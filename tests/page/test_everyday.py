"""What people do every day, on a whole site: have a question answered again, drop a file on the chat, take a
conversation along, have slides made, choose which mails they get and in which language the pages are.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.page.test_chat import answer, answered, ask, box, open_chat
from tests.page.test_documents import drop
from tests.page.test_run import panel, part
from tests.scripted import Script

QUESTION = "Why is the sky blue?"
DECK = {
    "title": "Shore power",
    "slides": [
        {"kind": "title", "title": "Shore power", "subtitle": "What it costs"},
        {"kind": "bullets", "title": "Ships burn fuel at berth", "points": ["9,400 hours a year", "41 days"]},
    ],
}


@pytest.fixture
def page(person: Any, visit: Any, live_site: Any) -> Any:
    watched = visit(person(), viewport={"width": 1440, "height": 900}, locale="en-GB")
    yield open_chat(watched, live_site)
    assert (watched.errors, watched.foreign, watched.dialogs) == ([], [], [])


@pytest.mark.slow
def test_a_finished_answer_is_given_again_and_both_are_kept(page: Page, live_site: Any) -> None:
    live_site.model.script(Script(match=QUESTION, text="Because of the air."))
    ask(page, QUESTION)
    answered(page)
    live_site.model.script(Script(match=QUESTION, text="Short waves are scattered more."))

    page.get_by_role("button", name="Answer again").click()

    expect(answer(page)).to_contain_text("Short waves are scattered more.")
    versions = page.get_by_role("group", name="Versions of the answer")
    expect(versions).to_contain_text("2 / 2")
    expect(page.get_by_role("article", name="Question", exact=True)).to_have_count(1)
    page.reload()
    expect(answer(page)).to_contain_text("Short waves are scattered more.")
    versions.get_by_role("button", name="Answer before this").click()
    expect(answer(page)).to_contain_text("Because of the air.")
    expect(versions).to_contain_text("1 / 2")


@pytest.mark.slow
def test_a_long_question_is_folded_and_shown_whole_on_demand(page: Page) -> None:
    ask(page, "\n".join(f"Line {number} of the report." for number in range(1, 61)))
    answered(page)
    bubble = page.locator(".bubble")

    def height() -> float:
        found = bubble.bounding_box()
        assert found is not None
        return found["height"]

    assert height() < 450
    bubble.get_by_role("button", name="Show all of it").click()
    assert height() > 1_200
    bubble.get_by_role("button", name="Show less").click()
    assert height() < 450


@pytest.mark.slow
def test_a_file_is_dropped_on_the_chat_and_goes_along_with_the_question(page: Page, live_site: Any) -> None:
    chips = page.get_by_role("list", name="Files for this question").get_by_role("listitem")
    drop(page, sales_csv="region,revenue\nNorth,4.2\n")
    expect(chips).to_have_count(1)
    expect(page.locator(".attachment.is-added, .attachment.is-known")).to_contain_text("sales.csv")

    live_site.model.script(Script(match="What sells best?", text="The north."))
    ask(page, "What sells best?")

    expect(page.get_by_role("list", name="Attached files")).to_have_text("sales.csv")
    expect(chips).to_have_count(0)
    answered(page)


@pytest.mark.slow
@pytest.mark.parametrize(("words", "ending"), [("Export as Markdown", "md"), ("Export as JSON", "json")])
def test_a_conversation_is_taken_along_as_a_file(
    page: Page, live_site: Any, tmp_path: Path, words: str, ending: str
) -> None:
    live_site.model.script(Script(match=QUESTION, text="Because of the **air**."))
    ask(page, QUESTION)
    answered(page)

    page.locator(".entry.is-current").hover()
    page.locator(".entry.is-current").get_by_role("button", name=re.compile("^Options for")).click()
    with page.expect_download() as by_menu:
        page.get_by_role("menuitem", name=words).click()
    page.keyboard.press("Control+k")
    expect(page.get_by_role("combobox")).to_be_focused()
    page.keyboard.type(words)
    with page.expect_download() as by_key:
        page.keyboard.press("Enter")

    texts = []
    for number, download in enumerate((by_menu.value, by_key.value)):
        assert download.suggested_filename.endswith(f".{ending}")
        download.save_as(file := tmp_path / f"{number}")
        texts.append(file.read_text())
        assert all(part in texts[-1] for part in (QUESTION, "Because of the **air**."))
    if ending == "json":
        assert [sorted(json.loads(text)) for text in texts] == [sorted(json.loads(texts[0]))] * 2


@pytest.mark.slow
@pytest.mark.spec("S194", "S195")
def test_slides_are_shown_in_the_answer_and_in_its_run_and_can_be_looked_at(page: Page, live_site: Any) -> None:
    page.context.add_init_script("if (location.host) localStorage.setItem('hyperagent.mode', '\"slide\"')")
    page.reload()
    box(page).wait_for()
    live_site.model.script(
        Script(match="Wish:", text=json.dumps(DECK)),
        Script(match="Two slides on shore power", text="Here they are."),
    )

    ask(page, "Two slides on shore power")
    answered(page)

    shown = page.locator(".answer").get_by_role("img", name="The slides of Shore power")
    expect(shown).to_be_visible()
    shown.scroll_into_view_if_needed()
    page.wait_for_function("image => image.naturalWidth > 100", arg=shown.element_handle())
    page.keyboard.press("Control+Shift+e")
    part(page, "Outputs")
    expect(panel(page).get_by_role("img", name="The slides of Shore power")).to_be_visible()
    file = panel(page).get_by_role("group", name="Files").get_by_role("link", name=re.compile("shore-power.pptx")).first
    with page.expect_download() as taken:
        panel(page).get_by_role("link", name="Download shore-power.pptx").click()
    assert Path(taken.value.path()).read_bytes()[:2] == b"PK"
    file.click()
    expect(page.get_by_role("heading", name="shore-power.pptx")).to_be_visible()


@pytest.mark.slow
def test_which_mails_one_gets_is_kept(page: Page) -> None:
    page.goto("/settings/notifications/")
    boxes = page.get_by_role("main").get_by_role("checkbox")
    before = [one.is_checked() for one in boxes.all()]
    assert len(before) > 1

    boxes.first.set_checked(not before[0])
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".message.success")).to_be_visible()
    page.goto("/settings/notifications/")

    assert [one.is_checked() for one in boxes.all()] == [not before[0], *before[1:]]


@pytest.mark.slow
def test_the_language_of_the_pages_is_chosen_in_the_settings_and_found_again(page: Page) -> None:
    page.goto("/settings/language/")
    page.get_by_role("radio", name="Deutsch").check()
    page.get_by_role("button", name="Save").click()

    expect(page.locator("html")).to_have_attribute("lang", "de")
    page.goto("/")
    expect(page.get_by_role("textbox", name="Ihre Frage")).to_be_visible()
    page.goto("/settings/language/")
    expect(page.get_by_role("radio", name="Deutsch")).to_be_checked()
    page.get_by_role("radio", name="English").check()
    page.get_by_role("button", name="Speichern").click()
    expect(page.locator("html")).to_have_attribute("lang", "en")
