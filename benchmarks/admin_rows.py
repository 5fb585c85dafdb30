"""The rows of a busy installation, made by the database itself: 200,000 runs with a million steps and events.

Writes bulk SQL into an empty, migrated database. Knows nothing of the admin that is measured on it.
"""

import psycopg

RUNS = 200_000
PEOPLE = 200
EVENTS = STEPS = 5
"""For each run."""

# In this order, for each refers to those before it. Half a year of runs, one every minute and a bit.
ROWS = {
    "people": """
        INSERT INTO accounts_user (id, password, is_superuser, email, display_name, is_active, is_staff, date_joined)
        SELECT gen_random_uuid(), '', false, 'person' || n || '@example.org', 'Person ' || n, true, false, now()
        FROM generate_series(1, {people}) n""",
    "conversations": """
        INSERT INTO conversations_conversation
            (id, user_id, title, titled_by, origin, is_temporary, created_at, updated_at)
        SELECT gen_random_uuid(), u.ids[1 + n % {people}], 'Conversation ' || n, 'run', 'chat', false,
               now() - n * interval '2 minutes', now() - n * interval '2 minutes'
        FROM generate_series(1, {runs} / 2) n, (SELECT array_agg(id) AS ids FROM accounts_user) u""",
    "runs": """
        INSERT INTO agents_execution
            (id, user_id, conversation_id, status, pipeline, mode, question, input, answer, error_code, error_message,
             on_finish, epoch, leased_by, crashes, suspicion, lost_by, last_seq, last_hash, prompt_tokens,
             completion_tokens, cost_usd, created_at, started_at, ended_at, log_folded_at)
        SELECT gen_random_uuid(), user_id, id,
               CASE WHEN n % 50 = 0 THEN 'failed' WHEN n % 5000 = 1 THEN 'awaiting_user' WHEN n % 97 = 0
                    THEN 'cancelled' ELSE 'completed' END,
               'turn', 'auto', repeat('question ', 20), '{{"version": 1}}', repeat('answer ', 100),
               CASE WHEN n % 50 = 0 THEN (ARRAY['model_unavailable', 'crashed', 'too_long', 'budget'])[1 + n % 4]
                    ELSE '' END, '', '', 1, '', 0, 0, '', {events}, decode(repeat('00', 32), 'hex'), 4000, 600,
               CASE WHEN n % 20 = 0 THEN NULL ELSE 0.01 END,
               at, at, CASE WHEN n % 5000 = 1 THEN NULL ELSE at + interval '20 seconds' END, at + interval '1 minute'
        FROM (SELECT c.*, n, c.created_at - (n % 2) * interval '70 seconds' AS at
              FROM (SELECT *, row_number() OVER () AS k FROM conversations_conversation) c,
                   LATERAL (SELECT 2 * k + i AS n FROM generate_series(0, 1) i) numbered) runs""",
    "agents": """
        INSERT INTO agents_agentexecution
            (id, execution_id, agent_name, lineage, task, step_id, status, modified, user_comment, user_content,
             depends_on, error, prompt_tokens, completion_tokens, cost_usd, started_at, ended_at)
        SELECT gen_random_uuid(), id, 'chat', 'root', repeat('task ', 30), '',
               CASE WHEN status = 'failed' THEN 'failed' ELSE 'completed' END, false, '', '', '{{}}', '', 4000, 600,
               0.01, started_at, ended_at
        FROM agents_execution""",
    "steps": """
        INSERT INTO agents_step
            (agent_id, path, kind, name, request, request_hash, status, response, effect_key, usage, epoch, started_at,
             ended_at)
        SELECT a.id, ARRAY[n], CASE WHEN n % 2 = 0 THEN 'model' ELSE 'tool' END, 'step ' || n,
               jsonb_build_object('text', repeat('x', 300)), decode(repeat('00', 32), 'hex'), 'finished',
               jsonb_build_object('text', repeat('y', 300)), '',
               CASE WHEN n % 2 = 0 THEN '{{"prompt_tokens": 2000, "completion_tokens": 300, "cost_usd": "0.005",
               "model": "some-model", "provider": "some"}}'::jsonb END, 1, a.started_at, a.started_at
        FROM agents_agentexecution a, generate_series(1, {steps}) n""",
    "model calls": """
        INSERT INTO agents_modelcall
            (step_id, user_id, execution_id, conversation_id, agent_name, provider, model, prompt_tokens,
             completion_tokens, cost_usd, at)
        SELECT s.id, e.user_id, e.id, e.conversation_id, 'chat', 'some', 'some-model-' || s.id % 4, 2000, 300,
               CASE WHEN s.id % 4 = 0 THEN NULL ELSE 0.005 END, s.started_at
        FROM agents_step s JOIN agents_agentexecution a ON a.id = s.agent_id
        JOIN agents_execution e ON e.id = a.execution_id
        WHERE s.usage IS NOT NULL""",
    "effects": """
        INSERT INTO agents_effect
            (key, execution_id, agent_id, tool, arguments, arguments_hash, status, epoch, started_at, ended_at)
        SELECT md5(id::text), execution_id, id, 'send_email', '{{"to": ["a@example.org"]}}',
               decode(repeat('00', 32), 'hex'), CASE WHEN random() < 0.0001 THEN 'in_doubt' ELSE 'finished' END, 1,
               started_at, started_at
        FROM agents_agentexecution""",
    "events": """
        INSERT INTO agents_event (execution_id, seq, type, body, hash, origin, created_at)
        SELECT id, n, 'token', '{{"type": "token", "text": "' || repeat('z', 200) || '"}}',
               decode(repeat('00', 32), 'hex'), '', created_at
        FROM agents_execution, generate_series(1, {events}) n""",
    "interventions": """
        INSERT INTO agents_intervention (id, execution_id, kind, text, created_at)
        SELECT gen_random_uuid(), id, 'steer', 'wish', created_at FROM agents_execution""",
    "questions": """
        INSERT INTO conversations_message
            (id, conversation_id, role, text, mode, metadata, client_id, created_at)
        SELECT gen_random_uuid(), conversation_id, 'user', question, '', '{{}}', '', created_at
        FROM agents_execution""",
    "answers": """
        INSERT INTO conversations_message
            (id, conversation_id, role, text, execution_id, mode, metadata, client_id, created_at)
        SELECT gen_random_uuid(), conversation_id, 'assistant', '', id, '', '{{}}', '', created_at
        FROM agents_execution""",
    "requests": """
        INSERT INTO hitl_request
            (request_id, execution_id, conversation_id, agent_id, agent_name, user_id, kind, question, tool_names,
             task_description, risk, status, user_instructions, created_at, responded_at, approver_kind, approver_name)
        SELECT gen_random_uuid(), id, conversation_id, gen_random_uuid(), 'mail', user_id,
               CASE WHEN random() < 0.0005 THEN 'budget' ELSE 'approval' END,
               jsonb_build_object('question', repeat('q', 300)), ARRAY['send_email'], '',
               CASE WHEN random() < 0.0005 THEN 'high' ELSE 'medium' END,
               CASE WHEN status = 'awaiting_user' THEN 'pending' ELSE 'approved' END, '', created_at,
               CASE WHEN status = 'awaiting_user' THEN NULL ELSE created_at END,
               CASE WHEN random() < 0.3 THEN 'role' ELSE 'self' END, 'reviewer'
        FROM agents_execution""",
    "decisions": """
        INSERT INTO hitl_decision (request_id, happening, actor_id, actor_name, via, note, details, at)
        SELECT request_id, CASE WHEN random() < 0.0002 THEN 'refused' ELSE 'approved' END, user_id,
               'person@example.org', 'page', '', '{{}}', created_at
        FROM hitl_request WHERE status <> 'pending'""",
    "rules": """
        INSERT INTO hitl_rule (id, user_id, effect, scope, tool, agent_name, conditions, text, created_at)
        SELECT gen_random_uuid(), id, 'allow', 'rule', 'send_email', '', '[]', 'Allow send_email', now()
        FROM accounts_user""",
    "uses of rules": """
        INSERT INTO hitl_ruleuse (rule_id, call_key, execution_id, agent_name, tool, arguments, arguments_hash, at)
        SELECT r.id, e.id::text, e.id, 'mail', 'send_email', '{{}}', '', e.created_at
        FROM agents_execution e JOIN hitl_rule r USING (user_id)""",
    "documents": """
        INSERT INTO memory_document
            (id, owner_id, filename, title, doc_type, sha256, size_bytes, stored_as, origin, source_url, status, reason,
             note, pages_read, total_pages, total_chunks, total_terms, chunks_embedded, embedded_by, description,
             language, visibility, created_at, epoch, attempts)
        SELECT gen_random_uuid(), user_id, 'file' || row_number() OVER () || '.pdf', '', 'pdf', md5(id::text), 1000, '',
               'upload', '', CASE WHEN random() < 0.001 THEN 'failed' ELSE 'ready' END, '', '', 1, 1, 1, 1, 1, 'local',
               '', 'en', 'private', created_at, 1, 1
        FROM agents_execution""",
    "files": """
        INSERT INTO memory_workspacefile
            (id, scope, scope_id, user_id, path, version, sha256, size_bytes, media_type, changed_at)
        SELECT gen_random_uuid(), 'conversation', conversation_id, user_id, id || '.md', 1, '', 100, 'text/markdown',
               created_at
        FROM agents_execution""",
    "sandboxes": """
        INSERT INTO agents_sandboxsession
            (id, user_id, task_id, sandbox_type, key, provider, host, opened_at, used_at, ended_at, ended_because,
             close_wanted, runs, used_seconds, note)
        SELECT gen_random_uuid(), user_id, conversation_id, 'code', id::text, 'bwrap', 'host', created_at,
               created_at, created_at, CASE WHEN random() < 0.0005 THEN 'lost' ELSE 'idle' END, '', 1, 1, ''
        FROM agents_execution""",
    "webhooks": """
        INSERT INTO notices_endpoint (id, user_id, url, events, secret_sealed, disabled_why, created_at)
        SELECT gen_random_uuid(), id, 'https://example.org/hook', ARRAY['run.completed'], '', '', now()
        FROM accounts_user""",
    "deliveries": """
        INSERT INTO notices_delivery
            (id, endpoint_id, event_id, type, payload, status, attempts, last_error, response_head, next_attempt_at,
             created_at)
        SELECT gen_random_uuid(), w.id, left(e.id::text, 40), 'run.completed', '{{}}',
               CASE WHEN random() < 0.0005 THEN 'given_up' ELSE 'delivered' END, 1, '', '', e.created_at, e.created_at
        FROM agents_execution e JOIN notices_endpoint w USING (user_id)""",
    "mails": """
        INSERT INTO notices_mail
            (id, user_id, kind, subject_id, title, facts, path, attempts, next_attempt_at, last_error, created_at,
             sent_at)
        SELECT gen_random_uuid(), user_id, 'request_waiting', id::text, '', '[]', '/', 1, created_at, '', created_at,
               created_at
        FROM agents_execution""",
    "tokens": """
        INSERT INTO accounts_apitoken (id, user_id, name, digest, scopes, created_at, expires_at)
        SELECT gen_random_uuid(), user_id, 'token', md5(id::text) || md5(id::text), ARRAY['read'], created_at, now()
        FROM agents_execution""",
    "counted tries": """
        INSERT INTO accounts_loginattempt (door, subject_kind, subject, level, counted_at)
        SELECT 'login', 'account', id::text, 1, created_at FROM agents_execution""",
}


def fill(database_url: str, *, runs: int = RUNS) -> None:
    """Takes some minutes. An installation that is in use has had its tables analysed as well."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")  # no look at each foreign key
        for sql in ROWS.values():
            filled = sql.format(people=PEOPLE, runs=runs, events=EVENTS, steps=STEPS)
            connection.execute(filled.encode())
        connection.execute("VACUUM ANALYZE")
