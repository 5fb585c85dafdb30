"""The sample documents: there once, found by their words, and their owner's alone."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from memory.ingestion import driver
from memory.kinds import DocumentStatus
from memory.models import Document
from memory.retrieval.search import search
from memory.samples import make_sample_documents
from memory.values import Mode, Wanted
from tests.memory.giving import given

pytestmark = pytest.mark.django_db


@pytest.mark.spec("B23")
def test_sample_documents_are_made_once_and_belong_to_one_person(alice: Any, charlie: Any) -> None:
    made = make_sample_documents(alice)

    assert len(made) == 3
    assert make_sample_documents(alice) == []
    assert {document.pk for document in Document.objects.of(alice)} == {document.pk for document in made}
    assert all(document.filename.endswith(".md") for document in made)
    assert {document.status for document in made} == {DocumentStatus.QUEUED}
    assert not Document.objects.of(charlie)


@pytest.mark.slow
@pytest.mark.spec("B23")
def test_sample_documents_are_found_once_they_are_read(alice: Any, charlie: Any) -> None:
    for document in make_sample_documents(alice):
        driver.ingest(document.pk)

    wanted = Wanted("What was the revenue of the third quarter?", mode=Mode.KEYWORD)

    assert search(alice.pk, wanted).passages[0].filename == "acme-quarterly-report.md"
    assert search(charlie.pk, wanted).passages == ()


@pytest.mark.slow
@pytest.mark.threat("T06")
def test_an_administrator_sees_a_document_and_not_what_it_says(alice: Any, bob: Any, client: Client) -> None:
    document = given(alice, "The merger is planned for May.", filename="plans.md", title="Secret merger")
    client.force_login(bob)

    listed = client.get(reverse("admin:memory_document_changelist")).content.decode()
    shown = client.get(reverse("admin:memory_document_change", args=[document.pk])).content.decode()

    assert str(document.pk) in shown
    assert document.filename not in listed + shown
    assert document.title not in shown
    assert document.description
    assert document.description not in shown
    assert "hidden" in shown
