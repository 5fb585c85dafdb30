"""The death of whoever reads a document, at every one of their statements; and documents that go in the middle."""

import errno
import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.db import connection, transaction
from django.db.models.functions import Now
from django.utils import timezone

from hyperagent.lib.conf import BASE_DIR
from hyperagent.lib.lanes import Lane
from memory.actions import documents
from memory.embedding import waiting
from memory.embedding.model import LOCAL
from memory.ingestion import content, driver, files, lease, sweeping
from memory.kinds import UNFINISHED, DocumentStatus, Origin
from memory.models import Document, Vector
from memory.reading.values import Unreadable
from memory.vectors import writing
from tests.at_once import somebody_waits
from tests.faces.web import database_url
from tests.house.waiting import until
from tests.memory.giving import given, uploaded
from tests.memory.ingestion.looking import rows_left, stored
from tests.memory.reading.making import pdf

LONG = "\n\n".join(f"## Part {n}\n\n{' '.join(f'word{n}x{m} of part {n}.' for m in range(150))}" for n in range(5))

Fall = Callable[[Any, int], str]


@pytest.fixture
def fall(media: Path, transactional_db: None) -> Iterator[Fall]:
    """Has a child of another process ingest the document, killed before its statement of this number."""
    env = {**os.environ, "DATABASE_URL": database_url(), "DATA_DIR": str(media.parent)}
    with subprocess.Popen(
        [sys.executable, "-m", "tests.memory.ingestion.falling"],
        cwd=BASE_DIR, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None

        def one(document_id: Any, at: int) -> str:
            assert process.stdin is not None
            assert process.stdout is not None
            print(document_id, at, file=process.stdin, flush=True)
            return process.stdout.readline().strip()

        yield one
        process.stdin.close()


def lease_runs_out(document: Document) -> None:
    Document.objects.filter(pk=document.pk).update(lease_until=Now())


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("state", [DocumentStatus.QUEUED, DocumentStatus.INDEXING])
def test_a_document_is_complete_whichever_statement_its_reader_dies_at(
    alice: Any, fall: Fall, state: DocumentStatus
) -> None:
    document = given(alice, LONG)
    whole = stored(document.pk)
    assert len(whole["pages"]) > 1
    assert len(whole["chunks"]) > 6

    states = []
    for at in range(1, 100):
        _back_to(state, document)
        how = fall(document.pk, at)
        left = Document.objects.get(pk=document.pk)
        lease_runs_out(document)
        driver.ingest(document.pk, slice_s=None)

        assert stored(document.pk) == whole, f"after a death before statement {at}, {left.status}"
        if how == "done" or (state == DocumentStatus.QUEUED and left.status == DocumentStatus.INDEXING):
            break
        assert how == "killed"
        states.append(left.status)

    if state == DocumentStatus.QUEUED:
        assert set(states) == {DocumentStatus.QUEUED, DocumentStatus.READING}
    else:
        assert set(states) >= {DocumentStatus.INDEXING}
    assert len(states) > 8


def _back_to(state: DocumentStatus, document: Document) -> None:
    """As it was when it came to this state; what was read stays for the later one."""
    with connection.cursor() as cursor:
        for table in ("posting", "chunk", *(["documentpage"] if state == DocumentStatus.QUEUED else [])):
            cursor.execute(f"DELETE FROM memory_{table} WHERE document_id = %s", [document.pk])
    nothing = {name: value for name, value in content.NOTHING_READ.items() if "page" not in name}
    if state == DocumentStatus.QUEUED:
        nothing |= {"pages_read": 0, "total_pages": 0, "language": "", "title": ""}
    Document.objects.filter(pk=document.pk).update(**nothing, status=state, description="", lease_until=None)


@pytest.mark.slow
def test_a_document_that_kills_its_reader_three_times_is_given_up(alice: Any, fall: Fall) -> None:
    document = uploaded(alice, LONG)

    for _ in range(3):
        assert fall(document.pk, 3) == "killed"
        lease_runs_out(document)
    driver.ingest(document.pk)

    document.refresh_from_db()
    assert document.status == DocumentStatus.FAILED
    assert "crashed the reader 3 times" in document.reason
    assert rows_left(document.pk) == {}


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize(
    "hindrance",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        FileNotFoundError(errno.ENOENT, "No usable temporary directory found"),
        "the disk is not mounted",
    ],
    ids=["full", "no folder for copies", "not mounted"],
)
def test_a_document_that_a_machine_cannot_read_just_now_is_read_later(
    alice: Any, media: Path, monkeypatch: pytest.MonkeyPatch, hindrance: OSError | str
) -> None:
    document = uploaded(alice, LONG)

    def hindered(stored_as: str) -> Any:
        assert isinstance(hindrance, OSError)
        raise hindrance

    with monkeypatch.context() as patch:
        if isinstance(hindrance, OSError):
            patch.setattr(files, "on_this_disk", hindered)
        else:
            media.rename(media.with_name("elsewhere"))
        for _ in range(lease.MAX_ATTEMPTS + 1):
            with pytest.raises(OSError, match=r"No |not there|in the storage"):
                driver.ingest(document.pk)
        document.refresh_from_db()
        waits = (document.status, document.reason, document.lease_until)
        if not isinstance(hindrance, OSError):
            media.with_name("elsewhere").rename(media)
    driver.ingest(document.pk)
    document.refresh_from_db()

    assert waits[0] in UNFINISHED
    assert waits[1:] == (driver.HINDERED, None)
    assert (document.status, document.reason) == (DocumentStatus.EMBEDDING, "")


@pytest.mark.django_db
def test_a_document_of_which_the_file_is_gone_says_so(alice: Any, media: Path) -> None:
    document = uploaded(alice, LONG)
    default_storage.delete(document.stored_as)

    driver.ingest(document.pk)

    document.refresh_from_db()
    assert (document.status, document.reason) == (DocumentStatus.FAILED, driver.GONE)


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize("end", [documents.delete, documents.cancel])
def test_a_document_that_is_taken_away_in_the_middle_leaves_nothing(
    alice: Any, media: Path, monkeypatch: pytest.MonkeyPatch, end: Any, django_capture_on_commit_callbacks: Any
) -> None:
    monkeypatch.setattr("memory.ingestion.pages.PAGES_AT_ONCE", 1)
    monkeypatch.setattr("memory.ingestion.chunks.PIECES_AT_ONCE", 6)
    seen = set()
    for steps in range(1, 100):
        document = uploaded(alice, f"{LONG}\n\nNumber {steps}.")
        claimed = lease.claim(document.pk)
        assert claimed is not None
        work = driver.batches(claimed)
        for _ in range(steps):
            next(work)
        if claimed.status not in UNFINISHED:
            break
        seen.add(str(claimed.status))

        with django_capture_on_commit_callbacks(execute=True):
            end(alice, document.pk)
        with pytest.raises((lease.Lost, FileNotFoundError, Unreadable)):
            list(work)
        with pytest.raises(lease.Lost):
            driver.fail(claimed, "Too late.")

        assert rows_left(document.pk) == {}
        assert (media / document.stored_as).exists() == (end is documents.cancel)
        documents.delete(alice, document.pk) if end is documents.cancel else None
    assert seen >= {"reading", "indexing"}


@pytest.mark.django_db
def test_only_one_reads_a_document_and_who_was_frozen_writes_nothing(alice: Any) -> None:
    document = uploaded(alice, LONG)
    frozen = lease.claim(document.pk)
    assert frozen is not None
    assert lease.claim(document.pk) is None
    driver.ingest(document.pk)
    assert Document.objects.get(pk=document.pk).status == DocumentStatus.QUEUED

    lease_runs_out(document)
    other = lease.claim(document.pk)

    assert other is not None
    with pytest.raises(lease.Lost):
        next(driver.batches(frozen))
    assert next(driver.batches(other)) is None


@pytest.mark.slow
@pytest.mark.django_db
def test_a_long_document_gives_the_worker_back_and_goes_on_later(alice: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memory.ingestion.pages.PAGES_AT_ONCE", 1)
    document = uploaded(alice, LONG)
    jobs = _jobs()

    slices = 0
    while Document.objects.get(pk=document.pk).status in UNFINISHED:
        before = _jobs()
        driver.ingest(document.pk, slice_s=0)
        slices += 1
        left = Document.objects.get(pk=document.pk)
        assert (left.lease_until, left.attempts) == (None, 0)
        if left.status in UNFINISHED:
            assert _jobs() == before + 1

    assert jobs == 1
    assert slices > 5
    assert Document.objects.get(pk=document.pk).status == DocumentStatus.EMBEDDING


@pytest.mark.slow
@pytest.mark.django_db
def test_of_a_pdf_that_is_read_in_slices_every_page_without_text_is_told(
    alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.ingestion.pages.PAGES_AT_ONCE", 1)
    document = uploaded(alice, pdf([["One."], [], ["Two."], [], ["Three."], []]), filename="scan.pdf")

    slices = 0
    while Document.objects.get(pk=document.pk).status in UNFINISHED:
        driver.ingest(document.pk, slice_s=0)
        slices += 1

    assert slices > 3
    note = Document.objects.get(pk=document.pk).note
    assert note == "3 pages have no text, only pictures or nothing: 2, 4, 6."


def _jobs() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM django_q_ormq")
        return int(cursor.fetchone()[0])


@pytest.mark.django_db
def test_the_sweep_finds_whom_nobody_reads_any_more(alice: Any) -> None:
    fresh, died, forgotten, held = (uploaded(alice, f"text {n}") for n in range(4))
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_q_ormq")
        cursor.execute("UPDATE memory_document SET lease_until = now() WHERE id = %s", [died.pk])
        cursor.execute("UPDATE memory_document SET updated_at = now() - interval '2 min' WHERE id = %s", [forgotten.pk])
    assert lease.claim(held.pk) is not None

    assert sweeping.enqueue_lost() == 2
    assert sweeping.enqueue_lost() == 0

    assert _jobs() == 2
    assert fresh.pk != held.pk


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_document_is_deleted_while_its_vectors_are_being_stored(alice: Any) -> None:
    document = given(alice, "Some words.", vectors=True)
    chunk = document.chunks.get()
    Vector.objects.all().delete()
    stored_some, waits = Event(), Event()

    def embed() -> None:
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                writing.store(cursor, model=LOCAL, document_id=document.pk, vectors={chunk.key: [[1.0] + [0.0] * 383]})
                stored_some.set()
                waits.wait(20)
                waiting.count(document.pk, 1)
        finally:
            connection.close()

    def delete() -> None:
        try:
            documents.delete(alice, document.pk)
        finally:
            connection.close()

    threads = [Thread(target=embed), Thread(target=delete)]
    threads[0].start()
    assert stored_some.wait(20)
    threads[1].start()
    until(somebody_waits, what="that the deletion waits")
    waits.set()
    for thread in threads:
        thread.join(30)

    assert not Document.objects.exists()
    assert rows_left(document.pk) == {}


@pytest.mark.django_db
def test_what_somebody_gives_by_hand_does_not_wait_behind_what_a_connector_brings(alice: Any) -> None:
    brought, given_by_hand = (
        documents.add(alice, io.BytesIO(origin.encode()), filename="a.txt", origin=origin)[0]
        for origin in (Origin.CONNECTOR, Origin.UPLOAD)
    )
    driver.ingest(given_by_hand.pk, slice_s=0)

    with connection.cursor() as cursor:
        cursor.execute("SELECT key FROM django_q_ormq ORDER BY id")
        lanes = [key for (key,) in cursor.fetchall()]

    assert lanes == [Lane.MANY, Lane.LONG, Lane.LONG], "also where it goes on"
    assert brought.origin == Origin.CONNECTOR


@pytest.mark.django_db
def test_a_document_whose_job_may_still_wait_is_not_asked_for_again(alice: Any) -> None:
    """However long: jobs are taken in their order, so only what is older than the oldest of them was lost."""
    waiting, lost = uploaded(alice, "waiting"), uploaded(alice, "lost")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE django_q_ormq SET lock = now() - interval '3 hours'")
        cursor.execute("DELETE FROM django_q_ormq WHERE id = (SELECT max(id) FROM django_q_ormq)")
        for document, hours in ((waiting, 3), (lost, 4)):
            cursor.execute(
                "UPDATE memory_document SET updated_at = now() - %s * interval '1 hour' WHERE id = %s",
                [hours, document.pk],
            )

    assert sweeping.enqueue_lost() == 1

    assert _jobs() == 2
    lost.refresh_from_db()
    assert lost.updated_at > timezone.now() - timedelta(minutes=1)
