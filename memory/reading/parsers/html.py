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
    title, day, said = _said(text)
    yield Head(0, sensible(title, filename), {"published": day})
    if title and not said.lstrip().startswith("# "):
        yield Part(BlockKind.HEADING, title, 1)
    yield from parts_of(said)
    yield from missing


def _said(html: str) -> tuple[str, str, str]:
    """Its title, its date and its text in Markdown."""
    everything = _tried(lambda: trafilatura.html2txt(html))
    said = _tried(
        lambda: trafilatura.extract(
            html, output_format="markdown", include_comments=False, include_formatting=True, favor_recall=True
        )
    )
    told = _tried(lambda: trafilatura.extract_metadata(html, extensive=False))
    title, day = (told.title or "", told.date or "") if told else ("", "")
    return title, day, said if said and len(said) >= _ENOUGH * len(everything or "") else everything or ""


def _tried(extract: Callable[[], _T]) -> _T | None:
    """None for pages that are so broken, or nested so deep, that the library gives up."""
    try:
        return extract()
    except (LxmlError, RecursionError, ValueError, TypeError, AttributeError, AssertionError):
        return None
