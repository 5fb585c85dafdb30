"""People with clients, and documents that are ready, without what stands in them."""

import uuid
from typing import Any

from tests.faces.conftest import _quick_hashes, api_of, client_of

__all__ = ["_quick_hashes", "api_of", "client_of"]


def document(owner: Any, name: str = "plan.md", **fields: Any) -> Any:
    from memory.models import Document  # the models exist once Django is set up

    values = {"status": "ready", "doc_type": "md", "sha256": uuid.uuid4().hex * 2, **fields}
    return Document.objects.create(owner=owner, filename=name, **values)
