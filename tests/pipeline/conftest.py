"""The scripted model, and programs that run alone."""

from collections.abc import AsyncIterator

import pytest

from tests.loop.driving import Cases
from tests.scripted.fixtures import echo_server, scripted_server
from tests.scripted.server import ScriptedServer
from tests.skills.conftest import alone

__all__ = ["alone", "echo_server", "scripted_server"]


@pytest.fixture
async def cases(scripted_server: ScriptedServer) -> AsyncIterator[Cases]:
    made = Cases(scripted_server)
    async with made.stack:
        yield made
