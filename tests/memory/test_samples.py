"""The sample documents: there once, and their owner's alone."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from memory.models import Document
from memory.samples import make_sample_documents

pytestmark = pytest.mark.django_db


@pytest.mark.spec("B23")
def test_sample_documents_are_made_once_and_belong_to_one_person(alice: Any, charlie: Any) -> None:
    made = make_sample_documents(alice)

    assert len(made) == 3
    assert make_sample_documents(alice) == []
    assert {document.title for document in Document.objects.of(alice)} == {document.title for document in made}
    assert all(document.filename.endswith(".md") for document in made)
    assert not Document.objects.of(charlie)


def test_an_administrator_sees_a_document_and_not_what_it_says(alice: Any, bob: Any, client: Client) -> None:
    document = make_sample_documents(alice)[0]
    client.force_login(bob)

    listed = client.get(reverse("admin:memory_document_changelist")).content.decode()
    shown = client.get(reverse("admin:memory_document_change", args=[document.pk])).content.decode()

    assert document.filename in listed
    assert document.filename in shown
    assert document.title not in shown
    assert "hidden" in shown
