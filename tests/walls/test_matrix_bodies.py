"""Ids of Alice's within an address or a body, where the address itself is everybody's; and Charlie's own lists."""

import uuid
from collections.abc import Callable
from typing import Any, Final

import pytest
from django.test import Client

from agents.models import Execution
from conversations import actions
from tests.faces.conftest import api_of
from tests.faces.runs import make_agent, make_request, make_run
from tests.walls.owners import WORD, everything_stored, things_of

__all__ = ["api_of"]

# Endpoints that wait read the database in threads of their own.
pytestmark = pytest.mark.django_db(transaction=True)

LISTS: Final = (
    "conversations?origin=all",
    "executions",
    "executions?conversation={conversation_id}",
    "documents",
    "projects",
    "connectors",
    "webhooks",
    "schedules",
    "search/all?q=question",
    "hitl/rules",
    "hitl/requests",
    "hitl/requests?execution={execution_id}",
    "hitl/requests?conversation={conversation_id}",
)


@pytest.mark.spec("B4")
@pytest.mark.threat("T01", "T05")
def test_charlies_lists_are_empty(alice: Any, charlie: Any, api_of: Callable[..., Any]) -> None:
    api, things = api_of(charlie), things_of(alice)
    make_request(Execution.objects.get(id=things["execution_id"]))

    for url in LISTS:
        assert api.get(f"/api/v1/{url.format(**things)}").json()["results"] == [], url
    assert api.get("/api/v1/agents/tree").json() == {"agents": {}}
    assert api.get("/api/v1/memory").json()["memories"] == api.get("/api/v1/memory/export").json()["memories"] == []
    assert api.get("/api/v1/agent/tree").json() == {}


@pytest.mark.spec("B4")
@pytest.mark.threat("T01", "T05")
def test_charlie_reaches_nothing_of_alices_by_an_id_within_an_address_or_a_body(
    alice: Any, charlie: Any, api_of: Callable[..., Any]
) -> None:
    """While Alice's run goes on, so that there would be something to see and to change."""
    things = things_of(alice)
    run = make_run(alice, uuid.UUID(things["conversation_id"]), question=f"{WORD} second question")
    agent, asked = make_agent(run, task=f"{WORD} task"), make_request(run, question={"question": f"{WORD} matter"})
    own, talk = make_agent(make_run(charlie)), actions.create(charlie)
    api, before = api_of(charlie), everything_stored()
    going_on = {"execution_id": str(run.id), "agent_id": str(agent.id), "request_id": str(asked.request_id)}

    def answers(ids: dict[str, str]) -> list[Any]:
        execution_id, agent_id = ids["execution_id"], ids["agent_id"]
        said, asking = f"/api/v1/conversations/{talk.id}/messages", {"text": "Hello", "query": "Hello"}
        attached = {"attachment_ids": [ids["document_id"]]}
        return [
            api.get(f"/api/v1/agents/tree?execution={execution_id}"),
            api.get(f"/api/v1/agent/tree?execution={execution_id}"),
            api.post(f"/api/v1/executions/{own.execution_id}/retry", {"agent_id": agent_id}),
            api.post(f"/api/v1/executions/{own.execution_id}/fork", {"agent_id": agent_id, "step": "1"}),
            api.post("/api/v1/hitl/respond", {**ids, "decision": "answered", "text": "Yes"}),
            api.post("/api/v1/query", {**asking, "conversation_id": ids["conversation_id"]}),
            api.post("/api/v1/query/stream", {**asking, "conversation_id": ids["conversation_id"]}),
            api.post(said, {**asking, "edits": ids["message_id"]}),
            api.post(said, {**asking, "after": ids["message_id"]}),
            api.post(said, {**asking, **attached}),
            api.post("/api/v1/query", {**asking, **attached}),
            api.post("/api/v1/query", {**asking, "document_ids": [ids["document_id"]]}),
            api.post("/api/v1/conversations", {"parent_id": ids["conversation_id"], "project_id": ids["project_id"]}),
        ]

    foreign = answers({**things, **going_on})
    missing = answers({name: str(uuid.uuid4()) for name in things})

    for number, (hers, nothing) in enumerate(zip(foreign, missing, strict=True)):
        assert hers.status_code in (400, 404), (number, hers.content)
        assert (hers.status_code, plainly(hers)) == (nothing.status_code, plainly(nothing)), number
        assert WORD not in str(hers.content), number
    assert everything_stored() == before


def plainly(answer: Any) -> Any:
    """Without the ids that were asked for: what was sent may be said again."""
    told = answer.json()
    return {**told["error"], "fields": sorted(told["error"].get("fields") or ()), "message": ""}


def test_what_is_missing_below_api_is_told_in_the_error_shape(client: Client) -> None:
    missing = client.post("/api/v1/no/such/thing", data="{}", content_type="application/json")

    assert missing.status_code == 404
    assert missing.json()["error"]["code"] == "not_found"
