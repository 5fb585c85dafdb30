"""Traces: what leaves, where to, and what it costs those who want none. The walk through all processes is in
`test_pgbouncer`."""

import json
import os
import re
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import AsyncClient, Client
from django.urls import reverse

from agents.runtime.leases import Claim
from agents.runtime.tracing import RunTrace, own_traceparent, without_trace
from agents.tools.tool import ANY_AGENT, Call, tool
from hyperagent.lib.conf import BASE_DIR
from hyperagent.lib.telemetry import tracing
from hyperagent.lib.telemetry.tracing import NOTHING
from tests.house.collector import Collector, collecting
from tests.runtime.conftest import make_runner  # noqa: F401 - a fixture
from tests.runtime.driving import Runners, ended, execution, start, until
from tests.scripted.fixtures import scripted_server  # noqa: F401 - a fixture
from tests.scripted.script import Script
from tests.scripted.server import ScriptedServer

CANARY = "canary-51b7e0"
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
UNWANTED = PARENT[:-1] + "0"


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    """This process sends its spans there for as long as the test lasts."""
    with collecting() as taking:
        for name, value in taking.env.items():
            monkeypatch.setenv(name, value)
        forget()
        yield taking
        tracing.flush()
    monkeypatch.undo()
    forget()


def forget() -> None:
    """What a process decides once."""
    tracing.is_on.cache_clear()
    tracing.captures_content.cache_clear()
    exporting = sys.modules.get("hyperagent.lib.telemetry.exporting")
    if exporting is not None:
        exporting._providers.clear()
        exporting._tracer.cache_clear()


def claim(**more: Any) -> Claim:
    values = {
        "id": uuid.UUID(int=7), "user_id": None, "conversation_id": None, "epoch": 1, "leased_by": "r",
        "pipeline": "turn", "mode": "", "question": "", "input": {"traceparent": PARENT}, "crashes": 0, "suspicion": 0,
        "on_finish": "", "lost_by": "",
        "was_status": "pending", "cancel_requested": False, "woken": False, "effects_root": uuid.UUID(int=7),
        "waited_s": None,
    }  # fmt: skip
    return Claim(**{**values, **more})


def test_without_a_collector_nothing_of_it_happens() -> None:
    assert tracing.begin("anything", attributes={"a": 1}) is NOTHING
    assert (tracing.carried(), tracing.traceparent(), NOTHING.traceparent) == ({}, "", "")
    assert RunTrace(claim()).agent(uuid.uuid4()) is NOTHING
    assert tracing.trace_ids(None, "", {"event": "x"}) == {"event": "x"}


@pytest.mark.spec("S69")
def test_without_a_collector_the_trace_of_whoever_asked_is_carried_all_the_same_if_it_is_one() -> None:
    for header in ("", "nonsense", PARENT.upper() + "\n", f"00-{'0' * 32}-00f067aa0ba902b7-01"):
        with tracing.asked_in(header):
            assert tracing.carried() == {}
    with tracing.asked_in(PARENT):
        assert tracing.carried() == {"traceparent": PARENT}
    assert tracing.carried() == {}


@pytest.mark.parametrize("off", [{"OTEL_SDK_DISABLED": "true"}, {"OTEL_TRACES_EXPORTER": "none"}])
def test_opentelemetrys_own_switches_turn_it_off(
    off: dict[str, str], collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in off.items():
        monkeypatch.setenv(name, value)
    forget()

    assert tracing.begin("anything") is NOTHING


def test_a_span_goes_out_without_secrets(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_PASSWORD", "hunter2-of-the-house")
    from hyperagent.lib.telemetry import exporting

    exporting._secrets.cache_clear()
    with tracing.begin("work", attributes={"told": "it is hunter2-of-the-house, sk-abcdefghijklmnop"}).within():
        line = tracing.trace_ids(None, "", {"event": "x"})
    below = tracing.begin("below", parent=PARENT)
    below.failed("broken")
    below.end()
    below.set({"too": "late"})
    tracing.flush()
    exporting._secrets.cache_clear()

    (span,) = collector.named("below")
    assert (span.parent_id, span.is_error, span.attributes) == (PARENT.split("-")[2], True, {"error.type": "broken"})
    assert set(line) == {"event", "trace_id", "span_id"}
    assert b"hunter2" not in b"".join(collector.raw)
    assert b"sk-abc" not in b"".join(collector.raw)


def test_whoever_asked_decides_whether_it_is_sampled(collector: Collector) -> None:
    tracing.begin("unwanted", parent=UNWANTED).end()
    tracing.begin("wanted", parent=PARENT).end()
    tracing.flush()

    assert [span.name for span in collector.spans] == ["wanted"]


@pytest.mark.django_db
async def test_requests_are_told_by_route_and_never_by_path(collector: Collector) -> None:
    path = reverse("accounts:password_reset_confirm", args=("MQ", "set-password"))
    answer = await AsyncClient().get(f"{path}?code=secret-of-a-link", headers={"traceparent": PARENT})
    await AsyncClient().get("/healthz")
    assert Client().get("/nowhere/secret-of-a-path").status_code == 404
    tracing.flush()

    found, missing = sorted(collector.spans, key=lambda span: span.name != "GET")[::-1]
    assert re.fullmatch(r"GET /accounts/\S*<uidb64>\S*", found.name)
    assert (found.trace_id, found.parent_id) == tuple(PARENT.split("-")[1:3])
    assert answer.headers["traceparent"].split("-")[1:3] == [found.trace_id, found.span_id]
    assert (missing.name, missing.attributes["http.response.status_code"]) == ("GET", 404)
    assert b"secret-of-a" not in b"".join(collector.raw)


def test_who_goes_on_with_a_run_links_to_whoever_drove_it_before(collector: Collector) -> None:
    for more in ({"epoch": 1}, {"epoch": 2}, {"epoch": 4, "lost_by": "one"}, {"epoch": 2, "input": {}}):
        RunTrace(claim(**more)).end("completed")
    tracing.flush()

    first, second, third, apart = collector.spans
    own = [own_traceparent(uuid.UUID(int=7), epoch, asked=PARENT).split("-")[2] for epoch in (1, 2, 4)]
    assert [span.span_id for span in (first, second, third)] == own
    assert {span.trace_id for span in (first, second, third)} == {PARENT.split("-")[1]}
    assert [span.links for span in (first, second, third)] == [
        (),
        ((first.trace_id, first.span_id),),
        ((first.trace_id, second.span_id),),
    ]
    # Nobody traced who asked for it: each of its drivers finds the same trace all the same.
    assert apart.trace_id == own_traceparent(uuid.UUID(int=7), 9, asked="").split("-")[1]
    assert without_trace({"traceparent": PARENT, "history": []}) == {"history": []}


@tool(agents=ANY_AGENT)
async def look_up(call: Call, word: str) -> str:
    """Looks a word up. Not for names."""
    return f"{word} {CANARY}"


async def traced(context: Any, turn: dict[str, Any]) -> dict[str, Any]:
    """Two agents: one looks something up, the other asks a person, then a model."""
    from hyperagent.lib.llm.types import Message, ModelRequest, Role, Tier

    assert "traceparent" not in turn
    one = await context.fork("finder", {})
    found = await context.wait(one)
    answer = await context.ask("input", {"question": f"Which? {CANARY}"})
    request = ModelRequest(tier=Tier.PRO, messages=(Message(role=Role.USER, content=CANARY),))
    reply = await context.model(request, stage="answer")
    return {"answer": f"{found} {answer['text']} {reply.text}", "sources": []}


async def finder(context: Any, handed: Any) -> Any:
    return (await context.tool("look_up", {"word": "x"})).content


@pytest.mark.slow
@pytest.mark.parametrize("captures", [False, True])
async def test_what_was_done_is_told_once_however_often_a_run_is_taken_up(
    captures: bool,
    collector: Collector,
    monkeypatch: pytest.MonkeyPatch,
    alice: Any,
    scripted_server: ScriptedServer,  # noqa: F811
    make_runner: Runners,  # noqa: F811
) -> None:
    monkeypatch.setenv("OTEL_CAPTURE_CONTENT", str(captures))
    forget()
    scripted_server.script(Script(text="Said."))
    extra = {"traced": traced, "finder": finder}
    await make_runner(scripted_server.url, extra=extra, tools={"look_up": look_up})
    asks = tracing.begin("who asks")
    with asks.within():
        run_id = await start(alice, "A question", pipeline="traced")
    asks.end()

    async def is_told() -> bool:
        return len(collector.named("invoke_workflow")) == 2

    async def waits() -> bool:
        return (await execution(run_id)).status == "awaiting_user"

    await until(waits)
    await answered(run_id, alice)
    run = await ended(run_id)
    # The driver says so after it was committed.
    await until(is_told)
    tracing.flush()

    names = sorted(span.name for span in collector.spans)
    assert run.answer == f"x {CANARY} Blue Said."
    assert names == [
        "chat scripted-pro", "execute_tool look_up", "invoke_agent finder", "invoke_workflow traced",
        "invoke_workflow traced", "wait_for_person input", "who asks",
    ]  # fmt: skip
    assert len({span.trace_id for span in collector.spans}) == 1
    assert (CANARY.encode() in b"".join(collector.raw)) is captures
    runs = sorted(collector.named("invoke_workflow"), key=lambda span: span.began_ns)
    assert [span.attributes["hyperagent.run.status"] for span in runs] == ["awaiting_user", "completed"]
    (chat,) = collector.named("chat")
    assert ("gen_ai.output.messages" in chat.attributes) is captures


async def answered(run_id: uuid.UUID, by: Any) -> None:
    from asgiref.sync import sync_to_async

    from hitl.actions import decide
    from hitl.models import Request, RequestStatus

    @sync_to_async
    def say() -> None:
        decide(Request.objects.get().request_id, by=by, status=RequestStatus.ANSWERED, answer={"text": "Blue"})

    await say()


@pytest.mark.slow
def test_a_collector_that_is_away_costs_one_line_and_no_process_waits_for_it() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        # One is not there, the other takes everything and never answers.
        processes = [begun_with(port) for port in (1, silent.getsockname()[1])]
        refused, silenced = [process.communicate(timeout=60) for process in processes]

    assert [process.returncode for process in processes] == [0, 0]
    (line,) = refused[1].splitlines()
    assert json.loads(line)["event"] == "traces.not_exported"
    assert refused[0] == silenced[0] == "done\n"


_MAKES_SPANS = """
import logging.config, os
from hyperagent.lib.conf import LogFormat
from hyperagent.lib.log import logging_config
from hyperagent.lib.telemetry import exporting, tracing

logging.config.dictConfig(logging_config(level="INFO", log_format=LogFormat.JSON, secrets=()))
for _ in range(3):
    for _ in range(600):
        tracing.begin("x").end()
    if os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"].endswith(":1"):
        exporting._providers[os.getpid()].force_flush()
print("done")
"""


def begun_with(port: int) -> "subprocess.Popen[str]":
    """OpenTelemetry's own patience is longer than the test's."""
    env = {
        **os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}",
        "OTEL_EXPORTER_OTLP_TIMEOUT": "1" if port == 1 else "600",
    }  # fmt: skip
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-c", _MAKES_SPANS], cwd=BASE_DIR, env=env, stdout=pipe, stderr=pipe, text=True
    )
