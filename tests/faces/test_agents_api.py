"""The agents over the API: the roster, the tree of a run, one agent with its history, and intervening in it."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agents.availability import why_unavailable
from agents.log import older_shapes
from agents.log.agent_reading import PREVIEW_CHARS
from agents.models import AgentExecution, Execution, Intervention
from agents.registry import specs
from hitl import switches
from hitl.kinds import SwitchScope
from tests.faces.runs import make_agent, make_run, make_step

TREE, AGENTS = "/api/v1/agents/tree", "/api/v1/agents"
REQUEST = {
    "tier": "pro",
    "messages": [
        {"role": "system", "content": "You are the web agent."},
        {"role": "user", "content": "Find the date"},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "name": "web_search", "arguments": "{}"}]},
        {"role": "tool", "content": "It was in May", "tool_call_id": "c1"},
    ],
}
CALL = {"id": "c2", "name": "web_search", "arguments": "{}"}
REPLY = {"text": "In May.", "thinking": "May it is", "tool_calls": []}
USAGE = {"model": "m", "provider": "p", "prompt_tokens": 10, "completion_tokens": 5, "cost_usd": "0.25"}


@pytest.fixture
def run(alice: Any) -> Execution:
    return make_run(alice)


def below(run: Execution) -> tuple[Any, Any, Any]:
    """A root, an agent below it that has ended, and one after that which works."""
    root = make_agent(run, "turn")
    first = make_agent(run, "web", parent=root, status="completed", step_id="web-a1b2c3")
    second = make_agent(run, "writing", parent=root, depends_on=[first.id], modified=True, user_comment="modify",
                        user_content="Write it shorter")  # fmt: skip
    return root, first, second


@pytest.mark.spec("S90", "S92", "B15")
def test_the_tree_of_a_run_has_every_agent_with_its_place_and_no_history(
    run: Execution, alice: Any, api_of: Callable[..., Any]
) -> None:
    root, first, second = below(run)
    make_step(first, [1], "model", "agent", request=REQUEST, response=REPLY, usage=USAGE)

    told = api_of(alice).get(f"{TREE}?execution={run.id}").json()["agents"]

    assert list(told) == [str(root.id), str(first.id), str(second.id)]
    assert told[str(root.id)]["subagents"] == [str(first.id), str(second.id)]
    shown = told[str(second.id)]
    assert (shown["parent_id"], shown["depends_on"]) == (str(root.id), [str(first.id)])
    assert (shown["status"], shown["modified"], shown["user_comment"]) == ("running", True, "modify")
    assert shown["user_content"] == "Write it shorter"
    assert told[str(first.id)]["step_id"] == "web-a1b2c3"
    assert told[str(first.id)]["usage"] == {"prompt_tokens": 10, "completion_tokens": 5, "cost_usd": 0.25}
    assert not any("messages" in agent for agent in told.values())


@pytest.mark.spec("S70", "S105")
def test_without_a_run_the_tree_has_what_works_now_of_all_runs(
    run: Execution, alice: Any, bob: Any, api_of: Callable[..., Any]
) -> None:
    root, _, second = below(run)
    other = make_agent(make_run(alice), "chat", status="awaiting_user")
    make_agent(make_run(alice, status="cancelled", ended_at=run.started_at), "chat")
    make_agent(make_run(bob), "chat")

    told = api_of(alice).get(TREE).json()["agents"]

    assert set(told) == {str(root.id), str(second.id), str(other.id)}


@pytest.mark.spec("S92")
def test_one_agent_is_shown_with_all_that_it_and_its_models_said_and_its_steps(
    run: Execution, alice: Any, api_of: Callable[..., Any]
) -> None:
    root, agent, _ = below(run)
    long = {**REQUEST, "messages": [*REQUEST["messages"][:1], {"role": "user", "content": "x" * 5000}]}
    make_step(agent, [1], "model", "agent", request=long, response={"text": "Let me see", "tool_calls": []})
    make_step(agent, [2], "tool", "web_search", request={"query": "date"}, response={"content": "In May", "data": 1})
    make_step(agent, [3, 0, 1], "note", "time", request="now", response="2026-11-22")
    make_step(agent, [4], "model", "agent", request=REQUEST, response=REPLY, usage=USAGE)
    make_step(agent, [4], "model", "agent", request=long, cut_at=run.created_at)

    shown = api_of(alice).get(f"{AGENTS}/{agent.id}").json()

    assert (shown["parent_id"], shown["execution_id"]) == (str(root.id), str(run.id))
    assert [(message["role"], message["content"]) for message in shown["messages"]] == [
        ("user", "The task of web"),
        ("user", "x" * 5000),
        ("assistant", "Let me see"),
        ("user", "Find the date"),
        ("assistant", ""),
        ("tool", "It was in May"),
        ("assistant", "In May."),
    ]
    assert shown["messages"][4]["tool_calls"][0]["name"] == "web_search"
    assert shown["messages"][5]["tool_call_id"] == "c1"
    assert shown["messages"][-1] == {"role": "assistant", "content": "In May.", "thinking": "May it is"}
    first, tool, note, last = shown["steps"]
    assert (first["path"], first["request"]) == ("1", "x" * PREVIEW_CHARS)
    assert (tool["kind"], tool["name"], tool["response"], tool["usage"]) == ("tool", "web_search", "In May", None)
    assert (note["path"], note["response"]) == ("3.0.1", "2026-11-22")
    assert (last["request"], last["response"]) == ("It was in May", "In May.")
    assert last["usage"] == {"prompt_tokens": 10, "completion_tokens": 5, "cost_usd": 0.25}


def test_an_answer_of_a_fixed_form_is_a_message_too(run: Execution, alice: Any, api_of: Callable[..., Any]) -> None:
    agent = make_agent(run, parent=make_agent(run, "turn"))
    asked = {"request": REQUEST, "schema": "Route"}
    make_step(agent, [1], "model", "analyze", request=asked, response={"value": {"agent": "web"}, "usage": USAGE})

    shown = api_of(alice).get(f"{AGENTS}/{agent.id}").json()

    assert shown["messages"][-1] == {"role": "assistant", "content": {"agent": "web"}}
    assert shown["steps"][0]["request"] == "It was in May"


@pytest.mark.spec("S92")
def test_the_root_of_a_run_has_question_and_answer_and_none_of_what_the_run_decides_by(
    run: Execution, alice: Any, api_of: Callable[..., Any]
) -> None:
    root = make_agent(run, "turn")
    asked = {"request": REQUEST, "schema": "Route"}
    make_step(root, [1], "model", "router", request=asked, response={"value": {"agent": "web"}, "usage": USAGE})

    begun = api_of(alice).get(f"{AGENTS}/{root.id}").json()["messages"]
    Execution.objects.filter(id=run.id).update(answer="In May.")
    answered = api_of(alice).get(f"{AGENTS}/{root.id}").json()["messages"]

    assert begun == [{"role": "user", "content": "What is it?"}]
    assert answered == [*begun, {"role": "assistant", "content": "In May."}]


@pytest.mark.spec("S92")
def test_an_agent_that_works_is_shown_with_its_task_before_anything_is_recorded(
    run: Execution, alice: Any, api_of: Callable[..., Any]
) -> None:
    _, first, second = below(run)
    make_step(first, [1], "model", "agent", request=REQUEST, response={**REPLY, "tool_calls": [CALL]})
    make_step(first, [2, 0, 1], "tool", "web_search", response={"content": "It was in June", "data": None})

    api = api_of(alice)
    told = [api.get(f"{AGENTS}/{agent.id}").json()["messages"] for agent in (first, second)]

    assert told[0][-1] == {"role": "tool", "content": "It was in June", "tool_call_id": "c2"}
    assert told[1] == [{"role": "user", "content": "Write it shorter"}]


def test_tree_and_agent_cost_the_same_number_of_queries_however_large_they_are(
    run: Execution, alice: Any, api_of: Callable[..., Any]
) -> None:
    api, root = api_of(alice), make_agent(run)
    child = make_agent(run, "web", parent=root)
    shown = [f"agents/{root.id}", f"agents/{child.id}", f"agent/{root.id}", f"agent/{child.id}"]
    urls = [f"{TREE}?execution={run.id}", TREE, "/api/v1/agent/tree", *(f"/api/v1/{path}" for path in shown)]

    def counted() -> list[int]:
        found = []
        for url in urls:
            with CaptureQueriesContext(connection) as caught:
                assert api.get(url).status_code == 200
            found.append(len(caught))
        return found

    counted()
    few = counted()
    for number in range(12):
        agent = make_agent(run, "web", parent=root)
        make_step(root, [number], "model", "agent", request=REQUEST, response=REPLY, usage=USAGE)
        make_step(child, [number], "model", "agent", request=REQUEST, response=REPLY, usage=USAGE)
        make_step(agent, [number], "model", "agent", request=REQUEST, response=REPLY, usage=USAGE)

    assert counted() == few
    assert few == [4, 3, 3, 6, 6, 5, 5]


@pytest.mark.spec("S93", "S94")
@pytest.mark.parametrize(
    ("said", "kind", "text"),
    [
        ({"user_comment": "delete"}, "delete", ""),
        ({"status": "deleted"}, "delete", ""),
        ({"user_comment": "modify", "user_content": "Look in the archive"}, "modify", "Look in the archive"),
        ({"user_comment": "modify", "user_content": "Anew", "status": "modified"}, "modify", "Anew"),
        ({"user_comment": "unchanged", "user_content": "Anew", "status": "modified"}, "modify", "Anew"),
        ({"user_content": "Anew", "status": "modified"}, "modify", "Anew"),
        ({"user_comment": "Mind the commas"}, "comment", "Mind the commas"),
        ({"user_comment": "Mind the commas", "status": "modified"}, "comment", "Mind the commas"),
        ({"user_comment": "unchanged", "user_content": "Anew", "status": "running"}, "modify", "Anew"),
        ({"user_comment": "unchanged", "user_content": "Write it shorter", "status": "running"}, None, ""),
        ({"user_comment": "Mind the commas", "user_content": "Write it shorter"}, "comment", "Mind the commas"),
        ({"user_comment": "unchanged", "status": "running"}, None, ""),
        ({"user_comment": "unchanged"}, None, ""),
        ({}, None, ""),
    ],
)
def test_a_person_intervenes_in_an_agent_that_works(
    run: Execution, alice: Any, api_of: Callable[..., Any], said: dict[str, Any], kind: str | None, text: str
) -> None:
    _, _, agent = below(run)

    done = api_of(alice).post(f"{AGENTS}/{agent.id}/intervene", said)

    assert (done.status_code, done.json()["success"]) == (200, True)
    assert done.json()["agent"]["agent_id"] == str(agent.id)
    wished = Intervention.objects.first()
    assert (wished and (wished.kind, wished.text, wished.agent_id)) == (kind and (kind, text, agent.id))


@pytest.mark.spec("S94", "S105")
@pytest.mark.parametrize("url", ["agents/{}/intervene", "agent/{}/intervene"])
def test_an_agent_that_is_over_is_not_changed_and_says_why(
    run: Execution, alice: Any, api_of: Callable[..., Any], url: str
) -> None:
    _, agent, _ = below(run)
    said = {"user_comment": "delete", "userComment": "delete"}

    done = api_of(alice).post(f"/api/v1/{url.format(agent.id)}", said)

    told = done.json()
    assert (done.status_code, told["success"]) == (409, False)
    assert "completed" in told["reason"]
    assert told["error"]["code"] == "agent_is_over"
    assert not Intervention.objects.exists()


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"user_comment": "x" * 10_000}, "user_comment"),
        ({"user_content": "x" * 10_000}, "user_content"),
        ({"user_comment": "modify"}, "user_content"),
        ({"user_comment": "Mind the commas", "user_content": "Anew"}, "user_content"),
        ({"status": "completed"}, "status"),
        ({"status": "modified"}, "user_content"),
        ({"user_comment": ["delete"]}, "user_comment"),
        ([], "non_field_errors"),
    ],
)
def test_a_wish_that_does_not_fit_is_refused_with_its_field(
    run: Execution, alice: Any, api_of: Callable[..., Any], said: Any, field: str
) -> None:
    _, _, agent = below(run)

    refused = api_of(alice).post(f"{AGENTS}/{agent.id}/intervene", said)

    assert refused.status_code == 400
    error = refused.json()["error"]
    assert error["message"].endswith(error["fields"][field][0])
    assert not Intervention.objects.exists()


def test_a_token_that_may_only_read_intervenes_in_nothing(
    run: Execution, alice: Any, api_of: Callable[..., Any]
) -> None:
    _, _, agent = below(run)
    reader = api_of(alice, scopes=["read"])

    for url in (f"agents/{agent.id}/intervene", f"agent/{agent.id}/intervene", f"executions/{run.id}/steer"):
        refused = reader.post(f"/api/v1/{url}", {"user_comment": "delete", "text": "Hi"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "scope_missing")
    assert reader.get(f"{AGENTS}/{agent.id}").status_code == 200


def test_an_id_that_is_none_is_refused_and_an_unknown_one_is_not_there(
    run: Execution, alice: Any, api_of: Callable[..., Any]
) -> None:
    api = api_of(alice)

    assert api.get(f"{TREE}?execution=mine").json()["error"]["fields"]["execution"]
    missing = api.get(f"{AGENTS}/{uuid.uuid4()}")
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "not_found")
    assert api.get(f"{TREE}?execution={uuid.uuid4()}").status_code == 404


@pytest.mark.spec("S92", "S95", "S105")
def test_the_older_spellings_tell_the_same_in_the_older_words(
    run: Execution, alice: Any, api_of: Callable[..., Any]
) -> None:
    root, first, second = below(run)
    failed = make_agent(run, "code", parent=root, status="failed")
    make_step(first, [1], "model", "agent", request=REQUEST, response=REPLY)
    api = api_of(alice)

    told = api.get(f"/api/v1/agent/tree?execution={run.id}").json()
    agent = api.get(f"/api/v1/agent/{first.id}").json()
    wish = {"userComment": "delete", "userContent": "x", "status": "running"}
    done = api.post(f"/api/v1/agent/{second.id}/intervene", wish)

    assert {told[str(one.id)]["status"] for one in (root, first, second, failed)} == {
        "running", "completed", "modified", "error",
    }  # fmt: skip
    assert told[str(root.id)]["subagents"] == [str(first.id), str(second.id), str(failed.id)]
    assert (told[str(second.id)]["userComment"], told[str(second.id)]["userContent"]) == ("modify", "Write it shorter")
    assert (agent["agentId"], agent["userComment"], agent["messages"][-1]["content"]) == (
        str(first.id), "unchanged", "In May.",
    )  # fmt: skip
    assert (done.status_code, done.json()) == (200, {"success": True})
    assert AgentExecution.objects.get(id=second.id).user_comment == "delete"


@pytest.mark.spec("S95")
def test_every_status_has_an_older_name() -> None:
    from agents.engine.states import AgentStatus

    older = {older_shapes.status_of(status, modified=False) for status in AgentStatus}

    assert older == {"running", "awaiting_user", "completed", "error", "deleted"}
    assert older_shapes.status_of("running", modified=True) == "modified"
    assert older_shapes.status_of("completed", modified=True) == "completed"


@pytest.mark.spec("S103")
@pytest.mark.parametrize(
    ("event", "chunk"),
    [
        (
            {"type": "token", "agent_id": "a", "content": "Hi", "channel": "answer"},
            {"type": "text-delta", "agentId": "a", "textDelta": "Hi"},
        ),
        (
            {"type": "tool_call", "tool": "web_search", "args": {"query": "x"}, "id": "c1"},
            {"type": "tool-call", "toolCallId": "c1", "toolName": "web_search", "args": {"query": "x"}},
        ),
        (
            {"type": "tool_result", "tool": "web_search", "content": "May", "id": "c1", "is_error": False},
            {"type": "tool-result", "toolCallId": "c1", "toolName": "web_search", "result": "May", "isError": False},
        ),
        (
            {"type": "agent_state", "agent_id": "a", "agent_name": "web", "status": "failed", "task": "Find"},
            {
                "type": "agent-state",
                "agentId": "a",
                "state": {
                    "agentId": "a",
                    "parentId": None,
                    "agentName": "web",
                    "status": "error",
                    "userComment": "unchanged",
                    "userContent": "Find",
                },
            },
        ),
        ({"type": "complete", "answer": "Hi"}, {"type": "complete", "answer": "Hi"}),
    ],
)
def test_an_event_is_a_chunk_of_the_older_stream(event: dict[str, Any], chunk: dict[str, Any]) -> None:
    assert older_shapes.chunk(event) == chunk


@pytest.mark.spec("S183")
def test_the_roster_says_what_each_agent_can_do_and_what_it_lacks(alice: Any, api_of: Callable[..., Any]) -> None:
    roster = {agent["name"]: agent for agent in api_of(alice).get(AGENTS).json()["results"]}

    assert set(roster) == set(specs())
    chat = roster["chat"]
    assert (chat["enabled"], chat["available"], chat["unavailable_reason"]) == (True, True, None)
    assert chat["typical_use_cases"]


@pytest.mark.spec("B17", "S183")
def test_an_agent_whose_kill_switch_is_thrown_is_not_told_as_enabled(
    alice: Any, bob: Any, api_of: Callable[..., Any]
) -> None:
    bob.is_staff = True
    bob.save()

    def enabled() -> dict[str, bool]:
        return {agent["name"]: agent["enabled"] for agent in api_of(alice).get(AGENTS).json()["results"]}

    switch = switches.throw(bob, scope=SwitchScope.AGENT, target="Mail", reason="It wrote to everybody.")
    switches.throw(bob, scope=SwitchScope.TOOL, target="web", reason="No agent, though it is called as one.")
    off = [name for name, is_on in enabled().items() if not is_on]
    switches.lift(bob, switch.id)

    assert off == ["mail"]
    assert all(enabled().values())


def test_an_agent_without_its_provider_says_how_to_mend_it(alice: Any) -> None:
    needy = specs()["chat"].model_copy(update={"needs": ("mailbox",)})

    assert "Connect one at /mail/." in why_unavailable(needy, alice.pk)
