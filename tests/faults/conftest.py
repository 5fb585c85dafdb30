"""One installation for all tests of a file: each leaves it whole."""

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="module")
def site() -> Iterator[Any]:
    from tests.site import Site

    with Site() as running:
        yield running
