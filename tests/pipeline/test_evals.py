"""The evaluation suite itself: its cases can be passed, the code passes those that need no model, and it can fail."""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agents.pipeline.compose import brief_of, deterministic
from agents.pipeline.deterministic import plan_by_patterns
from agents.pipeline.handoffs import targets_of
from agents.pipeline.patterns import agent_of, classify
from agents.pipeline.plans import Plan, PlanTask, single
from agents.registry import specs
from agents.runtime.driven import PipelineSettings
from agents.tools.registry import tools
from evals import judging
from evals.casebook import (
    SUITES,
    Case,
    ComposingCase,
    HandoffCase,
    HandoffExpected,
    PlanningCase,
    PlanningExpected,
    RoutingCase,
    RoutingExpected,
    ToolCase,
    ToolExpected,
    read_cases,
)
from evals.first_call import offered
from evals.run import Outcome, main, outcome_of, settings_for
from evals.suites import to_compose
from hyperagent.lib.llm.gateway import ModelGateway
from tests.pipeline import evals_replies as replies
from tests.scripted.script import Script, ScriptedCall
from tests.scripted.server import ScriptedServer

ALL_ASKED = PipelineSettings(routing_mode="llm")
LEAST = {"routing": 60, "planning": 40, "tool_choice": 20, "handoff": 20, "composing": 20}
ALL: list[Case] = [case for suite in SUITES for case in read_cases(suite)]


def cases_of(kind: type[Any], *, only_deterministic: bool = False) -> list[Any]:
    return [case for case in ALL if isinstance(case, kind) and (case.deterministic or not only_deterministic)]


def name(case: Any) -> str:
    return str(case.id)


WITH_SUITES = [pytest.param(suite, case, id=case.id) for suite in SUITES for case in read_cases(suite)]


@pytest.mark.spec("B28")
class TestTheCases:
    def test_there_are_enough_of_each_kind(self) -> None:
        counts = {suite: len(read_cases(suite)) for suite in SUITES}

        assert sum(counts.values()) >= 150
        assert all(counts[suite] >= least for suite, least in LEAST.items())

    def test_none_is_there_twice(self) -> None:
        assert [one for one, count in Counter(case.id for case in ALL).items() if count > 1] == []
        asked = Counter(f"{type(case).__name__} {case.model_dump(exclude={'id', 'expect'})}" for case in ALL)
        assert [one for one, count in asked.items() if count > 1] == []

    @pytest.mark.parametrize("case", cases_of(RoutingCase), ids=name)
    def test_a_route_leads_to_an_agent_that_is_there(self, case: RoutingCase) -> None:
        assert set(case.expect.agents) <= {*specs(), "planner"}
        assert ("planner" in case.expect.agents) == (case.expect.kind == "plan")

    @pytest.mark.parametrize("case", cases_of(PlanningCase), ids=name)
    def test_a_plan_is_made_of_agents_that_are_there(self, case: PlanningCase) -> None:
        wanted = case.expect
        named = [*wanted.agents, *wanted.single, *(one for pair in (*wanted.edges, *wanted.parallel) for one in pair)]

        assert {agent for one in named for agent in one.split("|")} <= set(specs())
        assert bool(wanted.agents) != bool(wanted.single)
        assert {one for pair in (*wanted.edges, *wanted.parallel) for one in pair} <= set(wanted.agents)
        assert wanted.max_tasks >= len(wanted.agents)

    @pytest.mark.parametrize("case", cases_of(ToolCase), ids=name)
    def test_a_tool_is_one_that_its_agent_is_offered(self, case: ToolCase) -> None:
        assert set(case.expect.tools) <= set(offered(case.agent))
        for tool in case.expect.tools:
            taken = set(tools()[tool].spec().parameters["properties"])
            assert set(case.expect.arguments) <= taken
        for pattern in case.expect.arguments.values():
            re.compile(pattern)

    @pytest.mark.parametrize("case", cases_of(HandoffCase), ids=name)
    def test_a_handoff_is_one_that_the_matrix_allows(self, case: HandoffCase) -> None:
        assert case.agent in specs()
        if case.expect.handoff is not None:
            assert set(case.expect.handoff.split("|")) <= set(targets_of(case.agent))

    @pytest.mark.parametrize("case", cases_of(ComposingCase), ids=name)
    def test_what_is_to_be_composed_can_be(self, case: ComposingCase) -> None:
        brief = brief_of(to_compose(case))

        assert {brought.agent for brought in case.outputs} <= set(specs())
        assert max(case.expect.cites or (0,)) <= len(brief.sources)
        for pattern in (*case.expect.mentions, *case.expect.absent):
            re.compile(pattern)


@pytest.mark.spec("B28")
class TestWhatNeedsNoModel:
    @pytest.mark.spec("S7")
    @pytest.mark.parametrize("case", cases_of(RoutingCase, only_deterministic=True), ids=name)
    def test_the_patterns_route_it(self, case: RoutingCase) -> None:
        guess = classify(case.question)
        kind = "plan" if guess.kind == "plan" else "direct"

        assert judging.of_route(kind, guess.agent, case.expect) == []
        assert guess.sure

    @pytest.mark.parametrize("case", cases_of(PlanningCase, only_deterministic=True), ids=name)
    def test_the_patterns_plan_it(self, case: PlanningCase) -> None:
        plan = plan_by_patterns(case.question, specs()) or single(case.question, agent_of(case.question))

        assert judging.of_plan(plan, case.expect) == []

    @pytest.mark.parametrize("case", cases_of(ComposingCase, only_deterministic=True), ids=name)
    def test_it_is_composed_without_a_model(self, case: ComposingCase) -> None:
        brief = brief_of(to_compose(case))

        assert judging.of_answer(deterministic(brief), len(brief.sources), case.expect) == []


def plan(*tasks: tuple[str, str, tuple[str, ...]]) -> Plan:
    return Plan(
        tasks=tuple(PlanTask(id=one, agent=agent, task="Do it", depends_on=after) for one, agent, after in tasks)
    )


class TestJudging:
    """What would be wrong is found: a suite that cannot fail says nothing."""

    def test_of_a_route(self) -> None:
        expected = RoutingExpected(kind="direct", agents=("rag",))

        assert judging.of_route("direct", "rag", expected) == []
        assert judging.of_route("plan", "planner", expected) == ["went plan, not direct", "went to planner, not to rag"]

    def test_of_a_plan(self) -> None:
        expected = PlanningExpected(
            agents=("rag", "web|research", "data"),
            edges=(("rag", "data"),),
            parallel=(("rag", "web|research"),),
            max_tasks=3,
        )

        assert judging.of_plan(plan(("a", "rag", ()), ("b", "web", ()), ("c", "data", ("a", "b"))), expected) == []
        assert judging.of_plan(plan(("a", "rag", ()), ("b", "web", ("a",)), ("c", "data", ("b",))), expected) == [
            "rag and web|research could run at the same time"
        ]
        assert judging.of_plan(plan(("a", "rag", ()), ("c", "data", ())), expected) == [
            "nobody is web|research: rag, data",
            "data does not work on what rag found",
        ]
        assert judging.of_plan(plan(("a", "rag", ())), PlanningExpected(single=("rag",))) == []
        assert judging.of_plan(plan(("a", "web", ())), PlanningExpected(single=("rag",)))

    def test_of_a_call(self) -> None:
        expected = ToolExpected(tools=("web_search",), arguments={"query": "(?i)bees"})

        assert judging.of_call("web_search", {"query": "Bees"}, expected) == []
        assert judging.of_call("web_search", {"query": "cats"}, expected)
        assert judging.of_call(None, {}, expected) == ["called nothing, not web_search"]
        assert judging.of_call("web_search", {}, ToolExpected(tools=()))

    @pytest.mark.parametrize(
        ("called", "wanted", "right"),
        [
            ("handoff_to_rag", "rag", True),
            ("delegate_to_research", "research", True),
            ("handoff_to_data", "code|data", True),
            ("web_search", "web", False),
            ("handoff_to_web", None, False),
            ("web_search", None, True),
            (None, None, True),
            (None, "rag", False),
        ],
    )
    def test_of_a_handoff(self, called: str | None, wanted: str | None, right: bool) -> None:
        assert (judging.of_handoff(called, HandoffExpected(handoff=wanted)) == []) == right


def call(tool: str, **arguments: Any) -> Script:
    return Script(tool_calls=[ScriptedCall(name=tool, arguments=json.dumps(arguments))], times=0)


def environment(url: str) -> dict[str, str]:
    provider = {"name": "mine", "base_url": f"{url}/v1", "api_key": "k", "tier_models": {"pro": "usual"}}
    return {"OPENAI_COMPATIBLE_PROVIDERS": json.dumps([provider]), "LLM_ATTEMPTS": "1"}


@pytest.mark.spec("B28")
class TestEachCaseWithAModel:
    """Every case asks the model that is named, its right answer passes, and a wrong one fails."""

    @pytest.fixture
    async def models(self, scripted_server: ScriptedServer) -> AsyncIterator[ModelGateway]:
        gateway = ModelGateway(settings_for("mine/special", environment(scripted_server.url)))
        try:
            yield gateway
        finally:
            await gateway.aclose()

    async def outcome(self, suite: str, case: Case, models: ModelGateway) -> Outcome:
        outcome = await outcome_of(suite, case, models, ALL_ASKED)

        assert outcome.asked >= 1
        assert outcome.error == ""
        return outcome

    @pytest.mark.parametrize(("suite", "case"), WITH_SUITES)
    async def test_the_right_answer_passes(
        self, suite: str, case: Case, models: ModelGateway, scripted_server: ScriptedServer
    ) -> None:
        scripted_server.script(*replies.right(case))

        outcome = await self.outcome(suite, case, models)

        assert (outcome.passed, outcome.faults) == (True, ())

    @pytest.mark.parametrize(("suite", "case"), WITH_SUITES)
    async def test_a_wrong_answer_fails(
        self, suite: str, case: Case, models: ModelGateway, scripted_server: ScriptedServer
    ) -> None:
        scripted_server.script(*replies.wrong(case))

        outcome = await self.outcome(suite, case, models)

        assert not outcome.passed
        assert outcome.faults

    @pytest.mark.parametrize("suite", SUITES)
    async def test_an_answer_that_cannot_be_used_is_the_models_fault(
        self, suite: str, models: ModelGateway, scripted_server: ScriptedServer
    ) -> None:
        scripted_server.script(Script(text="", times=0))

        outcome = await outcome_of(suite, read_cases(suite, limit=1)[0], models, ALL_ASKED)

        assert (outcome.passed, outcome.error) == (False, "")
        assert outcome.faults


class TestTheCommand:
    @pytest.fixture
    def evaluate(self, scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
        monkeypatch.setenv("ENV_FILE", os.devnull)
        for variable, value in environment(scripted_server.url).items():
            monkeypatch.setenv(variable, value)

        def run(*arguments: str) -> tuple[int, dict[str, Any]]:
            status = main(["--model", "mine/special", "--out", str(tmp_path), *arguments])
            (path,) = tmp_path.glob("mine-special-*.json")
            kept: dict[str, Any] = json.loads(path.read_text())
            path.unlink()
            return status, kept

        return run

    @pytest.mark.spec("B28")
    def test_a_model_is_asked_and_its_share_is_told(
        self, evaluate: Any, scripted_server: ScriptedServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        tasks = [{"id": "1", "agent": "rag", "task": "A"}, {"id": "2", "agent": "web", "task": "B"}]
        scripted_server.script(Script(model="special", text=json.dumps({"execution_plan": tasks}), times=0))

        status, kept = evaluate("--suite", "planning", "--limit", "2", "--threshold", "1")

        assert status == 0
        assert kept["scores"] == [{"suite": "planning", "passed": 2, "cases": 2, "asked": 2, "errors": 0, "share": 1.0}]
        assert re.search(r"planning\s+2\s+2\s+2\s+100%", capsys.readouterr().out)

    def test_below_the_threshold_it_fails_and_says_what_was_wrong(
        self, evaluate: Any, scripted_server: ScriptedServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        scripted_server.script(Script(text="I do not know.", times=0))

        status, kept = evaluate("--suite", "planning", "--limit", "1", "--threshold", "0.5")

        assert status == 1
        assert kept["outcomes"][0]["faults"]
        assert "planning-001" in capsys.readouterr().out

    @pytest.mark.spec("B28")
    @pytest.mark.parametrize(
        "dead", [Script(status=401, times=0), Script(refuse=True, times=0)], ids=["refused", "gone"]
    )
    def test_a_model_that_cannot_be_asked_is_an_error_of_the_run_in_every_suite(
        self, evaluate: Any, scripted_server: ScriptedServer, dead: Script, capsys: pytest.CaptureFixture[str]
    ) -> None:
        scripted_server.script(dead)

        status, kept = evaluate("--limit", "3", "--threshold", "0")

        assert status == 1
        found = {score["suite"]: (score["passed"], score["errors"]) for score in kept["scores"]}
        assert found == dict.fromkeys(SUITES, (0, 3))
        assert "error: The model provider 'mine'" in capsys.readouterr().out

    def test_a_prompt_that_is_too_long_is_an_error_of_the_run(
        self, evaluate: Any, scripted_server: ScriptedServer
    ) -> None:
        too_long = Script(status=400, error_code="context_length_exceeded", times=0)
        scripted_server.script(too_long)

        status, kept = evaluate("--suite", "composing", "--limit", "1", "--threshold", "0")

        assert (status, [score["errors"] for score in kept["scores"]]) == (1, [1])

    def test_an_agents_model_sees_its_tools_and_its_first_call_counts(
        self, evaluate: Any, scripted_server: ScriptedServer
    ) -> None:
        case = next(case for case in cases_of(ToolCase) if case.agent == "chat" and case.expect.tools)
        scripted_server.script(call(case.expect.tools[0], url="https://example.org/terms"))

        status, kept = evaluate("--suite", "tool_choice", "--limit", "3", "--threshold", "0.3")

        assert status == 0
        assert [outcome["passed"] for outcome in kept["outcomes"]] == [False, False, True]
        asked = next(call for call in scripted_server.calls if call.body.get("tools"))
        assert {one["function"]["name"] for one in asked.body["tools"]} >= set(offered("chat"))
        assert "You are HyperAgent's chat agent" in asked.body["messages"][0]["content"]

    def test_an_agent_may_hand_its_task_over(self, evaluate: Any, scripted_server: ScriptedServer) -> None:
        scripted_server.script(call("handoff_to_research", task_description="Heat pumps"))

        status, _ = evaluate("--suite", "handoff", "--limit", "1")

        assert status == 0
        assert "handoff_to_research" in {one["function"]["name"] for one in scripted_server.calls[0].body["tools"]}

    def test_an_answer_is_composed(self, evaluate: Any, scripted_server: ScriptedServer) -> None:
        scripted_server.script(Script(text="Ours: 12 million [1]. Globex: 15 million [2].", times=0))

        status, _ = evaluate("--suite", "composing", "--limit", "1")

        assert status == 0

    def test_the_router_is_asked_for_every_question(self, evaluate: Any, scripted_server: ScriptedServer) -> None:
        line = {"agent": "chat", "confidence": 0.9, "reason": "Small talk."}
        scripted_server.script(Script(text=json.dumps(line), times=0))

        status, kept = evaluate("--suite", "routing", "--limit", "3")

        assert status == 0
        assert [outcome["got"] for outcome in kept["outcomes"]] == ["chat (model)"] * 3

    def test_the_patterns_may_go_before_it_as_on_a_server(self, evaluate: Any) -> None:
        status, kept = evaluate("--suite", "routing", "--limit", "3", "--routing-mode", "auto")

        assert (status, kept["scores"][0]["passed"], kept["scores"][0]["asked"]) == (0, 3, 0)

    def test_providers_are_read_from_the_file_that_the_server_reads(
        self, scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        given = environment(scripted_server.url)
        (tmp_path / "env").write_text("".join(f"{variable}='{value}'\n" for variable, value in given.items()))
        monkeypatch.setenv("ENV_FILE", str(tmp_path / "env"))
        scripted_server.script(Script(text="Ours: 12 million [1]. Globex: 15 million [2].", times=0))

        arguments = ["--model", "mine/special", "--suite", "composing", "--limit", "1", "--out", str(tmp_path)]

        assert main(arguments) == 0

    @pytest.mark.slow
    def test_it_is_a_program_of_its_own_without_django_or_a_database(
        self, scripted_server: ScriptedServer, tmp_path: Path
    ) -> None:
        scripted_server.script(Script(status=401, times=0))
        given = environment(scripted_server.url)
        (tmp_path / "env").write_text("".join(f"{variable}='{value}'\n" for variable, value in given.items()))

        ran = subprocess.run(
            [sys.executable, "-m", "evals.run", "--model", "mine/special", "--limit", "1", "--out", str(tmp_path)],
            env={"PATH": os.environ["PATH"], "ENV_FILE": str(tmp_path / "env")},
            capture_output=True,
            text=True,
            check=False,
        )

        assert ran.returncode == 1, ran.stderr[-2_000:]
        rows = [line.split() for line in ran.stdout.splitlines() if line.startswith(tuple(SUITES))]
        assert rows == [[suite, "0", "1", "1", "0%", "1"] for suite in SUITES], ran.stderr[-2_000:]

    def test_settings_that_cannot_be_read_are_named(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["--model", "nobody/special", "--suite", "routing"]) == 2
        assert "MAX_MODEL" in capsys.readouterr().err
