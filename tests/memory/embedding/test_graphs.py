"""Owners of very many vectors: a graph that is as good as the exact answer, or is not used."""

import random
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection

from memory.embedding import chosen
from memory.embedding.asking import QueryVector
from memory.models import Chunk, Document, Vector, VectorGraph
from memory.sight import Scope
from memory.vectors import graphs
from memory.vectors.graphs import Measured, Owned, close_enough
from memory.vectors.nearest import nearest
from tests.memory.embedding.driving import document_of
from tests.memory.embedding.test_nearest import unit

DIMENSIONS = 16
ROWS = 3_000


def test_a_graph_is_used_from_where_it_finds_everything() -> None:
    good = [Measured(best=0.9 - number / 100, recall=1.0) for number in range(20)]
    bad = [Measured(best=0.3 - number / 100, recall=0.8) for number in range(20)]

    assert close_enough([*bad, *good]) == pytest.approx(0.71)
    assert close_enough(good) == pytest.approx(0.71)
    assert close_enough(bad) is None
    assert close_enough([]) is None


@pytest.fixture
def _small_graphs(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What is worth a graph is a setting of the module; here it is worth it for what a test can make."""
    monkeypatch.setattr(graphs, "WORTH_IT", 2_000)
    monkeypatch.setattr(graphs, "GONE_BELOW", 1_000)
    yield
    for graph in VectorGraph.objects.all():
        with connection.cursor() as cursor:
            cursor.execute(f"DROP INDEX IF EXISTS {graph.index}")


def many_vectors(owner: Any, chance: random.Random) -> Document:
    """Of a document with this many chunks, in clusters, as texts are."""
    document = document_of(owner, ["text"] * ROWS, status="ready", embedded_by="one")
    middles = [unit(chance, DIMENSIONS) for _ in range(20)]
    keys = Chunk.objects.filter(document=document).values_list("key", flat=True)
    rows = []
    for key in keys:
        middle = chance.choice(middles)
        near = [value + chance.gauss(0, 0.1) for value in middle]
        rows.append(
            Vector(chunk_key=key, model="one", owner_id=owner.pk, document_id=document.pk, embedding=_scaled(near))
        )
    Vector.objects.bulk_create(rows, batch_size=1_000)
    return document


def _scaled(values: list[float]) -> list[float]:
    length = sum(value * value for value in values) ** 0.5
    return [value / length for value in values]


def found(user_id: uuid.UUID, query: list[float], limit: int = 10) -> list[int]:
    with connection.cursor() as cursor:
        near = nearest(cursor, Scope(user_id), QueryVector("one", query), limit=limit)
    return [one.chunk_key for one in near]


@pytest.mark.usefixtures("_small_graphs")
def test_with_a_graph_the_same_is_found_as_without_and_a_stranger_still_finds_nothing(alice: Any, charlie: Any) -> None:
    chance = random.Random(1)
    chosen.choose("one")
    many_vectors(alice, chance)
    questions = [unit(chance, DIMENSIONS) for _ in range(10)]
    exact = [found(alice.pk, question) for question in questions]

    graphs.tend("one", DIMENSIONS)

    graph = VectorGraph.objects.get()
    assert (graph.owner_id, graph.rows, graph.close_enough <= 1) == (alice.pk, ROWS, True)
    by_graph = [found(alice.pk, question) for question in questions]
    same = sum(len(set(one) & set(other)) for one, other in zip(exact, by_graph, strict=True))
    assert same >= 0.99 * 100
    assert found(charlie.pk, questions[0]) == []


@pytest.mark.usefixtures("_small_graphs")
def test_a_graph_is_read_for_a_question_that_is_close_and_all_is_read_for_one_that_is_not(alice: Any) -> None:
    chosen.choose("one")
    many_vectors(alice, random.Random(1))
    graphs.tend("one", DIMENSIONS)
    close = list(Vector.objects.values_list("embedding", flat=True)[0])
    used = "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = %s"

    def scans() -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_stat_force_next_flush()")
            cursor.execute(used, [VectorGraph.objects.get().index])
            return int(cursor.fetchone()[0])

    before = scans()
    first = found(alice.pk, close)
    after = scans()
    VectorGraph.objects.update(close_enough=2)
    second = found(alice.pk, close)

    assert after == before + 1
    assert first == second
    assert scans() == after


@pytest.mark.usefixtures("_small_graphs")
def test_a_graph_goes_with_the_vectors_and_one_that_was_broken_off_is_built_anew(alice: Any) -> None:
    chosen.choose("one")
    document = many_vectors(alice, random.Random(1))
    owned = Owned("one", alice.pk, DIMENSIONS)
    with connection.cursor() as cursor:
        # As a process leaves it that was killed before it could measure.
        cursor.execute(f"CREATE INDEX {owned.index} ON memory_vector (chunk_key) WHERE owner_id = '{alice.pk}'")
        cursor.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = %s::regclass", [owned.index])

    graphs.tend("one", DIMENSIONS)
    built = VectorGraph.objects.get().index
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_get_indexdef(%s::regclass)", [built])
        definition = cursor.fetchone()[0]
    document.delete()
    graphs.tend("one", DIMENSIONS)

    assert "hnsw" in definition
    assert not VectorGraph.objects.exists()
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass(%s)", [built])
        assert cursor.fetchone() == (None,)
