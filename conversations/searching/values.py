"""What a search over everything is asked, and what it finds. Pure."""

import math
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

from conversations.searching.words import Piece, Sought
from hyperagent.accounts.models import User


class Kind(StrEnum):
    """In the order of the page's tabs."""

    CONVERSATION = "conversation"
    MESSAGE = "message"
    DOCUMENT = "document"
    FILE = "file"
    MEMORY = "memory"
    PROJECT = "project"


MOST_AT_ONCE: Final = 50
MOST_PAGES: Final = 20
HALF_LIFE_DAYS: Final = 90.0


@dataclass(frozen=True, slots=True)
class Asked:
    """`kind`: None for all. `since` and `until`: days, both of them included. `page`: from 1, of one kind only."""

    query: str
    kind: Kind | None = None
    since: date | None = None
    until: date | None = None
    limit: int = 20
    page: int = 1


@dataclass(frozen=True, slots=True)
class Result:
    """`excerpt`: pieces of text and whether each is what was looked for. `role`: of a message. `score`: higher is
    better; it compares between kinds."""

    kind: Kind
    id: UUID
    title: str
    excerpt: tuple[Piece, ...]
    url: str
    at: datetime
    score: float
    role: str = ""
    title_pieces: tuple[Piece, ...] = ()
    conversation_id: UUID | None = None
    is_the_title: bool = False
    """Of a question that its conversation is called by: where that is found, it is not found again."""


@dataclass(frozen=True, slots=True)
class Results:
    """`counts`: how many there are of each kind, up to what is looked at. `has_all_words`: false where no message had
    all of them, and those with some are shown."""

    results: tuple[Result, ...] = ()
    more: bool = False
    counts: dict[Kind, int] = field(default_factory=dict)
    has_all_words: bool = True


@dataclass(frozen=True, slots=True)
class Within:
    """What every kind is looked for with: whose it is, by which words, and said from `since` up to before `until`."""

    user: User
    query: str
    sought: Sought
    since: datetime
    until: datetime
    now: datetime

    def fresh(self, at: datetime) -> float:
        """1 for what is new, falling to .5 for what is old."""
        return freshness(at, self.now)


def freshness(at: datetime, now: datetime) -> float:
    days = max(0.0, (now - at).total_seconds() / 86_400)
    return 0.5 + 0.5 * math.exp2(-days / HALF_LIFE_DAYS)
