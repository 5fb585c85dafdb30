"""Agents of the roster on a scripted model: strict for scenarios, echoing for the contract."""

from collections.abc import AsyncIterator

import pytest

from tests.roster.driving import Cases
from tests.scripted.fixtures import echo_server, scripted_server
from tests.scripted.server import ScriptedServer

__all__ = ["echo_server", "scripted_server"]


@pytest.fixture
async def cases(scripted_server: ScriptedServer) -> AsyncIterator[Cases]:
    made = Cases(scripted_server)
    async with made.stack:
        yield made


@pytest.fixture
async def echoing(echo_server: ScriptedServer) -> AsyncIterator[Cases]:
    made = Cases(echo_server)
    async with made.stack:
        yield made
