"""What goes along when one agent hands its task to another (S47-S49): files of its box, kept, put back, cleared away.

They are kept in the conversation's workspace, as all that programs make. Agents of one conversation share a box: to put
back means something only where it was closed meanwhile, or where the next agent has another one.
"""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

import structlog
from django.db import DatabaseError

from agents.pipeline.handoffs import ARTIFACT_PATTERNS, MAX_ARTIFACTS, MAX_ARTIFACTS_MB, File, select_artifacts
from agents.runtime.driven import About
from agents.sandbox.base import HOME, BoxGone, Command, SandboxError
from agents.sandbox.comparing import GIVEN_FOR, VERSION_OF, in_home, is_kept
from agents.sandbox.host.client import HostedBox
from agents.tools.providers import FileChanged, Workspace
from agents.tools.tool import ToolError
from agents.tools.values import Artifacts, StoredFile
from hyperagent.lib.text import clean_text

log = structlog.get_logger(__name__)
_MOST_BYTES: Final = 1 << 30
_REMOVING_S: Final = 10.0


async def collect_artifacts(
    box: HostedBox,
    about: About,
    workspace: Workspace,
    patterns: Sequence[str] = ARTIFACT_PATTERNS,
    *,
    max_files: int = MAX_ARTIFACTS,
    max_size_mb: float = MAX_ARTIFACTS_MB,
    only_over: Sequence[UUID] | None = None,
) -> Artifacts:
    """Those that were changed last come first. What is another in the workspace than the box had goes along as it is
    there; `only_over`: so does a file that none of these runs wrote; None: any. Raises SandboxError."""
    files = [file for file in await box.files() if is_kept(in_home(file))]
    files.sort(key=lambda file: (-file.changed_ns, file.path))
    found = select_artifacts(
        (File(in_home(file), file.size_bytes) for file in files), patterns, max_files=max_files, max_size_mb=max_size_mb
    )
    kept: list[StoredFile] = []
    left_out = [f"{one.path} ({one.why})" for one in found.left_out]
    had = await box.remembered()
    for file in found.chosen:
        mark = had.get(f"{VERSION_OF}{file.path}") or ""
        try:
            kept.append(await _kept(box, about, workspace, file, instead_of=mark, only_over=only_over))
        except BoxGone:
            raise
        except (SandboxError, ToolError, DatabaseError, OSError) as error:
            log.warning("sandbox.artifact_not_kept", why=str(error))
            left_out.append(f"{file.path} (it could not be kept)")
    return Artifacts(files=tuple(kept), left_out=tuple(map(clean_text, left_out)))


async def lying_there(box: HostedBox, paths: Sequence[str]) -> Artifacts:
    """Those of them that the box has. `left_out`: the others. Raises SandboxError."""
    there = {in_home(file): file.size_bytes for file in await box.files()}
    found = tuple(StoredFile(path=path, size_bytes=there[path]) for path in paths if path in there)
    return Artifacts(files=found, left_out=tuple(path for path in paths if path not in there))


async def restore_artifacts(box: HostedBox, about: About, workspace: Workspace, paths: Sequence[str]) -> Artifacts:
    """Puts those into the box that it does not have. `left_out`: those that are nowhere. Raises SandboxError."""
    there = {in_home(file): file.size_bytes for file in await box.files()}
    found: list[StoredFile] = []
    left_out: list[str] = []
    for path in paths:
        if path in there:
            found.append(StoredFile(path=path, size_bytes=there[path]))
            continue
        try:
            content = await workspace.read_bytes(about, path)
            # Before the file itself: whoever is killed in between has put nothing there that nobody knows of.
            await box.remember({f"{GIVEN_FOR}{path}": str(about.execution_id)})
            file = await box.write(f"{HOME}/{path}", content)
        except BoxGone:
            raise
        except (SandboxError, ToolError, DatabaseError, OSError) as error:
            log.warning("sandbox.artifact_not_restored", why=str(error))
            left_out.append(path)
            continue
        found.append(StoredFile(path=path, size_bytes=file.size_bytes))
    return Artifacts(files=tuple(found), left_out=tuple(left_out))


async def cleanup_artifacts(box: HostedBox, paths: Sequence[str]) -> None:
    """Removes them from the box; in the workspace they stay. Raises SandboxError."""
    inside = [f"{HOME}/{path}" for path in paths if is_kept(path)]
    if inside:
        await box.run(Command(("rm", "-f", "--", *inside), wall_s=_REMOVING_S))
        await box.remember({f"{GIVEN_FOR}{path}": "" for path in paths})


async def clear_given(box: HostedBox, execution_id: UUID) -> None:
    """Removes what was put there for this run and nobody removed since. Raises SandboxError."""
    remembered = await box.remembered()
    given = [name for name, run in remembered.items() if name.startswith(GIVEN_FOR) and run == str(execution_id)]
    await cleanup_artifacts(box, [name.removeprefix(GIVEN_FOR) for name in given])


async def _kept(
    box: HostedBox,
    about: About,
    workspace: Workspace,
    file: File,
    *,
    instead_of: str,
    only_over: Sequence[UUID] | None,
) -> StoredFile:
    if about.user_id is None or about.conversation_id is None:
        return StoredFile(path=clean_text(file.path), size_bytes=file.size_bytes)
    if only_over is not None and await workspace.stood_before(about, file.path, scope="conversation", runs=only_over):
        return StoredFile(path=clean_text(file.path), size_bytes=file.size_bytes)
    content = await box.read(f"{HOME}/{file.path}", max_bytes=_MOST_BYTES)
    try:
        return await workspace.write_bytes(about, file.path, content, by="handoff", expected=instead_of)
    except FileChanged:
        return StoredFile(path=clean_text(file.path), size_bytes=file.size_bytes)
