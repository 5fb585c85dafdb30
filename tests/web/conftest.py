"""A search service and a site of the web on loopback."""

from collections.abc import Iterator

import pytest

from tests.lib.web import Web
from tests.web.service import SearchServer


@pytest.fixture
def search() -> Iterator[SearchServer]:
    server = SearchServer()
    yield server
    server.stop()


@pytest.fixture
def web() -> Iterator[Web]:
    server = Web()
    yield server
    server.stop()
