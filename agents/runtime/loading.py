"""What is read back of a run: all of it when a driver takes it over, and what people did meanwhile."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any
from uuid import UUID

import orjson
import psycopg
from psycopg.rows import tuple_row

from agents.engine.chain import GENESIS
from agents.engine.records import AgentRecord, EffectRecord, Intervention, Loaded, Path, StepRecord
from agents.engine.states import AgentStatus, EffectStatus, InterventionKind, StepKind, StepStatus
from agents.guardrails.output import ANSWER
from hitl.store import READ_ANSWERS, answers_of
from hyperagent.lib.text import GrowingText


def _among(states: type[StrEnum]) -> str:
    return ", ".join(f"'{state}'" for state in states)


_AGENTS = """
SELECT id, parent_id, agent_name, lineage, task, {status}, output, error, step_id, depends_on, user_comment,
       user_content, modified
FROM agents_agentexecution WHERE execution_id = %s
"""
_LOAD_AGENTS = _AGENTS.format(status="status")
# One in a state that only another version knows has not ended.
_LOAD_KNOWN_AGENTS = _AGENTS.format(
    status=f"CASE WHEN status IN ({_among(AgentStatus)}) THEN status ELSE 'running' END"
)
# Steps are looked up agent by agent: a join is free to read every month of the journal, what has an OFFSET is not.
_LOAD_STEPS = """
SELECT s.agent_id, s.path, s.kind, s.name, CASE WHEN s.kind <> 'model' THEN s.request END, s.request_hash, s.status,
       s.response, s.effect_key, s.usage
FROM agents_agentexecution a CROSS JOIN LATERAL (
    SELECT * FROM agents_step s WHERE s.agent_id = a.id AND s.cut_at IS NULL OFFSET 0) s
WHERE a.execution_id = %s
"""
_LOAD_KNOWN_STEPS = f"{_LOAD_STEPS} AND s.kind IN ({_among(StepKind)}) AND s.status IN ({_among(StepStatus)})"
# Also those of the run that this one is a copy of, and of its other copies.
_LOAD_EFFECTS = """
WITH root AS (SELECT coalesce(effects_root, id) AS id FROM agents_execution WHERE id = %s)
SELECT f.key, f.agent_id, f.tool, f.arguments, f.arguments_hash, f.status, f.response, f.started_at
FROM agents_effect f WHERE f.execution_id IN (
    SELECT id FROM root UNION SELECT e.id FROM agents_execution e JOIN root ON e.effects_root = root.id)
"""
_LOAD_UNSETTLED = f"{_LOAD_EFFECTS} AND f.status IN ('started', 'in_doubt')"
# What is not applied yet, and all that people said.
_LOAD_INTERVENTIONS = """
SELECT id, agent_id, kind, text, applied_at IS NOT NULL FROM agents_intervention
WHERE execution_id = %s AND (applied_at IS NULL OR kind IN ('comment', 'steer')) ORDER BY created_at, id
"""
_LOAD_ORIGINS = "SELECT origin FROM agents_event WHERE execution_id = %s AND origin <> ''"
_LOAD_SHOWN = """
SELECT agent_id, type, body FROM agents_event
WHERE execution_id = %s AND type IN ('token', 'token_reset') ORDER BY seq
"""
_LOAD_CUT_USAGE = """
SELECT s.usage FROM agents_agentexecution a CROSS JOIN LATERAL (
    SELECT * FROM agents_step s WHERE s.agent_id = a.id AND s.cut_at IS NOT NULL OFFSET 0) s
WHERE a.execution_id = %s AND s.usage->>'prompt_tokens' IS NOT NULL
"""
# What cuts did not undo: questions with their answers, and effects.
_LOAD_FALLEN = """
SELECT s.agent_id, s.path, s.kind, s.name, s.request, s.request_hash, s.status, s.response, s.effect_key, s.usage
FROM agents_agentexecution a CROSS JOIN LATERAL (
    SELECT * FROM agents_step s WHERE s.agent_id = a.id AND s.cut_at IS NOT NULL OFFSET 0) s
WHERE a.execution_id = %s AND s.effect_key <> '' AND s.status = 'finished'
ORDER BY s.cut_at, s.id
"""
LOAD_END = "SELECT seq, hash FROM agents_event WHERE execution_id = %s ORDER BY seq DESC LIMIT 1"


@dataclass(frozen=True, slots=True)
class End:
    """Where the event log ends, what was paid for steps that no longer count, when people saw the first word, and what
    they read of each agent."""

    seq: int = 0
    hash: bytes = GENESIS
    cut_usage: tuple[Any, ...] = ()
    first_token_ms: int | None = None
    thought_ms: tuple[int, int] | None = None
    read: Mapping[UUID, str] = field(default_factory=dict)


async def load(connection: psycopg.AsyncConnection[Any], execution_id: UUID) -> tuple[Loaded, End]:
    """Everything recorded of a run, in one round trip of ten queries."""
    queries = (
        _LOAD_AGENTS,
        _LOAD_STEPS,
        _LOAD_EFFECTS,
        READ_ANSWERS,
        _LOAD_INTERVENTIONS,
        _LOAD_ORIGINS,
        _LOAD_SHOWN,
        _LOAD_CUT_USAGE,
        _LOAD_FALLEN,
        LOAD_END,
    )
    found = await _rows(connection, execution_id, queries)
    agents, steps, effects, answers, interventions, origins, shown, cut, fallen, end = found
    loaded = Loaded(
        agents=_agents(agents),
        steps=_steps(map(StepRecord.remembered, map(_step, steps))),
        effects=_effects(effects),
        answers=answers_of(answers),
        interventions=_interventions(interventions),
        origins={origin for (origin,) in origins},
        shown=shown_lengths(shown),
    )
    for row in fallen:
        loaded.fell(_step(row))
    reached = replace(_end(end, cut), first_token_ms=first_token_ms(shown), thought_ms=thought_ms(shown))
    return loaded, replace(reached, read=read_texts(shown))


async def load_remains(connection: psycopg.AsyncConnection[Any], execution_id: UUID) -> tuple[Loaded, End]:
    """What the end of a run takes that is not driven any more. Can be read whatever another version, or a fault, has
    written: of the effects there are those of which nobody knows whether they happened, of the rest what is known."""
    queries = (_LOAD_KNOWN_AGENTS, _LOAD_KNOWN_STEPS, _LOAD_UNSETTLED, _LOAD_CUT_USAGE, LOAD_END)
    agents, steps, effects, cut, end = await _rows(connection, execution_id, queries)
    loaded = Loaded(agents=_agents(agents), steps=_steps(map(_step, steps)), effects=_effects(effects))
    return loaded, _end(end, cut)


async def _rows(
    connection: psycopg.AsyncConnection[Any], execution_id: UUID, queries: Sequence[str]
) -> list[list[tuple[Any, ...]]]:
    """What each of them finds, in one round trip."""
    async with connection.pipeline():
        cursors = [await connection.cursor(row_factory=tuple_row).execute(query, [execution_id]) for query in queries]
    return [await cursor.fetchall() for cursor in cursors]


def _agents(rows: Iterable[tuple[Any, ...]]) -> dict[str, AgentRecord]:
    made = (
        AgentRecord(
            id_,
            parent_id,
            name,
            lineage,
            task,
            AgentStatus(status),
            output,
            error,
            step_id,
            tuple(depends_on),
            *marks,
        )
        for id_, parent_id, name, lineage, task, status, output, error, step_id, depends_on, *marks in rows
    )
    return {agent.lineage: agent for agent in made}


def _steps(steps: Iterable[StepRecord]) -> dict[UUID, dict[Path, StepRecord]]:
    found: dict[UUID, dict[Path, StepRecord]] = {}
    for step in steps:
        found.setdefault(step.agent_id, {})[step.path] = step
    return found


def _effects(rows: Iterable[tuple[Any, ...]]) -> dict[str, EffectRecord]:
    return {
        key: EffectRecord(key, agent_id, tool, arguments, bytes(hashed), EffectStatus(status), response, started_at)
        for key, agent_id, tool, arguments, hashed, status, response, started_at in rows
    }


def _end(last: Sequence[tuple[Any, ...]], used: Iterable[tuple[Any, ...]]) -> End:
    seq, hashed = last[0] if last else (0, GENESIS)
    return End(seq, bytes(hashed), tuple(usage for (usage,) in used))


def _step(row: tuple[Any, ...]) -> StepRecord:
    agent_id, path, kind, name, request, hashed, status, *rest = row
    return StepRecord(agent_id, tuple(path), StepKind(kind), name, request, bytes(hashed), StepStatus(status), *rest)


def shown_lengths(rows: Iterable[tuple[UUID, str, str]]) -> dict[tuple[UUID, str], int]:
    """How many characters of each agent's channels people have been shown, resets taken into account."""
    lengths: dict[tuple[UUID, str], int] = {}
    for agent_id, kind, body in rows:
        for line in body.split("\n"):
            event = orjson.loads(line)
            key = (agent_id, event["channel"])
            lengths[key] = event["keep"] if kind == "token_reset" else lengths.get(key, 0) + len(event["content"])
    return lengths


def read_texts(rows: Iterable[tuple[UUID, str, str]]) -> dict[UUID, str]:
    """What people read of each agent in the end. Not what it said: of a reply that broke off it is what had come."""
    texts: dict[UUID, GrowingText] = {}
    for agent_id, kind, body in rows:
        for line in body.split("\n"):
            event = orjson.loads(line)
            if event["channel"] != ANSWER:
                continue
            text = texts.setdefault(agent_id, GrowingText())
            if kind == "token_reset":
                kept = str(text)[: event["keep"]]
                text.clear()
                text.append(kept)
            else:
                text.append(event["content"])
    return {agent_id: str(text) for agent_id, text in texts.items()}


def first_token_ms(rows: Iterable[tuple[UUID, str, str]]) -> int | None:
    """The time of the first frame of an answer, from the events that show text, in their order."""
    return next((int(frame["timestamp"]) for frame in _frames(rows) if frame["channel"] != "thinking"), None)


def thought_ms(rows: Iterable[tuple[UUID, str, str]]) -> tuple[int, int] | None:
    """The times of the first and the last frame of thoughts."""
    # Looked for before it is decoded: a log may have thousands of frames, and most have no thoughts.
    with_thoughts = (row for row in rows if '"thinking"' in row[2])
    times = [int(frame["timestamp"]) for frame in _frames(with_thoughts) if frame["channel"] == "thinking"]
    return (times[0], times[-1]) if times else None


def _frames(rows: Iterable[tuple[UUID, str, str]]) -> Iterator[dict[str, Any]]:
    """The first of each row: frames that were folded follow each other at once."""
    return (orjson.loads(body.split("\n", 1)[0]) for _, kind, body in rows if kind == "token")


def _interventions(rows: Iterable[tuple[UUID, UUID | None, str, str, bool]]) -> dict[UUID, Intervention]:
    return {
        id_: Intervention(id_, agent_id, InterventionKind(kind), text, applied)
        for id_, agent_id, kind, text, applied in rows
    }


@dataclass(frozen=True, slots=True)
class News:
    """What people did while a run goes on: every answer to its questions, and what they want of its agents."""

    answers: dict[UUID, Any]
    interventions: tuple[Intervention, ...]


# Not of a run that its driver has left: what came too late for that one is what the next is claimed for.
_HEARD = "UPDATE agents_execution SET woken_at = NULL WHERE id = %s AND epoch = %s AND status = 'running'"


async def read_news(connection: psycopg.AsyncConnection[Any], execution_id: UUID, epoch: int) -> News:
    """What is new, and what is not, in one round trip. The mark that there is something is cleared first: a later one
    sets it again. Within a transaction that is not committed before the news are used: what is cleared is not found
    again."""
    async with connection.pipeline():
        await connection.execute(_HEARD, [execution_id, epoch])
        answers = await connection.execute(READ_ANSWERS, [execution_id])
        interventions = await connection.execute(_LOAD_INTERVENTIONS, [execution_id])
    made = _interventions(await interventions.fetchall())
    return News(answers_of(await answers.fetchall()), tuple(one for one in made.values() if not one.applied))
