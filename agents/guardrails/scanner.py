"""What a scanner is: a pure function over a text that says what it found where. Knows no run, table or setting."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Place(StrEnum):
    """Where a text is looked at."""

    INPUT = "input"
    """What a person asked."""
    OUTPUT = "output"
    """What a model writes and people see, while it is written."""
    TOOL = "tool"
    """The arguments of a call, before it is carried out."""
    CONTENT = "content"
    """What a tool brought that others wrote: pages, documents, mails, results of connected servers."""


class Certainty(StrEnum):
    CERTAIN = "certain"
    """Fewer than one ordinary text in a thousand looks like it: enough to refuse without asking."""
    SUSPECTED = "suspected"
    """Enough to be told, and to trust the text less; never enough to refuse."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What the text is of. `tool`, `field`: of a call, such as `execute_code` and `code` or `files.0.path`; else ""."""

    tool: str = ""
    field: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """`start`, `end`: characters of the text as it was given. `reason`: for people, one short sentence without what was
    found. `replacement`: what may stand in its place; empty if the finding is about the text and not about a value."""

    scanner: str
    kind: str
    start: int
    end: int
    certainty: Certainty
    reason: str
    replacement: str = ""


Scan = Callable[[str, Subject], Sequence[Finding]]


@dataclass(frozen=True, slots=True)
class Scanner:
    """`order`: the smaller is asked first.

    Of a scanner of output: it is asked about every run of letters, digits and signs that may be a value (it has six
    digits, an @, three dots, or twelve characters), and after each word (lower case) of `begins`, with what stands
    before. `pending` matches at the end of a text (`\\Z`) what the next words may still make a finding of; from such a
    word on nothing is shown until they have come."""

    name: str
    places: frozenset[Place]
    scan: Scan
    order: int = 100
    pending: re.Pattern[str] | None = None
    begins: frozenset[str] = frozenset()
