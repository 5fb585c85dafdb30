"""Errors of the log as a Sentry gets them: by its protocol, without what anybody wrote, and never in the way."""

import json
import logging
import logging.config
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from hyperagent.lib.conf import BASE_DIR, BadConfig, load
from hyperagent.lib.fault_address import FaultAddress, fault_address
from hyperagent.lib.telemetry.faults import A_MINUTE, FaultHandler, event_of

WORDS = "what Alice wrote"


@dataclass
class Sentry:
    dsn: str = ""
    status: int = 200
    asked: list[tuple[str, str, list[dict[str, Any]]]] = field(default_factory=list)

    @property
    def events(self) -> list[dict[str, Any]]:
        return [parts[2] for _path, _auth, parts in self.asked]


@contextmanager
def a_sentry() -> Iterator[Sentry]:
    sentry = Sentry()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            parts = [json.loads(line) for line in body.splitlines()]
            sentry.asked.append((self.path, self.headers["X-Sentry-Auth"], parts))
            self.send_response(sentry.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Not in the tests' output."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sentry.dsn = f"http://abc123@127.0.0.1:{server.server_port}/sentry/7"
    try:
        yield sentry
    finally:
        server.shutdown()
        server.server_close()


def an_error() -> logging.LogRecord:
    known: dict[str, str] = {}
    trouble: Any = None
    try:
        try:
            known[WORDS]
        except KeyError as error:
            raise ValueError(WORDS) from error
    except ValueError:
        trouble = sys.exc_info()
    said = "cannot read %s of sk-proj-abcdefghijkl"
    return logging.LogRecord("agents.x", logging.ERROR, __file__, 1, said, (WORDS,), trouble)


@pytest.mark.slow
def test_a_process_tells_its_errors_and_nothing_that_anybody_wrote() -> None:
    code = (
        "import django, logging, structlog; django.setup()\n"
        "structlog.contextvars.bind_contextvars(request_id='r-1')\n"
        "log = structlog.get_logger('hyperagent.x')\n"
        "log.warning('a warning')\n"
        f"try: raise RuntimeError({WORDS!r})\n"
        f"except RuntimeError: log.exception('request_failed', question={WORDS!r})\n"
    )
    with a_sentry() as sentry:
        env = {**os.environ, "SENTRY_DSN": sentry.dsn, "HYPERAGENT_NAME": "web-1"}
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=BASE_DIR, env=env, capture_output=True, text=True, check=True
        )

    ((path, auth, parts),) = sentry.asked
    head, item, event = parts
    assert path == "/sentry/api/7/envelope/"
    assert "sentry_key=abc123" in auth
    assert (head["event_id"], item["type"]) == (event["event_id"], "event")
    assert (event["logentry"]["message"], event["level"], event["server_name"]) == ("request_failed", "error", "web-1")
    assert event["tags"]["request_id"] == "r-1"
    assert event["exception"]["values"][0]["type"] == "RuntimeError"
    assert WORDS not in json.dumps(parts)
    assert WORDS in done.stderr


def test_an_error_is_told_with_its_causes_and_the_code_that_it_came_through() -> None:
    event = event_of(an_error(), lambda text: text.replace("sk-proj-abcdefghijkl", "[hidden]"))

    causes = event["exception"]["values"]
    last = causes[-1]["stacktrace"]["frames"][-1]
    assert [one["type"] for one in causes] == ["KeyError", "ValueError"]
    assert (last["function"], last["context_line"]) == ("an_error", "raise ValueError(WORDS) from error")
    assert event["logentry"]["message"] == "cannot read %s of [hidden]"
    assert WORDS not in json.dumps(event)


def test_one_that_is_away_or_refuses_is_a_line_of_the_log_and_nobody_waits(caplog: pytest.LogCaptureFixture) -> None:
    with a_sentry() as sentry, caplog.at_level(logging.WARNING):
        handler = FaultHandler(sentry.dsn, str)
        for status in (503, 503, 200):
            sentry.status = status
            handler.handle(an_error())
            handler._sender().flush()

    said = [record.getMessage() for record in caplog.records if record.name.endswith("faults")]
    assert [line.partition(":")[0] for line in said] == ["faults.not_told", "faults.told_again"]
    assert len(sentry.events) == 3


def test_a_fault_that_comes_again_and_again_is_not_told_each_time() -> None:
    with a_sentry() as sentry:
        handler = FaultHandler(sentry.dsn, str)
        for _ in range(A_MINUTE + 20):
            handler.handle(an_error())
        handler._sender().flush()

    assert len(sentry.events) == A_MINUTE


def test_an_address_is_read_as_it_is_shown() -> None:
    found = fault_address("https://abc@sentry.example.org:9000/some/7")

    assert found == FaultAddress("https://sentry.example.org:9000/some/api/7/envelope/", "abc")


@pytest.mark.parametrize(
    "dsn", ["sentry", "https://sentry.example.org/7", "https://a@h/", "ftp://a@h/7", "https://a@h/7?x"]
)
def test_what_is_no_address_stops_the_start_and_is_not_shown(dsn: str) -> None:
    with pytest.raises(BadConfig) as caught:
        load({"SENTRY_DSN": dsn}, needs_servers=False)

    assert "SENTRY_DSN=(hidden) is not allowed" in caught.value.text()
