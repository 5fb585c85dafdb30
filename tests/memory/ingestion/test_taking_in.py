"""A document from its file to where it is found, in this process."""

from typing import Any

import pytest

from memory.kinds import DocumentStatus
from memory.models import Chunk, DocumentPage, Posting
from tests.memory.giving import given

pytestmark = pytest.mark.django_db

REPORT = """# Quarterly report

Acme sold more anvils than ever. Revenue grew by a fifth over the year before.

## Anvils

The anvil business is the largest. It made 12 million.

## Rockets

Rockets fell short, because coyotes cancelled their orders.
"""


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
