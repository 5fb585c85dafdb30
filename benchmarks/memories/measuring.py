"""Facts through the product's own storing, questions through its own recall. Needs Django and its database."""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import mean
from typing import Any, Final

import psycopg
from django.db import connection, transaction

from benchmarks.memories.conversations import Conversations, Learnable
from benchmarks.retrieval.scoring import recall
from benchmarks.retrieval.sets import Question
from benchmarks.retrieval.vectors import Kept
from hyperagent.accounts.models import User
from memory.embedding.local import LocalModel
from memory.kinds import MemoryKind, MemoryStatus
from memory.models import Memory
from memory.remembering import reading
from memory.remembering.relevance import Candidate, chosen, ranked
from memory.remembering.storing import store
from memory.remembering.values import Finding, Said

AT: Final = 10
FIRST: Final = datetime(2022, 1, 1, tzinfo=UTC)
Ranking = Callable[[list[Candidate], datetime], list[uuid.UUID]]


@dataclass
class Stored:
    """`merged`: pairs of facts of which the second was known, and held to say the same. `doubles`: memories that came
    of saying everything again."""

    facts: int = 0
    memories: int = 0
    quarantined: int = 0
    merged: list[tuple[str, str]] = field(default_factory=list)
    doubles: int = 0
    without_source: int = 0


def store_all(given: Conversations) -> tuple[dict[str, User], Stored]:
    """Session by session, as runs would; then all of it once more, as if everything had been said again."""
    people = {name: User.objects.create(email=f"{name}@example.org") for name in given.people}
    stored = Stored(facts=len(given.facts))
    for name, user in people.items():
        for session in given.sessions_of(name):
            with transaction.atomic():
                for fact in session:
                    stored.merged += _learn(given, user, fact)
    stored.memories = Memory.objects.count()
    stored.quarantined = Memory.objects.filter(status=MemoryStatus.QUARANTINED).count()
    stored.without_source = Memory.objects.filter(source_turn="").count()
    for name, user in people.items():
        for session in given.sessions_of(name):
            with transaction.atomic():
                for fact in session:
                    _learn(given, user, fact)
    stored.doubles = Memory.objects.count() - stored.memories
    return people, stored


def _learn(given: Conversations, user: User, fact: Learnable) -> list[tuple[str, str]]:
    """What the scripted extractor answers for the turn: its fact, with the words that say it. Gives the pair of texts
    where another memory is held to say the same."""
    first = fact.turns[0] if fact.turns else ""
    finding = Finding(MemoryKind.FACT, fact.fact, evidence=given.text.get(first, ""))
    at = given.said_at.get(first, FIRST)
    said = Said(origin=uuid.uuid4().hex, at=at, turn=" ".join(turn.split("/")[1] for turn in fact.turns))
    [news] = store(user.pk, [finding], said)
    return [(fact.fact, Memory.objects.get(pk=news.id).text)] if news.became == "known" else []


def embed_all(kept: Path) -> None:
    """As the embedder does, with the product's local model."""
    rows = list(Memory.objects.order_by("said_at", "id"))
    vectors, owners = Kept(kept).of("memories", [row.text for row in rows])
    first = {owner: place for place, owner in reversed(list(enumerate(owners)))}
    for place, row in enumerate(rows):
        row.embedding, row.embedded_by = vectors[first[place]].tolist(), LocalModel.name
    Memory.objects.bulk_update(rows, ["embedding", "embedded_by"], batch_size=200)


def _by_product(found: list[Candidate], now: datetime) -> list[uuid.UUID]:
    return [one.id for one, _ in ranked(found, now=now)]


def _by_words(found: list[Candidate], now: datetime) -> list[uuid.UUID]:
    return [one.id for one in sorted(found, key=lambda one: -one.words)]


def _by_meaning(found: list[Candidate], now: datetime) -> list[uuid.UUID]:
    return [one.id for one in sorted(found, key=lambda one: -(one.closeness or -1))]


def _told(found: list[Candidate], now: datetime) -> list[uuid.UUID]:
    return [one.id for one in chosen(found, now=now)]


RANKINGS: Final[dict[str, Ranking]] = {
    "by words alone (BM25)": _by_words,
    "by vectors alone": _by_meaning,
    "as the product ranks them": _by_product,
    "what a run is told": _told,
}


async def ask_all(given: Conversations, people: dict[str, User], kept: Path, dsn: str) -> dict[str, float]:
    """Recall@10 of the turns with the evidence, by ranking; and what the facts allow at most."""
    questions = [one for one in given.collection.questions if one.user in people]
    vectors, owners = Kept(kept).of("questions", [one.text for one in questions])
    first = {owner: place for place, owner in reversed(list(enumerate(owners)))}
    turns = {row.id: row.source_turn.split() async for row in Memory.objects.defer("embedding")}
    reached: dict[str, list[float]] = {name: [] for name in ("at most, with these facts", *RANKINGS)}
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as database:
        for place, one in enumerate(questions):
            found = await _candidates(database, people[one.user], one.text, vectors[first[place]].tolist())
            now = max(given.said_at.values()) + timedelta(days=1)
            reached["at most, with these facts"].append(_ceiling(given, one))
            for name, ranking in RANKINGS.items():
                reached[name].append(_recall(one, ranking(found, now), turns))
    return {name: mean(values) for name, values in reached.items()}


async def _candidates(database: Any, user: User, question: str, vector: Sequence[float]) -> list[Candidate]:
    by_words, _ = await reading.by_words(database, user.pk, question)
    return reading.merged(by_words, await reading.by_meaning(database, user.pk, LocalModel.name, vector))


def _recall(question: Question, ranking: Sequence[uuid.UUID], turns: dict[uuid.UUID, list[str]]) -> float:
    ordered = list(dict.fromkeys(f"{question.user}/{turn}" for id_ in ranking for turn in turns.get(id_, ())))
    return recall(ordered, question.relevant, at=AT)


def _ceiling(given: Conversations, question: Question) -> float:
    known = {turn for fact in given.facts if fact.person == question.user for turn in fact.turns}
    return len(known & set(question.relevant)) / len(question.relevant)


def dsn() -> str:
    values = connection.get_connection_params()
    parts = {name: values[name] for name in ("host", "port", "user", "password", "dbname") if values.get(name)}
    return " ".join(f"{name}='{value}'" for name, value in parts.items())
