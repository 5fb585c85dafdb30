"""The pages around the chat: who gets them, what they bring, and the API's description."""

import json
import re
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.core.management import call_command
from django.test import Client

from conversations import actions
from hyperagent.accounts.scopes import GROUP_ROLES, Role


def page_data(html: str) -> dict[str, Any]:
    found = re.search(r'<script id="page-data" type="application/json">(.*?)</script>', html, re.DOTALL)
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


def test_the_chat_page_brings_who_looks_at_what(alice: Any, client_of: Callable[[Any], Client]) -> None:
    conversation = actions.create(alice, title="Shore power")
    browser = client_of(alice)

    start, one = browser.get("/"), browser.get(f"/c/{conversation.id}/")

    assert (start.status_code, one.status_code) == (200, 200)
    data = page_data(one.content.decode())
    who = {"id": str(alice.id), "email": alice.email, "display_name": "Alice", "initials": "A", "is_staff": False}
    assert data["user"] == who
    assert data["conversation_id"] == data["conversation"]["id"] == str(conversation.id)
    assert (data["conversation"]["title"], data["conversation"]["is_temporary"]) == ("Shore power", False)
    at_first = page_data(start.content.decode())
    assert (at_first["conversation_id"], at_first["conversation"]) == (None, None)
    assert {"task", "chat"} <= set(data["modes"])
    assert "IMAGE_MODEL" in data["modes_lacking"]["image"]
    assert data["max_question_chars"] > 0
    assert "csrftoken" in browser.cookies


@pytest.mark.slow
@pytest.mark.spec("B21", "S210")
@pytest.mark.parametrize("role", ["", "reviewer", "auditor", "administrator"])
def test_the_menu_leads_to_the_admin_whom_it_lets_in_and_there_only_to_what_they_may_open(
    alice: Any, client_of: Callable[[Any], Client], role: str
) -> None:
    alice.is_staff = role == "administrator"
    alice.save()
    if role in GROUP_ROLES:
        alice.groups.add(Group.objects.get(name=role))
    client = client_of(alice)

    chat = {place["url"] for place in page_data(client.get("/").content.decode())["frame"]["menu"]}
    page = client.get("/memory/").content.decode()
    admin = client.get("/admin/")

    assert ("/admin/" in chat, 'href="/admin/"' in page, admin.status_code == 200) == (bool(role),) * 3
    assert ("/people/" in chat, 'href="/people/"' in page) == (alice.is_staff,) * 2
    assert ('href="/people/"' in admin.content.decode()) == alice.is_staff


def test_the_chat_page_asks_strangers_to_sign_in(client: Client, db: None) -> None:
    answer = client.get("/")

    assert (answer.status_code, answer["location"]) == (302, "/accounts/login/?next=/")


@pytest.mark.parametrize("whose", ["alices", "nobodys"])
def test_anothers_conversation_has_no_page(
    alice: Any, charlie: Any, client_of: Callable[[Any], Client], whose: str
) -> None:
    wanted = actions.create(alice).id if whose == "alices" else uuid.uuid4()

    assert client_of(charlie).get(f"/c/{wanted}/").status_code == 404


@pytest.mark.spec("S152")
def test_the_api_is_described_and_shown_on_a_page(alice: Any, client_of: Callable[[Any], Client]) -> None:
    browser = client_of(alice)

    schema, docs = browser.get("/api/schema/", headers={"accept": "application/json"}), browser.get("/api/docs/")

    assert schema.status_code == 200
    assert docs.status_code == 200
    scripts = re.findall(r"<script[^>]*>(.*?)</script>", docs.content.decode(), re.DOTALL)
    assert all(not script.strip() for script in scripts)
    assert "<style" not in docs.content.decode()
    assert "http://" not in re.sub(r"http://testserver", "", docs.content.decode())


def test_the_page_of_the_api_asks_strangers_to_sign_in(client: Client, db: None) -> None:
    answer = client.get("/api/docs/")

    assert (answer.status_code, answer["location"]) == (302, "/accounts/login/?next=/api/docs/")


def test_whoever_makes_a_token_or_administers_finds_the_way_on(
    alice: Any, bob: Any, client_of: Callable[[Any], Client]
) -> None:
    bob.is_staff = True
    bob.save()
    policies = 'href="/admin/hitl/policy/"'

    def shows(user: Any, page: str, link: str) -> bool:
        return link in client_of(user).get(page).content.decode()

    assert shows(alice, "/settings/tokens/", 'href="/api/docs/"')
    assert (shows(alice, "/inbox/", policies), shows(bob, "/inbox/", policies)) == (False, True)
    assert shows(bob, "/people/groups/", policies)
    assert client_of(bob).get("/admin/hitl/policy/").status_code == 200


def test_the_guide_for_operators_says_what_each_role_is_about() -> None:
    guide = (Path(__file__).resolve().parents[2] / "docs/operating.md").read_text()

    assert "## Policies and switches" in guide
    for role in Role:
        assert re.search(rf"^\| {role} \|", guide, re.MULTILINE), role


@pytest.mark.parametrize("page", ["/api/docs", "/api/schema", "/api/schema/events"])
def test_an_address_of_the_description_is_found_without_its_slash(client: Client, page: str) -> None:
    answer = client.get(page, {"format": "json"})

    assert (answer.status_code, answer["location"]) == (302, f"{page}/?format=json")
    assert client.post(page).status_code == 405


@pytest.mark.parametrize(
    "page", ["/api/docs", "/api/docs/", "/api/schema", "/api/schema/events", "/api/schema/events/"]
)
@pytest.mark.parametrize("method", ["post", "delete", "options"])
def test_who_would_change_the_description_is_refused_as_everywhere(page: str, method: str) -> None:
    refused = getattr(Client(enforce_csrf_checks=True), method)(page)

    assert (refused.status_code, refused["allow"]) == (405, "GET, HEAD")
    assert refused.json()["error"]["code"] == "method_not_allowed"


@pytest.mark.parametrize("accepted", ["*/*", "application/vnd.oai.openapi"])
def test_that_the_description_needs_a_sign_in_is_told_as_every_error(client: Client, db: None, accepted: str) -> None:
    refused = client.get("/api/schema/", headers={"accept": accepted})

    assert (refused.status_code, refused["content-type"]) == (401, "application/json")
    assert refused.json()["error"]["code"] == "not_authenticated"


@pytest.mark.slow
def test_the_description_comes_in_the_format_that_is_asked_for(alice: Any, client_of: Callable[[Any], Client]) -> None:
    described = client_of(alice).get("/api/schema/", {"format": "json"})

    assert described["content-type"].startswith("application/vnd.oai.openapi+json")
    assert described.json()["openapi"]


def test_a_word_of_the_frameworks_own_hides_no_list(alice: Any, api_of: Callable[..., Any]) -> None:
    api = api_of(alice)

    assert [api.get("/api/v1/agents", {"format": form}).status_code for form in ("csv", "json")] == [200, 200]


@pytest.mark.slow
@pytest.mark.spec("B25")
def test_what_is_told_as_openai_tells_it_is_described_too(alice: Any, client_of: Callable[[Any], Client]) -> None:
    paths = client_of(alice).get("/api/schema/", headers={"accept": "application/json"}).json()["paths"]

    asked = paths["/v1/chat/completions"]["post"]
    assert set(asked["responses"]["200"]["content"]) == {"application/json", "text/event-stream"}
    for operation in (asked, paths["/v1/models"]["get"], paths["/v1/models/{name}"]["get"]):
        shown = [told["content"]["application/json"] for status, told in operation["responses"].items() if status > "4"]
        assert {one["schema"]["$ref"] for one in shown} == {"#/components/schemas/CompletionError"}
    assert "409" in paths["/api/v1/query/stream"]["post"]["responses"]


@pytest.mark.slow
def test_every_operation_says_in_words_of_its_own_what_it_does(alice: Any, client_of: Callable[[Any], Client]) -> None:
    described = client_of(alice).get("/api/schema/", headers={"accept": "application/json"}).json()

    said = {
        f"{method} {path}": operation.get("description", "")
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
    }
    assert len(said) > 100
    assert not [name for name, words in said.items() if len(words) < 20]
    # An upload has two addresses.
    twice = [name for name, words in said.items() if list(said.values()).count(words) > 1]
    assert twice == ["post /api/v1/documents", "post /api/v1/upload"]
    assert not [name for name, words in said.items() if "`looking`" in words], "that is for who reads the code"


@pytest.mark.slow
def test_a_list_of_all_that_one_has_is_never_said_to_be_missing(
    alice: Any, client_of: Callable[[Any], Client], api_of: Callable[..., Any]
) -> None:
    described = client_of(alice).get("/api/schema/", headers={"accept": "application/json"}).json()

    named = described["paths"]["/api/v1/executions"]["get"]
    assert "cursor" in [one["name"] for one in named["parameters"]]
    assert api_of(alice).get("/api/v1/executions", {"cursor": "no page"}).status_code == 400
    assert {"400", "404"} & set(named["responses"]) == {"400"}


@pytest.mark.slow
def test_the_description_is_made_without_a_warning(tmp_path: Any) -> None:
    call_command("spectacular", "--validate", "--fail-on-warn", "--file", str(tmp_path / "schema.yml"))

    described = (tmp_path / "schema.yml").read_text()
    for route in ("/api/v1/query:", "/api/v1/query/stream:", "/api/v1/executions/{execution_id}/events:"):
        assert route in described
    assert "text/event-stream" in described
