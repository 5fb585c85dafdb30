"""Charlie sees nothing of Alice's, whatever address he tries, by whatever method; and nothing is changed by a
foreign page.
"""

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.apps import apps
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from agents.engine.events import Complete
from agents.models import Execution
from conversations import actions
from conversations.sharing import actions as sharing
from hitl.models import Rule, Switch
from hyperagent.accounts import actions as accounts
from hyperagent.notices import actions as notices
from memory import projects
from memory.models import Connector, Memory
from memory.workspaces import files
from memory.workspaces.places import Place, Scope
from tests.faces.runs import append, make_agent, make_request, make_run, make_step, tokens
from tests.faces.sockets import Socket, address, browser, cookie_of
from tests.memory.giving import given

# Endpoints that wait read the database in threads of their own.
pytestmark = pytest.mark.django_db(transaction=True)
# Addresses at which everybody but an administrator is told, whatever they name, that it is not for them.
ADMINISTRATORS = ("api/v1/hitl/switches/",)
# Of an address of a file: what is told beside the id, which is a secret.
FILE = {"scope": "conversation", "path": "a.txt"}
METHODS = ("get", "head", "options", "post", "put", "patch", "delete")
# Addresses that belong to nobody: they show what is the caller's own, or the same to everybody.
NOBODYS = {
    "auth/token",
    "auth/tokens",
    "me",
    "agents",
    "agents/tree",
    "agent/tree",
    "agent/stream",
    "hitl/requests",
    "hitl/respond",
    "hitl/respond/bulk",
    "hitl/rules",
    "hitl/rules/preview",
    "hitl/switches",
    "query",
    "query/stream",
    "conversations",
    "executions",
    "documents",
    "upload",
    "search",
    "search/all",
    "usage",
    "projects",
    "connectors",
    "files",
    "memory",
    "memory/export",
    "webhooks",
    "schema/",
    "docs/",
}


@pytest.fixture
def alices(alice: Any) -> dict[str, str]:
    """Something of each kind that an address can name."""
    said = actions.say(alice, actions.create(alice, title="Alice's title").id, "Alice's secret")
    append(said.execution, *tokens("Alice's answer"), Complete(answer="Alice's answer"))
    agent = make_agent(said.execution, task="Alice's task", status="completed")
    make_step(agent, [1], "model", "agent", request={"messages": [{"role": "user", "content": "Alice's words"}]})
    token, _ = accounts.make_token(alice, name="Alice's token")
    endpoint, _ = notices.add_endpoint(alice, url="https://example.org/Alice", events=["run.completed"])
    rule = Rule.objects.create(user=alice, effect="allow", scope="rule", tool="t", text="Alice's rule")
    return {
        "conversation_id": str(said.conversation.id),
        "message_id": str(said.message.id),
        "execution_id": str(said.execution.id),
        "agent_id": str(agent.id),
        "token_id": str(token.id),
        "request_id": str(make_request(said.execution).request_id),
        "rule_id": str(rule.id),
        "document_id": str(given(alice, "Alice's document", filename="Alice's.md").id),
        "project_id": str(projects.create(alice, name="Alice's project").id),
        "member_id": str(alice.id),
        "connector_id": str(Connector.objects.create(owner=alice, kind="page", location="https://Alice.example/").id),
        "memory_id": str(Memory.objects.create(user=alice, kind="fact", text="Alice's memory", origin_key="1").id),
        "switch_id": str(Switch.objects.create(scope="user", target=str(alice.pk), reason="Alice's laptop").id),
        "endpoint_id": str(endpoint.id),
        "delivery_id": str(notices.send_test(endpoint).id),
        "scope_id": _a_file(alice),
        "share_id": str(sharing.share(alice, said.conversation.id, sharing.Choice()).id),
    }


def _a_file(alice: Any) -> str:
    """Below `FILE`, in a conversation of its own."""
    place = Place(Scope(FILE["scope"]), actions.create(alice).id)
    files.write(alice.pk, place, FILE["path"], b"Alice's file")
    return str(place.scope_id)


def patterns(resolver: Any, prefix: str = "") -> Iterator[tuple[str, set[str]]]:
    """Every address of the site below `/api/` and `/c/`, with the names of its parts."""
    for pattern in resolver.url_patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from patterns(pattern, route)
        elif isinstance(pattern, URLPattern):
            yield route, set(pattern.pattern.converters)


def addresses() -> list[tuple[str, set[str]]]:
    return [(route, names) for route, names in patterns(get_resolver()) if route.startswith(("api/v1/", "c/"))]


def filled(route: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        route = route.replace(f"<uuid:{name}>", value)
    route = route.replace("<workspace_scope:scope>", FILE["scope"]).replace("<path:path>", FILE["path"])
    # What stands below a named thing.
    return "/" + route.replace("<int:number>", "1")


def everything_stored() -> dict[str, Any]:
    """A checksum of each of our tables."""
    sums = {}
    with connection.cursor() as cursor:
        for label in ("agents", "conversations", "accounts", "notices", "hitl", "memory"):
            for model in apps.get_app_config(label).get_models():
                table = model._meta.db_table
                if table not in {"accounts_apitoken", "accounts_loginattempt"}:
                    cursor.execute(f"SELECT md5(string_agg(t::text, ',' ORDER BY t::text)) FROM {table} t")
                    sums[table] = cursor.fetchone()
    return sums


@pytest.mark.spec("B4")
def test_charlie_gets_404_for_everything_of_alices_and_changes_nothing(
    alices: dict[str, str], charlie: Any, client_of: Callable[[Any], Client], api_of: Callable[..., Any]
) -> None:
    named = [(route, names) for route, names in addresses() if names and names != {"rest"}]
    assert len(named) >= 9
    faces = ((client_of(charlie), ("api/", "c/")), (api_of(charlie), ("api/",)))
    before = everything_stored()

    for client, beginnings in faces:
        cache.delete(f"throttle_user_{charlie.pk}")  # there are more addresses than a person opens in a minute
        for route, names in named:
            if not route.startswith(beginnings):
                continue
            assert names - {"number", *FILE} <= set(alices), f"the test does not know what /{route} names"
            for method in METHODS:
                answer = getattr(client, method)(filled(route, alices))
                missing = getattr(client, method)(filled(route, dict.fromkeys(alices, str(uuid.uuid4()))))
                refusals = {403, 405} if route.startswith(ADMINISTRATORS) else {404, 405}
                assert answer.status_code in refusals or method == "options", (method, route, answer.status_code)
                assert answer.status_code == missing.status_code
                if route.startswith("api/"):
                    assert answer.content == missing.content
                assert b"Alice" not in answer.content

    assert everything_stored() == before


def test_every_address_without_a_name_is_known_to_this_test() -> None:
    unnamed = {route.removeprefix("api/v1/") for route, names in addresses() if not names}

    assert unnamed <= NOBODYS, f"say in this test what {unnamed - NOBODYS} shows to whom"


def test_charlies_lists_are_empty(alices: dict[str, str], charlie: Any, api_of: Callable[..., Any]) -> None:
    api = api_of(charlie)

    run_id, conversation_id = alices["execution_id"], alices["conversation_id"]
    make_request(Execution.objects.get(id=run_id))

    for url in (
        "conversations?origin=all",
        "executions",
        "documents",
        "projects",
        "connectors",
        "webhooks",
        "search/all?q=Alice",
        f"executions?conversation={conversation_id}",
        "hitl/rules",
        "hitl/requests",
        f"hitl/requests?execution={run_id}",
        f"hitl/requests?conversation={conversation_id}",
    ):
        assert api.get(f"/api/v1/{url}").json()["results"] == []
    assert api.get("/api/v1/agents/tree").json() == {"agents": {}}
    assert api.get("/api/v1/memory").json()["memories"] == api.get("/api/v1/memory/export").json()["memories"] == []
    assert api.get("/api/v1/agent/tree").json() == {}


@pytest.mark.spec("B4")
def test_charlie_reaches_nothing_of_alices_by_an_id_within_an_address_or_a_body(
    alice: Any, alices: dict[str, str], charlie: Any, api_of: Callable[..., Any]
) -> None:
    """While Alice's run goes on, so that there would be something to see and to change."""
    run = make_run(alice, uuid.UUID(alices["conversation_id"]), question="Alice's other secret")
    agent, asked = make_agent(run, task="Alice's task"), make_request(run, question={"question": "Alice's matter"})
    own = make_agent(make_run(charlie))
    api, before = api_of(charlie), everything_stored()
    nobody = str(uuid.uuid4())

    def answers(execution_id: Any, agent_id: Any, request_id: Any) -> list[Any]:
        return [
            api.get(f"/api/v1/agents/tree?execution={execution_id}"),
            api.get(f"/api/v1/agent/tree?execution={execution_id}"),
            api.get(f"/api/v1/agents/{agent_id}"),
            api.post(f"/api/v1/agents/{agent_id}/intervene", {"user_comment": "delete"}),
            api.post(f"/api/v1/agent/{agent_id}/intervene", {"userComment": "delete"}),
            api.post(f"/api/v1/executions/{execution_id}/steer", {"text": "Stop"}),
            api.post(f"/api/v1/executions/{execution_id}/retry", {}),
            api.post(f"/api/v1/executions/{execution_id}/fork", {"agent_id": str(agent_id), "step": "1"}),
            api.post(f"/api/v1/executions/{own.execution_id}/retry", {"agent_id": str(agent_id)}),
            api.post(f"/api/v1/executions/{own.execution_id}/fork", {"agent_id": str(agent_id), "step": "1"}),
            api.post("/api/v1/hitl/respond", {"request_id": str(request_id), "decision": "answered", "text": "Yes"}),
        ]

    foreign, missing = answers(run.id, agent.id, asked.request_id), answers(nobody, nobody, nobody)

    assert [answer.status_code for answer in foreign] == [404] * len(foreign)
    assert [answer.content for answer in foreign] == [answer.content for answer in missing]
    assert everything_stored() == before


@pytest.mark.spec("B4")
async def test_charlie_reaches_nothing_of_alices_by_a_message_on_his_socket(
    alice: Any, charlie: Any, in_threads: None
) -> None:
    conversation = await sync_to_async(actions.create)(alice)
    run = await sync_to_async(make_run)(alice, conversation.id)
    agent = await sync_to_async(make_agent)(run)
    asked = await sync_to_async(make_request)(run)
    own = await sync_to_async(actions.create)(charlie)
    cookie = cookie_of(await browser(charlie))
    before = await sync_to_async(everything_stored)()
    messages: list[dict[str, Any]] = [
        {"type": "cancel", "execution_id": str(run.id)},
        {"type": "steer", "execution_id": str(run.id), "text": "Stop"},
        {"type": "intervene", "agent_id": str(agent.id), "user_comment": "delete"},
        {"type": "respond", "request_id": str(asked.request_id), "decision": "answered", "text": "Yes"},
    ]

    async with Socket(address(own.id), cookie=cookie) as socket:
        for message in messages:
            await socket.send(**message)
            told = await socket.frame()
            assert (told["type"], told["error"]["code"]) == ("error", "not_found"), message

    assert await sync_to_async(everything_stored)() == before


def test_nobody_gets_anything_without_signing_in(alices: dict[str, str]) -> None:
    client = Client()

    for route, names in addresses():
        if names == {"rest"} or route == "api/v1/auth/token":
            continue
        answer = client.get(filled(route, alices))
        assert answer.status_code in ({302} if route.startswith(("c/", "docs/")) else {401, 405}), (
            route,
            answer.status_code,
        )
        assert b"Alice" not in answer.content


def test_a_foreign_page_changes_nothing_on_alices_cookie(alice: Any, alices: dict[str, str]) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(alice)
    before = everything_stored()

    for route, _ in addresses():
        if route == "api/v1/auth/token":
            continue
        for method in ("post", "put", "patch", "delete"):
            for options in (
                {"content_type": "application/json"},
                {"content_type": "text/plain"},
                {"content_type": "application/json", "headers": {"origin": "http://evil.example"}},
            ):
                answer = getattr(browser, method)(filled(route, alices), data="{}", **options)
                # 401 where a cookie opens nothing at all.
                assert answer.status_code in {401, 403, 404, 405}, (method, route, answer.status_code)

    assert everything_stored() == before


def test_what_is_missing_below_api_is_told_in_the_error_shape(client: Client) -> None:
    missing = client.post("/api/v1/no/such/thing", data="{}", content_type="application/json")

    assert missing.status_code == 404
    assert missing.json()["error"]["code"] == "not_found"
