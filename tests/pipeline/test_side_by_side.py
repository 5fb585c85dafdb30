"""What people see of the tasks of a plan that work side by side from the start."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from agents.pipeline.plans import task_id
from agents.tools.providers import Providers
from tests.loop.driving import Cases
from tests.pipeline.graphs import CHAIN, DIAMOND, PARALLEL, QUESTION, SATISFIED, plan_text
from tests.pipeline.turn_driving import drive_case, turn_case
from tests.scripted.script import Script

TURN = {"question": QUESTION, "history": [{"role": "user", "content": "Hello"}], "mode": "", "options": {}}
NAMES = ("alpha", "beta", "gamma", "delta", "epsilon")


async def side_by_side(cases: Cases, *first: Script) -> list[tuple[str, Any]]:
    """The events of parallel work, with the names of the tasks that they are about."""
    lines = (
        Script(model="scripted-flash", text=SATISFIED),
        Script(match="## Results\n### ", text="All of it was found."),
        *(Script(match=f"## Task\nWork on {name} now.", text=f"Found {name}.", times=0) for name in NAMES),
    )
    cases.server.script(*first, *lines)
    case = turn_case(cases, TURN, Providers())
    end, _ = await drive_case(case)
    assert end.how == "completed", end
    steps = [step for event in case.events("plan_overview") for step in event["steps"]]
    names = {step["id"]: step["task"].split()[2] for step in steps}
    said = [event for event in case.all_events if event["type"].startswith("parallel_")]
    return [(event["type"], sorted(names[one] for one in event.get("agents", [event.get("agent")]))) for event in said]


def planned(graph: Mapping[str, Sequence[str]]) -> Script:
    return Script(match=QUESTION, model="scripted-pro", text=plan_text(graph))


@pytest.mark.spec("S140")
class TestSideBySide:
    async def test_those_that_begin_together_are_told_one_by_one_between_their_start_and_their_end(
        self, cases: Cases
    ) -> None:
        start, *each, end = await side_by_side(cases, planned(PARALLEL))

        assert (start, end) == (("parallel_start", ["alpha", "beta"]), ("parallel_complete", ["alpha", "beta"]))
        assert sorted(each) == [("parallel_task", ["alpha"]), ("parallel_task", ["beta"])]

    @pytest.mark.parametrize("graph", [CHAIN, DIAMOND], ids=["chain", "diamond"])
    async def test_where_one_begins_alone_nothing_is_said_of_parallel_work(
        self, graph: Mapping[str, Sequence[str]], cases: Cases
    ) -> None:
        assert await side_by_side(cases, planned(graph)) == []

    async def test_what_a_new_plan_builds_on_finished_tasks_begins_together(self, cases: Cases) -> None:
        """The new tasks wait for one of the earlier plan, which is done."""
        unsatisfied = json.dumps({"satisfied": False, "feedback": "more", "redo": []})
        finished = task_id(2, "chat", "Work on gamma now.")
        more = plan_text({"delta": (finished,), "epsilon": (finished,)})

        start, *each, end = await side_by_side(
            cases,
            Script(match="What is still wrong or missing", text=more),
            Script(model="scripted-flash", text=unsatisfied),
            planned(CHAIN),
        )

        assert (start, end) == (("parallel_start", ["delta", "epsilon"]), ("parallel_complete", ["delta", "epsilon"]))
        assert len(each) == 2
