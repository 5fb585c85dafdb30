"""Tavily by its REST API: a search that also answers, and brings whole pages where it searches deeply (S180)."""

from typing import Any, Final

from pydantic import SecretStr

from agents.web import trouble
from agents.web.found import Hit, Hits, SearchType, read_score, read_text
from hyperagent.lib.outside.calling import NotAnswered, NotJson, call

BASE_URL: Final = "https://api.tavily.com"
MAX_BYTES: Final = 5_000_000
TIMEOUT_S: Final = 20.0
DEEP_TIMEOUT_S: Final = 60.0
NAME: Final = "Tavily"
SETTING, KEY = "TAVILY_BASE_URL", "TAVILY_API_KEY"


class Tavily:
    scores_are_absolute = True

    def __init__(self, key: SecretStr, base_url: str = "", *, retries: int = 1, timeout_s: float = TIMEOUT_S) -> None:
        self._key = key
        self._url = f"{(base_url or BASE_URL).rstrip('/')}/search"
        self._retries = retries
        self._timeout_s = timeout_s

    async def search(self, query: str, *, search_type: SearchType, max_results: int) -> Hits:
        is_deep = search_type == "deep"
        asked: dict[str, Any] = {
            "query": query,
            "topic": "news" if search_type == "news" else "general",
            "search_depth": "advanced" if is_deep else "basic",
            "include_raw_content": "markdown" if is_deep else False,
            "include_answer": "advanced" if is_deep else "basic",
            "max_results": max_results,
        }
        try:
            answer = await call(
                "POST",
                self._url,
                json=asked,
                headers={"authorization": f"Bearer {self._key.get_secret_value()}"},
                max_bytes=MAX_BYTES,
                timeout_s=DEEP_TIMEOUT_S if is_deep else self._timeout_s,
                retries=0 if is_deep else self._retries,
            )
        except NotAnswered as error:
            raise trouble.not_answered(NAME, error, setting=SETTING) from None
        if not answer.is_ok:
            raise trouble.refused(NAME, answer.status, key=KEY, setting=SETTING)
        try:
            return _hits(answer.json())
        except (NotJson, KeyError, TypeError):
            raise trouble.garbled(NAME, setting=SETTING) from None


def _hits(given: Any) -> Hits:
    """Raises KeyError or TypeError for what is no answer of Tavily's. A result that is none is left out."""
    rows = given["results"]
    if not isinstance(rows, list):
        raise TypeError("results are no list")
    return Hits(tuple(_hit(row) for row in rows if isinstance(row, dict)), answer=read_text(given.get("answer")))


def _hit(row: dict[str, Any]) -> Hit:
    return Hit(
        title=read_text(row.get("title")),
        url=read_text(row.get("url")),
        snippet=read_text(row.get("content")),
        score=read_score(row.get("score")),
        published=read_text(row.get("published_date")),
        raw_content=read_text(row.get("raw_content")),
    )
