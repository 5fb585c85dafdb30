"""The SQL by which a runner opens requests and reads their answers, on a connection and in a transaction of its own."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

# Parameters: request_id, agent_id, agent_name, kind, question (JSON), expiry in seconds or None, execution_id, epoch.
OPEN_REQUEST = """
INSERT INTO hitl_request (request_id, execution_id, conversation_id, agent_id, agent_name, user_id, kind, question,
                          tool_names, task_description, status, user_instructions, created_at, expires_at)
SELECT %s, e.id, e.conversation_id, %s, %s, e.user_id, %s, %s::json, '{}', '', 'pending', '', clock_timestamp(),
       clock_timestamp() + make_interval(secs => %s)
FROM agents_execution e WHERE e.id = %s AND e.epoch = %s
ON CONFLICT (request_id) DO NOTHING
"""

# Parameters: execution_id. For `answers_of`.
READ_ANSWERS = """
SELECT request_id, status, decided_by_id::text, answer FROM hitl_request
WHERE execution_id = %s AND status <> 'pending'
"""

# Parameters: execution_id, epoch. A run that ended leaves no question open; only its driver may say that it ended.
CLOSE_REQUESTS = """
UPDATE hitl_request SET status = 'expired', responded_at = clock_timestamp()
WHERE execution_id = %(execution_id)s AND status = 'pending'
  AND EXISTS (SELECT 1 FROM agents_execution e WHERE e.id = %(execution_id)s AND e.epoch = %(epoch)s)
"""

# Parameters: request_ids, execution_id, epoch. The agent that asked was stopped, or begins anew.
WITHDRAW_REQUESTS = """
UPDATE hitl_request SET status = 'cancelled', responded_at = clock_timestamp()
WHERE request_id = ANY(%(request_ids)s) AND execution_id = %(execution_id)s AND status = 'pending'
  AND EXISTS (SELECT 1 FROM agents_execution e WHERE e.id = %(execution_id)s AND e.epoch = %(epoch)s)
"""


def answers_of(rows: Iterable[tuple[UUID, str, str | None, Any]]) -> dict[UUID, dict[str, Any]]:
    """What a run gets for each request that is no longer open: how it ended, who decided, and what they said."""
    return {
        request_id: {"status": status, "decided_by": decided_by, **(answer or {})}
        for request_id, status, decided_by, answer in rows
    }
