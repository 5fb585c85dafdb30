"""Finds the tools: every file `*_tools.py` of the catalogue, of an agent's folder and of the skills.

A process that has a tool which is not whole does not start.
"""

import importlib
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Final

from agents import registry
from agents.tools.providers import PROVIDER_NAMES, REACHING_PROVIDERS
from agents.tools.tool import ANY_AGENT, BadTool, Tool

AGENTS: Final = Path(__file__).resolve().parent.parent
PLACES: Final = ("tools/catalogue/*_tools.py", "roster/*/*_tools.py", "skills/**/*_tools.py")


@cache
def tools() -> Mapping[str, Tool]:
    """All tools by name, in the order of their names. Raises BadTool with all that is wrong."""
    files = (path.relative_to(AGENTS.parent) for path in sources())
    return whole((load(".".join(path.with_suffix("").parts)) for path in files), agents=registry.names())


def sources() -> list[Path]:
    """The files that have the tools."""
    return sorted(path for place in PLACES for path in AGENTS.glob(place))


def whole(modules: Iterable[ModuleType], *, agents: Collection[str]) -> dict[str, Tool]:
    """The tools of these modules. Raises BadTool for a name twice, an unknown agent or provider: all of it at once."""
    found: dict[str, Tool] = {}
    homes: dict[str, str] = {}
    faults: list[str] = []
    for module in modules:
        for tool in _tools_in(module):
            if tool.name in found and found[tool.name] is not tool:
                faults.append(f"tool '{tool.name}' is in {homes[tool.name]} and again in {module.__name__}")
            found[tool.name] = tool
            homes.setdefault(tool.name, module.__name__)
            faults.extend(_faults(tool, module.__name__, agents))
    if faults:
        raise BadTool("; ".join(faults))
    return dict(sorted(found.items()))


def load(name: str) -> ModuleType:
    """The module, whose tools check themselves while it is imported. Raises BadTool."""
    try:
        return importlib.import_module(name)
    except (ImportError, SyntaxError, TypeError) as error:
        raise BadTool(f"{name} cannot be imported: {error}") from error
    except BadTool as error:
        raise BadTool(f"{name}: {error}") from error


def _tools_in(module: ModuleType) -> list[Tool]:
    """The tools among a module's names, and in its tuples of tools; those that it imported are another's."""
    values = list(vars(module).values())
    return [
        tool
        for value in values
        for tool in (value if isinstance(value, tuple) else (value,))
        if isinstance(tool, Tool) and tool.function.__module__ == module.__name__
    ]


def _faults(tool: Tool, home: str, agents: Collection[str]) -> list[str]:
    at = f"tool '{tool.name}' in {home}"
    strangers = () if tool.agents == ANY_AGENT else [agent for agent in tool.agents if agent not in agents]
    unknown = [need for need in tool.needs if need not in PROVIDER_NAMES]
    return [
        *(
            f"{at} is for the agent '{agent}', which is not there (there are {', '.join(agents)})"
            for agent in strangers
        ),
        *(() if tool.agents else (f"{at} is for no agent: name them, or say ANY_AGENT",)),
        *(f"{at} needs the provider '{need}', which is not there" for need in unknown),
        *(f"{at} needs {need}, by which data may go out: say by sends= where to" for need in _unsaid(tool)),
    ]


def _unsaid(tool: Tool) -> list[str]:
    """The providers by which it may reach further than the installation, where it does not say whether it does."""
    return [] if tool.sends is not None else [need for need in tool.needs if need in REACHING_PROVIDERS]
