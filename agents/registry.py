"""Finds the agents in `agents.roster` and refuses to start with one that is not whole."""

import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from agents import roster
from agents.spec import AgentProgram, AgentSpec

INTERNAL_ROLES = frozenset(
    {"router", "planner", "verifier", "composer", "memory_extractor", "summarizer", "clarifier", "title", "turn"}
)


class BadAgent(RuntimeError):
    """A folder of the roster is not an agent; the message says what it lacks."""


@dataclass(frozen=True, slots=True)
class Agent:
    spec: AgentSpec
    run: AgentProgram


@cache
def names() -> tuple[str, ...]:
    """The names of all agents, in order, without loading one."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(roster.__path__) if module.ispkg))


@cache
def agents() -> Mapping[str, Agent]:
    """All agents by name, in the order of their names. Raises BadAgent for the first that is not whole."""
    return {name: _load(name) for name in names()}


def specs() -> dict[str, AgentSpec]:
    return {name: agent.spec for name, agent in agents().items()}


def _load(name: str) -> Agent:
    module = importlib.import_module(f"{roster.__name__}.{name}.agent")
    spec = getattr(module, "SPEC", None)
    run = getattr(module, "run", None)
    if not isinstance(spec, AgentSpec) or run is None:
        raise BadAgent(f"agents/roster/{name}/agent.py needs SPEC (an AgentSpec) and run(context, task)")
    if spec.name != name:
        raise BadAgent(f"agents/roster/{name}/agent.py calls itself '{spec.name}'; its folder says '{name}'")
    if name in INTERNAL_ROLES:
        raise BadAgent(f"agents/roster/{name}: '{name}' is an internal role; give the agent another name")
    return Agent(spec, run)
