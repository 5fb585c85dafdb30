"""The scripted model, and programs that run alone."""

from collections.abc import AsyncIterator

import pytest

from tests.scripted.fixtures import scripted_server
from tests.scripted.server import ScriptedServer
from tests.skills.alone import Alone

__all__ = ["scripted_server"]


@pytest.fixture
async def alone(scripted_server: ScriptedServer) -> AsyncIterator[Alone]:
    made = Alone(scripted_server)
    async with made.stack:
        yield made
