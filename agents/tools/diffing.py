"""What a file has now against what it would have, for whoever is asked about a call that writes it."""

from collections.abc import Mapping
from typing import Any

import structlog

from agents.runtime.context import AgentContext
from agents.tools import previews
from agents.tools.tool import Tool, ToolError

log = structlog.get_logger(__name__)


async def diff_of(context: AgentContext, tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any] | None:
    """None for a tool that does not say what becomes of its file, and where that cannot be looked at.

    Reads the workspace, so whoever asks records what it gives.
    """
    door, files = context.run.tools, tool.own_files
    if door is None or files is None or files.becomes is None:
        return None
    ((scope, path),) = files.replaces(dict(arguments))
    try:
        before, is_there = await _read(context, door.provider("workspace"), scope=scope, path=path)
    except Exception:
        # A table of the arguments says all that there is: no reason not to ask.
        log.exception("tool.diff_failed", tool=tool.name)
        return None
    return previews.diff(path, files.becomes(arguments, before), is_there=is_there)


async def _read(context: AgentContext, workspace: Any, *, scope: str, path: str) -> tuple[str | None, bool]:
    """The file's text, None where it has none that can be shown; and whether there is a file."""
    about = context.run.about
    try:
        return (await workspace.read_file(about, path, scope=scope)).text, True
    except ToolError:
        pass
    try:
        return None, await workspace.stood_before(about, path, scope=scope, runs=())
    except ToolError:
        # There is no such place, or no such file can be: the call itself says so.
        return None, False
