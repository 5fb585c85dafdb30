"""A whole turn where only the bundled model serves: words decide, and no role asks a model."""

from typing import Any

import pytest

from agents.pipeline.verify import UNCHECKED
from agents.runtime.driven import PipelineSettings
from agents.tools.providers import Providers
from hyperagent.lib.llm.config import LLMSettings
from tests.loop.driving import Cases, LoopCase
from tests.pipeline.turn_driving import drive_case, turn_case
from tests.scripted.script import Script


def bundled_case(cases: Cases, question: str, *, mode: str = "", routing_mode: str = "auto") -> LoopCase:
    """Without any provider of tools."""
    told: dict[str, Any] = {"question": question, "history": [], "mode": mode, "options": {}}
    case = turn_case(cases, told, Providers(), PipelineSettings(routing_mode=routing_mode))
    case.models.settings = LLMSettings.from_env({"BUNDLED_MODEL_URL": f"{cases.server.url}/v1"})
    return case


async def test_what_is_missing_is_asked_by_nobody_and_only_the_agent_asks_the_model(cases: Cases) -> None:
    cases.server.script(Script(text="To whom?"))
    case = bundled_case(cases, "Send it to him", mode="chat")

    end, _ = await drive_case(case)

    assert (end.how, end.value["answer"]) == ("completed", "To whom?")
    assert len(cases.server.calls) == 1
    assert case.open_requests == []


@pytest.mark.parametrize("routing_mode", ["auto", "llm"])
async def test_the_router_is_asked_by_nobody_however_unsure_the_words_are(cases: Cases, routing_mode: str) -> None:
    cases.server.script(Script(text="Done."))
    case = bundled_case(cases, "Proofread the spreadsheet", routing_mode=routing_mode)

    end, _ = await drive_case(case)

    route = end.value["routing"]
    assert (route["agent"], route["method"], route["is_low_confidence"]) == ("chat", "heuristic", True)
    assert len(cases.server.calls) == 1


@pytest.mark.spec("S28")
async def test_a_plan_by_words_is_worked_through_once_and_says_that_nobody_checked_it(cases: Cases) -> None:
    question = "Search my docs for the budget, find benchmarks online, then write code to compare them"
    case = bundled_case(cases, question)

    end, _ = await drive_case(case)

    assert end.how == "completed", end
    assert (end.value["routing"]["kind"], end.value["routing"]["method"]) == ("plan", "heuristic")
    assert [task["agent"] for task in end.value["plan"]["tasks"]] == ["rag", "web", "code"]
    assert UNCHECKED.note in [event["description"] for event in case.events("stage")]
    assert len(case.events("plan_overview")) == 1
    assert "### Not done" in end.value["answer"]
    assert cases.server.calls == []
