"""A planned turn that is killed at any of its records goes on, answers the same, and asks again only what was lost."""

import json

import pytest

from agents.runtime.driven import PipelineSettings
from agents.tools.providers import Providers
from hyperagent.lib.llm.prices import read
from tests.doubles.memory_journal import Death
from tests.loop.driving import Cases, LoopCase
from tests.pipeline.graphs import DIAMOND, PARALLEL, QUESTION, SATISFIED, plan_text
from tests.pipeline.turn_driving import drive_case, turn_case
from tests.scripted.script import Script
from tests.scripted.server import ScriptedServer
from tests.shown import shown

pytestmark = pytest.mark.slow

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

    for at in range(1, writes + 1):
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


# A plan above the limit, which is agreed to; and one for what is missing that would send mails, which is not.
ASKED_LINES = (
    Script(match="What is still wrong or missing", text=plan_text({"gamma": ()}, agent="mail"), times=0),
    Script(model="scripted-flash", text=json.dumps({"satisfied": False, "feedback": "more", "redo": []}), times=0),
    *LINES[1:-1],
    Script(match=QUESTION, text=plan_text(PARALLEL), times=0),
)
SAID = ({"status": "approved"}, {"status": "timed_out"})


def asked_case(cases: Cases) -> LoopCase:
    case = turn_case(cases, TURN, Providers(), PipelineSettings(plan_asks_above_usd=0.5))
    case.models.prices = read('{"scripted/scripted-pro": {"input": 10, "output": 50}}')
    return case


@pytest.mark.spec("B1", "B13", "S123")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("death", Death)
async def test_people_are_asked_about_the_same_plans_once_wherever_it_is_killed(
    death: Death, scripted_server: ScriptedServer
) -> None:
    scripted_server.script(*ASKED_LINES)
    cases = Cases(scripted_server)

    async def driven(at: int) -> tuple[LoopCase, list[str], int]:
        """Killed so many records after its beginning and after each answer; how many the longest part wrote."""
        case, questions, most = asked_case(cases), [], 0
        for said in (*SAID, None):
            end, writes = await drive_case(case, death, at) if at else await drive_case(case)
            most = max(most, writes)
            if end.how == "killed":
                end, _ = await drive_case(case)
            if said is not None:
                assert end.how == "waiting", (at, end)
                (request,) = case.open_requests
                questions.append(request.question["question"])
                case.answer(said)
        assert end.how == "completed", (at, end)
        assert {part["error"] for part in end.value["skipped"]} == {"hitl_timeout"}, at
        return case, questions, most

    _, asked, most = await driven(0)
    assert ["It is reckoned to cost $0.80" in asked[0], "send_email" in asked[1]] == [True, True]

    for at in range(1, most, 5):
        case, questions, _ = await driven(at)

        told = f"{death.name} at {at}"
        assert questions == asked, told
        assert case.events("journal_cut") == [], told
        assert (len(case.events("plan_overview")), len(case.events("interrupt"))) == (2, 2), told
        assert len(case.events("plan_step_completed")) == len(PARALLEL) + 1, told
        assert shown(case.all_events) == ANSWER, told
    await cases.stack.aclose()
