"""The files of a conversation's workspace in its box: put there before a program runs, taken back after it (S81); what
it removed goes from the workspace, too.

The workspace is what people see and what stays. Which version of which file lies in a box, the host remembers.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from uuid import UUID

import structlog
from django.db import DatabaseError

from agents.runtime.driven import About
from agents.sandbox.base import HOME, BoxFile, BoxGone, Command, SandboxError
from agents.sandbox.comparing import (
    CHANGED_MEANWHILE,
    GIVEN_FOR,
    MOST_FILE_BYTES,
    MOST_REMOVED,
    NOT_REPLACED,
    VERSION_OF,
    LeftOut,
    changed,
    gone,
    in_home,
    newer,
    removed,
    told_beside,
    told_of,
    told_removed,
)
from agents.sandbox.host.client import HostedBox
from agents.tools.free_names import put_beside
from agents.tools.providers import Workspace
from agents.tools.tool import ToolError
from agents.tools.values import StoredFile
from agents.workspace import within
from hyperagent.lib.text import clean_text

log = structlog.get_logger(__name__)

BY: Final = "code"
"""In whose name the workspace has what programs made."""
_ARGUMENTS: Final = 200
_REMOVING_S: Final = 10.0
NOT_PUT: Final = "These files of the workspace are not in the sandbox"
NOT_KEPT: Final = "These files stay in the sandbox and were not put into the workspace"
NOT_REMOVED: Final = "These files were removed in the sandbox only; the next program has them again"
NOT_OURS: Final = "this run has read text of others and did not write it itself"
# Prints those of its arguments that there is nothing of: a listing leaves out what it could not look at.
_GONE_OF: Final = 'for path; do [ -e "$path" ] || [ -L "$path" ] || printf "%s\\n" "$path"; done'
NO_WORKSPACE: Final = "The files of the workspace could not be read, so the sandbox may not have them as they are now."


@dataclass(frozen=True, slots=True)
class Home:
    """The home folder of a conversation's box, and the workspace whose files lie there."""

    box: HostedBox
    about: About
    workspace: Workspace

    @property
    def has_workspace(self) -> bool:
        return self.about.user_id is not None and self.about.conversation_id is not None


@dataclass(frozen=True, slots=True)
class MayReplace:
    """Which files of the workspace a program may take the place of. `only_over`: those that one of these runs wrote;
    None: any. `asked`: the path of which a person was asked, whoever wrote that file."""

    only_over: Sequence[UUID] | None = None
    asked: str = ""

    def only_over_at(self, path: str) -> Sequence[UUID] | None:
        return None if path == self.asked else self.only_over


@dataclass(frozen=True, slots=True)
class Put:
    """What lay in the home folder before the program began. `note`: what could not be put there; for the model."""

    files: tuple[BoxFile, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Taken:
    """What a program made or changed. `stored`: as the workspace has it now. `paths`: all of them, in the workspace or
    not, relative to the home folder. `note`: what could not be taken, or not under its own name; for the model.
    `beside`: the names under which files were stored, by those that they have in the box. `removed`: what went from the
    workspace, as it was."""

    stored: tuple[StoredFile, ...] = ()
    paths: tuple[str, ...] = ()
    note: str = ""
    beside: Mapping[str, str] = field(default_factory=dict)
    removed: tuple[StoredFile, ...] = ()


async def put_files(home: Home) -> Put:
    """Those of the workspace that the box does not have as they are; those that it had and the workspace has no more
    are taken away. Raises SandboxError."""
    note = ""
    if home.has_workspace:
        try:
            note = await _put_newer(home)
        except (ToolError, DatabaseError, OSError) as error:
            log.warning("sandbox.workspace_unread", why=str(error))
            note = NO_WORKSPACE
    return Put(await home.box.files(), note)


async def take_files(home: Home, before: Put, may: MayReplace) -> Taken:
    """What is new or other than before goes into the workspace; what is another there than the box had stays as it is,
    like what it may not replace, and what the program made goes beside it. Raises nothing but BoxGone: a program that
    has run has run, whatever becomes of its files."""
    taken, _ = await _taken(home, before, may)
    return taken


async def take_all(home: Home, before: Put, may: MayReplace) -> Taken:
    """The same of a program that has ended and is not run again from its beginning: what it removed goes from the
    workspace, too."""
    taken, after = await _taken(home, before, may)
    if after is None:
        return taken
    went, stay = await _removed(home, before, after, may)
    note = joined(taken.note, told_removed([file.path for file in went]), told_of(stay, beginning=NOT_REMOVED))
    return replace(taken, note=clean_text(note), removed=tuple(went))


async def _taken(home: Home, before: Put, may: MayReplace) -> tuple[Taken, Sequence[BoxFile] | None]:
    """And what lies in the box by now; None where that could not be read, and where there is no workspace."""
    try:
        after = await home.box.files()
        had = await home.box.remembered()
        found = changed(before.files, after)
    except BoxGone:
        raise
    except SandboxError as error:
        return Taken(note=f"{NOT_KEPT}: {error.message}"), None
    if not home.has_workspace:
        return Taken(paths=tuple(clean_text(in_home(file)) for file in found.chosen)), None
    kept = await _stored(home, found.chosen, had, may)
    await home.box.remember(kept.marks)
    return kept.told(found.left_out), after


@dataclass(slots=True)
class _Kept:
    """`files`: as the workspace has them, by their paths in the box. `not_ours`, `overtaken`: the names of those that
    were put beside what stands there, by why it stays."""

    files: dict[str, StoredFile] = field(default_factory=dict)
    not_ours: dict[str, str] = field(default_factory=dict)
    overtaken: dict[str, str] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)

    @property
    def renamed(self) -> dict[str, str]:
        return {path: stored.path for path, stored in self.files.items() if stored.path != path}

    @property
    def marks(self) -> dict[str, str | None]:
        """For the host to remember. What has another name in the workspace does not lie in the box under that name, and
        what has its own name there is another file: both are put there anew. What came along with a handoff and was
        made anew is the workspace's, like any."""
        renamed = self.renamed
        own = [file for file in self.files.values() if file.path not in renamed.values()]
        forgotten = (*(f"{VERSION_OF}{path}" for path in renamed), *(f"{GIVEN_FOR}{file.path}" for file in own))
        return {**{f"{VERSION_OF}{file.path}": file.mark for file in own}, **dict.fromkeys(forgotten)}

    def told(self, left_out: Sequence[LeftOut]) -> Taken:
        """`left_out`: what was not even tried."""
        left_out = (*left_out, *self.left_out)
        paths = (*(file.path for file in self.files.values()), *(clean_text(one.path) for one in left_out))
        note = joined(
            told_beside(self.not_ours, beginning=NOT_REPLACED),
            told_beside(self.overtaken, beginning=CHANGED_MEANWHILE),
            told_of(left_out, beginning=NOT_KEPT),
        )
        return Taken(tuple(self.files.values()), paths, clean_text(note), self.renamed)


async def _stored(home: Home, files: Sequence[BoxFile], had: Mapping[str, str | None], may: MayReplace) -> _Kept:
    """`had`: what the host remembered of the box. Raises nothing but BoxGone."""
    kept = _Kept()
    for file in files:
        path = in_home(file)
        name = unicodedata.normalize("NFC", within(path))
        mark = had.get(f"{VERSION_OF}{name}") or ""
        over = may.only_over_at(path)
        try:
            stored = await put_beside(
                home.workspace,
                home.about,
                name,
                await home.box.read(file.path, max_bytes=MOST_FILE_BYTES),
                by=BY,
                instead_of=mark if over is None else "",
                only_over=over or (),
            )
        except BoxGone:
            raise
        except (SandboxError, ToolError, DatabaseError, OSError) as error:
            kept.left_out.append(LeftOut(path, _why(error)))
            continue
        kept.files[path] = stored
        if stored.path != name:
            (kept.overtaken if over is None else kept.not_ours)[path] = stored.path
    return kept


async def _removed(
    home: Home, before: Put, after: Sequence[BoxFile], may: MayReplace
) -> tuple[Sequence[StoredFile], Sequence[LeftOut]]:
    """Takes what the program removed from the workspace, unless somebody changed it there meanwhile. What went, and
    what stays with why. Raises nothing but BoxGone."""
    went: list[StoredFile] = []
    stay: list[LeftOut] = []
    about, workspace = home.about, home.workspace
    try:
        marks = removed(before.files, after, await home.box.remembered())
        if not (paths := await _nothing_of(home.box, list(marks))):
            return went, stay
        standing = {file.path: file for file in await workspace.list_files(about, scope="conversation", prefix="")}
    except BoxGone:
        raise
    except (SandboxError, ToolError, DatabaseError, OSError) as error:
        log.warning("sandbox.not_removed", why=str(error))
        return went, stay
    for path in paths:
        file = standing.get(path)
        if file is None or file.mark != marks[path]:
            continue
        try:
            if len(went) >= MOST_REMOVED:
                stay.append(LeftOut(path, f"more than {MOST_REMOVED} files at once"))
            elif may.only_over is not None and await workspace.stood_before(
                about, path, scope="conversation", runs=may.only_over
            ):
                stay.append(LeftOut(path, NOT_OURS))
            else:
                went.append(await workspace.delete_file(about, path, scope="conversation", only=file))
        except (ToolError, DatabaseError, OSError) as error:
            stay.append(LeftOut(path, _why(error)))
    # Of what stays there the next program gets it again.
    await home.box.remember({f"{VERSION_OF}{path}": None for path in paths})
    return went, stay


async def _nothing_of(box: HostedBox, paths: Sequence[str]) -> list[str]:
    """Those of them that are not there, whatever a listing left out. Raises SandboxError."""
    found: list[str] = []
    for start in range(0, len(paths), _ARGUMENTS):
        some = [f"{HOME}/{path}" for path in paths[start : start + _ARGUMENTS]]
        outcome = await box.run(Command(("/bin/sh", "-c", _GONE_OF, "sh", *some), wall_s=_REMOVING_S))
        printed = set(outcome.stdout.splitlines()) if outcome.exit_code == 0 else set()
        found += [path.removeprefix(f"{HOME}/") for path in some if path in printed]
    return found


async def _put_newer(home: Home) -> str:
    box, about, workspace = home.box, home.about, home.workspace
    remembered = await box.remembered()
    marks = {name.removeprefix(VERSION_OF): mark for name, mark in remembered.items() if name.startswith(VERSION_OF)}
    # After the marks: a file that has one has been in the workspace.
    standing = await workspace.list_files(about, scope="conversation", prefix="")
    await _take_away(box, gone(standing, marks))
    incoming = newer(standing, marks)
    left_out: list[LeftOut] = list(incoming.left_out)
    for file in incoming.chosen:
        content = await workspace.read_bytes(about, file.path)
        try:
            await box.write(f"{HOME}/{file.path}", content)
        except BoxGone:
            raise
        except SandboxError as error:
            left_out.append(LeftOut(file.path, error.message))
            continue
        await box.remember({f"{VERSION_OF}{file.path}": file.mark})
    return told_of(left_out, beginning=NOT_PUT)


async def _take_away(box: HostedBox, paths: Sequence[str]) -> None:
    """Raises nothing but BoxGone: what stays for now is taken away before the next program."""
    try:
        for start in range(0, len(paths), _ARGUMENTS):
            some = paths[start : start + _ARGUMENTS]
            removing = Command(("rm", "-f", "--", *(f"{HOME}/{path}" for path in some)), wall_s=_REMOVING_S)
            outcome = await box.run(removing)
            if outcome.exit_code == 0:
                await box.remember(dict.fromkeys((f"{VERSION_OF}{path}" for path in some), None))
    except BoxGone:
        raise
    except SandboxError as error:
        log.warning("sandbox.not_taken_away", why=error.message)


def _why(error: Exception) -> str:
    if isinstance(error, SandboxError | ToolError):
        return error.message.rstrip(".")
    log.warning("sandbox.file_not_taken", why=str(error))
    return "the workspace could not store it"


def joined(*notes: str) -> str:
    return " ".join(note for note in notes if note)
