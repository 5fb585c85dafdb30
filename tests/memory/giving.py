"""Documents for tests, taken in within this process: read, cut, found by their words, with vectors if asked."""

import io
from functools import cache
from pathlib import Path
from typing import Any

from memory.actions import documents
from memory.embedding import chosen
from memory.embedding.asking import QueryVector
from memory.embedding.local import LocalModel
from memory.embedding.work import Work
from memory.ingestion import driver
from memory.kinds import DocumentStatus, Visibility
from memory.models import Document
from memory.retrieval.search import search_by
from memory.values import Found, Wanted
from memory.words.query import asked


def given(
    user: Any,
    what: str | bytes | Path,
    *,
    filename: str = "",
    groups: Any = (),
    vectors: bool = False,
    **more: Any,
) -> Document:
    """Of this text, these bytes or this file. Fails the test if it could not be read. `groups`: those that it is shared
    with; `vectors`: made here too, by the local model. `more`: as `memory.actions.documents.add` takes it."""
    document = uploaded(user, what, filename=filename, groups=groups, **more)
    driver.ingest(document.pk, slice_s=None)
    document.refresh_from_db()
    assert document.status in (DocumentStatus.EMBEDDING, DocumentStatus.READY), document.reason
    if vectors:
        make_vectors()
        document.refresh_from_db()
    return document


def uploaded(user: Any, what: str | bytes | Path, *, filename: str = "", groups: Any = (), **more: Any) -> Document:
    """Kept and queued; nobody has read it."""
    chosen = list(groups)
    if chosen:
        more.setdefault("visibility", Visibility.GROUPS)
    content = what.read_bytes() if isinstance(what, Path) else what.encode() if isinstance(what, str) else what
    name = filename or (what.name if isinstance(what, Path) else "text.md")
    return documents.add(user, io.BytesIO(content), filename=name, groups=chosen, **more)[0]


def make_vectors() -> None:
    """For all that has none, by the local model."""
    work = Work(_local_model())
    chosen.choose(work.model.name)
    while work.step():
        pass


def found_by_local_model(user: Any, question: str, **wanted: Any) -> Found:
    """As a search has it while the embedder runs, which none does here."""
    vector = [float(value) for value in _local_model().windows([question], lambda: None)[0][0]]
    query = QueryVector(_local_model().name, vector)
    return search_by(user.pk, Wanted(question, **wanted), asked(question), query)


@cache
def _local_model() -> LocalModel:
    return LocalModel()
