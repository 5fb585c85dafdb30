"""Nobody finds what is not theirs to see: random owners, groups, shares, projects and states, in each mode."""

import random
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memory.kinds import SEARCHABLE, DocumentStatus, Visibility
from memory.models import Document, Project
from memory.postings.writing import drop_postings
from memory.retrieval.candidates import candidates, likenesses
from memory.retrieval.passages import read_chunks
from memory.sight import Scope
from memory.values import Mode
from tests.memory.search.put import MODEL, found_by, give_vectors, put

pytestmark = pytest.mark.django_db
STEPS = 40


class World:
    """Three people, two groups, two projects, and documents that come, go, and change who may see them."""

    def __init__(self, people: list[Any], seed: int) -> None:
        self.people, self.chance = people, random.Random(seed)
        self.groups = [Group.objects.create(name=f"group {number}") for number in range(2)]
        self.projects = [Project.objects.create(name=f"p{n}", owner=self.chance.choice(people)) for n in range(2)]

    def step(self) -> None:
        documents = list(Document.objects.all())
        actions: list[Callable[..., None]] = [self.add, self.join, self.leave]
        if len(documents) > 3:
            actions += [self.share, self.share, self.move, self.enter, self.withdraw, self.delete]
        self.chance.choice(actions)(*[self.chance.choice(documents)] if documents else [])

    def add(self, *_: Document) -> None:
        owner = self.chance.choice(self.people)
        words = [" ".join(self.chance.choices(("whale", "ship", "storm", "sea"), k=4)) for _ in range(2)]
        document = put(owner, *(f"{text} {self.chance.random()}" for text in words))
        give_vectors(document)

    def join(self, *_: Document) -> None:
        person = self.chance.choice(self.people)
        person.groups.add(self.chance.choice(self.groups))
        self.chance.choice(self.projects).members.add(person)

    def leave(self, *_: Document) -> None:
        self.chance.choice(self.people).groups.clear()
        self.chance.choice(self.projects).members.clear()

    def share(self, document: Document) -> None:
        document.visibility = self.chance.choice(list(Visibility))
        document.save()
        document.groups.set(self.chance.sample(self.groups, k=self.chance.randint(0, 2)))

    def move(self, document: Document) -> None:
        Document.objects.filter(pk=document.pk).update(status=self.chance.choice([*DocumentStatus, *SEARCHABLE * 3]))

    def enter(self, document: Document) -> None:
        document.projects.add(self.chance.choice(self.projects))

    def withdraw(self, document: Document) -> None:
        document.projects.clear()

    def delete(self, document: Document) -> None:
        """As it may be seen half way: the keywords are gone, or the row is and the keywords are not yet."""
        if self.chance.random() < 0.5:
            with connection.cursor() as cursor:
                drop_postings(cursor, document.pk)
        document.delete()


@pytest.mark.slow
@pytest.mark.spec("B20")
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.threat("T03")
def test_no_search_returns_what_its_caller_may_not_see(alice: Any, bob: Any, charlie: Any, seed: int) -> None:
    people = [alice, bob, charlie]
    world = World(people, seed)
    found_something = 0

    for _ in range(STEPS):
        world.step()
        for person in people:
            seen = set(Document.objects.seen_by(person).filter(status__in=SEARCHABLE).values_list("pk", flat=True))
            mode = world.chance.choice(list(Mode))
            found = found_by(person, "whale in a storm", mode=mode, top_k=100)
            returned = {passage.document_id for passage in found.passages}
            assert returned <= seen
            if mode is Mode.DENSE:
                assert returned == seen
            found_something += len(returned)

    assert found_something > STEPS


@pytest.mark.parametrize("wanted", ["asked for by id", "found before it was taken away"])
@pytest.mark.threat("T03")
def test_what_is_not_theirs_is_not_read_even_when_it_is_named(alice: Any, charlie: Any, wanted: str) -> None:
    document = put(alice, "whale", "ship")
    give_vectors(document)
    keys = list(document.chunks.values_list("key", flat=True))
    scope = Scope(charlie.pk, (document.pk,) if wanted == "asked for by id" else ())

    with connection.cursor() as cursor:
        assert candidates(cursor, scope, keys, query=None, known={}, with_figures=True) == []
        assert likenesses(cursor, scope, keys, model=MODEL, at_least=-1.0) == {}
        assert read_chunks(cursor, scope, keys) == ({}, {})
    for mode in Mode:
        assert not found_by(charlie, "whale", mode=mode, document_ids=(document.pk,)).passages


@pytest.mark.threat("T03")
def test_what_is_taken_away_while_a_search_runs_is_not_returned(alice: Any, charlie: Any) -> None:
    document = put(alice, "whale", "ship", visibility=Visibility.EVERYONE)
    give_vectors(document)

    def take_away(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if "FROM memory_chunk best" in sql:  # the last statement is about to run
            with connection.cursor() as cursor:
                cursor.execute("UPDATE memory_document SET visibility = 'private' WHERE id = %s", [document.pk])
        return execute(sql, params, many, context)

    with connection.execute_wrapper(take_away), CaptureQueriesContext(connection):
        found = found_by(charlie, "whale")

    assert found.trace["keyword"]
    assert found.passages == ()
