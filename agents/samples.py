"""A run that looks as if it had been driven, for the sample conversation: its rows, and a log with its chain."""

import uuid

from django.utils import timezone

from agents.engine.events import AgentState, Body, Complete, StatusChanged, Token
from agents.engine.ids import sibling_id
from agents.engine.records import Announced
from agents.engine.states import AgentStatus, ExecutionStatus
from agents.models import AgentExecution, Event, Execution
from agents.runtime.outbox import Outbox
from hyperagent.accounts.models import User

FRAME_CHARS = 80


def finished_run(user: User, conversation_id: uuid.UUID, question: str, answer: str) -> Execution:
    """Call inside a transaction."""
    now = timezone.now()
    execution = Execution.objects.create(
        user=user,
        conversation_id=conversation_id,
        status=ExecutionStatus.COMPLETED,
        mode="chat",
        question=question,
        input={"version": 1, "history": [], "options": {}},
        answer=answer,
        result={"answer": answer, "sources": []},
        created_at=now,
        started_at=now,
        ended_at=now,
        finish_handled_at=now,
    )
    agent = AgentExecution.objects.create(
        id=sibling_id(execution.id),
        execution=execution,
        agent_name="chat",
        lineage="root",
        task=question,
        status=AgentStatus.COMPLETED,
        started_at=now,
        ended_at=now,
    )
    _write_log(execution, agent, answer)
    return execution


def _write_log(execution: Execution, agent: AgentExecution, answer: str) -> None:
    frames = [answer[start : start + FRAME_CHARS] for start in range(0, len(answer), FRAME_CHARS)]
    bodies: list[Body] = [
        AgentState(agent_name=agent.agent_name, status=AgentStatus.RUNNING),
        StatusChanged(status=ExecutionStatus.RUNNING),
        *(Token(content=frame, stage="agent") for frame in frames),
        AgentState(agent_name=agent.agent_name, status=AgentStatus.COMPLETED),
        Complete(answer=answer),
    ]
    outbox = Outbox(execution.id, epoch=0, group=execution.group_name, wake_writer=lambda outbox, durable: None)
    outbox.write(*(Announced(agent.id, body) for body in bodies))
    rows = outbox.take().rows
    Event.objects.bulk_create(
        Event(
            execution=execution,
            seq=row.seq,
            agent_id=row.agent_id,
            type=row.type,
            body=row.body,
            hash=row.hash,
            origin=row.origin,
            created_at=execution.created_at,
        )
        for row in rows
    )
    execution.last_seq, execution.last_hash = rows[-1].seq, rows[-1].hash
    execution.save(update_fields=["last_seq", "last_hash"])
