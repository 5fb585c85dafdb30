"""How runs are stored in Postgres: the statements for each record, and what is read back. Raw SQL, fenced by the epoch.

Every statement names the execution and its epoch and changes nothing when the epoch is old.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import orjson
import psycopg
from psycopg.rows import tuple_row

from agents.engine.chain import GENESIS
from agents.engine.records import AgentRecord, Asked, Cut, EffectRecord, Loaded, StepRecord
from agents.engine.states import TERMINAL_STATUSES, AgentStatus, EffectStatus, StepKind, StepStatus
from agents.runtime.outbox import Moved, Parcel, PlacedCut, Progressed, Row
from hitl.store import CLOSE_REQUESTS, OPEN_REQUEST, READ_ANSWERS, answers_of
from hyperagent.lib.text import json_text

# A parcel is held if its run is still ours and the event before its first is stored: a crash of Postgres may have taken
# frames whose commit did not wait for the disk, and then this driver counts on from what is no longer there.
APPEND_EVENTS = """
WITH held AS (
    SELECT e.id FROM agents_execution e
    JOIN json_to_recordset(%(parcels)s::json) AS w(id uuid, epoch int, follow bigint)
      ON e.id = w.id AND e.epoch = w.epoch
    WHERE e.status = 'running'
      AND w.follow = CASE WHEN w.follow = 0 THEN 0 ELSE (
          SELECT p.seq FROM agents_event p WHERE p.execution_id = w.id AND p.seq = w.follow) END
    ORDER BY e.id FOR SHARE OF e
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

_STEP = """
INSERT INTO agents_step (agent_id, path, kind, name, request, request_hash, status, response, effect_key, usage, epoch,
                         started_at, ended_at)
SELECT %(agent_id)s, %(path)s::int[], %(kind)s, %(name)s, %(request)s::json, %(request_hash)s, %(status)s::text,
       %(response)s::json, %(effect_key)s, %(usage)s::json, e.epoch, clock_timestamp(),
       CASE WHEN %(status)s::text <> 'started' THEN clock_timestamp() END
FROM agents_execution e WHERE e.id = %(execution_id)s AND e.epoch = %(epoch)s
ON CONFLICT (agent_id, path) WHERE cut_at IS NULL
DO UPDATE SET status = excluded.status, response = excluded.response, usage = excluded.usage, epoch = excluded.epoch,
              ended_at = excluded.ended_at
"""

_EFFECT = """
INSERT INTO agents_effect (key, execution_id, agent_id, tool, arguments, arguments_hash, status, response, epoch,
                           started_at, ended_at)
SELECT %(key)s, e.id, %(agent_id)s, %(tool)s, %(arguments)s::json, %(arguments_hash)s, %(status)s::text,
       %(response)s::json, e.epoch, clock_timestamp(),
       CASE WHEN %(status)s::text <> 'started' THEN clock_timestamp() END
FROM agents_execution e WHERE e.id = %(execution_id)s AND e.epoch = %(epoch)s
ON CONFLICT (key)
DO UPDATE SET status = excluded.status, response = excluded.response, epoch = excluded.epoch,
              ended_at = excluded.ended_at
"""

_AGENT = """
INSERT INTO agents_agentexecution (id, execution_id, parent_id, agent_name, lineage, task, status, modified,
    user_comment, user_content, depends_on, output, error, prompt_tokens, completion_tokens, cost_usd,
    started_at, ended_at)
SELECT %(id)s, e.id, %(parent_id)s, %(name)s, %(lineage)s, %(task)s, %(status)s, false, '', '', '{}',
       %(output)s::json, %(error)s, 0, 0, 0, clock_timestamp(),
       CASE WHEN %(over)s::bool THEN clock_timestamp() END
FROM agents_execution e WHERE e.id = %(execution_id)s AND e.epoch = %(epoch)s
ON CONFLICT (id) DO UPDATE SET status = excluded.status, output = excluded.output, error = excluded.error,
                               ended_at = excluded.ended_at
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
FROM agents_agentexecution a LEFT JOIN agents_step s ON s.agent_id = a.id AND s.usage->>'prompt_tokens' IS NOT NULL
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
    cost_usd = total.cost_usd, ended_at = CASE WHEN %(over)s::bool THEN clock_timestamp() END
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


def statements(parcel: Parcel, *, expires_s: float | None) -> list[Statement]:
    """The SQL of a parcel's records, in their order."""
    outbox = parcel.outbox
    own = {"execution_id": outbox.execution_id, "epoch": outbox.epoch}
    made: list[Statement] = []
    for record in parcel.records:
        match record:
            case StepRecord():
                made.append((_STEP, own | _step_values(record)))
            case EffectRecord():
                made.append((_EFFECT, own | _effect_values(record)))
            case AgentRecord():
                made.append((_AGENT, own | _agent_values(record)))
            case Asked():
                question = (
                    record.request_id,
                    record.agent_id,
                    record.agent_name,
                    record.kind,
                    json_text(record.question),
                )
                made.append((OPEN_REQUEST, (*question, expires_s, outbox.execution_id, outbox.epoch)))
            case PlacedCut():
                made.append((_CUT_STEPS, own | _cut_values(record.cut)))
                made.append((_CUT_ORIGINS, own | {"origins": list(record.cut.origins), "last_seq": record.last_seq}))
            case Progressed():
                made.append((_PROGRESSED, own))
            case Moved():
                made.extend(_move_statements(record, parcel, own))
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


def _step_values(step: StepRecord) -> dict[str, Any]:
    return {
        "agent_id": step.agent_id,
        "path": list(step.path),
        "kind": step.kind,
        "name": step.name,
        "request": json_text(step.request),
        "request_hash": step.request_hash,
        "status": step.status,
        "response": json_text(step.response),
        "effect_key": step.effect_key,
        "usage": None if step.usage is None else json_text(step.usage),
    }


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


def _agent_values(agent: AgentRecord) -> dict[str, Any]:
    return {
        "id": agent.id,
        "parent_id": agent.parent_id,
        "name": agent.name,
        "lineage": agent.lineage,
        "task": agent.task,
        "status": agent.status,
        "output": json_text(agent.output),
        "error": agent.error,
        "over": agent.status not in (AgentStatus.PENDING, AgentStatus.RUNNING, AgentStatus.AWAITING_USER),
    }


def _cut_values(cut: Cut) -> dict[str, Any]:
    return {
        "agent_id": cut.agent_id,
        "depth": len(cut.path) - 1,
        "scope": list(cut.path[:-1]),
        "number": cut.path[-1],
    }


# --- reading back

_LOAD_AGENTS = """
SELECT id, parent_id, agent_name, lineage, task, status, output, error FROM agents_agentexecution
WHERE execution_id = %s
"""
_LOAD_STEPS = """
SELECT s.agent_id, s.path, s.kind, s.name, s.request, s.request_hash, s.status, s.response, s.effect_key, s.usage
FROM agents_step s JOIN agents_agentexecution a ON a.id = s.agent_id
WHERE a.execution_id = %s AND s.cut_at IS NULL
"""
_LOAD_EFFECTS = """
SELECT key, agent_id, tool, arguments, arguments_hash, status, response FROM agents_effect WHERE execution_id = %s
"""
_LOAD_ORIGINS = "SELECT origin FROM agents_event WHERE execution_id = %s AND origin <> ''"
_LOAD_SHOWN = """
SELECT agent_id, type, body FROM agents_event
WHERE execution_id = %s AND type IN ('token', 'token_reset') ORDER BY seq
"""
_LOAD_CUT_USAGE = """
SELECT s.usage FROM agents_step s JOIN agents_agentexecution a ON a.id = s.agent_id
WHERE a.execution_id = %s AND s.cut_at IS NOT NULL AND s.usage->>'prompt_tokens' IS NOT NULL
"""
LOAD_END = "SELECT seq, hash FROM agents_event WHERE execution_id = %s ORDER BY seq DESC LIMIT 1"


@dataclass(frozen=True, slots=True)
class End:
    """Where the event log ends, and what was paid for steps that no longer count."""

    seq: int = 0
    hash: bytes = GENESIS
    cut_usage: tuple[Any, ...] = ()


async def load(connection: psycopg.AsyncConnection[Any], execution_id: UUID) -> tuple[Loaded, End]:
    """Everything recorded of a run, in one round trip of eight queries."""
    queries = (
        _LOAD_AGENTS,
        _LOAD_STEPS,
        _LOAD_EFFECTS,
        READ_ANSWERS,
        _LOAD_ORIGINS,
        _LOAD_SHOWN,
        _LOAD_CUT_USAGE,
        LOAD_END,
    )
    async with connection.pipeline():
        cursors = [await connection.cursor(row_factory=tuple_row).execute(query, [execution_id]) for query in queries]
    agents, steps, effects, answers, origins, shown, cut, end = [await cursor.fetchall() for cursor in cursors]
    loaded = Loaded(answers=answers_of(answers), origins={origin for (origin,) in origins}, shown=shown_lengths(shown))
    for id_, parent_id, name, lineage, task, status, output, error in agents:
        loaded.agents[lineage] = AgentRecord(id_, parent_id, name, lineage, task, AgentStatus(status), output, error)
    for agent_id, path, kind, name, request, hashed, status, response, effect_key, usage in steps:
        loaded.steps.setdefault(agent_id, {})[tuple(path)] = StepRecord(
            agent_id,
            tuple(path),
            StepKind(kind),
            name,
            request,
            bytes(hashed),
            StepStatus(status),
            response,
            effect_key,
            usage,
        )
    for key, agent_id, tool, arguments, hashed, status, response in effects:
        loaded.effects[key] = EffectRecord(
            key, agent_id, tool, arguments, bytes(hashed), EffectStatus(status), response
        )
    seq, hashed = end[0] if end else (0, GENESIS)
    return loaded, End(seq, bytes(hashed), tuple(usage for (usage,) in cut))


def shown_lengths(rows: Iterable[tuple[UUID, str, str]]) -> dict[tuple[UUID, str], int]:
    """How many characters of each agent's channels people have been shown, resets taken into account."""
    lengths: dict[tuple[UUID, str], int] = {}
    for agent_id, kind, body in rows:
        for line in body.split("\n"):
            event = orjson.loads(line)
            key = (agent_id, event["channel"])
            lengths[key] = event["keep"] if kind == "token_reset" else lengths.get(key, 0) + len(event["content"])
    return lengths


_HEARD = "UPDATE agents_execution SET woken_at = NULL WHERE id = %s AND epoch = %s"


async def read_new_answers(
    connection: psycopg.AsyncConnection[Any], execution_id: UUID, epoch: int
) -> list[tuple[UUID, Any]]:
    """The answers of a run's requests. The mark that one came is cleared first, so that a later one sets it again."""
    await connection.execute(_HEARD, [execution_id, epoch])
    cursor = await connection.execute(READ_ANSWERS, [execution_id])
    return list(answers_of(await cursor.fetchall()).items())
