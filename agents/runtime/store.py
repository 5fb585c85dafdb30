"""How runs are stored in Postgres: the statements for each record. Raw SQL, fenced by the epoch.

Every statement names the execution and its epoch and changes nothing when the epoch is old.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any
from uuid import UUID

import orjson

from agents.engine.canonical import Written
from agents.engine.records import AgentRecord, Applied, Asked, Cut, EffectRecord, StepRecord, Withdrawn
from agents.engine.states import LIVE_AGENTS, TERMINAL_STATUSES, AgentStatus
from agents.runtime.outbox import BrokenOff, Flagged, Moved, Parcel, PlacedCut, Progressed, Row, Settled
from agents.usage.purse_sql import SETTLE
from hitl.deadlines import Deadlines
from hitl.store import CLOSE_REQUESTS, OPEN_REQUEST, WITHDRAW_REQUESTS, opening
from hyperagent.lib.text import json_text

# A parcel is held if its run is still ours and the event before its first is stored: a crash of Postgres may have taken
# frames whose commit did not wait for the disk, and then this driver counts on from what is no longer there.
# Parcel by parcel, each run by its id, whatever the database plans: it thinks that next to nothing is running, and then
# looked at all parcels anew for each run that is (140 of them took it 50 ms). Runs are locked in order.
APPEND_EVENTS = """
WITH following AS MATERIALIZED (
    SELECT w.id, w.epoch FROM json_to_recordset(%(parcels)s::json) AS w(id uuid, epoch int, follow bigint)
    WHERE w.follow = CASE WHEN w.follow = 0 THEN 0 ELSE (
        SELECT p.seq FROM agents_event p WHERE p.execution_id = w.id AND p.seq = w.follow) END
    ORDER BY w.id
), held AS MATERIALIZED (
    SELECT e.id FROM following w CROSS JOIN LATERAL (
        SELECT id FROM agents_execution WHERE id = w.id AND epoch = w.epoch AND status || '' = 'running' FOR SHARE) e
), added AS (
    INSERT INTO agents_event (execution_id, seq, agent_id, type, body, hash, origin, created_at)
    SELECT v.execution_id, v.seq, v.agent_id, v.type, v.body, decode(v.hash, 'hex'), v.origin,
           to_timestamp(v.ms / 1000.0)
    FROM json_to_recordset(%(events)s::json)
         AS v(execution_id uuid, seq bigint, agent_id uuid, type text, body text, hash text, origin text, ms bigint)
    JOIN held ON held.id = v.execution_id
    ON CONFLICT (execution_id, seq) DO NOTHING
)
SELECT id FROM held
"""

# Steps that follow each other, as one JSON text: a statement for each took a tenth of the CPU of a short turn.
STEP_COLUMNS = """agent_id, path, kind, name, request, request_hash, status, response, effect_key, usage, epoch,
                  started_at, ended_at"""
_STEP_VALUES = """w.agent_id, w.path, w.kind, w.name, coalesce(w.request, 'null'), decode(w.request_hash, 'hex'),
       w.status, coalesce(w.response, 'null'), w.effect_key, w.usage, e.epoch, clock_timestamp(),
       CASE WHEN w.status <> 'started' THEN clock_timestamp() END"""
_STEPS_GIVEN = """agents_execution e
CROSS JOIN json_to_recordset(%(steps)s::json)
     AS w(agent_id uuid, path int[], kind text, name text, request json, request_hash text, status text, response json,
          effect_key text, usage json)
WHERE e.id = %(execution_id)s AND e.epoch = %(epoch)s"""
_STEPS = f"""
INSERT INTO agents_step ({STEP_COLUMNS})
SELECT {_STEP_VALUES}
FROM {_STEPS_GIVEN}
ON CONFLICT (agent_id, path) WHERE cut_at IS NULL
DO UPDATE SET status = excluded.status, response = excluded.response, usage = excluded.usage, epoch = excluded.epoch,
              ended_at = excluded.ended_at
"""

# Into the ledger of what was paid for, which outlives the run (`agents.usage.models`).
LEDGER = """
INSERT INTO agents_modelcall (step_id, user_id, execution_id, conversation_id, project_id, agent_name, provider, model,
                              prompt_tokens, completion_tokens, cost_usd, is_estimate, at)
SELECT s.id, e.user_id, e.id, e.conversation_id,
       CASE WHEN e.input #>> '{options,project_id}' ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
            THEN (e.input #>> '{options,project_id}')::uuid END,
       a.agent_name, left(coalesce(s.usage->>'provider', ''), 200), left(coalesce(s.usage->>'model', ''), 200),
       (s.usage->>'prompt_tokens')::bigint, coalesce((s.usage->>'completion_tokens')::bigint, 0),
       (s.usage->>'cost_usd')::numeric, coalesce((s.usage->>'is_estimate')::bool, false),
       coalesce(s.ended_at, s.started_at)"""
_MODEL_CALL = f"""
{LEDGER}
FROM agents_execution e JOIN agents_agentexecution a ON a.execution_id = e.id JOIN agents_step s ON s.agent_id = a.id
WHERE e.id = %(execution_id)s AND e.epoch = %(epoch)s AND a.id = %(agent_id)s
  AND s.path = %(path)s::int[] AND s.cut_at IS NULL AND s.usage->>'prompt_tokens' IS NOT NULL
ON CONFLICT (step_id) DO UPDATE SET provider = excluded.provider, model = excluded.model,
    prompt_tokens = excluded.prompt_tokens, completion_tokens = excluded.completion_tokens,
    cost_usd = excluded.cost_usd, is_estimate = excluded.is_estimate, at = excluded.at
"""
# A call that was interrupted: no step that counts, but paid for. Its `call_id` alone tells two at one path apart.
_BROKEN_OFF = f"""
WITH s AS (
    INSERT INTO agents_step ({STEP_COLUMNS}, cut_at)
    SELECT {_STEP_VALUES}, clock_timestamp()
    FROM {_STEPS_GIVEN} AND NOT EXISTS (
        SELECT FROM agents_step o
        WHERE o.agent_id = w.agent_id AND o.path = w.path AND o.usage->>'call_id' = w.usage->>'call_id' OFFSET 0)
    RETURNING *
)
{LEDGER}
FROM s JOIN agents_agentexecution a ON a.id = s.agent_id JOIN agents_execution e ON e.id = a.execution_id
"""

_EFFECT = """
INSERT INTO agents_effect AS f (key, execution_id, agent_id, tool, arguments, arguments_hash, status, response, epoch,
                           started_at, ended_at)
SELECT %(key)s, e.id, %(agent_id)s, %(tool)s, %(arguments)s::json, %(arguments_hash)s, %(status)s::text,
       %(response)s::json, e.epoch, clock_timestamp(),
       CASE WHEN %(status)s::text <> 'started' THEN clock_timestamp() END
FROM agents_execution e WHERE e.id = %(execution_id)s AND e.epoch = %(epoch)s
ON CONFLICT (key)
DO UPDATE SET status = excluded.status, response = excluded.response, epoch = excluded.epoch,
              agent_id = excluded.agent_id, ended_at = excluded.ended_at,
              started_at = CASE WHEN excluded.status = 'started' AND f.status <> 'started' THEN excluded.started_at
                                ELSE f.started_at END
"""

# A person's words are in the row before the driver hears of them: what it does not know of yet stays.
_AGENTS = """
INSERT INTO agents_agentexecution AS a (id, execution_id, parent_id, agent_name, lineage, task, step_id, status,
    modified, user_comment, user_content, depends_on, output, error, prompt_tokens, completion_tokens, cost_usd,
    started_at, ended_at)
SELECT w.id, e.id, w.parent_id, w.name, w.lineage, w.task, w.step_id, w.status, w.modified, w.user_comment,
       w.user_content, w.depends_on, coalesce(w.output, 'null'), w.error, 0, 0, 0,
       CASE WHEN NOT w.pending THEN clock_timestamp() END, CASE WHEN w.over THEN clock_timestamp() END
FROM agents_execution e
CROSS JOIN json_to_recordset(%(agents)s::json)
     AS w(id uuid, parent_id uuid, name text, lineage text, task text, step_id text, status text, modified bool,
          user_comment text, user_content text, depends_on uuid[], output json, error text, pending bool, over bool)
WHERE e.id = %(execution_id)s AND e.epoch = %(epoch)s
ON CONFLICT (id) DO UPDATE SET status = excluded.status, output = excluded.output, error = excluded.error,
    modified = a.modified OR excluded.modified,
    user_comment = coalesce(nullif(excluded.user_comment, ''), a.user_comment),
    user_content = coalesce(nullif(excluded.user_content, ''), a.user_content),
    started_at = coalesce(a.started_at, excluded.started_at), ended_at = excluded.ended_at
"""

_APPLIED = """
UPDATE agents_intervention SET applied_at = clock_timestamp()
WHERE id = %(intervention_id)s AND execution_id = %(execution_id)s AND applied_at IS NULL
  AND EXISTS (SELECT 1 FROM agents_execution e WHERE e.id = %(execution_id)s AND e.epoch = %(epoch)s)
"""

_CUT_STEPS = """
UPDATE agents_step SET cut_at = clock_timestamp()
WHERE agent_id = %(agent_id)s AND cut_at IS NULL
  AND path[1:%(depth)s] = %(scope)s::int[] AND path[%(depth)s + 1] >= %(number)s
  AND EXISTS (SELECT 1 FROM agents_execution e WHERE e.id = %(execution_id)s AND e.epoch = %(epoch)s)
"""

_CUT_ORIGINS = """
UPDATE agents_event SET origin = '' WHERE execution_id = %(execution_id)s AND origin = ANY(%(origins)s)
  AND seq <= %(last_seq)s
  AND EXISTS (SELECT 1 FROM agents_execution e WHERE e.id = %(execution_id)s AND e.epoch = %(epoch)s)
"""

# One row for each such event, however often it is stored.
_VERDICT = """
INSERT INTO agents_verdict (execution_id, seq, agent_id, agent_name, user_id, conversation_id, place, scanner, kind,
                            certainty, action, reason, excerpt, tool, count, created_at, feedback)
SELECT e.id, %(seq)s, %(agent_id)s,
       coalesce((SELECT agent_name FROM agents_agentexecution WHERE id = %(agent_id)s), ''),
       e.user_id, e.conversation_id, %(place)s, %(scanner)s, %(kind)s, %(certainty)s, %(action)s, %(reason)s,
       %(excerpt)s, %(tool)s, %(count)s, clock_timestamp(), ''
FROM agents_execution e WHERE e.id = %(execution_id)s AND e.epoch = %(epoch)s
ON CONFLICT (execution_id, seq) DO NOTHING
"""

_PROGRESSED = """
UPDATE agents_execution SET crashes = 0, suspicion = 0 WHERE id = %(execution_id)s AND epoch = %(epoch)s
"""

# What the run used, from its steps (cut ones too: they were paid for). One call without a known price makes the sum
# unknown.
_USED = """
SELECT a.id AS agent_id, coalesce(sum((s.usage->>'prompt_tokens')::bigint), 0) AS prompt_tokens,
       coalesce(sum((s.usage->>'completion_tokens')::bigint), 0) AS completion_tokens,
       CASE WHEN bool_or(s.usage->>'cost_usd' IS NULL AND s.usage IS NOT NULL) THEN NULL
            ELSE coalesce(sum((s.usage->>'cost_usd')::numeric), 0) END AS cost_usd
FROM agents_agentexecution a LEFT JOIN LATERAL (
    SELECT usage FROM agents_step WHERE agent_id = a.id AND usage->>'prompt_tokens' IS NOT NULL OFFSET 0) s ON true
WHERE a.execution_id = %(execution_id)s GROUP BY a.id
"""

_SUM_UP_AGENTS = f"""
WITH used AS ({_USED})
UPDATE agents_agentexecution a
SET prompt_tokens = used.prompt_tokens, completion_tokens = used.completion_tokens, cost_usd = used.cost_usd
FROM used WHERE a.id = used.agent_id
  AND EXISTS (SELECT 1 FROM agents_execution e WHERE e.id = %(execution_id)s AND e.epoch = %(epoch)s)
"""

_MOVE = f"""
WITH used AS ({_USED}), total AS (
    SELECT coalesce(sum(prompt_tokens), 0) AS prompt_tokens, coalesce(sum(completion_tokens), 0) AS completion_tokens,
           CASE WHEN bool_or(cost_usd IS NULL) THEN NULL ELSE coalesce(sum(cost_usd), 0) END AS cost_usd FROM used
)
UPDATE agents_execution e
SET status = %(status)s, answer = %(answer)s, result = %(result)s::json, error_code = %(error_code)s,
    error_message = %(error_message)s, lease_until = NULL, leased_by = '', last_seq = %(last_seq)s,
    last_hash = %(last_hash)s, prompt_tokens = total.prompt_tokens, completion_tokens = total.completion_tokens,
    cost_usd = total.cost_usd, underway = NULL, ended_at = CASE WHEN %(over)s::bool THEN clock_timestamp() END
FROM total WHERE e.id = %(execution_id)s AND e.epoch = %(epoch)s
"""

_WAKE_IF_WOKEN = """
SELECT pg_notify('hyperagent_runs', id::text) FROM agents_execution
WHERE id = %(execution_id)s AND (status = 'pending' OR (status = 'awaiting_user' AND woken_at IS NOT NULL))
"""

Statement = tuple[str, Any]


def append_values(parcels: Iterable[Parcel]) -> dict[str, Any]:
    """Arguments of APPEND_EVENTS for the events of all parcels; also those without events are fenced by it.

    Two JSON texts: the same as arrays took a fifth of a busy runner's CPU, in the escaping of their elements.
    """
    parcels = list(parcels)
    return {
        "parcels": json_text([_parcel_row(parcel) for parcel in parcels]),
        "events": json_text([_event_row(parcel.outbox.execution_id, row) for parcel in parcels for row in parcel.rows]),
    }


def _parcel_row(parcel: Parcel) -> dict[str, Any]:
    follow = parcel.rows[0].seq - 1 if parcel.rows else parcel.last_seq
    return {"id": parcel.outbox.execution_id, "epoch": parcel.outbox.epoch, "follow": follow}


def _event_row(execution_id: UUID, row: Row) -> dict[str, Any]:
    return {
        "execution_id": execution_id,
        "seq": row.seq,
        "agent_id": row.agent_id,
        "type": row.type,
        "body": row.body,
        "hash": row.hash.hex(),
        "origin": row.origin,
        "ms": row.timestamp_ms,
    }


def statements(parcel: Parcel, *, deadlines: Deadlines) -> list[Statement]:
    """The SQL of a parcel's records, in their order; but of agents and steps that follow each other the agents first,
    which steps refer to."""
    outbox = parcel.outbox
    own = {"execution_id": outbox.execution_id, "epoch": outbox.epoch}
    made: list[Statement] = []
    for is_journal, together in groupby(parcel.records, lambda record: isinstance(record, AgentRecord | StepRecord)):
        if is_journal:
            made.extend(_journal_statements(list(together), own))
        else:
            for record in together:
                made.extend(_statements_of(record, parcel, own, deadlines))
    return made


def _statements_of(record: Any, parcel: Parcel, own: dict[str, Any], deadlines: Deadlines) -> list[Statement]:
    made: list[Statement]
    match record:
        case EffectRecord():
            made = [(_EFFECT, own | _effect_values(record))]
        case Asked():
            request = opening(
                record.request_id,
                agent_id=record.agent_id,
                agent_name=record.agent_name,
                kind=record.kind,
                question=record.question,
                deadlines=deadlines,
            )
            made = [(OPEN_REQUEST, own | request)]
        case Withdrawn():
            made = [(WITHDRAW_REQUESTS, own | {"request_ids": list(record.request_ids)})]
        case Applied():
            made = [(_APPLIED, own | {"intervention_id": record.intervention_id})]
        case PlacedCut():
            origins = {"origins": list(record.cut.origins), "last_seq": record.last_seq}
            made = [(_CUT_STEPS, own | _cut_values(record.cut)), (_CUT_ORIGINS, own | origins)]
        case Flagged() | Settled():
            made = [(_VERDICT if isinstance(record, Flagged) else SETTLE, own | asdict(record))]
        case BrokenOff():
            made = [(_BROKEN_OFF, own | {"steps": json_text([_step_row(record.step)])})]
        case Progressed():
            made = [(_PROGRESSED, own)]
        case Moved():
            made = _move_statements(record, parcel, own)
        case _:
            raise TypeError(f"no statement stores a {type(record).__name__}")
    return made


def _move_statements(moved: Moved, parcel: Parcel, own: dict[str, Any]) -> list[Statement]:
    over = moved.status in TERMINAL_STATUSES
    values = own | {
        "status": moved.status,
        "answer": moved.answer,
        "result": json_text(moved.result),
        "error_code": moved.error_code,
        "error_message": moved.error_message,
        "last_seq": parcel.last_seq,
        "last_hash": parcel.last_hash,
        "over": over,
    }
    made: list[Statement] = [(_SUM_UP_AGENTS, values), (_MOVE, values)]
    made.append((CLOSE_REQUESTS, own) if over else (_WAKE_IF_WOKEN, own))
    return made


def _journal_statements(records: Sequence[AgentRecord | StepRecord], own: dict[str, Any]) -> list[Statement]:
    """Of agents and steps that follow each other. One statement stores each once: of a step that began and ended, its
    end; of an agent, one state after the other."""
    made: list[Statement] = []
    agents = [record for record in records if isinstance(record, AgentRecord)]
    while agents:
        first = {agent.id: agent for agent in reversed(agents)}
        agents = [agent for agent in agents if agent is not first[agent.id]]
        made.append((_AGENTS, own | {"agents": json_text([_agent_row(agent) for agent in reversed(first.values())])}))
    last = {(step.agent_id, step.path): step for step in records if isinstance(step, StepRecord)}
    if last:
        made.append((_STEPS, own | {"steps": json_text([_step_row(step) for step in last.values()])}))
    made += [
        (_MODEL_CALL, own | {"agent_id": step.agent_id, "path": list(step.path)})
        for step in last.values()
        if step.usage is not None
    ]
    return made


def _step_row(step: StepRecord) -> dict[str, Any]:
    return {
        "agent_id": step.agent_id,
        "path": step.path,
        "kind": step.kind,
        "name": step.name,
        "request": _as_json(step.request),
        "request_hash": step.request_hash.hex(),
        "status": step.status,
        "response": step.response,
        "effect_key": step.effect_key,
        "usage": step.usage,
    }


def _as_json(request: Any) -> Any:
    """What is written already goes as it is, where Postgres takes it."""
    if not isinstance(request, Written):
        return request
    stored = request.stored
    return request.value if _is_unstorable(stored) else orjson.Fragment(stored)


def _is_unstorable(text: bytes) -> bool:
    """NUL, or a lone surrogate."""
    if b"\\u0000" in text:
        return True
    try:
        text.decode()
    except UnicodeDecodeError:
        return True
    return False


def _effect_values(effect: EffectRecord) -> dict[str, Any]:
    return {
        "key": effect.key,
        "agent_id": effect.agent_id,
        "tool": effect.tool,
        "arguments": json_text(effect.arguments),
        "arguments_hash": effect.arguments_hash,
        "status": effect.status,
        "response": json_text(effect.response),
    }


def _agent_row(agent: AgentRecord) -> dict[str, Any]:
    return {
        "id": agent.id,
        "parent_id": agent.parent_id,
        "name": agent.name,
        "lineage": agent.lineage,
        "task": agent.task,
        "step_id": agent.step_id,
        "status": agent.status,
        "modified": agent.modified,
        "user_comment": agent.user_comment,
        "user_content": agent.user_content,
        "depends_on": list(agent.depends_on),
        "output": agent.output,
        "error": agent.error,
        "pending": agent.status is AgentStatus.PENDING,
        "over": agent.status not in LIVE_AGENTS,
    }


def _cut_values(cut: Cut) -> dict[str, Any]:
    return {
        "agent_id": cut.agent_id,
        "depth": len(cut.path) - 1,
        "scope": list(cut.path[:-1]),
        "number": cut.path[-1],
    }
