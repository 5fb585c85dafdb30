"""The SQL by which a runner opens requests and reads their answers, on a connection and in a transaction of its own."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any
from uuid import UUID

from hitl.deadlines import Deadlines
from hitl.kinds import ApproverKind, Risk, Stage, Via
from hyperagent.lib.text import json_text

# Parameters: those of `opening`, execution_id, epoch. What would be asked of a program is asked of the person who
# answers for it; of an administrator where nobody does.
OPEN_REQUEST = """
INSERT INTO hitl_request (request_id, execution_id, conversation_id, agent_id, agent_name, user_id, kind, stage,
                          question, tool_names, task_description, risk, arguments_hash, approver_kind, approver_name,
                          approver_ids, different_person, status, user_instructions, created_at, remind_at, expires_at)
SELECT %(request_id)s, e.id, e.conversation_id, %(agent_id)s, %(agent_name)s, e.user_id, %(kind)s, %(stage)s,
       %(question)s::json, %(tool_names)s, %(task_description)s, %(risk)s, %(arguments_hash)s,
       CASE WHEN p.user_id IS NULL OR %(approver_kind)s <> 'self' THEN %(approver_kind)s
            WHEN p.owner_id IS NULL THEN 'role' ELSE 'named' END,
       CASE WHEN p.user_id IS NOT NULL AND p.owner_id IS NULL AND %(approver_kind)s = 'self' THEN 'administrator'
            ELSE %(approver_name)s END,
       CASE WHEN p.owner_id IS NOT NULL AND %(approver_kind)s = 'self' THEN ARRAY[p.owner_id]
            ELSE %(approver_ids)s::uuid[] END,
       %(different_person)s, 'pending', '', now.at,
       now.at + make_interval(secs => %(remind_s)s), now.at + make_interval(secs => %(expires_s)s)
FROM agents_execution e CROSS JOIN (SELECT clock_timestamp() AS at) now
LEFT JOIN accounts_serviceaccount p ON p.user_id = e.user_id
WHERE e.id = %(execution_id)s AND e.epoch = %(epoch)s
ON CONFLICT (request_id) DO NOTHING
"""

# Parameters: execution_id. For `answers_of`.
READ_ANSWERS = """
SELECT request_id, status, decided_by_id::text, decided_via, answer FROM hitl_request
WHERE execution_id = %s AND status <> 'pending'
"""

# Parameters: execution_id, epoch. A run that ended leaves no question open; only its driver may say that it ended.
CLOSE_REQUESTS = """
WITH ended AS (
    UPDATE hitl_request SET status = 'expired', responded_at = clock_timestamp(), decided_via = 'run'
    WHERE execution_id = %(execution_id)s AND status = 'pending'
      AND EXISTS (SELECT 1 FROM agents_execution e WHERE e.id = %(execution_id)s AND e.epoch = %(epoch)s)
    RETURNING request_id
)
INSERT INTO hitl_decision (request_id, happening, actor_name, via, note, details, at)
SELECT request_id, 'expired', '', 'run', '', '{}', clock_timestamp() FROM ended
"""

# Parameters: request_ids, execution_id, epoch. The agent that asked was stopped, or begins anew.
WITHDRAW_REQUESTS = """
WITH ended AS (
    UPDATE hitl_request SET status = 'cancelled', responded_at = clock_timestamp(), decided_via = 'run'
    WHERE request_id = ANY(%(request_ids)s) AND execution_id = %(execution_id)s AND status = 'pending'
      AND EXISTS (SELECT 1 FROM agents_execution e WHERE e.id = %(execution_id)s AND e.epoch = %(epoch)s)
    RETURNING request_id
)
INSERT INTO hitl_decision (request_id, happening, actor_name, via, note, details, at)
SELECT request_id, 'cancelled', '', 'run', '', '{}', clock_timestamp() FROM ended
"""


def opening(
    request_id: UUID, *, agent_id: UUID, agent_name: str, kind: str, question: Any, deadlines: Deadlines
) -> dict[str, Any]:
    """The columns of a new request. Lists are searched by what the question says of itself."""
    asked = question if isinstance(question, dict) else {}
    approvers = asked.get("approvers")
    approvers = approvers if isinstance(approvers, dict) else {}
    calls = asked.get("tool_calls")
    only = calls[0] if isinstance(calls, list) and len(calls) == 1 else {}
    return {
        "request_id": request_id,
        "agent_id": agent_id,
        "agent_name": agent_name,
        "kind": kind,
        "question": json_text(question),
        "stage": _one_of(Stage, asked.get("stage"), ""),
        "tool_names": [str(name)[:120] for name in asked.get("tool_names") or ()],
        "task_description": str(asked.get("task_description") or ""),
        "risk": _one_of(Risk, asked.get("risk"), ""),
        "arguments_hash": str(only.get("arguments_hash") or "")[:64],
        "approver_kind": _one_of(ApproverKind, approvers.get("kind"), ApproverKind.SELF),
        "approver_name": str(approvers.get("name") or "")[:150],
        "approver_ids": list(approvers.get("user_ids") or ()),
        "different_person": bool(approvers.get("different_person")),
        "remind_s": deadlines.remind_s(kind),
        "expires_s": deadlines.timeout_s(kind),
    }


def _one_of(words: type[StrEnum], value: Any, otherwise: str) -> str:
    return str(value) if value in set(words) else otherwise


def answers_of(rows: Iterable[tuple[UUID, str, str | None, str, Any]]) -> dict[UUID, dict[str, Any]]:
    """What a run gets for each request that is no longer open: how it ended, who decided, and what they said; and
    whether another program's agent said it in their name."""
    return {
        request_id: {
            "status": status,
            "decided_by": decided_by,
            **({"by_agent": True} if via == Via.AGENT else {}),
            **(answer or {}),
        }
        for request_id, status, decided_by, via, answer in rows
    }
