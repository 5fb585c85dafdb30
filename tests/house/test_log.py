"""The log: one line an event, and no secret in it, whoever writes it."""

import json
import logging
import logging.config
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
import structlog
from django.db import OperationalError
from redis.exceptions import ConnectionError as RedisConnectionError

from hyperagent.lib.conf import BASE_DIR, LogFormat, secrets_in
from hyperagent.lib.log import HIDDEN, DatabaseAway, RedisAway, logging_config, redact

SECRET = "canary-3f9a8b7c6d"


@pytest.fixture
def restored() -> Iterator[None]:
    """The suite's own logging, put back afterwards."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    structlog_before = structlog.get_config()
    yield
    root.handlers[:], root.level = handlers, level
    structlog.configure(**structlog_before)


def configured(log_format: LogFormat) -> None:
    config = logging_config(level="INFO", log_format=log_format, secrets=(SECRET,))
    config["handlers"]["console"]["stream"] = "ext://sys.stderr"
    logging.config.dictConfig(config)


def test_an_event_is_one_line_of_json_with_its_exception(restored: None, capsys: pytest.CaptureFixture[str]) -> None:
    configured(LogFormat.JSON)

    try:
        raise ValueError(f"cannot read {SECRET}")
    except ValueError:
        structlog.get_logger("test").exception("run.failed", execution_id="e1", password="hunter22", prompt_tokens=7)

    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    event = json.loads(lines[0])
    assert (event["event"], event["execution_id"], event["prompt_tokens"]) == ("run.failed", "e1", 7)
    assert event["password"] == HIDDEN
    assert "ValueError" in event["exception"]
    assert SECRET not in lines[0]


@pytest.mark.parametrize("log_format", LogFormat)
def test_what_people_write_forges_no_line(
    restored: None, capsys: pytest.CaptureFixture[str], log_format: LogFormat
) -> None:
    configured(log_format)
    forged = "a\r\n2026-11-23T00:00:00Z [info] sign_in.succeeded\u2028\x1b[2J"

    structlog.get_logger("test").info(f"asked {forged}", request=f"GET /{forged}")
    logging.getLogger("some.library").warning("cannot read %s", forged)

    said = capsys.readouterr().err
    assert len(said.splitlines()) == 2
    assert "\x1b" not in said
    assert said.count("sign_in.succeeded") == 3


def test_what_libraries_log_passes_the_same_way(restored: None, capsys: pytest.CaptureFixture[str]) -> None:
    configured(LogFormat.TEXT)

    logging.getLogger("some.library").warning("connecting with %s", SECRET)

    text = capsys.readouterr().err
    assert HIDDEN in text
    assert SECRET not in text


@pytest.mark.parametrize(
    "line",
    [
        "Authorization: Bearer abcdef0123456789",
        "key sk-proj-abcdefghijkl is wrong",
        "postgresql://user:hunter22@host/db refused",
        "token ha_0123456789abcdefghij expired",
    ],
)
def test_credentials_are_known_by_their_shape(line: str) -> None:
    assert HIDDEN in redact(line, ())
    assert "hunter22" not in redact(line, ())


def test_ordinary_words_stay() -> None:
    line = "GET /api/v1/tasks 200 risk-assessment http://127.0.0.1:8000/x?y=a:b"

    assert redact(line, ()) == line


def test_the_environment_s_secrets_are_known() -> None:
    url, models = "http://127.0.0.1:1/v1", {"pro": "m"}
    mine = {"name": "mine", "base_url": url, "api_key": "deep-secret", "tier_models": models}

    found = secrets_in(
        {
            "SECRET_KEY": "s" * 40,
            "DATABASE_URL": "postgresql://u:hunter22@host/db",
            "DATABASE_DIRECT_URL": "postgresql://u:hunter#23@host/db",
            "OPENAI_API_KEY": "sk-whatever-it-is",
            "OPENAI_COMPATIBLE_PROVIDERS": json.dumps([mine]),
            "PORT": "8000",
        }
    )

    assert {"s" * 40, "hunter22", "hunter#23", "sk-whatever-it-is", "deep-secret"} <= set(found)
    assert "8000" not in found


@pytest.mark.slow
def test_what_python_itself_prints_is_json_as_well() -> None:
    code = (
        "import warnings, threading, django; django.setup()\n"
        "warnings.warn('an old name')\n"
        "thread = threading.Thread(target=lambda: 1 / 0); thread.start(); thread.join()\n"
        f"raise ValueError('with {SECRET}')"
    )
    env = {**os.environ, "LOG_FORMAT": "json", "LOG_LEVEL": "INFO", "A_PASSWORD": SECRET}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=BASE_DIR, env=env, capture_output=True, text=True, check=False
    )

    told = [json.loads(line) for line in done.stderr.splitlines()]
    assert [line["event"] for line in told][1:] == ["uncaught", "uncaught"]
    assert "an old name" in told[0]["event"]
    assert ["ZeroDivisionError" in told[1]["exception"], "ValueError" in told[2]["exception"]] == [True, True]
    assert (done.returncode, SECRET in done.stderr) == (1, False)


@pytest.mark.slow
def test_what_python_itself_prints_into_a_log_of_text_has_no_secret_either() -> None:
    code = (
        "import threading, django; django.setup()\n"
        f"def fail(): raise ValueError('with {SECRET}')\n"
        "thread = threading.Thread(target=fail); thread.start(); thread.join()\n"
        "fail()"
    )
    env = {**os.environ, "LOG_FORMAT": "text", "LOG_LEVEL": "INFO", "A_PASSWORD": SECRET}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=BASE_DIR, env=env, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr.count(f"ValueError: with {HIDDEN}")) == (1, 2)
    assert SECRET not in done.stderr


@pytest.mark.parametrize(
    ("error", "is_told_in_a_line"),
    [(RedisConnectionError("Connection refused"), True), (OSError("reset"), True), (KeyError("a bug"), False)],
)
def test_a_redis_that_is_away_is_a_line_and_no_traceback(error: Exception, is_told_in_a_line: bool) -> None:
    try:
        raise error
    except Exception:
        record = logging.LogRecord("channels_redis.pubsub", logging.ERROR, "", 0, "failed", None, sys.exc_info())

    assert RedisAway().filter(record)
    assert (record.exc_info is None, record.levelno == logging.WARNING) == (is_told_in_a_line, is_told_in_a_line)
    assert (str(error) in record.getMessage()) is is_told_in_a_line


def test_a_database_that_is_away_is_a_line_of_the_queue_and_a_bug_of_a_job_its_traceback() -> None:
    failed = "Failed 'a.b' (two-five) - gone : Traceback (most recent call last)\n  File x\n"
    away = f"{failed}psycopg.OperationalError: gone\n\tIs it running?"
    bug = f"{failed}KeyError: 'gone'"
    refused = f"{failed}psycopg.errors.QueryCanceled: gone"
    records = [logging.LogRecord("django-q", logging.ERROR, "", 0, text, None, None) for text in (away, bug, refused)]

    assert all(DatabaseAway().filter(record) for record in records)

    told, *others = (record.getMessage() for record in records)
    assert told == "Failed 'a.b' (two-five) - gone (the database is away; the queue looks again)"
    assert others == [bug, refused]
    assert [record.levelno for record in records] == [logging.WARNING, logging.ERROR, logging.ERROR]


def test_a_schedule_that_could_not_be_looked_at_for_want_of_a_database_is_a_line() -> None:
    try:
        try:
            raise psycopg.OperationalError("the server is shutting down\nand more")
        except psycopg.OperationalError as error:
            raise OperationalError(*error.args) from error
    except OperationalError:
        record = logging.LogRecord("django-q", logging.ERROR, "", 0, "Could not create task", None, sys.exc_info())

    assert DatabaseAway().filter(record)
    assert record.exc_info is None
    assert record.getMessage().startswith("Could not create task: the server is shutting down (the database is away")


@pytest.mark.django_db
def test_who_asks_for_a_host_that_is_not_ours_is_one_line_of_the_request_log(
    client: Any, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.ALLOWED_HOSTS = ["ours.example"]

    answer = client.get("/accounts/login/", headers={"host": "evil.example"})

    assert answer.status_code == 400
    assert [record.name for record in caplog.records if record.exc_info] == []
    assert any("request_finished" in record.getMessage() for record in caplog.records)
