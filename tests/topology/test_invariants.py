"""The invariants are silent about a run that is whole, and each says what is wrong with one that is not."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from agents.engine.chain import GENESIS, link
from agents.models import AgentExecution, Effect, Event, Execution, Step
from hitl.models import Decision, Request
from tests.faces.runs import make_agent, make_request, make_run, make_step
from tests.invariants import Answered, Seen, Sink, faults
from tests.runtime.driving import database_dsn

KEY = "k" * 64
LONG_AGO = timezone.now() - timedelta(minutes=1)
BODIES: list[dict[str, Any]] = [
    {"type": "status_changed", "status": "running"},
    {"type": "token", "content": "Sent", "channel": "answer"},
    {"type": "agent_shutdown", "reason": "crash"},
    {"type": "status_changed", "status": "running"},
    {"type": "token", "content": ".", "channel": "answer"},
    {"type": "agent_state", "agent_name": "mail", "status": "completed"},
    {"type": "complete", "answer": "Sent."},
]
Break = Callable[[Execution], object]


@pytest.fixture
def run(transactional_db: None, alice: Any) -> Execution:
    """It sent one mail that somebody approved, was taken over by another worker, and ended."""
    run = make_run(alice, epoch=2)
    agent = make_agent(run, "mail", status="completed")
    _say(run, agent)
    make_step(agent, [0], "tool", "send_email", epoch=1)
    make_step(agent, [1], "note", "time", epoch=2)
    arguments = {"to": ["bob@example.org"]}
    effect = {"arguments": arguments, "arguments_hash": bytes(32), "status": "finished", "response": {}, "epoch": 1}
    Effect.objects.create(key=KEY, execution=run, agent=agent, tool="send_email", started_at=timezone.now(), **effect)
    question = {"tool_calls": [{"tool": "send_email", "arguments": {**arguments, "subject": ""}}]}
    request = make_request(run, "approval", agent, question=question, status="approved", tool_names=["send_email"])
    Decision.objects.create(request=request, happening="approved", via="api")
    return run


def _say(run: Execution, agent: AgentExecution) -> None:
    hashed = GENESIS
    for seq, body in enumerate(BODIES, start=1):
        text = json.dumps({"seq": seq, "execution_id": str(run.id), "agent_id": str(agent.id), **body})
        hashed = link(hashed, text)
        row = {"type": body["type"], "body": text, "hash": hashed, "created_at": timezone.now()}
        Event.objects.create(execution=run, seq=seq, agent_id=agent.id, **row)
    over = {"status": "completed", "answer": "Sent.", "ended_at": timezone.now(), "last_seq": len(BODIES)}
    Execution.objects.filter(id=run.id).update(last_hash=hashed, **over)


def _of(run: Execution, **fields: Any) -> int:
    return Execution.objects.filter(id=run.id).update(**fields)


def seen(run: Execution, *, mails: int = 1, **more: Any) -> Seen:
    sinks = (Sink("the mail server", {KEY: mails}, "send_email"),)
    return Seen([run.id], sinks=sinks, approved_only=("send_email",), bystanders=[run.id], **more)


def test_a_run_that_waited_for_a_person_was_not_away_meanwhile(run: Execution) -> None:
    """Its worker was lost before a word of what it did after the answer was stored."""
    Event.objects.filter(seq__lt=3).update(created_at=LONG_AGO)
    Request.objects.update(responded_at=Event.objects.get(seq=3).created_at)

    assert faults(database_dsn(), seen(run)) == []


def test_a_run_that_is_whole_is_not_spoken_of(run: Execution) -> None:
    assert faults(database_dsn(), seen(run)) == []


BROKEN: dict[str, tuple[str, Break]] = {
    "I1: run": ("neither ended nor waits", lambda run: _of(run, status="pending", ended_at=None)),
    "I2: run": ("after lease 2 had written", lambda run: Step.objects.filter(path=[0]).update(ended_at=timezone.now())),
    "I3: run": ("number 4 is missing", lambda run: Event.objects.filter(seq=4).delete()),
    "I4: run": ("is still in_doubt", lambda run: Effect.objects.update(status="in_doubt")),
    "I5: run": ("its agent mail is running", lambda run: AgentExecution.objects.update(status="running")),
    "I6: run": ("failed with 'internal'", lambda run: _of(run, status="failed", error_code="internal")),
    "I7: request": ("its history says denied", lambda run: Decision.objects.update(happening="denied")),
    "I7: run": ("nobody approved these arguments", lambda run: Request.objects.update(status="denied")),
    "I8: run": ("says 7 tokens", lambda run: _of(run, prompt_tokens=7)),
    "I9: run": ("of a bystander is cancelled", lambda run: _of(run, status="cancelled")),
    "I10: run": ("was taken over after", lambda run: Event.objects.filter(seq__lt=3).update(created_at=LONG_AGO)),
}


@pytest.mark.parametrize("which", BROKEN)
def test_what_is_broken_is_said(run: Execution, which: str) -> None:
    words, breaks = BROKEN[which]
    breaks(run)

    said = faults(database_dsn(), seen(run))

    assert [fault for fault in said if fault.startswith(which) and words in fault], said


def test_a_mail_that_came_twice_a_secret_and_a_traceback_are_said(run: Execution) -> None:
    answers = (Answered(500, "Traceback (most recent call last)\n…", "GET it"), Answered(200, "the key is s3cret"))
    more = {"answers": answers, "secrets": ("s3cret",), "logs": "password=s3cret", "resumes_s": (9.0,)}

    said = faults(database_dsn(), seen(run, mails=2, memory_mib={"web1": (100, 900)}, **more))

    for words in ("arrived 2 times", "it shows 'Traceback", "only 503 and 507", "a log holds the secret", "grew from"):
        assert any(words in fault for fault in said), (words, said)
    assert any(fault.startswith("I10: a stream went on after 9.0 s") for fault in said)
