"""Announces what became of a document to its owner's open pages. A hint: the rows are the truth."""

from collections.abc import Mapping
from uuid import UUID

from django.db import transaction

from hyperagent.lib.announcing import personal_group, publish
from memory.models import Document
from memory.shapes import document_shape


def tell(document_id: UUID) -> None:
    """After commit: `{"type": "document", "document": …}` to whoever owns it. Two queries; nothing if it is gone."""
    transaction.on_commit(lambda: _announce(document_id))


def tell_of_deletion(document_id: UUID, owner_id: UUID) -> None:
    """After commit: `{"type": "document", "document": {"doc_id": …, "status": "deleted"}}`."""
    gone = {"doc_id": str(document_id), "status": "deleted"}
    transaction.on_commit(lambda: _publish(owner_id, gone))


def _announce(document_id: UUID) -> None:
    found = Document.objects.select_related("owner").prefetch_related("groups").filter(pk=document_id).first()
    if found is not None:
        _publish(found.owner_id, document_shape(found))


def _publish(owner_id: UUID, shape: Mapping[str, object]) -> None:
    publish(personal_group(owner_id), {"type": "document", "document": shape})
