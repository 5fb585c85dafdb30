"""The SQL by which a runner opens requests and reads their answers, on a connection and in a transaction of its own."""

# Parameters: request_id, agent_id, agent_name, kind, question (JSON), expiry in seconds or None, execution_id, epoch.
OPEN_REQUEST = """
INSERT INTO hitl_request (request_id, execution_id, conversation_id, agent_id, agent_name, user_id, kind, question,
                          tool_names, task_description, status, user_instructions, created_at, expires_at)
SELECT %s, e.id, e.conversation_id, %s, %s, e.user_id, %s, %s::jsonb, '{}', '', 'pending', '', clock_timestamp(),
       clock_timestamp() + make_interval(secs => %s)
FROM agents_execution e WHERE e.id = %s AND e.epoch = %s
ON CONFLICT (request_id) DO NOTHING
"""

# Parameters: execution_id. Rows: request_id, answer (JSON).
READ_ANSWERS = """
SELECT request_id, jsonb_build_object('status', status, 'decided_by', decided_by_id::text) || coalesce(answer, '{}')
FROM hitl_request WHERE execution_id = %s AND status <> 'pending'
"""

# Parameters: execution_id. A run that ended leaves no question open.
CLOSE_REQUESTS = """
UPDATE hitl_request SET status = 'expired', responded_at = clock_timestamp()
WHERE execution_id = %s AND status = 'pending'
"""
