"""Long conversations with what can be learned of each turn and questions about them, read from BENCH_DATA. Measures
nothing.
"""

import json
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.retrieval.sets import Collection, NoData, read

TURNS = "locomo_dev"
_TURN = re.compile(r"D\d+:\d+")
_TITLE_FORM = "%I:%M %p on %d %B, %Y"


@dataclass(frozen=True, slots=True)
class Learnable:
    """A fact, and the turns that say it."""

    person: str
    session: int
    fact: str
    turns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Conversations:
    """`said_at` and `text`: of each turn, by its id such as `conv-1/D1:3`."""

    collection: Collection
    facts: tuple[Learnable, ...]
    said_at: dict[str, datetime]
    text: dict[str, str]

    @property
    def people(self) -> list[str]:
        return sorted({fact.person for fact in self.facts})

    def sessions_of(self, person: str) -> list[Sequence[Learnable]]:
        """What an extractor would find in each session, in their order."""
        found: defaultdict[int, list[Learnable]] = defaultdict(list)
        for fact in self.facts:
            if fact.person == person:
                found[fact.session].append(fact)
        return [found[session] for session in sorted(found)]


def conversations(root: Path) -> Conversations:
    """Raises NoData."""
    path = root / TURNS / "observations.jsonl"
    if not path.exists():
        raise NoData(f"{path} is missing: BENCH_DATA needs {TURNS}/observations.jsonl (user, session, fact, evidence)")
    collection = read(root, TURNS)
    facts = tuple(_learnable(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines() if line)
    said_at = {text.id: _time(text.title) for text in collection.texts}
    return Conversations(collection, facts, said_at, {text.id: text.body for text in collection.texts})


def _learnable(row: dict[str, Any]) -> Learnable:
    turns = tuple(f"{row['user']}/{turn}" for turn in _TURN.findall(str(row["evidence"])))
    return Learnable(row["user"], row["session"], row["fact"], turns)


def _time(title: str) -> datetime:
    return datetime.strptime(title.strip(), _TITLE_FORM).replace(tzinfo=UTC)
