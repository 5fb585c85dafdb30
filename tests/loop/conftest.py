"""The scripted model for the loop's tests, and runs on it."""

from collections.abc import AsyncIterator

import pytest

from tests.loop.driving import Cases
from tests.scripted.fixtures import scripted_server
from tests.scripted.server import ScriptedServer

__all__ = ["scripted_server"]


@pytest.fixture
async def cases(scripted_server: ScriptedServer) -> AsyncIterator[Cases]:
    made = Cases(scripted_server)
    async with made.stack:
        yield made
