"""The programs that a runner can drive, by the name that is stored with them."""

from functools import partial
from typing import cast

from agents import registry
from agents.engine.run import Program
from agents.pipeline import afterwards, compose, describe, rerank, suggesting, summary, turn
from agents.pipeline.work import work

ROOTS = {
    "turn": turn.run,
    compose.NAME: compose.run,
    summary.NAME: summary.run,
    describe.NAME: describe.run,
    rerank.NAME: rerank.run,
    suggesting.NAME: suggesting.run,
    afterwards.NAME: afterwards.run,
}


def programs() -> dict[str, Program]:
    """The roots, the composer and every agent of the roster. The engine hands each the driver's kind of context."""
    found = ROOTS | {name: partial(work, agent) for name, agent in registry.agents().items()}
    return cast("dict[str, Program]", found)
