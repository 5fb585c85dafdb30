"""Running code in the sandbox, and its files (S177, S195, S200)."""

from typing import Annotated, Literal

from pydantic import Field

from agents.engine.events import CodeResult
from agents.tools import previews
from agents.tools.tool import Call, Reply, ToolError, tool
from agents.tools.values import CodeRun, Language

PROGRAMMERS = ("code", "data", "chat")


@tool(
    agents=PROGRAMMERS,
    needs=("sandbox",),
    requires_approval=True,
    timeout_s=180,
    untrusted=True,
    preview=previews.code,
)
async def execute_code(
    call: Call,
    code: Annotated[str, "The whole program; it must print what is wanted", Field(min_length=1)],
    language: Annotated[Language, "What it is written in"] = "python",
) -> Reply:
    """Runs a program in a closed sandbox without network and gives what it printed, its exit code and the files made.

    Not to read or write single files (sandbox_file).
    """
    run = await call.providers.sandbox.run(call.about, code, language=language)
    call.emit(CodeResult(code=run.code, stdout=run.stdout, stderr=run.stderr, exit_code=run.exit_code))
    return Reply(content=_outcome(run), data=run)


@tool(agents=PROGRAMMERS, needs=("sandbox",), untrusted=True)
async def sandbox_file(
    call: Call,
    operation: Annotated[Literal["read", "write", "list"], "What to do"],
    path: Annotated[str, "A path in the sandbox's working folder", Field(min_length=1, max_length=500)] = ".",
    content: Annotated[str | None, "The whole new text of the file; only to write"] = None,
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
        file = await sandbox.write_file(call.about, path, content)
        return Reply(content=f"{file.path} was written ({file.size_bytes:,} bytes).", data=file)
    found = await sandbox.read_file(call.about, path)
    return Reply(content=found.text or f"{path} is empty.", data=found)


def _outcome(run: CodeRun) -> str:
    ended = "It was stopped before it ended." if run.exit_code is None else f"Exit code: {run.exit_code}"
    parts = [
        ended,
        f"stdout:\n{run.stdout}" if run.stdout else "It printed nothing.",
        f"stderr:\n{run.stderr}" if run.stderr else "",
        f"Files made: {', '.join(run.created_files)}" if run.created_files else "",
    ]
    return "\n".join(part for part in parts if part)
