"""The programs that a runner can drive, by the name that is stored with them."""

from typing import cast

from agents import registry
from agents.engine.run import Program
from agents.pipeline import turn

ROOTS = {"turn": turn.run}


def programs() -> dict[str, Program]:
    """The roots and every agent of the roster. The engine hands each the context that its driver made for the root."""
    found = ROOTS | {name: agent.run for name, agent in registry.agents().items()}
    return cast("dict[str, Program]", found)
