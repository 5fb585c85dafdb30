"""Plain text: paragraphs with empty lines between them, in whatever encoding."""

from collections.abc import Iterator
from pathlib import Path

from memory.kinds import BlockKind
from memory.reading.decoding import text_of
from memory.reading.paging import Missing, Part
from memory.reading.values import Head


def parts(path: Path, *, filename: str) -> Iterator[Head | Part | Missing]:
    text, missing = text_of(path)
    yield Head()
    # Whatever writes pages ends the last one, too.
    for number, page in enumerate(text.rstrip().split("\f")):
        # One without text is a page all the same: its number is that on paper.
        for index, paragraph in enumerate(list(paragraphs(page)) or [""]):
            yield Part(BlockKind.PARAGRAPH, paragraph, new_page=number > 0 and index == 0)
    yield from missing


def paragraphs(text: str) -> Iterator[str]:
    """What stands between empty lines."""
    lines: list[str] = []
    for line in text.splitlines():
        if line.strip():
            lines.append(line)
        elif lines:
            yield "\n".join(lines)
            lines = []
    if lines:
        yield "\n".join(lines)
