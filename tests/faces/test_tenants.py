"""Charlie sees nothing of Alice's, whatever address he tries, by whatever method; and nothing is changed by a
foreign page.
"""

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from agents.engine.events import Complete
from agents.models import AgentExecution
from conversations import actions
from hyperagent.accounts import actions as accounts
from tests.faces.runs import append, tokens

# Endpoints that wait read the database in threads of their own.
pytestmark = pytest.mark.django_db(transaction=True)
METHODS = ("get", "head", "options", "post", "put", "patch", "delete")
# Addresses that belong to nobody: they show what is the caller's own, or the same to everybody.
NOBODYS = {
    "auth/token",
    "auth/tokens",
    "me",
    "agents",
    "query",
    "query/stream",
    "conversations",
    "executions",
    "schema/",
    "docs/",
}


@pytest.fixture
def alices(alice: Any) -> dict[str, str]:
    """Something of each kind that an address can name."""
    said = actions.say(alice, actions.create(alice, title="Alice's title").id, "Alice's secret")
    append(said.execution, *tokens("Alice's answer"), Complete(answer="Alice's answer"))
    agent = AgentExecution.objects.create(
        execution=said.execution, agent_name="chat", lineage="root", task="Alice's task"
    )
    token, _ = accounts.make_token(alice, name="Alice's token")
    return {
        "conversation_id": str(said.conversation.id),
        "message_id": str(said.message.id),
        "execution_id": str(said.execution.id),
        "agent_id": str(agent.id),
        "token_id": str(token.id),
    }


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
    return "/" + route


def everything_stored() -> dict[str, Any]:
    """A checksum of each of our tables."""
    sums = {}
    with connection.cursor() as cursor:
        for label in ("agents", "conversations", "accounts"):
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
        for route, names in named:
            if not route.startswith(beginnings):
                continue
            assert names <= set(alices), f"the test does not know what /{route} names"
            for method in METHODS:
                answer = getattr(client, method)(filled(route, alices))
                missing = getattr(client, method)(filled(route, dict.fromkeys(alices, str(uuid.uuid4()))))
                assert answer.status_code in {404, 405} or method == "options", (method, route, answer.status_code)
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

    for url in ("conversations?origin=all", "executions", f"executions?conversation={alices['conversation_id']}"):
        assert api.get(f"/api/v1/{url}").json()["results"] == []


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
                assert answer.status_code in {403, 404, 405}, (method, route, answer.status_code)

    assert everything_stored() == before


def test_what_is_missing_below_api_is_told_in_the_error_shape(client: Client) -> None:
    missing = client.post("/api/v1/no/such/thing", data="{}", content_type="application/json")

    assert missing.status_code == 404
    assert missing.json()["error"]["code"] == "not_found"
