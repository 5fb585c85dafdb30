"""A plan that is shown before it runs: accepted, changed, rejected, or changed into what cannot be run (B13)."""

import json
from typing import Any

import pytest

from agents.pipeline.planner import asked_first
from agents.pipeline.plans import Plan, PlanTask, faults_of
from agents.runtime.context import AgentContext
from agents.tools.registry import tools
from tests.loop.driving import LoopCase
from tests.pipeline.rosters import ROSTER
from tests.skills.alone import Alone

HARMLESS = Plan(
    tasks=(
        PlanTask(id="rag_agent-111111", agent="rag", task="Find the budget", tools=("search_documents",)),
        PlanTask(
            id="web_agent-222222",
            agent="web",
            task="Find prices",
            tools=("web_search",),
            depends_on=("rag_agent-111111",),
        ),
    )
)
GRAVE = HARMLESS.model_copy(
    update={
        "tasks": (
            *HARMLESS.tasks,
            PlanTask(
                id="mail_agent-333333",
                agent="mail",
                task="Send it",
                tools=("send_email",),
                depends_on=("web_agent-222222",),
            ),
        )
    }
)


def asking(
    alone: Alone, plan: Plan = HARMLESS, *, wanted: bool = True, interactive: bool = True, **more: Any
) -> LoopCase:
    async def program(context: AgentContext, value: Any) -> Any:
        agreed = await asked_first(context, plan, wanted=wanted, interactive=interactive, roster=ROSTER, **more)
        return None if agreed is None else agreed.model_dump(mode="json")

    return alone(program)


async def asked(case: LoopCase) -> dict[str, Any]:
    """Drives the run to its question, and gives the question."""
    end = await case.drive()
    assert end.how == "waiting", end
    (request,) = case.open_requests
    assert request.kind == "plan"
    question: dict[str, Any] = json.loads(json.dumps(request.question))
    return question


async def answered(case: LoopCase, **answer: Any) -> Plan | None:
    case.answer(answer)
    end = await case.drive()
    assert end.how == "completed", end
    return None if end.value is None else Plan.model_validate(end.value)


def tasks_of(plan: Plan) -> list[dict[str, Any]]:
    return [task.model_dump(mode="json") for task in plan.tasks]


@pytest.mark.spec("B13")
class TestWhenItIsAsked:
    async def test_a_harmless_plan_runs_without_a_question(self, alone: Alone) -> None:
        end = await asking(alone, wanted=False).drive()

        assert Plan.model_validate(end.value) == HARMLESS

    async def test_a_plan_with_what_cannot_be_undone_is_shown(self, alone: Alone) -> None:
        question = await asked(asking(alone, GRAVE, wanted=False))

        assert "send_email" in question["question"]
        assert question["asks_about"] == ["send_email"]
        assert [task["id"] for task in question["tasks"]] == list(GRAVE.ids)
        assert tools()["send_email"].irreversible

    async def test_so_is_one_whose_tools_are_named_so(self, alone: Alone) -> None:
        question = await asked(asking(alone, wanted=False, irreversible={"web_search"}))

        assert question["asks_about"] == ["web_search"]

    async def test_so_is_any_plan_if_somebody_wants_it(self, alone: Alone) -> None:
        assert (await asked(asking(alone)))["tasks"]

    async def test_nobody_is_asked_where_nobody_can_answer(self, alone: Alone) -> None:
        end = await asking(alone, GRAVE, interactive=False).drive()

        assert Plan.model_validate(end.value) == GRAVE


@pytest.mark.spec("B13")
class TestTheAnswer:
    async def test_accepted_it_runs_as_it_is(self, alone: Alone) -> None:
        case = asking(alone)
        await asked(case)

        assert await answered(case, status="approved") == HARMLESS

    @pytest.mark.parametrize("status", ["denied", "timed_out", "expired", "cancelled"])
    async def test_rejected_or_without_an_answer_it_does_not_run(self, alone: Alone, status: str) -> None:
        case = asking(alone)
        await asked(case)

        assert await answered(case, status=status) is None

    async def test_a_tasks_text_is_changed(self, alone: Alone) -> None:
        case = asking(alone)
        await asked(case)
        changed = tasks_of(HARMLESS)
        changed[0]["task"] = "Find the budget of 2026"

        plan = await answered(case, status="answered", plan={"tasks": changed})

        assert plan is not None
        assert [task.task for task in plan.tasks] == ["Find the budget of 2026", "Find prices"]
        assert plan.ids == HARMLESS.ids
        (overview,) = case.events("plan_overview")
        assert (overview["revision"], overview["steps"][0]["task"]) == (1, "Find the budget of 2026")

    async def test_a_task_is_dropped_and_one_is_added_and_an_edge_is_changed(self, alone: Alone) -> None:
        case = asking(alone, GRAVE)
        await asked(case)
        first, _, last = tasks_of(GRAVE)
        added = {"id": "added-1", "agent": "data", "task": "Chart it", "depends_on": [first["id"]], "stage": 1}

        plan = await answered(
            case, status="answered", plan={"tasks": [first, {**last, "depends_on": ["added-1"]}, added]}
        )

        assert plan is not None
        assert [task.agent for task in plan.tasks] == ["rag", "mail", "data"]
        assert plan.tasks[2].id.startswith("data_agent-")
        assert plan.tasks[1].depends_on == (plan.tasks[2].id,)
        assert plan.tasks[2].tools == ROSTER["data"].tools
        assert faults_of(plan, agents=ROSTER) == []

    @pytest.mark.parametrize(
        ("change", "fault"),
        [
            ({"depends_on": ["web_agent-222222"]}, "circular dependency"),
            ({"agent": "astrologer"}, "'astrologer'"),
            ({"task": " "}, "does not say what to do"),
            ({"task": None}, "task"),
        ],
    )
    async def test_what_cannot_be_run_comes_back_with_its_faults(
        self, alone: Alone, change: dict[str, Any], fault: str
    ) -> None:
        case = asking(alone)
        await asked(case)
        broken = tasks_of(HARMLESS)
        broken[0] |= change
        case.answer({"status": "answered", "plan": {"tasks": broken}})

        again = await asked(case)

        assert fault in again["question"]
        assert [one for one in again["faults"] if fault in one]
        plan = await answered(case, status="answered", plan={"tasks": tasks_of(HARMLESS)})
        assert plan == HARMLESS

    async def test_accepting_what_cannot_be_run_does_not_make_it_run(self, alone: Alone) -> None:
        case = asking(alone)
        await asked(case)
        case.answer({"status": "answered", "plan": {"tasks": [{"id": "a", "agent": "nobody", "task": "?"}]}})
        await asked(case)
        case.answer({"status": "approved"})

        assert (await asked(case))["faults"]

    async def test_after_three_plans_that_cannot_be_run_nothing_is_done(self, alone: Alone) -> None:
        case = asking(alone)
        for _ in range(3):
            await asked(case)
            case.answer({"status": "answered", "plan": {"tasks": []}})

        end = await case.drive()

        assert (end.how, end.value) == ("completed", None)
