"""What the page shows is what the API has: generated histories on the page's own client, and three pages of one person
on the live site, of which one reloads and one is cut off in mid-answer.
"""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.page.conftest import FORMS
from tests.page.files import ROOT
from tests.scripted import Script

pytestmark = pytest.mark.slow

HISTORIES = 250
ANSWER = "\n\n".join(f"Paragraph {number} says something that takes a while to write." for number in range(1, 25))
SHOWN = "() => document.querySelector('article.answer .prose')?.innerText ?? ''"


@pytest.mark.spec("B9", "B10", "S144", "S146")
@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node, which people do not")
def test_whatever_happens_to_tabs_and_lines_the_pages_state_is_the_apis() -> None:
    done = subprocess.run(
        ["node", str(Path(__file__).with_name("same_state.mjs")), str(HISTORIES)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )

    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout)
    assert told["faults"] == []
    assert told["histories"] > HISTORIES


@pytest.mark.spec("B9", "B10")
def test_two_tabs_and_a_phone_show_the_same_answer_through_a_reload_and_a_cut_line(
    live_site: Any, person: Any, visit: Any
) -> None:
    alice = person()
    live_site.model.script(Script(match="sky", text=ANSWER, held_after=40))
    run = alice.ask("Why is the sky blue?")
    conversation = live_site.execution(run)["conversation_id"]
    lookups, train = visit(alice), visit(alice, **FORMS["phone and dark"])
    pages: list[Page] = [lookups.new_page(), lookups.new_page(), train.new_page()]
    for page in pages:
        page.goto(f"/c/{conversation}/")
        expect(page.locator("article.answer")).to_contain_text("Paragraph 4")

    train.context.set_offline(True)
    pages[0].reload()
    expect(pages[0].locator("article.answer")).to_contain_text("Paragraph 4")
    seen = [page.evaluate(SHOWN) for page in pages]
    live_site.model.release()
    live_site.until_ended(run)
    train.context.set_offline(False)
    for page in pages:
        expect(page.locator("article.answer")).to_have_attribute("data-status", "completed")
        expect(page.locator("article.answer")).to_contain_text("Paragraph 24")

    ends = [page.evaluate(SHOWN) for page in pages]
    assert ends[0] == ends[1] == ends[2]
    assert [_words(text) for text in seen] == [_words(ends[0])[: len(_words(text))] for text in seen]
    assert [page.locator("article.question").count() for page in pages] == [1, 1, 1]
    assert lookups.errors == []


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text)
