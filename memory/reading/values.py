"""What a reader tells of a file, and why it cannot. Pure."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field


class Unreadable(Exception):
    """The file cannot be read. `message` is for people: what is wrong with it and what they can do.

    `code`: empty, encrypted, no_text, broken, too_big, not_supported, timed_out or not_there.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of the whole. Comes before the pages, and once more after them with what was learned on the way.

    `total_pages`: 0 if only the end will tell. `note`: what of the file is missing in the pages, for people."""

    total_pages: int
    title: str = ""
    date: datetime.date | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Head:
    """What a parser knows before the first page. `metadata`: `published` is the document's own date and to be trusted,
    `created` is the file's and may be any program's; both as the file has them."""

    total_pages: int = 0
    title: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tail:
    """What a parser has to say after the last page: how many there are, and what is missing."""

    total_pages: int
    note: str = ""
