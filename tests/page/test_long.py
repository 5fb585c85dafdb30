"""Much in one conversation, and a first visit: what is read and drawn, where the reader stays, what it weighs."""

import json
import re
import subprocess
import sys
from typing import Any

import pytest
from playwright.sync_api import Page, Response, expect

from tests.page.files import ROOT
from tests.scripted import Script

pytestmark = pytest.mark.slow

MESSAGES, EVENTS = 130, 900
FIRST_LOAD_BYTES = 264_000

# Up to the beginning, so much with each frame. How far what was read jumped besides; and all messages.
TO_THE_TOP = """async (step) => {
    const thread = document.querySelector(".thread");
    const frame = () => new Promise(requestAnimationFrame);
    const all = () => [...document.querySelectorAll("article[data-message]")];
    let [jumped, steps] = [0, 0];
    for (let still = 0; still < 60; steps += 1) {
        if (steps > 1000) throw new Error(`still at ${thread.scrollTop}, ${all().length} messages drawn`);
        const edge = thread.getBoundingClientRect();
        const read = all().find((one) => one.getBoundingClientRect().bottom > edge.top + edge.height / 2);
        const [top, count, place] = [read.getBoundingClientRect().top, all().length, thread.scrollTop];
        thread.scrollBy({ top: -step, behavior: "instant" });
        await frame();
        await frame();
        const moved = read.getBoundingClientRect().top - top;
        if (place >= step) jumped = Math.max(jumped, Math.abs(moved - step));
        still = place === 0 && all().length === count && !document.querySelector(".earlier") ? still + 30 : 0;
    }
    return { jumped, ids: all().map((one) => one.dataset.message) };
}"""

# A slow machine tells of several moments in one call: here each is told together with one that is over.
LATE = """window.IntersectionObserver = class extends IntersectionObserver {
    constructor(tell, options) {
        const over = ({ isIntersecting, target, boundingClientRect }) => (
            { isIntersecting: !isIntersecting, target, boundingClientRect });
        super((entries, observer) => tell([over(entries[0]), ...entries], observer), options);
    }
};"""


@pytest.fixture
def rows(live_site: Any, person: Any) -> tuple[Any, dict[str, Any]]:
    """A person with a long conversation and long runs, as the benchmark makes them."""
    alice = person()
    command = [sys.executable, "-m", "benchmarks.page_rows", "--email", alice.email]
    counts = ["--messages", str(MESSAGES), "--events", str(EVENTS)]
    done = subprocess.run(
        [*command, *counts], cwd=ROOT, env=live_site.env, capture_output=True, text=True, timeout=120, check=True
    )
    return alice, json.loads(done.stdout.splitlines()[-1])


@pytest.mark.timeout(300)
def test_a_long_conversation_is_read_and_drawn_from_its_end_and_keeps_the_readers_place(
    rows: tuple[Any, dict[str, Any]], live_site: Any, visit: Any
) -> None:
    alice, made = rows
    watched = visit(alice, viewport={"width": 1280, "height": 900})
    page: Page = watched.new_page()
    page.add_init_script(LATE)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/messages?" in request.url else None)

    page.goto(f"/c/{made['long']}/")
    last = page.locator("article.answer").last
    expect(last).to_contain_text(f"Answer {MESSAGES // 2 - 1}.")
    expect(last).to_be_in_viewport()

    assert [url.partition("?")[2] for url in asked] == ["limit=60"]
    assert page.locator("article[data-message]").count() < 30
    found = page.evaluate(TO_THE_TOP, 400)
    stored = live_site.query(
        "SELECT id FROM conversations_message WHERE conversation_id = %s ORDER BY created_at", made["long"]
    )
    assert found["ids"] == [str(row["id"]) for row in stored]
    assert found["jumped"] <= 4
    assert len(asked) == 3
    assert watched.errors == []


def test_a_long_run_that_goes_on_is_read_in_pages_before_it_is_followed(
    rows: tuple[Any, dict[str, Any]], visit: Any
) -> None:
    alice, made = rows
    page: Page = visit(alice).new_page()
    told: list[str] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: told.append(str(frame))))
    with page.expect_websocket(lambda socket: "/ws/conversations/" in socket.url) as opened:
        page.goto(f"/c/{made['live']}/")

    expect(page.locator("article.answer")).to_contain_text(f"word{EVENTS * 2 // 5 - 1}")
    assert f"%22%3A{EVENTS}" in opened.value.url
    assert sum('"type":"event"' in frame for frame in told) == 0


@pytest.mark.spec("B14")
@pytest.mark.parametrize("what", ["an empty chat", "a conversation"])
def test_the_first_page_is_light_compressed_and_kept(person: Any, visit: Any, live_site: Any, what: str) -> None:
    alice = person()
    address = "/"
    if what == "a conversation":
        live_site.model.script(Script(match="Why is the sky blue?", text="Short waves are scattered **more**."))
        [ended] = live_site.until_ended(alice.ask("Why is the sky blue?", mode="chat"))
        address = f"/c/{ended['conversation_id']}/"
    watched = visit(alice)
    page: Page = watched.new_page()
    answers: list[Response] = []
    page.on("response", lambda answer: answers.append(answer))  # noqa: PLW0108 - Playwright marks the function
    session = watched.context.new_cdp_session(page)
    session.send("Network.enable")
    sizes: list[int] = []
    session.on("Network.loadingFinished", lambda event: sizes.append(int(event["encodedDataLength"])))

    page.goto(address, wait_until="networkidle")

    expect(page.locator("#composer-text")).to_be_visible()
    expect(page.locator("article.answer")).to_have_count(0 if address == "/" else 1)
    unneeded = re.compile("/run/view|components/(request|approval|hands|results|chart)|vendor/(chart|math|highlight)")
    assert [answer.url for answer in answers if unneeded.search(answer.url)] == []
    assert len(sizes) >= len(answers) > 20
    assert sum(sizes) < FIRST_LOAD_BYTES
    files = [answer.headers for answer in answers if "/static/~" in answer.url]
    assert len(files) > 20
    assert {headers.get("cache-control") for headers in files} == {"public, max-age=31536000, immutable"}
    assert {headers.get("content-encoding") for headers in files} == {"gzip"}
    assert not [answer.url for answer in answers if "/static/" in answer.url and "/static/~" not in answer.url]
    assert watched.errors == []
