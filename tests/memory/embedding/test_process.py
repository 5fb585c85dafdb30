"""The embedder as a process: complete and nothing double, whoever is killed, added, deleted or renamed meanwhile."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction

from memory.embedding.asking import ask_again, client_of_asking, embedder_lives, query_vector, texts_vectors
from memory.embedding.messages import ALIVE, ASKED
from memory.embedding.wake import wake
from memory.kinds import DocumentStatus, MemoryKind
from memory.models import Chunk, Document, DocumentVector, Memory, Vector
from tests.house.waiting import until
from tests.memory.embedding.driving import Embedders, document_of

pytestmark = pytest.mark.timeout(300)
SENTENCE = "The turbine of plant {} was serviced in May and its bearings were replaced by the crew of station {}. "


def texts(count: int, *, sentences: int = 3) -> list[str]:
    return ["".join(SENTENCE.format(number, line) for line in range(sentences)) for number in range(count)]


def is_ready(document: Document) -> bool:
    document.refresh_from_db()
    return document.status == DocumentStatus.READY


def assert_complete(document: Document, *, model: str = "local") -> None:
    """Each chunk has the windows 0 to n, once each; the primary key refuses doubles, so a sum tells of gaps."""
    document.refresh_from_db()
    assert (document.status, document.chunks_embedded) == (DocumentStatus.READY, document.total_chunks)
    assert document.embedded_by == model
    assert document.ready_at is not None
    found: dict[int, set[int]] = {}
    for key, window in Vector.objects.filter(model=model, document_id=document.pk).values_list("chunk_key", "window"):
        found.setdefault(key, set()).add(window)
    assert found.keys() == set(Chunk.objects.filter(document=document).values_list("key", flat=True))
    assert all(windows == set(range(len(windows))) for windows in found.values())


def woken(document: Document) -> Document:
    with transaction.atomic():
        wake()
    return document


@pytest.mark.slow
def test_a_document_gets_its_vectors_and_a_question_finds_them(embedders: Embedders, alice: Any) -> None:
    embedders.start()

    document = woken(document_of(alice, [*texts(3), "A cat sleeps on the warm roof."]))

    until(lambda: is_ready(document), what="the document")
    assert_complete(document)
    asked = query_vector("Where does the cat sleep?")
    assert asked is not None
    assert (asked.model, len(asked.values), asked.older) == ("local", 384, ())
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.text FROM memory_vector v JOIN memory_chunk c ON c.key = v.chunk_key"
            " ORDER BY v.embedding <#> %s::halfvec LIMIT 1",
            [str(asked.values)],
        )
        assert cursor.fetchone() == ("A cat sleeps on the warm roof.",)
    assert embedders.stop(0) == 0


@pytest.mark.slow
def test_one_that_is_killed_in_the_middle_is_continued_and_nothing_is_double(embedders: Embedders, alice: Any) -> None:
    embedders.start()
    document = woken(document_of(alice, texts(60)))
    until(Vector.objects.exists, what="the first batch")

    embedders.kill(0)
    left = Chunk.objects.exclude(key__in=Vector.objects.values("chunk_key")).count()
    embedders.start()

    assert 0 < left < 60
    until(lambda: is_ready(document), what="the rest of the document", timeout_s=120)
    assert_complete(document)


_END = """
    SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = %s
"""


@pytest.mark.slow
def test_one_waits_for_a_database_that_can_only_be_read(embedders: Embedders, alice: Any) -> None:
    embedders.start(HYPERAGENT_NAME="reads")
    name = connection.ops.quote_name(connection.settings_dict["NAME"])
    with connection.cursor() as cursor:
        # It holds for who connects from now on.
        cursor.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        try:
            cursor.execute(_END, ["reads"])
            document = woken(document_of(alice, texts(3)))
            until(lambda: "read-only transaction" in embedders.log(0), what="a refusal")
        finally:
            cursor.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")

    until(lambda: is_ready(document), what="the document")
    assert_complete(document)
    assert embedders.lives(0)


@pytest.mark.slow
def test_two_share_the_work_and_nothing_is_double(embedders: Embedders, alice: Any, bob: Any) -> None:
    documents = [document_of(alice, texts(40, sentences=6)), document_of(bob, texts(20))]
    embedders.start(is_ready=False)
    embedders.start(is_ready=False)

    until(lambda: all(is_ready(document) for document in documents), what="both documents", timeout_s=200)
    for document in documents:
        assert_complete(document)
        assert document.chunks_embedded == document.total_chunks


@pytest.mark.slow
def test_a_document_that_is_deleted_meanwhile_leaves_nothing(embedders: Embedders, alice: Any) -> None:
    embedders.start()
    gone, stays = document_of(alice, texts(60)), document_of(alice, texts(2), filename="b.txt")
    woken(stays)
    until(lambda: Vector.objects.filter(document_id=gone.pk).exists(), what="the first batch of what is deleted")

    gone_id = gone.pk
    gone.delete()
    later = woken(document_of(alice, texts(2), filename="c.txt"))

    until(lambda: is_ready(stays) and is_ready(later), what="the others")
    assert not Vector.objects.filter(document_id=gone_id).exists()
    assert not DocumentVector.objects.filter(document_id=gone_id).exists()
    assert embedders.lives(0)


@pytest.mark.slow
def test_what_is_cut_anew_meanwhile_has_vectors_of_the_new_pieces_only(embedders: Embedders, alice: Any) -> None:
    embedders.start()
    document = woken(document_of(alice, texts(40)))
    until(Vector.objects.exists, what="the first batch")

    with transaction.atomic():
        Document.objects.filter(pk=document.pk).update(status=DocumentStatus.READING, chunks_embedded=0)
        Chunk.objects.filter(document=document).delete()
    fresh = document_of(alice, ["Only this is left."], filename="new.txt")
    with transaction.atomic():
        Chunk.objects.filter(document=fresh).update(document=document)
        Document.objects.filter(pk=document.pk).update(status=DocumentStatus.EMBEDDING, total_chunks=1)
        Document.objects.filter(pk=fresh.pk).update(total_chunks=0)
        wake()

    until(lambda: is_ready(document), what="the new pieces")
    assert_complete(document)


@pytest.mark.slow
def test_memories_and_descriptions_get_vectors_and_new_ones_when_they_are_changed(
    embedders: Embedders, alice: Any
) -> None:
    memory = Memory.objects.create(user=alice, kind=MemoryKind.FACT, text="Alice likes tea.", origin_key="1")
    document = document_of(alice, ["Some text."], description="A short story of a cat.")
    embedders.start()
    until(lambda: Memory.objects.filter(embedded_by="local").exists(), what="the memory's vector")
    first = until(
        lambda: DocumentVector.objects.filter(document_id=document.pk).values_list("text_hash", flat=True).first(),
        what="the document's vector",
    )

    Memory.objects.filter(pk=memory.pk).update(text="Alice likes coffee.", embedding=None, embedded_by="")
    Document.objects.filter(pk=document.pk).update(description="The history of steam engines.")
    with transaction.atomic():
        wake()

    until(lambda: Memory.objects.filter(embedded_by="local", embedding__isnull=False).exists(), what="the new memory's")
    until(
        lambda: DocumentVector.objects.exclude(text_hash=first).filter(document_id=document.pk).exists(),
        what="the new description's",
    )


def test_without_an_embedder_there_is_no_vector_and_nobody_waits(embedders: Embedders) -> None:
    client_of_asking().delete(ALIVE)

    assert query_vector("anything", timeout_s=60) is None
    assert texts_vectors(["a", "b"], timeout_s=60) is None
    assert client_of_asking().llen(ASKED) == 0


def test_one_that_was_killed_while_it_seemed_to_live_is_not_waited_for_twice(embedders: Embedders) -> None:
    client_of_asking().set(ALIVE, "1", ex=60)

    first = query_vector("anything", timeout_s=0.2)
    asked = client_of_asking().llen(ASKED)
    client_of_asking().lpush(ASKED, "a mark")
    second = query_vector("anything", timeout_s=60)

    assert (first, second, asked) == (None, None, 0)
    assert client_of_asking().lrange(ASKED, 0, -1) == [b"a mark"]
    client_of_asking().delete(ASKED, ALIVE)


@pytest.mark.slow
def test_garbage_in_redis_stops_neither_side(embedders: Embedders) -> None:
    embedders.start()
    until(embedder_lives, what="the sign of life")
    client = client_of_asking()

    for garbage in (b"\xff\x00", b"[]", b'{"reply_to": "ALIVE", "texts": ["a"], "timeout_s": 1}', b"{" * 100_000):
        client.lpush(ASKED, garbage)
    first = query_vector("one", timeout_s=10)
    client.set(ASKED, "a string")
    until(lambda: client.type(ASKED) != b"string", what="the list's place")
    ask_again()
    second = query_vector("two", timeout_s=10)

    assert first is not None
    assert second is not None
    assert embedders.lives(0)


@pytest.mark.slow
def test_its_memory_stays_far_under_the_limit(embedders: Embedders, alice: Any) -> None:
    number = embedders.start(by=subprocess.Popen)
    document = woken(document_of(alice, texts(8, sentences=40)))

    until(lambda: is_ready(document), what="the document", timeout_s=200)

    status = Path(f"/proc/{embedders.processes[number].pid}/status").read_text()
    peak_kb = int(re.search(r"VmHWM:\s+(\d+)", status).group(1))  # type: ignore[union-attr]
    print(f"peak of the embedder: {peak_kb / 1024:.0f} MB")
    assert peak_kb < 700 * 1024
