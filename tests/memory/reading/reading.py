"""Reads a file as ingestion does: its kind by its first bytes, then in the child process."""

from pathlib import Path

from memory.reading.kinds import HEAD_BYTES, doc_type_of
from memory.reading.process import read
from memory.reading.values import Facts
from memory.values import Page


def read_all(path: Path, *, filename: str = "", first_page: int = 1) -> tuple[list[Facts], list[Page]]:
    name = filename or path.name
    with path.open("rb") as file:
        doc_type = doc_type_of(file.read(HEAD_BYTES), name)
    with read(path, doc_type=doc_type, filename=name, first_page=first_page) as reading:
        found = list(reading)
    return [one for one in found if isinstance(one, Facts)], [one for one in found if isinstance(one, Page)]


def blocks(page: Page) -> list[tuple[str, int, str]]:
    return [(block.kind.value, block.level, page.text[block.start : block.end]) for block in page.blocks]
