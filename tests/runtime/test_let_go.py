"""What a run has read is freed when its driver has left it, not when somebody looks for what holds itself in a circle:
that is seldom, and a run may have read a book."""

import gc
from typing import Any

import pytest

from agents.engine.tree import Tree
from agents.runtime.context import AgentContext
from agents.runtime.driven import DrivenRun
from agents.runtime.driver import Driver
from agents.runtime.outbox import Outbox
from tests.runtime.driving import Runners, ended, start, until
from tests.scripted.server import ScriptedServer

OF_A_RUN = (AgentContext, Driver, DrivenRun, Outbox, Tree)


def held() -> list[str]:
    """By their own type: to ask what a lazy object is an instance of makes it."""
    return [type(one).__name__ for one in gc.get_objects() if type(one) in OF_A_RUN]


@pytest.mark.slow
async def test_of_runs_that_were_answered_nothing_is_left(
    alice: Any, echo_server: ScriptedServer, make_runner: Runners
) -> None:
    runner = await make_runner(echo_server.url)

    async def is_idle() -> bool:
        return not runner.driving

    async def is_held() -> bool:
        return "DrivenRun" in held()

    async def is_freed() -> bool:
        return not held()

    gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            id_ = await start(alice, "say 5 tokens at 20/s")
            await until(is_held)
            await ended(id_)

        await until(is_idle)
        # Its last task ends a moment later.
        await until(is_freed, timeout_s=10)
        assert held() == []
    finally:
        gc.enable()
