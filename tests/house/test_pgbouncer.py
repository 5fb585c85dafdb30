"""A whole installation as companies run it: the web behind PgBouncer, runners past it, files in a bucket, traces with a
collector, metrics on ports. One walk for all of it, since each of its processes needs seconds to start."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import psycopg
import pytest

from hyperagent.embedded.instance import free_port
from hyperagent.lib.conf import BASE_DIR
from tests import template
from tests.faces.conftest import token_of
from tests.faces.web import Web, database_url
from tests.house.bucket_server import S3, SECRET
from tests.house.collector import Collector, Told, collecting
from tests.house.pooler import PgBouncer
from tests.house.waiting import until
from tests.pipeline.graphs import QUESTION, SATISFIED, plan_text
from tests.runtime.driving import model_env
from tests.scripted.fixtures import scripted_server  # noqa: F401 - a fixture
from tests.scripted.script import Script, ScriptedCall
from tests.scripted.server import ScriptedServer

CANARY = "canary-of-alice-7c1d"
TRACE_ID, CALLER_ID = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
# Not the usual one, by which the tests' own sessions go: those of threads that earlier tests had were counted, too.
NAME = "company"
METRICS_TOKEN = "a-token-for-prometheus"
RUNNER = "manage.py runner"
GRAPH = {"alpha": (), "beta": ("alpha",)}


class Company:
    """Its processes, all on the test's database."""

    def __init__(self, model: ScriptedServer, s3: S3, collector: Collector, folder: Path) -> None:
        self.pooler = PgBouncer(database_url())
        self.web = Web()
        self.metrics_port = free_port()
        self.worker_log = folder / "worker.log"
        self._worker: subprocess.Popen[bytes] | None = None
        self.env = {
            **os.environ, **model_env(model.url), **collector.env,
            "DATABASE_DIRECT_URL": database_url(), "STORAGE_URL": s3.url, "LOG_LEVEL": "INFO", "LOG_FORMAT": "json",
            "METRICS_TOKEN": METRICS_TOKEN, "METRICS_PORT": str(self.metrics_port), "DATA_DIR": str(folder / "data"),
            "LEASE_SECONDS": "4", "QUEUE_WORKERS": "1", "FOLLOW_UPS": "off", "HYPERAGENT_NAME": NAME,
        }  # fmt: skip

    def start(self) -> None:
        self.pooler.start()
        self.web.start(**{**self.env, "DATABASE_URL": self.pooler.url, "HYPERAGENT_PROCESS": "web"})
        command = [sys.executable, "manage.py", "worker", "--runners", "1", "--no-embedder", "--no-sandboxes"]
        with self.worker_log.open("wb") as log:
            # Whatever a worker used of DATABASE_URL would go to a database that is not there.
            env = {**self.env, "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/nowhere"}
            self._worker = template.Process(command, cwd=BASE_DIR, env=env, stdout=log, stderr=log)
        until(lambda: self.said("runner.ready") >= 1, what="a runner works", timeout_s=90)

    def said(self, event: str) -> int:
        return self.worker_log.read_text().count(f'"{event}"')

    def runner(self) -> psutil.Process:
        assert self._worker is not None
        below = psutil.Process(self._worker.pid).children(recursive=True)
        return next(one for one in below if RUNNER in " ".join(one.cmdline()).replace(str(BASE_DIR) + "/", ""))

    def counted(self, port: int) -> str:
        headers = {"Authorization": f"Bearer {METRICS_TOKEN}"}
        return httpx.get(f"http://127.0.0.1:{port}/metrics", headers=headers, timeout=10).text

    def stop_worker(self) -> None:
        assert self._worker is not None
        self._worker.terminate()
        self._worker.wait(30)

    def stop(self) -> None:
        self.web.stop()
        if self._worker is not None and self._worker.poll() is None:
            self.stop_worker()
        self.pooler.stop()


@pytest.fixture
def company(
    transactional_db: None,
    scripted_server: ScriptedServer,  # noqa: F811
    tmp_path: Path,
) -> Iterator[tuple[Company, Any]]:
    s3 = S3()
    with collecting() as collector:
        s3.start()
        running = Company(scripted_server, s3, collector, tmp_path)
        try:
            running.start()
            yield running, (s3, collector)
        finally:
            running.stop()
            s3.stop()


@pytest.mark.slow
def test_a_question_is_answered_behind_pgbouncer_with_files_in_a_bucket_and_as_one_trace(
    company: tuple[Company, tuple[S3, Collector]],
    scripted_server: ScriptedServer,  # noqa: F811
    alice: Any,
) -> None:
    house, (s3, collector) = company
    scripted_server.script(*lines())
    api = Api(house.web.url, token_of(alice))

    conversation = api.post("conversations", {})["id"]
    traceparent = f"00-{TRACE_ID}-{CALLER_ID}-01"
    said = api.post(f"conversations/{conversation}/messages", {"text": QUESTION}, traceparent=traceparent)
    run_id = said["reply"]["execution"]["id"]
    waiting = until(lambda: api.get("hitl/requests?status=pending")["results"], what="somebody is asked")
    # What waits in a process that is killed goes with it.
    until(lambda: collector.named("invoke_workflow turn"), what="the first part of the run is told")
    first = house.runner()
    first.send_signal(signal.SIGKILL)
    until(lambda: house.said("runner.ready") >= 2, what="another runner works", timeout_s=90)
    answer = {"request_id": waiting[0]["request_id"], "decision": "answered", "text": f"Blue, {CANARY}"}
    api.post("hitl/respond", answer)
    run = until(lambda: ended(api.get(f"executions/{run_id}")), what="the run is over")
    exported = api.text(f"conversations/{conversation}/export?as=markdown")
    until(lambda: house.said("job.ended"), what="a job ran")
    until(lambda: [one for one in collector.named("job ") if one.trace_id == TRACE_ID], what="a job of it is told")
    of_web, of_worker = house.counted(house.web.port), house.counted(house.metrics_port)
    in_postgres = names_of_sessions()
    assert house.web.process is not None
    house.web.process.terminate()
    house.web.process.wait(15)
    house.stop_worker()

    assert (run["status"], "all of it was found" in run["answer"]) == ("completed", True), run
    assert "all of it was found" in exported
    assert any(name.startswith("of/ours/workspaces/") for name in s3.names())
    assert "unsupported" not in house.pooler.log()
    assert in_postgres[NAME] <= 3
    holds_one_trace(collector, run_id)
    holds_no_content(collector)
    holds_counts(of_web, of_worker)
    holds_lines(house.worker_log.read_text(), run_id)


def lines() -> list[Script]:
    written = {"path": "notes.txt", "content": CANARY}
    return [
        Script(match=QUESTION, text=plan_text(GRAPH)),
        Script(match="Work on alpha now.", tool_calls=[call("write_file", written)]),
        Script(text="Found alpha."),
        Script(match="Work on beta now.", tool_calls=[call("ask_user", {"question": f"Which colour, {CANARY}?"})]),
        Script(text="Found beta."),
        Script(match=QUESTION, text=SATISFIED),
        Script(match=QUESTION, text="The board reads: all of it was found."),
    ]


def call(name: str, arguments: dict[str, Any]) -> ScriptedCall:
    return ScriptedCall(name=name, arguments=json.dumps(arguments))


class Api:
    def __init__(self, url: str, token: str) -> None:
        self._url = f"{url}/api/v1/"
        self._headers = {"Authorization": f"Bearer {token}"}

    def post(self, path: str, body: Any, **headers: str) -> Any:
        answer = httpx.post(self._url + path, json=body, headers={**self._headers, **headers}, timeout=30)
        assert answer.status_code < 300, answer.text
        if headers:
            assert answer.headers["traceparent"].startswith(f"00-{TRACE_ID}-")
        return answer.json()

    def get(self, path: str) -> Any:
        answer = httpx.get(self._url + path, headers=self._headers, timeout=30)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def text(self, path: str) -> str:
        return httpx.get(self._url + path, headers=self._headers, timeout=30).text


def ended(run: Any) -> Any:
    return run if run["status"] in ("completed", "failed", "cancelled") else None


def names_of_sessions() -> dict[str, int]:
    """How many sessions of Postgres each kind of process has."""
    with psycopg.connect(database_url()) as connection:
        found = connection.execute(
            "SELECT application_name, count(*) FROM pg_stat_activity WHERE datname = current_database() GROUP BY 1"
        ).fetchall()
    return dict(found)


def holds_one_trace(collector: Collector, run_id: str) -> None:
    """From the caller over the web to both runners, every span below another of the same trace."""
    ours = [span for span in collector.spans if span.trace_id == TRACE_ID]
    ids = {span.span_id for span in ours}
    (asked,) = [span for span in ours if span.parent_id == CALLER_ID]
    runs = sorted((span for span in ours if span.name == "invoke_workflow turn"), key=lambda span: span.began_ns)
    agents = [span for span in ours if span.name.startswith("invoke_agent")]
    chats = [span for span in ours if span.name.startswith("chat ")]
    (tool,) = [span for span in ours if span.name == "execute_tool write_file"]
    (waited,) = [span for span in ours if span.name == "wait_for_person input"]

    assert (asked.name, asked.process) == ("POST /api/v1/conversations/<uuid:conversation_id>/messages", "web")
    assert [span.name for span in ours if span.parent_id not in ids] == [asked.name]
    assert [span.parent_id for span in runs] == [asked.span_id] * 2
    assert (runs[1].links, runs[0].links) == (((TRACE_ID, runs[0].span_id),), ())
    assert {span.attributes["hyperagent.execution.id"] for span in runs} == {run_id}
    assert [span.attributes["hyperagent.run.status"] for span in runs] == ["awaiting_user", "completed"]
    assert {span.process for span in (*runs, *agents, *chats, tool, waited)} == {"runner"}
    # What the first runner did the second did not do again: each of the model's lines is one span.
    assert len(chats) == len(lines())
    assert tool.parent_id in {span.span_id for span in agents}
    assert waited.ended_ns - waited.began_ns > 0
    assert waited.began_ns < runs[1].began_ns < waited.ended_ns
    model_call(chats[0])
    assert any(span.name.startswith("job ") and span.process == "queue" for span in ours)


def model_call(span: Told) -> None:
    told = span.attributes
    assert (told["gen_ai.operation.name"], told["gen_ai.provider.name"]) == ("chat", "scripted")
    assert told["gen_ai.request.model"] == told["gen_ai.response.model"] == "scripted-pro"
    assert told["gen_ai.usage.input_tokens"] == 11
    assert told["gen_ai.usage.output_tokens"] > 0
    assert told["gen_ai.response.finish_reasons"] in (["stop"], ["tool_calls"])
    assert told["gen_ai.response.time_to_first_chunk"] >= 0


def holds_no_content(collector: Collector) -> None:
    sent = b"".join(collector.raw)
    assert CANARY.encode() not in sent
    assert b"First look at the numbers" not in sent
    assert SECRET.encode() not in sent


def holds_counts(of_web: str, of_worker: str) -> None:
    assert re.search(r"^hyperagent_runners 1\.0$", of_web, re.MULTILINE)
    assert 'hyperagent_requests_waiting{kind="input"}' not in of_web
    assert re.search(r'hyperagent_http_requests_total\{method="POST",status="201"\} [2-9]', of_web)
    # Over both runners, the dead one too.
    calls = re.search(r'hyperagent_model_calls_total\{.*outcome="ok".*\} (\d+)\.0', of_worker)
    assert calls is not None
    assert int(calls[1]) == len(lines())
    assert 'hyperagent_tool_calls_total{outcome="ok",tool="write_file"} 1.0' in of_worker
    assert 'hyperagent_runs_ended_total{error="",status="completed"} 1.0' in of_worker
    assert re.search(r"hyperagent_claim_wait_seconds_count 2\.0", of_worker)
    assert "hyperagent_first_token_seconds_bucket" in of_worker
    assert "hyperagent_writer_lag_seconds_count" in of_worker
    assert re.search(r'hyperagent_jobs_total\{outcome="ok",task="[\w.]+"\}', of_worker)


def holds_lines(log: str, run_id: str) -> None:
    """Every line is JSON, and those of a run and of a job say which, and in which trace."""
    told = [json.loads(line) for line in log.splitlines()]
    (over,) = [line for line in told if line["event"] == "run.ended"]
    assert (over["execution_id"], over["status"], over["trace_id"]) == (run_id, "completed", TRACE_ID)
    assert any(line["event"] == "job.ended" and line["job"] and line["ids"] for line in told)
