"""Agents that hand over in circles, or fork without end: each whole turn ends."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from agents import actions
from agents.craft.exchange import AgentInput, Work
from agents.runtime.context import AgentContext
from agents.runtime.driven import PipelineSettings
from tests.pipeline.graphs import PARALLEL, QUESTION, SATISFIED, plan_text
from tests.runtime.driving import Runners, start, until
from tests.runtime.endings import agents_of, told, wholly_ended
from tests.runtime.roles import ONCE, in_a_loop, own_models, programs, says, sent
from tests.scripted.script import Script, ScriptedCall
from tests.scripted.server import ScriptedServer
from tests.tools.doubles import fake_providers

TASK = {"task_description": "Look into it"}
NEVER = json.dumps({"satisfied": False, "feedback": "It is too short.", "redo": []})


def hands_to(source: str, target: str, *, times: int = 1) -> Script:
    call = ScriptedCall(name=f"handoff_to_{target}", arguments=json.dumps(TASK))
    return Script(model=f"scripted-{source}", tool_calls=[call], times=times)


def handoffs(said: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(event["source_agent"], event["target_agent"]) for event in told(said, "handoff")]


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
    # What a busy runner stores at once began at one moment; their order is told above.
    names = sorted(agent.agent_name for agent in await agents_of(run.id))
    assert names == ["chat", "code", "research", "turn", "writing"]


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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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
    assert "12 tool calls in a row have failed" in run.answer
    assert all("You have not started an agent" in words for words in refusals(said))


@pytest.mark.slow
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


@pytest.mark.spec("S42", "S106")
async def test_an_agent_that_took_over_is_stopped_by_a_person_like_the_one_that_was_asked(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(hands_to("chat", "code"), says("code", "one two three", held_after=2))
    await make_runner(scripted_server.url, env=own_models("chat", "code"))
    id_ = await start(alice, "What is in it?", mode="chat")

    async def at_work() -> Any:
        return next((agent for agent in await agents_of(id_) if agent.agent_name == "code"), None)

    coder = await until(at_work)
    await sync_to_async(actions.intervene)(coder.id, by=alice, user_comment="delete")
    run, said = await wholly_ended(id_)

    assert (run.status, run.answer) == ("completed", "You stopped this agent before it could answer."), said[-3:]
