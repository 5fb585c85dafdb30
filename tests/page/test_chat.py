"""The chat in a real browser on a real site: ask, watch, reload, second tab, stop, failures, lost connections, drafts.

`live_site` is the whole product as processes on loopback: `base_url`, and `model`, the scripted server (tests.scripted)
that its models are. `person` makes people on it, and `visit` opens a browser in which one of them is signed in.
"""

import re
import uuid
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.clean_page import axe_faults
from tests.page.conftest import FORMS, Watched
from tests.page.hostile_markdown import PAYLOADS
from tests.page.test_approvals import SETTLE
from tests.scripted import Script

LONG = "\n\n".join(f"Paragraph {number} says something that takes a while to write." for number in range(1, 41))
EVERYTHING = """# Head

Text with `code` and [link](https://example.org).

| a | b |
|---|---|
| 1 | 2 |

```py
x = 1  # note
```
"""


def choose_chat(page: Page) -> None:
    """Nobody routes, so that the scripted model is asked for the answer alone."""
    page.context.add_init_script("if (location.host) localStorage.setItem('hyperagent.mode', '\"chat\"')")


def open_chat(watched: Watched, site: Any) -> Page:
    page = watched.new_page()
    choose_chat(page)
    page.goto(site.base_url)
    box(page).wait_for()
    return page


def box(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Your question")


def ask(page: Page, text: str) -> None:
    box(page).fill(text)
    box(page).press("Enter")


def answer(page: Page) -> Locator:
    return page.get_by_role("article", name="Answer").last


def answered(page: Page, status: str = "completed") -> Locator:
    found = page.locator(f".answer[data-status={status}]").last
    found.wait_for()
    return found


def prose(page: Page) -> str:
    return answer(page).locator(".prose").inner_text()


def wait_for_words(page: Page, words: str) -> None:
    expect(answer(page)).to_contain_text(words)


@pytest.fixture
def alices(person: Any, visit: Any) -> Watched:
    """Alice's browser; its console must stay clean."""
    watched: Watched = visit(person(), viewport={"width": 1440, "height": 900})
    return watched


@pytest.fixture
def page(alices: Watched, live_site: Any) -> Page:
    return open_chat(alices, live_site)


def test_somebody_new_registers_asks_and_watches_the_answer_arrive(open_context: Any, live_site: Any) -> None:
    live_site.model.script(Script(match="Why", text=LONG, tokens_per_s=60))
    watched = open_context()
    page = watched.new_page()
    choose_chat(page)

    page.goto(f"{live_site.base_url}/accounts/register/")
    page.get_by_label("E-mail").fill(f"dora-{uuid.uuid4().hex}@example.org")
    for field in page.locator("input[type=password]").all():
        field.fill("correct horse battery staple")
    page.get_by_role("button", name="Create account").click()
    box(page).wait_for()
    ask(page, "Why is the sky blue?")

    wait_for_words(page, "Paragraph 1 ")
    lengths = [len(prose(page))]
    expect(answer(page)).to_have_attribute("aria-busy", "true")
    wait_for_words(page, "Paragraph 6 ")
    lengths.append(len(prose(page)))
    answered(page)
    lengths.append(len(prose(page)))
    assert lengths == sorted(set(lengths))
    assert prose(page) == LONG
    assert watched.errors == []


def test_an_answer_goes_on_through_a_reload_and_is_the_same_in_a_second_tab(
    page: Page, alices: Watched, live_site: Any
) -> None:
    live_site.model.script(Script(match="Tell", text=LONG, tokens_per_s=60))
    ask(page, "Tell me all of it")
    wait_for_words(page, "Paragraph 3 ")

    page.reload()
    second = alices.new_page()
    second.goto(page.url)
    wait_for_words(page, "Paragraph 8 ")
    wait_for_words(second, "Paragraph 8 ")
    answered(page)
    answered(second)

    assert prose(page) == prose(second) == LONG
    page.reload()
    answered(page)
    assert prose(page) == LONG
    assert alices.errors == []


@pytest.mark.slow
@pytest.mark.spec("B9")
def test_thoughts_are_folded_and_can_be_read_after_a_reload(page: Page, live_site: Any) -> None:
    live_site.model.script(Script(text="Forty-two.", thinking="Six by nine? No, six by seven.", times=0))
    ask(page, "What is six by seven?")
    expect(answered(page).locator(".prose")).to_have_text("Forty-two.")
    thoughts = answered(page).locator(".thoughts")
    expect(thoughts.locator(".thoughts-text")).not_to_be_visible()

    page.reload()
    thoughts.locator("summary").click()

    expect(thoughts.locator(".thoughts-text")).to_have_text("Six by nine? No, six by seven.")


@pytest.mark.slow
def test_a_question_of_one_tab_appears_in_the_other(page: Page, alices: Watched, live_site: Any) -> None:
    live_site.model.script(Script(match="One", text="First."), Script(match="Two", text="Second."))
    ask(page, "One")
    answered(page)
    second = alices.new_page()
    second.goto(page.url)
    answered(second)

    ask(second, "Two")

    expect(page.get_by_role("article", name="Question").last).to_contain_text("Two")
    wait_for_words(page, "Second.")
    assert alices.errors == []


@pytest.mark.slow
def test_escape_stops_the_answer_and_keeps_what_was_written(page: Page, live_site: Any) -> None:
    live_site.model.script(Script(match="Tell", text=LONG, tokens_per_s=40))
    ask(page, "Tell me all of it")
    wait_for_words(page, "Paragraph 2 ")

    page.keyboard.press("Escape")

    stopped = answered(page, "cancelled")
    expect(stopped).to_contain_text("Stopped")
    text = prose(page)
    assert 0 < len(text) < len(LONG)
    assert LONG.startswith(text.rstrip())
    page.reload()
    answered(page, "cancelled")
    assert prose(page) == text


@pytest.mark.slow
def test_a_failed_run_says_why_and_is_asked_again_with_one_click(page: Page, live_site: Any) -> None:
    live_site.model.script(Script(match="Why", status=400, error_message="no"), Script(match="Why", text="Because."))
    ask(page, "Why?")
    failed = answered(page, "failed")
    expect(failed.get_by_role("alert")).not_to_be_empty()

    failed.get_by_role("button", name="Try again").click()

    answered(page)
    wait_for_words(page, "Because.")
    expect(answer(page)).to_contain_text("2 / 2")
    answer(page).get_by_role("button", name="Answer before this").click()
    answered(page, "failed")


@pytest.mark.slow
def test_what_was_read_of_an_answer_that_breaks_off_for_good_stays_above_the_error(page: Page, live_site: Any) -> None:
    live_site.model.script(
        Script(match="Why", text="It is because of this.", cut_after=3),
        Script(match="Why", status=503, first_delay_s=2),
        Script(match="Why", status=503),
    )
    ask(page, "Why?")

    wait_for_words(page, "It is because")
    assert prose(page).strip() == "It is because", "also while it is asked again"
    failed = answered(page, "failed")

    expect(failed.get_by_role("alert")).to_contain_text("broke the connection")
    expect(failed.locator(".prose")).to_have_text("It is because")
    page.reload()
    expect(answered(page, "failed").locator(".prose")).to_have_text("It is because")


@pytest.mark.slow
def test_a_lost_connection_loses_and_repeats_nothing(page: Page, alices: Watched, live_site: Any) -> None:
    live_site.model.script(Script(match="Tell", text=LONG, tokens_per_s=40))
    ask(page, "Tell me all of it")
    wait_for_words(page, "Paragraph 2 ")

    alices.context.set_offline(True)
    expect(page.get_by_role("status").filter(has_text="offline")).to_be_visible()
    alices.context.set_offline(False)

    answered(page)
    assert prose(page) == LONG


@pytest.mark.slow
def test_a_question_asked_offline_is_sent_once_when_the_connection_is_back(
    page: Page, alices: Watched, live_site: Any
) -> None:
    live_site.model.script(Script(match="First", text="One."), Script(match="Second", text="Two."))
    ask(page, "First")
    answered(page)
    alices.context.set_offline(True)
    expect(page.get_by_role("status").filter(has_text="offline")).to_be_visible()

    ask(page, "Second")
    expect(page.get_by_text("Sent when the connection is back.")).to_be_visible()
    alices.context.set_offline(False)

    wait_for_words(page, "Two.")
    expect(page.get_by_role("article", name="Question")).to_have_count(2)


@pytest.mark.slow
def test_a_draft_is_kept_for_each_conversation(page: Page, live_site: Any) -> None:
    live_site.model.script(Script(match="Hello", text="Hi."))
    ask(page, "Hello")
    answered(page)
    box(page).fill("half a thought")

    page.get_by_role("link", name="New conversation").click()
    expect(box(page)).to_have_value("")
    box(page).fill("another one")
    page.go_back()
    expect(box(page)).to_have_value("half a thought")
    page.reload()

    expect(box(page)).to_have_value("half a thought")
    page.goto(live_site.base_url)
    expect(box(page)).to_have_value("another one")


def test_a_question_that_is_too_long_is_told_before_it_is_sent(page: Page) -> None:
    limit = page.evaluate("JSON.parse(document.getElementById('page-data').textContent).max_question_chars")
    box(page).fill("x" * (limit + 3))

    expect(page.get_by_role("alert")).to_contain_text("3 characters too long")
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_disabled()


def test_shift_enter_and_an_input_method_do_not_send(page: Page) -> None:
    box(page).fill("one")
    box(page).press("Shift+Enter")
    box(page).dispatch_event("keydown", {"key": "Enter", "isComposing": True, "bubbles": True})

    expect(box(page)).to_have_value("one\n")
    assert page.url.endswith("/")


@pytest.mark.slow
def test_a_conversation_is_renamed_and_deleted(page: Page, alices: Watched, live_site: Any) -> None:
    live_site.model.script(Script(match="Hello", text="Hi."))
    ask(page, "Hello there")
    answered(page)
    title = "<img src=x onerror=alert(1)> & Co"
    entry = page.locator(".entry.is-current")

    entry.get_by_role("button", name=re.compile("Options")).click()
    page.get_by_role("menuitem", name="Rename").click()
    page.get_by_label("New title").fill(title)
    page.keyboard.press("Enter")
    expect(page.locator(".entry.is-current")).to_contain_text(title)
    expect(page).to_have_title(f"{title} · HyperAgent")

    entry.get_by_role("button", name=re.compile("Options")).click()
    page.get_by_role("menuitem", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.locator(".entry", has_text=title)).to_have_count(0)
    page.wait_for_url(f"{live_site.base_url}/")
    assert (alices.dialogs, alices.errors) == ([], [])


@pytest.mark.slow
@pytest.mark.threat("T10", "T12")
def test_hostile_answers_and_questions_do_nothing(page: Page, alices: Watched, live_site: Any) -> None:
    text = "\n\n".join(payload.replace("\x00", "") for payload in list(PAYLOADS.values())[:40])
    live_site.model.script(Script(match="img", text=text))

    ask(page, "<img src=x onerror=alert(1)>")
    answered(page)
    page.wait_for_load_state("networkidle")

    assert (alices.dialogs, alices.foreign) == ([], [])
    expect(page.get_by_role("article", name="Question").last).to_contain_text("<img src=x onerror=alert(1)>")


@pytest.mark.slow
@pytest.mark.parametrize("form", list(FORMS))
def test_the_page_fits_and_keeps_axes_rules(person: Any, visit: Any, live_site: Any, form: str) -> None:
    live_site.model.script(Script(match="Show", text=EVERYTHING))
    watched = visit(person(), **FORMS[form], reduced_motion="reduce")
    page = open_chat(watched, live_site)
    faults = faults_of(page)
    ask(page, "Show me everything")
    answered(page)
    page.locator(".hljs-comment").wait_for()
    faults += faults_of(page)
    if "phone" in form:
        page.get_by_role("button", name="Show the conversations").click()
        page.get_by_role("searchbox").wait_for()
        faults += faults_of(page)

    assert faults == []
    assert watched.errors == []


def faults_of(page: Page) -> list[str]:
    # A colour on its way to another has a contrast of its own.
    page.evaluate(SETTLE)
    wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    found = [f"{wider} px wider than the window"] if wider > 0 else []
    return found + axe_faults(page)


@pytest.mark.slow
def test_the_reader_who_scrolled_up_is_left_alone(page: Page, live_site: Any) -> None:
    live_site.model.script(Script(match="Tell", text=LONG, tokens_per_s=80))
    ask(page, "Tell me all of it")
    wait_for_words(page, "Paragraph 14 ")
    thread = page.locator(".thread")
    page.mouse.move(800, 400)
    page.mouse.wheel(0, -2000)
    page.get_by_role("button", name="Jump to the latest").wait_for()
    top = thread.evaluate("element => element.scrollTop")

    wait_for_words(page, "Paragraph 20 ")
    assert thread.evaluate("element => element.scrollTop") == top
    page.get_by_role("button", name="Jump to the latest").click()
    answered(page)

    end = thread.evaluate("element => element.scrollHeight - element.scrollTop - element.clientHeight")
    assert end < 2


@pytest.mark.slow
def test_the_keyboard_is_enough(page: Page, live_site: Any) -> None:
    word = uuid.uuid4().hex[:12]
    live_site.model.script(Script(match="Hello", text="Hi."))
    ask(page, f"Hello {word}")
    answered(page)

    box(page).press("ArrowUp")
    expect(box(page)).to_have_value(f"Hello {word}")
    box(page).fill("")
    box(page).press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("Control+Shift+f")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type(word)
    expect(page.locator(".entry")).to_have_count(1)
    page.keyboard.press("Control+Shift+o")
    page.wait_for_url(f"{live_site.base_url}/")
    expect(box(page)).to_be_focused()


@pytest.mark.slow
@pytest.mark.parametrize("who", ["Charlie", "a stranger"])
def test_nobody_else_sees_anything_of_alices_conversation(
    page: Page, live_site: Any, person: Any, visit: Any, who: str
) -> None:
    live_site.model.script(Script(match="Hello", text="Hi."))
    ask(page, "Hello")
    answered(page)
    address = page.url
    anothers = visit(person("Charlie") if who == "Charlie" else None).new_page()

    response = anothers.goto(address)

    assert "/accounts/login/" in anothers.url if who == "a stranger" else response.status == 404
    assert "Hi." not in anothers.content()
