"""A host in this process, over boxes in memory."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agents.runtime.driven import About
from tests.sandbox.sessions.memory_box import MemoryProvider


class Hosting:
    """`client` speaks with `host` over its socket, as a runner does."""

    def __init__(self, provider: Any, folder: Path, **terms: Any) -> None:
        from agents.sandbox.host.client import SandboxHost
        from agents.sandbox.host.process import Host
        from agents.sandbox.sessions import Terms

        self.provider = provider
        self.host = Host(provider, folder, terms=Terms(**terms), tend_every_s=0.05)
        self.client = SandboxHost(self.host.socket)

    @asynccontextmanager
    async def living(self) -> AsyncIterator["Hosting"]:
        running = asyncio.create_task(self.host.run())
        ready = asyncio.create_task(self.host.ready.wait())
        await asyncio.wait([running, ready], return_when=asyncio.FIRST_COMPLETED)
        try:
            yield self
        finally:
            self.host.stop()
            await running


@pytest.fixture
async def hosting(transactional_db: None, tmp_path: Path) -> AsyncIterator[Callable[..., Any]]:
    """Starts hosts: `await hosting()`, with the terms that the test is about."""
    async with AsyncExitStack() as stack:

        async def start(provider: Any = None, *, folder: Path | None = None, **terms: Any) -> Hosting:
            made = Hosting(provider or MemoryProvider(), folder or tmp_path / "run", **terms)
            return await stack.enter_async_context(made.living())

        yield start


@pytest.fixture
def people(transactional_db: None) -> Any:
    """Makes the runs of people: `await people("alice")` is an `About`."""
    import uuid

    from hyperagent.accounts.models import User
    from hyperagent.lib.threads import in_thread

    async def about(name: str, conversation_id: Any = None) -> About:
        user, _ = await in_thread(User.objects.get_or_create)(email=f"{name}@example.org")
        return About(uuid.uuid4(), user_id=user.pk, conversation_id=conversation_id or uuid.uuid4())

    return about


@pytest.fixture
def media(tmp_path: Path, settings: Any) -> Path:
    settings.MEDIA_ROOT = tmp_path / "media"
    return tmp_path / "media"


@pytest.fixture
async def working(hosting: Callable[..., Any], people: Any, media: Path, tmp_path: Path) -> Callable[..., Any]:
    """Agents at work in boxes of this machine: `await working("alice")`, in a conversation of theirs."""
    from agents.workspace import OwnFiles
    from hyperagent.lib.threads import in_thread
    from tests.sandbox.sessions.working import Agent, local

    alive: list[Hosting] = []

    async def agent(name: str, *, provider: Any = None, **terms: Any) -> Agent:
        from conversations import actions as conversations
        from hyperagent.accounts.models import User

        if not alive:
            alive.append(await hosting(provider or local(), **terms))
        about = await people(name)
        user = await in_thread(User.objects.get)(pk=about.user_id)
        conversation = await in_thread(conversations.create)(user, title="Figures")
        about = await people(name, conversation.pk)
        return Agent(about, alive[0].client, OwnFiles())

    return agent
