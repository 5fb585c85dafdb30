"""A planned turn that is killed at any of its records goes on, answers the same, and asks again only what was lost."""

from typing import Any, cast

import pytest

from agents.engine.context import Context
from agents.pipeline.programs import programs
from agents.runtime.context import AgentContext, DrivenRun, PipelineSettings
from agents.tools.gateway import Gateway
from agents.tools.providers import Providers
from tests.doubles.memory_journal import Death
from tests.engine.driving import ROOT, End, drive
from tests.loop.driving import Cases, LoopCase
from tests.pipeline.graphs import DIAMOND, QUESTION, SATISFIED, plan_text
from tests.scripted.script import Script
from tests.scripted.server import ScriptedServer
from tests.shown import shown

ANSWER = "The board reads: all of it was found."
TURN = {"question": QUESTION, "history": [{"role": "user", "content": "Hello"}], "mode": "", "options": {}}
# As often as needed: which of them were asked for is counted.
LINES = (
    Script(model="scripted-flash", text=SATISFIED, times=0),
    Script(match="## Results\n### ", text=ANSWER, times=0),
    *(Script(match=f"Work on {name} now.", text=f"Found {name}.", times=0) for name in DIAMOND),
    Script(match=QUESTION, text=plan_text(DIAMOND), times=0),
)
CALLS = len(DIAMOND) + 3


@pytest.mark.spec("B1", "S14", "S21", "S29")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("death", Death)
async def test_a_diamond_killed_at_any_of_its_records_answers_the_same_and_repeats_no_recorded_call(
    death: Death, scripted_server: ScriptedServer
) -> None:
    scripted_server.script(*LINES)
    cases = Cases(scripted_server)
    case = _case(cases)
    end, writes = await _drive(case)
    assert (end.how, end.value and end.value["answer"], len(scripted_server.calls)) == ("completed", ANSWER, CALLS)

    for at in range(1, writes, 5):
        case = _case(cases)
        end, _ = await _drive(case, death, at)
        known = case.replies_recorded()
        scripted_server.calls.clear()
        if end.how == "killed":
            end, _ = await _drive(case)

        told = f"{death.name} at {at}"
        assert (end.how, end.value["answer"]) == ("completed", ANSWER), told
        assert len(scripted_server.calls) == CALLS - known, told
        assert shown(case.all_events) == ANSWER, told
        assert case.events("journal_cut") == [], told
        assert len(case.events("plan_overview")) == 1, told
    await cases.stack.aclose()


def _case(cases: Cases) -> LoopCase:
    """A run whose program is the whole turn, with the real gateway of tools and nothing behind it."""
    made = cases()
    turn = programs()["turn"]

    async def program(context: Context, value: Any) -> Any:
        return await turn(AgentContext(cast("DrivenRun", context.run), context.agent), TURN)

    gateway = cast("Any", Gateway(Providers()))
    return LoopCase({**programs(), ROOT: program}, models=made.models, settings=PipelineSettings(), door=gateway)


async def _drive(case: LoopCase, death: Death | None = None, at: int = 0) -> tuple[End, int]:
    run, journal = case.take_over(death=death, at=at)
    return await drive(run, journal), journal.writes
