"""Tells the model which files of the workspace its task speaks of, so that it need not search for them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any, Final, Self

from agents.craft.exchange import AgentInput
from agents.craft.loop_state import LoopState
from agents.craft.middleware.base import Middleware
from agents.runtime.context import AgentContext
from agents.spec import AgentSpec

HEADING: Final = "[Files of the workspace that the task names]"
LIST_TOOL: Final = "list_files"
MOST_FILES: Final = 20
# A word with an ending, such as a person writes a file's name; "e.g." and "3.5" are none. It begins where a word does:
# tried from each of its letters, one long word would hold up the process for minutes.
_FILE: Final = re.compile(r"(?<![\w./-])[\w./-]*\w\.(?=\w{0,7}[A-Za-z])\w{2,8}\b")


@dataclass(frozen=True)
class WorkspaceFiles(Middleware):
    """Asks nobody where the task names no file, or where there is no workspace."""

    name = "workspace"
    named: tuple[str, ...] = ()

    def init(self, task: AgentInput, spec: AgentSpec) -> Self:
        handed = [path for handoff in task.handoffs for path in handoff.artifacts]
        return replace(self, named=names_in(task.task, handed))

    async def on_server_start(self, context: AgentContext, state: LoopState) -> LoopState:
        door = context.run.tools
        if door is None or not self.named or LIST_TOOL not in state.tools:
            return state
        if await context.note(self.name, lambda: door.lacks(("workspace",))):
            return state
        reply = await context.tool(LIST_TOOL, {})
        return state if reply.is_error else state.noting(self.name, chosen(reply.data, self.named))

    async def before_model(self, context: AgentContext, state: LoopState) -> LoopState:
        files = state.metadata.get(self.name)
        if not files:
            return state
        lines = [f"- {file['path']} ({file['size_bytes']:,} bytes)" for file in files]
        return state.with_context("\n".join([HEADING, *lines]))


def names_in(task: str, handed: Iterable[str] = ()) -> tuple[str, ...]:
    """What looks like a file's name in the task, and the files that were handed over; each once, in their order."""
    return tuple(dict.fromkeys([*_FILE.findall(task), *handed]))


def chosen(data: Any, named: Iterable[str]) -> list[dict[str, Any]]:
    """Of the files that the tool lists, those that are named by their path or by its last part."""
    files = data.get("files", []) if isinstance(data, dict) else data if isinstance(data, list) else []
    last = {PurePosixPath(name).name for name in named}
    return [
        {"path": file["path"], "size_bytes": file["size_bytes"]}
        for file in files
        if PurePosixPath(file["path"]).name in last
    ][:MOST_FILES]
