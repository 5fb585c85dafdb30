"""The log told outside: each event, in order, signed, again when it was not taken, and over restarts."""

import base64
import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from pydantic import SecretStr

from hyperagent.audit import outflow, retention
from hyperagent.audit.models import AuditOutflow
from hyperagent.audit.sealing import seal
from hyperagent.lib import conf
from tests.notices.receiver import Receiver, says

pytestmark = pytest.mark.django_db
SECRET = f"whsec_{base64.b64encode(bytes(range(32))).decode()}"


@pytest.fixture
def siem(settings: Any) -> Iterator[Receiver]:
    server = Receiver()
    settings.CONFIG = settings.CONFIG.model_copy(update={"audit_log_stream_secret": SecretStr(SECRET)})
    yield server
    server.stop()


def numbers(receiver: Receiver) -> list[list[int]]:
    return [[event["number"] for event in got.event["events"]] for got in receiver.got]


def later() -> None:
    AuditOutflow.objects.update(next_at=F("next_at") - timedelta(hours=2))


@pytest.mark.spec("B21")
def test_batches_are_signed_and_a_batch_that_was_not_taken_comes_again_as_it_was(
    siem: Receiver, alice: Any, write: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outflow, "AT_ONCE", 3)
    siem.answers = [says(204), says(500)]
    write(alice, 5)

    first = outflow.tell(siem.url)
    resting = outflow.tell(siem.url)
    problem = AuditOutflow.objects.get().problem
    # More came meanwhile, and the process is another.
    write(alice, 2)
    later()
    then = outflow.tell(siem.url)
    nothing = outflow.tell(siem.url)

    assert (first, resting, then, nothing) == (3, 0, 4, 0)
    assert numbers(siem) == [[1, 2, 3], [4, 5], [4, 5], [6, 7]]
    assert [got.headers["webhook-id"] for got in siem.got] == ["audit-1-3", "audit-4-5", "audit-4-5", "audit-6-7"]
    assert all(got.is_signed_with(SECRET) for got in siem.got)
    assert "Answered 500" in problem
    assert siem.got[0].event["events"][0]["actor"] == {"id": str(alice.pk), "name": alice.email}


def test_one_that_does_not_answer_is_left_alone_ever_longer(siem: Receiver, alice: Any, write: Any) -> None:
    write(alice)
    rests = []
    for _ in range(3):
        siem.answers = [says(503)]
        outflow.tell(siem.url)
        row = AuditOutflow.objects.extra(select={"rest": "extract(epoch FROM next_at - clock_timestamp())"}).get()
        rests.append(round(float(row.rest), -1))
        later()

    assert rests == [0.0, 30.0, 60.0]


@pytest.mark.spec("B21")
def test_a_line_an_event_on_standard_output(alice: Any, write: Callable[..., None], caplog: Any) -> None:
    write(alice, 2, kind="rule.made")
    outflow._lines.addHandler(caplog.handler)
    try:
        told = [outflow.tell("stdout"), outflow.tell("stdout")]
    finally:
        outflow._lines.removeHandler(caplog.handler)

    lines = [json.loads(record.message) for record in caplog.records if record.name == outflow.LINES]
    assert told == [2, 0]
    assert [(line["number"], line["kind"]) for line in lines] == [(1, "rule.made"), (2, "rule.made")]


def test_what_was_not_told_yet_is_not_deleted(alice: Any, write: Callable[..., None]) -> None:
    write(alice, 2)
    seal()
    AuditOutflow.objects.create(destination="stdout", number=0)

    kept = retention.cut_off(1, destination="stdout")

    assert kept == 0


def test_settings_that_would_tell_nobody_are_named() -> None:
    def fault(**env: str) -> str:
        try:
            conf.load(env, needs_servers=False)
        except conf.BadConfig as bad:
            return str(bad)
        return ""

    assert "AUDIT_LOG_STREAM_SECRET is not" in fault(AUDIT_LOG_STREAM="https://siem.example.org/in")
    assert "AUDIT_LOG_STREAM=" in fault(AUDIT_LOG_STREAM="syslog")
    assert "AUDIT_LOG_STREAM_SECRET=(hidden)" in fault(AUDIT_LOG_STREAM="stdout", AUDIT_LOG_STREAM_SECRET="whsec_short")
    assert fault(AUDIT_LOG_STREAM="https://siem.example.org/in", AUDIT_LOG_STREAM_SECRET=SECRET) == ""
    assert fault(AUDIT_LOG_STREAM="stdout") == ""
