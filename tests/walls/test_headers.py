"""T35: the headers of every address, whoever opens it and however it ends. T34: what an error tells. T27: what a
browser may do with files that people gave.
"""

import io
import json
import re
import uuid
from collections.abc import Callable
from typing import Any, Final

import pytest
from django.conf import settings as django_settings
from django.http import HttpResponse
from django.test import AsyncClient, Client, override_settings
from django.urls import path

from conversations import actions
from hyperagent import static_files, urls
from hyperagent.accounts.models import User
from hyperagent.headers import HEADERS
from tests.faces.conftest import _quick_hashes, api_of, client_of, in_threads
from tests.faces.sockets import Socket, address, browser, cookie_of
from tests.walls import owners
from tests.walls.addresses import filled, routes

__all__ = ["_quick_hashes", "api_of", "client_of", "in_threads"]

pytestmark = [pytest.mark.django_db, pytest.mark.threat("T35")]

WANTED: Final = {
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    **HEADERS,
}
POLICY: Final = {
    "default-src": ["'self'"],
    "script-src": ["'self'"],
    "style-src": ["'self'"],
    "img-src": ["'self'", "data:", "blob:"],
    "connect-src": ["'self'"],
    "frame-src": ["'self'", "*.localhost:*"],
    "object-src": ["'none'"],
    "frame-ancestors": ["'none'"],
    "base-uri": ["'none'"],
    "form-action": ["'self'"],
}
# The one page that ours may show in a frame: what leads to an app of the person's own.
FRAMED: Final = "/previews/"
# Whoever may look waits 15 s for a sandbox that is not there.
WAITING: Final = "/browser/"
# What is told to everybody, and may be kept for some minutes.
PUBLIC: Final = "/.well-known/agent-card.json"
# Other sites hear of no address of ours. Of `no-referrer` alone browsers would send forms without an origin, which are
# refused; pages without a form, whose address is a secret, have it.
REFERRER: Final = ("same-origin", "no-referrer")
HOSTILE: Final = {
    "a.svg": b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
    "a.html": b"<script>alert(1)</script>",
    "a.xml": b"<?xml version='1.0'?><x:script xmlns:x='http://www.w3.org/1999/xhtml'>alert(1)</x:script>",
    "a.png": b"\x89PNG\r\n\x1a\n<script>alert(1)</script>",
    "a.pdf": b"%PDF-1.4\n<script>alert(1)</script>",
    "a.js": b"alert(1)",
    "a.md": b"<script>alert(1)</script>",
    "a.csv": b"=cmd|'/c calc'!A1,<script>",
}


def policy_of(response: Any) -> dict[str, list[str]]:
    parts = [part.split() for part in response["Content-Security-Policy"].split(";") if part.strip()]
    return {name: [word for word in words if not word.startswith("'nonce-")] for name, *words in parts}


def faults_of(response: Any, address: str) -> list[str]:
    faults = [f"{name}: {response.get(name)}" for name, value in WANTED.items() if response.get(name) != value]
    if response.get("Referrer-Policy") not in REFERRER:
        faults.append(f"Referrer-Policy: {response.get('Referrer-Policy')}")
    policy = policy_of(response)
    if any(word in ("'unsafe-inline'", "'unsafe-eval'", "*", "https:", "http:") for w in policy.values() for word in w):
        faults.append(f"policy: {policy}")
    is_framed = address.startswith(FRAMED)
    ancestors = policy.get("frame-ancestors")
    if ancestors != ["'none'"] and not (is_framed and ancestors == ["'self'"]):
        faults.append(f"frame-ancestors: {ancestors}")
    if not is_framed and response.get("X-Frame-Options") != "DENY":
        faults.append("X-Frame-Options")
    if "'none'" not in policy["default-src"] and not is_framed and policy != POLICY:
        faults.append(f"policy: {policy}")
    if "no-store" not in response.get("Cache-Control", "") and address != PUBLIC:
        faults.append(f"Cache-Control: {response.get('Cache-Control')}")
    for name, morsel in response.cookies.items():
        if morsel["max-age"] == 0:
            continue
        if name != django_settings.CSRF_COOKIE_NAME and not morsel["httponly"]:
            faults.append(f"{name} can be read by scripts")
        if morsel["samesite"] not in ("Lax", "Strict"):
            faults.append(f"{name} is sent by other sites")
    return faults


def inline_of(response: Any) -> list[str]:
    """What of a page runs though no file of ours has it."""
    if response.streaming or not response["Content-Type"].startswith("text/html"):
        return []
    text = response.content.decode()
    nonce = re.search(r"'nonce-([^']+)'", response["Content-Security-Policy"])
    scripts = [tag for tag in re.findall(r"<script[^>]*>", text) if "src=" not in tag and "json" not in tag]
    ours = [tag for tag in scripts if nonce and f'nonce="{nonce[1]}"' in tag]
    return [*(set(scripts) - set(ours)), *re.findall(r"<[a-z][^>]*\son[a-z]+=", text)]


@pytest.mark.slow
def test_every_address_has_all_headers_for_its_owner_for_an_administrator_and_for_nobody(
    in_threads: None, alice: Any, client_of: Callable[[Any], Client]
) -> None:
    values = owners.things_of(alice)
    root = User.objects.create(email="root@example.org", is_staff=True, is_superuser=True)
    faults: dict[str, list[str]] = {}
    statuses: set[int] = set()

    for user in (alice, root, None):
        client = client_of(user) if user else Client()
        client.raise_request_exception = False
        kept = client.cookies.output()
        for route in routes():
            if (user is root) != route.startswith("/admin/"):
                continue
            if user is not None and route.startswith(WAITING):
                continue
            shown = filled(route, values)
            response = client.get(shown)
            statuses.add(response.status_code)
            # That a runner, a model or a sandbox is missing here is told so.
            if response.status_code >= 500 and not shown.startswith(("/readyz", FRAMED)):
                faults[shown] = [str(response.status_code)]
            if found := [*faults_of(response, shown), *inline_of(response)]:
                faults[f"{user} {shown}: {response.status_code}"] = found
            response.close()
            client.cookies.load(kept)

    assert faults == {}
    assert {200, 302, 401, 403, 404, 405} <= statuses


def test_answers_to_programs_are_kept_by_nobody(api_of: Any, alice: Any) -> None:
    for api in (api_of(alice), Client()):
        for url in ("/api/v1/me", "/api/v1/nowhere", "/v1/models"):
            assert "no-store" in api.get(url)["Cache-Control"], url


async def test_files_of_the_page_are_nobody_elses_either() -> None:
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    name = f"/static/~{static_files.version()}/js/chat.js"
    await static_files.FilesFirst(None)({"type": "http", "path": name, "method": "GET", "headers": []}, None, send)  # type: ignore[arg-type]

    headers = {key.decode(): value.decode() for key, value in sent[0]["headers"]}
    assert sent[0]["status"] == 200
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cross-origin-resource-policy"] == "same-origin"


# ── files that people gave ──


@pytest.mark.slow
@pytest.mark.threat("T27")
@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_a_hostile_file_is_saved_and_never_run(in_threads: None, alice: Any, api_of: Any, name: str) -> None:
    api = api_of(alice, scopes=["documents", "read"])
    file = io.BytesIO(HOSTILE[name])
    file.name = name
    document = api.post("/api/v1/documents", {"file": file}, format="multipart").json()
    api.put(f"/api/v1/files/user/{alice.pk}/{name}", HOSTILE[name], content_type="text/html")

    kept = api.get(f"/api/v1/documents/{document['doc_id']}/file")
    written = api.get(f"/api/v1/files/user/{alice.pk}/{name}")

    for answer in (kept, written):
        assert answer.status_code == 200
        assert answer["X-Content-Type-Options"] == "nosniff"
        assert answer["Cache-Control"] == "private, no-store"
        policy = policy_of(answer)
        assert policy["default-src"] == ["'none'"]
        assert policy["frame-ancestors"] == ["'none'"]
        is_saved = answer["Content-Disposition"].startswith("attachment")
        assert is_saved or answer["Content-Type"].split(";")[0] in ("image/png", "application/pdf", "text/plain")
        assert answer["Content-Type"].split(";")[0] == "application/pdf" or "sandbox" in policy
        answer.close()
    assert kept["Content-Disposition"].startswith("attachment")
    assert kept["Content-Type"] == "application/octet-stream"


# ── errors ──


def fails(request: Any) -> HttpResponse:
    raise RuntimeError("canary-of-an-exception")


class Failing:
    urlpatterns = [path("fails/", fails), path("api/v1/fails/", fails), *urls.urlpatterns]
    handler400, handler403 = urls.handler400, urls.handler403
    handler404, handler500 = urls.handler404, urls.handler500


def error_answers(user: Any, api: Any) -> dict[int, list[Any]]:
    from hyperagent.accounts import metering
    from hyperagent.accounts.quotas import Work

    client = Client(raise_request_exception=False)
    client.force_login(user)
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(user)
    big = b'{"name": "' + b"x" * django_settings.DATA_UPLOAD_MAX_MEMORY_SIZE + b'"}'
    metering.take(user.pk, Work.SEARCH)
    return {
        400: [
            client.get("/accounts/login/", headers={"host": "elsewhere.example"}),
            api.post("/api/v1/conversations", b"{", content_type="application/json"),
        ],
        403: [strict.post("/accounts/logout/"), api.get("/api/v1/agents/settings/"), Client().get("/metrics")][:1],
        404: [
            client.get("/nowhere/"),
            api.get("/api/v1/nowhere"),
            api.get(f"/api/v1/conversations/{uuid.uuid4()}"),
            client.get(f"/c/{uuid.uuid4()}/"),
        ],
        405: [client.delete("/search/"), api.delete("/api/v1/me")],
        413: [api.post("/api/v1/conversations", big, content_type="application/json")],
        429: [client.get("/search/", {"q": "boats"}), api.get("/api/v1/search/all", {"q": "boats"})],
        500: [client.get("/fails/"), client.get("/api/v1/fails/")],
    }


@pytest.mark.threat("T34")
def test_an_error_says_what_to_do_and_nothing_of_the_program(alice: Any, api_of: Any, settings: Any) -> None:
    assert not settings.DEBUG
    settings.CONFIG = settings.CONFIG.model_copy(update={"searches_per_minute": 1})
    with override_settings(ROOT_URLCONF=Failing):
        answers = error_answers(alice, api_of(alice, scopes=["run", "read"]))

    for status, of_status in answers.items():
        for answer in of_status:
            text = answer.content.decode()
            assert answer.status_code == status, (status, answer.request["PATH_INFO"], text[:300])
            assert "canary" not in text
            assert not re.search(r"Traceback|Exception|\.py\b|Error at /|psycopg|SELECT ", text), text[:2000]
            if answer.request["PATH_INFO"].startswith("/api/"):
                error = json.loads(text)["error"]
                assert error["code"]
                assert error["message"]
            assert faults_of(answer, answer.request["PATH_INFO"]) == []
    page, program = answers[500]
    assert re.search(r"[0-9a-f]{8}-[0-9a-f-]{27}", page.content.decode())
    assert uuid.UUID(program.json()["error"]["request_id"])


@pytest.mark.threat("T34")
async def test_who_asks_for_the_server_itself_is_told_that_there_is_nothing() -> None:
    """`OPTIONS *`: the one address without a slash."""
    answer = await AsyncClient().generic("OPTIONS", "*")

    assert answer.request["path"] == "*"
    assert answer.status_code == 404


@pytest.mark.threat("T34")
async def test_a_socket_that_fails_tells_a_number_and_no_more(
    in_threads: None, alice: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from asgiref.sync import sync_to_async

    talk = await sync_to_async(actions.create)(alice)
    # The text of a number that no column takes: what is not foreseen, from outside.
    cookie = cookie_of(await browser(alice))

    async with Socket(address(talk.pk), cookie=cookie) as socket:
        await socket.send(type="ping")
        await socket.frame("pong")
        monkeypatch.setattr("conversations.personal_socket.act_as", _broken)
        await socket.send(type="say", text="hello")
        error = (await socket.frame("error"))["error"]
        assert await socket.closed() == 4500

    assert error["code"] == "internal"
    number = re.search(r"[0-9a-f]{12}", error["message"])
    assert number is not None
    assert "canary" not in json.dumps(error)
    assert any(getattr(record, "error_id", "") == number[0] for record in caplog.records), (
        "the log has it by its number"
    )


def _broken(*_arguments: Any) -> None:
    raise RuntimeError("canary-of-an-exception")


# ── cookies ──


def test_over_http_cookies_are_the_sites_and_the_servers_alone(alice: Any) -> None:
    client = Client()
    client.get("/accounts/login/")
    client.post("/accounts/login/", {"email": alice.email, "password": "correct horse battery staple"})
    client.post("/settings/language/", {"language": "de"})

    assert {"sessionid", "csrftoken", "django_language"} <= set(client.cookies)
    for name, morsel in client.cookies.items():
        assert morsel["samesite"] == "Lax", name
        # Scripts of ours send this one back.
        assert bool(morsel["httponly"]) or name == "csrftoken", name
        assert morsel["path"] == "/"
        assert not morsel["domain"]
