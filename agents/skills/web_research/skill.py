"""A short look at the web: search, read the best pages, summarise with sources."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from agents.craft.prompts import read_prompt
from agents.engine.events import Source
from agents.pipeline.citations import check, number
from agents.skills.base import SkillContext, SkillError, SkillResult, ToolSkill
from agents.tools.untrusted import marked_untrusted
from agents.tools.values import FetchedPage
from hyperagent.lib.clipping import at_a_boundary

PROMPT = Path(__file__).parent / "prompt.md"
PAGE_CHARS: Final = 8_000
NOTHING: Final = "The search found nothing for this question."


class Params(BaseModel):
    model_config = ConfigDict(extra="forbid")

    query: str = Field(min_length=1, description="The question to be answered")
    max_sources: int = Field(default=5, ge=1, le=10, description="How many results to look at")
    pages: int = Field(default=2, ge=0, le=5, description="How many of them to read as a whole")


class Found(BaseModel):
    model_config = ConfigDict(extra="forbid")

    title: str
    url: str


class Output(BaseModel):
    model_config = ConfigDict(extra="forbid")

    query: str
    summary: str = Field(description="The answer, with [1] for the first of the sources, and so on")
    sources: tuple[Found, ...]
    pages_read: int


class WebResearch(ToolSkill[Params]):
    id = "web_research"
    version = "1.0.0"
    description = "Searches the web for one focused question and summarises what the sources say, with their numbers."
    category = "research"
    params = Params
    output = Output
    tools = ("web_search", "fetch_url")

    async def execute(self, params: Params, context: SkillContext) -> SkillResult:
        searched = await context.tool("web_search", query=params.query, max_results=params.max_sources)
        if searched.is_error:
            raise SkillError(searched.trouble)
        sources = number([[source for source in searched.sources if source.url]]).sources[: params.max_sources]
        if not sources:
            return _result(params.query, NOTHING, (), pages_read=0)
        pages = await self._read(context, sources[: params.pages])
        asked = _asked(params.query, sources, pages)
        reply = await context.model(system=read_prompt(PROMPT), user=asked, stage="analyze")
        return _result(params.query, check(reply.text, len(sources)), sources, pages_read=len(pages))

    async def _read(self, context: SkillContext, sources: Sequence[Source]) -> dict[int, str]:
        """The pages' texts by the numbers of their sources; one that cannot be read is left out."""
        replies = await context.tools_at_once([("fetch_url", {"url": source.url}) for source in sources])
        return {
            place: FetchedPage.model_validate(reply.data).text
            for place, reply in enumerate(replies, start=1)
            if not reply.is_error
        }


def _asked(query: str, sources: Sequence[Source], pages: Mapping[int, str]) -> str:
    listed = "\n".join(
        f"[{place}] {source.source} ({source.url}): {source.excerpt or ''}" for place, source in enumerate(sources, 1)
    )
    read = [
        f"The page of source [{place}]:\n{marked_untrusted(at_a_boundary(page, PAGE_CHARS), source='fetch_url')}"
        for place, page in pages.items()
    ]
    return "\n\n".join([f"Question: {query}", f"Sources:\n{marked_untrusted(listed, source='web_search')}", *read])


def _result(query: str, summary: str, sources: tuple[Source, ...], *, pages_read: int) -> SkillResult:
    found = tuple(Found(title=source.source, url=source.url or "") for source in sources)
    output = Output(query=query, summary=summary, sources=found, pages_read=pages_read)
    return SkillResult(output=output.model_dump(mode="json"), text=summary, sources=sources)


SKILL = WebResearch()
