"""Alice's conversation with its workspace, and the tools as an agent calls them, over real boxes."""

import asyncio
import atexit
import shutil
import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from agents.runtime.driven import About
from agents.tools.tool import Call, Reply, ToolError

NO_WALLS = "there is no bubblewrap on this machine"
needs_walls = pytest.mark.skipif(shutil.which("bwrap") is None, reason=NO_WALLS)


@cache
def local() -> Any:
    """One for all tests: it tries itself out once."""
    from agents.sandbox.local.provider import LocalSandbox

    folder = Path(tempfile.mkdtemp(prefix="hyperagent-test-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return LocalSandbox(libraries=folder / "libraries", runtime=folder / "boxes")


def sleepers(seconds: int) -> list[str]:
    """The processes of this machine that sleep for so long."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[:2] == [b"sleep", str(seconds).encode()]:
            found.append(str(path))
    return found


def opened(owner: Any) -> UUID:
    """The session of this owner's box, which may be one that nobody holds."""
    from agents.sandbox import records
    from agents.sandbox.models import SandboxSession

    there = SandboxSession.objects.filter(key=owner.key, ended_at=None).first()
    if there is not None:
        return there.id
    row_id = records.open_row(owner, provider="memory", host="elsewhere")
    assert row_id is not None
    return row_id


def kept(owner: Any, archive: bytes) -> None:
    """As the snapshot of this owner's box."""
    from agents.sandbox import snapshots

    snapshots.keep(owner, archive, session_id=opened(owner))


async def handed_on(client: Any, about: About) -> None:
    """Closes the boxes of this conversation, which keep what lies in them: as when another machine wants them."""
    from agents.sandbox.models import CloseWanted, SandboxSession
    from hyperagent.lib.threads import in_thread

    assert about.user_id is not None
    assert about.conversation_id is not None
    rows = SandboxSession.objects.filter(user_id=about.user_id, task_id=about.conversation_id, ended_at=None)
    await in_thread(rows.update)(close_wanted=CloseWanted.CLOSE)
    await until_closed(client, about)


async def until_closed(client: Any, about: About) -> None:
    from agents.sandbox.base import BoxType

    owner = (about.user_id, about.conversation_id)
    async with asyncio.timeout(10):
        while any([await client.existing(*owner, kind) for kind in (BoxType.CODE, BoxType.DESKTOP)]):
            await asyncio.sleep(0.02)


@dataclass
class Agent:
    """Calls tools in the name of a run, and keeps what it emits. `has_read_others`: whether the run is tainted."""

    about: About
    client: Any
    workspace: Any
    events: list[Any] = field(default_factory=list)
    has_read_others: bool = False

    @property
    def only_over(self) -> tuple[UUID, ...] | None:
        return (self.about.execution_id,) if self.has_read_others else None

    @property
    def call(self) -> Call:
        from agents.sandbox.provider import HostedSandbox
        from agents.tools.providers import Providers

        async def touching() -> None:
            return None

        return Call(
            providers=Providers(sandbox=HostedSandbox(lambda: self.client, self.workspace), workspace=self.workspace),
            about=self.about,
            agent_name="data",
            agent_input=None,
            key="",
            emit=self.events.append,
            touching=touching,
            only_over=self.only_over,
        )

    async def runs(self, code: str, language: str = "python") -> Any:
        """The `CodeRun`."""
        from agents.tools.catalogue.code_tools import execute_code

        reply: Reply = await execute_code.function(self.call, code=code, language=language)
        return reply.data

    async def file(self, operation: str, path: str = ".", content: str | None = None) -> Any:
        from agents.tools.catalogue.code_tools import sandbox_file

        return (await sandbox_file.function(self.call, operation=operation, path=path, content=content)).data

    async def fails(self, doing: Any) -> str:
        with pytest.raises(ToolError) as raised:
            await doing
        return raised.value.message

    def told(self, kind: str) -> list[Any]:
        return [event for event in self.events if event.type == kind]
