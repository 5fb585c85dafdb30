"""The pages of a document: taken out of its file in batches, and given back from the table in order."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from django.db import transaction

from hyperagent.lib.text import clean_text
from memory.ingestion import lease
from memory.ingestion.names import LIMIT, clean_line
from memory.kinds import BlockKind
from memory.models import Document, DocumentPage
from memory.reading.values import Facts
from memory.values import Block, Page

PAGES_AT_ONCE: Final = 50
CHARS_AT_ONCE: Final = 500_000
BATCH_S: Final = 1.0
BETWEEN: Final = len("\n\n")


@dataclass(slots=True)
class _Batch:
    """What was read and is not stored yet."""

    pages: list[Page] = field(default_factory=list)
    facts: list[Facts] = field(default_factory=list)
    chars: int = 0
    began: float = field(default_factory=time.monotonic)

    @property
    def is_full(self) -> bool:
        return (
            len(self.pages) >= PAGES_AT_ONCE
            or self.chars >= CHARS_AT_ONCE
            or (bool(self.pages) and time.monotonic() - self.began >= BATCH_S)
        )


def store(document: Document, found: Iterable[Facts | Page]) -> Iterator[None]:
    """Stores what is read, and yields after each batch. Raises lease.Lost."""
    at = _end_of(document)
    batch = _Batch()
    for one in found:
        if isinstance(one, Facts):
            batch.facts.append(one)
        else:
            batch.pages.append(one)
            batch.chars += len(one.text)
        if batch.is_full:
            at = _store_batch(document, batch, at)
            batch = _Batch()
            yield
    if batch.pages or batch.facts:
        _store_batch(document, batch, at)
    if batch.pages:
        # Not for the last facts alone: a job that ended here each time would never get further.
        yield


def _store_batch(document: Document, batch: _Batch, at: int) -> int:
    """Returns where the next page begins."""
    rows = []
    for page in batch.pages:
        text = clean_text(page.text)
        rows.append(
            DocumentPage(
                document=document,
                number=page.number,
                title=clean_line(page.title)[:LIMIT],
                text=text,
                start=at,
                blocks=[[block.kind.value, block.level, block.start, block.end] for block in page.blocks],
            )
        )
        at += len(text) + BETWEEN
    columns: dict[str, Any] = {"pages_read": batch.pages[-1].number} if batch.pages else {}
    with transaction.atomic():
        # Alone at first: whoever gives it a title meanwhile waits, and what they gave before is seen.
        lease.write(document)
        for facts in batch.facts:
            document.refresh_from_db(fields=["title"])
            columns |= _known_by(document, facts)
        lease.write(document, **columns)
        DocumentPage.objects.bulk_create(rows)
    return at


def _known_by(document: Document, facts: Facts) -> dict[str, Any]:
    """What a person gave already stays."""
    columns: dict[str, Any] = {}
    if facts.total_pages:
        columns["total_pages"] = facts.total_pages
    if facts.note:
        columns["note"] = clean_text(facts.note)
    if facts.title and not document.title:
        columns["title"] = clean_line(facts.title)[:LIMIT]
    if facts.date and not document.date:
        columns["date"] = facts.date
    return columns


def _end_of(document: Document) -> int:
    """Where the next page begins in the document's text."""
    last = document.pages.order_by("-number").first()
    return last.start + len(last.text) + BETWEEN if last else 0


def stored(document_id: UUID, *, at_once: int = 20) -> Iterator[Page]:
    """All of its pages, some at a time."""
    after = 0
    ordered = DocumentPage.objects.filter(document=document_id).order_by("number")
    while rows := list(ordered.filter(number__gt=after)[:at_once]):
        for row in rows:
            yield page_of(row)
        after = rows[-1].number


def without_text(document: Document) -> list[int]:
    """The numbers of those of its pages, as far as they are stored, in which there was none."""
    if not document.pages_read:
        return []
    return list(document.pages.filter(text="").order_by("number").values_list("number", flat=True))


def page_of(row: DocumentPage) -> Page:
    blocks = tuple(Block(BlockKind(kind), start, end, level) for kind, level, start, end in row.blocks)
    return Page(row.number, row.text, blocks, row.title)
