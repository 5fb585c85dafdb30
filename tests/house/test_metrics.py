"""What Prometheus is told: by the web processes of the tables, by workers of what their processes counted."""

import json
import os
import re
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.test import Client
from django.utils import timezone

from agents.models import Runner
from agents.sandbox.base import BoxType
from agents.sandbox.models import SandboxSession
from hyperagent.lib.conf import BASE_DIR
from hyperagent.lib.telemetry.measures import OTHER, Bounded
from hyperagent.lib.telemetry.port import MetricsPort
from tests.faces.runs import make_request, make_run

DEPLOY = BASE_DIR / "deploy"
TOKEN = "a-token-for-prometheus"
# PromQL's own words, and labels in `by (…)`.
NAME = re.compile(r"\bhyperagent_\w+")


@pytest.fixture
def told(transactional_db: None, alice: Any) -> str:
    """What /metrics says of an installation in which there is one of everything."""
    run = make_run(alice, status="awaiting_user")
    make_request(run, "decision", question={"question": "Which?", "options": ["a", "b"]})
    now = timezone.now()
    Runner.objects.create(name="one", host="h", pid=1, started_at=now, seen_at=now, driving=3, concurrency=64)
    SandboxSession.objects.create(
        user=alice, task_id=run.id, sandbox_type=BoxType.CODE, key="k", provider="local", host="h"
    )
    return Client().get("/metrics").content.decode()


def families(text: str) -> set[str]:
    """Every name that a series of it may have, whether one was counted yet or not."""
    found: set[str] = set()
    for name, kind in re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE):
        found |= {name} if kind in ("gauge", "counter") else {f"{name}_{part}" for part in ("bucket", "sum", "count")}
    return found


def expressions(path: Path) -> list[str]:
    if path.suffix == ".json":
        panels = json.loads(path.read_text())["panels"]
        return [target["expr"] for panel in panels for target in panel.get("targets", ())]
    groups = yaml.safe_load(path.read_text())["groups"]
    return [rule["expr"] for group in groups for rule in group["rules"]]


def test_the_tables_are_told_from_any_web_process(told: str) -> None:
    for line in (
        "hyperagent_database_up 1.0",
        'hyperagent_live_executions{status="awaiting_user"} 1.0',
        "hyperagent_runners 1.0",
        "hyperagent_runs_driven 3.0",
        "hyperagent_runs_capacity 64.0",
        'hyperagent_requests_waiting{kind="decision"} 1.0',
        'hyperagent_sandboxes_open{provider="local"} 1.0',
        "hyperagent_jobs_waiting 0.0",
        "hyperagent_sockets_open 0.0",
    ):
        assert line in told.splitlines()
    age = re.search(r"^hyperagent_request_age_seconds (\S+)$", told, re.MULTILINE)
    assert age is not None
    assert 0 <= float(age[1]) < 60


@pytest.mark.parametrize("path", ["prometheus/alerts.yaml", "grafana/hyperagent.json"])
def test_alerts_and_dashboard_name_only_what_is_told(told: str, path: str) -> None:
    known, asked = families(told), expressions(DEPLOY / path)

    named = {name for expression in asked for name in NAME.findall(expression)}

    assert len(asked) >= 10
    assert all(NAME.search(expression) for expression in asked)
    assert named - known == set()


def test_every_family_of_ours_is_on_the_dashboard(told: str) -> None:
    asked = " ".join(expressions(DEPLOY / "grafana" / "hyperagent.json"))

    ours = {name for name in families(told) if name.startswith("hyperagent_")}
    left_out = {name for name in ours if name not in asked and not name.endswith(("_sum", "_count", "_created"))}

    assert left_out == set()


def test_the_dashboard_is_one_that_grafana_reads() -> None:
    dashboard = json.loads((DEPLOY / "grafana" / "hyperagent.json").read_text())
    panels = dashboard["panels"]

    (source,) = [one for one in dashboard["templating"]["list"] if one["type"] == "datasource"]
    assert (source["name"], source["query"]) == ("datasource", "prometheus")
    assert len({panel["id"] for panel in panels}) == len(panels)
    for panel in panels:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        if panel["type"] != "row":
            assert panel["datasource"]["uid"] == "${datasource}"
            assert [target["refId"] for target in panel["targets"]] == list("ABCDEFG"[: len(panel["targets"])])
    places = [panel["gridPos"] for panel in panels]
    assert not any(_overlap(one, other) for one in places for other in places if one is not other)


def _overlap(one: Any, other: Any) -> bool:
    apart = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
    return not (apart or one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"])


def test_alerts_say_what_to_do() -> None:
    (group,) = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yaml").read_text())["groups"]

    for rule in group["rules"]:
        assert set(rule["annotations"]) == {"summary", "mend"}
        assert rule["labels"]["severity"] in ("page", "ticket", "info")


def test_labels_that_settings_make_are_bounded() -> None:
    models = Bounded(2)

    assert [models("a", "1"), models("b", "1"), models("c", "1"), models("a", "1")] == [
        ("a", "1"),
        ("b", "1"),
        (OTHER, OTHER),
        ("a", "1"),
    ]


@pytest.fixture
def port(tmp_path: Path) -> Iterator[MetricsPort]:
    serving = MetricsPort(0, folder=tmp_path / "metrics", token=TOKEN)
    serving.start()
    yield serving
    serving.stop()


def counting(port: MetricsPort, times: int) -> None:
    """A process that counts, and ends."""
    code = (
        "from hyperagent.lib.telemetry import measures\n"
        f"for _ in range({times}): measures.TOOL_CALLS.labels('read_file', 'ok').inc()"
    )
    subprocess.run([sys.executable, "-c", code], cwd=BASE_DIR, env={**os.environ, **port.env}, check=True)


def asked(port: MetricsPort, path: str = "/metrics", token: str = TOKEN) -> tuple[int, str]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(f"http://127.0.0.1:{port.port}{path}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()


def test_a_worker_adds_up_what_its_processes_counted_dead_ones_too(port: MetricsPort) -> None:
    counting(port, 2)
    counting(port, 3)

    status, text = asked(port)

    assert status == 200
    assert 'hyperagent_tool_calls_total{outcome="ok",tool="read_file"} 5.0' in text
    assert asked(port, token="")[0] == asked(port, token="another")[0] == 403
    assert asked(port, "/")[0] == 404


@pytest.mark.slow
def test_processes_that_came_and_went_leave_one_file_of_each_kind_and_nothing_is_counted_twice(
    port: MetricsPort,
) -> None:
    """The queue begins a new process after some hundred jobs: with its own files each look would read thousands."""
    for _ in range(3):
        counting(port, 2)

    first, again = asked(port)[1], asked(port)[1]
    counting(port, 1)
    last = asked(port)[1]

    counted = [
        re.search(r'tool_calls_total\{outcome="ok",tool="read_file"\} (\S+)', text) for text in (first, again, last)
    ]
    assert [found and found[1] for found in counted] == ["6.0", "6.0", "7.0"]
    kinds = [path.name.partition("_")[0] for path in port.folder.glob("*.db")]
    assert len(kinds) == len(set(kinds))


def test_what_a_worker_counted_goes_with_it(port: MetricsPort) -> None:
    assert port.folder.is_dir()
    port.stop()

    assert not port.folder.exists()


@pytest.mark.slow
def test_what_a_killed_worker_counted_is_removed_by_the_next_and_not_by_one_beside_it(tmp_path: Path) -> None:
    killed, beside, next_one = (tmp_path / f"metrics-{name}" for name in ("killed", "beside", "next"))
    code = (
        "import os, sys\nfrom pathlib import Path\nfrom hyperagent.lib.telemetry.port import MetricsPort\n"
        "MetricsPort(0, folder=Path(sys.argv[1]), token='').start()\nos._exit(0)"
    )
    subprocess.run([sys.executable, "-c", code, str(killed)], cwd=BASE_DIR, check=True)
    assert killed.is_dir()
    ports = [MetricsPort(0, folder=folder, token="") for folder in (beside, next_one)]

    for port in ports:
        port.start()
    there = sorted(path.name for path in tmp_path.iterdir() if path.is_dir())
    for port in ports:
        port.stop()

    assert there == ["metrics-beside", "metrics-next"]


def test_who_connects_and_says_nothing_holds_up_neither_prometheus_nor_the_end(port: MetricsPort) -> None:
    with socket.create_connection(("127.0.0.1", port.port)):
        answered = asked(port)[0]
        port.stop()

    assert answered == 200
