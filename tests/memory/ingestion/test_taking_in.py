"""A document from its file to where it is found, in this process."""

from datetime import date
from typing import Any

import pytest

from memory.actions import documents
from memory.ingestion import driver, lease
from memory.kinds import DocumentStatus
from memory.models import Chunk, Document, DocumentPage, Posting
from memory.postings.writing import NAME_KEY
from tests.memory.giving import given, uploaded

pytestmark = pytest.mark.django_db

REPORT = """# Quarterly report

Acme sold more anvils than ever. Revenue grew by a fifth over the year before.

## Anvils

The anvil business is the largest. It made 12 million.

## Rockets

Rockets fell short, because coyotes cancelled their orders.
"""


@pytest.mark.slow
def test_a_text_is_read_cut_and_indexed_and_describes_itself(alice: Any) -> None:
    document = given(alice, REPORT, filename="report.md")

    assert document.status == DocumentStatus.EMBEDDING
    assert document.doc_type == "md"
    assert document.pages_read == document.total_pages == DocumentPage.objects.filter(document=document).count()
    assert document.total_chunks == Chunk.objects.filter(document=document).count() > 0
    assert document.total_terms > 0
    assert Posting.objects.filter(document_id=document.pk, term="anvil").exists()
    assert "Acme sold more anvils than ever." in document.description
    assert "Rockets" in document.description
    assert document.lease_until is None


def test_what_is_read_again_has_the_date_that_it_says_now(alice: Any) -> None:
    document = given(alice, "Minutes of the meeting, with many words.", filename="Plan 2999.md")
    Document.objects.filter(pk=document.pk).update(status=DocumentStatus.READY, date=date(2999, 12, 31))

    documents.again(alice, document.pk)
    driver.ingest(document.pk)

    document.refresh_from_db()
    assert (document.status, document.date) == (DocumentStatus.EMBEDDING, None)


@pytest.mark.slow
@pytest.mark.parametrize("after", range(5), ids=["begun", "read", "learned from", "cut", "finished"])
def test_a_title_that_somebody_gives_while_it_is_read_stays_and_is_what_it_is_found_by(alice: Any, after: int) -> None:
    document = uploaded(alice, "<title>Yearly figures</title><h1>Sales</h1><p>We sold anvils.</p>", filename="a.html")
    held = lease.claim(document.pk)
    assert held is not None

    for number, _ in enumerate(driver.batches(held)):
        if number == after:
            documents.rename(alice, document.pk, "Wolverine")

    document.refresh_from_db()
    assert (document.title, document.status) == ("Wolverine", DocumentStatus.EMBEDDING)
    named = Posting.objects.filter(document_id=document.pk, chunk_key=NAME_KEY).values_list("term", flat=True)
    assert "wolverin" in named
    assert "figur" not in named
