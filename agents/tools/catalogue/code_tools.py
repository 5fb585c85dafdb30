"""Running code in the sandbox, and its files (S177, S195, S200).

A program is no effect for the ledger: what it does stays in its box, and its result depends on the files that lie there
at that time, so an earlier result must never stand for a later run. A yes is therefore good for one journal only: a cut
forgets it (`agents.tools.approval`). If the runner dies between the run and its record, the program runs again with the
same yes: it had given nothing yet, the host stopped whatever the runner had running, and the workspace keeps versions.
"""

import hashlib
import re
import secrets
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

from django.utils.translation.trans_null import gettext_noop
from pydantic import Field

from agents.engine.events import (
    Body,
    CodeResult,
    FileOperation,
    Image,
    TerminalCommand,
    TerminalComplete,
    WorkspaceUpdate,
)
from agents.sandbox.telling import Terminal
from agents.tools import previews
from agents.tools.tool import Call, OwnFiles, Reply, Sends, ToolError, tool
from agents.tools.values import FILE_CHARS, CodeRun, Language, StoredFile

PROGRAMMERS = ("code", "data", "chat")
SHOWN_PROGRAM_CHARS = 20_000
MOST_PICTURES = 12


@tool(
    label=gettext_noop("Run a program"),
    agents=PROGRAMMERS,
    needs=("sandbox",),
    requires_approval=True,
    timeout_s=240,
    untrusted=True,
    preview=previews.code,
    sends=Sends.NETWORK,
)
async def execute_code(
    call: Call,
    code: Annotated[str, "The whole program; it must print what is wanted", Field(min_length=1, max_length=400_000)],
    language: Annotated[Language, "What it is written in"] = "python",
) -> Reply:
    """Runs a program, or a Bash script, in a closed sandbox without network and gives what it printed, its exit code
    and the files made.

    The working folder has the files of the conversation's workspace; what is written there is put into it, and what is
    removed there goes from it. It may run for two minutes. Not to read or write single files (sandbox_file).
    """
    show = call.emit_live or call.emit
    terminal = Terminal(_named(call), show)
    show(TerminalCommand(command=code[:SHOWN_PROGRAM_CHARS], language=language, id=terminal.id))
    try:
        run = await call.providers.sandbox.run(
            call.about, code, language=language, heard=terminal.heard, only_over=call.only_over
        )
    except ToolError as error:
        terminal.flush()
        show(TerminalComplete(id=terminal.id, note=error.message))
        raise
    except BaseException:
        terminal.forget()
        raise
    terminal.flush()
    show(TerminalComplete(exit_code=run.exit_code, id=terminal.id, note=run.note))
    for event in results_of(run):
        show(event)
    show(
        CodeResult(
            code=run.code,
            stdout=run.stdout,
            stderr=run.stderr,
            exit_code=run.exit_code,
            language=language,
            note=run.note,
            id=terminal.id,
        )
    )
    return Reply(content=_outcome(run), data=run)


def _replaced(arguments: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """Of a file that is written the workspace gets its new version, too."""
    return (("conversation", arguments["path"]),) if arguments["operation"] == "write" else ()


@tool(
    label=gettext_noop("Use a file of the sandbox"),
    agents=PROGRAMMERS,
    needs=("sandbox",),
    untrusted=True,
    sends=Sends.NOWHERE,
    own_files=OwnFiles(replaces=_replaced),
)
async def sandbox_file(
    call: Call,
    operation: Annotated[Literal["read", "write", "list"], "What to do"],
    path: Annotated[str, "A path in the sandbox's working folder", Field(min_length=1, max_length=500)] = ".",
    content: Annotated[
        str | None, "The whole new text of the file; only to write", Field(max_length=FILE_CHARS)
    ] = None,
) -> Reply:
    """Reads or writes a text file of the sandbox, or lists a folder. To run something, execute_code."""
    sandbox = call.providers.sandbox
    if operation == "list":
        files = await sandbox.list_files(call.about, path)
        lines = [f"{file.path} ({file.size_bytes:,} bytes)" for file in files]
        return Reply(content="\n".join(lines) or f"{path} is empty.", data=list(files))
    if operation == "write":
        if content is None:
            raise ToolError("To write a file, give its whole text as content.")
        file = await sandbox.write_file(call.about, path, content, only_over=call.only_over)
        if file.version is not None:
            call.emit(updated(file))
        return Reply(content=f"{file.path} was written ({file.size_bytes:,} bytes).", data=file)
    found = await sandbox.read_file(call.about, path)
    return Reply(content=found.text or f"{path} is empty.", data=found)


def _named(call: Call) -> str:
    """The same for each attempt at the call: what is shown of a later one takes the place of the earlier."""
    place = f"{call.about.execution_id}/{call.place}"
    return hashlib.sha256(place.encode()).hexdigest()[:12] if call.place else secrets.token_hex(6)


def results_of(run: CodeRun) -> list[Body]:
    """What people are told of the files that a program made: of each, and of the first pictures among them; and of
    those that it removed."""
    pictures = [file for file in run.stored_files if file.media_type.startswith("image/")][:MOST_PICTURES]
    shown = [Image(path=file.path, alt=words_of(file.path), version=file.version) for file in pictures]
    return [*map(updated, run.stored_files), *shown, *(updated(file, "deleted") for file in run.removed_files)]


def updated(file: StoredFile, operation: FileOperation = "written") -> WorkspaceUpdate:
    return WorkspaceUpdate(
        path=file.path,
        operation=operation,
        scope_id=file.scope_id,
        size_bytes=file.size_bytes,
        media_type=file.media_type,
        version=file.version,
    )


def words_of(path: str) -> str:
    """What a picture may show, as far as its name tells."""
    return re.sub(r"[\W_]+", " ", PurePosixPath(path).stem).strip() or path


def _outcome(run: CodeRun) -> str:
    ended = "It was stopped before it ended." if run.exit_code is None else f"Exit code: {run.exit_code}"
    parts = [
        ended,
        run.note,
        f"stdout:\n{run.stdout}" if run.stdout else "It printed nothing.",
        f"stderr:\n{run.stderr}" if run.stderr else "",
        f"Files made: {', '.join(run.created_files)}" if run.created_files else "",
    ]
    return "\n".join(part for part in parts if part)
