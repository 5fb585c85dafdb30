"""The provider `Apps`: projects of the conversation's own, in its workspace and its box."""

from collections.abc import Callable, Sequence
from typing import Final
from uuid import UUID

from agents.apps import packages as node
from agents.apps import records, starting
from agents.apps.starters import STARTERS, in_workspace, offered
from agents.apps.starting import NotStarted
from agents.runtime.driven import About
from agents.sandbox.base import APP, Box, BoxGone, BoxType, Command, SandboxError
from agents.sandbox.host.client import SandboxHost
from agents.sandbox.syncing import Home, put_files
from agents.tools.providers import Workspace
from agents.tools.tool import ToolError
from agents.tools.values import AppInstalled, AppStarted, StoredFile
from hyperagent.lib.text import clean_text
from hyperagent.lib.threads import in_thread

INSTALLING_S: Final = 60.0
_PIP: Final = ("python3", "-m", "pip", "install", "--user")
SAID_CHARS: Final = 4_000


class OwnApps:
    def __init__(self, host: Callable[[], SandboxHost], workspace: Workspace) -> None:
        self._host = host
        self._workspace = workspace

    async def why_not_for(self, about: About) -> str:
        return await self._host().why_not()

    async def create(self, about: About, starter: str, *, by: str, key: str) -> tuple[StoredFile, ...]:
        """Into a project that is there the starter's files are put beside the others."""
        _asker(about)
        wanted = STARTERS[starter]
        if wanted.install and wanted not in offered():
            raise ToolError(f"{starter} needs packages that are not here.\n{node.told(wanted.install)}")
        files = wanted.files()
        return tuple([await self._written(about, path, content, by=by, key=key) for path, content in files.items()])

    async def write(self, about: About, path: str, content: str, *, by: str, key: str) -> StoredFile:
        _asker(about)
        return await self._written(about, path, clean_text(content).encode(), by=by, key=key)

    async def install(self, about: About, packages: Sequence[str], *, manager: str) -> AppInstalled:
        """No box has a network: those of npm are there or not, and pip says so of what the box's Python lacks."""
        if manager == "npm":
            missing = {node.name_of(package) for package in packages} - node.installed().keys()
            return AppInstalled(installed=not missing, packages=tuple(packages), said=node.told(packages))
        box = await self._ready(about)
        try:
            outcome = await box.run(Command((*_PIP, *packages), cwd=APP, wall_s=INSTALLING_S))
        except SandboxError as error:
            raise ToolError(error.message) from error
        said = clean_text(f"{outcome.stdout}\n{outcome.stderr}".strip())[-SAID_CHARS:]
        return AppInstalled(installed=outcome.exit_code == 0, packages=tuple(packages), said=said)

    async def start(self, about: About, *, title: str, command: str, port: int) -> AppStarted:
        """What ran before is ended. A server that does not come up is a result with what it wrote, no error."""
        user_id = _asker(about)
        task_id = about.conversation_id or about.execution_id
        box = await self._ready(about)
        try:
            before = await in_thread(records.of_task)(user_id, task_id)
            if before and before.started:
                await box.stop(before.started)
            server = await starting.launch(box, command, port=port)
            keep = in_thread(records.started)
            row = await keep(user_id, task_id, title=title, command=command, port=port, server=server.id)
            await starting.answering(box, server, port=port)
        except NotStarted as failure:
            return AppStarted(running=False, title=title, port=port, note=failure.message, said=_said(failure.said))
        except SandboxError as error:
            raise ToolError(error.message) from error
        return AppStarted(running=True, title=title, port=port, url=f"/previews/{row.id}/")

    async def _ready(self, about: About) -> Box:
        """The box, with the project as the workspace has it."""
        try:
            box = await self._host().box(about, BoxType.APP)
            await put_files(Home(box, about, self._workspace))
        except BoxGone as error:
            raise ToolError("The sandbox went away. Try again: a new one is opened.") from error
        except SandboxError as error:
            raise ToolError(error.message) from error
        return box

    async def _written(self, about: About, path: str, content: bytes, *, by: str, key: str) -> StoredFile:
        return await self._workspace.write_bytes(about, in_workspace(path), content, by=by, key=key)


def _said(text: str) -> str:
    return clean_text(text)[-SAID_CHARS:]


def _asker(about: About) -> UUID:
    if about.user_id is None or about.conversation_id is None:
        raise ToolError("This run belongs to no conversation, so there is no place for an app.")
    return about.user_id
