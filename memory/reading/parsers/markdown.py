"""Markdown files."""

from collections.abc import Iterator
from pathlib import Path

from memory.reading.decoding import text_of
from memory.reading.markdown import front_matter, parts_of
from memory.reading.paging import Missing, Part
from memory.reading.titles import sensible
from memory.reading.values import Head


def parts(path: Path, *, filename: str) -> Iterator[Head | Part | Missing]:
    text, missing = text_of(path)
    told, text = front_matter(text)
    found = parts_of(text)
    first = next(found, None)
    title = told.get("title", "") or (first.text if first and first.level == 1 else "")
    yield Head(0, sensible(title, filename), {"published": told.get("date", "")})
    if first:
        yield first
    yield from found
    yield from missing
