"""Runs as tests need them: rows and events written at once, or bit by bit with announcements, as a runner would."""

import json
import uuid
from typing import Any

from django.db import transaction
from django.utils import timezone

from agents.engine.chain import link
from agents.engine.events import Body, Complete, Token
from agents.models import AgentExecution, Event, Execution, Step
from hitl.models import Request
from hyperagent.lib.announcing import publish


def make_run(user: Any, conversation_id: uuid.UUID | None = None, **fields: Any) -> Execution:
    """A run that somebody drives."""
    values = {"status": "running", "question": "What is it?", "input": {"version": 1}, "started_at": timezone.now()}
    return Execution.objects.create(user=user, conversation_id=conversation_id, **(values | fields))


def make_agent(execution: Execution, name: str = "chat", *, parent: AgentExecution | None = None, **fields: Any) -> Any:
    """A node of the tree that works, below `parent`."""
    place = uuid.uuid4().hex[:8]
    values = {
        "lineage": f"{parent.lineage}/{name}-{place}" if parent else f"{name}-{place}",
        "task": f"The task of {name}",
        "status": "running",
        "started_at": timezone.now(),
    }
    return AgentExecution.objects.create(execution=execution, agent_name=name, parent=parent, **(values | fields))


def make_step(agent: AgentExecution, path: list[int], kind: str, name: str, **fields: Any) -> Step:
    now = timezone.now()
    values = {"request": {}, "request_hash": bytes(32), "status": "finished", "epoch": 1, "started_at": now}
    return Step.objects.create(agent=agent, path=path, kind=kind, name=name, ended_at=now, **(values | fields))


def make_request(
    execution: Execution, kind: str = "input", agent: AgentExecution | None = None, **fields: Any
) -> Request:
    """A question that an agent of this run asks its user."""
    values = {"question": {"question": "Which?"}, "agent_name": "chat", "conversation_id": execution.conversation_id}
    agent_id = agent.id if agent else uuid.uuid4()
    return Request.objects.create(
        execution_id=execution.id, agent_id=agent_id, user=execution.user, kind=kind, **(values | fields)
    )


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
    is_final = isinstance(bodies[-1], Complete)
    with transaction.atomic():  # whoever reads the last event finds the run over
        Event.objects.bulk_create(rows)
        if is_final:
            execution.status, execution.ended_at = "completed", now
            execution.answer = bodies[-1].answer  # type: ignore[attr-defined]
            # As with a runner: the numbers of the log's end are written when the run is left.
            execution.save()
    return {
        "type": "run.events",
        "execution_id": str(execution.id),
        "epoch": execution.epoch,
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
