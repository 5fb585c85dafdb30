"""Whole turns that come to the end of their budget, through the real runner and the real decisions."""

from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async

from agents.craft.exchange import AgentInput, Work
from agents.models import AgentExecution
from agents.runtime.context import AgentContext
from hitl import actions, ending
from hitl.answers import Response
from hitl.deadlines import Deadlines
from hitl.kinds import RequestStatus, Via
from hitl.models import Request
from hyperagent.lib.llm.types import Message, Role, Tier
from tests.pipeline.graphs import PARALLEL, QUESTION, SATISFIED, plan_text
from tests.runtime.driving import Runners, ended, events, execution, start, until
from tests.runtime.roles import programs
from tests.scripted.script import Script, ScriptedUsage
from tests.scripted.server import ScriptedServer
from tests.shown import shown

EACH = ScriptedUsage(prompt_tokens=90_000, completion_tokens=10_000)
ANSWER = "The board reads: all of it was found."
USED_UP = "The budget of this run of 100,000 tokens does not suffice for another call."
BUDGET = {"budget": {"max_tokens": 100_000}}


def script(server: ScriptedServer, *more: Script) -> None:
    """The planner, which uses the whole budget of 100,000 tokens; and whatever is asked after it."""
    server.script(Script(match=QUESTION, text=plan_text(PARALLEL), usage=EACH), *more)


AGENTS = [Script(match=f"Work on {name} now.", text=f"Found {name}.", usage=EACH) for name in PARALLEL]
CHECKED = Script(match=QUESTION, text=SATISFIED, usage=EACH)
COMPOSED = Script(match=QUESTION, text=ANSWER, usage=EACH)


async def asked(id_: UUID) -> Request:
    """The one request that is open once the run waits."""

    @sync_to_async
    def pending() -> list[Request]:
        return list(Request.objects.filter(execution_id=id_, status="pending"))

    async def waits() -> list[Request]:
        return await pending() if (await execution(id_)).status == "awaiting_user" else []

    (only,) = await until(waits)
    assert isinstance(only, Request)
    return only


@sync_to_async
def respond(user: Any, request: Request, choice: str, text: str | None = None) -> None:
    said = Response(RequestStatus.ANSWERED, choice=choice, text=text)
    actions.respond(user, request.request_id, said, via=Via.API)


@sync_to_async
def statuses(id_: UUID) -> dict[str, str]:
    agents = AgentExecution.objects.filter(execution_id=id_)
    return {agent.step_id or agent.agent_name: agent.status for agent in agents}


@pytest.mark.spec("B6", "B12")
async def test_agents_that_reach_the_limit_at_once_ask_once_and_go_on_when_it_is_raised(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    script(scripted_server, *AGENTS, CHECKED, COMPOSED)
    runner = await make_runner(scripted_server.url)
    id_ = await start(alice, QUESTION, options=BUDGET)

    request = await asked(id_)
    waiting = await statuses(id_)
    await respond(alice, request, "raise", "5000000")
    run = await ended(id_)

    assert (request.kind, request.agent_name) == ("budget", "turn")
    assert (request.question["used"], request.question["limit"]) == (100_000, 100_000)
    assert sorted(waiting.values()) == ["awaiting_user", "awaiting_user", "running"]
    assert (run.status, run.answer) == ("completed", ANSWER)
    assert [event["type"] for event in await events(id_)].count("interrupt") == 1
    assert runner is not None


@pytest.mark.slow
@pytest.mark.spec("B12")
async def test_finish_answers_from_what_there_is_and_says_so(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    script(scripted_server, COMPOSED)
    await make_runner(scripted_server.url)
    id_ = await start(alice, QUESTION, options=BUDGET)

    await respond(alice, await asked(id_), "finish")
    run = await ended(id_)

    assert run.status == "completed"
    assert run.answer == f"{ANSWER}\n\n> {USED_UP} A person chose to finish with what there was."
    assert len(scripted_server.calls) == 2
    assert scripted_server.calls[-1].body["max_tokens"] == 2_000


@pytest.mark.spec("B12")
async def test_stop_ends_the_run_with_what_it_had_and_says_so(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    script(scripted_server, *AGENTS)
    await make_runner(scripted_server.url)
    id_ = await start(alice, QUESTION, options={"budget": {"max_tokens": 300_000}})

    await respond(alice, await asked(id_), "stop")
    run = await ended(id_)

    end = "The budget of this run of 300,000 tokens does not suffice for another call."
    why = f"{end} A person chose to stop the run there."
    assert run.status == "cancelled"
    assert "Found alpha." in run.answer
    assert "Found beta." in run.answer
    assert run.answer.endswith(f"> {why}")
    said = await events(id_)
    assert (said[-1]["type"], said[-1]["status"]) == ("complete", "cancelled")
    assert [event["description"] for event in said if event["type"] == "stage" and event["name"] == "budget"] == [why]


@pytest.mark.spec("B6", "B12")
async def test_an_end_that_nobody_answers_finishes_and_is_called_what_it_is(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    script(scripted_server, COMPOSED)
    await make_runner(scripted_server.url, deadlines=Deadlines(expires_s=0.2))
    id_ = await start(alice, QUESTION, options=BUDGET)
    await asked(id_)

    await until(sync_to_async(ending.end_overdue))
    run = await ended(id_)

    assert run.status == "completed"
    assert run.answer.endswith(
        f"> {USED_UP} Nobody said in time whether to raise it, so this was finished with what there was."
    )


@pytest.mark.spec("B12", "S124")
async def test_a_run_that_may_ask_nobody_finishes(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    script(scripted_server, COMPOSED)
    await make_runner(scripted_server.url)

    run = await ended(await start(alice, QUESTION, options={**BUDGET, "interactive": False}))

    assert run.status == "completed"
    assert "Nobody could be asked to raise it" in run.answer
    assert not await sync_to_async(Request.objects.filter(execution_id=run.id).exists)()


@pytest.mark.slow
@pytest.mark.spec("B1", "B12")
async def test_another_runner_goes_on_with_the_answer(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    script(scripted_server, *AGENTS, CHECKED, COMPOSED)
    await make_runner(scripted_server.url)
    id_ = await start(alice, QUESTION, options=BUDGET)
    request = await asked(id_)
    await make_runner.stop()

    await respond(alice, request, "raise")
    await make_runner(scripted_server.url, name="runner-2")
    # The suggested limit, 200,000, is used up by the two agents; the verifier comes to the next end.
    second = await asked(id_)
    await respond(alice, second, "raise", "1000000000")
    run = await ended(id_)

    assert (second.question["used"], second.question["limit"], second.question["end"]) == (300_000, 200_000, 2)
    assert (run.status, run.answer) == ("completed", ANSWER)


async def thinks_twice(context: AgentContext, task: AgentInput) -> Work:
    """An agent that has nothing to show before its second thought."""
    for thought in ("first", "second"):
        messages = (Message(role=Role.USER, content=f"The {thought} thought"),)
        reply = await context.model(task.request(agent="chat", tier=Tier.PRO, messages=messages), stage="outline")
    return Work(result=reply.text)


@pytest.mark.spec("B12")
async def test_an_agent_alone_that_has_nothing_to_show_answers_with_the_reason(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(Script(match="The first thought", text="Hm.", usage=EACH))
    await make_runner(scripted_server.url, extra=programs(chat=thinks_twice))
    id_ = await start(alice, "Think.", mode="chat", options=BUDGET)

    await respond(alice, await asked(id_), "finish")
    run = await ended(id_)

    assert (run.status, run.answer) == ("completed", f"{USED_UP} A person chose to finish with what there was.")
    assert shown(await events(id_)) == run.answer


@pytest.mark.spec("B11", "B12")
async def test_a_budget_in_which_no_answer_fits_is_asked_about_before_any_model_is(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    await make_runner(scripted_server.url)
    id_ = await start(alice, "What is two and two?", mode="chat", options={"budget": {"max_tokens": 20}})

    request = await asked(id_)
    await respond(alice, request, "finish")
    run = await ended(id_)

    assert request.question["used"] == 0
    assert request.question["suggested"] > 2_000
    assert scripted_server.calls == []
    assert "The budget of this run of 20 tokens does not suffice for another call." in run.answer
