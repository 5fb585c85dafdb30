"""The programs that a runner can drive, by the name that is stored with them."""

from agents import registry
from agents.engine.run import Program
from agents.pipeline import turn

ROOTS: dict[str, Program] = {"turn": turn.run}  # type: ignore[dict-item]  # the engine hands on the context it was given


def programs() -> dict[str, Program]:
    """The roots and every agent of the roster."""
    return ROOTS | {name: agent.run for name, agent in registry.agents().items()}  # type: ignore[misc]
