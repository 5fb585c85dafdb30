"""A site of the web for the tests of the door to it."""

from collections.abc import Iterator

import pytest

from tests.lib.web import Web


@pytest.fixture
def web() -> Iterator[Web]:
    server = Web()
    yield server
    server.stop()
