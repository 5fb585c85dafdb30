"""The provider `Sandbox` of the tools: programs and files of a run in its box, with the workspace's files around it.

What cannot be done is a ToolError, in words for a model; the run goes on.
"""

import secrets
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar
from uuid import UUID

import structlog

from agents.runtime.driven import About
from agents.sandbox import artifacts
from agents.sandbox.base import HOME, BoxGone, Command, Ending, Heard, SandboxError
from agents.sandbox.host.client import HostedBox, SandboxHost
from agents.sandbox.programs import argv_of, file_for
from agents.sandbox.syncing import Home, MayReplace, Put, joined, put_files, take_all, take_files
from agents.sandbox.telling import note_of
from agents.tools.providers import Workspace
from agents.tools.tool import ToolError
from agents.tools.values import Artifacts, CodeRun, FileText, Language, StoredFile
from agents.workspace import within
from hyperagent.lib.text import clean_text
from memory.workspaces.texts import text_in

log = structlog.get_logger(__name__)
R = TypeVar("R")

WALL_S: Final = 120.0
READ_BYTES: Final = 4_000_000
MOST_LISTED: Final = 500
LOST: Final = (
    "The sandbox went away while the program ran, and what it had done there is lost; the files of the workspace are "
    "as they were. Run it again."
)


class HostedSandbox:
    """One for each process. `host`: whoever holds the boxes of this machine. `has_network`: whether programs in them
    can send anything anywhere."""

    def __init__(self, host: Callable[[], SandboxHost], workspace: Workspace, *, has_network: bool = False) -> None:
        self.has_network = has_network
        self._host = host
        self._workspace = workspace

    async def why_not_for(self, about: About) -> str:
        """Why no program can be run just now, with the way out; empty if one can be."""
        return await self._host().why_not()

    async def run(
        self,
        about: About,
        code: str,
        *,
        language: Language,
        heard: Heard | None = None,
        only_over: Sequence[UUID] | None = None,
    ) -> CodeRun:
        return await _told(self._run(about, code, language=language, heard=heard, only_over=only_over))

    async def read_file(self, about: About, path: str) -> FileText:
        return await _told(self._read_file(about, path))

    async def write_file(
        self, about: About, path: str, text: str, *, only_over: Sequence[UUID] | None = None
    ) -> StoredFile:
        return await _told(self._write_file(about, path, text, only_over=only_over))

    async def list_files(self, about: About, path: str) -> tuple[StoredFile, ...]:
        return await _told(self._list_files(about, path))

    async def collect_artifacts(
        self,
        about: About,
        patterns: Sequence[str],
        *,
        max_files: int,
        max_size_mb: float,
        only_over: Sequence[UUID] | None = None,
    ) -> Artifacts:
        """Of a box that lives on this machine: nothing is opened for it."""
        return await _told(
            self._collected(about, patterns, max_files=max_files, max_size_mb=max_size_mb, only_over=only_over)
        )

    async def restore_artifacts(self, about: About, paths: Sequence[str]) -> Artifacts:
        async def restored() -> Artifacts:
            home, _ = await self._ready(about, {})
            return await artifacts.restore_artifacts(home.box, about, self._workspace, paths)

        return await _told(restored())

    async def lying_there(self, about: About, paths: Sequence[str]) -> Artifacts:
        async def looked() -> Artifacts:
            home, _ = await self._ready(about, {})
            return await artifacts.lying_there(home.box, paths)

        return await _told(looked())

    async def cleanup_artifacts(self, about: About, paths: Sequence[str]) -> None:
        async def cleaned() -> None:
            box = await self._existing(about)
            if box is not None:
                await artifacts.cleanup_artifacts(box, paths)

        await _told(cleaned())

    async def clear_given(self, about: About) -> None:
        async def cleared() -> None:
            box = await self._existing(about)
            if box is not None:
                await artifacts.clear_given(box, about.execution_id)

        await _told(cleared())

    # --- inside

    async def _collected(
        self,
        about: About,
        patterns: Sequence[str],
        *,
        max_files: int,
        max_size_mb: float,
        only_over: Sequence[UUID] | None,
    ) -> Artifacts:
        box = await self._existing(about)
        if box is None:
            return Artifacts()
        return await artifacts.collect_artifacts(
            box,
            about,
            self._workspace,
            patterns,
            max_files=max_files,
            max_size_mb=max_size_mb,
            only_over=only_over,
        )

    async def _existing(self, about: About) -> HostedBox | None:
        return await self._host().existing(about.user_id, about.conversation_id or about.execution_id)

    async def _run(
        self,
        about: About,
        code: str,
        *,
        language: Language,
        heard: Heard | None,
        only_over: Sequence[UUID] | None,
    ) -> CodeRun:
        program = file_for(language, secrets.token_hex(6))
        home, before = await self._ready(about, {program: code})
        box = home.box
        command = Command(argv_of(language, program), wall_s=WALL_S)
        try:
            outcome = await box.run(command, heard=heard)
        except BoxGone as error:
            raise ToolError(LOST) from error
        if outcome.ending is Ending.LOST:
            raise ToolError(LOST)
        run = CodeRun(
            code=code,
            language=language,
            stdout=clean_text(outcome.stdout),
            stderr=clean_text(outcome.stderr),
            exit_code=outcome.exit_code,
            sandbox_id=box.session_id,
        )
        try:
            taken = await take_all(home, before, MayReplace(only_over))
        except BoxGone:
            note = joined(box.note, before.note, note_of(outcome), "The sandbox went away after that, with its files.")
            return run.model_copy(update={"note": note})
        note = joined(box.note, before.note, note_of(outcome), taken.note)
        files = {"created_files": taken.paths, "stored_files": taken.stored, "removed_files": taken.removed}
        return run.model_copy(update={**files, "note": note})

    async def _ready(self, about: About, texts: dict[str, str]) -> tuple[Home, Put]:
        """The box with the workspace's files and these. Tried again where it goes away before anything ran."""
        try:
            return await self._prepared(about, texts)
        except BoxGone:
            log.warning("sandbox.gone_before_use", conversation=str(about.conversation_id))
            return await self._prepared(about, texts)

    async def _prepared(self, about: About, texts: dict[str, str]) -> tuple[Home, Put]:
        home = Home(await self._host().box(about), about, self._workspace)
        before = await put_files(home)
        for path, text in texts.items():
            await home.box.write(path, clean_text(text).encode())
        return home, before

    async def _read_file(self, about: About, path: str) -> FileText:
        home, _ = await self._ready(about, {})
        content = await home.box.read(inside(path), max_bytes=READ_BYTES)
        text = text_in(content)
        if text is None:
            raise ToolError(f"{clean_text(path)} is no text ({len(content):,} bytes). Read it by code.")
        return FileText(path=clean_text(path), text=clean_text(text))

    async def _write_file(self, about: About, path: str, text: str, *, only_over: Sequence[UUID] | None) -> StoredFile:
        """A path that is another way to a file, such as a link to it, is not the one that a person was asked about."""
        home, before = await self._ready(about, {})
        file = await home.box.write(inside(path), clean_text(text).encode())
        taken = await take_files(home, before, MayReplace(only_over, asked=within(path)))
        shown = taken.beside.get(shown_path(file.path), shown_path(file.path))
        stored = next((one for one in taken.stored if one.path == shown), None)
        return stored or StoredFile(path=shown, size_bytes=file.size_bytes)

    async def _list_files(self, about: About, path: str) -> tuple[StoredFile, ...]:
        home, _ = await self._ready(about, {})
        found = await home.box.files(inside(path).rstrip("/"))
        return tuple(
            StoredFile(path=clean_text(shown_path(file.path)), size_bytes=file.size_bytes)
            for file in found[:MOST_LISTED]
        )


def inside(path: str) -> str:
    """A path as a model writes it, from the home folder on. What it may reach is decided by the box."""
    path = path.strip()
    if path.startswith("/"):
        return path
    relative = path.removeprefix("~/").removeprefix("./")
    return HOME if relative in ("", ".", "~") else f"{HOME}/{relative}"


def shown_path(path: str) -> str:
    return path.removeprefix(f"{HOME}/")


async def _told(doing: Awaitable[R]) -> R:
    try:
        return await doing
    except SandboxError as error:
        raise ToolError(clean_text(error.message)) from error
