"""A run that has read text of others wants to write a file: the request shows the change, over the API."""

import json
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from agents.runtime.context import AgentContext
from agents.workspace import OwnFiles
from hitl.models import Request
from memory.workspaces import files
from memory.workspaces.places import Place, Scope
from tests.faces.conftest import in_threads
from tests.faces.test_query import Program, api, post
from tests.runtime.conftest import make_runner
from tests.runtime.driving import Runners, ended, start, until
from tests.tools.doubles import fake_providers

__all__ = ["api", "in_threads", "make_runner"]
pytestmark = pytest.mark.usefixtures("in_threads")
NO_MODEL = "http://127.0.0.1:9"
REQUESTS, RESPOND = "/api/v1/hitl/requests?status=pending", "/api/v1/hitl/respond"
OLD, NEW = "retries = 3\ncolour = false\n", "retries = 5\ncolour = false\n"


async def reads_and_writes(context: AgentContext, turn: dict[str, Any]) -> dict[str, Any]:
    await context.tool("search_documents", {"query": "anything"}, call_id="call-1")
    change = {"path": "settings.toml", "scope": "user", "old": "retries = 3", "new": "retries = 5"}
    reply = await context.tool("edit_file", change, call_id="call-2")
    return {"answer": reply.content, "sources": []}


@pytest.mark.spec("S132", "S207", "B5")
@pytest.mark.threat("T16")
async def test_a_change_that_others_may_have_brought_about_is_shown_as_a_diff_and_done_as_shown(
    alice: Any, api: Program, make_runner: Runners
) -> None:
    place = Place(Scope.USER, alice.pk)
    await sync_to_async(files.write)(alice.pk, place, "settings.toml", OLD.encode())
    providers = fake_providers(workspace=OwnFiles())
    await make_runner(NO_MODEL, extra={"writes": reads_and_writes}, providers=providers)
    id_ = await start(alice, "?", pipeline="writes")
    await until(Request.objects.pending().filter(execution_id=id_).afirst)

    (request,) = (await api.get(REQUESTS)).json()["results"]
    (call,) = request["tool_calls"]
    said = {"request_id": request["request_id"], "decision": "approved", "arguments_hash": call["arguments_hash"]}
    decided = await post(api, RESPOND, said)
    run = await ended(id_)

    assert (request["question"], [one["tool"] for one in request["tainted_by"]]) == (
        "Make this change?",
        ["search_documents"],
    )
    assert call["preview"] == {"kind": "diff", "path": "settings.toml", "before": OLD, "after": NEW}
    assert "preview" not in json.dumps(call["arguments"])
    assert decided.status_code == 200, decided.content
    assert run.answer.startswith("settings.toml was changed")
    assert (await sync_to_async(files.read)(alice.pk, place, "settings.toml"))[1] == NEW.encode()
