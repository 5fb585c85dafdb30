"""A planned turn that is killed at any of its records goes on, answers the same, and asks again only what was lost."""

import pytest

from agents.tools.providers import Providers
from tests.doubles.memory_journal import Death
from tests.loop.driving import Cases
from tests.pipeline.graphs import DIAMOND, QUESTION, SATISFIED, plan_text
from tests.pipeline.turn_driving import drive_case, turn_case
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
    case = turn_case(cases, TURN, Providers())
    end, writes = await drive_case(case)
    assert (end.how, end.value and end.value["answer"], len(scripted_server.calls)) == ("completed", ANSWER, CALLS)

    for at in range(1, writes, 5):
        case = turn_case(cases, TURN, Providers())
        end, _ = await drive_case(case, death, at)
        known = case.replies_recorded()
        scripted_server.calls.clear()
        if end.how == "killed":
            end, _ = await drive_case(case)

        told = f"{death.name} at {at}"
        assert (end.how, end.value["answer"]) == ("completed", ANSWER), told
        assert len(scripted_server.calls) == CALLS - known, told
        assert shown(case.all_events) == ANSWER, told
        assert case.events("journal_cut") == [], told
        assert len(case.events("plan_overview")) == 1, told
    await cases.stack.aclose()
