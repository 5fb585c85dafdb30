"""What the parts of this app hand to each other: pages, pieces, what is wanted of a search and what it found. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import Any
from uuid import UUID

from memory.kinds import BlockKind


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of a page's text, [start, end) in its characters. `level`: of a heading, from 1."""

    kind: BlockKind
    start: int
    end: int
    level: int = 0


@dataclass(frozen=True, slots=True)
class Page:
    """`number` counts from 1. Blocks stand in the order of the text and do not overlap; what is between two is space.
    A table's block has one line a row, cells in Markdown's bars; its first line is the header."""

    number: int
    text: str
    blocks: tuple[Block, ...] = ()
    title: str = ""


@dataclass(frozen=True, slots=True)
class Piece:
    """A chunk before it is stored. `ordinal` counts from 0; `parent`: the ordinal of the first piece of its section,
    None for that one itself. `start` and `end` are its place in the document's text (`memory.models.DocumentPage`)."""

    ordinal: int
    parent: int | None
    text: str
    start: int
    end: int
    page: int
    last_page: int
    section_title: str
    kind: BlockKind
    tokens: int


class Mode(StrEnum):
    HYBRID = "hybrid"
    DENSE = "dense"
    KEYWORD = "keyword"


@dataclass(frozen=True, slots=True)
class Filters:
    """Only documents that fit all of these, and of them the passages that do; None and "" fit all. `filename`: a part
    of it, without regard to case. `section_title`: words that the headings above a passage have, all of them."""

    doc_type: str = ""
    filename: str = ""
    section_title: str = ""
    date_from: date | None = None
    date_to: date | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """One search. `document_ids`: only in these; empty for all that the user may see."""

    query: str
    top_k: int = 8
    document_ids: tuple[UUID, ...] = ()
    filters: Filters = field(default_factory=Filters)
    mode: Mode = Mode.HYBRID


@dataclass(frozen=True, slots=True)
class Passage:
    """What a search found. `score`: 0..1, higher is closer. `text` has its neighbours where they were joined; `start`
    and `end` are the place of all of it in the document's text. `why`: by leg, the rank (from 1) and the raw score."""

    chunk_id: UUID
    document_id: UUID
    score: float
    text: str
    start: int
    end: int
    filename: str
    page: int
    last_page: int
    section_title: str
    doc_type: str
    date: date | None
    why: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Found:
    """`passages`: best first. `note`: what the search had to do without, a sentence for people. `trace`: what each
    stage returned and how long it took, as JSON, for the page that shows it."""

    wanted: Wanted
    passages: tuple[Passage, ...] = ()
    note: str = ""
    trace: Mapping[str, Any] = field(default_factory=dict)
