"""What the chat page costs with much in it: how soon it is painted, whether it scrolls without a hitch, what it holds.

The browser is Chromium by Playwright; times are the page's own, from the start of the navigation.
"""

import json
import statistics
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.async_api import BrowserContext, CDPSession, async_playwright

from benchmarks.figure import Figure, at_most, of_rounds
from tests import chromium

ROOT = Path(__file__).resolve().parent.parent
EMAIL = "load@example.org"
FLAGS = ("--no-sandbox", "--disable-dev-shm-usage")
OPENS_WITHIN_MS = 1_000.0
LONG_TASK_MS = 50.0
TIMEOUT_MS = 60_000.0
FRAMES = 400
STEP_PX = 120
MB = 1_000_000

# Noted from the first moment: when the last message was painted, and what held the page up.
WATCH = """(() => {
    const noted = window.noted = { tasks: [] };
    const note = (list) => list.getEntries().forEach((task) => noted.tasks.push([task.startTime, task.duration]));
    new PerformanceObserver(note).observe({ type: "longtask", buffered: true });
    noted.painted = new Promise((done) => {
        const look = () => {
            const last = [...document.querySelectorAll("article.answer")].at(-1);
            const isThere = (last?.querySelector(".prose")?.textContent.length ?? 0) > 200;
            requestAnimationFrame(isThere ? () => done(performance.now()) : look);
        };
        look();
    });
})()"""

# Upwards by so much with each frame, as a hand on a wheel does: the times between the frames.
SCROLL = """async ([frames, step]) => {
    const thread = document.querySelector(".thread");
    const began = performance.now();
    const gaps = [];
    let last = began;
    for (let i = 0; i < frames; i += 1) {
        thread.scrollBy({ top: -step, behavior: "instant" });
        const now = await new Promise(requestAnimationFrame);
        gaps.push(now - last);
        last = now;
    }
    return { began, gaps, drawn: document.querySelectorAll("article[data-message]").length };
}"""


@dataclass(frozen=True, slots=True)
class Seen:
    """`cpu_ms`: of the page's own thread, until it was quiet. `hitches`: tasks of more than LONG_TASK_MS while it was
    scrolled, in ms; `late_frames` of FRAMES took twice their time or more.
    """

    painted_ms: float
    cpu_ms: float
    opening_tasks: tuple[float, ...]
    hitches: tuple[float, ...]
    late_frames: int
    drawn: int
    heap_mb: float


@asynccontextmanager
async def signed_in(url: str, cookies: Mapping[str, str]) -> AsyncIterator[BrowserContext]:
    """A browser with an empty cache."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium.EXECUTABLE, args=FLAGS)
        try:
            context = await browser.new_context(base_url=url, viewport={"width": 1440, "height": 900})
            await context.add_cookies([{"name": name, "value": value, "url": url} for name, value in cookies.items()])
            await context.add_init_script(WATCH)
            yield context
        finally:
            await browser.close()


async def look(context: BrowserContext, conversation_id: str, *, scrolls: bool) -> Seen:
    page = await context.new_page()
    page.set_default_timeout(TIMEOUT_MS)
    session = await context.new_cdp_session(page)
    await session.send("Performance.enable", {"timeDomain": "threadTicks"})
    await page.goto(f"/c/{conversation_id}/")
    painted = float(await page.evaluate("noted.painted"))
    await page.wait_for_load_state("networkidle")
    before = await page.evaluate("noted.tasks")
    spent = {one["name"]: one["value"] for one in (await session.send("Performance.getMetrics"))["metrics"]}
    scrolled: dict[str, Any] = {"began": 0, "gaps": [0.0], "drawn": 0}
    if scrolls:
        scrolled = await page.evaluate(SCROLL, [FRAMES, STEP_PX])
    tasks = await page.evaluate("new Promise((done) => setTimeout(() => done(noted.tasks), 200))")
    usual = statistics.median(scrolled["gaps"])
    seen = Seen(
        painted_ms=painted,
        cpu_ms=spent["TaskDuration"] * 1000,
        opening_tasks=tuple(duration for _, duration in before),
        hitches=tuple(duration for start, duration in tasks if scrolls and start >= scrolled["began"]),
        late_frames=sum(gap >= 2 * usual for gap in scrolled["gaps"]) if scrolls else 0,
        drawn=scrolled["drawn"],
        heap_mb=await _heap_mb(session),
    )
    await page.close()
    return seen


async def _heap_mb(session: CDPSession) -> float:
    await session.send("HeapProfiler.collectGarbage")
    found = await session.send("Runtime.getHeapUsage")
    return float(found["usedSize"]) / MB


async def figures(url: str, made: Mapping[str, Any], *, rounds: int) -> list[Figure]:
    """`made`: what `benchmarks.page_rows` says. The first visit fills the cache, as a person's does."""
    found: list[Figure] = []
    async with signed_in(url, made["cookies"]) as context:
        cold = await look(context, made["long"], scrolls=False)
        found.append(Figure("2,000 messages, empty cache: painted after", cold.painted_ms, "ms"))
        for kind, name in (
            ("long", "2,000 messages"),
            ("ended", "ended run of 20,000 events"),
            ("live", "live run of 20,000 events"),
        ):
            seen = [await look(context, made[kind], scrolls=kind != "live") for _ in range(rounds)]
            found += _of(name, seen)
    return found


def _of(name: str, seen: Sequence[Seen]) -> list[Figure]:
    painted = of_rounds(f"{name}: painted after", [one.painted_ms for one in seen], "ms", at_most(OPENS_WITHIN_MS))
    hitch = [max(one.hitches, default=0.0) for one in seen]
    late = [float(one.late_frames) for one in seen]
    opening = [max(one.opening_tasks, default=0.0) for one in seen]
    return [
        painted,
        of_rounds(f"{name}: CPU of the page while opening", [one.cpu_ms for one in seen], "ms"),
        of_rounds(f"{name}: longest task while opening", opening, "ms"),
        of_rounds(f"{name}: longest task while scrolling", hitch, "ms", at_most(LONG_TASK_MS)),
        of_rounds(f"{name}: late frames of {FRAMES}", late, "frames"),
        of_rounds(f"{name}: heap", [one.heap_mb for one in seen], "MB", messages_drawn=[one.drawn for one in seen]),
    ]


def seed(env: Mapping[str, str]) -> dict[str, Any]:
    """For the person that the stand has (`benchmarks.seed`)."""
    command = (sys.executable, "-m", "benchmarks.page_rows", "--email", EMAIL)
    done = subprocess.run(
        command, cwd=ROOT, env={**env, "HYPERAGENT_PROCESS": "command"}, capture_output=True, text=True, check=True
    )
    made: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return made
