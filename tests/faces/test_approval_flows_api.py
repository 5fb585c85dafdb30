"""The flows of approvals as a program goes through them: by REST and the streamed answer, with a real runner behind."""

import asyncio
import json
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from agents.models import Execution
from hitl.models import Policy, Request
from tests.faces.test_approvals_api import END, MAIL, RESPOND, SENT, agreed_to_the_plan, box, pending, served
from tests.faces.test_query import STREAM, Program, api, parts, post, text_of
from tests.pipeline.graphs import QUESTION, forking
from tests.runtime.driving import Runners, until
from tests.scripted.script import Script
from tests.scripted.server import ScriptedServer
from tests.tools.doubles import FakeMailbox

__all__ = ["api", "box"]

pytestmark = [pytest.mark.usefixtures("in_threads"), pytest.mark.slow]

REQUESTS = "/api/v1/hitl/requests"
FORKED = "Look into sails for me"
ANSWER = "Sails catch the wind."


def streaming(api: Program, **body: Any) -> "asyncio.Task[list[dict[str, Any]]]":
    async def said() -> list[dict[str, Any]]:
        return parts(await text_of(await post(api, STREAM, body)))

    return asyncio.create_task(said())


async def open_ones(api: Program, count: int) -> list[dict[str, Any]]:
    """What waits for the program's person, as the API lists it, once there are so many."""

    async def listed() -> list[dict[str, Any]] | None:
        found: list[dict[str, Any]] = (await api.get(f"{REQUESTS}?status=pending")).json()["results"]
        return found if len(found) == count else None

    waiting: list[dict[str, Any]] = await until(listed)
    return waiting


def kinds_of(said: list[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in said if event["type"].startswith("hitl_")]


@pytest.fixture
async def forks_are_asked_about(in_threads: None) -> None:
    await Policy.objects.acreate(name="Forks", tool="fork", action="ask")


@pytest.mark.spec("S133", "B5", "S114")
async def test_what_a_program_edits_is_what_is_sent(
    api: Program, box: FakeMailbox, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    await served(scripted_server, make_runner, box, *MAIL, SENT, *END)
    stream = streaming(api, query=QUESTION)
    await agreed_to_the_plan(api)
    request = await pending("approval")
    (call,) = request.question["tool_calls"]
    edited = {**call["arguments"], "to": ["carol@example.org"]}

    unfit = await post(
        api,
        RESPOND,
        {"request_id": str(request.pk), "decision": "approved", "edited_arguments": {**edited, "to": "carol"}},
    )
    taken = await post(
        api, RESPOND, {"request_id": str(request.pk), "decision": "approved", "edited_arguments": edited}
    )
    said = await stream

    assert (unfit.status_code, list(unfit.json()["error"]["fields"])) == (400, ["edited_arguments.to"])
    assert (taken.status_code, taken.json()["status"]) == (200, "approved")
    assert [mail.to for mail in box.sent] == [("carol@example.org",)]
    assert said[-1]["answer"] == "That is all."


@pytest.mark.spec("S123", "B6")
async def test_what_nobody_answers_ends_by_its_time_and_is_told_as_that(
    api: Program, box: FakeMailbox, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    await served(scripted_server, make_runner, box, *MAIL, *END)
    stream = streaming(api, query=QUESTION)
    await agreed_to_the_plan(api)
    request = await pending("approval")

    await sync_to_async(Request.objects.filter(pk=request.pk).update)(expires_at=timezone.now())
    said = await stream
    late = await post(api, RESPOND, {"request_id": str(request.pk), "decision": "approved"})

    assert kinds_of(said)[-2:] == ["hitl_required", "hitl_timeout"]
    run = await Execution.objects.aget(id=request.execution_id)
    assert [one["error"] for one in run.result["skipped"]] == ["hitl_timeout"]
    assert (late.status_code, late.json()["error"]["request"]["status"]) == (409, "timed_out")
    assert box.sent == []


@pytest.mark.usefixtures("forks_are_asked_about")
@pytest.mark.spec("S132", "S122")
async def test_several_calls_of_one_answer_are_listed_and_decided_one_by_one(
    api: Program, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(
        Script(match=FORKED, tool_calls=forking("Find a sailmaker", "Find a ropemaker")),
        Script(match="Find a ropemaker", text="There is one.", times=0),
        Script(match=FORKED, text=ANSWER, times=0),
    )
    await make_runner(scripted_server.url)
    stream = streaming(api, query=FORKED, mode="chat")

    both = {one["tool_calls"][0]["arguments"]["prompt"]: one for one in await open_ones(api, 2)}
    no = {"request_id": both["Find a sailmaker"]["request_id"], "decision": "denied", "instructions": "We have one"}
    await post(api, RESPOND, no)
    (left,) = await open_ones(api, 1)
    await post(api, RESPOND, {"request_id": left["request_id"], "decision": "approved"})
    said = await stream

    assert left == both["Find a ropemaker"]
    assert said[-1]["answer"] == ANSWER
    started = [event["task"] for event in said if event["type"] == "agent_state" and event.get("task")]
    assert "Find a ropemaker" in started
    assert "Find a sailmaker" not in started
    assert "We have one" in json.dumps(scripted_server.calls[-1].body)


@pytest.mark.usefixtures("forks_are_asked_about")
@pytest.mark.spec("S110", "S121")
async def test_what_a_subagent_asks_names_the_way_to_it_and_is_answered_as_any_other(
    api: Program, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(
        Script(match="Ring the harbour", text="Nobody is there.", times=0),
        Script(match="Find a sailmaker", tool_calls=forking("Ring the harbour")),
        Script(match="Find a sailmaker", text="The harbour knows one.", times=0),
        Script(match="Find a ropemaker", text="There is none.", times=0),
        Script(match=FORKED, tool_calls=forking("Find a sailmaker")),
        Script(match=FORKED, tool_calls=forking("Find a ropemaker")),
        Script(match=FORKED, text=ANSWER, times=0),
    )
    await make_runner(scripted_server.url)
    stream = streaming(api, query=FORKED, mode="chat")

    (first,) = await open_ones(api, 1)
    await post(api, RESPOND, {"request_id": first["request_id"], "decision": "approved"})
    both = {one["tool_calls"][0]["arguments"]["prompt"]: one for one in await open_ones(api, 2)}
    for prompt in ("Ring the harbour", "Find a ropemaker"):
        answer = {"request_id": both[prompt]["request_id"], "decision": "approved"}
        assert (await post(api, RESPOND, answer)).status_code == 200
    said = await stream

    asked = {event["request_id"]: event for event in said if event["type"] == "hitl_required"}
    below, root = asked[both["Ring the harbour"]["request_id"]], asked[first["request_id"]]
    assert (root["agent_path"], below["agent_path"]) == (["chat"], ["chat", "chat"])
    assert below["root_agent_id"] == root["agent_id"] != below["agent_id"]
    assert said[-1]["answer"] == ANSWER
