"""Calls of models on their way, and what each has taken until now. A runner stores that with each beat of its heart;
whoever takes a run over from one that was killed counts it.

A call is counted where its step is recorded, or here, and never in both places. One that began after the last beat is
not known of.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import psycopg

from agents.engine.canonical import Written, digest
from agents.engine.errors import StepFailed
from agents.engine.records import Path, StepRecord
from agents.engine.states import StepKind, StepStatus
from agents.runtime.store import LEDGER, STEP_COLUMNS
from hyperagent.lib.llm.taken import Taken
from hyperagent.lib.llm.types import ModelReply
from hyperagent.lib.text import json_text

INTERRUPTED: Final = StepFailed("interrupted", "The call was interrupted.").as_json()

# Of calls whose step nobody recorded: neither as it ended, which has no `call_id`, nor as it was interrupted. What the
# row has is counted and gone in one statement, so whoever comes second finds nothing. The journal is looked into call
# by call, for that OFFSET: a join is free to read all of it.
_COUNT_LOST: Final = f"""
WITH was AS (
    SELECT id, epoch, underway FROM agents_execution
    WHERE id = %(execution_id)s AND epoch = %(epoch)s AND underway IS NOT NULL FOR NO KEY UPDATE
), cleared AS (
    UPDATE agents_execution e SET underway = NULL FROM was WHERE e.id = was.id
), s AS (
    INSERT INTO agents_step ({STEP_COLUMNS}, cut_at)
    SELECT w.agent_id, w.path, 'model', w.name, 'null', decode(w.request_hash, 'hex'), 'failed', %(failure)s::json, '',
           w.usage, was.epoch, clock_timestamp(), clock_timestamp(), clock_timestamp()
    FROM was CROSS JOIN json_to_recordset(was.underway->'calls')
         AS w(agent_id uuid, path int[], name text, request_hash text, usage json)
    WHERE EXISTS (SELECT FROM agents_agentexecution a WHERE a.id = w.agent_id AND a.execution_id = was.id)
      AND NOT EXISTS (
        SELECT FROM agents_step o
        WHERE o.agent_id = w.agent_id AND o.path = w.path AND o.epoch >= (was.underway->>'epoch')::int
          AND coalesce(o.usage->>'call_id', '') IN ('', w.usage->>'call_id') OFFSET 0)
    RETURNING *
), counted AS (
    {LEDGER}
    FROM s JOIN agents_agentexecution a ON a.id = s.agent_id JOIN agents_execution e ON e.id = a.execution_id
)
SELECT count(*) FROM s
"""


@dataclass(frozen=True, slots=True, eq=False)
class CallUnderway:
    """`path`: of its step, once it has one; `call_id` tells it from others that are made there."""

    call_id: str
    agent_id: UUID
    path: Path
    name: str
    asked: Written
    taken: Taken

    def interrupted(self, used: dict[str, Any]) -> StepRecord:
        """Its step, where there is no answer. `used`: as `usage` gives it."""
        hashed = digest(self.asked)
        return StepRecord(
            self.agent_id,
            self.path,
            StepKind.MODEL,
            self.name,
            self.asked,
            hashed,
            StepStatus.FAILED,
            INTERRUPTED,
            usage=used,
        )

    def usage(self) -> dict[str, Any] | None:
        """What it would count if it broke off now; None where it has taken nothing."""
        replies = self.taken.until_now
        return usage_of(*replies) | {"call_id": self.call_id} if replies else None


def usage_of(*replies: ModelReply) -> dict[str, Any]:
    """What is recorded of a step's use; the price as decimal text, None if that of one reply is unknown. That part
    of it is estimated is said where so."""
    costs = [reply.cost_usd for reply in replies if reply.cost_usd is not None]
    estimated = {"is_estimate": True} if any(reply.is_estimate for reply in replies) else {}
    return {
        "model": replies[-1].model,
        "provider": replies[-1].provider,
        "prompt_tokens": sum(reply.usage.prompt_tokens for reply in replies),
        "completion_tokens": sum(reply.usage.completion_tokens for reply in replies),
        "cost_usd": str(sum(costs)) if len(costs) == len(replies) else None,
        **estimated,
    }


def as_stored(calls: Iterable[CallUnderway], *, epoch: int) -> str:
    """The calls of a run as its row has them; empty where none has taken anything."""
    used = [(call, usage) for call in calls if (usage := call.usage()) is not None]
    rows = [
        {
            "agent_id": call.agent_id,
            "path": call.path,
            "name": call.name,
            "request_hash": digest(call.asked).hex(),
            "usage": usage,
        }
        for call, usage in used
    ]
    return json_text({"epoch": epoch, "calls": rows}) if rows else ""


async def count_lost(connection: psycopg.AsyncConnection[Any], execution_id: UUID, epoch: int) -> int:
    """Before the run is read: how many calls a driver before had under way and could not record. They are in the
    journal and the ledger then, as calls that were interrupted."""
    values = {"execution_id": execution_id, "epoch": epoch, "failure": json_text(INTERRUPTED)}
    cursor = await connection.execute(_COUNT_LOST, values)
    row: Any = await cursor.fetchone()
    return int(row[0])
