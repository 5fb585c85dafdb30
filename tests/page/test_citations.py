"""Citations on the page: numbers that open what they name, the card beside them, and what no source supports."""

import uuid
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from agents.engine import events as e
from tests.page.conftest import FORMS
from tests.page.recorded import Recorded
from tests.page.stage import Stage, Turn

DOCUMENT, CHUNK, OTHER = (str(uuid.uuid5(uuid.NAMESPACE_OID, name)) for name in ("document", "chunk", "other"))
REPORT = e.Source(
    type="document",
    source="acme-quarterly-report.pdf",
    page=3,
    section="Results",
    excerpt="Revenue was 4.2 million euro.\nOperating profit was 0.61 million euro.",
    document_id=DOCUMENT,
    chunk_id=CHUNK,
)
NEWS = e.Source(type="web", source="Acme grows", url="https://news.example/acme", excerpt="Revenue rose.")
MAIL = e.Source(type="mail", source="Mail of Bob")
HOSTILE = e.Source(
    type="document",
    source="<img src=x onerror=alert(1)>\u202efdp.exe",
    section="</span><script>alert(1)</script>",
    excerpt='"><svg onload=alert(1)> javascript:alert(1)',
    url="javascript:alert(1)",
    document_id="../../evil?x=1#",
    chunk_id="'><b>",
)
FALSE = "It will **double** next year, says the board [1]."
ANSWER = f"""## Results

Acme's revenue was **4.2 million euro** [1], which the press took up, too [2, 3]. {FALSE}

- Profit was 0.61 million euro [1-3].
- Nothing names [7], and `code[1]` is code; [a link [1]](https://example.org/) is a link.

| figure | Q3 |
|---|---|
| revenue | 4.2 [1] |

```python
x = a[1]
```
"""


def _check(sentence: str, *, supported: bool | None, why: str = "", answer: str = ANSWER) -> e.Check:
    start = answer.index(sentence)
    return e.Check(
        start=start, end=start + len(sentence), sentence=sentence, citations=(1,), supported=supported, why=why
    )


def _run(answer: str = ANSWER, sources: tuple[e.Source, ...] = (REPORT, NEWS, MAIL), *checks: e.Check) -> Recorded:
    run = Recorded()
    run.agent("rag", "rag", "running", task="What was the revenue?")
    run.tell("rag", *[e.SourceFound(source=source) for source in sources])
    run.say("rag", answer.rstrip())
    run.agent("rag", "rag", "completed")
    run.finish(answer, *sources, checks=checks)
    return run


CHECKS = (
    _check("Profit was 0.61 million euro [1-3].", supported=None),
    _check(FALSE, supported=False, why="Not in the source: double."),
)


def _stage(open_stage: Any, run: Recorded, status: str = "completed", **options: Any) -> Stage:
    stage: Stage = open_stage(Turn(run, status=status), **options)
    return stage


def _numbers(page: Page) -> list[str]:
    return page.locator(".prose .citation").all_inner_texts()


@pytest.mark.slow
@pytest.mark.spec("B19", "S31")
def test_numbers_lead_to_the_passage_in_the_document_and_to_web_pages(open_stage: Any) -> None:
    page = _stage(open_stage, _run()).page

    assert _numbers(page) == ["1", "2", "3", "1", "1", "2", "3", "1"]
    first = page.locator(".prose .citation").first
    assert first.get_attribute("href") == f"/documents/{DOCUMENT}/?chunk={CHUNK}"
    expect(first).to_have_accessible_name("Source 1: acme-quarterly-report.pdf, page 3 · Results")
    web = page.locator(".prose .citation").nth(1)
    assert (web.get_attribute("href"), web.get_attribute("rel")) == (
        "https://news.example/acme",
        "noopener noreferrer nofollow",
    )
    assert page.locator(".prose .citation").nth(2).get_attribute("href") is None, "a mail cannot be opened"
    assert "[7]" in page.locator(".prose").inner_text()
    assert page.locator(".prose pre").inner_text().strip() == "x = a[1]"
    assert page.locator(".prose code", has_text="code[1]").count() == 1
    assert page.locator('.prose a[href="https://example.org/"] .citation').count() == 0
    listed = page.locator(".sources li").first
    assert listed.get_by_role("link").get_attribute("href") == f"/documents/{DOCUMENT}/?chunk={CHUNK}"
    assert "page 3" in listed.inner_text()


@pytest.mark.slow
@pytest.mark.spec("B19")
def test_a_number_of_a_page_that_was_read_as_a_whole_leads_to_that_page(open_stage: Any) -> None:
    whole = REPORT.model_copy(update={"chunk_id": None, "page": 12})
    page = _stage(open_stage, _run("It says so [1].", (whole,))).page

    assert page.locator(".prose .citation").first.get_attribute("href") == f"/documents/{DOCUMENT}/?page=12"


@pytest.mark.slow
@pytest.mark.spec("B19")
def test_of_many_sources_the_first_are_listed_and_the_others_are_a_click_away(open_stage: Any) -> None:
    """Under the numbers by which the text cites them."""
    many = tuple(REPORT.model_copy(update={"page": number}) for number in range(1, 13))
    page = _stage(open_stage, _run("The eleventh page says so [11].", many)).page
    listed = page.locator(".sources li:visible")
    expect(listed).to_have_count(5)

    page.get_by_text("7 more").click()

    expect(listed).to_have_count(12)
    assert page.locator(".more-sources ol").get_attribute("start") == "6"
    assert "page 12" in listed.last.inner_text()


@pytest.mark.slow
@pytest.mark.spec("B19")
def test_a_click_opens_the_document_at_the_passage(open_stage: Any) -> None:
    page = _stage(open_stage, _run()).page
    page.context.route("**/documents/**", lambda route: route.fulfill(body="<p>here</p>", content_type="text/html"))

    with page.context.expect_page() as opened:
        page.locator(".prose .citation").first.click()

    assert opened.value.url.endswith(f"/documents/{DOCUMENT}/?chunk={CHUNK}")


@pytest.mark.slow
@pytest.mark.spec("B19")
def test_a_sentence_that_its_source_does_not_support_is_underlined_and_explained(open_stage: Any) -> None:
    page = _stage(open_stage, _run(ANSWER, (REPORT, NEWS, MAIL), *CHECKS)).page

    marked = page.locator(".prose .unsupported")
    said = " ".join("".join(marked.all_text_contents()).split())
    assert said == "It will double next year, says the board 1. (not supported by the source it cites)"
    assert marked.first.get_attribute("title") == "Not supported by the source it cites. Not in the source: double."
    assert marked.locator(".citation").count() == 1
    expect(page.get_by_text("Underlined: not supported by the source it cites")).to_be_visible()
    assert "Profit" not in said


@pytest.mark.slow
def test_an_answer_that_is_supported_has_no_legend(open_stage: Any) -> None:
    page = _stage(open_stage, _run()).page

    assert page.locator(".unsupported").count() == 0


@pytest.mark.slow
def test_pointing_at_a_number_shows_what_it_names_and_escape_hides_it(open_stage: Any) -> None:
    page = _stage(open_stage, _run()).page
    card = page.get_by_role("tooltip")

    page.locator(".prose .citation").first.hover()

    expect(card).to_contain_text("acme-quarterly-report.pdf")
    expect(card).to_contain_text("page 3 · Results")
    expect(card).to_contain_text("Operating profit was 0.61 million euro.")
    page.keyboard.press("Escape")
    expect(card).to_have_count(0)


@pytest.mark.slow
def test_by_keyboard_the_numbers_are_reached_and_described(open_stage: Any) -> None:
    page = _stage(open_stage, _run()).page
    page.locator(".prose .citation").first.focus()
    page.keyboard.press("Shift+Tab")

    page.keyboard.press("Tab")

    expect(page.locator(".prose .citation").first).to_be_focused()
    card = page.get_by_role("tooltip")
    expect(card).to_be_visible()
    assert page.locator(".prose .citation").first.get_attribute("aria-describedby") == card.get_attribute("id")
    page.keyboard.press("Tab")
    expect(card).to_contain_text("Acme grows")
    page.keyboard.press("Tab")
    expect(card).to_contain_text("Mail of Bob")


@pytest.mark.slow
@pytest.mark.spec("B10")
def test_watching_and_reloading_show_the_same(open_stage: Any) -> None:
    run = _run(ANSWER, (REPORT, NEWS, MAIL), *CHECKS)
    watched = _stage(open_stage, run, "running").page
    watched.locator(".answer-foot").wait_for()
    reloaded = _stage(open_stage, run).page
    for page in (watched, reloaded):
        page.locator(".prose .hljs-number").wait_for()

    assert watched.locator(".prose").inner_html() == reloaded.locator(".prose").inner_html()
    assert watched.locator(".sources").inner_html() == reloaded.locator(".sources").inner_html()


@pytest.mark.slow
def test_while_the_text_grows_numbers_lead_nowhere_yet(open_stage: Any) -> None:
    run = _run()
    page = _stage(open_stage, run.until(len(run.events) - 3), "running").page
    page.locator(".prose .citation").first.wait_for()

    assert page.locator(".prose a.citation").count() == 0


@pytest.mark.spec("S148")
def test_names_and_excerpts_of_strangers_are_text(open_stage: Any) -> None:
    """Whatever the stage sees of dialogs, requests and errors fails the test at its end."""
    answer = "Read <b>this</b> [1], says </span><a href='javascript:alert(1)'>it</a> [1]."
    check = e.Check(
        start=0,
        end=len(answer),
        sentence=answer,
        citations=(1,),
        supported=False,
        why='"><img src=x onerror=alert(1)>',
    )
    page = _stage(open_stage, _run(answer, (HOSTILE,), check)).page

    page.locator(".prose .citation").first.hover()
    card = page.get_by_role("tooltip")

    expect(card).to_contain_text("<img src=x onerror=alert(1)>⟨U+202E⟩fdp.exe")
    expect(card).to_contain_text("</span><script>alert(1)</script>")
    for inside in (".citation-card", ".sources", ".prose"):
        assert page.locator(f"{inside} :is(script, svg, [onerror], [onload])").count() == 0
    assert page.locator(".prose a.citation, .sources a").count() == 0, "neither address may be opened"


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_it_fits_a_phone_and_a_wide_screen(form: str, open_stage: Any) -> None:
    page = _stage(open_stage, _run(ANSWER, (REPORT, NEWS, MAIL), *CHECKS), **FORMS[form]).page
    width = FORMS[form]["viewport"]["width"]

    for number in range(page.locator(".prose .citation").count()):
        page.keyboard.press("Escape")
        page.locator(".prose .citation").nth(number).scroll_into_view_if_needed()
        page.mouse.move(0, 0)
        # What scrolls takes the card away: the end of it is awaited.
        page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        page.locator(".prose .citation").nth(number).hover()
        page.get_by_role("tooltip").wait_for()
        box = page.get_by_role("tooltip").bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.slow
def test_a_table_is_copied_without_the_numbers_of_its_sources(open_stage: Any) -> None:
    page = _stage(open_stage, _run()).page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator(".prose .table-block").hover()

    page.get_by_role("button", name="Copy as CSV").click()

    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == "figure,Q3\r\nrevenue,4.2"


@pytest.mark.slow
def test_escape_hides_the_card_and_stops_no_answer(open_stage: Any) -> None:
    going = Recorded()
    going.agent("chat", "chat", "running", task="And now?")
    going.say("chat", "It goes on")
    stage: Stage = open_stage(Turn(_run(), status="completed"), Turn(going, status="running"))
    page = stage.page
    page.get_by_role("button", name="Stop (Esc)").wait_for()
    page.locator(".prose .citation").first.hover()
    page.get_by_role("tooltip").wait_for()

    page.keyboard.press("Escape")

    expect(page.get_by_role("tooltip")).to_have_count(0)
    assert [frame for frame in stage.frames if frame["type"] == "cancel"] == []
    page.keyboard.press("Escape")
    expect(page.locator(".activity-words").last).to_have_text("Stopping")
    assert [frame["type"] for frame in stage.frames if frame["type"] == "cancel"] == ["cancel"]
