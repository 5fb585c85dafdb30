"""Calls that a person has to agree to, through the real runner and tables: what is asked, and what becomes of it."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from typing import Any

import psycopg
import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group
from django.utils import timezone

from agents.craft.exchange import AgentInput, Work
from agents.mcp.definitions import Risk
from agents.models import Effect
from agents.pipeline.work import commission, work
from agents.registry import Agent
from agents.runtime.context import AgentContext
from agents.runtime.lookups import Lookups
from agents.tools.tool import ANY_AGENT, Call, Tool, ToolError, tool
from hitl import switches
from hitl.conditions import Condition
from hitl.deadlines import Deadlines
from hitl.ending import end_overdue
from hitl.kinds import ApproverKind, Op, PolicyAction, RuleEffect, RuleScope, SwitchScope
from hitl.models import Decision, Policy, Request, Rule, RuleUse
from hyperagent.lib.hashes import arguments_hash
from hyperagent.lib.refusals import Conflict, NotAllowed, NotThere
from tests.mcp.test_noted import Shop, offered
from tests.runtime.approving import (
    SPEC,
    Board,
    by_code,
    call_of,
    open_requests,
    pins,
    programs,
    requests,
    respond,
    the_request,
)
from tests.runtime.driving import Runners, database_dsn, ended, events, execution, start, until
from tests.scripted.script import Script
from tests.scripted.server import ScriptedServer
from tests.tools.doubles import fake_providers

WHOLE = {"text": "Hello", "color": "white"}
ENHANCE, OVERRIDE = Script(text='{"intent": "enhance"}'), Script(text='{"intent": "override"}')


class TornBoard(Board):
    """Whose pins may or may not hold: it does not say."""

    def tools(self, **flags: Any) -> dict[str, Tool]:
        @tool(agents=ANY_AGENT, effect="write", requires_approval=True)
        async def pin(call: Call, text: str, color: str = "white") -> str:
            """Pins a note to the board."""
            self.pinned.append(text)
            raise ToolError("The board shook.", may_have_happened=True)

        return {**super().tools(), "pin": pin}


@pytest.fixture
def board() -> Board:
    return Board()


@pytest.fixture
def asks(alice: Any, board: Board, scripted_server: ScriptedServer, make_runner: Runners) -> Callable[..., Any]:
    """Starts a run whose model says these lines. `run`, `spec`: of the agent; `options`: of the run."""

    async def begin(*lines: Script, question: str = "Pin hello", flags: Any = None, **more: Any) -> Any:
        scripted_server.script(*lines)
        await make_runner(scripted_server.url, extra=programs(**more), tools=board.tools(**(flags or {})))
        return await start(alice, question, pipeline="asks")

    return begin


def output(run: Any) -> Any:
    return run.result["output"]


# --- each answer


@pytest.mark.spec("S113", "S121", "S132", "B5")
@pytest.mark.threat("T18")
async def test_an_approved_call_is_carried_out_with_exactly_what_was_shown(alice: Any, board: Board, asks: Any) -> None:
    id_ = await asks(pins("Hello"), Script(text="It is pinned."))
    request = await the_request(id_)
    pinned_before = list(board.pinned)

    await respond(alice, request, "approved", arguments_hash=request.arguments_hash)
    run = await ended(id_)

    assert (pinned_before, board.pinned) == ([], ["Hello"])
    assert (call_of(request)["arguments"], request.arguments_hash) == (WHOLE, arguments_hash("pin", WHOLE))
    assert (request.stage, request.risk, request.tool_names) == ("tool", "medium", ["pin"])
    assert (run.status, run.answer, output(run)["task_done"]) == ("completed", "It is pinned.", True)
    told = {event["type"]: event for event in await events(id_) if event["type"].startswith("hitl_")}
    assert list(told) == ["hitl_required", "hitl_approved"]
    required = told["hitl_required"]
    assert required["request_id"] == str(request.request_id) == told["hitl_approved"]["request_id"]
    assert required["agent_id"] == str(request.agent_id) == told["hitl_approved"]["agent_id"]
    assert (required["agent_name"], required["tool_names"]) == ("poster", ["pin"])
    assert (required["task_description"], required.get("timeout_seconds")) == ("Pin hello", None)


@pytest.mark.spec("S121", "S122", "S133")
async def test_a_denied_call_is_not_carried_out_and_the_output_says_who_did_not_want_it(
    alice: Any, board: Board, asks: Any, scripted_server: ScriptedServer
) -> None:
    id_ = await asks(pins("Hello"), Script(text="I did not pin it."))

    await respond(alice, await the_request(id_), "denied", instructions="Too early.")
    run = await ended(id_)

    assert board.pinned == []
    assert (output(run)["task_done"], output(run)["error"]) == (False, "denied_by_user")
    assert output(run)["partial_data"] == {"reason": "Too early.", "tools": ["pin"]}
    assert output(run)["result"] == "I did not pin it."
    assert "declined: Too early." in scripted_server.calls[-1].messages[-1]["content"]
    (denied,) = [event for event in await events(id_) if event["type"] == "hitl_denied"]
    assert denied["reason"] == "Too early."
    assert await Effect.objects.filter(execution_id=id_).acount() == 0


@pytest.mark.spec("S121", "S123", "B6")
async def test_a_request_whose_time_is_over_is_nobodys_no(alice: Any, board: Board, asks: Any) -> None:
    id_ = await asks(pins("Hello"), Script(text="Nobody was there."))
    request = await the_request(id_)
    await Request.objects.filter(pk=request.pk).aupdate(expires_at=timezone.now())

    await sync_to_async(end_overdue)()
    run = await ended(id_)

    with pytest.raises(Conflict):
        await respond(alice, request, "approved")
    assert board.pinned == []
    assert (output(run)["task_done"], output(run)["error"]) == (False, "hitl_timeout")
    kinds = [event["type"] for event in await events(id_) if event["type"].startswith("hitl_")]
    assert kinds == ["hitl_required", "hitl_timeout"]
    assert not await Decision.objects.filter(request=request, happening="denied").aexists()


@pytest.mark.spec("S133", "B5")
async def test_edited_arguments_are_carried_out_and_stand_beside_the_original(
    alice: Any, board: Board, asks: Any, scripted_server: ScriptedServer
) -> None:
    id_ = await asks(pins("Hello"), Script(text="Pinned in red."))
    request = await the_request(id_)

    await respond(alice, request, "approved", edited_arguments={"text": "Hello Bob", "color": "red"})
    run = await ended(id_)

    assert board.pinned == ["Hello Bob"]
    assert output(run)["task_done"]
    row = await Request.objects.aget(pk=request.pk)
    assert (call_of(row)["arguments"], row.edited_arguments) == (WHOLE, {"text": "Hello Bob", "color": "red"})
    read = scripted_server.calls[-1].messages[-1]["content"]
    assert read.startswith("A person changed these arguments before they approved the call:\n- color: white became red")
    effect = await Effect.objects.aget(execution_id=id_)
    assert effect.arguments == {"text": "Hello Bob", "color": "red"}


@pytest.mark.spec("B5", "S132")
@pytest.mark.threat("T18")
async def test_a_request_that_was_changed_in_the_table_after_it_was_shown_is_not_executed(
    alice: Any, board: Board, asks: Any
) -> None:
    """Whoever can write the table makes hash and arguments fit each other; the run knows what it asked."""
    id_ = await asks(pins("Hello"), Script(text="Pinned."))
    request = await the_request(id_)
    forged = {"text": "Buy shares", "color": "white"}
    call = {**call_of(request), "arguments": forged, "arguments_hash": arguments_hash("pin", forged)}
    question = {**request.question, "tool_calls": [call]}
    await Request.objects.filter(pk=request.pk).aupdate(question=question, arguments_hash=call["arguments_hash"])

    await respond(alice, await the_request(id_), "approved")
    again = await until(lambda: _other_request(id_, request))
    pinned = list(board.pinned)
    await respond(alice, again, "approved")
    await ended(id_)

    assert pinned == []
    assert call_of(again)["arguments"] == WHOLE
    assert again.question["why"].startswith("What was approved are not the arguments of this call")
    assert board.pinned == ["Hello"]


@pytest.mark.spec("B5")
@pytest.mark.threat("T18")
async def test_a_request_whose_arguments_alone_were_changed_cannot_be_approved(
    alice: Any, board: Board, asks: Any
) -> None:
    id_ = await asks(pins("Hello"), Script(text="Not pinned.", times=0))
    request = await the_request(id_)
    call = {**call_of(request), "arguments": {"text": "Buy shares", "color": "white"}}
    await Request.objects.filter(pk=request.pk).aupdate(question={**request.question, "tool_calls": [call]})

    with pytest.raises(Conflict):
        await respond(alice, request, "approved")

    assert (board.pinned, (await execution(id_)).status) == ([], "awaiting_user")


# --- several calls, subagents, restarts


@pytest.mark.spec("S132", "S133", "S122")
async def test_of_two_calls_of_one_turn_one_is_approved_and_one_denied(
    alice: Any, board: Board, asks: Any, scripted_server: ScriptedServer
) -> None:
    id_ = await asks(pins("first", "second"), Script(text="One of two."))
    found = {call_of(one)["arguments"]["text"]: one for one in await requests(id_, 2)}

    await respond(alice, found["second"], "approved")
    await until(lambda: _pinned(board, "second"))
    still_open = [one.pk for one in await open_requests(id_)]
    await respond(alice, found["first"], "denied", instructions="no")
    run = await ended(id_)

    assert (board.pinned, still_open) == (["second"], [found["first"].pk])
    assert (output(run)["task_done"], output(run)["error"]) == (False, "denied_by_user")
    results = [message["content"] for message in scripted_server.calls[-1].messages if message["role"] == "tool"]
    assert [text.startswith("Error:") for text in results] == [True, False]
    assert output(run)["result"] == "One of two."


@pytest.mark.spec("S122")
async def test_what_is_approved_at_a_second_try_counts_as_done(alice: Any, board: Board, asks: Any) -> None:
    id_ = await asks(pins("Helo"), pins("Hello"), Script(text="Now it is pinned."))

    first = await the_request(id_)
    await respond(alice, first, "denied", instructions="There is an l missing")
    await respond(alice, await until(lambda: _other_request(id_, first)), "approved")
    run = await ended(id_)

    assert (board.pinned, output(run)["task_done"], output(run)["error"]) == (["Hello"], True, None)


@pytest.mark.spec("S110", "S102")
@pytest.mark.threat("T19")
async def test_a_subagents_request_is_shown_at_its_root_and_the_answer_flows_back(
    alice: Any, board: Board, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    async def boss(context: AgentContext, task: AgentInput) -> Work:
        below = task.model_copy(update={"agent_name": "poster", "tools": SPEC.tools})
        inner = await context.wait(await context.fork("poster", commission(below)))
        return Work(result=inner["result"])

    chief = SPEC.model_copy(update={"name": "chief", "tools": ()})
    known = {**programs(boss, spec=chief), "poster": programs()["poster"], "chief": partial(work, Agent(chief, boss))}
    scripted_server.script(pins("Hello"), Script(text="It is pinned."))
    await make_runner(scripted_server.url, extra=known, tools=board.tools())
    id_ = await start(alice, "Pin hello", pipeline="asks")

    request = await the_request(id_)
    await respond(alice, request, "approved")
    run = await ended(id_)

    said = await events(id_)
    (required,) = [event for event in said if event["type"] == "hitl_required"]
    agents = {event["agent_name"]: event["agent_id"] for event in said if event["type"] == "agent_state"}
    assert (run.answer, board.pinned) == ("It is pinned.", ["Hello"])
    assert (required["agent_id"], required["agent_name"]) == (agents["poster"], "poster")
    assert (required["root_agent_id"], required["agent_path"]) == (agents["chief"], ["chief", "poster"])
    waited = {event["agent_name"] for event in said if event["type"] == "agent_state"
              and event["status"] == "awaiting_user"}  # fmt: skip
    assert waited == {"poster"}


@pytest.mark.spec("B1", "B6", "S115")
async def test_a_request_outlives_every_runner_and_its_yes_is_carried_out_by_another(
    alice: Any, board: Board, asks: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    id_ = await asks(pins("Hello"), Script(text="It is pinned."))
    request = await the_request(id_)
    await until(lambda: _is(id_, "awaiting_user"))
    await make_runner.stop()

    await respond(alice, request, "approved")
    await make_runner(scripted_server.url, name="runner-2", extra=programs(), tools=board.tools())
    run = await ended(id_)

    assert (run.answer, board.pinned) == ("It is pinned.", ["Hello"])
    assert await Request.objects.filter(execution_id=id_).acount() == 1


# --- rules, policies, switches


@pytest.mark.spec("S113", "B7")
async def test_a_standing_rule_lets_calls_through_as_often_as_it_says_and_each_use_is_kept(
    alice: Any, board: Board, asks: Any
) -> None:
    rule = await Rule.objects.acreate(
        user=alice, effect=RuleEffect.ALLOW, scope=RuleScope.RULE, tool="pin", text="pinning", max_uses=1,
        conditions=[Condition("color", Op.EQUALS, "white").as_json()],
    )  # fmt: skip
    id_ = await asks(pins("first"), pins("second"), Script(text="Pinned."))

    request = await the_request(id_)
    pinned = list(board.pinned)
    await respond(alice, request, "approved")
    await ended(id_)

    use = await RuleUse.objects.aget(rule=rule)
    assert (pinned, board.pinned) == (["first"], ["first", "second"])
    assert (use.tool, use.agent_name, use.arguments["text"], use.execution_id) == ("pin", "poster", "first", id_)
    assert (await Rule.objects.aget(pk=rule.pk)).uses == 1


@pytest.mark.spec("B4")
async def test_a_policy_gives_the_decision_to_a_reviewer_and_takes_it_from_the_asker(
    alice: Any, bob: Any, charlie: Any, board: Board, asks: Any
) -> None:
    reviewers, _ = await Group.objects.aget_or_create(name="reviewer")
    await sync_to_async(bob.groups.add)(reviewers)
    await Policy.objects.acreate(
        name="Pins",
        tool="pin",
        approver_kind=ApproverKind.ROLE,
        approver_role="reviewer",
        require_different_person=True,
    )
    id_ = await asks(pins("Hello"), Script(text="It is pinned."))
    request = await the_request(id_)

    with pytest.raises(NotAllowed):
        await respond(alice, request, "approved")
    with pytest.raises(NotThere):
        await respond(charlie, request, "approved")
    pinned = list(board.pinned)
    await respond(bob, request, "approved")
    await ended(id_)

    assert (pinned, board.pinned) == ([], ["Hello"])
    assert (request.approver_kind, request.approver_name, request.different_person) == ("role", "reviewer", True)


@pytest.mark.spec("B4")
async def test_a_policy_that_denies_ends_the_call_without_a_question(alice: Any, board: Board, asks: Any) -> None:
    await Policy.objects.acreate(name="No pins", tool="pin", action=PolicyAction.DENY)

    run = await ended(await asks(pins("Hello"), Script(text="I may not.")))

    assert (board.pinned, output(run)["error"]) == ([], "denied_by_policy")
    assert await Request.objects.acount() == 0


@pytest.mark.spec("B4")
@pytest.mark.parametrize("is_member", [True, False])
async def test_a_policy_about_a_group_counts_in_its_members_runs_alone(
    alice: Any, board: Board, asks: Any, is_member: bool
) -> None:
    interns = await Group.objects.acreate(name="Interns")
    await Policy.objects.acreate(name="No pins", tool="pin", action=PolicyAction.DENY, for_group=interns)
    if is_member:
        await sync_to_async(alice.groups.add)(interns)
    id_ = await asks(pins("Hello"), Script(text="Done."))

    if not is_member:
        await respond(alice, await the_request(id_), "approved")
    run = await ended(id_)

    assert board.pinned == ([] if is_member else ["Hello"])
    assert output(run)["error"] == ("denied_by_policy" if is_member else None)


@pytest.mark.spec("B2", "B4")
async def test_who_had_to_say_yes_is_asked_whether_it_happened(
    alice: Any, bob: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    board = TornBoard()
    reviewers, _ = await Group.objects.aget_or_create(name="reviewer")
    await sync_to_async(bob.groups.add)(reviewers)
    await Policy.objects.acreate(name="Pins", tool="pin", approver_kind=ApproverKind.ROLE, approver_role="reviewer")
    scripted_server.script(pins("Hello"), Script(text="Nobody knows."))
    await make_runner(scripted_server.url, extra=programs(), tools=board.tools())
    id_ = await start(alice, "Pin hello", pipeline="asks")
    await respond(bob, await the_request(id_), "approved")

    doubt = await the_request(id_)
    with pytest.raises(NotAllowed):
        await respond(alice, doubt, "answered", choice="again")
    await respond(bob, doubt, "answered", choice="skip")
    await ended(id_)

    assert (doubt.kind, doubt.approver_kind, doubt.approver_name) == ("decision", "role", "reviewer")
    assert board.pinned == ["Hello"]


@pytest.mark.spec("B17")
async def test_a_switch_thrown_while_a_request_waits_stops_the_effect_and_says_why(
    alice: Any, board: Board, asks: Any, scripted_server: ScriptedServer
) -> None:
    id_ = await asks(pins("Hello"), Script(text="It is switched off."))
    request = await the_request(id_)
    await sync_to_async(_throw)(alice)

    await respond(alice, request, "approved")
    run = await ended(id_)

    assert (board.pinned, output(run)["error"]) == ([], "switched_off")
    assert "An administrator stopped the tool pin" in scripted_server.calls[-1].messages[-1]["content"]
    assert "We look into it" in output(run)["partial_data"]["reason"]
    effect = await Effect.objects.aget(execution_id=id_)
    assert (effect.status, effect.response["code"]) == ("failed", "switched_off")


@pytest.mark.spec("B17")
async def test_nobody_is_asked_about_what_is_switched_off(alice: Any, board: Board, asks: Any) -> None:
    await sync_to_async(_throw)(alice)

    run = await ended(await asks(pins("Hello"), Script(text="It is switched off.")))

    assert (board.pinned, output(run)["error"], await Request.objects.acount()) == ([], "switched_off", 0)


# --- instructions


@pytest.mark.spec("S127", "S128", "S129")
async def test_a_model_that_was_given_instructions_calls_again_and_its_task_says_so(
    alice: Any, board: Board, asks: Any, scripted_server: ScriptedServer
) -> None:
    id_ = await asks(pins("Hello"), ENHANCE, pins("Hello, all"), Script(text="Pinned for all."))

    first = await the_request(id_)
    await respond(alice, first, "approved", instructions="Greet all of them")
    second = await until(lambda: _other_request(id_, first))
    pinned = list(board.pinned)
    await respond(alice, second, "approved")
    run = await ended(id_)

    assert (pinned, board.pinned) == ([], ["Hello, all"])
    read = scripted_server.calls[2].messages[-1]["content"]
    assert "approved with instructions (besides what was asked for): Greet all of them" in read
    assert output(run)["task_done"]
    assert output(run)["task_description"].startswith("Complete BOTH the original task AND")
    assert "### User Enhanced Instructions\nGreet all of them" in output(run)["task_description"]


@pytest.mark.spec("S127", "S129", "S133")
async def test_instructions_with_edited_arguments_are_told_with_what_was_carried_out(
    alice: Any, board: Board, asks: Any, scripted_server: ScriptedServer
) -> None:
    """No model is asked what they are to the task: the call is as the person wants it."""
    id_ = await asks(pins("Hello"), Script(text="Pinned, and told Bob."))
    request = await the_request(id_)
    edited = {**request.question["tool_calls"][0]["arguments"], "text": "Hello, all"}

    await respond(alice, request, "approved", edited_arguments=edited, instructions="And tell Bob")
    run = await ended(id_)

    assert board.pinned == ["Hello, all"]
    read = scripted_server.calls[1].messages[-1]["content"]
    assert "They said: And tell Bob" in read
    assert output(run)["task_done"]
    assert "### User Enhanced Instructions\nAnd tell Bob" in output(run)["task_description"]


@pytest.mark.spec("S127", "S133")
async def test_the_same_call_after_instructions_needs_no_second_yes(alice: Any, board: Board, asks: Any) -> None:
    id_ = await asks(pins("Hello"), ENHANCE, pins("Hello"), Script(text="Pinned."))

    await respond(alice, await the_request(id_), "approved", instructions="And tell me when")
    await ended(id_)

    assert board.pinned == ["Hello"]
    assert await Request.objects.filter(execution_id=id_).acount() == 1


@pytest.mark.slow
@pytest.mark.spec("S127", "S128", "S129", "S130")
@pytest.mark.parametrize(
    ("line", "marks"),
    [
        (ENHANCE, ["Complete BOTH", "### Original Task\nPin hello", "### User Enhanced Instructions\nPin goodbye"]),
        (OVERRIDE, ["INSTEAD of the original task", "### User Override Instructions\nPin goodbye"]),
        (Script(status=400, error_message="no", times=0), ["Complete BOTH"]),
        (Script(text="Certainly! Both.", times=0), ["Complete BOTH"]),
    ],
)
async def test_an_agents_own_code_begins_anew_with_the_effective_task(
    line: Script, marks: list[str], alice: Any, board: Board, asks: Any
) -> None:
    id_ = await asks(line, run=by_code)

    first = await the_request(id_)
    await respond(alice, first, "approved", instructions="Pin goodbye")
    second = await until(lambda: _other_request(id_, first))
    pinned = list(board.pinned)
    await respond(alice, second, "approved")
    run = await ended(id_)

    effective = output(run)["task_description"]
    assert (pinned, board.pinned) == ([], [effective])
    assert all(mark in effective for mark in marks), effective
    assert second.task_description == effective
    assert output(run)["task_done"]


@pytest.mark.spec("S127")
async def test_the_classifier_has_a_model_of_its_own_where_one_is_set(
    alice: Any, board: Board, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(ENHANCE.model_copy(update={"model": "cheap-one"}))
    env = {"HITL_CLASSIFIER_PROVIDER": "scripted", "HITL_CLASSIFIER_MODEL": "cheap-one"}
    await make_runner(scripted_server.url, extra=programs(by_code), tools=board.tools(), env=env)
    id_ = await start(alice, "Pin hello", pipeline="asks")

    first = await the_request(id_)
    await respond(alice, first, "approved", instructions="Pin goodbye")
    await until(lambda: _other_request(id_, first))

    assert [call.model for call in scripted_server.calls] == ["cheap-one"]


# --- the gate before an agent


GATED = SPEC.model_copy(update={"approval": "before_agent"})


@pytest.mark.spec("S128", "S129", "S130")
async def test_a_gated_agent_asks_before_it_begins_and_works_on_the_effective_task(
    alice: Any, board: Board, asks: Any, scripted_server: ScriptedServer
) -> None:
    id_ = await asks(OVERRIDE, Script(text="Nothing to pin."), spec=GATED)
    request = await the_request(id_)
    asked = len(scripted_server.calls)

    await respond(alice, request, "approved", instructions="Look at it only")
    run = await ended(id_)

    assert asked == 0
    assert (request.stage, request.tool_names, request.question["tool_calls"]) == ("agent", ["pin"], [])
    assert (request.question["question"], request.task_description) == ("May the poster agent begin?", "Pin hello")
    assert "### User Override Instructions\nLook at it only" in scripted_server.calls[-1].messages[-1]["content"]
    assert output(run)["task_description"].startswith("IMPORTANT")
    assert output(run)["task_done"]


@pytest.mark.slow
@pytest.mark.spec("S122", "S123")
@pytest.mark.parametrize(
    ("decision", "error", "reason"),
    [("denied", "denied_by_user", "Not today"), ("timed_out", "hitl_timeout", "Nobody answered in time.")],
)
async def test_a_gated_agent_that_was_not_let_in_has_done_nothing_and_says_why(
    decision: str, error: str, reason: str, alice: Any, board: Board, asks: Any, scripted_server: ScriptedServer
) -> None:
    id_ = await asks(spec=GATED)
    request = await the_request(id_)

    if decision == "denied":
        await respond(alice, request, "denied", instructions="Not today")
    else:
        await Request.objects.filter(pk=request.pk).aupdate(expires_at=timezone.now())
        await sync_to_async(end_overdue)()
    run = await ended(id_)

    assert (output(run)["task_done"], output(run)["error"]) == (False, error)
    assert output(run)["partial_data"] == {"reason": reason, "tools": ["pin"]}
    assert (scripted_server.calls, board.pinned) == ([], [])
    assert run.answer.startswith("The poster agent was not carried out: ")


@pytest.mark.spec("B4", "B8")
async def test_a_gated_agent_follows_the_runs_rule_and_the_administrators_policy(
    alice: Any, board: Board, asks: Any
) -> None:
    skipped = await ended(await asks(spec=GATED, on_approval="skip", interactive=False))
    await Policy.objects.acreate(name="No posters", agent_name="poster", action=PolicyAction.DENY)

    denied = await ended(await start(alice, "Pin hello", pipeline="asks"))

    assert output(skipped)["error"] == "hitl_skipped_non_streaming"
    assert output(denied)["error"] == "denied_by_policy"
    assert await Request.objects.acount() == 0


@pytest.mark.spec("S132", "B26")
@pytest.mark.parametrize("tools", [SPEC.tools, ()], ids=["asked first", "handed over to"])
async def test_the_card_of_a_gated_agent_names_the_tools_of_connected_servers_too(
    tools: tuple[str, ...], alice: Any, board: Board, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    shop = Shop({"poster": [offered("buy", Risk.IRREVERSIBLE), offered("look")]})
    known, providers = programs(spec=GATED), fake_providers(connections=shop)

    async def begins(context: AgentContext, turn: dict[str, Any]) -> None:
        task = AgentInput(agent_id="poster-1", agent_name="poster", task=turn["question"], tools=tools)
        await context.wait(await context.fork("poster", commission(task), task=task.task))

    await make_runner(scripted_server.url, extra=known | {"asks": begins}, tools=board.tools(), providers=providers)

    request = await the_request(await start(alice, "Pin hello", pipeline="asks"))

    assert (request.tool_names, request.risk) == (["pin", "mcp_shop_buy"], "high")


# --- runs that nobody watches


@pytest.mark.spec("B8", "S124")
@pytest.mark.threat("T19")
@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"on_approval": "skip", "interactive": False}, "hitl_skipped_non_streaming"),
        ({"on_approval": "deny", "interactive": False}, "denied_by_policy"),
    ],
)
async def test_a_run_that_nobody_watches_leaves_out_what_needs_a_yes(
    options: dict[str, Any], error: str, alice: Any, board: Board, asks: Any
) -> None:
    run = await ended(await asks(pins("Hello"), Script(text="I could not."), **options))

    assert (board.pinned, output(run)["error"], await Request.objects.acount()) == ([], error, 0)
    assert "needs a person's approval" in output(run)["partial_data"]["reason"]


@pytest.mark.spec("B8")
async def test_a_run_that_nobody_watches_waits_in_the_inbox_if_it_was_made_so(
    alice: Any, board: Board, asks: Any
) -> None:
    id_ = await asks(pins("Hello"), Script(text="Pinned."), on_approval="wait", interactive=False)

    await respond(alice, await the_request(id_), "approved")
    await ended(id_)

    assert board.pinned == ["Hello"]


@pytest.mark.spec("B8")
async def test_targets_that_were_approved_beforehand_need_no_yes(alice: Any, board: Board, asks: Any) -> None:
    conditions = [{"path": "text", "op": "one_of", "value": ["Hello"]}]
    options = {"on_approval": "skip", "preapproved": [{"tool": "pin", "conditions": conditions}]}

    run = await ended(await asks(pins("Hello"), pins("Goodbye"), Script(text="Half."), **options))

    assert (board.pinned, output(run)["error"]) == (["Hello"], "hitl_skipped_non_streaming")


@pytest.mark.spec("S111", "S121")
async def test_people_are_told_with_the_request_when_its_time_is_over(
    alice: Any, board: Board, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(pins("Hello"))
    deadlines = Deadlines(interactive=True, approval_s=120)
    await make_runner(scripted_server.url, extra=programs(), tools=board.tools(), deadlines=deadlines)

    id_ = await start(alice, "Pin hello", pipeline="asks")
    request = await the_request(id_)

    (required,) = [event for event in await events(id_) if event["type"] == "hitl_required"]
    assert required["timeout_seconds"] == request.question["timeout_seconds"] == 120


@pytest.mark.spec("S111", "S112")
@pytest.mark.parametrize(("kind", "seconds"), [("decision", 300), ("input", 240), ("plan", 300)])
async def test_people_are_told_with_every_question_when_its_time_is_over(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners, kind: str, seconds: int
) -> None:
    async def asking(context: AgentContext, turn: dict[str, Any]) -> dict[str, Any]:
        return {"answer": str(await context.ask(kind, {"question": "Which?"})), "sources": []}

    deadlines = Deadlines(interactive=True, decision_s=300, input_s=240)
    await make_runner(scripted_server.url, extra={"asking": asking}, deadlines=deadlines)

    id_ = await start(alice, "Ask me", pipeline="asking")
    request = await the_request(id_)

    (asked,) = [event for event in await events(id_) if event["type"] == "interrupt"]
    assert (asked["kind"], asked["timeout_seconds"]) == (kind, seconds)
    assert request.expires_at == request.created_at + timedelta(seconds=seconds)


@pytest.mark.threat("T18")
async def test_while_the_database_is_away_the_desk_asks_again_and_lets_nothing_through(
    transactional_db: None, alice: Any
) -> None:
    tried: list[str] = []

    @asynccontextmanager
    async def connect() -> AsyncIterator[Any]:
        tried.append("a connection")
        if len(tried) < 3:
            raise psycopg.OperationalError("the database system is starting up")
        async with await psycopg.AsyncConnection.connect(database_dsn(), autocommit=True) as found:
            yield found

    lookups = Lookups(connect)

    stopped = await lookups.thrown(user_id=alice.id, agent_name="poster", tool="pin")
    standing = await lookups.standing(user_id=alice.id, tool="pin", call_key="k")

    assert (stopped, standing.policies, standing.rules) == ("", (), ())
    assert len(tried) == 4


def _throw(user: Any) -> None:
    user.is_staff = True
    user.save()
    switches.throw(user, scope=SwitchScope.TOOL, target="pin", reason="We look into it")


async def _other_request(id_: Any, first: Request) -> Request | None:
    return next((one for one in await open_requests(id_) if one.pk != first.pk), None)


async def _pinned(board: Board, text: str) -> bool:
    return text in board.pinned


async def _is(id_: Any, status: str) -> bool:
    return (await execution(id_)).status == status
