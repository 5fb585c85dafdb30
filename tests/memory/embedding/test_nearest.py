"""The nearest chunks: exactly those that a straightforward computation finds, and nobody else's."""

import math
import random
from collections.abc import Sequence
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hyperagent.accounts.models import User
from memory.embedding import chosen
from memory.embedding.asking import QueryVector
from memory.kinds import DocumentStatus, Visibility
from memory.models import Chunk, Document, Project, SketchedOwner, Vector
from memory.sight import Scope
from memory.values import Filters
from memory.vectors import sketches
from memory.vectors.nearest import nearest, nearest_documents
from memory.vectors.sketches import Owned
from memory.vectors.writing import store, store_document
from tests.memory.embedding.driving import document_of

pytestmark = pytest.mark.django_db
DIMENSIONS = 6


def unit(chance: random.Random, dimensions: int = DIMENSIONS) -> list[float]:
    values = [chance.gauss(0, 1) for _ in range(dimensions)]
    length = math.sqrt(sum(value * value for value in values))
    return [value / length for value in values]


def with_vectors(
    document: Document, chance: random.Random, *, model: str = "one", dimensions: int = DIMENSIONS
) -> Document:
    """One to five windows for each chunk."""
    keys = Chunk.objects.filter(document=document).values_list("key", flat=True)
    vectors = {key: [unit(chance, dimensions) for _ in range(chance.randint(1, 5))] for key in keys}
    with transaction.atomic(), connection.cursor() as cursor:
        store(cursor, model=model, document_id=document.pk, vectors=vectors)
    return document


def found(scope: Scope, query: QueryVector, limit: int) -> list[tuple[int, float]]:
    with connection.cursor() as cursor:
        return [(near.chunk_key, near.score) for near in nearest(cursor, scope, query, limit=limit)]


def by_hand(documents: Sequence[Document], query: QueryVector, limit: int) -> list[tuple[int, float]]:
    best: dict[int, float] = {}
    ids = [document.pk for document in documents]
    for key, embedding in Vector.objects.filter(model=query.model, document_id__in=ids).values_list(
        "chunk_key", "embedding"
    ):
        score = sum(one * other for one, other in zip(embedding, query.values, strict=True))
        best[key] = max(score, best.get(key, -2))
    return sorted(best.items(), key=lambda item: -item[1])[:limit]


def assert_same(ours: Sequence[tuple[int, float]], theirs: Sequence[tuple[int, float]]) -> None:
    """Halves have three digits: what is as near as that may stand in another order."""
    assert [score for _, score in ours] == pytest.approx([score for _, score in theirs], abs=0.004)
    near = dict(theirs)
    if theirs:
        edge = theirs[-1][1]
        assert all(key in near or abs(score - edge) < 0.004 for key, score in ours)


@pytest.fixture
def _one(db: None) -> None:
    chosen.choose("one")


@pytest.mark.slow
@pytest.mark.usefixtures("_one")
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**6))
def test_nobody_finds_what_they_may_not_see_and_everybody_finds_the_nearest_of_what_they_may(seed: int) -> None:
    chance = random.Random(seed)
    with transaction.atomic():
        people, documents = _a_world(chance)
        for person in people:
            # In the midst of it: of some of their documents.
            if chance.random() < 0.5:
                _sketch(person, chance)
        for person in people:
            wanted = Document.objects.seen_by(person).filter(status__in=("embedding", "ready"))
            query, limit = QueryVector("one", unit(chance)), chance.choice((1, 3, 50))
            assert_same(found(Scope(person.pk), query, limit), by_hand(list(wanted), query, limit))

            some = chance.sample(documents, k=min(3, len(documents)))
            narrow = Scope(person.pk, document_ids=tuple(one.pk for one in some))
            seen = list(wanted.filter(pk__in=[one.pk for one in some]))
            assert_same(found(narrow, query, limit), by_hand(seen, query, limit))

            typed = Scope(person.pk, filters=Filters(doc_type="pdf", filename="A"))
            seen = list(wanted.filter(doc_type="pdf", filename__icontains="a"))
            assert_same(found(typed, query, limit), by_hand(seen, query, limit))
        transaction.set_rollback(True)


def _sketch(person: User, chance: random.Random) -> None:
    SketchedOwner.objects.create(owner_id=person.pk, model="one", rows=1, candidates=500)
    ready = Document.objects.filter(owner=person, status=DocumentStatus.READY)
    for document in ready:
        document.embedded_by = chance.choice(("one", ""))
        document.save(update_fields=["embedded_by"])
    sketches.make(Owned("one", person.pk, DIMENSIONS))
    some = [document.pk for document in Document.objects.filter(owner=person) if chance.random() < 0.2]
    # After they were made: what is read again, or cancelled.
    Document.objects.filter(pk__in=some).update(status=DocumentStatus.CANCELLED)


def _a_world(chance: random.Random) -> tuple[list[User], list[Document]]:
    groups = [Group.objects.create(name=f"group {chance.random()}") for _ in range(2)]
    people = [User.objects.create(email=f"{number}-{chance.random()}@example.org") for number in range(3)]
    for person in people:
        person.groups.set(chance.sample(groups, k=chance.randint(0, 2)))
    documents = []
    for owner in people:
        for number in range(chance.randint(0, 4)):
            document = document_of(
                owner,
                ["text"] * chance.randint(1, 4),
                filename=chance.choice(("A.pdf", "b.txt")),
                doc_type=chance.choice(("pdf", "txt")),
                visibility=chance.choice(list(Visibility)),
                total_terms=number,
            )
            document.groups.set(chance.sample(groups, k=chance.randint(0, 2)))
            documents.append(with_vectors(document, chance))
    for _ in range(2):
        project = Project.objects.create(owner=people[0], name="p")
        project.members.set(chance.sample(people, k=chance.randint(1, 3)))
        project.documents.set(chance.sample(documents, k=min(len(documents), chance.randint(0, 2))))
    for document in documents:
        # After its vectors: as one that is being read again, or was cancelled.
        status = chance.choice((*[DocumentStatus.READY] * 3, DocumentStatus.EMBEDDING, DocumentStatus.CANCELLED))
        Document.objects.filter(pk=document.pk).update(status=status)
    return people, documents


@pytest.mark.usefixtures("_one")
def test_a_long_vector_is_stored_and_found_as_well(alice: Any, charlie: Any) -> None:
    chance = random.Random(1)
    document = with_vectors(document_of(alice, ["text"] * 5), chance, dimensions=3072)
    query = QueryVector("one", unit(chance, 3072))

    assert_same(found(Scope(alice.pk), query, 3), by_hand([document], query, 3))
    assert found(Scope(charlie.pk), query, 3) == []


@pytest.mark.usefixtures("_one")
def test_while_documents_are_embedded_anew_each_chunk_is_found_once_by_the_newest_it_has(alice: Any) -> None:
    chance = random.Random(2)
    old = with_vectors(document_of(alice, ["old"] * 4), chance)
    both = with_vectors(document_of(alice, ["both"] * 4), chance)
    chosen.choose("two")
    with_vectors(both, chance, model="two", dimensions=9)
    query = QueryVector("two", unit(chance, 9), older=(QueryVector("one", unit(chance)),))

    ours = found(Scope(alice.pk), query, 50)

    keys = [key for key, _ in ours]
    assert sorted(keys) == sorted(Chunk.objects.values_list("key", flat=True))
    newest = dict(by_hand([both], QueryVector("two", query.values), 50))
    assert {key: score for key, score in ours if key in newest} == pytest.approx(newest, abs=0.004)
    of_old = [key for key, _ in by_hand([old], query.older[0], 50)]
    assert [key for key in keys if key not in newest] == of_old


@pytest.mark.usefixtures("_one")
def test_whole_documents_are_found_by_those_who_may_see_them(alice: Any, bob: Any, charlie: Any) -> None:
    chance = random.Random(3)
    shared = document_of(alice, ["text"], visibility=Visibility.EVERYONE, status=DocumentStatus.READY)
    private = document_of(alice, ["text"], status=DocumentStatus.READY)
    vectors = {document.pk: unit(chance) for document in (shared, private)}
    with connection.cursor() as cursor:
        for id_, vector in vectors.items():
            store_document(cursor, model="one", document_id=id_, text_hash="", vector=vector)

        query = QueryVector("one", vectors[private.pk])
        of_alice = nearest_documents(cursor, Scope(alice.pk), query, limit=5)
        of_charlie = nearest_documents(cursor, Scope(charlie.pk), query, limit=5)

    assert [near.document_id for near in of_alice] == [private.pk, shared.pk]
    assert of_alice[0].score == pytest.approx(1, abs=0.004)
    assert of_alice[0].chunk_key == Chunk.objects.get(document=private).key
    assert [near.document_id for near in of_charlie] == [shared.pk]


@pytest.mark.usefixtures("_one")
def test_a_whole_document_comes_with_the_chunk_that_is_nearest(alice: Any) -> None:
    chance = random.Random(7)
    document = document_of(alice, ["text"] * 9, status=DocumentStatus.READY)
    with_vectors(document, chance)
    [chosen, other] = Chunk.objects.filter(document=document, ordinal__in=[6, 8])
    nearest_one = unit(chance)
    Vector.objects.filter(chunk_key=chosen.key).delete()
    with transaction.atomic(), connection.cursor() as cursor:
        store(cursor, model="one", document_id=document.pk, vectors={chosen.key: [nearest_one]})
        store_document(cursor, model="one", document_id=document.pk, text_hash="", vector=unit(chance))

        [found] = nearest_documents(cursor, Scope(alice.pk), QueryVector("one", nearest_one), limit=5)

    assert found.chunk_key == chosen.key != other.key


@pytest.mark.usefixtures("_one")
def test_a_search_reads_the_index_of_its_owner_and_asks_once(alice: Any, django_assert_num_queries: Any) -> None:
    chance = random.Random(4)
    with_vectors(document_of(alice, ["text"] * 30), chance)

    with django_assert_num_queries(1):
        ours = found(Scope(alice.pk), QueryVector("one", unit(chance)), 5)

    assert len(ours) == 5


@pytest.mark.usefixtures("_one")
def test_vectors_of_a_deleted_chunk_are_gone_and_none_can_be_stored_for_it(alice: Any) -> None:
    chance = random.Random(5)
    document = with_vectors(document_of(alice, ["text"] * 3), chance)
    gone, *_ = Chunk.objects.filter(document=document).values_list("key", flat=True)

    Chunk.objects.filter(key=gone).delete()
    with connection.cursor() as cursor:
        late = store(cursor, model="one", document_id=document.pk, vectors={gone: [unit(chance)]})

    assert late == 0
    assert not Vector.objects.filter(chunk_key=gone).exists()
    assert Vector.objects.exists()
