"""The web agent: chooses a search, reads what is worth reading, and answers with sources."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any, Final, Literal

from pydantic import BaseModel, Field

from agents.craft.briefing import briefing, house_rules, quoted, short_briefing
from agents.craft.exchange import AgentInput, Work
from agents.craft.hearing import with_said
from agents.craft.passages import Passage, sources_of, told
from agents.craft.prompts import fill, read_prompt
from agents.craft.small import SMALL_CHARS, ask_small
from agents.craft.stages import stage
from agents.engine.events import Source
from agents.pipeline.citations import check
from agents.runtime.context import AgentContext
from agents.runtime.tool_door import ToolReply
from agents.spec import AgentSpec
from agents.tools.catalogue.web_tools import source_of
from agents.tools.taint import addresses_in, own_words, same_address
from agents.tools.values import FetchedPage, SearchPage, SearchResult
from hyperagent.lib.clipping import one_line
from hyperagent.lib.llm.types import Message, ModelReply, Role, Tier

SPEC = AgentSpec(
    name="web",
    description="Searches the web once, reads the best pages, and answers with sources. For facts and for news.",
    capabilities=("web search", "news", "current facts", "reading web pages", "citations"),
    typical_use_cases=(
        "What is the latest news about our competitor?",
        "When does the new data protection law come into force?",
        "Find public benchmarks for server costs",
        "What does this page say about refunds? https://example.org/terms",
    ),
    tools=("web_search", "web_search_news", "web_search_deep", "fetch_url"),
    needs=("web",),
    handoffs=False,
    temperature=0.2,
    data_fields=("search_query", "search_type", "tavily_answer", "search_results", "fetched_pages", "sources"),
)

HERE = Path(__file__).parent
TOOLS: Final = {"basic": "web_search", "news": "web_search_news", "deep": "web_search_deep"}
MOST_PAGES: Final = 3
MAX_RESULTS: Final = 8
DEEP_RESULTS: Final = 4
PASSAGE_CHARS: Final = 10_000
ALL_PASSAGES_CHARS: Final = 40_000
EXCERPT_CHARS: Final = 300


class Strategy(BaseModel):
    """One search, and what is to be read whole."""

    query: str = Field(min_length=1, max_length=400)
    search_type: Literal["basic", "news", "deep"] = "basic"
    pages_to_read: int = Field(default=0, ge=0, le=10)
    urls: list[str] = Field(default=[], description="addresses that the task names")


@dataclass(frozen=True, slots=True)
class Found:
    """What the search and the pages gave. `trouble`: why the search gave nothing, for people. `unread`: why pages could
    not be read, by their addresses."""

    page: SearchPage
    fetched: tuple[FetchedPage, ...] = ()
    unread: Mapping[str, str] = field(default_factory=dict)
    trouble: str = ""
    code: str = ""

    @property
    def is_empty(self) -> bool:
        return not self.page.results and not self.fetched and not self.trouble

    def passages(self) -> list[Passage]:
        read = {page.url: page.text for page in self.fetched}
        found = [_passage(result, read.pop(result.url, "")) for result in self.page.results]
        for page in self.fetched:
            if page.url in read:
                title = page.title or page.url
                source = Source(type="web", source=title, url=page.url, excerpt=page.text[:EXCERPT_CHARS])
                found.append(Passage(source, page.text))
        return found


async def run(context: AgentContext, task: AgentInput) -> Work:
    with stage(context, "search", "Choosing what to search for"):
        strategy = await _strategy(context, task)
    with stage(context, "search", f"Searching the web for: {strategy.query}"):
        found = await _found(context, task, strategy)
    if found.is_empty:
        with stage(context, "search", "Nothing was found: searching with other words"):
            strategy = await _strategy(context, task, in_vain=strategy.query)
            found = await _found(context, task, strategy)
    passages = found.passages()
    if found.trouble and not passages:
        return _in_vain(strategy, found)
    with stage(context, "synthesize", "Answering from what was found"):
        reply = await _answer(context, task, found, passages)
    return _work(strategy, found, passages, reply)


async def run_small(context: AgentContext, task: AgentInput) -> Work:
    """It searches once, for the task as it was put."""
    strategy = Strategy(query=one_line(task.task)[:200] or "-")
    with stage(context, "search", f"Searching the web for: {strategy.query}"):
        found = await _found(context, task, strategy)
    passages = found.passages()
    if found.trouble and not passages:
        return _in_vain(strategy, found)
    with stage(context, "synthesize", "Answering from what was found"):
        reply = await _short_answer(context, task, passages)
    return _work(strategy, found, passages, reply)


async def _strategy(context: AgentContext, task: AgentInput, *, in_vain: str = "") -> Strategy:
    """`in_vain`: what was searched for already and gave nothing."""
    system = fill(read_prompt(HERE / "strategy.md"), rules=house_rules())
    before = f"\n\n## Searched for in vain\n{in_vain}\nChoose fewer and more usual words." if in_vain else ""
    user = briefing(task) + before
    messages = (Message(role=Role.SYSTEM, content=system), Message(role=Role.USER, content=user))
    request = task.request(agent=SPEC.name, tier=Tier.FLASH, messages=messages, temperature=0, keeps_temperature=True)
    return await context.structured(await with_said(context, request), Strategy, stage="search_agent")


async def _found(context: AgentContext, task: AgentInput, strategy: Strategy) -> Found:
    most = DEEP_RESULTS if strategy.search_type == "deep" else MAX_RESULTS
    reply = await context.tool(TOOLS[strategy.search_type], {"query": strategy.query, "max_results": most})
    page = SearchPage(query=strategy.query, search_type=strategy.search_type)
    if not reply.is_error and reply.data:
        page = SearchPage.model_validate(reply.data)
    fetched, unread = await _fetched(context, _to_read(_given(context, task), strategy, page))
    if not reply.is_error:
        return Found(page, fetched, unread)
    return Found(page, fetched, unread, trouble=reply.trouble, code=_code_of(reply))


def _given(context: AgentContext, task: AgentInput) -> str:
    """What was asked for, with the person's own words before it, and what they added meanwhile."""
    return "\n".join([task.task, task.original_question, *own_words(context.run.turn), *context.said])


def _to_read(given: str, strategy: Strategy, page: SearchPage) -> list[str]:
    """Addresses that the person gave, however they are written, then the best results; never one that only a model
    knows of."""
    known = addresses_in(given)
    whole = [url if "://" in url else f"https://{url}" for url in strategy.urls]
    named = [url for url in whole if url in given or same_address(url) in known]
    best = sorted(page.results, key=lambda result: -result.score)
    wanted = [result.url for result in best if not result.raw_content][: strategy.pages_to_read]
    return list(dict.fromkeys([*named, *wanted]))[:MOST_PAGES]


async def _fetched(context: AgentContext, urls: list[str]) -> tuple[tuple[FetchedPage, ...], dict[str, str]]:
    """The pages that could be read, and why the others could not."""
    replies: list[ToolReply] = await context.all(
        *[lambda branch, url=url: branch.tool("fetch_url", {"url": url}) for url in urls]
    )
    read = tuple(FetchedPage.model_validate(reply.data) for reply in replies if not reply.is_error and reply.data)
    return read, {url: reply.trouble for url, reply in zip(urls, replies, strict=True) if reply.is_error}


async def _short_answer(context: AgentContext, task: AgentInput, passages: list[Passage]) -> ModelReply:
    few = told(passages[:3], limit=SMALL_CHARS // 3, total=SMALL_CHARS)
    user = f"{few}\n\nQuestion: {short_briefing(task, limit=400)}"
    system = read_prompt(HERE / "prompt_small.md")
    return await ask_small(context, task, SPEC, system=system, user=user, stage="synthesize")


async def _answer(context: AgentContext, task: AgentInput, found: Found, passages: list[Passage]) -> ModelReply:
    parts = [
        briefing(task),
        f"## Search\n{found.page.search_type}: {found.page.query}",
        f"## The search service's own answer, not a source\n{_of_service(found.page)}" if found.page.answer else "",
        f"## Sources\n{told(passages, limit=PASSAGE_CHARS, total=ALL_PASSAGES_CHARS) or 'Nothing was found.'}",
        f"## Trouble\nThe search failed: {found.trouble}" if found.trouble else "",
        f"## Pages that could not be read\n{_unread(found.unread)}" if found.unread else "",
    ]
    system = fill(read_prompt(HERE / "synthesize.md"), rules=house_rules())
    user = "\n\n".join(part for part in parts if part)
    messages = (Message(role=Role.SYSTEM, content=system), Message(role=Role.USER, content=user))
    request = task.request(agent=SPEC.name, tier=SPEC.tier, messages=messages, temperature=SPEC.temperature)
    return await context.model(await with_said(context, request), stage="synthesize", shown=task.speaks)


def _passage(result: SearchResult, text: str) -> Passage:
    """With its day, where the search knows it: of news half the meaning."""
    said = text or result.raw_content or result.snippet
    return Passage(source_of(result), f"(Published: {result.published})\n{said}" if result.published else said)


def _in_vain(strategy: Strategy, found: Found) -> Work:
    """For the person: why there is nothing to answer from."""
    why = " ".join([f"I could not search the web for “{strategy.query}”.", found.trouble, *found.unread.values()])
    data = {"search_query": strategy.query, "search_type": strategy.search_type}
    return Work(result=why, done=False, error=found.code, partial_data=data, confidence=0)


def _of_service(page: SearchPage) -> str:
    return quoted(TOOLS[page.search_type], page.answer)


def _unread(unread: Mapping[str, str]) -> str:
    return quoted("fetch_url", "\n".join(f"- {url}: {why}" for url, why in unread.items()))


def _code_of(reply: ToolReply) -> str:
    code = reply.data.get("error") if isinstance(reply.data, dict) else None
    return str(code or "search_failed")


def _work(strategy: Strategy, found: Found, passages: list[Passage], reply: ModelReply) -> Work:
    sources = sources_of(passages)
    text = check(reply.text, len(sources))
    shown = [source.model_dump(mode="json", exclude={"document_id", "chunk_id"}) for source in sources]
    data: dict[str, Any] = {
        "search_query": found.page.query or strategy.query,
        "search_type": found.page.search_type,
        "tavily_answer": found.page.answer,
        "search_results": [
            result.model_dump(mode="json", include={"title", "url", "snippet", "score"})
            for result in found.page.results
        ],
        "fetched_pages": len(found.fetched),
        "sources": shown,
    }
    scores = [min(1.0, max(0.0, result.score)) for result in found.page.results]
    return Work(
        result=text,
        data=data,
        confidence=round(fmean(scores), 4) if scores else 0.3 if passages else 0.1,
        sources=sources,
        shared={"research_findings": text, "research_sources": shown},
        model_used=reply.model,
    )
