"""Agents that take for ever, providers that are gone, people who never answer: each whole turn ends, and says why."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from agents import actions, registry
from agents.craft.exchange import AgentInput, Work
from agents.models import Execution
from agents.pipeline.turn import DECLINED
from agents.pipeline.work import work
from agents.registry import Agent
from agents.runtime.context import AgentContext
from agents.runtime.driven import PipelineSettings
from agents.spec import AgentProgram
from hitl.ending import end_overdue
from tests.pipeline.graphs import PARALLEL, QUESTION, plan_text
from tests.runtime.driving import Runners, execution, start, until
from tests.runtime.endings import told, tool_steps_of, wholly_ended
from tests.runtime.roles import in_a_loop, own_models, says, sent
from tests.scripted.script import Script, ScriptedCall
from tests.scripted.server import ScriptedServer
from tests.tools.doubles import fake_providers

BIDI = "\u202eevil\u2066 \u0000 "
NEVER = json.dumps({"satisfied": False, "feedback": "It is too short.", "redo": []})


# --- what takes for ever, and what is gone


def impatient(run: AgentProgram, *, timeout_s: float) -> dict[str, Any]:
    """The chat agent with another program, that may take so long, and is tried twice."""
    limits = {"max_retries": 1, "timeout_s": timeout_s, "backoff_multiplier": 1.0}
    agent = Agent(registry.specs()["chat"], run)

    async def program(context: AgentContext, value: Mapping[str, Any]) -> Any:
        return await work(agent, context, {**value, "input": {**value["input"], "retry_config": limits}})

    return {"chat": program}


@pytest.mark.spec("S107", "S175")
async def test_an_agent_that_takes_too_long_is_tried_again_and_then_the_run_says_so(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    attempts: list[str] = []

    async def hangs(context: AgentContext, task: AgentInput) -> Work:
        attempts.append(task.task)
        await asyncio.Event().wait()
        return Work(result="never")

    await make_runner(scripted_server.url, extra=impatient(hangs, timeout_s=0.05))

    run, _ = await wholly_ended(await start(alice, "What is in it?", mode="chat"))

    assert len(attempts) == 2
    assert (run.status, run.error_message) == ("failed", "chat took longer than 0.05 s and was stopped.")


@pytest.mark.slow
@pytest.mark.spec("S107", "B28")
async def test_a_part_of_a_plan_that_takes_too_long_is_named_in_the_answer_and_the_others_stay(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    """The model's own answer never comes: it is given up together with its agent."""
    scripted_server.script(
        says("planner", plan_text(PARALLEL)),
        Script(model="scripted-chat", match="Work on alpha", first_delay_s=600, times=0),
        Script(model="scripted-chat", match="Work on beta", text="Found beta."),
        says("composer", "", status=503, times=0),
    )
    await make_runner(
        scripted_server.url,
        env=own_models("planner", "chat", "verifier", "composer"),
        extra=impatient(in_a_loop("chat"), timeout_s=1),
        pipeline=PipelineSettings(max_replans=0),
    )

    run, _ = await wholly_ended(await start(alice, QUESTION))

    assert run.status == "completed"
    assert "Found beta." in run.answer
    assert "chat took longer than 1 s and was stopped" in run.answer


DOWN: Mapping[str, dict[str, Any]] = {
    "faults": {"status": 503},
    "busy": {"status": 429},
    "closed": {"refuse": True},
    "cut": {"text": "Half of", "cut_after": 1},
    "no key": {"status": 401},
}


@pytest.mark.slow
@pytest.mark.spec("S107", "B28")
@pytest.mark.parametrize("how", DOWN)
async def test_a_provider_that_goes_down_in_the_middle_of_a_plan_leaves_what_was_found(
    how: str, alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(
        says("planner", plan_text({"alpha": (), "beta": ("alpha",)})),
        Script(model="scripted-chat", match="Work on alpha", text="Found alpha."),
        Script.model_validate({"times": 0, **DOWN[how]}),
    )
    await make_runner(scripted_server.url, env=own_models("planner", "chat"))

    run, _ = await wholly_ended(await start(alice, QUESTION))

    assert run.status == "completed"
    assert "Found alpha." in run.answer
    assert "Not done" in run.answer
    assert "Work on beta now." in run.answer
    assert "'scripted'" in run.answer, "the reason names the provider"


@pytest.mark.spec("S27", "S107")
async def test_without_its_planner_one_agent_answers_and_people_are_told(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(says("planner", "", status=503, times=0), Script(text="I did it alone.", times=0))
    env = own_models("planner") | dict.fromkeys(("CHAT_MODEL", "WRITING_MODEL"), "scripted/scripted-agent")
    await make_runner(scripted_server.url, env=env)

    run, said = await wholly_ended(await start(alice, QUESTION))

    assert run.status == "completed"
    assert "I did it alone." in run.answer
    assert any("has a fault of its own" in event["description"] for event in told(said, "stage", name="plan"))


@pytest.mark.slow
@pytest.mark.spec("S14", "S107")
async def test_a_verifier_that_is_never_satisfied_is_heard_twice_and_then_there_is_an_answer(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(
        says("planner", plan_text(PARALLEL), times=3),
        says("chat", "Done.", times=6),
        says("verifier", NEVER, times=3),
        says("composer", "The best that there is."),
    )
    await make_runner(scripted_server.url, env=own_models("planner", "chat", "verifier", "composer"))

    run, said = await wholly_ended(await start(alice, QUESTION))

    assert (run.status, run.answer) == ("completed", "The best that there is.")
    assert len(told(said, "stage", name="replan", status="running")) == 2
    assert len(told(said, "stage", name="replan", status="completed")) == 2
    assert run.result["plan"]["revision"] == 2


@pytest.mark.spec("S15", "S107")
async def test_a_plan_with_hostile_text_is_worked_through(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    plan = json.loads(plan_text(PARALLEL))
    plan["analysis"] = {"intent": BIDI, "entities": {BIDI: [BIDI, {"deep": BIDI}]}}
    for task in plan["execution_plan"]:
        task |= {"id": f"{task['id']}{BIDI}", "task": f"{task['task']} {BIDI} {'x' * 50_000}", "expected_outcome": BIDI}
    scripted_server.script(
        says("planner", plan),
        says("chat", f"Found {BIDI}", times=2),
        says("verifier", {"satisfied": True, "feedback": BIDI}),
        says("composer", "All of it. [1] [99] \u202e"),
    )
    await make_runner(scripted_server.url, env=own_models("planner", "chat", "verifier", "composer"))

    run, _ = await wholly_ended(await start(alice, QUESTION))

    assert (run.status, len(run.result["plan"]["tasks"])) == ("completed", 2)
    assert run.answer.startswith("All of it.")


# --- people who never answer

UNCLEAR = {"needs_clarification": True, "questions": [{"question": "To whom?"}]}


async def waits(id_: Any) -> None:
    async def waiting() -> bool:
        return (await execution(id_)).status == "awaiting_user"

    await until(waiting)


@pytest.mark.spec("S97", "S107", "B6")
async def test_a_question_that_nobody_answers_holds_no_slot_and_the_run_can_be_cancelled(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(says("clarifier", UNCLEAR), Script(match="Who are you?", text="A helper."))
    runner = await make_runner(scripted_server.url, env=own_models("clarifier"), concurrency=1)
    id_ = await start(alice, "Send it to him.")
    await waits(id_)

    other, _ = await wholly_ended(await start(alice, "Who are you?", mode="chat"))
    assert (other.answer, runner.driving) == ("A helper.", {})
    await sync_to_async(actions.cancel)(id_, by=alice)

    run, said = await wholly_ended(id_)
    assert (run.status, said[-1]["status"]) == ("cancelled", "cancelled")


@pytest.mark.spec("S97", "S107")
async def test_a_question_whose_time_is_over_ends_the_run_with_kind_words(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(says("clarifier", UNCLEAR))
    await make_runner(scripted_server.url, env=own_models("clarifier"), expires_s=0.05)
    id_ = await start(alice, "Send it to him.")
    await waits(id_)

    async def is_over() -> bool:
        """By this or by the runner's own look, whichever comes first."""
        await sync_to_async(end_overdue)()
        return (await Execution.objects.aget(id=id_)).status == "completed"

    await until(is_over)
    run, said = await wholly_ended(id_)
    assert (run.status, run.answer) == ("completed", DECLINED)
    assert told(said, "interrupt_response", status="timed_out")


@pytest.mark.spec("S107", "S112")
async def test_an_agent_whose_question_nobody_answers_goes_on_without(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    ask = ScriptedCall(name="ask_user", arguments=json.dumps({"question": "Which year?"}))
    scripted_server.script(Script(tool_calls=[ask]), Script(text="I took this year."))
    await make_runner(scripted_server.url, expires_s=0.05, providers=fake_providers())
    id_ = await start(alice, "What was it worth?", mode="chat")
    await waits(id_)

    await until(sync_to_async(end_overdue))

    run, _ = await wholly_ended(id_)
    assert (run.status, run.answer) == ("completed", "I took this year.")
    assert "Nobody answered in time" in sent(scripted_server, 1)
    assert not await tool_steps_of(id_)
