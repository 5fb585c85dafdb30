"""Takes one document from its file to where searches find it, under its lease; every state can be resumed.

What is read is stored in batches, each one transaction. A job that has worked for its slice of time gives the worker
back and asks for another job, so that a long document holds up nobody's mail; so does one whose cluster stops.
"""

import time
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

import structlog
from django.db import transaction

from hyperagent.lib import outage
from hyperagent.lib.queue import UnknownTask, enqueue, is_stopping
from hyperagent.lib.storage import lacks
from memory.embedding.wake import wake
from memory.ingestion import chunks, content, facts, files, lease, pages
from memory.ingestion.files import HEAD_BYTES
from memory.kinds import UNFINISHED, DocumentStatus
from memory.models import Document
from memory.reading.dates import date_of
from memory.reading.kinds import doc_type_of, picture_type_of
from memory.reading.language import language_of
from memory.reading.process import read
from memory.reading.values import Unreadable
from memory.telling import tell

log = structlog.get_logger(__name__)

DESCRIBE: Final = "agents.tasks.describe_document"
SLICE_S: Final = 30.0
TELL_EVERY_S: Final = 0.4
NO_TEXT: Final = "There is no text in this file. If it is a scan, give it with its text recognised."
GONE: Final = "The file of this document is gone from the storage. Give it again."
HINDERED: Final = "The machine that reads documents could not read it just now. It is tried again."
CRASHED: Final = f"It crashed the reader {lease.MAX_ATTEMPTS} times. Save the file in another format and give that."


def ingest(document_id: UUID, *, slice_s: float | None = SLICE_S) -> None:
    """Works until the document is found by its words, cannot be read, or the slice is over (never, without one).
    Does nothing if somebody else works on it or there is nothing to do."""
    document = lease.claim(document_id)
    if document is None:
        return
    try:
        with lease.kept_alive(document):
            _work_or_fail(document, slice_s)
    except lease.Lost:
        log.info("document.lost", document_id=str(document_id))


def _work_or_fail(document: Document, slice_s: float | None) -> None:
    try:
        if document.attempts > lease.MAX_ATTEMPTS:
            fail(document, CRASHED)
        elif not _work(document, slice_s):
            _go_on_later(document)
    except lease.Lost:
        raise
    except Unreadable as refusal:
        fail(document, refusal.message)
    except OSError as error:
        if isinstance(error, FileNotFoundError) and lacks(document.stored_as):
            fail(document, GONE)
            return
        # Of the machine and not of the file: a full disk, a mount that is away, no more open files.
        log.warning("document.hindered", document_id=str(document.pk), error=str(error))
        lease.hand_back(document, HINDERED)
        tell(document.pk)
        raise
    except Exception as error:
        if outage.is_outage(error):
            # The sweep finds it when the database is back.
            raise
        error_id = uuid.uuid4().hex[:12]
        log.exception("document.failed", document_id=str(document.pk), error_id=error_id)
        fail(document, f"Something went wrong while it was read. Tell an administrator this number: {error_id}.")


def _work(document: Document, slice_s: float | None) -> bool:
    """False if the slice is over before the work is, or the cluster stops. A slice begins with the first batch of a
    state: getting back to where the last job ended may take longer than one, and a job that only gets there never
    ends."""
    began: dict[str, float] = {}
    told = 0.0
    for _ in batches(document):
        now = time.monotonic()
        if now - told >= TELL_EVERY_S:
            tell(document.pk)
            told = now
        worked_s = now - began.setdefault(document.status, now)
        is_over = slice_s is not None and worked_s >= slice_s
        if (is_over or is_stopping()) and document.status in UNFINISHED:
            return False
    tell(document.pk)
    return True


def batches(document: Document) -> Iterator[None]:
    """All that is to be done, from the state in which the document is; yields after whatever was stored."""
    if document.status == DocumentStatus.QUEUED:
        _begin(document)
        yield
    if document.status == DocumentStatus.READING:
        yield from _read(document)
        _learn(document)
        yield
    if document.status == DocumentStatus.INDEXING:
        yield from chunks.store(document)
        _finish(document)
        yield


def _begin(document: Document) -> None:
    with files.open_file(document.stored_as) as file:
        head = file.read(HEAD_BYTES)
    if kind := picture_type_of(head):
        lease.write(document, doc_type=kind)
    lease.advance(document, DocumentStatus.READING, doc_type=doc_type_of(head, document.filename))


def _read(document: Document) -> Iterator[None]:
    with files.on_this_disk(document.stored_as) as path:
        reading = read(
            path,
            doc_type=document.doc_type,
            filename=document.filename,
            first_page=document.pages_read + 1,
            silent=pages.without_text(document),
        )
        with reading as found:
            yield from pages.store(document, found)


def _learn(document: Document) -> None:
    """What takes more than one page to know."""
    text = facts.text_of(facts.sample_of(pages.stored(document.pk)))
    if not text.strip() and not any(page.text.strip() for page in pages.stored(document.pk)):
        raise Unreadable("no_text", NO_TEXT)
    lease.advance(
        document,
        DocumentStatus.INDEXING,
        total_pages=max(document.total_pages, document.pages_read),
        language=language_of(text),
        date=document.date or date_of(text, document.filename, {}, today=datetime.now(UTC).date()),
    )


def _finish(document: Document) -> None:
    """From here on searches find it by its words."""
    if not document.total_chunks:
        raise Unreadable("no_text", NO_TEXT)
    sample = facts.sample_of(pages.stored(document.pk))
    with transaction.atomic():
        # It may have got another title or name since that was indexed. Whoever gives it one now waits for its row.
        lease.write(document)
        document.refresh_from_db(fields=["title", "filename"])
        content.name_again(document)
        lease.finish(
            document,
            DocumentStatus.EMBEDDING,
            description=facts.description_of(sample, title=document.title),
        )
        wake()
        _have_described(document.pk)


def _have_described(document_id: UUID) -> None:
    try:
        enqueue(DESCRIBE, document_id)
    except UnknownTask as error:
        log.info("document.not_described", document_id=str(document_id), why=str(error))


def _go_on_later(document: Document) -> None:
    with transaction.atomic():
        lease.give_back(document)
        lease.ask_for_job(document)
        tell(document.pk)


def fail(document: Document, reason: str) -> None:
    """Nothing of it stays but the file and the reason. Raises lease.Lost."""
    with transaction.atomic():
        lease.finish(document, DocumentStatus.FAILED, reason=reason, **content.NOTHING_READ)
        content.drop(document.pk)
        tell(document.pk)
