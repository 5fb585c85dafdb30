"""Searching the web and reading its pages (S180)."""

from typing import Annotated, Literal
from urllib.parse import urlsplit

from django.utils.translation.trans_null import gettext_noop
from pydantic import Field

from agents.engine.events import Source
from agents.tools.clip import clip
from agents.tools.tool import ANY_AGENT, Call, Reply, Sends, ToAddress, ToolError, tool
from agents.tools.values import FetchedPage, SearchPage, SearchResult

EXCERPT_CHARS = 300
PART_CHARS = 18_000
"""So much of a page is read at once: with its head it is what a model gets of a tool's result."""

Query = Annotated[str, "What to search for, as one would type it into a search engine", Field(min_length=1)]
Count = Annotated[int, "How many results at most", Field(ge=1, le=20)]


@tool(label=gettext_noop("Search the web"), agents=ANY_AGENT, needs=("web",), untrusted=True, sends=Sends.SERVICE)
async def web_search(call: Call, query: Query, max_results: Count = 5) -> Reply:
    """Searches the web and gives title, address and a snippet of each result.

    Not for the user's own documents (search_documents), nor for what happened in the last days (web_search_news).
    """
    return await _search(call, query, search_type="basic", max_results=max_results)


@tool(label=gettext_noop("Search the news"), agents=ANY_AGENT, needs=("web",), untrusted=True, sends=Sends.SERVICE)
async def web_search_news(call: Call, query: Query, max_results: Count = 5) -> Reply:
    """Searches recent news articles. Not for what does not change from week to week (web_search)."""
    return await _search(call, query, search_type="news", max_results=max_results)


@tool(
    label=gettext_noop("Search the web thoroughly"),
    agents=ANY_AGENT,
    needs=("web",),
    untrusted=True,
    timeout_s=90,
    sends=Sends.SERVICE,
)
async def web_search_deep(call: Call, query: Query, max_results: Count = 3) -> Reply:
    """Searches the web thoroughly and brings the pages' texts along. Slow and long: only where snippets do not do."""
    return await _search(call, query, search_type="deep", max_results=max_results)


@tool(
    label=gettext_noop("Read a web page"),
    agents=ANY_AGENT,
    needs=("pages",),
    untrusted=True,
    timeout_s=90,
    sends=ToAddress("url"),
)
async def fetch_url(
    call: Call,
    url: Annotated[str, "The whole address, with http:// or https://"],
    part: Annotated[int, "Which part of a long page, from 1", Field(ge=1, le=1000)] = 1,
) -> Reply:
    """Reads a web page or a PDF on the web as text. For an address that the user gave or that a search found, never for
    a guessed one. Long pages come in parts. Not for images (analyze_image)."""
    if not _is_of_web(url):
        raise ToolError(f"'{url[:200]}' is no web address: it has to begin with http:// or https:// and name a host.")
    page = part_of(await call.providers.pages.fetch(call.about, url, stays=call.stays), part)
    source = Source(
        type="web", source=page.title or _host(page.url), url=page.url, excerpt=page.text[:EXCERPT_CHARS] or None
    )
    return Reply(content=_page_text(page), data=page, sources=(source,))


async def _search(call: Call, query: str, *, search_type: Literal["basic", "news", "deep"], max_results: int) -> Reply:
    page = await call.providers.web.search(call.about, query, search_type=search_type, max_results=max_results)
    return Reply(content=_results_text(page), data=page, sources=tuple(map(source_of, page.results)))


def source_of(result: SearchResult) -> Source:
    """S181."""
    return Source(
        type="web",
        source=result.title or _host(result.url),
        url=result.url,
        excerpt=result.snippet[:EXCERPT_CHARS] or None,
        relevance_score=result.score,
    )


def _results_text(page: SearchPage) -> str:
    if not page.results:
        return f"Nothing was found for '{page.query}'. Try other or fewer words."
    lines = [f"Answer of the search service: {page.answer}"] if page.answer else []
    room = PART_CHARS // len(page.results)
    for number, result in enumerate(page.results, start=1):
        when = f" ({result.published})" if result.published else ""
        said = clip(result.raw_content or result.snippet, room)
        lines.append(f"{number}. {result.title}{when}\n{result.url}\n{said}")
    return "\n\n".join(lines)


def part_of(page: FetchedPage, part: int) -> FetchedPage:
    """Cut at the ends of paragraphs where there are any. Raises ToolError for a part that there is not."""
    cuts = [0]
    while len(page.text) - cuts[-1] > PART_CHARS:
        cuts.append(_cut_after(page.text, cuts[-1]))
    if part > len(cuts):
        raise ToolError(f"The page has {len(cuts)} parts of text, and no part {part}.")
    end = cuts[part] if part < len(cuts) else len(page.text)
    return page.model_copy(update={"text": page.text[cuts[part - 1] : end].strip(), "part": part, "parts": len(cuts)})


def _cut_after(text: str, start: int) -> int:
    """In the last third of what fits, else where it is full."""
    end = start + PART_CHARS
    for break_ in ("\n\n", "\n", " "):
        found = text.rfind(break_, end - PART_CHARS // 3, end)
        if found > 0:
            return found + len(break_)
    return end


def _page_text(page: FetchedPage) -> str:
    head = f"{page.title}\n{page.url}\n\n{page.text}" if page.title else f"{page.url}\n\n{page.text}"
    if page.part < page.parts:
        return f"{head}\n\n[Part {page.part} of {page.parts}. The next one: fetch_url with part={page.part + 1}.]"
    if not page.is_whole:
        return f"{head}\n\n[The page is longer than what is read of it: its end is missing.]"
    return head


def _is_of_web(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def _host(url: str) -> str:
    return urlsplit(url).hostname or url
