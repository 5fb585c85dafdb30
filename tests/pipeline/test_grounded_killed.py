"""A turn whose answer is checked, killed at any of its records: the same answer and checks, and no call twice."""

import json

import pytest

from tests.doubles.memory_journal import Death
from tests.loop.driving import Cases
from tests.pipeline.turn_driving import drive_case, turn_case
from tests.scripted.script import Script
from tests.scripted.server import ScriptedServer
from tests.shown import shown
from tests.tools.doubles import fake_providers

QUESTION = "What was the revenue in Q3?"
TURN = {
    "question": QUESTION,
    "history": [{"role": "user", "content": "Hello"}],
    "mode": "rag",
    "options": {},
    "is_temporary": True,
}
ANSWER = "Revenue in Q3 was 42 million [1]. It will be 90 million [1]."
VERDICTS = {"verdicts": [{"index": 1, "supported": False, "why": "not there"}, {"index": 9, "supported": True}]}
LINES = (
    Script(match="## Sentences", text=json.dumps(VERDICTS), times=0),
    Script(match="## Sources", text=ANSWER, times=0),
    Script(match=QUESTION, text=json.dumps({"query": "revenue Q3"}), times=0),
)
CALLS = len(LINES)


@pytest.mark.slow
@pytest.mark.spec("B1", "B19")
@pytest.mark.parametrize("death", Death)
async def test_a_checked_turn_killed_at_any_of_its_records_is_checked_the_same_and_asks_nothing_twice(
    death: Death, scripted_server: ScriptedServer
) -> None:
    scripted_server.script(*LINES)
    cases = Cases(scripted_server)
    end, writes = await drive_case(turn_case(cases, TURN, fake_providers()))
    assert end.how == "completed", end
    expected = end.value["checks"]
    assert [(check["supported"], check["by"]) for check in expected] == [(True, "words"), (False, "model")]
    assert len(scripted_server.calls) == CALLS

    for at in range(1, writes):
        case = turn_case(cases, TURN, fake_providers())
        scripted_server.calls.clear()
        end, _ = await drive_case(case, death, at)
        known = case.replies_recorded()
        scripted_server.calls.clear()
        if end.how == "killed":
            end, _ = await drive_case(case)

            assert len(scripted_server.calls) == CALLS - known, at
        assert (end.how, end.value["answer"], end.value["checks"]) == ("completed", ANSWER, expected), at
        assert shown(case.all_events) == ANSWER, at
    await cases.stack.aclose()
