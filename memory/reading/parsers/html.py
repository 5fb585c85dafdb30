"""Web pages: what is said in them, without what stands around it."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TypeVar

import trafilatura
from lxml.etree import LxmlError

from memory.kinds import BlockKind
from memory.reading import caps
from memory.reading.decoding import text_of
from memory.reading.markdown import parts_of
from memory.reading.paging import Missing, Part
from memory.reading.parsers.html_whole import blocks_of
from memory.reading.titles import sensible
from memory.reading.values import Head

_T = TypeVar("_T")
_ENOUGH: Final = 0.3
"""If less than this part of all words is taken for what the page says, all of them are."""
_ENCODING: Final = re.compile(
    rb"(?:<meta\s[^>]{0,300}charset|<\?xml\s[^>]{0,100}encoding)\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.IGNORECASE
)


def parts(path: Path, *, filename: str) -> Iterator[Head | Part | Missing]:
    text, missing = text_of(path, most=caps.HTML_BYTES, saying=_ENCODING)
    told = _tried(lambda: trafilatura.extract_metadata(text, extensive=False))
    title, day = (told.title or "", told.date or "") if told else ("", "")
    yield Head(0, sensible(title, filename), {"published": day})
    said = _said(text)
    first = said[0] if said else None
    if title and not (first and first.kind is BlockKind.HEADING and first.level == 1):
        yield Part(BlockKind.HEADING, title, 1)
    yield from said
    yield from missing


def _said(html: str) -> list[Part]:
    everything = _tried(lambda: trafilatura.html2txt(html)) or ""
    article = _tried(
        lambda: trafilatura.extract(
            html, output_format="markdown", include_comments=False, include_formatting=True, favor_recall=True
        )
    )
    found = list(parts_of(article or ""))
    whole = _tried(lambda: blocks_of(html)) or list(parts_of(everything))
    # Of a page of tables the article has the words of their cells, one below the other.
    is_of_tables = 2 * _chars_of_tables(whole) > sum(len(part.text) for part in whole)
    is_enough = article and len(article) >= _ENOUGH * len(everything)
    return found if is_enough and (_chars_of_tables(found) or not is_of_tables) else whole


def _chars_of_tables(parts: list[Part]) -> int:
    return sum(len(part.text) for part in parts if part.kind is BlockKind.TABLE)


def _tried(extract: Callable[[], _T]) -> _T | None:
    """None for pages that are so broken, or nested so deep, that the library gives up."""
    try:
        return extract()
    except (LxmlError, RecursionError, ValueError, TypeError, AttributeError, AssertionError):
        return None
