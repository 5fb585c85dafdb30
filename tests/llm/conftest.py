"""A gateway at the scripted server, for every test of this folder."""

from collections.abc import AsyncIterator, Callable

import pytest

from hyperagent.lib.llm import LLMSettings, ModelGateway
from tests.llm.asking import env_for
from tests.scripted import ScriptedServer
from tests.scripted.fixtures import echo_server, scripted_server

__all__ = ["echo_server", "gateway_with", "scripted_server"]

MakeGateway = Callable[..., ModelGateway]


@pytest.fixture
async def gateway_with(scripted_server: ScriptedServer) -> AsyncIterator[MakeGateway]:
    """A gateway at the scripted server under the given environment variables; waits between attempts are the shortest
    that are allowed."""
    made: list[ModelGateway] = []

    def make(**variables: str) -> ModelGateway:
        settings = LLMSettings.from_env(env_for(scripted_server) | variables)
        made.append(ModelGateway(settings, chance=lambda: 0.0))
        return made[-1]

    yield make
    for gateway in made:
        await gateway.aclose()
