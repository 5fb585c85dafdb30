"""What a search service gave, made fit to be shown and kept: cleaned, bounded, each address once. Pure."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

from agents.tools.values import SearchResult
from hyperagent.lib import clipping
from hyperagent.lib.outside.addresses import BadAddress, canonical
from hyperagent.lib.text import clean_text

SearchType = Literal["basic", "news", "deep"]

QUERY_CHARS: Final = 400
"""More than this no service takes."""
ANSWER_CHARS: Final = 4_000
SNIPPET_CHARS: Final = 2_000
CONTENT_CHARS: Final = 12_000
_TITLE_CHARS: Final = 300
_PUBLISHED_CHARS: Final = 60
_BLANKS: Final = re.compile(r"[ \t]+")
_LINES: Final = re.compile(r"\n\s*\n\s*")


@dataclass(frozen=True, slots=True)
class Hit:
    """One result as a service gave it. `score`: the service's own, higher fits better; None if it gives none."""

    title: str
    url: str
    snippet: str = ""
    score: float | None = None
    published: str = ""
    raw_content: str = ""


@dataclass(frozen=True, slots=True)
class Hits:
    """Best first. `answer`: the service's own short answer."""

    hits: tuple[Hit, ...] = ()
    answer: str = ""


class SearchService(Protocol):
    """A service that searches the web. `scores_are_absolute`: 1 is a perfect fit, whatever else was found."""

    scores_are_absolute: bool

    async def search(self, query: str, *, search_type: SearchType, max_results: int) -> Hits:
        """Raises ToolError in words of ours. It may give more or fewer than `max_results`."""


def query_of(text: str) -> str:
    """In one line, cut at a word."""
    line = one_line(text)
    return line if len(line) <= QUERY_CHARS else line[: QUERY_CHARS + 1].rsplit(" ", 1)[0][:QUERY_CHARS]


def results_of(hits: Iterable[Hit], *, most: int, scores_are_absolute: bool) -> tuple[SearchResult, ...]:
    """At most so many, in the service's order. What has no address of the web is left out, and what was there before.

    `score` is 0..1: the service's own, or its share of the best one's; where there is none, by the place.
    """
    kept: dict[str, Hit] = {}
    for hit in hits:
        url = _address_of(hit.url)
        if url and url not in kept:
            kept[url] = hit
    found = list(kept.items())[:most]
    best = 1.0 if scores_are_absolute else max((hit.score or 0 for _, hit in found), default=0)
    return tuple(
        SearchResult(
            title=one_line(hit.title)[:_TITLE_CHARS],
            url=url,
            snippet=text_of(hit.snippet, most=SNIPPET_CHARS),
            score=_score(hit.score, best=best, place=place, among=len(found)),
            published=one_line(hit.published)[:_PUBLISHED_CHARS] or None,
            raw_content=text_of(hit.raw_content, most=CONTENT_CHARS) or None,
        )
        for place, (url, hit) in enumerate(found)
    )


def one_line(text: str) -> str:
    return clipping.one_line(_visible(text))


def text_of(text: str, *, most: int) -> str:
    """Without what nobody sees, and without empty lines by the dozen; cut with a mark."""
    plain = _LINES.sub("\n\n", _BLANKS.sub(" ", _visible(text))).strip()
    return clipping.tidy_beginning(plain, most)


def read_text(value: Any) -> str:
    """A field that should be a text and may be missing."""
    return value if isinstance(value, str) else ""


def read_score(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _address_of(url: str) -> str:
    """In its one spelling; "" for what is none of the web, or leads inside."""
    try:
        return canonical(url.strip(), allow_private=False, any_port=True).url
    except BadAddress:
        return ""


def _score(score: float | None, *, best: float, place: int, among: int) -> float:
    if score is None or best <= 0:
        return round(1 - place / (2 * among), 4)
    return round(min(1.0, max(0.0, score / best)), 4)


def _visible(text: str) -> str:
    """Without controls and marks that turn or hide text: such a snippet would read otherwise than it looks."""
    cleaned = clean_text(text)
    return "".join(char for char in cleaned if char in "\n\t" or unicodedata.category(char) not in ("Cc", "Cf"))
