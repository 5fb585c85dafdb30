"""A provider of local boxes, asked once whether it works here."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from agents.sandbox.base import Box, BoxSpec, Limits
from agents.sandbox.local.provider import LocalSandbox
from agents.sandbox.local.runtime import INSTALLED


@pytest.fixture(scope="session")
def local(tmp_path_factory: pytest.TempPathFactory) -> LocalSandbox:
    """Skips where there is no bubblewrap, or where the machine does not let it work; nowhere else."""
    provider = LocalSandbox(libraries=INSTALLED, runtime=tmp_path_factory.mktemp("run"))
    why_not = asyncio.run(provider.why_not())
    if "bubblewrap" in why_not or "AppArmor" in why_not:
        pytest.skip(why_not)
    assert why_not == ""
    return provider


@pytest.fixture
def provider(local: LocalSandbox) -> LocalSandbox:
    return local


@pytest.fixture
async def opened(provider: LocalSandbox) -> AsyncIterator[Callable[..., Any]]:
    """Opens boxes with such limits: `await opened(memory_bytes=…)`."""
    boxes: list[Box] = []

    async def open_box(
        *, doors: dict[str, Path] | None = None, relays: dict[int, str] | None = None, **limits: Any
    ) -> Box:
        spec = BoxSpec(key="walls", limits=Limits(**limits), doors=doors or {}, relays=relays or {})
        boxes.append(await provider.open(spec))
        return boxes[-1]

    yield open_box
    for box in boxes:
        await box.close()
