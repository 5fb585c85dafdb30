"""How a run looks to browsers and programs. Pure: rows in, JSON values out; no query of its own."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from agents.log.plan_reading import Told
from agents.models import AgentExecution, Execution
from agents.runtime.tracing import trace_id_of
from hyperagent.lib.telemetry.tracing import TRACEPARENT
from hyperagent.lib.times import iso

Json = dict[str, Any]
QUESTION_PREVIEW_CHARS = 200
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


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


def checks_of(execution: Execution) -> list[Json]:
    """What its cited sentences say against their sources (`agents.engine.events.Check`)."""
    return list((execution.result or {}).get("checks", []))


def model_of(execution: Execution) -> str | None:
    model = (execution.result or {}).get("model")
    return str(model) if model else None


def provider_of(execution: Execution) -> str | None:
    provider = (execution.result or {}).get("provider")
    return str(provider) if provider else None


def first_token_at(execution: Execution) -> datetime | None:
    """When the first word of the answer was shown; None of what showed none, and of runs from before it was noted."""
    milliseconds = (execution.result or {}).get("first_token_ms")
    return None if milliseconds is None else EPOCH + timedelta(milliseconds=milliseconds)


def thought_ms(execution: Execution) -> int | None:
    """For how long people saw thoughts before and between the words; None of what showed none."""
    times = (execution.result or {}).get("thought_ms")
    return None if times is None else int(times[1]) - int(times[0])


def memory_of(execution: Execution) -> Json | None:
    """How many memories the run was told, and what became of what it learned; nothing of what they say."""
    return (execution.result or {}).get("memory")


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
        "provider": provider_of(execution),
        "memory": memory_of(execution),
        "started_at": iso(execution.started_at),
        "first_token_at": iso(first_token_at(execution)),
        "thought_ms": thought_ms(execution),
        "ended_at": iso(execution.ended_at),
    }


def listed(execution: Execution, question_preview: str) -> Json:
    """A row of the list: nothing that can be long."""
    return {
        "id": str(execution.id),
        "conversation_id": str(execution.conversation_id) if execution.conversation_id else None,
        "status": execution.status,
        "mode": execution.mode or None,
        "task_id": execution.task_id or None,
        "question": question_preview,
        "error": error_of(execution),
        "usage": usage_of(execution),
        "last_seq": last_seq_of(execution),
        "forked_from": str(execution.forked_from_id) if execution.forked_from_id else None,
        "created_at": iso(execution.created_at),
        "started_at": iso(execution.started_at),
        "ended_at": iso(execution.ended_at),
        "log_dropped_at": iso(execution.log_dropped_at),
    }


def detailed(execution: Execution, agents: Iterable[AgentExecution], told: Told) -> Json:
    """`told`: what the log says of plan and route, for a run whose result does not say it."""
    result = execution.result or {}
    plan = result.get("plan") or told.plan
    return {
        **listed(execution, execution.question),
        "trace_id": trace_id_of(execution.id, asked=str((execution.input or {}).get(TRACEPARENT, ""))),
        "answer": execution.answer,
        "sources": sources_of(execution),
        "checks": checks_of(execution),
        "model": model_of(execution),
        "plan": plan and plan_shape(plan),
        "routing": result.get("routing") or told.routing,
        "skipped": skipped_of(execution),
        "agents": [agent_shape(agent) for agent in agents],
    }


def plan_shape(plan: Json) -> Json:
    return {
        "intent": plan.get("intent", ""),
        "entities": plan.get("entities", {}),
        "revision": plan.get("revision", 0),
        "asks_about": plan.get("asks_about", []),
        "notice": plan.get("notice", ""),
        "tasks": plan.get("tasks", []),
    }


def says_how_it_went(execution: Execution) -> bool:
    """Whether the result itself has route and plan, so that the log need not be asked."""
    return "routing" in (execution.result or {})


def skipped_of(execution: Execution) -> list[Json]:
    """Each with the `step_id` of the agent whose task it was; `agent_id` says the same, and is no agent's own id."""
    return [{"step_id": one.get("agent_id"), **one} for one in (execution.result or {}).get("skipped", [])]


def agent_shape(agent: AgentExecution) -> Json:
    return {
        "agent_id": str(agent.id),
        "parent_id": str(agent.parent_id) if agent.parent_id else None,
        "agent_name": agent.agent_name,
        "step_id": agent.step_id or None,
        "task": agent.task,
        "status": agent.status,
        "modified": agent.modified,
        "user_comment": agent.user_comment,
        "user_content": agent.user_content,
        "error": agent.error or None,
        "depends_on": [str(other) for other in agent.depends_on],
        "usage": usage_of(agent),
        "started_at": iso(agent.started_at),
        "ended_at": iso(agent.ended_at),
    }


def tree(agents: Iterable[AgentExecution]) -> Json:
    """Agents by id, each with the ids of its subagents, in the order in which they are given."""
    rows = list(agents)
    below: dict[UUID | None, list[UUID]] = {}
    for agent in rows:
        below.setdefault(agent.parent_id, []).append(agent.id)
    return {str(agent.id): node(agent, below.get(agent.id, ())) for agent in rows}


def node(agent: AgentExecution, subagents: Iterable[UUID]) -> Json:
    return {
        **agent_shape(agent),
        "execution_id": str(agent.execution_id),
        "subagents": [str(subagent) for subagent in subagents],
    }


def step_shape(step: Json) -> Json:
    """A row of `agents.log.agent_reading.steps_of`. `path`: numbers of calls and branches, as text."""
    return {
        **step,
        "path": ".".join(map(str, step["path"])),
        "usage": _step_usage(step["usage"]),
        "started_at": iso(step["started_at"]),
        "ended_at": iso(step["ended_at"]),
    }


def _step_usage(used: Any) -> Json | None:
    if not isinstance(used, dict) or "prompt_tokens" not in used:
        return None
    cost = used.get("cost_usd")
    return {
        "prompt_tokens": used["prompt_tokens"],
        "completion_tokens": used.get("completion_tokens", 0),
        "cost_usd": None if cost is None else float(cost),
    }


def finished(execution: Execution, agents: Iterable[AgentExecution]) -> Json:
    """The answer of `POST /api/v1/query`."""
    return {
        "execution_id": str(execution.id),
        "conversation_id": str(execution.conversation_id) if execution.conversation_id else None,
        "status": execution.status,
        "answer": execution.answer,
        "sources": sources_of(execution),
        "checks": checks_of(execution),
        "agents": [agent_shape(agent) for agent in agents],
        "skipped": skipped_of(execution),
        "usage": usage_of(execution),
    }
