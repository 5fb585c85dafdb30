"""Agents that hand over in circles, fork without end, take for ever, or never get an answer: each whole turn ends."""

import asyncio
import json
from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from agents import actions, registry
from agents.exchange import AgentInput, Work
from agents.loop import react
from agents.pipeline.turn import DECLINED
from agents.pipeline.work import work
from agents.registry import Agent
from agents.runtime.context import AgentContext, PipelineSettings
from agents.spec import AgentProgram
from hitl.actions import end_overdue
from tests.pipeline.graphs import PARALLEL, QUESTION, SATISFIED, plan_text
from tests.runtime.driving import Runners, execution, start, until
from tests.runtime.endings import agents_of, told, tool_steps_of, wholly_ended
from tests.scripted.script import Script, ScriptedCall
from tests.scripted.server import ScriptedServer
from tests.tools.doubles import fake_providers

pytestmark = pytest.mark.slow
ONCE = {"LLM_ATTEMPTS": "1"}
TASK = {"task_description": "Look into it"}
BIDI = "\u202eevil\u2066 \u0000 "
NEVER = json.dumps({"satisfied": False, "feedback": "It is too short.", "redo": []})


def own_models(*agents: str) -> dict[str, str]:
    """Each of them asks a model of its own, by which the script knows it."""
    return {f"{agent.upper()}_MODEL": f"scripted/scripted-{agent}" for agent in agents} | ONCE


def hands_to(source: str, target: str, *, times: int = 1) -> Script:
    call = ScriptedCall(name=f"handoff_to_{target}", arguments=json.dumps(TASK))
    return Script(model=f"scripted-{source}", tool_calls=[call], times=times)


def says(agent: str, value: Any, *, times: int = 1, **more: Any) -> Script:
    text = value if isinstance(value, str) else json.dumps(value)
    return Script(model=f"scripted-{agent}", text=text, times=times, **more)


def programs(**agents: AgentProgram) -> dict[str, Any]:
    """These agents of the roster with other programs."""
    return {name: partial(work, Agent(registry.specs()[name], run)) for name, run in agents.items()}


def in_a_loop(name: str) -> AgentProgram:
    """An agent that is nothing but the loop, with its own tools and handoffs."""

    async def run(context: AgentContext, task: AgentInput) -> Work:
        looped = await react(context, task, registry.specs()[name], system="Work.")
        return Work(result=looped.text, handoff=looped.handoff)

    return run


def handoffs(said: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(event["source_agent"], event["target_agent"]) for event in told(said, "handoff")]


def sent(server: ScriptedServer, number: int) -> str:
    return "\n".join(str(message["content"]) for message in server.calls[number].messages)


def refusals(said: list[dict[str, Any]]) -> list[str]:
    return [event["content"] for event in told(said, "tool_result", is_error=True)]


# --- handoffs in circles


@pytest.mark.spec("S42", "S49", "S107")
async def test_the_fourth_handoff_of_a_run_is_refused_and_the_agent_answers_itself(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(
        hands_to("chat", "writing"),
        says("writing", {"writing_type": "report", "tone": "plain", "handoff_to": "research"}),
        says("research", {"focus": "it", "handoff_to": "code"}),
        hands_to("code", "data"),
        says("code", "```python\nprint(1)\n```"),
        says("code", "It prints 1."),
    )
    await make_runner(scripted_server.url, env=own_models("chat", "writing", "research", "code"))

    run, said = await wholly_ended(await start(alice, "What is in it?", mode="chat"))

    assert run.status == "completed", run.error_message
    assert run.answer.startswith("It prints 1.")
    assert handoffs(said) == [("chat", "writing"), ("writing", "research"), ("research", "code")]
    assert refusals(said) == ["Error: This run has used its 3 handoffs. Do the task yourself with what you have."]
    names = [agent.agent_name for agent in await agents_of(run.id)]
    assert names == ["turn", "chat", "writing", "research", "code"]


@pytest.mark.spec("S42", "S107")
async def test_two_agents_that_hand_a_task_to_each_other_for_ever_are_stopped_and_the_answer_says_why(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(
        hands_to("chat", "code"), hands_to("code", "data", times=0), hands_to("data", "code", times=0)
    )
    circle = programs(chat=in_a_loop("chat"), code=in_a_loop("code"), data=in_a_loop("data"))
    await make_runner(scripted_server.url, extra=circle, env=own_models("chat", "code", "data"))

    run, said = await wholly_ended(await start(alice, "What is in it?", mode="chat"))

    assert run.status == "completed"
    assert "All 5 steps for this were used" in run.answer
    assert handoffs(said) == [("chat", "code"), ("code", "data")]
    assert set(refusals(said)) == {
        "Error: 'code' has handed this task on already, so it cannot have it back. Do the task yourself."
    }


@pytest.mark.spec("S42")
@pytest.mark.parametrize(
    ("target", "limit", "words"),
    [
        ("research", 0, "This run has used its 0 handoffs"),
        ("chat", 3, "there is no tool 'handoff_to_chat'"),
        ("wizard", 3, "there is no tool 'handoff_to_wizard'"),
    ],
)
async def test_a_handoff_that_may_not_be_is_refused_in_words_and_the_run_completes(
    target: str, limit: int, words: str, alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(hands_to("chat", target), says("chat", "I do it myself."))
    pipeline = PipelineSettings(max_handoffs=limit)
    await make_runner(scripted_server.url, env=own_models("chat"), pipeline=pipeline)

    run, said = await wholly_ended(await start(alice, "What is in it?", mode="chat"))

    assert (run.status, run.answer) == ("completed", "I do it myself.")
    assert not handoffs(said)
    assert words in sent(scripted_server, 1)


@pytest.mark.spec("S42")
async def test_agents_that_work_side_by_side_share_the_runs_limit_of_handoffs(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(
        says("planner", plan_text(PARALLEL)),
        hands_to("chat", "web", times=2),
        says("chat", "I did it myself."),
        says("web", "I took it over."),
        says("verifier", SATISFIED),
        says("composer", "Both."),
    )
    env = own_models("planner", "chat", "web", "verifier", "composer")
    one, web = PipelineSettings(max_handoffs=1), programs(web=in_a_loop("web"))
    await make_runner(scripted_server.url, env=env, extra=web, pipeline=one, providers=fake_providers())

    run, said = await wholly_ended(await start(alice, QUESTION))

    assert (run.status, run.answer) == ("completed", "Both.")
    assert handoffs(said) == [("chat", "web")]
    assert [words for words in refusals(said) if "used its 1 handoffs" in words]


# --- forks without end


@pytest.mark.spec("S99", "S102", "S107")
@pytest.mark.parametrize(
    ("each", "agents", "deepest", "reasons"),
    [
        (1, 3, 3, ["may be nested 3 deep"]),
        (6, 20, 3, ["has 4 subagents already", "has 20 agents already"]),
    ],
)
async def test_agents_that_fork_without_end_stay_within_depth_width_and_number(
    each: int, agents: int, deepest: int, reasons: list[str], alice: Any, make_runner: Runners
) -> None:
    async def forks(context: AgentContext, task: AgentInput) -> Work:
        replies = [await context.tool("fork", {"prompt": f"Part {number}"}) for number in range(each)]
        for reply in replies:
            if not reply.is_error:
                await context.tool("wait", {"handle": reply.data["handle"]})
        return Work(result=" ".join(reply.content for reply in replies if reply.is_error) or "All were forked.")

    await make_runner("http://127.0.0.1:9", extra=programs(chat=forks))

    run, said = await wholly_ended(await start(alice, "What is in it?", mode="chat"))

    found = {agent.id: agent for agent in await agents_of(run.id)}
    parents = [agent.parent_id for agent in found.values() if agent.parent_id]
    assert {agent.status for agent in found.values()} == {"completed"}
    assert len(parents) == agents
    assert max(parents.count(parent) for parent in parents) <= 4
    assert max(_depth(agent, found) for agent in found.values()) == deepest
    assert all(reason in " ".join(refusals(said)) for reason in reasons)


def _depth(agent: Any, agents: Mapping[Any, Any]) -> int:
    return 0 if agent.parent_id is None else 1 + _depth(agents[agent.parent_id], agents)


@pytest.mark.spec("S99", "S107")
async def test_a_model_that_forks_and_never_waits_ends_and_its_children_with_it(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    """Each child does the same, and one kind of them never comes to an end by itself."""
    calls = [ScriptedCall(name="fork", arguments=json.dumps({"prompt": prompt})) for prompt in ("again", "stall")]
    scripted_server.script(Script(match="stall", first_delay_s=600, times=0), Script(tool_calls=calls, times=0))
    await make_runner(scripted_server.url, env=ONCE)

    run, said = await wholly_ended(await start(alice, "What is in it?", mode="chat"))

    assert run.status == "completed"
    assert "All 5 steps for this were used" in run.answer
    assert "cancelled" in {agent.status for agent in await agents_of(run.id)}
    assert any("subagents already" in words for words in refusals(said))


@pytest.mark.spec("S99", "S102", "S79")
async def test_waiting_for_handles_that_do_not_exist_is_refused_in_words(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    handles = ["42", "00000000-0000-4000-8000-000000000000", "\u0000", "x" * 90]
    calls = [ScriptedCall(name="wait", arguments=json.dumps({"handle": handle})) for handle in handles]
    scripted_server.script(Script(tool_calls=calls, times=0))
    await make_runner(scripted_server.url, env=ONCE)

    run, said = await wholly_ended(await start(alice, "What is in it?", mode="chat"))

    assert run.status == "completed"
    assert "All 5 steps for this were used" in run.answer
    assert all("You have not started an agent" in words for words in refusals(said))


@pytest.mark.spec("S14", "S107", "B28")
async def test_a_plan_that_grows_beyond_what_a_run_may_have_is_answered_from_what_is_done(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    """Twelve agents, and twelve more because the verifier is never satisfied: for eight of those there is room."""
    twelve = plan_text({f"part{number}": () if number else ("part1",) for number in range(12)})
    scripted_server.script(
        says("planner", twelve, times=0),
        says("chat", "Done.", times=0),
        says("verifier", NEVER, times=0),
        says("composer", "What there is."),
    )
    await make_runner(scripted_server.url, env=own_models("planner", "chat", "verifier", "composer"))

    run, _ = await wholly_ended(await start(alice, QUESTION))

    assert (run.status, run.answer) == ("completed", "What there is.")
    assert "the most that it may have" in scripted_server.calls[-1].last_user
    assert len(await agents_of(run.id)) == 21


# --- what takes for ever, and what is gone


def impatient(run: AgentProgram, *, timeout_s: float) -> dict[str, Any]:
    """The chat agent with another program, that may take so long, and is tried twice."""
    limits = {"max_retries": 1, "timeout_s": timeout_s, "backoff_multiplier": 1.0}
    agent = Agent(registry.specs()["chat"], run)

    async def program(context: AgentContext, value: Mapping[str, Any]) -> dict[str, Any]:
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
    assert len(told(said, "stage", name="replan")) == 2
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

    await until(sync_to_async(end_overdue))

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
