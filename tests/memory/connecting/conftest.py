"""Places to look at: a site of the web on loopback and a folder that may be watched; and what makes a look due."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faces.conftest import _quick_hashes, api_of, client_of
from tests.lib.web import Web

__all__ = ["_quick_hashes", "api_of", "client_of"]


@pytest.fixture
def web() -> Iterator[Web]:
    server = Web()
    yield server
    server.stop()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "watched"
    made.mkdir()
    return made


@pytest.fixture(autouse=True)
def _places_may_be_reached(settings: Any, tmp_path: Path) -> None:
    """The site is on this machine, and the folders below the test's own."""
    files = tmp_path / "media"
    settings.MEDIA_ROOT = str(files)
    changes = {"connector_allow_private": True, "watch_roots": (str(tmp_path),)}
    settings.CONFIG = settings.CONFIG.model_copy(update=changes)


def look_is_due(connector: Any) -> Any:
    """As if its time had come, by the database's clock. The connector's id."""
    from django.db import connection  # Django is set up after this file is read

    with connection.cursor() as cursor:
        sql = "UPDATE memory_connector SET looked_at = looked_at - interval '90 days' WHERE id = %s"
        cursor.execute(sql, [connector.pk])
    return connector.pk


def look_again(connector: Any) -> Any:
    """When its time has come; the connector as it is afterwards."""
    from memory.connecting import polling

    assert polling.look(look_is_due(connector))
    connector.refresh_from_db()
    return connector


def read_all() -> None:
    """Every document that is queued is read, so that a search finds it."""
    from memory.ingestion import driver
    from memory.models import Document

    for document in Document.objects.filter(status="queued"):
        driver.ingest(document.pk, slice_s=None)


def names_of(user: Any) -> list[str]:
    from memory.models import Document

    return sorted(Document.objects.of(user).values_list("filename", flat=True))
