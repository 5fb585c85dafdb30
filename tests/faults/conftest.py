"""One installation for all tests of a file: each gets it whole, whatever the one before it did."""

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="module")
def _site() -> Iterator[Any]:
    from tests.site import Site

    with Site() as running:
        yield running


@pytest.fixture
def site(_site: Any) -> Any:
    _site.mend()
    return _site
