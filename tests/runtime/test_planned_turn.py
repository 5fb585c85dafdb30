"""Whole planned turns through the real runner: graphs of agents, garbage plans, partial failure, re-planning, kills."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from agents import actions
from agents.mcp.definitions import Risk
from agents.models import AgentExecution
from agents.pipeline.plans import task_id
from agents.tools.tool import ToolError
from tests.mcp.test_noted import Shop, offered
from tests.pipeline.graphs import CHAIN, DIAMOND, PARALLEL, QUESTION, SATISFIED, SHAPES, lines, order, plan_text
from tests.runtime.driving import Runners, ended, events, start, until
from tests.runtime.endings import wholly_ended
from tests.scripted.script import Script, ScriptedCall
from tests.scripted.server import ScriptedServer
from tests.shown import shown
from tests.tools.doubles import FakeWeb, fake_providers

ANSWER = "The board reads: all of it was found."
ORDER = offered("order", Risk.WRITE, requires_approval=False)
ORDERED = ScriptedCall(name="mcp_shop_order", arguments=json.dumps({"what": "tea"}))


@pytest.mark.slow
@pytest.mark.spec("S11", "S15", "S25", "S28", "S29")
@pytest.mark.parametrize("shape", SHAPES)
async def test_a_graph_of_agents_answers_and_each_starts_when_its_own_dependencies_are_done(
    shape: str, alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    graph = SHAPES[shape]
    scripted_server.script(*lines(graph))
    await make_runner(scripted_server.url)

    run = await ended(await start(alice, QUESTION))

    said = await events(run.id)
    assert (run.status, run.answer) == ("completed", ANSWER), said[-6:]
    assert shown(said) == ANSWER
    happened = order(said)
    for name, others in graph.items():
        assert all(happened.index(("ended", other)) < happened.index(("began", name)) for other in others)
    assert {task["status"] for task in run.result["plan"]["tasks"]} == {"completed"}


@pytest.mark.spec("S29", "S98")
async def test_agents_that_can_run_in_parallel_do(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    """Neither alpha nor beta can end while the other has not begun: each answers slowly."""
    scripted_server.script(*lines(PARALLEL, first_delay_s=0.4))
    await make_runner(scripted_server.url)

    said = await events((await ended(await start(alice, QUESTION))).id)

    happened = order(said)
    assert {what for what, _ in happened[:2]} == {"began"}
    kinds = [event["type"] for event in said]
    assert kinds.index("parallel_start") < kinds.index("plan_step") < kinds.index("parallel_complete")
    assert scripted_server.most_at_once >= 2


@pytest.mark.slow
@pytest.mark.spec("B16", "S107")
async def test_a_cancelled_plan_stops_the_models_of_all_its_agents_within_two_seconds(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(
        *(Script(match=f"## Task\nWork on {name} now.", text="one two three", held_after=2) for name in PARALLEL),
        Script(match=QUESTION, text=plan_text(PARALLEL)),
    )
    await make_runner(scripted_server.url)
    id_ = await start(alice, QUESTION)
    streaming = len(PARALLEL) + 1
    await asyncio.to_thread(
        scripted_server.wait_until, lambda model: sum(call.tokens_sent > 1 for call in model.calls) == streaming
    )

    await sync_to_async(actions.cancel)(id_, by=alice)
    run = await ended(id_, timeout_s=2)
    over = asyncio.to_thread(
        scripted_server.wait_until, lambda model: all(call.over for call in model.calls), timeout_s=2
    )

    await over
    assert run.status == "cancelled"
    statuses = [agent.status async for agent in AgentExecution.objects.filter(execution=id_)]
    assert statuses == ["cancelled"] * (len(PARALLEL) + 1), "the turn's own, and one for each task"
    assert sum(call.disconnected for call in scripted_server.calls) == len(PARALLEL)


@pytest.mark.spec("S93", "S100")
async def test_what_a_person_says_to_a_planned_run_reaches_its_agents_and_the_composer(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    said = "Answer in French."
    scripted_server.script(
        Script(match=QUESTION, text=plan_text(CHAIN)),
        *(Script(match=said, text=f"Found {name}.") for name in CHAIN),
        Script(match=QUESTION, text=SATISFIED),
        Script(match=said, text="Le conseil lit."),
    )
    id_ = await start(alice, QUESTION)
    await sync_to_async(actions.steer)(id_, by=alice, text=said)

    await make_runner(scripted_server.url)

    assert (await ended(id_)).answer == "Le conseil lit."
    told = [
        event["description"] for event in await events(id_) if event["type"] == "stage" and event["name"] == "heard"
    ]
    assert told == ["You added: Answer in French."], "once, whoever hears it"


@pytest.mark.spec("S29", "S187")
async def test_an_agent_reads_what_those_before_it_found(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(*lines(DIAMOND))
    await make_runner(scripted_server.url)

    await ended(await start(alice, QUESTION))

    asked = {call.last_user.split("Work on ")[1].split()[0]: call for call in scripted_server.calls[1:5]}
    assert "Found alpha." in asked["beta"].last_user
    assert "Found beta." in asked["delta"].last_user
    assert "Found gamma." in asked["delta"].last_user
    assert "Found" not in asked["alpha"].last_user


GARBAGE: Mapping[str, str] = {
    "not JSON": "I would first look at the numbers, and then at the rest.",
    "empty": "",
    "no tasks": json.dumps({"analysis": {"intent": "x", "entities": {}}, "execution_plan": []}),
    "wrong shape": json.dumps({"steps": ["one", "two"]}),
    "a cycle": plan_text({"alpha": ("beta",), "beta": ("alpha",)}),
    "an unknown agent": plan_text({"alpha": (), "beta": ("alpha",)}, agent="wizard"),
    "an unknown id": plan_text({"alpha": (), "beta": ("omega",)}),
    "a self-dependency": plan_text({"alpha": ("alpha",), "beta": ()}),
    "200 tasks": plan_text({f"task{number}": () for number in range(200)}),
}


@pytest.mark.slow
@pytest.mark.spec("S27", "S14")
@pytest.mark.parametrize("what", GARBAGE)
async def test_a_garbage_plan_is_replaced_by_one_agent_and_people_are_told(
    what: str, alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    """The planner never mends it, however often it is asked: one agent answers, and an event says why."""
    scripted_server.script(
        Script(model="scripted-pro", text=GARBAGE[what], times=0),
        Script(model="scripted-agent", text="I did it alone.", times=0),
    )
    alone = dict.fromkeys(("CHAT_MODEL", "WRITING_MODEL"), "scripted/scripted-agent")
    await make_runner(scripted_server.url, env=alone)

    run = await ended(await start(alice, QUESTION))

    said = await events(run.id)
    assert run.status == "completed", said[-3:]
    assert "I did it alone." in run.answer
    told = [event["description"] for event in said if event["type"] == "stage" and event["name"] == "plan"]
    assert told, [event["type"] for event in said]
    assert run.result["plan"] is None
    assert len(scripted_server.calls) <= 10


@pytest.mark.spec("S14", "S27")
async def test_a_plan_with_a_fault_is_amended_when_the_planner_is_told_of_it(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(Script(match=QUESTION, text=GARBAGE["a cycle"]), *_amended(DIAMOND))
    await make_runner(scripted_server.url)

    run = await ended(await start(alice, QUESTION))

    assert (run.status, run.answer) == ("completed", ANSWER)
    amended = scripted_server.calls[1]
    assert "alpha -> beta -> alpha" in json.dumps(amended.messages)
    assert len(run.result["plan"]["tasks"]) == 4


@pytest.mark.spec("S32", "B28")
async def test_what_does_not_depend_on_a_failed_agent_goes_on_and_the_answer_says_what_is_missing(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    graph = {"alpha": (), "beta": (), "gamma": ("alpha",)}
    scripted_server.script(
        Script(match=QUESTION, text=plan_text(graph)),
        Script(match="Work on alpha now.", status=400, error_message="no"),
        Script(match="Work on beta now.", text="Found beta."),
        Script(match=QUESTION, text=SATISFIED),
        Script(match=QUESTION, text="Only beta was found."),
    )
    await make_runner(scripted_server.url)

    run = await ended(await start(alice, QUESTION))

    assert (run.status, run.answer) == ("completed", "Only beta was found.")
    states = {task["task"].split()[2]: task["status"] for task in run.result["plan"]["tasks"]}
    assert states == {"alpha": "failed", "beta": "completed", "gamma": "skipped"}
    composer = scripted_server.calls[-1].last_user
    assert "Not done" in composer
    assert "alpha" in composer
    assert "gamma" in composer
    agents = await _agents(run.id)
    assert agents["gamma"].status == "skipped"


@pytest.mark.spec("S14")
async def test_an_unsatisfied_verifier_has_the_missing_part_planned_again_and_finished_work_is_kept(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    again = json.dumps({"satisfied": False, "feedback": "beta is missing", "redo": []})
    scripted_server.script(
        Script(match=QUESTION, text=plan_text({"alpha": (), "aleph": ()})),
        Script(match="Work on alpha now.", text="Found alpha."),
        Script(match="Work on aleph now.", text="Found aleph."),
        Script(match=QUESTION, text=again),
        Script(match=QUESTION, text=plan_text({"beta": ()})),
        Script(match="Work on beta now.", text="Found beta."),
        Script(match=QUESTION, text=SATISFIED),
        Script(match=QUESTION, text="alpha, aleph and beta"),
    )
    await make_runner(scripted_server.url)

    run = await ended(await start(alice, QUESTION))

    assert (run.status, run.answer) == ("completed", "alpha, aleph and beta")
    assert run.result["plan"]["revision"] == 1
    composer = scripted_server.calls[-1].last_user
    assert all(f"Found {name}." in composer for name in ("alpha", "aleph", "beta"))


@pytest.mark.spec("S14", "S84")
async def test_an_agent_whose_tool_calls_have_all_failed_makes_the_run_plan_again(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    async def away() -> None:
        raise ToolError("The search is away.")

    searches = [ScriptedCall(name="web_search", arguments=json.dumps({"query": f"try {n}"})) for n in range(5)]
    scripted_server.script(
        Script(match=QUESTION, text=plan_text({"alpha": (), "aleph": ()})),
        Script(match="Work on alpha now.", text="Found alpha."),
        *(Script(match="Work on aleph now.", tool_calls=[one]) for one in searches),
        Script(match="Change your plan", text="Nothing can be searched."),
        Script(match=QUESTION, text=plan_text({"beta": ()})),
        Script(match="Work on beta now.", text="Found beta."),
        Script(match=QUESTION, text=SATISFIED),
        Script(match=QUESTION, text="alpha and beta"),
    )
    await make_runner(scripted_server.url, providers=fake_providers(web=FakeWeb(happens=away)))

    run = await ended(await start(alice, QUESTION))

    assert (run.status, run.answer, run.result["plan"]["revision"]) == ("completed", "alpha and beta", 1)
    (failed,) = [call.last_user for call in scripted_server.calls if "did not do its task" in call.last_user]
    assert "did not do its task: errors" in failed


@pytest.mark.spec("S14", "B2")
async def test_what_an_agent_did_before_it_failed_is_not_planned_again_and_the_answer_is_told_of_it(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    shop = Shop({"chat": [ORDER]})
    scripted_server.script(
        Script(match=QUESTION, text=plan_text(PARALLEL)),
        Script(match="Work on beta now.", text="Found beta."),
        Script(match="Work on alpha now.", tool_calls=[ORDERED]),
        Script(match="Work on alpha now.", status=503),
        Script(match=QUESTION, text=SATISFIED),
        Script(match=QUESTION, text="Only beta was found."),
    )
    await make_runner(scripted_server.url, providers=fake_providers(connections=shop), env={"LLM_ATTEMPTS": "1"})

    run = await ended(await start(alice, QUESTION))

    assert (run.status, run.answer) == ("completed", "Only beta was found.")
    assert (len(shop.called), run.result["plan"]["revision"]) == (1, 0)
    verifier, composer = (call.last_user for call in scripted_server.calls[-2:])
    assert all("; mcp_shop_order was carried out, or begun" in told for told in (verifier, composer))
    (skipped,) = run.result["skipped"]
    assert skipped["carried_out"] == ["mcp_shop_order"]


@pytest.mark.spec("S14", "B2")
async def test_a_task_that_changed_the_world_is_kept_and_the_planner_knows_what_it_did(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    shop = Shop({"chat": [ORDER]})
    alpha = task_id(0, "chat", "Work on alpha now.")
    scripted_server.script(
        Script(match=QUESTION, text=plan_text(PARALLEL)),
        Script(match="Work on beta now.", text="Found beta."),
        Script(match="Work on alpha now.", tool_calls=[ORDERED]),
        Script(match="Work on alpha now.", text="Ordered."),
        Script(match=QUESTION, text=json.dumps({"satisfied": False, "feedback": "Which tea?", "redo": [alpha]})),
        Script(match=QUESTION, text=plan_text({"gamma": ()})),
        Script(match="Work on gamma now.", text="It is green tea."),
        Script(match=QUESTION, text=SATISFIED),
        Script(match=QUESTION, text="Green tea is ordered."),
    )
    await make_runner(scripted_server.url, providers=fake_providers(connections=shop))

    run = await ended(await start(alice, QUESTION))

    assert (run.status, run.answer) == ("completed", "Green tea is ordered.")
    assert [task["task"].split()[2] for task in run.result["plan"]["tasks"]] == ["alpha", "beta", "gamma"]
    assert len(shop.called) == 1
    (planner,) = [call.last_user for call in scripted_server.calls if "## Already done" in call.last_user]
    assert "mcp_shop_order was carried out, or begun: plan it no more" in planner


@pytest.mark.spec("S93", "B15")
async def test_new_instructions_for_the_composer_are_part_of_what_it_is_asked(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    *others, answer = lines(PARALLEL)
    slow = answer.model_copy(update={"first_delay_s": 1.5})
    scripted_server.script(*others, slow, answer)
    await make_runner(scripted_server.url)
    id_ = await start(alice, QUESTION)

    async def composer() -> AgentExecution | None:
        return await AgentExecution.objects.filter(execution=id_, agent_name="composer", status="running").afirst()

    found: AgentExecution = await until(composer)
    wish = {"user_comment": "modify", "user_content": "Write it as a poem"}
    await sync_to_async(actions.intervene)(found.id, by=alice, **wish)
    run = await ended(id_)

    assert (run.status, run.answer) == ("completed", ANSWER), run.error_message
    assert "Write it as a poem" in scripted_server.calls[-1].last_user


@pytest.mark.spec("S106", "B15")
async def test_a_composer_that_a_person_stops_says_no_more_and_what_was_found_stays(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    *others, answer = lines(PARALLEL)
    scripted_server.script(*others, answer.model_copy(update={"held_after": 2}))
    await make_runner(scripted_server.url)
    id_ = await start(alice, QUESTION)

    async def composer() -> AgentExecution | None:
        return await AgentExecution.objects.filter(execution=id_, agent_name="composer", status="running").afirst()

    found: AgentExecution = await until(composer)
    await sync_to_async(actions.intervene)(found.id, by=alice, user_comment="delete")
    run, said = await wholly_ended(id_)

    assert (run.status, run.answer) == ("completed", "You stopped this agent before it could answer."), said[-3:]
    assert {task["status"] for task in run.result["plan"]["tasks"]} == {"completed"}


def _amended(graph: Mapping[str, Sequence[str]]) -> list[Script]:
    """The lines of a graph whose plan is given to the second request, which ends with what was wrong."""
    plan, *rest = lines(graph)
    return [plan.model_copy(update={"match": None}), *rest]


async def _agents(execution_id: Any) -> dict[str, AgentExecution]:
    rows = await sync_to_async(lambda: list(AgentExecution.objects.filter(execution=execution_id, step_id__gt="")))()
    return {row.task.split()[2]: row for row in rows}
