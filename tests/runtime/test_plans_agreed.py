"""Plans that people are asked about, through the real runner: what answer, result and log say of each end."""

import json
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from agents.mcp.definitions import Risk
from agents.runtime.driven import PipelineSettings
from agents.usage.models import ModelPrice
from hitl import actions
from hitl.answers import Response
from hitl.ending import end_overdue
from hitl.kinds import RequestStatus, Via
from hitl.models import Decision, Request
from tests.mcp.test_noted import Shop, offered
from tests.pipeline.graphs import PARALLEL, QUESTION, SATISFIED, plan_text
from tests.runtime.driving import Runners, start
from tests.runtime.endings import told, wholly_ended
from tests.runtime.test_budget_turn import asked as open_request
from tests.scripted.script import Script
from tests.scripted.server import ScriptedServer
from tests.tools.doubles import fake_providers

PLAN = Script(match=QUESTION, text=plan_text(PARALLEL))
FOUND = [Script(match=f"Work on {name} now.", text=f"Found {name}.") for name in (*PARALLEL, "gamma")]
MISSING = Script(match=QUESTION, text=json.dumps({"satisfied": False, "feedback": "gamma is missing", "redo": []}))
MAILED = Script(match=QUESTION, text=plan_text({"gamma": ()}, agent="mail"))
CHECKED = Script(match=QUESTION, text=SATISFIED)
COMPOSED = Script(match=QUESTION, text="This is what there is.")
UNREACHED = Script(match="## Results", status=503, times=0)
ONCE = {"LLM_ATTEMPTS": "1"}
SHOWN = {"show_plan": True}


async def asked(id_: UUID) -> Request:
    request = await open_request(id_)
    assert request.kind == "plan"
    return request


@sync_to_async
def respond(user: Any, request: Request, decision: str, **said: Any) -> None:
    actions.respond(user, request.request_id, Response(RequestStatus(decision), **said), via=Via.API)


async def nobody_answers(request: Request) -> None:
    await Request.objects.filter(pk=request.pk).aupdate(expires_at=timezone.now())
    await sync_to_async(end_overdue)()


def errors_of(run: Any) -> set[tuple[str, str]]:
    return {(task["status"], task["error"]) for task in run.result["plan"]["tasks"]}


# --- the first plan


@pytest.mark.spec("B13", "B6", "S123")
async def test_a_plan_that_nobody_answers_in_time_is_told_as_that_and_never_as_a_no(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(PLAN)
    await make_runner(scripted_server.url)
    id_ = await start(alice, QUESTION, options=SHOWN)

    await nobody_answers(request := await asked(id_))
    run, said = await wholly_ended(id_)

    assert run.answer == (
        "Nobody answered in time whether the plan may run, so nothing was done. Ask again to be asked again."
    )
    assert errors_of(run) == {("skipped", "hitl_timeout")}
    assert [(part["agent_name"], part["error"], part["reason"]) for part in run.result["skipped"]] == [
        ("chat", "hitl_timeout", "Nobody answered in time.")
    ] * 2
    assert [event["status"] for event in told(said, "interrupt_response")] == ["timed_out"]
    assert len(told(said, "plan_step_completed", status="skipped", error="hitl_timeout")) == 2
    assert not await Decision.objects.filter(request=request, happening="denied").aexists()


@pytest.mark.spec("B13", "S122")
async def test_a_rejected_plan_is_told_as_that_with_the_reason(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(PLAN)
    await make_runner(scripted_server.url)
    id_ = await start(alice, QUESTION, options=SHOWN)

    await respond(alice, await asked(id_), "denied", instructions="Too much.")
    run, said = await wholly_ended(id_)

    assert run.answer == "The plan was rejected, so nothing was done."
    assert errors_of(run) == {("skipped", "denied_by_user")}
    assert {part["reason"] for part in run.result["skipped"]} == {"Too much."}
    assert [event["status"] for event in told(said, "interrupt_response")] == ["denied"]


@pytest.mark.slow
@pytest.mark.spec("B13")
async def test_a_plan_that_was_changed_into_what_cannot_be_run_is_told_as_that_with_what_is_wrong(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(PLAN)
    await make_runner(scripted_server.url)
    id_ = await start(alice, QUESTION, options=SHOWN)

    broken = {"tasks": [{"id": "a", "agent": "astrologer", "task": "Look at the stars"}]}
    for _ in range(3):
        await respond(alice, await asked(id_), "answered", plan=broken)
    run, _ = await wholly_ended(id_)

    assert run.answer.startswith("The plan could not be run as it was changed, so nothing was done. What was wrong")
    assert "'astrologer'" in run.answer
    assert errors_of(run) == {("failed", "plan_cannot_run")}
    assert {part["error"] for part in run.result["skipped"]} == {"plan_cannot_run"}


@pytest.mark.spec("B13", "S132", "B26")
async def test_a_plan_with_a_connected_servers_tool_is_asked_about_and_names_it_like_those_of_the_house(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    shop = Shop({"chat": [offered("buy", Risk.IRREVERSIBLE), offered("order", Risk.WRITE), offered("look")]})
    scripted_server.script(PLAN)
    await make_runner(scripted_server.url, providers=fake_providers(connections=shop))
    id_ = await start(alice, QUESTION)

    request = await asked(id_)
    await respond(alice, request, "denied", instructions="Too much.")
    run, said = await wholly_ended(id_)

    assert "It may do what cannot be undone: mcp_shop_buy." in request.question["question"]
    assert {"mcp_shop_buy", "mcp_shop_order"} < set(request.question["asks_about"])
    assert "mcp_shop_look" not in request.question["asks_about"]
    assert "mcp_shop_order" in told(said, "plan_overview")[0]["asks_about"]
    assert "mcp_shop_order" in run.result["plan"]["asks_about"]
    assert {"mcp_shop_buy", "mcp_shop_order"} < set(run.result["skipped"][0]["tools"])


@pytest.mark.spec("B13", "S127")
async def test_what_a_person_says_when_they_agree_to_a_plan_is_told_to_whoever_works_on_it(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(PLAN, *FOUND[:2], MISSING, MAILED, CHECKED, COMPOSED)
    await make_runner(scripted_server.url)
    id_ = await start(alice, QUESTION, options=SHOWN)

    await respond(alice, await asked(id_), "approved", instructions="In metric units.")
    await respond(alice, await asked(id_), "approved", instructions="To Bob only.")
    run, _ = await wholly_ended(id_)

    told = [call.last_user for call in scripted_server.calls[1:]]
    assert run.answer == "This is what there is."
    assert all("In metric units." in words for words in told)
    assert ["To Bob only." in words for words in told[-3:]] == [False, True, True]


# --- a plan of a run in which nobody can be asked


@pytest.mark.spec("S124", "B8", "B26")
async def test_agents_whose_tasks_name_what_needs_a_yes_do_not_begin_where_nobody_can_be_asked(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    shop = Shop({"chat": [offered("order", Risk.WRITE)]})
    plan = json.loads(plan_text({"alpha": (), "beta": (), "gamma": ()}))
    bought, mailed, _ = plan["execution_plan"]
    bought["tools"] = ["mcp_shop_order"]
    mailed |= {"agent": "mail", "tools": ["send_email"]}
    scripted_server.script(Script(match=QUESTION, text=json.dumps(plan)), FOUND[-1], CHECKED, COMPOSED)
    await make_runner(scripted_server.url, providers=fake_providers(connections=shop))

    id_ = await start(alice, QUESTION, options={"on_approval": "skip", "interactive": False})
    run, said = await wholly_ended(id_)

    left = {(part["agent_name"], part["error"], *part["tools"]) for part in run.result["skipped"]}
    assert left == {
        ("chat", "hitl_skipped_non_streaming", "mcp_shop_order"),
        ("mail", "hitl_skipped_non_streaming", "send_email"),
    }
    assert {event["description"] for event in told(said, "stage", name="approval")} == {
        "Left out, because nobody can be asked: mcp_shop_order",
        "Left out, because nobody can be asked: send_email",
    }
    assert "streaming interface" in scripted_server.calls[-1].last_user


# --- a plan that goes on from another


@pytest.mark.slow
@pytest.mark.spec("B13", "S14", "S132")
async def test_a_new_plan_that_brings_in_what_cannot_be_undone_is_asked_about_and_runs_when_agreed_to(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(PLAN, *FOUND[:2], MISSING, MAILED, CHECKED, COMPOSED)
    await make_runner(scripted_server.url)
    id_ = await start(alice, QUESTION)

    request = await asked(id_)
    await respond(alice, request, "approved")
    run, said = await wholly_ended(id_)

    assert request.question["question"].startswith("This is the plan for what is missing.")
    assert [task["agent"] for task in request.question["tasks"]] == ["mail"]
    assert "send_email" in request.question["asks_about"]
    assert run.answer == "This is what there is."
    assert [task["agent"] for task in run.result["plan"]["tasks"]] == ["chat", "chat", "mail"]
    assert run.result["plan"]["asks_about"] == told(said, "plan_overview")[-1]["asks_about"] != []
    assert told(said, "agent_state", agent_name="mail")


@pytest.mark.spec("B13", "S14", "S122")
async def test_a_rejected_new_plan_leaves_what_there_is_and_the_composer_is_told(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(PLAN, *FOUND[:2], MISSING, MAILED, COMPOSED)
    await make_runner(scripted_server.url)
    id_ = await start(alice, QUESTION)

    await respond(alice, await asked(id_), "denied", instructions="No mails.")
    run, said = await wholly_ended(id_)

    composer = scripted_server.calls[-1].last_user
    assert run.answer == "This is what there is."
    assert all(part in composer for part in ("Found alpha.", "Found beta.", "its approval was declined (No mails."))
    assert "The plan for what is missing was rejected, so the answer says what there is." in composer
    assert not told(said, "agent_state", agent_name="mail")
    assert [(part["agent_name"], part["error"]) for part in run.result["skipped"]] == [("mail", "denied_by_user")]
    assert "send_email" in run.result["skipped"][0]["tools"]
    assert [task["status"] for task in run.result["plan"]["tasks"]] == ["completed", "completed", "skipped"]


@pytest.mark.spec("B13", "B6", "S123")
async def test_a_new_plan_that_nobody_answers_is_told_in_the_answer_also_without_a_model(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(PLAN, *FOUND[:2], MISSING, MAILED, UNREACHED)
    await make_runner(scripted_server.url, env=ONCE)
    id_ = await start(alice, QUESTION)

    await nobody_answers(await asked(id_))
    run, _ = await wholly_ended(id_)

    assert all(part in run.answer for part in ("Found alpha.", "Found beta.", "nobody answered in time"))
    assert "Nobody answered in time whether the plan for what is missing may run" in run.answer
    assert "reject" not in run.answer
    assert "declined" not in run.answer
    assert {part["error"] for part in run.result["skipped"]} == {"hitl_timeout"}


@pytest.mark.spec("B13", "B11")
async def test_a_new_plan_that_lifts_the_whole_above_the_limit_is_asked_about(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    """A task is reckoned at $0.40, by the prices that administrators have set."""
    await ModelPrice.objects.acreate(
        model="scripted/scripted-pro", input_usd=Decimal(10), output_usd=Decimal(50), since=timezone.now()
    )
    onward = Script(match=QUESTION, text=plan_text({"gamma": ()}))
    scripted_server.script(PLAN, *FOUND[:2], MISSING, onward, FOUND[2], CHECKED, COMPOSED)
    await make_runner(scripted_server.url, pipeline=PipelineSettings(plan_asks_above_usd=1))
    id_ = await start(alice, QUESTION)

    request = await asked(id_)
    await respond(alice, request, "approved")
    run, _ = await wholly_ended(id_)

    assert request.question["question"].endswith(
        "With what was planned before, it is reckoned to cost $1.20, and plans above $1.00 are asked about."
    )
    assert request.question["cost"]["reckoned_usd"] == 1.2
    assert run.answer == "This is what there is."
