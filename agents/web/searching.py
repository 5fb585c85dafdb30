"""Search as tools reach it: whichever service the administrator chose, with the same results and the same words (S180).

Where a service does not bring the pages of a deep search along, they are read here.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from agents.runtime.driven import About
from agents.tools.providers import Pages
from agents.tools.tool import ToolError
from agents.tools.values import SearchPage, SearchResult
from agents.web.found import ANSWER_CHARS, CONTENT_CHARS, SearchService, SearchType, query_of, results_of, text_of

DEEP_PAGES: Final = 3
PAGE_S: Final = 25.0


class WebSearch:
    """`pages`: reads what a deep search is to bring along."""

    def __init__(self, service: SearchService, pages: Pages) -> None:
        self._service = service
        self._pages = pages

    async def search(self, about: About, query: str, *, search_type: SearchType, max_results: int) -> SearchPage:
        wanted = query_of(query)
        if not wanted:
            raise ToolError("The query has no words. Search for what you want to know.")
        found = await self._service.search(wanted, search_type=search_type, max_results=max_results)
        results = results_of(found.hits, most=max_results, scores_are_absolute=self._service.scores_are_absolute)
        if search_type == "deep":
            results = await self._with_pages(about, results)
        return SearchPage(
            query=wanted,
            search_type=search_type,
            answer=text_of(found.answer, most=ANSWER_CHARS),
            results=results,
        )

    async def _with_pages(self, about: About, results: Sequence[SearchResult]) -> tuple[SearchResult, ...]:
        """Of the first few, the pages that could be read. One that could not keeps its snippet."""
        lacking = [result for result in results if not result.raw_content][:DEEP_PAGES]
        texts = await asyncio.gather(*(self._text(about, result.url) for result in lacking))
        read = {result.url: text for result, text in zip(lacking, texts, strict=True) if text}
        return tuple(
            result.model_copy(update={"raw_content": read[result.url]}) if result.url in read else result
            for result in results
        )

    async def _text(self, about: About, url: str) -> str:
        try:
            async with asyncio.timeout(PAGE_S):
                page = await self._pages.fetch(about, url)
        except (ToolError, TimeoutError):
            return ""
        return text_of(page.text, most=CONTENT_CHARS)
