"""Hosts and people at work in real boxes, as the sandbox's own tests have them, and a site on loopback."""

from collections.abc import Iterator

import pytest

from tests.browser.site import Site
from tests.sandbox.sessions.conftest import hosting, media, people, working

__all__ = ["hosting", "media", "people", "working"]


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as site:
        yield site
