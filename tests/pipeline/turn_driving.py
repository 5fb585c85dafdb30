"""A run whose program is a whole turn, over a journal in memory that can be killed at any record."""

from collections.abc import Mapping
from typing import Any, cast

from agents.engine.context import Context
from agents.pipeline.programs import programs
from agents.runtime.context import AgentContext
from agents.runtime.driven import DrivenRun, PipelineSettings
from agents.tools.gateway import Gateway
from agents.tools.providers import Providers
from tests.doubles.memory_journal import Death
from tests.engine.driving import ROOT, End, drive
from tests.loop.driving import Cases, LoopCase


def turn_case(
    cases: Cases, told: Mapping[str, Any], providers: Providers, settings: PipelineSettings | None = None
) -> LoopCase:
    """With the real gateway of tools before the providers."""
    made = cases()
    turn = programs()["turn"]

    async def program(context: Context, value: Any) -> Any:
        return await turn(AgentContext(cast("DrivenRun", context.run), context.agent), told)

    gateway = cast("Any", Gateway(providers))
    return LoopCase(
        {**programs(), ROOT: program}, models=made.models, settings=settings or PipelineSettings(), door=gateway
    )


async def drive_case(case: LoopCase, death: Death | None = None, at: int = 0) -> tuple[End, int]:
    """How it ended, and how many records it wrote."""
    run, journal = case.take_over(death=death, at=at)
    return await drive(run, journal), journal.writes
