"""What cannot be read, ends too early, comes twice or does not fit: a clear state and reason, and nothing left over."""

import errno
import io
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest
from django.core.files.storage import FileSystemStorage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memory.actions import documents
from memory.ingestion import driver, sweeping
from memory.kinds import DocumentStatus
from memory.models import Document
from tests.memory.giving import given, uploaded
from tests.memory.ingestion.looking import rows_left
from tests.memory.ingestion.making import broken_docx, pdf_of


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize(
    ("content", "name", "said"),
    [
        (b"", "empty.pdf", "empty"),
        (b"MZ\x90\x00" + bytes(range(256)) * 40, "invoice.pdf", "program"),
        (b"%PDF-1.7\n" + b"nothing of a PDF " * 40, "broken.pdf", ""),
        (broken_docx(), "broken.docx", ""),
        (b"\x00" * 5000, "zeros.txt", ""),
        (pdf_of([""]), "scan.pdf", ""),
        (b"PK\x03\x04" + b"\xff" * 400, "cut.xlsx", ""),
        (b" \n\t\n ", "space.md", ""),
    ],
)
def test_a_file_that_cannot_be_read_says_why(alice: Any, content: bytes, name: str, said: str) -> None:
    document = uploaded(alice, content, filename=name)

    driver.ingest(document.pk)

    document.refresh_from_db()
    assert document.status == DocumentStatus.FAILED
    assert said in document.reason
    assert document.reason.endswith(".")
    assert "Traceback" not in document.reason
    assert "something went wrong" not in document.reason.lower()
    assert rows_left(document.pk) == {}
    assert (document.total_chunks, document.total_terms, document.pages_read) == (0, 0, 0)


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("Grüße aus Köln, schöne Straßen und große Bäume überall.".encode("latin-1"), "letter.txt"),
        ("Grüße aus Köln, schöne Straßen und große Bäume überall.".encode("utf-16"), "letter.txt"),
        (b"Words before \x00 and words after it, and many more words so that it is a text at all. " * 3, "nul.txt"),
    ],
)
def test_odd_texts_are_read_all_the_same(alice: Any, content: bytes, name: str) -> None:
    document = given(alice, content, filename=name)

    text = document.pages.get().text
    assert "\x00" not in text
    assert "Grüße aus Köln" in text or "words after" in text


@pytest.mark.django_db
def test_a_document_whose_file_is_gone_says_so(alice: Any, media: Path) -> None:
    document = uploaded(alice, "text")
    (media / document.stored_as).unlink()

    driver.ingest(document.pk)

    document.refresh_from_db()
    assert (document.status, "file of this document is gone" in document.reason) == (DocumentStatus.FAILED, True)
    found, is_new = documents.add(alice, io.BytesIO(b"text"), filename="again.md")
    assert (found.pk, is_new, found.status) == (document.pk, False, DocumentStatus.QUEUED)
    driver.ingest(document.pk)
    assert Document.objects.get(pk=document.pk).status == DocumentStatus.EMBEDDING


class FullDisk(FileSystemStorage):
    """Takes a little of each file, and has no room for the rest."""

    def _save(self, name: str, content: Any) -> str:
        whole = content.chunks

        def some_of_it(chunk_size: int | None = None) -> Iterator[bytes]:
            yield next(whole())[:10]
            raise OSError(errno.ENOSPC, "No space left on device")

        content.chunks = some_of_it
        return str(super()._save(name, content))  # type: ignore[misc]


@pytest.mark.django_db
def test_f19_a_full_disk_is_said_and_leaves_neither_half_a_file_nor_a_row(
    api_of: Any, alice: Any, media: Path, settings: Any
) -> None:
    settings.STORAGES = {**settings.STORAGES, "default": {"BACKEND": f"{__name__}.FullDisk"}}
    file = SimpleUploadedFile("a.md", b"some text that is longer than ten bytes")

    answer = api_of(alice).post("/api/v1/documents", {"file": file}, format="multipart")

    assert (answer.status_code, answer.json()["error"]["code"]) == (507, "no_room")
    assert "no room left" in answer.json()["error"]["message"]
    assert Document.objects.count() == 0
    assert not [path for path in media.rglob("*") if path.is_file()]


@pytest.mark.django_db(transaction=True)
def test_the_same_file_from_two_tabs_at_once_is_one_document(alice: Any, media: Path) -> None:
    for number in range(8):
        together = Barrier(3)
        outcomes: list[tuple[Document, bool]] = []

        def give(content: bytes, together: Barrier = together, outcomes: Any = outcomes) -> None:
            try:
                together.wait(10)
                outcomes.append(documents.add(alice, io.BytesIO(content), filename="a.md"))
            finally:
                connection.close()

        threads = [Thread(target=give, args=(b"the same %d" % number,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)

        assert len(outcomes) == 3
        assert len({document.pk for document, _ in outcomes}) == 1
        assert sorted(is_new for _, is_new in outcomes) == [False, False, True]
    assert Document.objects.count() == 8
    assert len([path for path in media.rglob("*") if path.is_file()]) == 8


@pytest.mark.django_db
def test_f22_nothing_of_a_deleted_account_is_left(alice: Any, charlie: Any, media: Path) -> None:
    gone = given(alice, "Words of Alice.", vectors=True)
    kept = given(charlie, "Words of Charlie.")
    assert rows_left(gone.pk).keys() >= {"posting", "vector", "documentvector"}

    alice.delete()
    sweeping.remove_leftovers()

    assert rows_left(gone.pk) == {}
    assert rows_left(kept.pk)["posting"] > 0
    assert [path.name for path in media.rglob("*") if path.is_file()] == [str(kept.pk)]
    assert sweeping.remove_leftovers() == 0


@pytest.mark.django_db
def test_leftovers_of_more_documents_than_one_sweep_looks_at_go_with_the_next_ones(alice: Any) -> None:
    kept = given(alice, "Words of Alice.")
    count = sweeping.LOOKED_AT + 100
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO memory_posting (owner_id, term, document_id, chunk_key, count, length)"
            " SELECT gen_random_uuid(), 'gone', gen_random_uuid(), n, 1, 1 FROM generate_series(1, %s) n",
            [count],
        )

    removed = [sweeping.remove_leftovers() for _ in range(3)]

    assert removed[0] <= sweeping.LOOKED_AT
    assert (sum(removed), removed[2]) == (count, 0)
    assert rows_left(kept.pk)["posting"] > 0


@pytest.mark.django_db
def test_a_file_without_a_row_is_swept_once_it_is_old(alice: Any, media: Path) -> None:
    given(alice, "text")
    young, old = (media / "documents" / str(alice.pk) / name for name in ("young", "old"))
    for path in (young, old):
        path.write_bytes(b"x")
    os.utime(old, (1, 1))

    sweeping.remove_leftovers()

    assert young.exists()
    assert not old.exists()


@pytest.mark.django_db
def test_files_are_looked_for_among_the_documents_that_they_name_and_not_among_all(alice: Any, media: Path) -> None:
    plain, mended = given(alice, "plain"), given(alice, "mended")
    other = f"documents/{alice.pk}/{uuid.uuid4()}"
    (media / mended.stored_as).rename(media / other)
    Document.objects.filter(pk=mended.pk).update(stored_as=other)
    for path in media.rglob("*"):
        os.utime(path, (1, 1))

    with CaptureQueriesContext(connection) as asked:
        sweeping.remove_leftovers()

    assert sorted(path.name for path in media.rglob("*") if path.is_file()) == sorted([str(plain.pk), other[-36:]])
    looked = [query["sql"] for query in asked if '"stored_as" IN' in query["sql"]]
    assert all('"id" IN' in sql or '"owner_id" IN' in sql for sql in looked)


@pytest.mark.slow
@pytest.mark.django_db
def test_deleting_a_document_of_100000_keywords_takes_everything_at_once(
    alice: Any, media: Path, django_capture_on_commit_callbacks: Any
) -> None:
    document = given(alice, "text")
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO memory_posting (owner_id, term, chunk_key, document_id, count, length)"
            " SELECT %s, 't' || n, 1 + n %% 600, %s, 1, 1 FROM generate_series(1, 100000) n",
            [alice.pk, document.pk],
        )

    with django_capture_on_commit_callbacks(execute=True):
        documents.delete(alice, document.pk)

    assert rows_left(document.pk) == {}
    assert not (media / document.stored_as).exists()
