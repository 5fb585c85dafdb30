"""The cases of the reducer and of the block splitter, in the browser that runs them for people."""

import pytest
from playwright.sync_api import Page

from tests.page.conftest import Watched

RUN_ALL = """async (url) => {
    const { cases } = await import(url);
    const faults = {};
    for (const [name, run] of Object.entries(cases)) {
        try { await run(); } catch (error) { faults[name] = error.message; }
    }
    return { count: Object.keys(cases).length, faults };
}"""


@pytest.fixture
def page(watched: Watched, static_site: str) -> Page:
    page = watched.new_page()
    page.goto(f"{static_site}/tests/page/render.html")
    return page


@pytest.mark.spec("S144", "S146", "B10")
@pytest.mark.parametrize(
    "file",
    ["store_cases.mjs", "trace_cases.mjs", "hands_cases.mjs", "blocks_cases.mjs", "chat_cases.mjs", "run_cases.mjs"],
)
def test_the_pages_state_is_a_function_of_the_events(page: Page, static_site: str, file: str) -> None:
    result = page.evaluate(RUN_ALL, f"{static_site}/tests/page/{file}")

    assert result["faults"] == {}
    assert result["count"] >= 4
