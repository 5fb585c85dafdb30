"""Files of the workspace, which agents, sandbox and page share (S81). What is changed can be taken back: older versions
and deleted files are kept for a while, so nobody is asked."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Final, Literal, NamedTuple

from django.utils.translation.trans_null import gettext_noop
from pydantic import Field

from agents.engine.events import FileOperation, WorkspaceUpdate
from agents.tools.previews import MISFIT, UNREADABLE, Change
from agents.tools.replacing import with_passage
from agents.tools.tool import ANY_AGENT, Call, OwnFiles, Reply, ToolError, tool
from agents.tools.values import StoredFile
from hyperagent.lib.text import clean_text

Scope = Annotated[
    Literal["conversation", "project", "user"], "Whose files: of this conversation, its project, the user"
]
FilePath = Annotated[str, "The file's path, as list_files gives it", Field(min_length=1, max_length=500)]
MOST_LISTED: Final = 500
SHOWN_CHARS: Final = 18_000
"""Below what a model reads of a result, so that it is cut at a line and says how to read on."""


@tool(label=gettext_noop("List files"), agents=ANY_AGENT, needs=("workspace",), untrusted=True)
async def list_files(
    call: Call,
    prefix: Annotated[str, "Only paths that begin so", Field(max_length=500)] = "",
    scope: Scope = "conversation",
) -> Reply:
    """Lists the files of the workspace with their sizes. Programs in the sandbox see those of the conversation in
    their home folder."""
    files = await call.providers.workspace.list_files(call.about, scope=scope, prefix=prefix)
    lines = [f"{file.path} ({file.size_bytes:,} bytes)" for file in files[:MOST_LISTED]]
    if len(files) > MOST_LISTED:
        lines.append(f"[{len(files) - MOST_LISTED:,} more are not listed. Give a prefix.]")
    return Reply(content="\n".join(lines) or "There are no files.", data=list(files[:MOST_LISTED]))


@tool(label=gettext_noop("Read a file"), agents=ANY_AGENT, needs=("workspace",), untrusted=True)
async def read_file(
    call: Call,
    path: FilePath,
    scope: Scope = "conversation",
    first_line: Annotated[int, "Where to begin, from 1", Field(ge=1)] = 1,
    last_line: Annotated[int | None, "Where to end; without it as much as can be read at once", Field(ge=1)] = None,
) -> Reply:
    """Reads a text file of the workspace, long ones part by part. Not for pictures and tables of thousands of rows:
    those are for code. A document that is to be searched: search_documents."""
    found = await call.providers.workspace.read_file(call.about, path, scope=scope)
    if not found.text:
        return Reply(content=f"{found.path} is empty.", data=found)
    part = part_of(found.text, first_line, last_line)
    content = f"{part.note}\n{part.text}" if part.note else part.text
    data = {"path": found.path, "text": part.text, "next_line": part.next_line, "is_cut": part.is_cut}
    return Reply(content=content, data=data)


class Part(NamedTuple):
    """`note`: which lines of how many these are; empty where it is all. `next_line`: the first of those that were
    wanted and had no room. `is_cut`: the last one is longer than this."""

    text: str
    note: str
    next_line: int | None
    is_cut: bool


def part_of(text: str, first_line: int, last_line: int | None) -> Part:
    """The lines that are wanted as far as they can be read at once. Raises ToolError for a line that is not there."""
    lines = text.splitlines(keepends=True)
    if last_line is not None and last_line < first_line:
        must = f"it has to be {first_line:,} or more, or left out"
        raise ToolError(f"last_line is {last_line:,} and first_line {first_line:,}: {must}.")
    if first_line > len(lines):
        raise ToolError(f"The file has {len(lines):,} lines: there is none from {first_line:,} on.")
    wanted = lines[first_line - 1 : last_line]
    kept: list[str] = []
    room = SHOWN_CHARS
    for line in wanted:
        if len(line) > room and kept:
            break
        kept.append(line[:room])
        room -= len(kept[-1])
    last = first_line - 1 + len(kept)
    is_cut = len(kept[-1]) < len(lines[last - 1])
    next_line = last + 1 if len(kept) < len(wanted) else None
    if last == len(lines) and first_line == 1 and not is_cut:
        return Part("".join(kept), "", None, is_cut=False)
    more = f"; read on with first_line={last + 1}" if last < len(lines) else ""
    cut = "; a line is too long and was cut" if is_cut else ""
    note = f"[lines {first_line:,} to {last:,} of {len(lines):,}{cut}{more}]"
    return Part("".join(kept), note, next_line, is_cut)


def _named(arguments: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    return ((arguments["scope"], arguments["path"]),)


def _whole(arguments: Mapping[str, Any], before: str | None) -> Change:
    return Change(before or "", arguments["content"], UNREADABLE if before is None else "")


def _with_passage(arguments: Mapping[str, Any], before: str | None) -> Change:
    """The passage alone, where the file cannot be shown with it: the call is going to fail."""
    old, new = clean_text(arguments["old"]), clean_text(arguments["new"])
    after, times = ("", 0) if before is None else with_passage(before, old, new)
    return Change(old, new, MISFIT) if before is None or times != 1 else Change(before, after)


async def _was_written(call: Call, path: str, scope: str, **_: Any) -> bool | None:
    return await call.providers.workspace.was_written(call.about, path, call.key, scope=scope)


async def _is_gone(call: Call, path: str, scope: str, **_: Any) -> bool | None:
    """A file that cannot be read as a text is one too."""
    return not await call.providers.workspace.stood_before(call.about, path, scope=scope, runs=())


_writes = partial(tool, agents=ANY_AGENT, needs=("workspace",), effect="write", probe=_was_written)


@_writes(label=gettext_noop("Write a file"), own_files=OwnFiles(replaces=_named, becomes=_whole))
async def write_file(
    call: Call,
    path: FilePath,
    content: Annotated[str, "The whole new text", Field(max_length=200_000)],
    scope: Scope = "conversation",
) -> Reply:
    """Writes a text file of the workspace; what it had before is replaced. For results that are wanted as a file. To
    change a part of a long file: edit_file."""
    file = await call.providers.workspace.write_file(
        call.about, path, content, scope=scope, by=call.agent_name, key=call.key
    )
    _tell(call, file, "written", scope)
    return Reply(content=f"{file.path} was written ({file.size_bytes:,} bytes).", data=file)


@_writes(label=gettext_noop("Change a file"), own_files=OwnFiles(replaces=_named, becomes=_with_passage))
async def edit_file(
    call: Call,
    path: FilePath,
    old: Annotated[str, "What is replaced, letter by letter; it stands in the file exactly once", Field(min_length=1)],
    new: Annotated[str, "What takes its place; empty to leave it out", Field(max_length=200_000)],
    scope: Scope = "conversation",
) -> Reply:
    """Replaces one passage of a text file of the workspace. Read the file first. For a new file: write_file."""
    file = await call.providers.workspace.edit_file(
        call.about, path, old, new, scope=scope, by=call.agent_name, key=call.key
    )
    _tell(call, file, "written", scope)
    return Reply(content=f"{file.path} was changed ({file.size_bytes:,} bytes).", data=file)


@tool(
    label=gettext_noop("Delete a file"),
    agents=ANY_AGENT,
    needs=("workspace",),
    effect="write",
    probe=_is_gone,
    own_files=OwnFiles(replaces=_named),
)
async def delete_file(call: Call, path: FilePath, scope: Scope = "conversation") -> Reply:
    """Deletes a file of the workspace. Only where the user asked for it, or for a file that this run made."""
    file = await call.providers.workspace.delete_file(call.about, path, scope=scope)
    _tell(call, file, "deleted", scope)
    return Reply(content=f"{file.path} was deleted.", data=file)


def _tell(call: Call, file: StoredFile, operation: FileOperation, scope: str) -> None:
    call.emit(
        WorkspaceUpdate(
            path=file.path,
            operation=operation,
            scope=scope,
            scope_id=file.scope_id,
            size_bytes=file.size_bytes,
            media_type=file.media_type,
            version=file.version,
        )
    )
