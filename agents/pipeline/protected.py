"""Which tools people watch over, of all that a run's agents may have: the house's own, those of connected servers."""

from collections.abc import Iterator

from agents.runtime.driven import DrivenRun
from agents.runtime.tool_door import ConnectedTool
from agents.tools.registry import tools
from agents.tools.tool import Tool


def needing_a_yes(run: DrivenRun) -> set[str]:
    """The names of those that a person is asked about at each call."""
    return {tool.name for tool in _all(run) if tool.requires_approval}


def irreversible(run: DrivenRun) -> set[str]:
    """The names of those whose effect cannot be undone."""
    return {tool.name for tool in _all(run) if tool.irreversible}


def _all(run: DrivenRun) -> Iterator[Tool | ConnectedTool]:
    yield from tools().values()
    for connected in (run.connected_tools or {}).values():
        yield from connected
