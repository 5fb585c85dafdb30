"""Runs as tests need them: rows and events written at once, or bit by bit with announcements, as a runner would."""

import json
import uuid
from typing import Any

from django.utils import timezone

from agents.engine.chain import link
from agents.engine.events import Body, Complete, Token
from agents.models import Event, Execution
from hyperagent.lib.announcing import publish


def make_run(user: Any, conversation_id: uuid.UUID | None = None, **fields: Any) -> Execution:
    """A run that somebody drives."""
    values = {"status": "running", "question": "What is it?", "input": {"version": 1}, "started_at": timezone.now()}
    return Execution.objects.create(user=user, conversation_id=conversation_id, **(values | fields))


def append(execution: Execution, *bodies: Body) -> dict[str, Any]:
    """Writes the events with their numbers and hashes; gives what the runner would announce."""
    rows, texts = [], []
    first = execution.last_seq + 1
    now = timezone.now()
    for body in bodies:
        execution.last_seq += 1
        text = encoded(execution, body)
        texts.append(text)
        execution.last_hash = link(bytes(execution.last_hash), text)
        rows.append(
            Event(
                execution=execution,
                seq=execution.last_seq,
                type=body.type,  # type: ignore[attr-defined]
                body=text,
                hash=execution.last_hash,
                created_at=now,
            )
        )
    Event.objects.bulk_create(rows)
    is_final = isinstance(bodies[-1], Complete)
    if is_final:
        execution.status, execution.ended_at = "completed", now
        execution.answer = bodies[-1].answer  # type: ignore[attr-defined]
        # As with a runner: the numbers of the log's end are written when the run is left.
        execution.save()
    return {
        "type": "run.events",
        "execution_id": str(execution.id),
        "first": first,
        "last": execution.last_seq,
        "bodies": texts,
        "final": is_final,
    }


def encoded(execution: Execution, body: Body) -> str:
    head = {
        "type": body.type,  # type: ignore[attr-defined]
        "seq": execution.last_seq,
        "execution_id": str(execution.id),
        "agent_id": None,
        "timestamp": 1_700_000_000_000,
    }
    return json.dumps(head | body.model_dump(mode="json", exclude_none=True), ensure_ascii=False, separators=(",", ":"))


def tell(execution: Execution, *bodies: Body) -> None:
    """Writes and announces."""
    assert publish(execution.group_name, append(execution, *bodies))


def tokens(*words: str) -> list[Token]:
    return [Token(content=word) for word in words]
