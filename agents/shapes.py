"""How a run looks to browsers and programs. Pure: rows in, JSON values out; no query of its own."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from agents.models import AgentExecution, Execution

Json = dict[str, Any]
QUESTION_PREVIEW_CHARS = 200


def iso(moment: datetime | None) -> str | None:
    return moment.isoformat().replace("+00:00", "Z") if moment else None


def usage_of(row: Execution | AgentExecution) -> Json:
    """`cost_usd` is None where a model without a known price took part: unknown, not free."""
    cost = row.cost_usd
    return {
        "prompt_tokens": row.prompt_tokens,
        "completion_tokens": row.completion_tokens,
        "cost_usd": None if cost is None else float(cost),
    }


def error_of(execution: Execution) -> Json | None:
    if not execution.error_code:
        return None
    return {"code": execution.error_code, "message": execution.error_message}


def sources_of(execution: Execution) -> list[Json]:
    return list((execution.result or {}).get("sources", []))


def model_of(execution: Execution) -> str | None:
    model = (execution.result or {}).get("model")
    return str(model) if model else None


def last_seq_of(execution: Execution) -> int:
    """From the log if it was read with it (`reading.log_end`); the run's own number is right once it is over."""
    found = getattr(execution, "log_end", None)
    return execution.last_seq if found is None else int(found)


def reply_summary(execution: Execution) -> Json:
    """What a message says of the run that answers it."""
    return {
        "id": str(execution.id),
        "status": execution.status,
        "last_seq": last_seq_of(execution),
        "error": error_of(execution),
        "usage": usage_of(execution),
        "model": model_of(execution),
        "started_at": iso(execution.started_at),
        "ended_at": iso(execution.ended_at),
    }


def listed(execution: Execution, question_preview: str) -> Json:
    """A row of the list: nothing that can be long."""
    return {
        "id": str(execution.id),
        "conversation_id": str(execution.conversation_id) if execution.conversation_id else None,
        "status": execution.status,
        "mode": execution.mode or None,
        "question": question_preview,
        "error": error_of(execution),
        "usage": usage_of(execution),
        "last_seq": last_seq_of(execution),
        "created_at": iso(execution.created_at),
        "started_at": iso(execution.started_at),
        "ended_at": iso(execution.ended_at),
    }


def detailed(execution: Execution, agents: Iterable[AgentExecution]) -> Json:
    return {
        **listed(execution, execution.question),
        "answer": execution.answer,
        "sources": sources_of(execution),
        "model": model_of(execution),
        "plan": (execution.result or {}).get("plan"),
        "agents": [agent_shape(agent) for agent in agents],
    }


def agent_shape(agent: AgentExecution) -> Json:
    return {
        "agent_id": str(agent.id),
        "parent_id": str(agent.parent_id) if agent.parent_id else None,
        "agent_name": agent.agent_name,
        "task": agent.task,
        "status": agent.status,
        "error": agent.error or None,
        "depends_on": [str(other) for other in agent.depends_on],
        "usage": usage_of(agent),
        "started_at": iso(agent.started_at),
        "ended_at": iso(agent.ended_at),
    }


def finished(execution: Execution, agents: Iterable[AgentExecution]) -> Json:
    """The answer of `POST /api/v1/query`."""
    return {
        "execution_id": str(execution.id),
        "conversation_id": str(execution.conversation_id) if execution.conversation_id else None,
        "status": execution.status,
        "answer": execution.answer,
        "sources": sources_of(execution),
        "agents": [agent_shape(agent) for agent in agents],
        "skipped": (execution.result or {}).get("skipped", []),
        "usage": usage_of(execution),
    }
