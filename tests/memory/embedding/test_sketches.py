"""Owners of very many vectors: by their sketches the same is found as by all of the vectors."""

import random
from collections.abc import Sequence
from typing import Any

import pytest
from django.db import connection, transaction

from memory.actions import documents as actions
from memory.embedding import chosen
from memory.embedding.asking import QueryVector
from memory.kinds import DocumentStatus, Visibility
from memory.models import Chunk, Document, SketchedOwner, Vector, VectorSketch
from memory.sight import Scope
from memory.vectors import sketches
from memory.vectors.nearest import nearest
from memory.vectors.sketches import CANDIDATES_TRIED, OF_A_KIND, Owned, enough
from memory.vectors.writing import drop_some_of, store
from tests.memory.embedding.driving import document_of
from tests.memory.embedding.test_nearest import unit

DIMENSIONS = 64
DOCUMENTS, CHUNKS = 60, 50
pytestmark = pytest.mark.django_db


def test_so_many_candidates_are_looked_at_as_find_nearly_all_of_the_nearest_of_each_kind_of_question() -> None:
    few, some, most = CANDIDATES_TRIED[0], CANDIDATES_TRIED[1], CANDIDATES_TRIED[-1]
    close = [list(range(20))] * OF_A_KIND
    far = [[*range(19), few + 1]] * OF_A_KIND
    lost = [[*range(19), most]] * OF_A_KIND

    assert enough(close) == few
    assert enough([*close, *far]) == some
    assert enough([*close, *far, *lost]) == 0
    assert enough([*close, *close[1:], [*range(19), most]]) == few


@pytest.fixture
def _few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is worth sketches is a setting of the module; here it is worth them for what a test can make."""
    monkeypatch.setattr(sketches, "WORTH_IT", 2_000)
    monkeypatch.setattr(sketches, "GONE_BELOW", 1_000)
    chosen.choose("one")


def many_vectors(owner: Any, chance: random.Random) -> list[Document]:
    """In clusters, as texts are."""
    middles = [unit(chance, DIMENSIONS) for _ in range(20)]
    documents = [document_of(owner, ["text"] * CHUNKS, status="ready", embedded_by="one") for _ in range(DOCUMENTS)]
    keys = Chunk.objects.filter(document__owner=owner).values_list("key", "document_id")
    Vector.objects.bulk_create(
        [
            Vector(
                chunk_key=key, model="one", owner_id=owner.pk, document_id=document_id,
                embedding=_near(chance.choice(middles), chance),
            )
            for key, document_id in keys
        ],
        batch_size=1_000,
    )  # fmt: skip
    return documents


def _near(middle: Sequence[float], chance: random.Random) -> list[float]:
    values = [value + chance.gauss(0, 0.1) for value in middle]
    length = sum(value * value for value in values) ** 0.5
    return [value / length for value in values]


def found(user: Any, query: Sequence[float], limit: int = 10) -> list[int]:
    with connection.cursor() as cursor:
        near = nearest(cursor, Scope(user.pk), QueryVector("one", list(query)), limit=limit)
    return [one.chunk_key for one in near]


def sketched_documents() -> set[Any]:
    return set(VectorSketch.objects.values_list("document_id", flat=True))


def scans_of_all() -> int:
    """How often the index was begun that holds the vectors themselves."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")
        cursor.execute("SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'memory_vector_short'")
        return int(cursor.fetchone()[0])


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_few_are_many")
def test_by_sketches_the_same_is_found_without_reading_all_and_a_stranger_still_finds_nothing(
    alice: Any, charlie: Any
) -> None:
    chance = random.Random(1)
    documents = many_vectors(alice, chance)
    stored = [list(one) for one in Vector.objects.values_list("embedding", flat=True)[:20]]
    questions = [*stored, *(unit(chance, DIMENSIONS) for _ in range(20))]
    exact = [found(alice, question) for question in questions]

    sketches.tend("one", DIMENSIONS)
    before = scans_of_all()
    by_sketches = [found(alice, question) for question in questions]

    known = SketchedOwner.objects.get()
    assert (known.owner_id, known.rows) == (alice.pk, DOCUMENTS * CHUNKS)
    assert known.candidates < known.rows
    assert sketched_documents() == {document.pk for document in documents}
    assert scans_of_all() == before
    same = sum(len(set(one) & set(other)) for one, other in zip(exact, by_sketches, strict=True))
    assert same >= 0.99 * 10 * len(questions)
    assert found(charlie, questions[0]) == []


@pytest.mark.slow
@pytest.mark.spec("B20")
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_few_are_many")
@pytest.mark.parametrize("shared", [DOCUMENTS, DOCUMENTS // 3])
def test_what_somebody_shares_is_found_by_their_sketches_too_and_nothing_of_theirs_that_is_not(
    alice: Any, bob: Any, shared: int
) -> None:
    chance = random.Random(5)
    documents = many_vectors(alice, chance)
    ids = [document.pk for document in documents[:shared]]
    Document.objects.filter(pk__in=ids).update(visibility=Visibility.EVERYONE)
    own = document_of(bob, ["own"], status="ready", embedded_by="one")
    _give(own, mine := unit(chance, DIMENSIONS))
    stored = [list(one) for one in Vector.objects.exclude(document_id=own.pk).values_list("embedding", flat=True)[:20]]
    questions = [*stored, *(unit(chance, DIMENSIONS) for _ in range(20))]
    exact = [found(bob, question) for question in questions]
    read_before = _reads_of(bob, questions[0])

    sketches.tend("one", DIMENSIONS)
    by_sketches = [found(bob, question) for question in questions]

    seen = set(Chunk.objects.filter(document__in=[*ids, own.pk]).values_list("key", flat=True))
    assert {key for one in by_sketches for key in one} <= seen
    same = sum(len(set(one) & set(other)) for one, other in zip(exact, by_sketches, strict=True))
    assert same >= 0.99 * 10 * len(questions)
    assert found(bob, mine)[0] == Chunk.objects.get(document=own).key
    assert read_before >= shared
    assert _reads_of(bob, questions[0]) <= 2, "none of the documents is read one by one"


def _reads_of(user: Any, question: Sequence[float]) -> int:
    before = scans_of_all()
    found(user, question)
    return scans_of_all() - before


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_few_are_many")
def test_sketches_that_do_not_find_enough_are_not_used_and_not_made_again(
    alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    many_vectors(alice, random.Random(1))
    monkeypatch.setattr(sketches, "CANDIDATES_TRIED", (1, 2))

    sketches.tend("one", DIMENSIONS)
    sketches.tend("one", DIMENSIONS)

    assert SketchedOwner.objects.get().candidates == 0
    assert not VectorSketch.objects.exists()
    assert len(found(alice, unit(random.Random(2), DIMENSIONS))) == 10


@pytest.mark.slow
@pytest.mark.usefixtures("_few_are_many")
def test_what_came_since_the_sketches_were_made_or_before_they_were_finished_is_found(
    alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a process leaves them that is killed between two batches."""
    chance = random.Random(3)
    documents = many_vectors(alice, chance)
    SketchedOwner.objects.create(owner_id=alice.pk, model="one", rows=1, candidates=500)
    monkeypatch.setattr(sketches, "DOCUMENTS_AT_ONCE", 20)
    monkeypatch.setattr(sketches, "_make_some", _once(sketches._make_some))

    assert sketches.make(Owned("one", alice.pk, DIMENSIONS)) == 20
    late = document_of(alice, ["late"], status="embedding")
    _give(late, vector := unit(chance, DIMENSIONS))

    assert len(sketched_documents()) == 20
    assert found(alice, vector)[0] == Chunk.objects.get(document=late).key
    for document in documents:
        own = Vector.objects.filter(document_id=document.pk).first()
        assert own is not None
        assert found(alice, list(own.embedding))[0] == own.chunk_key


def _once(make_some: Any) -> Any:
    left = [True]
    return lambda owned: make_some(owned) if left and left.pop() else 0


def _give(document: Document, vector: Sequence[float]) -> None:
    keys = Chunk.objects.filter(document=document).values_list("key", flat=True)
    with transaction.atomic(), connection.cursor() as cursor:
        store(cursor, model="one", document_id=document.pk, vectors={key: [vector] for key in keys})


@pytest.mark.slow
@pytest.mark.usefixtures("_few_are_many")
def test_a_document_that_gets_another_vector_or_loses_what_was_read_of_it_has_no_sketches_any_more(alice: Any) -> None:
    chance = random.Random(4)
    grown, gone, again, hidden, *_ = many_vectors(alice, chance)
    owned = Owned("one", alice.pk, DIMENSIONS)
    SketchedOwner.objects.create(owner_id=alice.pk, model="one", rows=1, candidates=500)
    sketches.make(owned)
    first = {one: list(Vector.objects.filter(document_id=one.pk)[0].embedding) for one in (gone, again, hidden)}
    Document.objects.filter(pk=again.pk).update(stored_as="x", status=DocumentStatus.EMBEDDING)

    Chunk.objects.filter(document=grown, ordinal=0).delete()
    Chunk.objects.create(
        chunk_id=grown.pk, document=grown, ordinal=CHUNKS, text="new", start=0, end=3, page=1, last_page=1,
        kind="paragraph", tokens=1,
    )  # fmt: skip
    new = unit(chance, DIMENSIONS)
    _give(grown, new)
    actions.delete(alice, gone.pk)
    actions.cancel(alice, again.pk)
    Document.objects.filter(pk=hidden.pk).update(status=DocumentStatus.CANCELLED)

    assert not sketched_documents() & {grown.pk, gone.pk, again.pk}
    assert found(alice, new)[0] == Chunk.objects.get(document=grown, ordinal=CHUNKS).key
    theirs = set(Chunk.objects.filter(document__in=[again.pk, hidden.pk]).values_list("key", flat=True))
    for vector in first.values():
        assert len(found(alice, vector)) == 10
        assert not set(found(alice, vector)) & theirs
    sketches.make(owned)
    assert grown.pk in sketched_documents()
    assert again.pk not in sketched_documents()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_few_are_many")
def test_sketches_go_with_the_vectors_with_the_model_and_with_the_account(alice: Any, bob: Any) -> None:
    for person in (alice, bob):
        many_vectors(person, random.Random(1))
    sketches.tend("one", DIMENSIONS)
    assert SketchedOwner.objects.count() == 2

    Document.objects.filter(owner=alice).delete()
    sketches.tend("one", DIMENSIONS)
    assert set(VectorSketch.objects.values_list("owner_id", flat=True)) == {bob.pk}
    assert SketchedOwner.objects.get().owner_id == bob.pk

    chosen.choose("two")
    with connection.cursor() as cursor:
        while not drop_some_of(cursor, "one"):
            pass
    sketches.tend("two", DIMENSIONS)
    assert not VectorSketch.objects.exists()
    assert not SketchedOwner.objects.exists()
