"""Finds the agents in `agents.roster` and refuses to start with one that is not whole."""

import importlib
import inspect
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic import ValidationError

from agents import roster
from agents.spec import AgentProgram, AgentSpec

INTERNAL_ROLES = frozenset(
    {"router", "planner", "verifier", "composer", "memory_extractor", "summarizer", "clarifier", "title", "turn"}
)


class BadAgent(RuntimeError):
    """A folder of the roster is not an agent; the message says what it lacks."""


@dataclass(frozen=True, slots=True)
class Agent:
    """`run_small`: its way where only the small bundled model serves; None: `run` is its only one, and for both."""

    spec: AgentSpec
    run: AgentProgram
    run_small: AgentProgram | None = None


@cache
def names() -> tuple[str, ...]:
    """The names of all agents, in order, without loading one."""
    found = {module.name for module in pkgutil.iter_modules(roster.__path__) if module.ispkg}
    for folder in Path(next(iter(roster.__path__))).iterdir():
        if folder.name not in found and any(folder.glob("*.py")):
            raise BadAgent(f"agents/roster/{folder.name} has no __init__.py, so nobody would find it: add an empty one")
    return tuple(sorted(found))


@cache
def agents() -> Mapping[str, Agent]:
    """All agents by name, in the order of their names. Raises BadAgent for the first that is not whole."""
    return {name: _load(name) for name in names()}


def specs() -> dict[str, AgentSpec]:
    return {name: agent.spec for name, agent in agents().items()}


def _load(name: str) -> Agent:
    path = f"agents/roster/{name}/agent.py"
    try:
        module = importlib.import_module(f"{roster.__name__}.{name}.agent")
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors(include_url=False))
        raise BadAgent(f"{path}: its SPEC is wrong: {faults}. agents/spec.py says what each field takes") from error
    except (ImportError, SyntaxError) as error:
        raise BadAgent(f"{path} cannot be imported: {error}") from error
    spec = getattr(module, "SPEC", None)
    run = getattr(module, "run", None)
    if not isinstance(spec, AgentSpec) or run is None:
        raise BadAgent(f"agents/roster/{name}/agent.py needs SPEC (an AgentSpec) and run(context, task)")
    run_small = getattr(module, "run_small", None)
    for way, program in (("run", run), ("run_small", run_small)):
        if program is not None and not _is_program(program):
            raise BadAgent(
                f"{path}: {way} has to be `async def {way}(context: AgentContext, task: AgentInput) -> Work`"
            )
    if spec.name != name:
        raise BadAgent(f"agents/roster/{name}/agent.py calls itself '{spec.name}'; its folder says '{name}'")
    if name in INTERNAL_ROLES:
        raise BadAgent(f"agents/roster/{name}: '{name}' is an internal role; give the agent another name")
    return Agent(spec, run, run_small)


def _is_program(found: object) -> bool:
    return inspect.iscoroutinefunction(found) and len(inspect.signature(found).parameters) == 2
