"""SearXNG, a search engine over others that one runs oneself, by its JSON answers. It brings no pages."""

from typing import Any, Final

from agents.tools.tool import ToolError
from agents.web import trouble
from agents.web.found import Hit, Hits, SearchType, read_score, read_text
from hyperagent.lib.outside.calling import NotAnswered, NotJson, call

MAX_BYTES: Final = 5_000_000
TIMEOUT_S: Final = 20.0
NAME: Final = "SearXNG"
SETTING: Final = "SEARXNG_URL"
_NO_JSON: Final = (
    "SearXNG does not give its results as JSON. An administrator must add json to search.formats in its settings.yml."
)


class SearXNG:
    """Its scores are sums over engines and places, so they say something only beside each other."""

    scores_are_absolute = False

    def __init__(self, url: str, *, retries: int = 1) -> None:
        base = url.rstrip("/")
        self._url = base if base.endswith("/search") else f"{base}/search"
        self._retries = retries

    async def search(self, query: str, *, search_type: SearchType, max_results: int) -> Hits:
        category = "news" if search_type == "news" else "general"
        try:
            answer = await call(
                "GET",
                self._url,
                params={"q": query, "format": "json", "categories": category},
                max_bytes=MAX_BYTES,
                timeout_s=TIMEOUT_S,
                retries=self._retries,
            )
        except NotAnswered as error:
            raise trouble.not_answered(NAME, error, setting=SETTING) from None
        if answer.status == 403:
            raise ToolError(_NO_JSON)
        if not answer.is_ok:
            raise trouble.refused(NAME, answer.status, key="", setting=SETTING)
        if answer.headers.get("content-type", "").startswith("text/html"):
            raise ToolError(_NO_JSON)
        try:
            return _hits(answer.json())
        except (NotJson, KeyError, TypeError):
            raise trouble.garbled(NAME, setting=SETTING) from None


def _hits(given: Any) -> Hits:
    """Raises KeyError or TypeError for what is no answer of SearXNG's."""
    rows = given["results"]
    if not isinstance(rows, list):
        raise TypeError("results are no list")
    if not rows and given.get("unresponsive_engines"):
        raise ToolError("SearXNG found nothing because the search engines behind it did not answer. Try again later.")
    return Hits(tuple(_hit(row) for row in rows if isinstance(row, dict)), answer=_answer(given.get("answers")))


def _hit(row: dict[str, Any]) -> Hit:
    return Hit(
        title=read_text(row.get("title")),
        url=read_text(row.get("url")),
        snippet=read_text(row.get("content")),
        score=read_score(row.get("score")),
        published=read_text(row.get("publishedDate")),
    )


def _answer(answers: Any) -> str:
    """Older versions give texts, newer ones objects."""
    first = answers[0] if isinstance(answers, list) and answers else ""
    return read_text(first.get("answer")) if isinstance(first, dict) else read_text(first)
