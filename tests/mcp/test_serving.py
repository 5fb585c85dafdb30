"""HyperAgent as a server: the library's own client, over Daphne, with our tokens."""

import json
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from asgiref.sync import sync_to_async
from django.db import OperationalError
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from agents import actions
from agents.models import Execution
from conversations.mcp.serving import served
from hitl.models import Request
from hyperagent.accounts.models import UserQuota
from hyperagent.accounts.quotas import Quota
from hyperagent.accounts.scopes import Scope
from hyperagent.lib.outside.http_client import guarded_http_client
from tests.faces.conftest import token_of
from tests.faces.web import Web
from tests.memory.giving import given
from tests.runtime.approving import Board, pins, programs
from tests.runtime.driving import Runners, until
from tests.scripted.script import Script
from tests.scripted.server import ScriptedServer

INNER = "hyperagent@db.internal:5432"
NOWHERE = "There is nothing here that you may see."


class Caller:
    """A program with a token. Each call is a connection of its own, as the server keeps nothing between two."""

    def __init__(self, web: Web, token: str, mode: str = "auto") -> None:
        self.url = f"{web.url}/mcp"
        self.headers = {"authorization": f"Bearer {token}"}
        self.mode = mode

    async def __call__(self, name: str, **arguments: Any) -> Any:
        return await self.use(lambda client: client.call_tool(name, arguments))

    async def use(self, ask: Any) -> Any:
        http, _ = guarded_http_client(
            allow_private=True, max_bytes=1 << 20, max_values=10_000, read_timeout_s=60, headers=self.headers
        )
        async with http, Client(streamable_http_client(self.url, http_client=http), mode=self.mode) as client:
            return await ask(client)

    async def value(self, name: str, **arguments: Any) -> Any:
        result = await self(name, **arguments)
        assert not result.is_error, result.content
        return result.structured_content

    async def error(self, name: str, **arguments: Any) -> Any:
        result = await self(name, **arguments)
        assert result.is_error
        return result.structured_content["error"]


@sync_to_async
def caller_of(user: Any, web: Web, *scopes: Scope, mode: str = "auto") -> Caller:
    given = {"scopes": [scope.value for scope in scopes]} if scopes else {}
    return Caller(web, token_of(user, **given), mode)


@pytest.mark.slow
@pytest.mark.spec("B26")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_another_programs_agent_asks_and_gets_the_answer(
    alice: Any, charlie: Any, web: Web, scripted_server: ScriptedServer, make_runner: Runners, mode: str
) -> None:
    scripted_server.script(Script(text="Four."))
    await make_runner(scripted_server.url)
    call, stranger = await caller_of(alice, web, mode=mode), await caller_of(charlie, web, mode=mode)

    listed = await call.use(lambda client: client.list_tools())
    done = await call.value("ask", question="What is two and two?", mode="chat")
    again = await call.value("get_run", execution_id=done["execution_id"])
    foreign = await stranger.error("get_run", execution_id=done["execution_id"])
    missing = await stranger.error("get_run", execution_id=str(uuid4()))

    assert [tool.name for tool in listed.tools] == [
        "ask",
        "search_documents",
        "list_approvals",
        "answer_approval",
        "get_run",
    ]
    assert (done["status"], done["answer"], done["sources"]) == ("completed", "Four.", [])
    assert again == done
    assert foreign == missing == {"code": "not_found", "message": foreign["message"]}
    run = await Execution.objects.aget()
    assert [read["kind"] for read in run.input["tainted_by"]["sources"]] == ["agent"], "a model wrote the question"
    assert await Execution.objects.filter(user=charlie).acount() == 0


class Broken:
    """A person at whose look-up something breaks that nobody foresaw."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    @property
    def pk(self) -> UUID:
        raise self.error


@pytest.mark.threat("T23")
@pytest.mark.parametrize(
    ("error", "code"), [(OperationalError(f"no route to {INNER}"), "unavailable"), (ValueError(INNER), "internal")]
)
async def test_what_breaks_within_is_told_in_our_words_and_never_in_its_own(error: Exception, code: str) -> None:
    called = {"name": "search_documents", "arguments": {"query": "anything"}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": called}).encode()
    headers = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2025-06-18",
    }
    caller: Any = Broken(error)

    answer = await served(caller, [Scope.READ], method="POST", path="/mcp", headers=headers, body=body)

    assert INNER not in answer.content.decode()
    result = json.loads(answer.content)["result"]
    assert (result["isError"], result["structuredContent"]["error"]["code"]) == (True, code)


@pytest.mark.slow
@pytest.mark.spec("B26", "B4")
async def test_what_waits_is_listed_with_its_hash_and_decided_only_with_it(
    alice: Any, charlie: Any, web: Web, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    board = Board()
    scripted_server.script(pins("Hello"), Script(text="Pinned it."))
    await make_runner(scripted_server.url, extra=programs(on_approval="wait", interactive=True), tools=board.tools())
    execution = await sync_to_async(_begin)(alice)
    request = await until(lambda: Request.objects.filter(execution_id=execution).afirst())
    call, stranger = await caller_of(alice, web), await caller_of(charlie, web)
    reader = await caller_of(alice, web, Scope.READ)
    told = {"request_id": str(request.request_id), "decision": "approved"}
    right = {**told, "arguments_hash": request.arguments_hash}

    waiting = await call.value("get_run", execution_id=str(execution))
    pending = await call.value("list_approvals")

    assert (await stranger.value("list_approvals"))["requests"] == []
    assert (await stranger.error("answer_approval", **right))["code"] == "not_found"
    assert (await reader.error("answer_approval", **right))["code"] == "scope_missing"
    assert (await call.error("answer_approval", **told))["message"].startswith("A yes to a call needs")
    assert (await call.error("answer_approval", **{**told, "arguments_hash": "0" * 64}))["code"] == "arguments_changed"
    assert board.pinned == []
    assert (waiting["status"], waiting["note"]) == ("awaiting_user", "It is not done yet. Look again with get_run.")
    assert waiting["requests"] == pending["requests"]
    assert pending["requests"][0]["tool_calls"][0]["arguments"] == {"text": "Hello", "color": "white"}
    decided = await call.value("answer_approval", **right)
    assert (decided["status"], decided["decided_via"]) == ("approved", "agent")
    assert (await call.value("get_run", execution_id=str(execution), wait_s=20))["answer"] == "Pinned it."
    assert board.pinned == ["Hello"]


def _begin(user: Any) -> UUID:
    return actions.start(user=user, conversation_id=None, question="Pin hello", pipeline="asks").id


@pytest.mark.slow
@pytest.mark.spec("B26")
async def test_documents_are_found_by_who_may_see_them(alice: Any, charlie: Any, web: Web, in_threads: None) -> None:
    document = await sync_to_async(given)(
        alice, "# Travel\n\nHotels cost at most 140 euro a night.", filename="travel.md"
    )
    call = await caller_of(alice, web, Scope.DOCUMENTS)
    runner, stranger = await caller_of(alice, web, Scope.RUN), await caller_of(charlie, web)

    found = await call.value("search_documents", query="price of hotels")

    assert found["chunks"][0]["doc_id"] == str(document.pk)
    assert "140 euro" in found["chunks"][0]["text"]
    assert (await stranger.value("search_documents", query="price of hotels"))["chunks"] == []
    assert (await runner.error("search_documents", query="x"))["code"] == "scope_missing"
    assert (await call.error("ask", question="Hi"))["code"] == "scope_missing"
    assert await call.error("search_documents", query="", top_k=99, more=1) == {
        "code": "invalid",
        "message": "query: String should have at least 1 character",
        "fields": {
            "query": ["String should have at least 1 character"],
            "top_k": ["Input should be less than or equal to 50"],
            "more": ["Extra inputs are not permitted"],
        },
    }
    assert await call.error("search_documents", **{f"more_{number}": 1 for number in range(101)}) == {
        "code": "invalid",
        "message": "search_documents takes query, top_k, and nothing else.",
    }
    assert (await call.error("delete_everything"))["code"] == "unknown_tool"


@pytest.mark.spec("B26")
async def test_a_search_counts_as_one_by_the_api(alice: Any, web: Web, in_threads: None) -> None:
    await sync_to_async(UserQuota.objects.create)(user=alice, quota=Quota.SEARCHES_PER_MINUTE, amount=1)
    call = await caller_of(alice, web, Scope.DOCUMENTS)

    await call.value("search_documents", query="price of hotels")
    refused = await call.error("search_documents", query="price of hotels")

    assert refused["code"] == "too_many_requests"


@pytest.mark.spec("B26")
async def test_who_has_no_token_is_told_how_to_come_in(alice: Any, web: Web, client_of: Any) -> None:
    token = await sync_to_async(token_of)(alice)
    message = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    accept = {"accept": "application/json, text/event-stream"}
    session = (await sync_to_async(client_of)(alice)).cookies["sessionid"].value

    async with httpx.AsyncClient() as client:

        async def post(content: Any = None, **headers: str) -> httpx.Response:
            sent = {**accept, "content-type": "application/json", **headers}
            body = content if content is not None else json.dumps(message)
            return await client.post(f"{web.url}/mcp", content=body, headers=sent)

        bare, wrong = await post(), await post(authorization="Bearer ha_nobodys")
        cookie = await post(cookie=f"sessionid={session}")
        foreign = await post(authorization=f"Bearer {token}", origin="https://evil.example")
        nowhere = await post(authorization=f"Bearer {token}", origin="http://[::1")
        own = await post(authorization=f"Bearer {token}", origin=web.url)
        large = await post(b"x" * (12 << 20), authorization=f"Bearer {token}")
        broken = await post(b"{", authorization=f"Bearer {token}")
        got = await client.get(f"{web.url}/mcp", headers={"authorization": f"Bearer {token}"})

    for refused in (bare, wrong, cookie):
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, 'Bearer realm="api"')
    for answer in (foreign, nowhere):
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "foreign_origin")
    assert (own.status_code, own.json()["result"]) == (200, {})
    assert large.status_code in (400, 413)
    assert (broken.status_code, got.status_code) == (400, 405)
