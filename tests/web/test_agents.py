"""The web and research agents, and chat, with a real search service and real sites behind their tools."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import SecretStr

from agents.craft.exchange import Options
from agents.tools.providers import Providers
from agents.web.pages import GuardedPages
from agents.web.searching import WebSearch
from agents.web.searxng import SearXNG
from agents.web.tavily import Tavily
from tests.faces.conftest import in_threads
from tests.lib.web import Page, Web
from tests.roster.conftest import cases, scripted_server
from tests.roster.driving import Cases, calls, prompt, says, task_for
from tests.runtime.conftest import make_runner
from tests.runtime.driving import Runners, ended, events, start
from tests.scripted.script import Script, ScriptedCall
from tests.scripted.server import ScriptedServer
from tests.shown import shown
from tests.web.service import KEY, Said, SearchServer, row

__all__ = ["cases", "in_threads", "make_runner", "scripted_server"]

SAID = "Acme's revenue in the third quarter of 2026 was 4.2 million euro, twelve per cent more than a year before."
# What is no HTML is read in a third of the time.
REPORT = Page(SAID.encode(), content_type="text/plain")


def outside(search: SearchServer, *, service: str = "tavily") -> Providers:
    """As an installation has them; the sites' names mean this machine."""

    async def lookup(host: str, port: int) -> Sequence[str]:
        return ["127.0.0.1"]

    pages = GuardedPages(allow_private=True, lookup=lookup, timeout_s=5)  # type: ignore[arg-type]
    asked = Tavily(SecretStr(KEY), search.url, retries=0) if service == "tavily" else SearXNG(search.url, retries=0)
    return Providers(web=WebSearch(asked, pages), pages=pages)


def at(web: Web, path: str) -> str:
    return f"http://acme.example:{web.port}{path}"


# ── The web agent ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.spec("S180", "S181")
async def test_a_deep_search_brings_the_pages_and_the_answer_cites_them(
    scripted_server: ScriptedServer, cases: Cases, search: SearchServer
) -> None:
    search.answer = "About 4 million."
    search.rows = [
        row(
            "https://a.example/", score=0.9, title="Acme", raw_content="The whole report.", published_date="2026-11-02"
        ),
        row("https://b.example/", score=0.7, raw_content="Another whole page."),
    ]
    scripted_server.script(
        says({"query": "Acme revenue", "search_type": "deep"}), says("4.2 million [1], says Acme [2].")
    )

    output = await cases(task_for("web", "Compare what is said of Acme's revenue"), outside(search)).output()

    assert (search.asked[0]["search_depth"], search.asked[0]["include_raw_content"]) == ("advanced", "markdown")
    told = prompt(scripted_server, -1)
    assert "(Published: 2026-11-02)\nThe whole report." in told
    assert 'not a source\n<untrusted source="web_search_deep">\nAbout 4 million.\n</untrusted>' in told
    assert (output.data["search_type"], output.data["tavily_answer"]) == ("deep", "About 4 million.")
    assert [source.url for source in output.metadata.sources] == ["https://a.example/", "https://b.example/"]
    assert output.metadata.citations == (1, 2)


@pytest.mark.spec("S180")
async def test_a_page_that_the_person_named_and_that_cannot_be_read_is_told_to_the_model(
    scripted_server: ScriptedServer, cases: Cases, search: SearchServer, web: Web
) -> None:
    web.pages["/robots.txt"] = Page(b"User-agent: *\nDisallow: /", content_type="text/plain")
    search.rows = [row("https://a.example/")]
    url = at(web, "/terms")
    scripted_server.script(says({"query": "Acme terms", "urls": [url]}), says("It could not be read."))

    await cases(task_for("web", f"What does {url} say about refunds?"), outside(search)).output()

    told = prompt(scripted_server, -1)
    assert "## Pages that could not be read" in told
    assert f"- {url}: http://acme.example:{web.port} asks programs not to read this page (robots.txt)" in told
    assert web.paths() == ["/robots.txt"]


async def test_where_nothing_is_found_other_words_are_tried_once_and_the_answer_says_so(
    scripted_server: ScriptedServer, cases: Cases, search: SearchServer
) -> None:
    scripted_server.script(
        says({"query": "Acme Ltd third quarter turnover figures"}),
        says({"query": "Acme turnover"}),
        says("Nothing was found on Acme's turnover."),
    )

    output = await cases(task_for("web", "What was Acme's turnover?"), outside(search, service="searxng")).output()

    assert [asked["q"] for asked in search.asked] == ["Acme Ltd third quarter turnover figures", "Acme turnover"]
    assert "## Searched for in vain\nAcme Ltd third quarter turnover figures" in prompt(scripted_server, 1)
    assert "## Sources\nNothing was found." in prompt(scripted_server, 2)
    assert output.result == "Nothing was found on Acme's turnover."
    assert output.metadata.sources == ()
    assert output.confidence_score == 0.1


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (Said(432, b"{}"), "The searches that Tavily allows are used up. An administrator must see to its plan."),
        (Said(401, b"{}"), "Tavily does not accept its key. An administrator must set a valid TAVILY_API_KEY."),
        (Said(503, b"{}"), "Tavily has a fault of its own. Try again later."),
    ],
)
async def test_a_search_that_is_refused_ends_in_a_sentence_for_people(
    scripted_server: ScriptedServer, cases: Cases, search: SearchServer, said: Said, why: str
) -> None:
    search.instead = [said]
    scripted_server.script(says({"query": "Acme revenue"}))

    output = await cases(task_for("web", "What was Acme's revenue?"), outside(search)).output()

    assert not output.task_done
    assert (output.result, output.error) == (f"I could not search the web for “Acme revenue”. {why}", "tool_failed")


async def test_a_failed_search_does_not_cost_the_page_that_the_person_named(
    scripted_server: ScriptedServer, cases: Cases, search: SearchServer, web: Web
) -> None:
    search.instead = [Said(432, b"{}")]
    web.pages["/report"] = REPORT
    url = at(web, "/report")
    scripted_server.script(says({"query": "Acme", "urls": [url]}), says("4.2 million euro [1]."))

    output = await cases(task_for("web", f"What was the revenue? See {url}"), outside(search)).output()

    told = prompt(scripted_server, -1)
    assert "The search failed: The searches that Tavily allows are used up." in told
    assert "4.2 million euro" in told
    assert output.task_done
    assert [source.url for source in output.metadata.sources] == [url]


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("in_threads")
@pytest.mark.spec("S180", "S181", "S31")
async def test_a_turn_searches_reads_and_answers_with_sources_to_the_tables(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners, search: SearchServer, web: Web
) -> None:
    url = at(web, "/report")
    web.pages["/report"] = f"<html><body><article><p>{SAID}</p></article></body></html>"
    search.rows = [row(url, score=0.9, title="Acme report", content="Acme's third quarter"), row("https://b.example/")]
    answer = "Acme's revenue in the third quarter of 2026 was 4.2 million euro [1]."
    scripted_server.script(
        says({"query": "Acme revenue Q3 2026", "search_type": "news", "pages_to_read": 1}), says(answer)
    )
    await make_runner(scripted_server.url, providers=outside(search))

    run = await ended(
        await start(alice, "What was Acme's revenue in the third quarter?", mode="web", about={"is_temporary": True}),
        timeout_s=40,
    )

    assert (run.status, run.answer) == ("completed", answer), run.error_message
    said = await events(run.id)
    assert shown(said) == answer
    assert [event["tool"] for event in said if event["type"] == "tool_call"] == ["web_search_news", "fetch_url"]
    assert next(event["source"]["url"] for event in said if event["type"] == "source") == url
    assert said[-1]["sources"][0]["url"] == url
    assert "twelve per cent more" in scripted_server.calls[-1].last_user
    assert search.asked[0]["topic"] == "news"


# ── Research, and chat ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.spec("S34", "S35", "S36")
async def test_research_goes_on_where_one_search_is_refused_and_cites_what_it_read(
    scripted_server: ScriptedServer, cases: Cases, search: SearchServer, web: Web
) -> None:
    web.pages["/report"] = REPORT
    search.rows = [row(at(web, "/report"), title="Acme report", content="The third quarter")]
    search.instead = [Said(429, b"{}")]
    scripted_server.script(
        says({"depth": "standard", "scenario": "market", "focus": "Acme's revenue", "subquestions": []}),
        calls("web_search", query="Acme revenue"),
        calls("web_search_news", query="Acme revenue third quarter"),
        calls("fetch_url", url=at(web, "/report")),
        says("Notes: 4.2 million."),
        says("Short."),
    )
    options = Options(depth="quick", interactive=False)

    case = cases(task_for("research", "Research Acme's revenue", options=options), outside(search))
    output = await case.output()

    assert output.result
    assert [asked["topic"] for asked in search.asked] == ["general", "news"]
    tool_texts = [json.dumps(call.messages) for call in scripted_server.calls]
    assert any("Tavily has too many searches at once" in text for text in tool_texts)
    assert "twelve per cent more" in prompt(scripted_server, -1)
    assert [source.url for source in output.metadata.sources] == [at(web, "/report")]


async def test_chat_reads_a_page_that_the_person_names_without_any_search_service(
    scripted_server: ScriptedServer, cases: Cases, search: SearchServer, web: Web
) -> None:
    web.pages["/report"] = REPORT
    url = at(web, "/report")
    providers = Providers(pages=outside(search).pages)
    scripted_server.script(
        Script(tool_calls=[ScriptedCall(name="fetch_url", arguments=json.dumps({"url": url}))]),
        says(f"4.2 million euro, says [the report]({url})."),
    )

    output = await cases(task_for("chat", f"What does {url} say?"), providers).output()

    assert [source.url for source in output.metadata.sources] == [url]
    offered = [tool["function"]["name"] for tool in scripted_server.calls[0].body["tools"]]
    assert "fetch_url" in offered
    assert "<untrusted" in json.dumps(scripted_server.calls[1].messages)
