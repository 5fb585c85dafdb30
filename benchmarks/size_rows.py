"""The rows of an installation that has been busy for a year, made by the database itself: a lot of people, their
conversations, runs, requests and documents. Bulk SQL into a migrated database; knows nothing of what is measured on it.

Sizes are those of life: an event has a quarter of a kilobyte, a step one, a chunk one with 384 halves. Hashes are
zeros, for nobody verifies the chain here. Ids of runs and agents begin with their time, as version 7 has it.
"""

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg

MODEL = "size-bench"
DIMENSIONS = 384
TURNS = 4
"""Questions of a conversation; each is a run of two agents, and an answer."""
CHUNKS_A_DOCUMENT = 50
REQUEST_EVERY = 10
PENDING_EVERY = 50
BANDS = 4096
"""How many different terms there are in all documents."""
# The bytes that a row takes with its indexes, as seen after filling (`pg_total_relation_size` / rows), rounded up.
BYTES_AN_EVENT = 500
BYTES_A_STEP = 1_500
BYTES_A_CHUNK = 5_600
BYTES_A_RUN = 7_500
# The log of what is written ahead, and what sorting takes.
SPARE_BYTES = 6 * 2**30

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Lot:
    """So many people and what is theirs. `skew`: how unequal they are; 1 for all alike, 3 gives the first of 5,000
    people about six of a hundred conversations. `terms`: of each chunk, in the keyword index."""

    name: str
    people: int
    conversations: int
    events_a_run: int
    steps_a_run: int
    documents: int
    terms: int = 12
    skew: float = 3.0
    running: int = 0

    @property
    def runs(self) -> int:
        return self.conversations * TURNS

    def bytes_on_disk(self) -> int:
        """What it will take, roughly, with all indexes and without the spare."""
        a_run = BYTES_A_RUN + self.events_a_run * BYTES_AN_EVENT + self.steps_a_run * BYTES_A_STEP
        return self.runs * a_run + self.documents * CHUNKS_A_DOCUMENT * BYTES_A_CHUNK


def crowd(*, events: int, steps: int, chunks: int) -> Lot:
    """The lot that has about so many of each. A run has five steps, as a question that needs one tool has. Raises
    ValueError where one of the numbers leaves nothing of the others."""
    conversations = steps // (5 * TURNS)
    if conversations < 1 or chunks < CHUNKS_A_DOCUMENT or events < 4 * conversations * TURNS:
        raise ValueError(
            f"--events {events} --steps {steps} --chunks {chunks} make no installation: at least {5 * TURNS} steps,"
            f" {CHUNKS_A_DOCUMENT} chunks, and four events for each five steps"
        )
    return Lot(
        name="crowd",
        people=max(2, conversations // 10),
        conversations=conversations,
        events_a_run=events // (conversations * TURNS),
        steps_a_run=5,
        documents=chunks // CHUNKS_A_DOCUMENT,
        running=min(100, conversations),
    )


HOUSE = Lot(
    name="house",
    people=1,
    conversations=25,
    events_a_run=50,
    steps_a_run=5,
    documents=20,
    terms=60,
    skew=1.0,
)
"""One middling person, who is there when the database is nearly empty and when it is full, with the same things."""

# In this order. `lot_…` are tables of the session: who is who in the lot, so that nothing has to be looked up.
ROWS = {
    "people": """
        CREATE TEMP TABLE lot_people AS SELECT n, gen_random_uuid() AS id FROM generate_series(1, {people}) n;
        INSERT INTO accounts_user (id, password, is_superuser, email, display_name, is_active, is_staff, date_joined)
        SELECT id, '', false, '{name}' || n || '@example.org', 'Person ' || n, true, false, now() - interval '1 year'
        FROM lot_people""",
    "conversations": """
        CREATE TEMP TABLE lot_conversations AS
        SELECT c.n, uuidv7(at - clock_timestamp()) AS id, p.id AS user_id, at
        FROM (SELECT n, 1 + floor({people} * power(random(), {skew}))::int AS person,
                     now() - interval '365 days' * (1 - n / ({conversations} + 1.0)) AS at
              FROM generate_series(1, {conversations}) n) c JOIN lot_people p ON p.n = c.person ORDER BY c.n;
        INSERT INTO conversations_conversation
            (id, user_id, title, titled_by, origin, is_temporary, created_at, updated_at)
        SELECT id, user_id, 'Conversation ' || n || ' about the report', 'run', 'chat', false, at,
               at + interval '20 minutes'
        FROM lot_conversations ORDER BY n""",
    "runs": """
        CREATE TEMP TABLE lot_runs AS
        SELECT n, id, root_id, child_id, conversation_id, user_id, at, question_id, answer_id, asks,
               lag(answer_id) OVER (PARTITION BY conversation_id ORDER BY n) AS before_id,
               CASE WHEN asks AND n % ({request_every} * {pending_every}) = 0 THEN 'awaiting_user'
                    WHEN n > {runs} - {running} THEN 'running' WHEN n % 50 = 7 THEN 'failed'
                    WHEN n % 97 = 0 THEN 'cancelled' ELSE 'completed' END AS status
        FROM (SELECT (c.n - 1) * {turns} + turn AS n, c.id AS conversation_id, c.user_id,
                     c.at + turn * interval '5 minutes' AS at,
                     ((c.n - 1) * {turns} + turn) % {request_every} = 0 AS asks,
                     uuidv7(c.at + turn * interval '5 minutes' - clock_timestamp()) AS id,
                     uuidv7(c.at + turn * interval '5 minutes' - clock_timestamp()) AS root_id,
                     uuidv7(c.at + turn * interval '5 minutes' - clock_timestamp()) AS child_id,
                     gen_random_uuid() AS question_id, gen_random_uuid() AS answer_id
              FROM lot_conversations c, generate_series(1, {turns}) turn) numbered ORDER BY n;
        CREATE INDEX ON lot_runs (n);
        ANALYZE lot_runs;
        INSERT INTO agents_execution
            (id, user_id, conversation_id, status, pipeline, mode, question, input, answer, error_code, error_message,
             on_finish, finish_handled_at, epoch, lease_until, leased_by, crashes, suspicion, lost_by, last_seq,
             last_hash, prompt_tokens, completion_tokens, cost_usd, created_at, started_at, ended_at, log_folded_at)
        SELECT id, user_id, conversation_id, status, 'turn', 'auto', repeat('question ', 20),
               json_build_object('version', 1, 'history', repeat('What was said before. ', 60)),
               repeat('An answer in some words. ', 40),
               CASE WHEN status = 'failed' THEN 'model_unavailable' ELSE '' END, '',
               'conversations.tasks.turn_finished', CASE WHEN over THEN at + interval '40 seconds' END, 1,
               CASE WHEN status = 'running' THEN now() + interval '1 day' END,
               CASE WHEN status = 'running' THEN 'some-runner' ELSE '' END, 0, 0, '', {events},
               decode(repeat('00', 32), 'hex'), 4000, 600, 0.01, at, at, CASE WHEN over THEN at + interval '30 s' END,
               CASE WHEN over THEN at + interval '6 minutes' END
        FROM (SELECT *, status NOT IN ('running', 'awaiting_user') AS over FROM lot_runs) r ORDER BY n""",
    "agents": """
        INSERT INTO agents_agentexecution
            (id, execution_id, parent_id, agent_name, lineage, task, step_id, status, modified, user_comment,
             user_content, depends_on, output, error, prompt_tokens, completion_tokens, cost_usd, started_at, ended_at)
        SELECT a.id, r.id, a.parent_id, a.name, a.lineage, repeat('task ', 30), '',
               CASE WHEN r.status = 'failed' THEN 'failed' WHEN r.status IN ('running', 'awaiting_user') THEN 'running'
                    ELSE 'completed' END,
               false, '', '', '{{}}', json_build_object('text', repeat('output ', 40)), '', 2000, 300, 0.005, r.at,
               r.at + interval '30 s'
        FROM lot_runs r, LATERAL (VALUES (r.root_id, NULL::uuid, 'chat', 'root'),
                                         (r.child_id, r.root_id, 'research', 'root/1')) a (id, parent_id, name, lineage)
        ORDER BY r.n""",
    "steps": """
        INSERT INTO agents_step
            (agent_id, path, kind, name, request, request_hash, status, response, effect_key, usage, epoch, started_at,
             ended_at)
        SELECT CASE WHEN s <= 3 THEN r.root_id ELSE r.child_id END, ARRAY[s],
               CASE WHEN s % 2 = 1 THEN 'model' ELSE 'tool' END, 'step ' || s,
               json_build_object('text', repeat('what it is asked ', 35)), decode(repeat('00', 32), 'hex'), 'finished',
               json_build_object('text', repeat('what it says ', 30)), '',
               CASE WHEN s % 2 = 1 THEN '{{"prompt_tokens": 2000, "completion_tokens": 300, "cost_usd": "0.005",
               "model": "some-model", "provider": "some"}}'::json END, 1, r.at, r.at + interval '3 seconds'
        FROM lot_runs r, generate_series(1, {steps}) s ORDER BY r.n, s""",
    "model calls": """
        INSERT INTO agents_modelcall
            (step_id, user_id, execution_id, conversation_id, agent_name, provider, model, prompt_tokens,
             completion_tokens, cost_usd, at)
        SELECT s.id, r.user_id, r.id, r.conversation_id, 'chat', 'some', 'some-model', 2000, 300, 0.005, s.started_at
        FROM lot_runs r JOIN agents_step s ON s.agent_id IN (r.root_id, r.child_id) WHERE s.kind = 'model'""",
    "events": """
        INSERT INTO agents_event (execution_id, seq, agent_id, type, body, hash, origin, created_at)
        SELECT r.id, s, r.root_id,
               CASE WHEN s = {events} THEN 'complete' WHEN s % 5 = 0 THEN 'tool_result' ELSE 'token' END,
               '{{"type":"' || CASE WHEN s = {events} THEN 'complete","answer":"' || repeat('done ', 24)
                                    WHEN s % 5 = 0 THEN 'tool_result","tool":"search","content":"' || repeat('f ', 60)
                                    ELSE 'token","channel":"answer","content":"' || repeat('words ', 10) END
               || '","seq":' || s || ',"execution_id":"' || r.id || '","agent_id":"' || r.root_id
               || '","timestamp":' || (extract(epoch FROM r.at) * 1000)::bigint || '}}',
               decode(repeat('00', 32), 'hex'), CASE WHEN s % 5 = 0 THEN 'root/' || s ELSE '' END,
               r.at + s * interval '500 ms'
        FROM lot_runs r, generate_series(1, {events}) s WHERE r.n BETWEEN {first} AND {last} ORDER BY r.n, s""",
    "effects": """
        INSERT INTO agents_effect
            (key, execution_id, agent_id, tool, arguments, arguments_hash, status, epoch, started_at, ended_at)
        SELECT md5(id::text), id, root_id, 'send_email', '{{"to": ["a@example.org"]}}',
               decode(repeat('00', 32), 'hex'), 'finished', 1, at, at
        FROM lot_runs WHERE asks AND status = 'completed'""",
    "messages": """
        INSERT INTO conversations_message
            (id, conversation_id, parent_id, role, text, execution_id, mode, metadata, client_id, created_at, words_at)
        SELECT m.id, r.conversation_id, m.parent_id, m.role, m.text, m.execution_id, '', '{{}}', '', m.at, m.at
        FROM lot_runs r, LATERAL (
            VALUES (r.question_id, r.before_id, 'user', repeat('question ', 20), NULL::uuid, r.at),
                   (r.answer_id, r.question_id, 'assistant', '', r.id, r.at + interval '1 ms'))
            m (id, parent_id, role, text, execution_id, at) ORDER BY r.n""",
    "words of messages": """
        INSERT INTO conversations_messagewords (message_id, conversation_id, user_id, said_at, words)
        SELECT m.id, r.conversation_id, r.user_id, r.at, array_to_tsvector(ARRAY(
                   SELECT DISTINCT left(replace(r.user_id::text, '-', ''), 5) || 'q'
                          || translate(to_oct((r.n * 7919 + w * 104729) % {bands}), '01234567', 'bkmptvxz')
                   FROM generate_series(1, 20) w))
        FROM lot_runs r, LATERAL (VALUES (r.question_id), (r.answer_id)) m (id)""",
    "requests": """
        INSERT INTO hitl_request
            (request_id, execution_id, conversation_id, agent_id, agent_name, user_id, kind, question, tool_names,
             task_description, risk, status, user_instructions, created_at, announced_at, responded_at, expires_at,
             decided_by_id, decided_via, approver_kind, approver_name)
        SELECT gen_random_uuid(), id, conversation_id, root_id, 'mail', user_id, 'approval',
               json_build_object('question', repeat('May it? ', 40)), ARRAY['send_email'], '',
               CASE WHEN n % 200 = 0 THEN 'high' ELSE 'medium' END,
               CASE WHEN status = 'awaiting_user' THEN 'pending' ELSE 'approved' END, '', at, at,
               CASE WHEN status <> 'awaiting_user' THEN at + interval '1 minute' END,
               CASE WHEN status = 'awaiting_user' THEN now() + interval '3 days' END,
               CASE WHEN status <> 'awaiting_user' THEN user_id END, '',
               CASE WHEN n % 70 = 0 THEN 'role' ELSE 'self' END,
               CASE WHEN n % 70 = 0 THEN 'reviewer' ELSE '' END
        FROM lot_runs WHERE asks ORDER BY n""",
    "decisions": """
        INSERT INTO hitl_decision (request_id, happening, actor_id, actor_name, via, note, details, at)
        SELECT q.request_id, 'approved', q.user_id, 'person@example.org', 'page', '', '{{}}', q.responded_at
        FROM hitl_request q JOIN lot_runs r ON r.id = q.execution_id WHERE q.status <> 'pending' ORDER BY r.n""",
    "memories": """
        INSERT INTO memory_memory
            (id, user_id, kind, field, text, status, reason, is_pinned, said_at, created_at, source_turn,
             source_excerpt, terms, origin_key, times_used, embedded_by)
        SELECT gen_random_uuid(), p.id, 'fact', '', 'Prefers the short report of ' || m, 'active', '', false,
               now() - m * interval '9 days', now() - m * interval '9 days', '', '', ARRAY['short', 'report'],
               'k' || m, 0, ''
        FROM lot_people p, generate_series(1, 20) m""",
    "documents": """
        CREATE TEMP TABLE lot_documents AS
        SELECT d.n, gen_random_uuid() AS id, p.id AS owner_id, at
        FROM (SELECT n, 1 + floor({people} * power(random(), {skew}))::int AS person,
                     now() - interval '365 days' * random() AS at FROM generate_series(1, {documents}) n) d
        JOIN lot_people p ON p.n = d.person ORDER BY p.id, d.n;
        INSERT INTO memory_document
            (id, owner_id, filename, title, doc_type, sha256, size_bytes, stored_as, origin, source_url, status, reason,
             note, pages_read, total_pages, total_chunks, total_terms, chunks_embedded, embedded_by, description,
             language, visibility, created_at, ready_at, epoch, attempts)
        SELECT id, owner_id, 'file' || n || '.pdf', 'Report ' || n, 'pdf', md5(id::text) || md5(id::text), 100000, '',
               'upload', '', 'ready', '', '', 20, 20, {chunks}, {chunks} * {terms}, {chunks}, '{model}', '',
               'en', CASE WHEN n % 20 = 7 THEN 'groups' ELSE 'private' END, at, at, 1, 1
        FROM lot_documents""",
    "chunks": """
        CREATE TEMP TABLE lot_chunks AS
        SELECT nextval(pg_get_serial_sequence('memory_chunk', 'key')) AS key, d.id AS document_id, d.owner_id,
               c AS ordinal
        FROM (SELECT * FROM lot_documents ORDER BY owner_id, n) d, generate_series(0, {chunks} - 1) c;
        INSERT INTO memory_chunk
            (key, chunk_id, document_id, ordinal, text, start, "end", page, last_page, section_title, kind, tokens)
        SELECT key, uuidv7(), document_id, ordinal,
               'Passage ' || key || ' ' || repeat('of a report about the year ', 33),
               ordinal * 900, ordinal * 900 + 900, 1 + ordinal / 3, 1 + ordinal / 3, 'Section', 'paragraph', 200
        FROM lot_chunks""",
    "terms of chunks": """
        INSERT INTO memory_posting (owner_id, term, document_id, chunk_key, count, length)
        SELECT owner_id,
               'q' || translate(to_oct(t * ({bands} / {terms}) + (key * 7919 + t * 31) % ({bands} / {terms})),
                                '01234567', 'bkmptvxz'),
               document_id, key, 1 + t % 3, 120
        FROM lot_chunks, generate_series(0, {terms} - 1) t""",
    # Of some thousands, each many times: making a million takes longer than storing them, and no search sees it.
    "vectors": """
        CREATE TEMP TABLE lot_vectors AS
        SELECT n, l2_normalize((SELECT array_agg(random() - 0.5 + 0 * (n + v)) FROM generate_series(1, {dimensions}) v)
                               ::real[]::vector::halfvec) AS embedding
        FROM generate_series(0, least(2000, {documents} * {chunks}) - 1) n;
        CREATE INDEX ON lot_vectors (n);
        ANALYZE lot_vectors;
        INSERT INTO memory_embeddingmodel (name, dimensions, problem) VALUES ('{model}', {dimensions}, '')
        ON CONFLICT DO NOTHING;
        INSERT INTO memory_vector (chunk_key, model, "window", owner_id, document_id, embedding)
        SELECT c.key, '{model}', 0, c.owner_id, c.document_id, v.embedding
        FROM lot_chunks c JOIN lot_vectors v ON v.n = c.key * 7919 % least(2000, {documents} * {chunks})
        ORDER BY c.key""",
}
# Filled without their indexes, which are built after: row by row it would take minutes.
WITHOUT_INDEXES = {"words of messages": "conversations_messagewords", "terms of chunks": "memory_posting"}
_INDEXES = """
    SELECT i.indexrelid::regclass::text, c.conname, coalesce(pg_get_constraintdef(c.oid), pg_get_indexdef(i.indexrelid))
    FROM pg_index i LEFT JOIN pg_constraint c ON c.conindid = i.indexrelid WHERE i.indrelid = %s::regclass
"""
# So many runs' events in one statement: somebody watches.
RUNS_AT_ONCE = 20_000
TEMPORARY = ("people", "conversations", "runs", "documents", "chunks", "vectors")
# The run that a runner reads back (`agents.runtime.loading`): many agents, steps and frames that are not folded yet.
LONG_AGENTS, LONG_STEPS, LONG_EVENTS = 20, 500, 2_000
_LONG_RUN = """
    WITH person AS (SELECT id FROM accounts_user WHERE email = 'house1@example.org'), run AS (
        INSERT INTO agents_execution
            (id, user_id, status, pipeline, mode, question, input, answer, error_code, error_message, on_finish, epoch,
             lease_until, leased_by, crashes, suspicion, lost_by, last_seq, last_hash, prompt_tokens,
             completion_tokens, cost_usd, created_at, started_at)
        SELECT %(run)s, person.id, 'running', 'turn', 'auto', 'a long one', '{"version": 1}', '', '', '', '', 1,
               now() + interval '1 day', 'some-runner', 0, 0, '', 0, decode(repeat('00', 32), 'hex'), 0, 0, 0,
               now(), now()
        FROM person RETURNING id
    ), agents AS (
        INSERT INTO agents_agentexecution
            (id, execution_id, agent_name, lineage, task, step_id, status, modified, user_comment, user_content,
             depends_on, error, prompt_tokens, completion_tokens, cost_usd, started_at)
        SELECT uuidv7(), run.id, 'research', 'root/' || n, 'a part', '', 'running', false, '', '', '{}', '', 0, 0, 0,
               now()
        FROM run, generate_series(1, %(agents)s) n RETURNING id
    ), steps AS (
        INSERT INTO agents_step
            (agent_id, path, kind, name, request, request_hash, status, response, effect_key, usage, epoch, started_at,
             ended_at)
        SELECT agents.id, ARRAY[s], CASE WHEN s %% 2 = 1 THEN 'model' ELSE 'tool' END, 'step ' || s,
               json_build_object('text', repeat('what it is asked ', 60)), decode(repeat('00', 32), 'hex'), 'finished',
               json_build_object('text', repeat('what it says ', 60)), '', NULL, 1, now(), now()
        FROM agents, generate_series(1, %(steps)s / %(agents)s) s
    )
    INSERT INTO agents_event (execution_id, seq, agent_id, type, body, hash, origin, created_at)
    SELECT run.id, s, run.id, CASE WHEN s %% 5 = 0 THEN 'agent_state' ELSE 'token' END,
           json_build_object('type', 'token', 'channel', 'answer', 'content', repeat('words ', 10), 'seq', s,
                             'timestamp', 1790000000000 + s), decode(repeat('00', 32), 'hex'),
           CASE WHEN s %% 5 = 0 THEN 'root/' || s ELSE '' END, now()
    FROM run, generate_series(1, %(events)s) s
"""


def fill(connection: psycopg.Connection[Any], lot: Lot, *, say: Say) -> None:
    """Ten million events and what belongs to them take some minutes. `say` is told how far it is."""
    connection.execute("SET session_replication_role = replica")  # no look at each foreign key
    connection.execute("SET synchronous_commit = off")
    connection.execute("SET work_mem = '256MB'")
    connection.execute("SET maintenance_work_mem = '512MB'")
    for name, sql in ROWS.items():
        begun = time.monotonic()
        with _without_indexes(connection, WITHOUT_INDEXES.get(name)):
            for first, last in _parts(name, lot):
                connection.execute(_filled(sql, lot, first, last))
                if last < lot.runs:
                    say(f"  {name}: {last / lot.runs:.0%}")
        say(f"  {name}: {time.monotonic() - begun:.0f} s")
    for name in TEMPORARY:
        connection.execute(f"DROP TABLE lot_{name}".encode())


def make_long_run(connection: psycopg.Connection[Any]) -> uuid.UUID:
    """Of the person of HOUSE: with LONG_STEPS steps of LONG_AGENTS agents, and LONG_EVENTS events."""
    made = connection.execute("SELECT uuidv7()").fetchone()
    assert made is not None
    values = {"run": made[0], "agents": LONG_AGENTS, "steps": LONG_STEPS, "events": LONG_EVENTS}
    connection.execute(_LONG_RUN, values)
    return uuid.UUID(str(made[0]))


@contextmanager
def _without_indexes(connection: psycopg.Connection[Any], table: str | None) -> Iterator[None]:
    """Puts them back as they were."""
    found = connection.execute(_INDEXES, [table]).fetchall() if table else []
    for index, constraint, _ in found:
        drop = f"ALTER TABLE {table} DROP CONSTRAINT {constraint}" if constraint else f"DROP INDEX {index}"
        connection.execute(drop.encode())
    yield
    for _, constraint, definition in found:
        add = f"ALTER TABLE {table} ADD CONSTRAINT {constraint} {definition}" if constraint else definition
        connection.execute(add.encode())


def term(number: int) -> str:
    """A word of the documents; of letters that no stemmer and no list of stop words touches."""
    return "q" + format(number, "o").translate(str.maketrans("01234567", "bkmptvxz"))


def _parts(name: str, lot: Lot) -> list[tuple[int, int]]:
    """The runs of each statement, from and to."""
    if name != "events":
        return [(1, lot.runs)]
    return [(first, min(first + RUNS_AT_ONCE - 1, lot.runs)) for first in range(1, lot.runs + 1, RUNS_AT_ONCE)]


def _filled(sql: str, lot: Lot, first: int, last: int) -> bytes:
    numbers = {
        "name": lot.name,
        "people": lot.people,
        "conversations": lot.conversations,
        "turns": TURNS,
        "runs": lot.runs,
        "running": lot.running,
        "events": lot.events_a_run,
        "steps": lot.steps_a_run,
        "documents": lot.documents,
        "chunks": CHUNKS_A_DOCUMENT,
        "terms": lot.terms,
        "skew": lot.skew,
        "bands": BANDS,
        "model": MODEL,
        "dimensions": DIMENSIONS,
        "request_every": REQUEST_EVERY,
        "pending_every": PENDING_EVERY,
        "first": first,
        "last": last,
    }
    return sql.format(**numbers).encode()
