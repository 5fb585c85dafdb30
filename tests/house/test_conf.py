"""Settings: every bad value is named at once, secrets are not shown, and no command starts with them."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from hyperagent.lib import conf
from hyperagent.lib.conf.values import Topic

GOOD = {
    "SECRET_KEY": "k" * 40,
    "DATABASE_URL": "postgresql://u:p@localhost/db",
    "REDIS_URL": "redis://localhost:6379/0",
}


def problems_of(env: dict[str, str]) -> str:
    with pytest.raises(conf.BadConfig) as caught:
        conf.load(env)
    return caught.value.text()


def test_what_is_needed_suffices_and_the_rest_has_its_default() -> None:
    config = conf.load(GOOD)

    assert (config.port, config.agent_concurrency, config.lease_seconds) == (8000, 64, 15)
    assert config.hosts == ("localhost", "127.0.0.1", "[::1]")
    assert not config.is_https


def test_every_bad_value_is_named_with_what_is_allowed() -> None:
    text = problems_of({**GOOD, "PORT": "http", "DEBUG": "perhaps", "AGENT_CONCURRENCY": "0", "LOG_FORMAT": "xml"})

    assert "PORT='http' is not allowed; allowed: a port, 1 to 65535" in text
    assert "DEBUG='perhaps' is not allowed; allowed: true or false" in text
    assert "AGENT_CONCURRENCY='0'" in text
    assert "LOG_FORMAT='xml' is not allowed; allowed: text or json" in text


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SECRET_KEY", "short-secret"),
        ("DATABASE_URL", "mysql://root:hunter22@host/db"),
        ("REDIS_URL", "http://:hunter22@host"),
        ("HYPERAGENT_ADMIN_PASSWORD", "hunter2"),
        ("REDIS_URL", "redis://:hunter22@host:port/0"),
        # A sign of the password that ends the host, for it was not written as %23.
        ("REDIS_URL", "redis://someone:hunter22#2@host/0"),
        ("DATABASE_URL", "postgresql://someone:hunter22@host:99999/db"),
        # What Django reads as it stands, and runners, who leave it to Postgres' own library, could not.
        ("DATABASE_URL", "postgresql://someone:hunter22%of@host/db"),
        ("DATABASE_DIRECT_URL", "postgresql://someone:hunter22%of@host/db"),
        # Its end was taken for the name of the database, and told with it.
        ("DATABASE_URL", "postgresql://someone:22/hunter22@host/db"),
        ("EMAIL_URL", "pigeon://hunter22@loft"),
        ("EMAIL_URL", "submission://someone:hunter22@mail.example.org"),
        ("EMAIL_URL", "smtp+tls://someone:hunter22#2@mail.example.org:587"),
        ("EMAIL_URL", "smtp://someone:22/hunter22@mail.example.org"),
        ("EMAIL_URL", "smtp://someone:hunter22@mail.example.org:port"),
        ("EMAIL_URL", "smtp://someone:hunter22@"),
    ],
)
def test_a_secret_that_cannot_be_read_is_named_but_not_shown(name: str, value: str) -> None:
    text = problems_of({**GOOD, name: value})

    assert f"{name}=(hidden) is not allowed" in text
    assert value not in text
    assert "hunter2" not in text


@pytest.mark.parametrize(
    "name", [field.alias for field in conf.Config.model_fields.values() if "://" in (field.description or "")]
)
@pytest.mark.parametrize(
    "address", ["https://me:hunter2@x", "grpc://me:hunt/er2@x", "me:hunter2@x", "grpc://hunter2@x"]
)
def test_the_password_of_an_address_that_is_refused_is_not_shown(name: str, address: str) -> None:
    told = ""
    try:
        conf.load({**GOOD, name: address})
    except conf.BadConfig as refused:
        told = refused.text()

    assert told or address == "https://me:hunter2@x", "else it is no address that could be meant"
    assert "er2" not in told


@pytest.mark.parametrize("name", ["SEARXNG_URL", "TAVILY_BASE_URL", "OIDC_ISSUER", "AUDIT_LOG_STREAM"])
def test_where_no_password_may_stand_it_is_said(name: str) -> None:
    text = problems_of({**GOOD, name: "https://me:hunter2@x"})

    assert f"{name}='https://***@x' is not allowed" in text
    assert "without user and password" in text


def test_a_password_within_an_address_is_a_secret_whatever_its_variable_is_called() -> None:
    env = {"OTEL_EXPORTER_OTLP_ENDPOINT": "https://me:hunter%2322@collector:4318", "ELSEWHERE": "http://[no address"}

    assert {"hunter%2322", "hunter#22"} <= set(conf.secrets_in(env))


@pytest.mark.parametrize(
    "address",
    ["smtp://mail", "smtp+tls://u%40x.org:p%23%2F@mail.example.org:587", "smtps://[::1]:465", "consolemail://"],
)
def test_mail_servers_that_django_can_reach_are_taken(address: str) -> None:
    assert conf.load({**GOOD, "EMAIL_URL": address}).email_url.get_secret_value() == address


def test_the_models_faults_stand_beside_the_others() -> None:
    text = problems_of({**GOOD, "PORT": "0", "OPENAI_COMPATIBLE_PROVIDERS": "not json"})

    assert "PORT='0'" in text
    assert "OPENAI_COMPATIBLE_PROVIDERS" in text


def test_what_is_missing_is_named_with_the_way_out() -> None:
    text = problems_of({"REDIS_URL": " "})

    for name in ("SECRET_KEY", "DATABASE_URL", "REDIS_URL"):
        assert f"{name} is not set" in text
    assert "manage.py up" in text


def test_an_empty_value_counts_as_not_set() -> None:
    assert conf.load({**GOOD, "PORT": "", "ALLOWED_HOSTS": " "}).port == 8000


def test_https_is_known_by_the_address_that_people_open() -> None:
    config = conf.load({**GOOD, "SITE_URL": "https://agents.example.org/"})

    assert config.is_https
    assert config.origins == ("https://agents.example.org",)
    assert "agents.example.org" in config.hosts


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "env"
    file.write_text("PORT=1111\nLOG_FORMAT=json\n")
    env = {"ENV_FILE": str(file), "PORT": "2222"}

    conf.read_env_file(env)

    assert (env["PORT"], env["LOG_FORMAT"]) == ("2222", "json")


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "OPENAI_API_KEY = sk-hunter22",
        'OPENAI_COMPATIBLE_PROVIDERS=[\n  {"name": "mine", "api_key": "sk-hunter22"}]',
        "OPENAI_API_KEY: sk-hunter22",
    ],
    ids=["blanks", "several lines", "colon"],
)
def test_a_line_of_the_file_that_is_no_setting_stops_the_start_and_is_not_shown(text: str, tmp_path: Path) -> None:
    """It was left out, and each process told it to its log with the key that stood there."""
    file = tmp_path / "env"
    file.write_text(f"PORT=1111\n{text}\n")
    ended = subprocess.run(
        [sys.executable, "manage.py", "doctor"],
        cwd=conf.BASE_DIR,
        env={**os.environ, "ENV_FILE": str(file), "DATA_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert ended.returncode == 2
    assert f"line {1 + len(text.splitlines())} of {file} is not NAME=value" in ended.stderr
    assert "hunter22" not in ended.stderr + ended.stdout


@pytest.mark.parametrize("content", [None, "NAME=Zoë".encode("latin-1")], ids=["missing", "not UTF-8"])
def test_a_file_that_is_named_and_cannot_be_read_stops_the_start(content: bytes | None, tmp_path: Path) -> None:
    file = tmp_path / "env"
    if content is not None:
        file.write_bytes(content)

    with pytest.raises(conf.BadConfig, match=f"ENV_FILE={file} cannot be read"):
        conf.read_env_file({"ENV_FILE": str(file)})


def test_a_file_may_have_comments_blank_lines_and_what_a_shell_or_systemd_takes(tmp_path: Path) -> None:
    file = tmp_path / "env"
    file.write_bytes(b"\xef\xbb\xbf# one\r\n\r\n  ; two\r\nexport PORT='1111'\r\n MODEL_PRICES={\"a\": {}} # kept\r\n")
    env = {"ENV_FILE": str(file)}

    conf.read_env_file(env)

    assert env == {"ENV_FILE": str(file), "PORT": "1111", "MODEL_PRICES": '{"a": {}} # kept'}


@pytest.mark.parametrize("host", ["http://x", "x/path", "a b", "example.org:8000", "user@x", "*.example.org"])
def test_a_host_that_no_request_can_name_stops_the_start(host: str) -> None:
    with pytest.raises(conf.BadConfig) as bad:
        conf.load({**GOOD, "ALLOWED_HOSTS": f"good.example.org,{host}"})

    (problem,) = bad.value.problems
    assert problem.startswith(f"ALLOWED_HOSTS='good.example.org,{host}' is not allowed; allowed: host names without")


@pytest.mark.parametrize("hosts", ["Agents.example.org", ".example.org,10.0.0.1", "[::1]", "*", "xn--bcher-kva.org"])
def test_hosts_that_django_can_match_are_taken(hosts: str) -> None:
    assert conf.load({**GOOD, "ALLOWED_HOSTS": hosts}).hosts == tuple(hosts.split(","))


@pytest.mark.parametrize("name", ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"])
@pytest.mark.parametrize("address", ["nope", "collector:4318", "ftp://collector", "http://", "http://host:port"])
def test_a_collector_that_has_no_web_address_stops_the_start(name: str, address: str) -> None:
    with pytest.raises(conf.BadConfig) as bad:
        conf.load({**GOOD, name: address})

    assert bad.value.problems == (
        f"{name}={address!r} is not allowed; allowed: the address of a collector: http(s)://host[:port][/path]",
    )
    assert conf.load({**GOOD, name: "http://collector:4318/base"})


@pytest.mark.parametrize("command", ["worker", "runner"])
@pytest.mark.parametrize("number", ["0", "1001", "-1", "many", ""])
def test_an_option_obeys_the_rule_of_the_setting_that_it_stands_in_for(command: str, number: str) -> None:
    with pytest.raises(CommandError, match="1 to 1000"):
        call_command(command, f"--concurrency={number}")


@pytest.mark.parametrize("command", ["worker", "up"])
def test_as_many_runners_are_taken_as_the_setting_allows(command: str) -> None:
    with pytest.raises(CommandError, match="0 to 64"):
        call_command(command, "--runners=65")


@pytest.mark.parametrize("note", ["", '["not a', '["not", "an", "object"]'])
def test_a_broken_note_of_a_running_instance_is_no_obstacle(note: str, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / conf.INSTANCE_FILE).write_text(note)
    env = {"DATA_DIR": str(tmp_path)}

    conf.join_instance(env)

    assert env == {"DATA_DIR": str(tmp_path)}


def test_what_stands_empty_in_the_file_is_told_by_the_running_instance(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / conf.INSTANCE_FILE).write_text('{"SECRET_KEY": "of the instance", "SITE_URL": "http://127.0.0.1:1"}')
    env = {"DATA_DIR": str(tmp_path), "SECRET_KEY": "", "SITE_URL": "https://agents.example.org"}

    conf.join_instance(env)

    assert (env["SECRET_KEY"], env["SITE_URL"]) == ("of the instance", "https://agents.example.org")


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ["manage.py", "migrate"],
        ["manage.py", "up"],
        ["manage.py", "doctor"],
        ["-m", "hyperagent.web", "-p", "0", "hyperagent.asgi:application"],
        ["-m", "daphne", "-p", "0", "hyperagent.asgi:application"],
    ],
)
def test_no_process_starts_with_a_bad_setting(command: list[str], tmp_path: Path) -> None:
    env = {**os.environ, **GOOD, "DATA_DIR": str(tmp_path), "LEASE_SECONDS": "soon"}
    ended = subprocess.run(
        [sys.executable, *command], cwd=conf.BASE_DIR, env=env, capture_output=True, text=True, timeout=60, check=False
    )

    assert ended.returncode == 2
    assert "LEASE_SECONDS='soon' is not allowed" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.slow
def test_a_provider_that_an_agent_asks_for_and_nobody_has_stops_the_start() -> None:
    with tempfile.TemporaryDirectory() as folder:
        env = {"PATH": os.environ["PATH"], "ENV_FILE": os.devnull, "DATA_DIR": folder, "CHAT_MODEL_PROVIDER": "zzz"}
        done = subprocess.run(
            [sys.executable, "manage.py", "up"],
            cwd=conf.BASE_DIR,
            env=env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    assert done.returncode == 2
    assert "CHAT_MODEL_PROVIDER" in done.stderr
    assert "zzz" in done.stderr
    assert "Traceback" not in done.stderr


def test_no_topic_s_rule_takes_the_place_of_another_topic_s() -> None:
    """All of them are one class in the end, and of two validators of one name only one would hold."""
    topics = [topic for topic in conf.Config.__mro__ if issubclass(topic, Topic) and topic is not conf.Config]
    rules = [name for topic in topics for name, made in vars(topic).items() if isinstance(made, classmethod)]

    assert len(rules) > 10
    assert sorted(rules) == sorted(set(rules))


def test_an_address_of_google_s_that_is_none_stops_the_start() -> None:
    with pytest.raises(conf.BadConfig, match="GMAIL_BASE_URL='nope'"):
        conf.load({**GOOD, "GMAIL_BASE_URL": "nope"})


@pytest.mark.parametrize("name", ["SITE_URL", "GMAIL_BASE_URL", "CSRF_TRUSTED_ORIGINS"])
def test_an_address_with_a_port_that_is_none_stops_the_start(name: str) -> None:
    with pytest.raises(conf.BadConfig, match=f"{name}='https://agents.example.org:port'"):
        conf.load({**GOOD, name: "https://agents.example.org:port"})


def test_an_origin_is_what_browsers_send_also_with_a_slash_at_its_end() -> None:
    config = conf.load({**GOOD, "CSRF_TRUSTED_ORIGINS": "https://agents.example.org/,https://*.example.org:8443"})

    assert config.origins == ("https://agents.example.org", "https://*.example.org:8443")
    assert "CSRF_TRUSTED_ORIGINS" in problems_of({**GOOD, "CSRF_TRUSTED_ORIGINS": "https://agents.example.org/app"})
