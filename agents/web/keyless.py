"""Search without a key, by the library `ddgs`: it reads the result pages of public search engines. The only file that
imports it. What those engines allow changes without notice, so this is for trying out and for single people."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from agents.tools.tool import ToolError
from agents.web.found import Hit, Hits, SearchType, read_text

TIMEOUT_S: Final = 30.0
_ENGINE_TIMEOUT_S: Final = 10
_SOON: Final = "Try again in a few minutes."

Rows = Sequence[Mapping[str, Any]]
Ask = Callable[[str, SearchType, int], Rows]


class BusyEngines(Exception):
    """They refuse programs for a while."""


class NoEngines(Exception):
    """None of them answered."""


class Keyless:
    """`ask`: what searches, in a thread of its own; raises BusyEngines, NoEngines."""

    scores_are_absolute = False

    def __init__(self, ask: Ask | None = None, *, timeout_s: float = TIMEOUT_S) -> None:
        self._ask = ask or _asked
        self._timeout_s = timeout_s

    async def search(self, query: str, *, search_type: SearchType, max_results: int) -> Hits:
        try:
            async with asyncio.timeout(self._timeout_s):
                rows = await asyncio.to_thread(self._ask, query, search_type, max_results)
        except TimeoutError:
            raise ToolError(f"The public search engines did not answer in time. {_SOON}") from None
        except BusyEngines:
            raise ToolError(f"The public search engines refuse programs for now. {_SOON}") from None
        except NoEngines:
            raise ToolError(f"The public search engines cannot be reached. {_SOON}") from None
        return Hits(tuple(_hit(row) for row in rows))


def _asked(query: str, search_type: SearchType, max_results: int) -> Rows:
    from ddgs import DDGS  # late: it loads a browser's worth of TLS
    from ddgs.exceptions import DDGSException, RatelimitException, TimeoutException

    searching = DDGS(timeout=_ENGINE_TIMEOUT_S)
    try:
        if search_type == "news":
            return searching.news(query, max_results=max_results)
        return searching.text(query, max_results=max_results)
    except RatelimitException:
        raise BusyEngines from None
    except TimeoutException:
        raise NoEngines from None
    except DDGSException as error:
        # It says so by an error like any other.
        if "no results" in str(error).lower():
            return []
        raise NoEngines from None


def _hit(row: Mapping[str, Any]) -> Hit:
    """News have `url`, pages `href`."""
    return Hit(
        title=read_text(row.get("title")),
        url=read_text(row.get("href")) or read_text(row.get("url")),
        snippet=read_text(row.get("body")),
        published=read_text(row.get("date")),
    )
