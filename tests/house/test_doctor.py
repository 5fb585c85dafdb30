"""`manage.py doctor` says what is wrong and how to mend it, whatever is away."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from agents.availability import providers_of
from hyperagent.lib.conf import BASE_DIR, SandboxProvider
from hyperagent.management.commands.doctor import check_apps, check_browser, check_embedder, fits
from hyperagent.management.findings import State
from hyperagent.settings import CONFIG
from memory.embedding.asking import client_of_asking
from memory.embedding.messages import ALIVE
from memory.models import EmbeddingModel
from tests.faces.web import database_url


def doctor(tmp_path: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    removed = ("SECRET_KEY", "DATABASE_URL", "REDIS_URL")
    inherited = {name: value for name, value in os.environ.items() if name not in removed}
    return subprocess.run(
        [sys.executable, "manage.py", "doctor"],
        cwd=BASE_DIR,
        env={**inherited, "DATA_DIR": str(tmp_path), "ENV_FILE": os.devnull, **settings},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.spec("B31")
def test_without_anything_it_says_what_to_set(tmp_path: Path) -> None:
    report = doctor(tmp_path)

    assert report.returncode == 1
    for name in ("SECRET_KEY", "DATABASE_URL", "REDIS_URL"):
        assert f"{name} is not set" in report.stdout
    assert "make run" in report.stdout


@pytest.mark.slow
def test_it_works_while_the_servers_are_away_and_shows_no_password(tmp_path: Path) -> None:
    report = doctor(
        tmp_path,
        SECRET_KEY="k" * 40,
        DATABASE_URL="postgresql://someone:hunter22@127.0.0.1:1/theirs",
        REDIS_URL="redis://:hunter22@127.0.0.1:1/0",
    )

    assert report.returncode == 1
    assert "the database at 127.0.0.1:1/theirs does not answer" in report.stdout
    assert "Redis does not answer" in report.stdout
    assert "hunter22" not in report.stdout + report.stderr
    assert "Traceback" not in report.stderr


@pytest.mark.slow
@pytest.mark.spec("B31")
@pytest.mark.django_db(transaction=True)
def test_a_database_that_takes_nothing_is_named(tmp_path: Path) -> None:
    url = database_url()
    more = f"{'&' if '?' in url else '?'}options=-c%20default_transaction_read_only%3Don"

    report = doctor(tmp_path, SECRET_KEY="k" * 40, DATABASE_URL=url + more)

    assert "can only be read: its disk is all but full" in report.stdout
    assert "Traceback" not in report.stderr


@pytest.mark.slow
@pytest.mark.spec("B31")
def test_it_warns_of_what_is_unsafe_and_finds_what_people_could_not_open(tmp_path: Path) -> None:
    report = doctor(
        tmp_path, SECRET_KEY="k" * 40, DEBUG="true", SITE_URL="http://agents.example.org", ALLOWED_HOSTS="example.org"
    )

    assert "DEBUG is on" in report.stdout
    assert "ALLOWED_HOSTS does not hold agents.example.org" in report.stdout
    assert "has no https" in report.stdout


@pytest.mark.slow
@pytest.mark.spec("B31")
def test_it_finds_an_https_of_which_nobody_in_front_is_believed(tmp_path: Path) -> None:
    """The web server has no TLS of its own: each request came without, and was sent back to where it had come from."""
    alone = doctor(tmp_path, SECRET_KEY="k" * 40, SITE_URL="https://agents.example.org")
    behind = doctor(tmp_path, SECRET_KEY="k" * 40, SITE_URL="https://agents.example.org", TRUSTED_PROXIES="1")

    assert "ERROR    SITE_URL=https://agents.example.org is https, and TRUSTED_PROXIES is 0" in alone.stdout
    assert "TRUSTED_PROXIES" not in behind.stdout


OWN = '[{"name": "mine", "base_url": "http://127.0.0.1:1/v1", "tier_models": {"pro": "m"}}]'


@pytest.mark.slow
@pytest.mark.spec("B31", "S184")
def test_it_names_models_that_lead_nowhere_as_the_runner_that_does_not_start_with_them(tmp_path: Path) -> None:
    wrong = {"CHAT_MODEL_PROVIDER": "nobody", "GUARDRAILS_MODEL": "foo/bar", "VISION_MODEL": "mine/sees"}
    alone = doctor(tmp_path, GUARDRAILS_MODEL="foo/bar", VISION_MODEL="foo/bar")

    report = doctor(tmp_path, OPENAI_COMPATIBLE_PROVIDERS=OWN, **wrong)

    assert "ERROR    CHAT_MODEL_PROVIDER=nobody is not allowed" in report.stdout
    assert "→ set it to one of those configured (mine)" in report.stdout
    assert "warning  GUARDRAILS_MODEL=foo/bar begins with no provider's name, so mine is asked" in report.stdout
    assert "VISION_MODEL" not in report.stdout
    for variable in ("GUARDRAILS_MODEL", "VISION_MODEL"):
        assert f"ERROR    {variable}=foo/bar is not allowed" in alone.stdout


@pytest.mark.slow
@pytest.mark.spec("B31")
def test_servers_that_are_away_or_say_nothing_are_warnings_with_the_way_out(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        report = doctor(
            tmp_path,
            OPENAI_COMPATIBLE_PROVIDERS=OWN,
            SEARXNG_URL="http://127.0.0.1:1/search",
            EMAIL_URL=f"smtp://someone:hunter22@127.0.0.1:{silent.getsockname()[1]}",
        )

    assert "warning  the model server mine at http://127.0.0.1:1/v1 does not answer: " in report.stdout
    assert "→ start it, or correct OPENAI_COMPATIBLE_PROVIDERS" in report.stdout
    assert "warning  SearXNG at http://127.0.0.1:1/search does not answer: " in report.stdout
    assert "→ start it, or correct SEARXNG_URL" in report.stdout
    assert "warning  the mail server of EMAIL_URL, smtp://127.0.0.1:" in report.stdout
    assert "→ start it, or correct EMAIL_URL" in report.stdout
    assert "hunter22" not in report.stdout + report.stderr
    assert "Traceback" not in report.stderr


@pytest.mark.slow
def test_servers_that_answer_are_told_and_so_is_that_mails_go_to_the_log_only(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as there:
        report = doctor(tmp_path, SEARXNG_URL=f"http://127.0.0.1:{there.getsockname()[1]}", EMAIL_URL="consolemail://")

    assert "ok       SearXNG at http://127.0.0.1:" in report.stdout
    assert "mails to people stand in the log only" in report.stdout


@pytest.mark.spec("B31", "S194", "S201")
@pytest.mark.parametrize(
    ("chosen", "browser", "apps"),
    [
        ("local", "agents browse the web by ", "no apps of express, nextjs can be built"),
        ("docker", "agents have no browser: ", "no apps of express, nextjs can be built"),
        ("e2b", "agents have no browser: ", "sandboxes of E2B show no apps, and scripts in them call no tools"),
    ],
)
def test_what_the_chosen_sandbox_cannot_do_is_named(chosen: str, browser: str, apps: str) -> None:
    config = CONFIG.model_copy(update={"sandbox_provider": SandboxProvider(chosen), "e2b_api_key": SecretStr("key")})

    found = [*check_browser(config), *check_apps(config)]

    assert [finding.what for finding in found if browser in finding.what]
    assert [finding.what for finding in found if apps in finding.what]
    assert all(finding.mend for finding in found if finding.state is not State.FINE and apps in finding.what)


@pytest.mark.spec("B31", "S201")
def test_a_sandbox_that_nobody_provides_yet_is_said_to_build_nothing() -> None:
    config = CONFIG.model_copy(update={"sandbox_provider": SandboxProvider.BOXLITE})

    assert [*check_browser(config), *check_apps(config)] == []
    assert "has no provider for it" in providers_of(config).lacks(("sandbox",))


@pytest.mark.spec("B31", "S194", "S201")
def test_what_the_plain_image_of_docker_lacks_is_named_with_the_way_out() -> None:
    docker = {"sandbox_provider": SandboxProvider.DOCKER}
    plain = CONFIG.model_copy(update=docker)
    own = CONFIG.model_copy(update={**docker, "sandbox_image": "of.us/agents:1"})

    warned = [finding for finding in check_apps(plain) if "have Python alone" in finding.what]

    assert [finding.state for finding in warned] == [State.WARNING]
    assert "set SANDBOX_IMAGE" in warned[0].mend
    assert not [finding for finding in check_apps(own) if "have Python alone" in finding.what]


@pytest.fixture
def embedder_alive() -> Iterator[None]:
    """As one gives a sign of life."""
    client_of_asking().set(ALIVE, "1")
    yield
    client_of_asking().delete(ALIVE)


@pytest.mark.spec("B31", "S167")
@pytest.mark.django_db
@pytest.mark.usefixtures("embedder_alive")
def test_an_embedder_that_goes_by_another_model_than_is_set_here_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-nobody")
    monkeypatch.setenv("EMBEDDING_MODEL", "openai/text-embedding-3-small")
    EmbeddingModel.objects.create(name="local")

    (other,) = check_embedder()
    EmbeddingModel.objects.create(name="openai/text-embedding-3-small")
    (same,) = check_embedder()

    assert (other.state, same.state) == (State.WARNING, State.FINE)
    assert other.what == "EMBEDDING_MODEL=openai/text-embedding-3-small, and vectors are made by local"
    assert "start the workers again" in other.mend


def test_hosts_fit_as_django_has_it() -> None:
    assert fits("a.example.org", ".example.org")
    assert fits("example.org", ".example.org")
    assert fits("anything", "*")
    assert not fits("evil-example.org", ".example.org")
    assert not fits("a.example.org", "example.org")
