"""How the process says how it is, and what people see when something is away or wrong."""

import json
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from asgiref.sync import sync_to_async
from django.db import OperationalError, connection
from django.test import AsyncClient, Client
from django.urls import path
from django.utils import timezone
from django_q.models import OrmQ
from redis.exceptions import ConnectionError as RedisConnectionError

from agents.engine.events import Complete
from agents.models import Execution, Runner
from agents.usage.models import ModelCall
from conversations import actions
from hyperagent import health, urls
from hyperagent.lib import queue
from tests.faces.conftest import token_of
from tests.faces.runs import append, make_run, tokens
from tests.faces.sockets import Socket, address, browser, cookie_of
from tests.faces.web import database_url
from tests.runtime.driving import model_env

NOBODY_LISTENS = "redis://127.0.0.1:1/0"


@pytest.fixture
def a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in model_env("http://127.0.0.1:1").items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def a_runner(transactional_db: None) -> Runner:
    now = timezone.now()
    return Runner.objects.create(name="runner-1", host="host", pid=1, started_at=now, seen_at=now)


@pytest.fixture
def redis_is_away(settings: Any) -> None:
    layers = json.loads(json.dumps(settings.CHANNEL_LAYERS))
    layers["default"]["CONFIG"]["hosts"][0]["address"] = NOBODY_LISTENS
    settings.CHANNEL_LAYERS = layers


async def test_the_process_is_alive_without_asking_anybody() -> None:
    answer = await AsyncClient().get("/healthz")

    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


@pytest.mark.parametrize("path", ["/v1", "/api", "/healthz/", "/readyz/", "/metrics/", "/healthz/more"])
def test_a_program_that_asks_beside_an_address_is_answered_as_one(path: str, in_threads: None) -> None:
    missing = Client().get(path)

    assert (missing.status_code, missing["Content-Type"]) == (404, "application/json")
    assert missing.json()["error"]["code"] == "not_found"


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_who_watches_can_only_look(path: str, method: str, in_threads: None) -> None:
    refused = Client(enforce_csrf_checks=True).generic(method, path)

    assert (refused.status_code, refused["Allow"]) == (405, "GET, HEAD")
    assert refused.json()["error"]["code"] == "method_not_allowed"


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_who_watches_asks_by_whatever_name_the_machine_has_inside(
    path: str, a_model: None, a_runner: Runner, in_threads: None, settings: Any
) -> None:
    settings.ALLOWED_HOSTS = ["agents.example.org"]

    watched, others = Client().get(path, headers={"host": "web-1:8000"}), Client().get("/", headers={"host": "web-1"})

    assert (watched.status_code, others.status_code) == (200, 400)


def test_ready_when_everything_is_there(a_model: None, a_runner: Runner, in_threads: None) -> None:
    answer = Client().get("/readyz")

    assert (answer.status_code, answer.json()) == (200, {"status": "ready", "missing": {}})


def test_not_ready_names_the_worker_and_the_model_that_are_missing(
    a_runner: Runner, in_threads: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    Runner.objects.update(seen_at=timezone.now() - timedelta(seconds=31))

    answer = Client().get("/readyz")

    assert answer.status_code == 503
    assert set(answer.json()["missing"]) == {"workers", "model"}
    assert "manage.py worker" in answer.json()["missing"]["workers"]


@pytest.fixture
def model_is_away(alice: Any, a_model: None, a_runner: Runner, in_threads: None) -> None:
    for _ in range(3):
        make_run(alice, status="failed", error_code="model_unavailable", ended_at=timezone.now())


def test_not_ready_names_the_model_once_three_runs_found_nobody_at_its_address(model_is_away: None) -> None:
    answer = Client().get("/readyz")

    assert (answer.status_code, set(answer.json()["missing"])) == (503, {"model"})
    assert "manage.py doctor" in answer.json()["missing"]["model"]


def _it_answers(run: Execution) -> None:
    ModelCall.objects.create(
        step_id=1, execution_id=run.id, agent_name="chat", prompt_tokens=1, completion_tokens=1, at=timezone.now()
    )


def _one_failed_by_itself(run: Execution) -> None:
    Execution.objects.filter(id=run.id).update(error_code="crashed_worker")


def _it_is_long_ago(run: Execution) -> None:
    Execution.objects.update(created_at=timezone.now() - timedelta(minutes=6))


@pytest.mark.parametrize("then", [_it_answers, _one_failed_by_itself, _it_is_long_ago])
def test_ready_again_when_a_model_has_answered_or_nobody_asked_for_a_while(model_is_away: None, then: Any) -> None:
    then(Execution.objects.latest("created_at"))

    assert Client().get("/readyz").json() == {"status": "ready", "missing": {}}


@pytest.mark.parametrize(("late_s", "missing"), [(31, {"workers"}), (1, set())])
def test_not_ready_names_the_workers_when_nobody_takes_what_has_been_due_for_a_while(
    late_s: int, missing: set[str], a_model: None, a_runner: Runner, in_threads: None
) -> None:
    OrmQ.objects.create(key="hyperagent", payload="", lock=timezone.now() - timedelta(seconds=late_s))
    alone = Client().get("/readyz").json()["missing"]

    with psycopg.connect(database_url(), application_name="host-1-jobs"):
        served = Client().get("/readyz").json()["missing"]

    assert (set(alone), served) == (missing, {})


def test_the_workers_of_a_host_with_a_long_name_are_known_by_it(
    a_model: None, a_runner: Runner, in_threads: None
) -> None:
    """Postgres keeps the first 63 characters of a connection's name."""
    OrmQ.objects.create(key="hyperagent", payload="", lock=timezone.now() - timedelta(seconds=31))
    host = "hyperagent-production-worker-deployment-7c9f8d7b6c-x2x5q-of-many"

    with psycopg.connect(database_url(), application_name=queue.cluster_name(f"{host}-1")):
        one = Client().get("/readyz").json()["missing"]

    assert (one, queue.cluster_name("host-1")) == ({}, "host-1-jobs")
    assert queue.cluster_name(f"{host}-1") != queue.cluster_name(f"{host}-2")


def test_what_the_address_says_of_the_connection_holds_for_this_look_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that demands a certificate of its clients refused who came without, and nobody was ever ready."""
    said = {"sslmode": "verify-full", "sslcert": "/etc/ours.crt", "sslkey": "/etc/ours.key", "connect_timeout": 5}
    monkeypatch.setitem(connection.settings_dict, "OPTIONS", {**said, "pool": False, "prepare_threshold": 2})

    asked = health._conninfo()

    assert asked.items() >= {name: value for name, value in said.items() if name != "connect_timeout"}.items()
    assert psycopg.conninfo.make_conninfo(**asked, connect_timeout=2)


def test_not_ready_names_postgres_at_once_when_it_is_away(
    a_model: None, in_threads: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as away:
        away.setitem(connection.settings_dict, "PORT", "1")
        away.setitem(connection.settings_dict, "HOST", "127.0.0.1")

        answer = Client().get("/readyz")

    assert answer.status_code == 503
    assert set(answer.json()["missing"]) == {"database"}
    assert "password" not in answer.content.decode()


def test_not_ready_names_a_postgres_that_takes_nothing(
    a_model: None, a_runner: Runner, in_threads: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one whose disk is all but full, and one that is not the primary any more: all that is written is refused."""
    said = {**connection.settings_dict["OPTIONS"], "options": "-c default_transaction_read_only=on"}
    with monkeypatch.context() as read_only:
        read_only.setitem(connection.settings_dict, "OPTIONS", said)

        answer = Client().get("/readyz")

    assert (answer.status_code, set(answer.json()["missing"])) == (503, {"database"})
    assert "can only be read" in answer.json()["missing"]["database"]


def test_not_ready_names_redis_when_it_is_away(
    a_model: None, a_runner: Runner, in_threads: None, redis_is_away: None
) -> None:
    answer = Client().get("/readyz")

    assert (answer.status_code, set(answer.json()["missing"])) == (503, {"redis"})


def test_metrics_count_live_runs_and_how_long_they_wait(alice: Any, a_runner: Runner, in_threads: None) -> None:
    make_run(alice, status="pending", started_at=None, created_at=timezone.now() - timedelta(seconds=90))
    make_run(alice, status="running")

    text = Client().get("/metrics").content.decode()

    assert 'hyperagent_live_executions{status="pending"} 1.0' in text
    assert 'hyperagent_live_executions{status="running"} 1.0' in text
    assert "hyperagent_runners 1.0" in text
    age = next(line for line in text.splitlines() if line.startswith("hyperagent_queue_age_seconds "))
    assert 90 <= float(age.split()[1]) < 120


def test_metrics_are_for_this_machine_and_for_administrators(alice: Any, bob: Any, in_threads: None) -> None:
    def asked(token: str = "", **more: Any) -> int:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return Client().get("/metrics", headers=headers, **more).status_code

    assert asked() == 200
    assert asked(REMOTE_ADDR="192.0.2.1") == 403
    assert asked(HTTP_X_FORWARDED_FOR="192.0.2.1") == 403
    assert asked(token_of(alice), REMOTE_ADDR="192.0.2.1") == 403
    assert asked(token_of(bob, scopes=["admin"]), REMOTE_ADDR="192.0.2.1") == 200
    assert asked("ha_wrong") == 403
    refused = Client().get("/metrics", REMOTE_ADDR="192.0.2.1")
    assert (refused["Content-Type"], refused.json()["error"]["code"]) == ("application/json", "not_allowed")


def _broken(request: Any) -> Any:
    raise RuntimeError("the text of the exception")


def _database_away(request: Any) -> Any:
    raise OperationalError("connection to server at 10.0.0.1 failed")


def _redis_away(request: Any) -> Any:
    raise RedisConnectionError("Error 111 connecting to 10.0.0.1")


class BrokenUrls:
    urlpatterns = [
        *[
            path(f"{prefix}{view.__name__}", view)
            for prefix in ("", "api/", "mcp/", "a2a/", ".well-known/")
            for view in (_broken, _database_away, _redis_away)
        ],
        *urls.urlpatterns,
    ]
    handler400, handler403, handler404, handler500 = urls.handler400, urls.handler403, urls.handler404, urls.handler500


@pytest.fixture
def broken_site(settings: Any, db: None) -> Client:
    settings.ROOT_URLCONF = BrokenUrls
    return Client(raise_request_exception=False)


@pytest.mark.parametrize("view", ["_database_away", "_redis_away"])
def test_an_outage_is_a_503_that_says_when_to_come_back(broken_site: Client, view: str) -> None:
    page, api = broken_site.get(f"/{view}"), broken_site.get(f"/api/{view}")

    assert (page.status_code, api.status_code) == (503, 503)
    assert page["Retry-After"] == api["Retry-After"] == "5"
    assert api.json()["error"]["code"] == "unavailable"
    assert "10.0.0.1" not in page.content.decode() + api.content.decode()


@pytest.mark.parametrize("door", ["api", "mcp", "a2a", ".well-known"])
def test_wherever_programs_come_in_they_are_told_of_faults_in_json(broken_site: Client, door: str) -> None:
    told = [broken_site.get(f"/{door}/{name}") for name in ("_broken", "_database_away", "nothing_of_this_name")]

    assert [(one.status_code, one.json()["error"]["code"]) for one in told] == [
        (500, "internal"),
        (503, "unavailable"),
        (404, "not_found"),
    ]


def test_a_fault_of_ours_shows_an_id_and_no_text_of_the_exception(
    broken_site: Client, caplog: pytest.LogCaptureFixture
) -> None:
    page, api = broken_site.get("/_broken"), broken_site.get("/api/_broken")

    assert (page.status_code, api.status_code) == (500, 500)
    request_id = api.json()["error"]["request_id"]
    assert request_id
    assert request_id in caplog.text
    shown = page.content.decode() + api.content.decode()
    assert "the text of the exception" not in shown
    assert "Traceback" not in shown


def test_what_is_not_there_is_said_on_a_page(broken_site: Client) -> None:
    missing = broken_site.get("/nowhere/")

    assert missing.status_code == 404
    assert "Nothing here" in missing.content.decode()


def test_a_form_without_its_token_is_refused_on_a_page_of_ours(alice: Any) -> None:
    browser = Client(enforce_csrf_checks=True)

    refused = browser.post("/accounts/login/", {"email": "a", "password": "b"})

    assert (refused.status_code, "Not allowed" in refused.content.decode()) == (403, True)


@pytest.mark.spec("B1")
def test_a_question_that_is_asked_while_redis_is_away_is_accepted_and_will_run(
    alice: Any, transactional_db: None, api_of: Any, redis_is_away: None
) -> None:
    url = f"/api/v1/conversations/{actions.create(alice).id}/messages"

    said = api_of(alice).post(url, {"text": "Are you there?"})

    assert said.status_code == 201
    assert Execution.objects.get().status == "pending"


@pytest.mark.slow
@pytest.mark.spec("B1")
async def test_a_socket_that_is_opened_while_redis_is_away_tells_everything_all_the_same(
    alice: Any, in_threads: None, redis_is_away: None
) -> None:
    conversation = await sync_to_async(actions.create)(alice)
    async with Socket(address(conversation.id), cookie=cookie_of(await browser(alice))) as socket:
        await socket.send(type="say", text="Are you there?")
        said = await socket.frame("said")
        run = await Execution.objects.aget(id=said["reply"]["execution"]["id"])
        await sync_to_async(append)(run, *tokens("yes"), Complete(answer="yes"))

        assert [event["seq"] for event in await socket.events(2)] == [1, 2]


def test_the_api_answers_an_outage_of_postgres_in_the_error_shape(
    in_threads: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(raw: str) -> Any:
        raise OperationalError("the connection is lost: password=hunter2") from psycopg.OperationalError()

    monkeypatch.setattr("hyperagent.accounts.authentication.user_for_token", away)

    answers = [
        Client().get("/api/v1/conversations", headers={"authorization": f"Bearer ha_{'x' * 43}"}),
        Client().post("/api/v1/query", "{}", content_type="application/json", headers={"authorization": "Bearer ha_x"}),
    ]

    for answer in answers:
        assert (answer.status_code, answer["Retry-After"]) == (503, "5")
        assert answer.json()["error"]["code"] == "unavailable"
        assert "hunter2" not in answer.content.decode()
