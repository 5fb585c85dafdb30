"""Reading agents for the web: the tree of a run, and one agent with its history. Writes nothing.

Every query begins with whose runs they are; what belongs to somebody else is not there.
"""

import uuid
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from django.db import connection
from django.db.models import QuerySet

from agents.engine.states import LIVE_AGENTS, TERMINAL_STATUSES
from agents.log.agent_history import Recorded, history
from agents.models import INTERNAL_PIPELINES, AgentExecution, Execution
from hyperagent.accounts.models import User

Json = dict[str, Any]
# A run has at most some tens of agents; this bounds what somebody with very many runs is told.
MAX_RUNNING = 500
MAX_STEPS = 500
MAX_CALLS = 100
PREVIEW_CHARS = 1000


def agents_of(user: User) -> QuerySet[AgentExecution]:
    """The agents of this person's runs."""
    return AgentExecution.objects.filter(execution__user=user).select_related("execution").defer(*_LARGE)


_LARGE = ("output", *(f"execution__{name}" for name in ("question", "input", "answer", "result")))


def tree_of(user: User, execution_id: uuid.UUID) -> list[AgentExecution]:
    """All agents of a run, in the order in which they began. Two queries."""
    return with_usage(agents_of(user).filter(execution=execution_id))


def running_agents(user: User) -> list[AgentExecution]:
    """Those that work or wait now, over all runs of this person. Two queries."""
    live = agents_of(user).filter(status__in=LIVE_AGENTS).exclude(execution__status__in=TERMINAL_STATUSES)
    live = live.exclude(execution__pipeline__in=INTERNAL_PIPELINES)
    return with_usage(live.order_by("-execution__created_at", "started_at")[:MAX_RUNNING])


_USED_SO_FAR = """
    SELECT agent_id, sum((usage->>'prompt_tokens')::bigint)::bigint,
           sum((usage->>'completion_tokens')::bigint)::bigint,
           CASE WHEN bool_or(usage->>'cost_usd' IS NULL) THEN NULL ELSE sum((usage->>'cost_usd')::numeric) END
      FROM agents_step WHERE agent_id = ANY(%s) AND usage->>'prompt_tokens' IS NOT NULL GROUP BY agent_id
"""


def with_usage(agents: Iterable[AgentExecution]) -> list[AgentExecution]:
    """The rows with what each agent used so far: their own columns are summed up only when a run is left."""
    rows = list(agents)
    with connection.cursor() as cursor:
        cursor.execute(_USED_SO_FAR, [[agent.id for agent in rows]])
        used: dict[uuid.UUID, tuple[int, int, Decimal | None]] = {row[0]: row[1:] for row in cursor.fetchall()}
    for agent in rows:
        if agent.id in used:
            agent.prompt_tokens, agent.completion_tokens, agent.cost_usd = used[agent.id]
    return rows


def used_so_far(execution: Execution, agents: Iterable[AgentExecution]) -> list[AgentExecution]:
    """The agents of a run, which gets what all of them used; of one that is over its row has that. A query at most."""
    rows = list(agents)
    if execution.is_over or not rows:
        return rows
    with_usage(rows)
    execution.prompt_tokens = sum(agent.prompt_tokens for agent in rows)
    execution.completion_tokens = sum(agent.completion_tokens for agent in rows)
    costs = [agent.cost_usd for agent in rows]
    execution.cost_usd = None if None in costs else sum((cost for cost in costs if cost is not None), Decimal(0))
    return rows


_RUNS_USED_SO_FAR = """
    SELECT a.execution_id, sum((s.usage->>'prompt_tokens')::bigint)::bigint,
           sum((s.usage->>'completion_tokens')::bigint)::bigint,
           CASE WHEN bool_or(s.usage->>'cost_usd' IS NULL) THEN NULL ELSE sum((s.usage->>'cost_usd')::numeric) END
      FROM agents_agentexecution a JOIN agents_step s ON s.agent_id = a.id
     WHERE a.execution_id = ANY(%s) AND s.usage->>'prompt_tokens' IS NOT NULL GROUP BY a.execution_id
"""


def runs_with_usage(executions: Iterable[Execution]) -> None:
    """Gives those of a list that have begun and are not over what they used so far; of all others their rows have that.
    One query, or none."""
    begun = {run.pk: run for run in executions if run.started_at is not None and not run.is_over}
    if not begun:
        return
    with connection.cursor() as cursor:
        cursor.execute(_RUNS_USED_SO_FAR, [list(begun)])
        for execution_id, *used in cursor.fetchall():
            run = begun[execution_id]
            run.prompt_tokens, run.completion_tokens, run.cost_usd = used


def subagents_of(agent: AgentExecution) -> list[uuid.UUID]:
    return list(AgentExecution.objects.filter(parent=agent).order_by("started_at").values_list("id", flat=True))


_STEPS = """
    SELECT path, kind, name, status,
           left(coalesce(nullif(request->'messages'->-1->>'content', ''),
                         request->'request'->'messages'->-1->>'content', request #>> '{}', ''), %(chars)s),
           left(coalesce(nullif(response->>'text', ''), response->>'content', response #>> '{}', ''), %(chars)s),
           usage, started_at, ended_at
      FROM agents_step WHERE agent_id = %(agent)s AND cut_at IS NULL ORDER BY path LIMIT %(limit)s
"""
_STEP_FIELDS = ("path", "kind", "name", "status", "request", "response", "usage", "started_at", "ended_at")


def steps_of(agent: AgentExecution) -> list[Json]:
    """The journal in order, each step's request and response cut to PREVIEW_CHARS by the database. One query.

    Of a model's request the last message is shown, of its reply the text: the rest is in `messages`.
    """
    with connection.cursor() as cursor:
        cursor.execute(_STEPS, {"agent": agent.id, "chars": PREVIEW_CHARS, "limit": MAX_STEPS})
        return [dict(zip(_STEP_FIELDS, row, strict=True)) for row in cursor.fetchall()]


_CALLS = """
    WITH calls AS (
        SELECT path, name, coalesce(request->'messages', request->'request'->'messages', '[]') AS asked,
               CASE WHEN status = 'finished' THEN response END AS response
          FROM agents_step WHERE agent_id = %(agent)s AND cut_at IS NULL AND kind = 'model'
         ORDER BY path DESC LIMIT %(limit)s
    )
    SELECT path, name, asked, response FROM calls
     UNION ALL
    SELECT path, name, NULL, response FROM agents_step
     WHERE agent_id = %(agent)s AND cut_at IS NULL AND kind = 'tool' AND path > (SELECT max(path) FROM calls)
     ORDER BY path
"""


def messages_of(agent: AgentExecution) -> list[Json]:
    """What the agent and its models said to each other, of the newest MAX_CALLS calls. One query.

    The root of a run talks to nobody: its calls are how the run decides. Of it, question and answer are told.
    """
    if agent.parent_id is None:
        return _question_and_answer(agent)
    with connection.cursor() as cursor:
        cursor.execute(_CALLS, {"agent": agent.id, "limit": MAX_CALLS})
        rows = cursor.fetchall()
    steps = [Recorded(tuple(path), name, asked, response) for path, name, asked, response in rows]
    return history(agent.user_content if agent.modified else agent.task, steps)


def _question_and_answer(root: AgentExecution) -> list[Json]:
    question, answer = Execution.objects.values_list("question", "answer").get(id=root.execution_id)
    said = [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
    return [message for message in said if message["content"]]
