"""Whether the results are enough: what rules can tell, what a model is asked, and what planning again cannot mend."""

import json
from typing import Any

import pytest

from agents.craft.exchange import AgentOutput
from agents.pipeline.plans import Plan, PlanTask
from agents.pipeline.verify import Verdict, verified
from agents.runtime.context import AgentContext
from tests.scripted.script import Script
from tests.scripted.server import ScriptedServer
from tests.skills.alone import Alone

# a, b -> c -> d
PLAN = Plan(
    tasks=(
        PlanTask(id="a", agent="rag", task="Find the budget", expected_outcome="a figure"),
        PlanTask(id="b", agent="web", task="Find benchmarks"),
        PlanTask(id="c", agent="data", task="Compare", depends_on=("a", "b")),
        PlanTask(id="d", agent="mail", task="Send it", tools=("send_email",), depends_on=("c",)),
    )
)
SATISFIED = json.dumps({"satisfied": True, "feedback": "", "redo": []})


def done(task_id: str, result: str = "Found.", **more: Any) -> AgentOutput:
    task = next(task for task in PLAN.tasks if task.id == task_id)
    return AgentOutput(
        agent_id=task_id,
        agent_name=task.agent,
        task_description=task.task,
        task_done=True,
        result=result,
        depends_on=task.depends_on,
        **more,
    )


def failed(task_id: str, error: str) -> AgentOutput:
    return done(task_id, "").model_copy(update={"task_done": False, "error": error})


ALL = {task_id: done(task_id) for task_id in "abcd"}


async def judged(alone: Alone, outputs: dict[str, AgentOutput], **more: Any) -> Verdict:
    async def program(context: AgentContext, value: Any) -> Any:
        verdict = await verified(context, "Is our budget usual?", PLAN, outputs, **more)
        return verdict.model_dump(mode="json")

    end = await alone(program).drive()
    assert end.how == "completed", end
    return Verdict.model_validate(end.value)


def answer(*, satisfied: bool = False, feedback: str = "", redo: Any = ()) -> Script:
    return Script(model="scripted-flash", text=json.dumps({"satisfied": satisfied, "feedback": feedback, "redo": redo}))


@pytest.mark.spec("S14")
async def test_good_results_are_enough(alone: Alone, scripted_server: ScriptedServer) -> None:
    scripted_server.say(SATISFIED)

    assert await judged(alone, ALL) == Verdict(satisfied=True)
    asked = scripted_server.calls[0].last_user
    for part in ("Is our budget usual?", "Find the budget", "expected: a figure", "Found."):
        assert part in asked


@pytest.mark.spec("S14")
async def test_of_a_long_result_both_ends_are_told_and_that_it_is_longer(
    alone: Alone, scripted_server: ScriptedServer
) -> None:
    scripted_server.say(SATISFIED)

    await judged(alone, ALL | {"c": done("c", f"It begins.{' So it goes on.' * 400} It ends.")})

    system, told = (message["content"] for message in scripted_server.calls[0].messages)
    assert "never call a result incomplete" in system
    assert "result: 6,019 characters; its beginning and its end are shown" in told
    assert told.count("are shown") == 1, "the others are whole"
    assert told.index("It begins.") < told.index("\n[…]\n") < told.index("It ends.")
    assert len(told) < 4_000


@pytest.mark.spec("S14")
async def test_the_conversation_is_told_from_which_the_question_goes_on(
    alone: Alone, scripted_server: ScriptedServer
) -> None:
    scripted_server.say(SATISFIED)
    history = ({"role": "user", "content": "Look at Acme and Globex."}, {"role": "assistant", "content": "I did."})

    await judged(alone, ALL, history=history)

    assert "Look at Acme and Globex." in scripted_server.calls[0].last_user


@pytest.mark.spec("S14")
async def test_a_task_that_failed_is_to_be_planned_again_without_asking_a_model(alone: Alone) -> None:
    verdict = await judged(alone, ALL | {"b": failed("b", "model_garbled"), "c": failed("c", "skipped")})

    assert not verdict.satisfied
    assert verdict.redo[:2] == ("b", "c")
    assert "web (b)" in verdict.feedback
    assert "model_garbled" in verdict.feedback


async def test_so_is_one_that_says_nothing(alone: Alone) -> None:
    verdict = await judged(alone, ALL | {"a": done("a", "  ")})

    assert (verdict.satisfied, verdict.redo) == (False, ("a", "c"))


async def test_a_result_that_is_all_data_says_something(alone: Alone, scripted_server: ScriptedServer) -> None:
    scripted_server.say(SATISFIED)

    assert (await judged(alone, ALL | {"a": done("a", "", data={"count": 3})})).satisfied


@pytest.mark.spec("S14")
async def test_the_model_may_find_that_a_result_is_of_no_use(alone: Alone, scripted_server: ScriptedServer) -> None:
    scripted_server.script(answer(feedback="The benchmarks are from 1999.", redo=["b"]))

    verdict = await judged(alone, {task_id: ALL[task_id] for task_id in "abc"})

    assert not verdict.satisfied
    assert verdict.feedback == "The benchmarks are from 1999."
    assert verdict.redo == ("b", "c", "d")


async def test_something_more_can_be_wanted_without_doing_anything_again(
    alone: Alone, scripted_server: ScriptedServer
) -> None:
    scripted_server.script(answer(feedback="Nobody looked at 2024."))

    verdict = await judged(alone, ALL)

    assert (verdict.satisfied, verdict.feedback, verdict.redo) == (False, "Nobody looked at 2024.", ())


async def test_what_cannot_be_undone_is_never_done_again(alone: Alone, scripted_server: ScriptedServer) -> None:
    scripted_server.script(answer(feedback="The benchmarks are from 1999.", redo=["b", "d"]))

    assert (await judged(alone, ALL)).redo == ("b", "c")


@pytest.mark.spec("S32")
@pytest.mark.parametrize(
    "error",
    [
        "not_configured",
        "denied_by_user",
        "deleted",
        "hitl_timeout",
        "hitl_skipped_non_streaming",
        "cancelled",
        "budget",
    ],
)
async def test_what_planning_again_cannot_mend_is_left_to_the_composer(
    alone: Alone, scripted_server: ScriptedServer, error: str
) -> None:
    scripted_server.say(SATISFIED)
    outputs = ALL | {"b": failed("b", error), "c": failed("c", "skipped"), "d": failed("d", "skipped")}

    assert (await judged(alone, outputs)).satisfied
    told = scripted_server.calls[0].last_user
    assert f"- b: {error}" in told
    assert f"- c: {error}" in told


async def test_nor_does_the_model_make_it_be_planned_again(alone: Alone, scripted_server: ScriptedServer) -> None:
    scripted_server.script(answer(feedback="The mail was not sent.", redo=["d"]))

    assert (await judged(alone, ALL | {"d": failed("d", "denied_by_user")})).satisfied


@pytest.mark.parametrize("redo", [["x"], ["a", "x"]])
async def test_ids_that_do_not_exist_are_not_done_again(
    alone: Alone, scripted_server: ScriptedServer, redo: list[str]
) -> None:
    scripted_server.script(answer(feedback="Wrong.", redo=redo))

    assert "x" not in (await judged(alone, ALL)).redo


async def test_a_no_without_a_reason_is_no_reason_to_plan_again(alone: Alone, scripted_server: ScriptedServer) -> None:
    scripted_server.script(answer())

    assert (await judged(alone, ALL)).satisfied


@pytest.mark.parametrize("line", [Script(status=503), Script(text="It looks fine to me.", times=3)])
async def test_an_answer_is_not_lost_for_want_of_a_verifier(
    alone: Alone, scripted_server: ScriptedServer, line: Script
) -> None:
    scripted_server.script(line)

    verdict = await judged(alone, ALL)

    assert verdict.satisfied
    assert verdict.note
