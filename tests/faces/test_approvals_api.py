"""What a program sees of approvals: runs that skip, wait, deny or ask, and the decisions that it makes."""

import asyncio
import json
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from agents.models import AgentExecution, Execution
from hitl.models import Request
from tests.faces.conftest import token_of
from tests.faces.test_query import QUERY, STREAM, Program, api, parts, post, text_of
from tests.pipeline.graphs import QUESTION, SATISFIED
from tests.runtime.driving import Runners, ended, until
from tests.scripted.script import Script
from tests.scripted.server import ScriptedServer
from tests.tools.doubles import FakeMailbox, fake_providers

__all__ = ["api"]

pytestmark = pytest.mark.usefixtures("in_threads")

RESPOND = "/api/v1/hitl/respond"
TASK = "Mail bob@example.org the numbers now."
PLAN = json.dumps(
    {
        "analysis": {"intent": "a report", "entities": {}},
        "execution_plan": [
            {"id": "look", "agent": "chat", "task": "Work on alpha now.", "depends_on": []},
            {"id": "mail", "agent": "mail", "task": TASK, "depends_on": [], "tools": ["send_email"]},
        ],
    }
)
LOOK = Script(match="Work on alpha now.", text="Found alpha.")
MAIL = (
    Script(match=TASK, text=json.dumps({"action": "send", "to": ["bob@example.org"], "subject": "Q3", "say": "alpha"})),
    Script(match=TASK, text=json.dumps({"subject": "Q3", "body": "alpha"})),
)
SENT = Script(match=TASK, text="The mail went to Bob.")
END = (Script(match=QUESTION, text=SATISFIED), Script(match=QUESTION, text="That is all."))


@pytest.fixture
def box() -> FakeMailbox:
    return FakeMailbox()


async def served(server: ScriptedServer, make_runner: Runners, box: FakeMailbox, *lines: Script) -> None:
    server.script(Script(match=QUESTION, text=PLAN), LOOK, *lines)
    await make_runner(server.url, providers=fake_providers(mailbox=box))


async def pending(kind: str) -> Request:
    found: Request = await until(Request.objects.pending().filter(kind=kind).afirst)
    return found


async def agreed_to_the_plan(api: Program) -> None:
    plan = await pending("plan")
    answered = await post(api, RESPOND, {"request_id": str(plan.request_id), "decision": "approved"})
    assert answered.status_code == 200, answered.content


@pytest.mark.spec("S124", "B8", "S122")
async def test_the_call_that_does_not_stream_leaves_out_what_needs_a_yes_and_says_so(
    api: Program, box: FakeMailbox, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    """The agent is left out before it has asked a model anything; the other one runs."""
    await served(scripted_server, make_runner, box, *END)

    answered = await post(api, QUERY, {"query": QUESTION})

    body = answered.json()
    assert (answered.status_code, body["status"], body["answer"]) == (200, "completed", "That is all.")
    (skipped,) = body["skipped"]
    assert (skipped["agent_name"], skipped["error"]) == ("mail", "hitl_skipped_non_streaming")
    assert (skipped["tools"], "needs a person's approval" in skipped["reason"]) == (["send_email"], True)
    assert (box.sent, await Request.objects.acount()) == ([], 0)
    composer = scripted_server.calls[-1].last_user
    assert "Found alpha." in composer
    assert "this way of asking cannot ask for it" in composer


@pytest.mark.spec("B8")
async def test_a_run_that_denies_all_approvals_says_that_it_was_made_so(
    api: Program, box: FakeMailbox, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    await served(scripted_server, make_runner, box, *MAIL, *END)

    answered = await post(api, QUERY, {"query": QUESTION, "on_approval": "deny"})

    (skipped,) = answered.json()["skipped"]
    assert (skipped["error"], skipped["tools"], box.sent) == ("denied_by_policy", ["send_email"], [])
    assert "all such calls are denied" in skipped["reason"]


@pytest.mark.slow
@pytest.mark.spec("S124", "S125", "B8", "S119")
async def test_with_wait_the_call_answers_202_and_the_run_goes_on_with_the_decision(
    api: Program, box: FakeMailbox, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    await served(scripted_server, make_runner, box, *MAIL, SENT, *END)

    plan = await post(api, QUERY, {"query": QUESTION, "on_approval": "wait"})
    (about_plan,) = plan.json()["requests"]
    await agreed_to_the_plan(api)
    request = await pending("approval")
    answer = {
        "request_id": str(request.request_id),
        "decision": "approved",
        "arguments_hash": request.arguments_hash,
    }
    decided = await post(api, RESPOND, answer)
    run = await ended(request.execution_id)
    late = await post(api, RESPOND, {"request_id": str(request.request_id), "decision": "denied"})

    assert (plan.status_code, about_plan["kind"]) == (202, "plan")
    assert (decided.status_code, decided.json()["status"]) == (200, "approved")
    assert request.question["tool_calls"][0]["preview"]["to"] == ["bob@example.org"]
    assert [mail.to for mail in box.sent] == [("bob@example.org",)]
    assert (run.status, run.answer, run.result["skipped"]) == ("completed", "That is all.", [])
    assert (late.status_code, late.json()["error"]["request"]["status"]) == (409, "approved")


@pytest.mark.spec("S121", "S122", "S125", "S151")
async def test_of_two_agents_in_parallel_one_goes_on_while_the_other_waits_and_is_denied(
    api: Program, box: FakeMailbox, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    await served(scripted_server, make_runner, box, *MAIL, *END)

    streaming = asyncio.create_task(_stream(api, {"query": QUESTION}))
    await agreed_to_the_plan(api)
    request = await pending("approval")
    other = await until(_finished_chat)
    reason = {"request_id": str(request.request_id), "decision": "denied", "instructions": "Not to Bob"}
    await post(api, RESPOND, reason)
    said = await streaming

    kinds = [event["type"] for event in said]
    required = next(event for event in said if event["type"] == "hitl_required")
    assert other.status == "completed"
    assert (required["agent_name"], required["tool_names"], required["task_description"]) == (
        "mail",
        ["send_email"],
        TASK,
    )
    assert kinds.index("hitl_required") < kinds.index("hitl_denied") < kinds.index("complete")
    run = await Execution.objects.aget(id=request.execution_id)
    (skipped,) = run.result["skipped"]
    assert (skipped["error"], skipped["reason"], box.sent) == ("denied_by_user", "Not to Bob", [])
    composer = scripted_server.calls[-1].last_user
    assert "its approval was declined (Not to Bob; tools: send_email)" in composer


@pytest.mark.slow
@pytest.mark.spec("S127", "S128", "S129", "S33")
@pytest.mark.parametrize("intent", ["enhance", "override"])
async def test_an_approval_with_instructions_has_the_mail_written_anew_and_asked_about_anew(
    intent: str, api: Program, box: FakeMailbox, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    wish = "Write to carol@example.org"
    again = json.dumps({"action": "send", "to": ["carol@example.org"], "subject": "Q3", "say": "alpha"})
    written = json.dumps({"subject": "Q3", "body": "alpha"})
    lines = (
        *MAIL,
        Script(match=wish, text=json.dumps({"intent": intent})),
        Script(match=wish, text=again),
        Script(match=wish, text=written),
        Script(match=wish, text="The mail went to Carol."),
    )
    await served(scripted_server, make_runner, box, *lines, *END)

    streaming = asyncio.create_task(_stream(api, {"query": QUESTION}))
    await agreed_to_the_plan(api)
    first = await pending("approval")
    await post(api, RESPOND, {"request_id": str(first.request_id), "decision": "approved", "instructions": wish})
    second = await pending("approval")
    before = list(box.sent)
    await post(api, RESPOND, {"request_id": str(second.request_id), "decision": "approved"})
    await streaming

    run = await Execution.objects.aget(id=first.execution_id)
    assert (before, [mail.to for mail in box.sent]) == ([], [("carol@example.org",)])
    assert second.question["tool_calls"][0]["arguments"]["to"] == ["carol@example.org"]
    head = "Complete BOTH" if intent == "enhance" else "IMPORTANT"
    assert second.task_description.startswith(head)
    assert run.result["skipped"] == []
    composer = scripted_server.calls[-1]
    assert ("changed the task" in json.dumps(composer.messages)) == (intent == "override")


@pytest.mark.spec("B8")
async def test_to_approve_beforehand_needs_the_scope_to_approve_and_says_what_is_wrong(
    alice: Any, api: Program
) -> None:
    wish = {
        "query": "Hi",
        "preapproved": [{"tool": "pin", "conditions": [{"path": "to", "op": "domain", "value": "a.org"}]}],
    }
    bare = Program()
    bare.token = await sync_to_async(token_of)(alice, scopes=["run"])

    refused = await post(bare, QUERY, wish)
    bad = await post(api, QUERY, {"query": "Hi", "preapproved": [{"tool": "send_email"}]})

    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "scope_missing")
    assert bad.status_code == 400
    assert "preapproved.0.conditions" in bad.json()["error"]["fields"]
    assert await Execution.objects.acount() == 0


@pytest.mark.spec("B8")
@pytest.mark.parametrize("url", [QUERY, STREAM])
async def test_what_was_approved_beforehand_is_told_to_the_run(url: str, api: Program) -> None:
    given = [{"tool": "pin", "conditions": [{"path": "to", "op": "domain", "value": "Example.org"}]}]

    asking = asyncio.create_task(post(api, url, {"query": "Hi", "preapproved": given}))
    run: Execution = await until(Execution.objects.afirst)
    asking.cancel()

    conditions = [{"path": "to", "op": "domain", "value": "example.org"}]
    assert run.input["options"]["preapproved"] == [{"tool": "pin", "conditions": conditions}]


async def _stream(api: Program, body: dict[str, Any]) -> list[dict[str, Any]]:
    return parts(await text_of(await post(api, STREAM, body)))


async def _finished_chat() -> Any:
    return await AgentExecution.objects.filter(agent_name="chat", status="completed").afirst()
