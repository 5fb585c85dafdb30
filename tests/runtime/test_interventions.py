"""What people do to the agents of a run, through the real tables, runners and requests."""

import asyncio
import json
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async

from agents import actions
from agents.engine.errors import StepFailed
from agents.mcp.definitions import Risk
from agents.mcp.values import Offered
from agents.models import AgentExecution, Intervention
from agents.runtime.context import AgentContext
from agents.runtime.streaming import STREAMED
from agents.tools.tool import Call, Reply
from hitl.models import Request
from hyperagent.lib.llm.types import Message, ModelRequest, Role, Tier
from hyperagent.lib.refusals import Conflict, NotThere, Refused
from tests.mcp.test_noted import Shop, offered
from tests.runtime.driving import Runners, ended, events, execution, start, until
from tests.runtime.endings import wholly_ended
from tests.runtime.roles import own_models, says
from tests.runtime.test_waiting import NO_MODEL, answer, request_of, waiting
from tests.scripted.script import Script, ScriptedCall
from tests.scripted.server import ScriptedServer
from tests.shown import shown
from tests.tools.doubles import fake_providers

intervene = sync_to_async(actions.intervene)
steer = sync_to_async(actions.steer)


async def manages(context: AgentContext, turn: dict[str, Any]) -> dict[str, Any]:
    """Two children at once; whatever becomes of one, the run's answer tells it."""
    names = turn["question"].split(",")
    handles = [await context.fork(name, {"task": f"task of {name}"}) for name in names]

    async def told(branch: AgentContext, handle: Any) -> str:
        try:
            return f"{handle.name}: {await branch.wait(handle)}"
        except StepFailed as failure:
            return f"{handle.name}: {failure.code}"

    said = await context.all(*[lambda branch, handle=handle: told(branch, handle) for handle in handles])
    return {"answer": "; ".join(said), "sources": []}


async def streams(context: AgentContext, value: dict[str, Any]) -> str:
    messages = (Message(role=Role.USER, content="say 2000 tokens at 50/s"),)
    reply = await context.model(ModelRequest(tier=Tier.PRO, messages=messages), stage=min(STREAMED))
    return reply.text


async def asks(context: AgentContext, value: dict[str, Any]) -> str:
    if value.get("modified"):
        return f"does {value['task']}"
    told = await context.ask("input", {"question": value["task"]})
    return f"heard {told['text']} and {await context.heard()}"


ORDERED = ScriptedCall(name="mcp_shop_order", arguments=json.dumps({"what": "tea"}))
PROGRAMS = {"manages": manages, "streams": streams, "asks": asks}


async def agent_of(id_: UUID, name: str) -> AgentExecution:
    async def find() -> AgentExecution | None:
        return await AgentExecution.objects.filter(execution=id_, agent_name=name).afirst()

    found: AgentExecution = await until(find)
    return found


async def has_said(id_: UUID) -> bool:
    return "token" in [event["type"] for event in await events(id_)]


async def has_tokens(id_: UUID) -> bool:
    return [event["type"] for event in await events(id_)].count("token") > 2


async def states_in_log(id_: UUID) -> dict[str, str]:
    return {event["agent_id"]: event["status"] for event in await events(id_) if event["type"] == "agent_state"}


async def check(id_: UUID) -> None:
    rows = {str(agent.id): agent.status async for agent in AgentExecution.objects.filter(execution=id_)}
    assert await states_in_log(id_) == rows
    assert not await Intervention.objects.filter(execution=id_, applied_at=None).aexists()


@pytest.mark.spec("S94", "S106", "B15", "B16")
async def test_an_agent_that_streams_is_deleted_within_moments_and_the_other_goes_on(
    alice: Any, echo_server: ScriptedServer, make_runner: Runners
) -> None:
    await make_runner(echo_server.url, extra=PROGRAMS)
    id_ = await start(alice, "streams,asks", pipeline="manages")
    request = await request_of(id_)
    await until(lambda: has_tokens(id_))
    streaming = await agent_of(id_, "streams")

    await intervene(streaming.id, by=alice, user_comment="delete")

    await asyncio.to_thread(echo_server.wait_until, lambda server: all(call.over for call in server.calls), timeout_s=3)
    assert (await waiting(id_)).status == "awaiting_user"
    await answer(request, alice, "yes")
    run = await ended(id_)
    assert run.answer == "streams: deleted; asks: heard yes and []"
    await streaming.arefresh_from_db()
    assert (streaming.status, streaming.user_comment) == ("deleted", "delete")
    await check(id_)


@pytest.mark.spec("S94", "S106")
async def test_an_agent_of_a_run_that_nobody_drives_is_deleted_and_its_question_is_closed(
    alice: Any, make_runner: Runners
) -> None:
    runner = await make_runner(NO_MODEL, extra=PROGRAMS)
    id_ = await start(alice, "asks", pipeline="manages")
    await waiting(id_)
    await until(lambda: _nothing(runner))

    await intervene((await agent_of(id_, "asks")).id, by=alice, status="deleted")

    assert (await ended(id_)).answer == "asks: deleted"
    assert (await request_of(id_)).status == "cancelled"
    late = await answer(await request_of(id_), alice)
    assert (late.changed, late.request.status) == (False, "cancelled")
    await check(id_)


@pytest.mark.spec("S94", "S100", "B15")
async def test_an_agent_that_waits_begins_anew_with_other_instructions(alice: Any, make_runner: Runners) -> None:
    await make_runner(NO_MODEL, extra=PROGRAMS)
    id_ = await start(alice, "asks", pipeline="manages")
    await waiting(id_)
    agent = await agent_of(id_, "asks")

    marked = await intervene(agent.id, by=alice, user_comment="modify", user_content="something\x00 else")

    assert (marked.user_content, marked.modified) == ("something\ufffd else", True)
    assert (await ended(id_)).answer == "asks: does something\ufffd else"
    await agent.arefresh_from_db()
    assert (agent.status, agent.modified, agent.user_comment) == ("completed", True, "modify")
    await check(id_)


@pytest.mark.spec("S93", "S109")
async def test_what_people_say_is_heard_also_if_it_was_said_before_the_run_began(
    alice: Any, make_runner: Runners
) -> None:
    id_ = await start(alice, "asks", pipeline="manages")
    await steer(id_, by=alice, text="Be brief")
    await make_runner(NO_MODEL, extra=PROGRAMS)
    request = await request_of(id_)
    agent = await agent_of(id_, "asks")

    await intervene(agent.id, by=alice, user_comment="And friendly")
    await answer(request, alice, "yes")

    assert (await ended(id_)).answer == "asks: heard yes and ['Be brief', 'And friendly']"
    await agent.arefresh_from_db()
    assert agent.user_comment == "And friendly"
    await check(id_)


async def test_to_delete_the_root_is_to_cancel_the_run(alice: Any, make_runner: Runners) -> None:
    await make_runner(NO_MODEL, extra=PROGRAMS)
    id_ = await start(alice, "asks", pipeline="manages")
    await waiting(id_)

    await intervene((await agent_of(id_, "manages")).id, by=alice, user_comment="delete")

    run = await ended(id_)
    assert (run.status, run.cancelled_by_id) == ("cancelled", alice.pk)


async def test_nobody_else_intervenes_and_nothing_that_does_not_fit(
    alice: Any, charlie: Any, make_runner: Runners
) -> None:
    await make_runner(NO_MODEL, extra=PROGRAMS)
    id_ = await start(alice, "asks", pipeline="manages")
    await waiting(id_)
    agent, root = await agent_of(id_, "asks"), await agent_of(id_, "manages")

    for of_another in (
        lambda: intervene(agent.id, by=charlie, user_comment="delete"),
        lambda: intervene(UUID(int=7), by=alice, user_comment="delete"),
        lambda: steer(id_, by=charlie, text="hi"),
    ):
        with pytest.raises(NotThere):
            await of_another()
    with pytest.raises(Refused, match="allowed: running, modified, deleted"):
        await intervene(agent.id, by=alice, status="completed")
    for text in ("", "   ", "x" * 8001):
        with pytest.raises(Refused, match="1 to 8000 characters"):
            await intervene(agent.id, by=alice, user_comment="modify", user_content=text)
        with pytest.raises(Refused, match="1 to 8000 characters"):
            await steer(id_, by=alice, text=text)
    with pytest.raises(Conflict):
        await intervene(root.id, by=alice, user_comment="modify", user_content="other")
    await intervene(agent.id, by=alice, user_comment="unchanged")

    assert not await Intervention.objects.aexists()
    assert (await execution(id_)).woken_at is None


async def test_an_agent_or_a_run_that_is_over_is_left_as_it_is(alice: Any, make_runner: Runners) -> None:
    await make_runner(NO_MODEL, extra=PROGRAMS)
    id_ = await start(alice, "asks", pipeline="manages")
    await answer(await request_of(id_), alice)
    await ended(id_)
    agent = await agent_of(id_, "asks")

    with pytest.raises(Conflict, match="completed"):
        await intervene(agent.id, by=alice, user_comment="delete")
    with pytest.raises(Conflict, match="completed"):
        await steer(id_, by=alice, text="hello")

    assert not await Intervention.objects.aexists()


@pytest.mark.spec("S95", "S110")
async def test_the_tables_say_who_waits_for_a_person(alice: Any, make_runner: Runners) -> None:
    await make_runner(NO_MODEL, extra=PROGRAMS)
    id_ = await start(alice, "asks", pipeline="manages")
    await waiting(id_)

    assert (await agent_of(id_, "asks")).status == "awaiting_user"
    assert (await agent_of(id_, "manages")).status == "running"
    (opened,) = [event for event in await events(id_) if event["type"] == "interrupt"]
    assert opened["request_id"] == str((await Request.objects.aget(execution_id=id_)).request_id)


async def _nothing(runner: Any) -> bool:
    return not runner.driving


@pytest.mark.spec("S106", "B10")
async def test_what_a_deleted_agent_was_saying_is_taken_back_with_it(
    alice: Any, echo_server: ScriptedServer, make_runner: Runners
) -> None:
    await make_runner(echo_server.url)
    id_ = await start(alice, "say 2000 tokens at 50/s", mode="chat")
    await until(lambda: has_tokens(id_))

    await intervene((await agent_of(id_, "chat")).id, by=alice, user_comment="delete")
    run, _ = await wholly_ended(id_)

    assert (run.status, run.answer) == ("completed", "You stopped this agent before it could answer.")


@pytest.mark.spec("S42", "S94", "B10")
async def test_what_an_agent_said_that_had_taken_over_is_taken_back_when_the_one_before_it_begins_anew(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    handoff = ScriptedCall(name="handoff_to_rag", arguments=json.dumps({"task_description": "Look it up"}))
    scripted_server.script(
        says("chat", "", tool_calls=[handoff]),
        says("rag", {"query": "revenue"}),
        says("rag", "one two three", held_after=2),
        says("chat", "Said anew."),
    )
    await make_runner(scripted_server.url, env=own_models("chat", "rag"), providers=fake_providers())
    id_ = await start(alice, "What is in it?", mode="chat")
    await until(lambda: has_said(id_))

    new = {"user_comment": "modify", "user_content": "Say it anew"}
    await intervene((await agent_of(id_, "chat")).id, by=alice, **new)
    run, _ = await wholly_ended(id_)

    assert (run.status, run.answer) == ("completed", "Said anew.")


class SlowShop(Shop):
    """Whose calls never come back."""

    async def call(self, call: Call, offered: Offered, arguments: dict[str, Any]) -> Reply:
        await super().call(call, offered, arguments)
        return await asyncio.Future()


@pytest.mark.spec("S106", "B2")
async def test_who_stops_an_agent_in_the_midst_of_an_effect_is_told_that_it_may_have_happened(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    shop = SlowShop({"chat": [offered("order", Risk.WRITE, requires_approval=False)]})
    scripted_server.script(says("chat", "", tool_calls=[ORDERED]))
    providers = fake_providers(connections=shop)
    await make_runner(scripted_server.url, env=own_models("chat"), providers=providers)
    id_ = await start(alice, "Order tea", mode="chat")
    await until(lambda: is_called(shop))

    await intervene((await agent_of(id_, "chat")).id, by=alice, user_comment="delete")
    run, _ = await wholly_ended(id_)

    assert run.answer == (
        "You stopped this agent before it could answer. “Order (shop)” was carried out, or begun: look for yourself "
        "before you have it done again."
    )


@pytest.mark.spec("S94", "B2")
async def test_an_agent_that_begins_anew_knows_what_it_did_before(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    shop = Shop({"chat": [offered("order", Risk.WRITE, requires_approval=False)]})
    asked = ScriptedCall(name="ask_user", arguments=json.dumps({"question": "For whom?"}))
    scripted_server.script(
        says("chat", "", tool_calls=[ORDERED]), says("chat", "", tool_calls=[asked]), says("chat", "It is ordered.")
    )
    providers = fake_providers(connections=shop)
    await make_runner(scripted_server.url, env=own_models("chat"), providers=providers)
    id_ = await start(alice, "Order tea", mode="chat")
    await waiting(id_)

    new = {"user_comment": "modify", "user_content": "Order green tea"}
    await intervene((await agent_of(id_, "chat")).id, by=alice, **new)
    run, _ = await wholly_ended(id_)

    assert run.answer == "It is ordered."
    assert (
        "## Task\nOrder green tea\n\nBefore these instructions, mcp_shop_order was carried out, or begun. "
        "Do that again only if they ask for it."
    ) in scripted_server.calls[-1].last_user


async def is_called(shop: Shop) -> bool:
    return bool(shop.called)


async def added_to_an_answer(alice: Any, server: ScriptedServer, text: str) -> UUID:
    """A run whose first answer is on its way when alice adds `text`; it has that, and its model is let go on."""
    id_ = await start(alice, "How high is it?", mode="chat")
    await asyncio.to_thread(server.wait_until, lambda model: bool(model.calls) and model.calls[0].tokens_sent > 1)
    await steer(id_, by=alice, text=text)
    await until(lambda: Intervention.objects.filter(execution=id_, applied_at__isnull=False).aexists())
    server.release()
    return id_


@pytest.mark.spec("S93")
async def test_an_answer_stays_when_words_are_added_to_it_and_goes_on_below_them(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(
        Script(text="It is 33 feet high.", held_after=3), Script(match="metres please", text="That is 10 metres.")
    )
    await make_runner(scripted_server.url)

    id_ = await added_to_an_answer(alice, scripted_server, "metres please")
    run = await ended(id_)

    assert (run.status, run.answer) == ("completed", "It is 33 feet high.\n\nThat is 10 metres.")
    told = await events(id_)
    assert shown(told) == told[-1]["answer"] == run.answer
    assert not [event for event in told if event["type"] == "token_reset"]
    [heard] = [event["heard"] for event in told if event["type"] == "stage" and event["name"] == "heard"]
    assert heard == {"text": "metres please", "at": len("It is 33 feet high.")}


@pytest.mark.spec("B16", "S93")
async def test_who_stops_a_run_keeps_what_it_answered_before_and_after_words_were_added(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(
        Script(text="It is 33 feet high.", first_delay_s=0.3),
        Script(match="metres please", text="That is 10 metres.", silence_after=2),
    )
    await make_runner(scripted_server.url)
    id_ = await start(alice, "How high is it?", mode="chat")
    await asyncio.to_thread(scripted_server.wait_until, lambda model: bool(model.calls))
    await steer(id_, by=alice, text="metres please")

    async def has_gone_on() -> bool:
        return "\n\nThat" in shown(await events(id_))

    await until(has_gone_on)
    await sync_to_async(actions.cancel)(id_, by=alice)
    run = await ended(id_)

    assert run.status == "cancelled"
    assert run.answer.startswith("It is 33 feet high.\n\nThat")
    assert shown(await events(id_)) == run.answer
