"""A plan that is shown before it runs (B13): when it is; accepted, changed, rejected, or made what cannot be run."""

import json
from decimal import Decimal
from typing import Any

import pytest

from agents.craft.exchange import Options
from agents.pipeline.not_agreed import NotAgreed
from agents.pipeline.plan_costs import NOTED, PlanCost
from agents.pipeline.planner import Agreed, asked_first
from agents.pipeline.plans import Plan, PlanTask, faults_of
from agents.runtime.context import AgentContext
from agents.tools.registry import tools
from hyperagent.lib.llm.prices import read
from hyperagent.lib.llm.providers import Choice
from hyperagent.lib.llm.types import Tier
from tests.doubles.memory_journal import Death
from tests.loop.driving import LoopCase
from tests.pipeline.rosters import ROSTER
from tests.pipeline.turn_driving import drive_case
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


# Of each task: five rounds of 4,000 tokens read and 800 written at these prices, $0.08 a round.
PRICES = '{"scripted/scripted-pro": {"input": 10, "output": 50}}'
BOTH_USD = 0.8


def asking(
    alone: Alone,
    plan: Plan = HARMLESS,
    *,
    wanted: bool = True,
    interactive: bool = True,
    tier: str | None = None,
    prices: str = "",
    **more: Any,
) -> LoopCase:
    async def program(context: AgentContext, value: Any) -> Any:
        options = Options(show_plan=wanted, interactive=interactive, tier=tier)
        agreed = await asked_first(context, plan, options=options, roster=ROSTER, **more)
        if isinstance(agreed, NotAgreed):
            return {"code": agreed.code, "reason": agreed.reason}
        return agreed.plan.model_dump(mode="json")

    case = alone(program)
    case.models.prices = read(prices)
    return case


async def asked(case: LoopCase) -> dict[str, Any]:
    """Drives the run to its question, and gives the question."""
    end = await case.drive()
    assert end.how == "waiting", end
    (request,) = case.open_requests
    assert request.kind == "plan"
    question: dict[str, Any] = json.loads(json.dumps(request.question))
    return question


async def refused(case: LoopCase, **answer: Any) -> dict[str, Any]:
    case.answer(answer)
    end = await case.drive()
    assert end.how == "completed", end
    told: dict[str, Any] = end.value
    return told


async def answered(case: LoopCase, **answer: Any) -> Plan:
    return Plan.model_validate(await refused(case, **answer))


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

    @pytest.mark.spec("S132")
    async def test_what_will_need_a_yes_is_named_on_it_also_where_it_can_be_undone(self, alone: Alone) -> None:
        codes = PlanTask(id="code_agent-444444", agent="code", task="Reckon", tools=("execute_code",))
        plan = GRAVE.model_copy(update={"tasks": (*GRAVE.tasks, codes)})

        question = await asked(asking(alone, plan, wanted=False))

        assert question["asks_about"] == ["execute_code", "send_email"]
        assert "execute_code" not in question["question"]
        assert not tools()["execute_code"].irreversible

    async def test_so_is_one_whose_tools_are_named_so(self, alone: Alone) -> None:
        question = await asked(asking(alone, wanted=False, irreversible={"web_search"}))

        assert question["asks_about"] == ["web_search"]

    async def test_so_is_any_plan_if_somebody_wants_it(self, alone: Alone) -> None:
        assert (await asked(asking(alone)))["tasks"]

    async def test_nobody_is_asked_where_nobody_can_answer(self, alone: Alone) -> None:
        end = await asking(alone, GRAVE, interactive=False).drive()

        assert Plan.model_validate(end.value) == GRAVE


@pytest.mark.spec("B13")
class TestWhatItCosts:
    async def test_a_plan_at_the_limit_runs_without_a_question(self, alone: Alone) -> None:
        end = await asking(alone, wanted=False, prices=PRICES, limit_usd=BOTH_USD).drive()

        assert Plan.model_validate(end.value) == HARMLESS

    async def test_one_above_it_is_shown_with_what_it_is_reckoned_at_and_the_limit(self, alone: Alone) -> None:
        question = await asked(asking(alone, wanted=False, prices=PRICES, limit_usd=0.799))

        assert question["question"] == (
            "This is the plan. Accept it, change it, or reject it. "
            "It is reckoned to cost $0.80, and plans above $0.799 are asked about."
        )
        assert question["asks_about"] == []
        assert question["cost"] == {
            "reckoned_usd": 0.8,
            "known_usd": 0.8,
            "limit_usd": 0.799,
            "unpriced_models": [],
        }

    async def test_without_a_limit_no_price_is_looked_at(self, alone: Alone) -> None:
        case = asking(alone, wanted=False, prices=PRICES, limit_usd=0)
        end = await case.drive()

        assert (end.how, case.steps_named(NOTED)) == ("completed", [])

    async def test_nobody_is_asked_where_nobody_can_answer(self, alone: Alone) -> None:
        end = await asking(alone, interactive=False, prices=PRICES, limit_usd=0.01).drive()

        assert Plan.model_validate(end.value) == HARMLESS

    async def test_it_is_reckoned_at_the_model_that_was_chosen(self, alone: Alone) -> None:
        each = {"scripted-flash": {"input": 1, "output": 5}, "scripted-max": {"input": 100, "output": 9}}
        prices = json.dumps(each)
        cheap = await asking(alone, wanted=False, prices=prices, limit_usd=0.06, tier=Tier.FLASH).drive()

        assert cheap.how == "completed"
        assert (await asked(asking(alone, wanted=False, prices=prices, limit_usd=0.06, tier=Tier.MAX)))["cost"]

    async def test_an_agent_that_may_take_more_rounds_is_reckoned_with_them(self, alone: Alone) -> None:
        roster = {**ROSTER, "web": ROSTER["web"].model_copy(update={"max_iterations": 10})}

        async def program(context: AgentContext, value: Any) -> Any:
            agreed = await asked_first(context, HARMLESS, options=Options(), roster=roster, limit_usd=9)
            assert isinstance(agreed, Agreed)
            return float(agreed.cost.usd)

        case = alone(program)
        case.models.prices = read(PRICES)

        assert (await case.drive()).value == pytest.approx(1.2)


@pytest.mark.spec("B13", "B11")
class TestPricesThatAreNotKnown:
    async def test_they_are_no_reason_to_ask(self, alone: Alone) -> None:
        case = asking(alone, wanted=False, limit_usd=0.01)
        end = await case.drive()

        assert Plan.model_validate(end.value) == HARMLESS
        assert case.events("stage") == []

    async def test_what_is_known_counts_and_the_question_says_what_is_not(self, alone: Alone) -> None:
        case = asking(alone, wanted=False, prices=PRICES, limit_usd=0.39)
        agents = {"rag": Choice(model="scripted/own-model")}
        case.models.settings = case.models.settings.model_copy(update={"agents": agents})

        question = await asked(case)

        assert "It is reckoned to cost $0.40, and plans above $0.39 are asked about. " in question["question"]
        assert "What scripted/own-model cost is not known, and is not counted." in question["question"]
        assert (question["cost"]["reckoned_usd"], question["cost"]["known_usd"]) == (None, 0.4)

    async def test_a_plan_that_is_shown_for_another_reason_is_never_said_to_cost_nothing(self, alone: Alone) -> None:
        question = await asked(asking(alone, GRAVE, wanted=False, limit_usd=1))

        assert "$" not in question["question"]
        assert question["cost"]["reckoned_usd"] is None
        assert question["cost"]["unpriced_models"] == ["scripted/scripted-pro"]


@pytest.mark.spec("B13", "B1")
class TestAReplay:
    async def test_what_was_reckoned_holds_though_the_price_is_another_by_now(self, alone: Alone) -> None:
        case = asking(alone, wanted=False, prices=PRICES, limit_usd=0.5)
        question = await asked(case)
        case.models.prices = read("")

        assert await asked(case) == question
        assert await answered(case, status="approved") == HARMLESS
        assert (case.events("journal_cut"), len(case.steps_named(NOTED))) == ([], 1)

    @pytest.mark.parametrize("death", Death)
    async def test_killed_at_any_of_its_records_it_asks_the_same_once(self, alone: Alone, death: Death) -> None:
        whole = asking(alone, wanted=False, prices=PRICES, limit_usd=0.5)
        question = await asked(whole)
        whole.answer({"status": "approved"})
        _, writes = await drive_case(whole)

        for at in range(1, writes + 6):
            case = asking(alone, wanted=False, prices=PRICES, limit_usd=0.5)
            await drive_case(case, death, at)
            assert await asked(case) == question, at
            case.answer({"status": "approved"})
            await drive_case(case, death, at)
            end = await case.drive()

            assert (end.how, Plan.model_validate(end.value)) == ("completed", HARMLESS), at
            assert (case.events("journal_cut"), len(case.events("interrupt"))) == ([], 1), at


FIRST = Agreed(HARMLESS, cost=PlanCost(usd=Decimal("0.7")))
DONE = HARMLESS.ids[:1]


def again(*agents: str) -> Plan:
    """What is done of the first plan, and a task for each of these after it."""
    new = tuple(
        PlanTask(id=f"{agent}_agent-{number}", agent=agent, task=f"Mend {number}", tools=ROSTER[agent].tools[-1:])
        for number, agent in enumerate(agents)
    )
    return HARMLESS.model_copy(update={"tasks": (*HARMLESS.tasks[:1], *new), "revision": 1})


@pytest.mark.spec("B13", "S14")
class TestAPlanThatGoesOn:
    def asking(self, alone: Alone, plan: Plan, earlier: Agreed = FIRST, **more: Any) -> LoopCase:
        return asking(alone, plan, earlier=earlier, done=DONE, **more)

    async def test_with_nothing_new_to_agree_to_it_runs_also_where_the_first_was_wanted(self, alone: Alone) -> None:
        end = await self.asking(alone, again("web")).drive()

        assert Plan.model_validate(end.value) == again("web")

    async def test_what_cannot_be_undone_is_asked_about_and_only_what_is_left_is_shown(self, alone: Alone) -> None:
        question = await asked(self.asking(alone, again("mail")))

        assert question["question"].startswith("This is the plan for what is missing. Accept it")
        assert question["asks_about"] == ["send_email"]
        assert [task["id"] for task in question["tasks"]] == ["mail_agent-0"]

    async def test_what_somebody_agreed_to_before_is_not_asked_about_again(self, alone: Alone) -> None:
        earlier = Agreed(GRAVE, grave=frozenset({"send_email"}))
        end = await self.asking(alone, again("mail"), earlier).drive()

        assert end.how == "completed"

    async def test_the_first_that_lifts_the_whole_above_the_limit_is_asked_about(self, alone: Alone) -> None:
        question = await asked(self.asking(alone, again("web"), prices=PRICES, limit_usd=1))

        assert (
            "With what was planned before, it is reckoned to cost $1.10, and plans above $1.00" in question["question"]
        )

    async def test_above_the_limit_before_it_is_not_asked_about_for_that_again(self, alone: Alone) -> None:
        end = await self.asking(alone, again("web"), prices=PRICES, limit_usd=0.6).drive()

        assert end.how == "completed"

    async def test_changed_it_keeps_what_is_done(self, alone: Alone) -> None:
        case = self.asking(alone, again("mail", "web"))
        question = await asked(case)
        (mail, _) = question["tasks"]

        plan = await answered(case, status="answered", plan={"tasks": [{**mail, "depends_on": list(DONE)}]})

        assert plan.ids == (*DONE, "mail_agent-0")
        assert (plan.tasks[0], plan.tasks[1].depends_on, plan.revision) == (HARMLESS.tasks[0], DONE, 2)

    async def test_what_is_done_cannot_be_planned_into_it_again(self, alone: Alone) -> None:
        case = self.asking(alone, again("mail"))
        await asked(case)
        case.answer({"status": "answered", "plan": {"tasks": tasks_of(HARMLESS)}})

        assert "already done" in (await asked(case))["question"]


@pytest.mark.spec("B13")
class TestTheAnswer:
    async def test_accepted_it_runs_as_it_is(self, alone: Alone) -> None:
        case = asking(alone)
        await asked(case)

        assert await answered(case, status="approved") == HARMLESS

    @pytest.mark.spec("B6", "S123")
    @pytest.mark.parametrize(
        ("status", "code", "reason"),
        [
            ("denied", "denied_by_user", "Not today."),
            ("timed_out", "hitl_timeout", "Nobody answered in time."),
            ("expired", "hitl_timeout", "Nobody answered in time."),
            ("cancelled", "hitl_cancelled", "It was withdrawn."),
        ],
    )
    async def test_rejected_or_without_an_answer_it_does_not_run_and_neither_is_taken_for_the_other(
        self, alone: Alone, status: str, code: str, reason: str
    ) -> None:
        case = asking(alone)
        await asked(case)

        assert await refused(case, status=status, instructions="Not today.") == {"code": code, "reason": reason}

    async def test_a_tasks_text_is_changed(self, alone: Alone) -> None:
        case = asking(alone)
        await asked(case)
        changed = tasks_of(HARMLESS)
        changed[0]["task"] = "Find the budget of 2026"

        plan = await answered(case, status="answered", plan={"tasks": changed})

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

        assert (end.how, end.value) == (
            "completed",
            {"code": "plan_cannot_run", "reason": "the plan has no task"},
        )
