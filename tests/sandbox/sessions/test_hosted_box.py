"""A box over the host's socket does what a box does: the conformance suite, with the local provider behind the host."""

import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agents.runtime.driven import About
from agents.sandbox.base import Box, BoxSpec, SandboxProvider
from tests.sandbox.conformance import *  # noqa: F403
from tests.sandbox.conformance import LIMITS
from tests.sandbox.sessions.working import local, needs_walls

pytestmark = needs_walls


class Limited:
    """The local provider, with the limits that the suite is about."""

    name = "local"

    def __init__(self, provider: SandboxProvider) -> None:
        self.provider = provider

    async def why_not(self) -> str:
        return await self.provider.why_not()

    async def open(self, spec: BoxSpec) -> Box:
        return await self.provider.open(replace(spec, limits=LIMITS))


class Hosted:
    """Opens a box of its own for each specification, in the name of nobody."""

    name = "hosted"

    def __init__(self, client: Any) -> None:
        self.client = client

    async def why_not(self) -> str:
        why: str = await self.client.why_not()
        return why

    async def open(self, spec: BoxSpec) -> Box:
        box: Box = await self.client.box(About(uuid.uuid4()), spec.box_type)
        return box


@pytest.fixture
async def provider(hosting: Any, tmp_path: Path) -> SandboxProvider:
    return Hosted((await hosting(Limited(local()))).client)
