"""Plans by the planner's model: taken, amended, or replaced; always one that can be run, and people are told."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from agents.craft.exchange import AgentOutput, Options
from agents.engine.states import StepKind
from agents.pipeline.planner import make_plan, make_plan_by_words
from agents.pipeline.plans import Plan, PlanTask, faults_of, stages
from agents.roles.router import ask_router
from agents.runtime.context import AgentContext
from agents.spec import AgentSpec
from tests.doubles.memory_journal import Death
from tests.loop.driving import LoopCase
from tests.pipeline.rosters import ROSTER
from tests.scripted.script import Script
from tests.scripted.server import ScriptedServer
from tests.skills.alone import Alone

QUESTION = "Compare our budget with public benchmarks"
Task = dict[str, Any]


def task(id_: Any, agent: str = "chat", after: Any = (), **more: Any) -> Task:
    return {"id": id_, "agent": agent, "task": f"Do {id_}", "depends_on": list(after), **more}


def answer(*tasks: Task, intent: str = "a comparison", entities: Any = None) -> str:
    return json.dumps({"analysis": {"intent": intent, "entities": entities or {}}, "execution_plan": list(tasks)})


GOOD = answer(task("1", "rag"), task("2", "web"), task("3", "data", ["1", "2"]), entities={"year": "2025"})
NEEDS = {"rag": "documents", "web": "web", "mail": "mailbox"}
NEEDY = {
    name: spec.model_copy(update={"needs": (NEEDS[name],)}) if name in NEEDS else spec for name, spec in ROSTER.items()
}
CYCLE = answer(task("a", "rag", ["b"]), task("b", "web", ["a"]))


def planning(alone: Alone, question: str = QUESTION, **more: Any) -> LoopCase:
    async def program(context: AgentContext, value: Any) -> Any:
        given: dict[str, Any] = {"history": (), "profile": {}, "roster": ROSTER, **more}
        plan = await make_plan(context, question, **given)
        return plan.model_dump(mode="json")

    return alone(program)


def planning_by_words(alone: Alone, question: str) -> LoopCase:
    async def program(context: AgentContext, value: Any) -> Any:
        plan = await make_plan_by_words(context, question, roster=ROSTER)
        return plan.model_dump(mode="json")

    return alone(program)


async def planned(alone: Alone, question: str = QUESTION, **more: Any) -> tuple[Plan, list[dict[str, Any]]]:
    return await made(planning(alone, question, **more), roster=more.get("roster", ROSTER))


async def made(case: LoopCase, *, roster: Mapping[str, AgentSpec] = ROSTER) -> tuple[Plan, list[dict[str, Any]]]:
    """The plan, and what people were told; checked as every plan is before it is run."""
    end = await case.drive()
    assert end.how == "completed", end
    plan = Plan.model_validate(end.value)
    assert faults_of(plan, agents=roster) == []
    return plan, case.all_events


def told(events: list[dict[str, Any]], name: str = "plan") -> list[str]:
    return [event["description"] for event in events if event["type"] == "stage" and event["name"] == name]


def overviews(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event for event in events if event["type"] == "plan_overview"]


@pytest.mark.spec("S12", "S13", "S23", "S25", "S28")
async def test_the_models_graph_becomes_the_plan(alone: Alone, scripted_server: ScriptedServer) -> None:
    scripted_server.script(Script(model="scripted-pro", text=GOOD))

    plan, events = await planned(alone)

    assert [one.agent for one in plan.tasks] == ["rag", "web", "data"]
    assert [len(stage) for stage in stages(plan)] == [2, 1]
    assert plan.tasks[2].depends_on == plan.ids[:2]
    assert plan.ids[0].startswith("rag_agent-")
    assert (plan.intent, plan.entities, plan.origin) == ("a comparison", {"year": "2025"}, "planner")
    (overview,) = overviews(events)
    assert [(step["id"], step["stage"]) for step in overview["steps"]] == list(zip(plan.ids, (1, 1, 2), strict=True))


@pytest.mark.spec("S183")
async def test_the_planner_is_told_what_every_agent_is_good_for(alone: Alone, scripted_server: ScriptedServer) -> None:
    scripted_server.say(GOOD)

    await planned(alone)

    system = scripted_server.calls[0].messages[0]["content"]
    for spec in ROSTER.values():
        assert spec.description in system
        assert spec.capabilities[0] in system
        assert spec.typical_use_cases[0] in system
        assert ", ".join(spec.tools) in system


@pytest.mark.spec("S12")
async def test_it_reads_the_question_the_conversation_and_who_asks(
    alone: Alone, scripted_server: ScriptedServer
) -> None:
    scripted_server.say(GOOD)
    history = ({"role": "user", "content": "We are Acme."}, {"role": "assistant", "content": "Noted."})
    profile = {"critical": {"company_name": "Acme"}, "preferences": {"tone": "formal"}}

    await planned(alone, history=history, profile=profile)

    asked = scripted_server.calls[0].last_user
    for part in (QUESTION, "We are Acme.", "Company: Acme", "formal"):
        assert part in asked


async def test_a_task_without_tools_has_all_of_its_agent(alone: Alone, scripted_server: ScriptedServer) -> None:
    scripted_server.say(answer(task("1", "rag"), task("2", "mail", ["1"], tools=["search_inbox"])))

    plan, _ = await planned(alone)

    assert [one.tools for one in plan.tasks] == [ROSTER["rag"].tools, ("search_inbox",)]


async def test_people_see_what_they_will_be_asked_about(alone: Alone, scripted_server: ScriptedServer) -> None:
    scripted_server.say(answer(task("1", "rag"), task("2", "mail", ["1"], tools=["send_email"])))

    _, events = await planned(alone)

    assert overviews(events)[0]["asks_about"] == ["send_email"]


async def test_one_task_is_no_plan_its_agent_answers_itself(alone: Alone, scripted_server: ScriptedServer) -> None:
    scripted_server.say(answer(task("1", "web")))

    plan, events = await planned(alone)

    assert (plan.origin, plan.notice, [one.agent for one in plan.tasks]) == ("single", "", ["web"])
    assert overviews(events) == []


@pytest.mark.parametrize(
    "text",
    [
        f"Here is the plan.\n{GOOD}\nI hope it helps!",
        f"```json\n{GOOD}\n```",
        f"```json\n```json\n{GOOD}\n```\n```",
        GOOD.replace('"1"', "1").replace('"2"', "2"),
        GOOD.replace('"rag"', '"rag_agent"').replace('"web"', '"WEB_AGENT"'),
        answer(task("1", "rag", tools=None), task("2", "web", entities=None), task("3", "data", expected_outcome=None)),
        answer({"id": "1", "agent": "rag", "task": "A"}, {"id": "2", "agent": "web", "task": "B", "depends_on": "1"}),
    ],
    ids=["prose around it", "a fence", "a fence in a fence", "numbers as ids", "other names", "nulls", "a lone name"],
)
async def test_what_is_meant_is_understood(alone: Alone, scripted_server: ScriptedServer, text: str) -> None:
    scripted_server.say(text)

    plan, _ = await planned(alone)

    assert [one.agent for one in plan.tasks][:2] == ["rag", "web"]
    assert len(scripted_server.calls) == 1


# What a planner may answer instead of a plan, with what it and people are told of it.
GARBAGE = {
    "a cycle": (CYCLE, "circular dependency: a -> b -> a"),
    "an unknown agent": (answer(task("1", "astrologer"), task("2")), "'astrologer'"),
    "an unknown id": (answer(task("1"), task("2", "web", ["9"])), "waits for '9', which is not in the plan"),
    "a self-dependency": (answer(task("1", "rag", ["1"]), task("2")), "task '1' waits for itself"),
    "200 tasks": (answer(*(task(str(number), "web") for number in range(200))), "the plan has 200 tasks"),
    "no task": (answer(), "the plan has no task"),
    "an unknown tool": (answer(task("1", "rag", tools=["fly"]), task("2")), "'fly', which does not exist"),
    "another's tool": (answer(task("1", "rag", tools=["send_email"]), task("2")), "the tool 'send_email'"),
    "an id twice": (answer(task("1"), task("1", "web")), "the id '1' is used by 2 tasks"),
}


class TestGarbage:
    @pytest.mark.spec("S27")
    @pytest.mark.parametrize(("text", "fault"), GARBAGE.values(), ids=GARBAGE.keys())
    async def test_the_planner_amends_it(
        self, alone: Alone, scripted_server: ScriptedServer, text: str, fault: str
    ) -> None:
        scripted_server.script(Script(text=text), Script(text=GOOD))

        plan, events = await planned(alone)

        assert [one.agent for one in plan.tasks] == ["rag", "web", "data"]
        assert fault in scripted_server.calls[1].last_user
        assert [said for said in told(events) if fault in said]
        assert plan.notice == ""

    @pytest.mark.parametrize(("text", "fault"), GARBAGE.values(), ids=GARBAGE.keys())
    async def test_after_two_amendments_one_agent_does_it(
        self, alone: Alone, scripted_server: ScriptedServer, text: str, fault: str
    ) -> None:
        scripted_server.script(Script(text=text, times=3))

        plan, events = await planned(alone, "What does our handbook say about budgets?")

        assert (plan.origin, [one.agent for one in plan.tasks]) == ("single", ["rag"])
        assert plan.tasks[0].task == "What does our handbook say about budgets?"
        assert fault in plan.notice
        assert told(events)[-1] == plan.notice

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "I would rather not.",
            '{"execution_plan": [{"id": "1", "agent": "rag"',
            '{"steps": ["search", "compare"]}',
            '{"execution_plan": {"1": "search"}}',
            '["search", "compare"]',
            '{"execution_plan": [{"id": "1"}]}',
            "null",
        ],
    )
    async def test_what_is_no_plan_at_all_is_asked_for_again_and_then_done_without(
        self, alone: Alone, scripted_server: ScriptedServer, text: str
    ) -> None:
        scripted_server.script(Script(text=text, times=0))

        plan, events = await planned(alone, "What does our handbook say about budgets?")

        assert (plan.origin, [one.agent for one in plan.tasks]) == ("single", ["rag"])
        assert told(events)[-1] == plan.notice
        assert len(scripted_server.calls) <= 3

    async def test_the_right_shape_at_the_second_try_is_taken(
        self, alone: Alone, scripted_server: ScriptedServer
    ) -> None:
        scripted_server.script(Script(text='{"steps": []}'), Script(text=GOOD))

        plan, _ = await planned(alone)

        assert len(plan.tasks) == 3
        assert "execution_plan" in scripted_server.calls[1].last_user

    async def test_all_faults_are_told_at_once(self, alone: Alone, scripted_server: ScriptedServer) -> None:
        bad = answer(task("a", "rag", ["b"]), task("b", "web", ["a", "x"]), task("c", "nobody", ["c"]))
        scripted_server.script(Script(text=bad), Script(text=GOOD))

        await planned(alone)

        asked = scripted_server.calls[1].last_user
        for part in ("a -> b -> a", "'x'", "'nobody'", "waits for itself"):
            assert part in asked
        assert json.loads(scripted_server.calls[1].messages[-2]["content"])["execution_plan"][0]["id"] == "a"

    async def test_a_provider_in_trouble_does_not_lose_the_question(
        self, alone: Alone, scripted_server: ScriptedServer
    ) -> None:
        scripted_server.script(Script(status=503, times=0))

        plan, events = await planned(alone)

        assert plan.origin == "single"
        assert "Try again in a moment" in plan.notice
        assert told(events)[-1] == plan.notice


LISTED = "First list the prices in my documents, then ask the web for others, and mail it to Bob"


@pytest.mark.spec("S27")
class TestWhoDoesItAlone:
    @pytest.mark.parametrize(
        ("question", "missing", "agent"),
        [
            (LISTED, {}, "rag"),
            (LISTED, {"documents": "There are no documents."}, "chat"),
            ("Email Bob the latest news about our competitor", {}, "chat"),
            ("Find the mail from Carla and forward it to Tom", {}, "mail"),
            ("Find the mail from Carla and forward it to Tom", {"mailbox": "You have no mailbox."}, "chat"),
            ("Search the web for bikes", {}, "web"),
            ("Search the web for bikes", {"web": "There is no search."}, "chat"),
        ],
    )
    async def test_it_is_one_that_is_there_and_mail_only_for_what_is_all_of_the_mailbox(
        self, question: str, missing: dict[str, str], agent: str, alone: Alone, scripted_server: ScriptedServer
    ) -> None:
        scripted_server.script(Script(text=CYCLE, times=3))
        case = planning(alone, question, roster=NEEDY)
        assert case.door is not None
        case.door.missing = missing

        end = await case.drive()

        plan = Plan.model_validate(end.value)
        assert [one.agent for one in plan.tasks] == [agent]
        assert plan.notice.startswith(f"No plan could be made, so the {agent} agent works on it alone.")

    async def test_what_was_there_when_it_was_chosen_is_what_a_replay_goes_by(
        self, alone: Alone, scripted_server: ScriptedServer
    ) -> None:
        scripted_server.script(Script(text=CYCLE, times=3))

        async def program(context: AgentContext, value: Any) -> Any:
            more: dict[str, Any] = {"history": (), "profile": {}, "roster": NEEDY}
            plan = await make_plan(context, "Search the web for bikes", **more)
            await context.ask("input", {"question": "go on?", "options": []})
            return plan.tasks[0].agent

        case = alone(program)
        assert (await case.drive()).how == "waiting"
        assert case.door is not None
        case.door.missing = {"web": "There is no search any more."}
        case.answer({"status": "answered", "text": "yes"})

        assert (await case.drive()).value == "web"
        assert case.events("journal_cut") == []


@pytest.mark.spec("S12", "S14")
async def test_planning_again_keeps_what_is_done_and_is_told_what_is_missing(
    alone: Alone, scripted_server: ScriptedServer
) -> None:
    before = Plan(
        tasks=(
            PlanTask(id="rag_agent-111111", agent="rag", task="Find the budget"),
            PlanTask(id="web_agent-222222", agent="web", task="Find benchmarks"),
            PlanTask(id="data_agent-333333", agent="data", task="Compare", depends_on=("rag_agent-111111",)),
        )
    )
    found = AgentOutput(
        agent_id="rag_agent-111111",
        agent_name="rag",
        task_description="Find the budget",
        task_done=True,
        result="The budget is 4 million.",
    )
    scripted_server.say(answer(task("1", "research"), task("2", "data", ["1", "rag_agent-111111"])))

    plan, events = await planned(
        alone, before=before, done={"rag_agent-111111": found}, revision_context="The benchmarks are from 1999."
    )

    assert [one.agent for one in plan.tasks] == ["rag", "research", "data"]
    assert plan.tasks[2].depends_on == (plan.ids[1], "rag_agent-111111")
    assert not set(plan.ids[1:]) & set(before.ids)
    assert (plan.revision, overviews(events)[0]["revision"]) == (1, 1)
    asked = scripted_server.calls[0].last_user
    assert "The budget is 4 million." in asked
    assert "The benchmarks are from 1999." in asked


async def test_a_model_that_somebody_chose_plans(alone: Alone, scripted_server: ScriptedServer) -> None:
    scripted_server.script(Script(model="special", text=GOOD))

    plan, _ = await planned(alone, options=Options(provider="scripted", model="special"))

    assert len(plan.tasks) == 3


class TestWithoutACapableModel:
    @pytest.mark.spec("S28")
    async def test_the_patterns_plan(self, alone: Alone) -> None:
        question = "Search my docs for the budget, find benchmarks online, then write code to compare them"

        plan, events = await made(planning_by_words(alone, question))

        assert (plan.origin, [one.agent for one in plan.tasks]) == ("patterns", ["rag", "web", "code"])
        assert len(overviews(events)) == 1

    async def test_or_else_one_agent_does_it(self, alone: Alone) -> None:
        plan, events = await made(planning_by_words(alone, "Analyze and compare the figures in sales.csv"))

        assert (plan.origin, [one.agent for one in plan.tasks], plan.notice) == ("single", ["data"], "")
        assert overviews(events) == []


@pytest.mark.spec("S24")
async def test_planning_runs_beside_what_else_is_going_on(alone: Alone, scripted_server: ScriptedServer) -> None:
    """The other call is of the kind that looks for memories. Neither waits for the other."""

    async def program(context: AgentContext, value: Any) -> Any:
        async def plan(branch: AgentContext) -> Any:
            made = await make_plan(branch, QUESTION, history=(), profile={}, roster=ROSTER)
            return made.origin

        async def other(branch: AgentContext) -> Any:
            return (await ask_router(branch, "Who?", roster=ROSTER, history=())).agent

        return await context.all(plan, other)

    scripted_server.script(
        Script(model="scripted-pro", text=GOOD, first_delay_s=0.3),
        Script(model="scripted-flash", text='{"agent": "chat"}', first_delay_s=0.3),
    )

    end = await alone(program).drive()

    assert (end.how, end.value) == ("completed", ["planner", "chat"])
    assert scripted_server.most_at_once == 2


@pytest.mark.slow
@pytest.mark.parametrize("death", list(Death))
async def test_killed_at_any_record_it_makes_the_same_plan_and_asks_no_answer_twice(
    alone: Alone, scripted_server: ScriptedServer, death: Death
) -> None:
    lines = [Script(text=CYCLE), Script(text=answer(task("1", "nobody"))), Script(text=GOOD)]
    scripted_server.script(*lines)
    whole = planning(alone)
    expected = await whole.drive()
    texts = [_without_place(event) for event in whole.all_events]
    writes = len(whole.store.history(whole.execution_id))
    killed = 0

    for at in range(1, writes + 1):
        case = planning(alone)
        scripted_server.reset()
        scripted_server.script(*lines)
        end = await case.drive(death=death, at=at)
        if end.how == "killed":
            killed += 1
            recorded = sum(step.kind is StepKind.MODEL for step in case.store.steps(case.execution_id))
            scripted_server.reset()
            scripted_server.script(*lines[recorded:])
            end = await case.drive()

        assert end == expected
        assert [_without_place(event) for event in case.all_events] == texts
        scripted_server.verify()

    assert killed > 5


def _without_place(event: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in event.items() if name not in ("execution_id", "agent_id", "timestamp")}
