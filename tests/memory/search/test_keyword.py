"""The keyword leg against the book."""

import random
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memory.kinds import DocumentStatus
from memory.models import Chunk, Posting
from memory.postings.writing import NAME_KEY, drop_postings, write_postings
from memory.retrieval.keyword import by_words, shape_of
from memory.retrieval.shape import B
from memory.sight import Scope
from memory.words.query import asked
from memory.words.terms import terms_of
from tests.memory.search.plain import bm25
from tests.memory.search.put import put

pytestmark = pytest.mark.django_db
WORDS = ("whale", "ship", "sea", "captain", "storm", "harpoon", "oil", "boat", "crew", "island", "running", "houses")


def scored(user: Any, query: str, **scope: Any) -> dict[int, float]:
    where = Scope(user.pk, **scope)
    with connection.cursor() as cursor:
        shape = shape_of(cursor, where)
        found = by_words(cursor, where, asked(query).words, shape=shape, b=0.6, limit=1000)
    return {hit.chunk_key: hit.score for hit in found.hits}


@pytest.mark.slow
@pytest.mark.spec("S171")
@pytest.mark.parametrize("seed", range(6))
def test_sql_gives_the_scores_of_the_book(alice: Any, bob: Any, seed: int) -> None:
    chance = random.Random(seed)
    count = 90 if seed % 2 else 12  # looked up by document, and read by owner
    for _ in range(count):
        texts = [" ".join(chance.choices(WORDS, k=chance.randint(1, 150))) for _ in range(chance.randint(1, 3))]
        put(alice, *texts, filename=f"{chance.random()}.txt")
    put(bob, "whale " * 50, visibility="everyone", filename="1.txt")
    put(bob, "whale " * 50, filename="2.txt")
    seen = Chunk.objects.exclude(document__filename="2.txt").values_list("key", "text")
    chunks = {key: terms_of(text, "en") for key, text in seen}
    query = " ".join(chance.choices(WORDS, k=5)) + " whale nowhere"

    found = scored(alice, query)

    assert found == pytest.approx(bm25(chunks, terms_of(query, "en"), b=0.6), rel=1e-6)


def test_statistics_are_those_of_the_scope(alice: Any) -> None:
    one = put(alice, "whale ship", "sea")
    put(alice, "whale whale", "storm")

    assert scored(alice, "whale") != scored(alice, "whale", document_ids=(one.pk,))
    assert len(scored(alice, "whale", document_ids=(one.pk,))) == 1


def test_each_document_is_searched_in_its_language(alice: Any) -> None:
    german = put(alice, "Die Häuser am See", language="de")
    put(alice, "hausen", language="en")

    found = scored(alice, "haus")

    assert set(found) == set(german.chunks.values_list("key", flat=True))


@pytest.mark.parametrize("status", [one for one in DocumentStatus if one not in ("ready", "embedding")])
def test_what_is_not_searchable_is_not_found(alice: Any, status: DocumentStatus) -> None:
    put(alice, "whale", status=status)

    assert scored(alice, "whale") == {}


def test_a_name_is_written_once_however_many_batches_come(alice: Any) -> None:
    document = put(alice, "whale", filename="moby-dick.txt", title="Moby Dick")
    chunk = Chunk.objects.create(
        chunk_id=document.pk,
        document=document,
        ordinal=1,
        text="storm",
        start=7,
        end=12,
        page=1,
        last_page=1,
        kind="paragraph",
        tokens=1,
    )
    with connection.cursor() as cursor:
        terms = write_postings(
            cursor,
            owner_id=alice.pk,
            document_id=document.pk,
            filename=document.filename,
            title=document.title,
            language="",
            chunks=[(chunk.key, "a storm, a storm", "")],
        )

    assert terms == 2
    assert Posting.objects.get(term="storm").count == 2
    named = Posting.objects.filter(document_id=document.pk, chunk_key=NAME_KEY)
    assert set(named.values_list("term", flat=True)) == {"mobi", "dick", "txt"}


def test_dropped_postings_are_gone_and_no_others(alice: Any) -> None:
    one, other = put(alice, "whale"), put(alice, "whale")
    with connection.cursor() as cursor:
        drop_postings(cursor, one.pk)

    assert set(Posting.objects.values_list("document_id", flat=True)) == {other.pk}


def test_the_leg_is_one_statement(alice: Any) -> None:
    put(alice, "whale ship", "sea")
    with CaptureQueriesContext(connection) as captured, connection.cursor() as cursor:
        shape = shape_of(cursor, Scope(alice.pk))
        by_words(cursor, Scope(alice.pk), asked("whale at sea").words, shape=shape, b=B, limit=10)

    assert len(captured) == 2
