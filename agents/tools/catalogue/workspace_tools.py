"""Files of the workspace, which agents, sandbox and page share (S81)."""

from typing import Annotated, Any, Literal

from pydantic import Field

from agents.engine.events import WorkspaceUpdate
from agents.tools.tool import ANY_AGENT, Call, Reply, ToolError, tool

Scope = Annotated[
    Literal["conversation", "project", "user"], "Whose files: of this conversation, its project, the user"
]
FilePath = Annotated[str, "The file's path, as list_files gives it", Field(min_length=1, max_length=500)]


@tool(agents=ANY_AGENT, needs=("workspace",))
async def list_files(
    call: Call,
    prefix: Annotated[str, "Only paths that begin so", Field(max_length=500)] = "",
    scope: Scope = "conversation",
) -> Reply:
    """Lists the files of the workspace with their sizes. Not the sandbox's own (sandbox_file)."""
    files = await call.providers.workspace.list_files(call.about, scope=scope, prefix=prefix)
    lines = [f"{file.path} ({file.size_bytes:,} bytes)" for file in files]
    return Reply(content="\n".join(lines) or "There are no files.", data=list(files))


@tool(agents=ANY_AGENT, needs=("workspace",), untrusted=True)
async def read_file(call: Call, path: FilePath, scope: Scope = "conversation") -> Reply:
    """Reads a text file of the workspace. A document that is to be searched: search_documents."""
    found = await call.providers.workspace.read_file(call.about, path, scope=scope)
    return Reply(content=found.text or f"{path} is empty.", data=found)


async def _stands_there(call: Call, path: str, content: str, scope: str, **_: Any) -> bool | None:
    try:
        found = await call.providers.workspace.read_file(call.about, path, scope=scope)
    except ToolError:
        return False
    return found.text == content


@tool(agents=ANY_AGENT, needs=("workspace",), effect="write", probe=_stands_there)
async def write_file(
    call: Call,
    path: FilePath,
    content: Annotated[str, "The whole new text", Field(max_length=200_000)],
    scope: Scope = "conversation",
) -> Reply:
    """Writes a text file of the workspace; what it had before is replaced. For results that are wanted as a file."""
    file = await call.providers.workspace.write_file(call.about, path, content, scope=scope)
    call.emit(WorkspaceUpdate(path=file.path, operation="write"))
    return Reply(content=f"{file.path} was written ({file.size_bytes:,} bytes).", data=file)
