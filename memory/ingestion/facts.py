"""What a document says of itself: its language, and a description made of its own words. Pure."""

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final

from hyperagent.lib.clipping import one_line, whole_words
from memory.kinds import BlockKind
from memory.values import Page

SAMPLE_PAGES: Final = 12
SAMPLE_CHARS: Final = 20_000
DESCRIPTION_CHARS: Final = 500
_SENTENCES: Final = 2
_HEADINGS: Final = 6
# A sentence ends before a capital or a bracket: "No. 4" and "3.5" end none.
_END: Final = re.compile(r"(?<=[.!?。！？])[\"'”’)]*\s+(?=[\"'“‘(]*[A-ZÀ-ÞА-Я一-龥])|(?<=[。！？])")
_SHORTEST: Final = 25
# Lines to write on, rules of signs, and boxes to tick.
_FORM: Final = re.compile(r"([_.=~*\-–—])\1{3,}|[\u2500-\u257f\u25a0-\u25a3\u2610-\u2612]")


def sample_of(pages: Iterable[Page]) -> list[Page]:
    """Enough of the beginning to tell what it is."""
    taken, chars = [], 0
    for page in islice(pages, SAMPLE_PAGES):
        taken.append(page)
        chars += len(page.text)
        if chars >= SAMPLE_CHARS:
            break
    return taken


def text_of(pages: Sequence[Page]) -> str:
    return "\n\n".join(page.text for page in pages)[:SAMPLE_CHARS]


def description_of(pages: Sequence[Page], *, title: str) -> str:
    """Two or three sentences: how its text begins, and what it has sections about. "" for a text without words."""
    parts = _first_sentences(pages)
    headings = _headings(pages, besides=title)
    if headings:
        parts.append(f"Sections: {', '.join(headings)}.")
    return whole_words(" ".join(parts), DESCRIPTION_CHARS)


def _first_sentences(pages: Sequence[Page]) -> list[str]:
    found: list[str] = []
    for text in (*_blocks(pages, BlockKind.PARAGRAPH), *_blocks(pages, BlockKind.LIST), *_lines(pages)):
        for sentence in _END.split(text):
            line = _plain(sentence)
            if len(line) >= _SHORTEST and any(sign.isalpha() for sign in line) and line not in found:
                found.append(whole_words(line, DESCRIPTION_CHARS // 2))
            if len(found) == _SENTENCES:
                return found
    return found


def _headings(pages: Sequence[Page], *, besides: str) -> list[str]:
    known = {one_line(besides.lower())}
    found = []
    for text in (*(page.title for page in pages), *_blocks(pages, BlockKind.HEADING)):
        heading = whole_words(_plain(text.lstrip("#")).rstrip(".:"), 60)
        if heading and heading.lower() not in known:
            known.add(heading.lower())
            found.append(heading)
        if len(found) == _HEADINGS:
            break
    return found


def _blocks(pages: Sequence[Page], kind: BlockKind) -> Iterable[str]:
    return (page.text[block.start : block.end] for page in pages for block in page.blocks if block.kind == kind)


def _lines(pages: Sequence[Page]) -> Iterable[str]:
    return (line for page in pages for line in page.text.splitlines())


def _plain(text: str) -> str:
    return one_line(_FORM.sub(" ", text))
