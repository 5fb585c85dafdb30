"""The line to the database breaks between a commit and its answer: what was stored stands, and its bytes with it."""

import uuid
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.files.storage import default_storage
from django.db import OperationalError, connection

from agents.sandbox import snapshots
from agents.sandbox.records import Owner
from memory.actions import documents
from memory.kinds import Origin
from memory.models import Document
from memory.workspaces import files
from memory.workspaces.places import Place, Scope
from tests.sandbox.sessions.working import opened

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def media(tmp_path: Path, settings: Any) -> Path:
    settings.MEDIA_ROOT = tmp_path / "media"
    return tmp_path / "media"


@pytest.fixture
def answer_is_lost(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From now on, of the first commit."""

    def commit() -> None:
        connection.connection.commit()
        connection.connection.close()
        monkeypatch.undo()
        raise OperationalError from psycopg.OperationalError("server closed the connection unexpectedly")

    return lambda: monkeypatch.setattr(connection, "_commit", commit)


@pytest.mark.spec("S81")
def test_a_file_of_a_workspace(alice: Any, answer_is_lost: Callable[[], None]) -> None:
    here = Place(Scope.USER, alice.pk)
    files.write(alice.pk, here, "a.txt", b"one")
    answer_is_lost()

    with pytest.raises(OperationalError):
        files.write(alice.pk, here, "a.txt", b"two")

    assert files.read(alice.pk, here, "a.txt")[1] == b"two"


def test_a_document(alice: Any, answer_is_lost: Callable[[], None]) -> None:
    answer_is_lost()

    with pytest.raises(OperationalError):
        documents.add(alice, BytesIO(b"Some words."), filename="a.txt", origin=Origin.COMMAND)

    with default_storage.open(Document.objects.get().stored_as) as stored:
        assert stored.read() == b"Some words."


@pytest.mark.spec("S204")
def test_a_snapshot_of_a_sandbox(alice: Any, answer_is_lost: Callable[[], None]) -> None:
    owner = Owner(alice.pk, uuid.uuid4())
    session_id = opened(owner)
    snapshots.keep(owner, b"before", session_id=session_id)
    answer_is_lost()

    with pytest.raises(OperationalError):
        snapshots.keep(owner, b"after", session_id=session_id)

    assert snapshots.find(owner) == b"after"
