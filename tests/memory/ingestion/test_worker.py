"""Ingestion by `manage.py worker`, as it is run: hostile files, long ones, and the death of its processes."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from django.db.models.functions import Now

from memory.ingestion import sweeping
from memory.kinds import SEARCHABLE, DocumentStatus
from memory.models import Document
from tests.house.test_queue import cluster_of, worker
from tests.house.waiting import until
from tests.memory.giving import uploaded
from tests.memory.ingestion.making import broken_docx, pdf_of

pytestmark = pytest.mark.django_db(transaction=True)

MEMORY_MB = 700
WORDS = "revenue anvil rocket coyote quarter board river engine letter garden winter signal".split()  # noqa: SIM905


@pytest.fixture
def jobs(media: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[psutil.Process]:
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    with worker(tmp_path / "log") as running:
        yield running


def page(number: int, lines: int = 45) -> str:
    return "\n".join(
        f"Page {number} line {line}: " + " ".join(WORDS[(number * 7 + line * 3 + word) % 12] for word in range(11))
        for line in range(lines)
    )


def state_of(document: Document) -> str:
    return str(Document.objects.values_list("status", flat=True).get(pk=document.pk))


def until_over(*documents: Document, timeout_s: float = 240) -> None:
    over = {*SEARCHABLE, DocumentStatus.FAILED}
    until(lambda: {state_of(one) for one in documents} <= over, what="the documents", timeout_s=timeout_s)


@pytest.mark.slow
def test_a_pdf_of_100_pages_is_found_soon_after_its_upload(api_of: Any, alice: Any, jobs: psutil.Process) -> None:
    warm = uploaded(alice, pdf_of([page(1)]), filename="warm.pdf")
    until_over(warm)
    content = pdf_of([page(number) for number in range(1, 101)])

    document = uploaded(alice, content, filename="report.pdf")
    until_over(document)

    document.refresh_from_db()
    assert document.status in SEARCHABLE, document.reason
    assert (document.pages_read, document.total_pages) == (100, 100)
    found = api_of(alice).get(f"/api/v1/documents/{document.pk}/pages?from=100").json()["results"]
    assert "Page 100 line 44" in found[0]["text"]


def test_hostile_files_end_as_failed_and_the_worker_lives_on(alice: Any, jobs: psutil.Process) -> None:
    before = [process.pid for process in cluster_of(jobs)]
    hostile = [
        uploaded(alice, b"", filename="empty.pdf"),
        uploaded(alice, b"MZ\x90\x00" + bytes(range(256)) * 40, filename="invoice.pdf"),
        uploaded(alice, b"%PDF-1.7\n" + b"nothing " * 100, filename="broken.pdf"),
        uploaded(alice, broken_docx(), filename="broken.docx"),
    ]
    good = uploaded(alice, "Good words.", filename="good.md")

    highest = 0.0
    while {state_of(one) for one in (*hostile, good)} & {"queued", "reading", "indexing"}:
        highest = max([highest, *(_memory_mb(process) for process in cluster_of(jobs))])
        time.sleep(0.05)

    assert {state_of(one) for one in hostile} == {"failed"}
    assert state_of(good) in SEARCHABLE
    assert [process.pid for process in cluster_of(jobs)][:5] == before[:5]
    assert highest < MEMORY_MB


@pytest.mark.slow
def test_a_document_is_read_though_the_process_that_read_it_was_killed(alice: Any, jobs: psutil.Process) -> None:
    document = uploaded(alice, pdf_of([page(number) for number in range(1, 401)]), filename="long.pdf")
    until(lambda: bool(_parsers(jobs)), what="that it is read")

    reader = _parsers(jobs)[0].parent()
    assert reader is not None
    reader.kill()
    # The clock moves on: its lease runs out, and the sweep looks.
    Document.objects.filter(pk=document.pk).update(lease_until=Now())
    assert sweeping.enqueue_lost() == 1
    until_over(document)

    document.refresh_from_db()
    assert document.status in SEARCHABLE, document.reason
    assert document.pages.count() == document.pages_read == 400
    assert document.chunks.count() == document.total_chunks


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_long_document_is_left_at_once_by_a_cluster_that_stops_and_the_next_one_goes_on(
    alice: Any, jobs: psutil.Process
) -> None:
    document = uploaded(alice, pdf_of([page(number, lines=3) for number in range(1, 1501)]), filename="long.pdf")
    until(document.pages.exists, what="that some of it is stored")

    # Not the worker, which would give it no more than some seconds.
    cluster_of(jobs)[0].terminate()
    until_over(document)

    document.refresh_from_db()
    assert document.status in SEARCHABLE, document.reason
    assert document.epoch > 1
    assert document.pages.count() == 1500
    assert document.chunks.count() == document.total_chunks


def _parsers(jobs: psutil.Process) -> list[psutil.Process]:
    return [one for one in cluster_of(jobs) if any(part.endswith("reading/child.py") for part in one.cmdline())]


def _memory_mb(process: psutil.Process) -> float:
    try:
        return float(process.memory_info().rss) / 1e6
    except psutil.NoSuchProcess:
        return 0.0
