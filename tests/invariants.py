"""What must hold after every fault: one function for each invariant, over the tables and what a campaign saw besides.

Each returns what it finds wrong as sentences, so a storm and a single test read the same. Nothing is changed, nothing
is waited for: call them when all that was begun is over or waits.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import psycopg
from psycopg.rows import dict_row

from agents.engine import chain
from agents.engine.events import TERMINAL_TYPES
from agents.engine.states import LIVE_AGENTS, TERMINAL_STATUSES, ExecutionStatus, may_move
from agents.runtime.leases import MAX_CRASHES
from tests.shown import shown

Rows = list[dict[str, Any]]
Connection = psycopg.Connection[dict[str, Any]]
MARKS_OF_A_TRACEBACK: Final = ("Traceback (most recent call last)", 'File "/')
CLAIM_SLACK_S: Final = 5.0
STREAM_WITHIN_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class Sink:
    """A place in the world that counts what reaches it by its idempotency key. `tool`: the one whose effects' keys in
    the ledger these are; empty where the keys are the campaign's own."""

    name: str
    counts: Mapping[str, int]
    tool: str = ""


@dataclass(frozen=True, slots=True)
class Answered:
    """What the API or a page said to a request."""

    status: int
    text: str
    what: str = ""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a campaign knows besides the tables. `runs`: those that were accepted, which is promised and so not lost.

    `failures`: the codes by which a run may fail here. `approved_only`: tools that in this campaign nobody may use
    without a yes. `outages`: when Postgres or all workers were away, which no worker can do anything about.
    `bystanders`: runs of people whom no fault was aimed at. `resumes_s`: how long each socket that was cut off needed
    to go on, once somebody answered. `memory_mib`: of each process that lived through it all, before and after.
    """

    runs: Sequence[UUID]
    sinks: Sequence[Sink] = ()
    answers: Sequence[Answered] = ()
    logs: str = ""
    secrets: Sequence[str] = ()
    failures: frozenset[str] = frozenset()
    approved_only: Sequence[str] = ()
    lease_s: float = 15.0
    slack_s: float = CLAIM_SLACK_S
    outages: Sequence[tuple[datetime, datetime]] = ()
    bystanders: Sequence[UUID] = ()
    resumes_s: Sequence[float] = ()
    resume_within_s: float = STREAM_WITHIN_S
    memory_mib: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    memory_growth_mib: float = 200.0


def no_run_is_lost(tables: Connection, seen: Seen) -> list[str]:
    """I1: an accepted run ends, or waits for a person who can still answer."""
    rows = {row["id"]: row for row in _runs(tables, seen.runs)}
    found = [f"run {id_} was accepted and is not there" for id_ in seen.runs if id_ not in rows]
    asked = tables.execute(
        "SELECT DISTINCT execution_id FROM hitl_request WHERE execution_id = ANY(%s) AND status = 'pending'",
        [list(seen.runs)],
    ).fetchall()
    waits_for_somebody = {row["execution_id"] for row in asked}
    for id_, row in rows.items():
        if row["status"] in ("pending", "running"):
            found.append(f"run {id_} is {row['status']}: it neither ended nor waits for a person")
        elif row["status"] == "awaiting_user" and id_ not in waits_for_somebody:
            found.append(f"run {id_} waits, and nobody is asked")
    return found


def one_owner(tables: Connection, seen: Seen) -> list[str]:
    """I2: whoever lost a run writes nothing more. A step or an effect never carries an older lease than one before."""
    found = []
    for row in tables.execute(_OLDER_AFTER_NEWER, [list(seen.runs)]).fetchall():
        found.append(
            f"run {row['id']}: {row['what']} {row['name']} was written under lease {row['epoch']} after lease"
            f" {row['newest']} had written"
        )
    for row in tables.execute(_LEASES, [list(seen.runs)]).fetchall():
        found.append(f"run {row['id']} is {row['status']} with the lease of '{row['leased_by']}'")
    return found


def the_log_is_whole(tables: Connection, seen: Seen) -> list[str]:
    """I3: no gap, no double, no change; what the events say is what the tables say."""
    found = []
    for run in _runs(tables, seen.runs):
        rows = _event_rows(tables, run["id"])
        lines = [line for row in rows for line in _unfolded(row)]
        found += [f"run {run['id']}, event {fault.seq}: {fault.what}" for fault in chain.faults(lines)]
        said = [json.loads(body) for _, body, _ in lines]
        found += [f"run {run['id']}: {fault}" for fault in _told_otherwise(tables, run, said)]
    return found


def each_effect_at_most_once(tables: Connection, seen: Seen) -> list[str]:
    """I4: nothing arrives twice; what nobody knows is said, and what is said to be done arrived."""
    found = []
    for sink in seen.sinks:
        found += [f"{sink.name}: {key} arrived {count} times" for key, count in sink.counts.items() if count > 1]
        found += _not_in_the_ledger(tables, sink, seen) if sink.tool else []
    for row in tables.execute(_UNSETTLED, [list(seen.runs)]).fetchall():
        found.append(f"run {row['execution_id']} is over, and its {row['tool']} is still {row['status']}: nobody knew")
    return found


def statuses_follow_the_table(tables: Connection, seen: Seen) -> list[str]:
    """I5: each move is a legal one, what is over stays over, and of a run that is over no agent works."""
    found = []
    for run in _runs(tables, seen.runs):
        said = [json.loads(body) for row in _event_rows(tables, run["id"]) for _, body, _ in _unfolded(row)]
        found += [f"run {run['id']}: {fault}" for fault in _illegal_moves(said)]
    live = tables.execute(_AT_WORK_AFTER_THE_END, [list(seen.runs), list(LIVE_AGENTS)]).fetchall()
    return found + [f"run {row['id']} is over, and its agent {row['agent_name']} is {row['status']}" for row in live]


def every_refusal_is_clear(tables: Connection, seen: Seen) -> list[str]:
    """I6: a failure has a code and a sentence; nobody sees a traceback or a secret, and logs hold no secret."""
    found = []
    for run in _runs(tables, seen.runs):
        if run["status"] == "failed":
            found += [f"run {run['id']}: {fault}" for fault in _unclear(run["error_message"], seen.secrets)]
            if not run["error_code"] or run["error_code"] not in seen.failures:
                found.append(f"run {run['id']} failed with '{run['error_code']}': {run['error_message']}")
    for answer in seen.answers:
        found += [f"{answer.what} answered {answer.status}: {fault}" for fault in _unclear_answer(answer, seen.secrets)]
    return found + [
        f"a log holds the secret that ends with …{secret[-2:]}" for secret in _held(seen.logs, seen.secrets)
    ]


def one_decision_a_request(tables: Connection, seen: Seen) -> list[str]:
    """I7: a request ends once, as its history says, and what was done is what was approved, to the letter."""
    found = []
    for row in tables.execute(_DECIDED_OTHERWISE, [list(seen.runs)]).fetchall():
        found.append(f"request {row['request_id']} is {row['status']}, its history says {row['said']}")
    values = {"runs": list(seen.runs), "tools": list(seen.approved_only)}
    for row in tables.execute(_NOT_APPROVED, values).fetchall():
        found.append(f"run {row['execution_id']}: {row['tool']} was begun, and nobody approved these arguments")
    return found


def memory_and_money_are_bounded(tables: Connection, seen: Seen) -> list[str]:
    """I8: tokens are counted once, a run that kills its workers is stopped, processes do not grow without bound."""
    found = []
    for row in tables.execute(_COUNTED_OTHERWISE, [list(seen.runs)]).fetchall():
        found.append(f"run {row['id']} says {row['said']} tokens, its steps say {row['counted']}, calls {row['paid']}")
    for run in _runs(tables, seen.runs):
        if run["crashes"] > MAX_CRASHES:
            found.append(f"run {run['id']} was claimed again after it had crashed {run['crashes']} workers")
    for name, (before, after) in seen.memory_mib.items():
        if after - before > seen.memory_growth_mib:
            found.append(f"{name} grew from {before:.0f} to {after:.0f} MiB")
    return found


def others_are_not_affected(tables: Connection, seen: Seen) -> list[str]:
    """I9: whom no fault was aimed at notices none; nothing of one run is filed under another."""
    found = []
    for run in _runs(tables, seen.bystanders):
        if run["status"] != "completed":
            found.append(f"run {run['id']} of a bystander is {run['status']}: {run['error_message']}")
    for row in tables.execute(_OF_ANOTHER, {"runs": [*seen.runs, *seen.bystanders]}).fetchall():
        found.append(f"{row['what']} {row['id']} stands under run {row['execution_id']}, which it is not of")
    return found


def recovery_is_bounded(tables: Connection, seen: Seen) -> list[str]:
    """I10: a run whose worker is lost goes on within its lease and a little, a stream soon after it was cut off."""
    found = []
    bound_s = seen.lease_s + seen.slack_s
    for row in tables.execute(_TAKEN_OVER, [list(seen.runs)]).fetchall():
        away_s = _overlap_s(row["before"], row["taken_at"], seen.outages)
        took_s = (row["taken_at"] - row["before"]).total_seconds() - away_s
        if took_s > bound_s:
            found.append(f"run {row['execution_id']} was taken over after {took_s:.1f} s, not within {bound_s:.1f} s")
    late = [took_s for took_s in seen.resumes_s if took_s > seen.resume_within_s]
    return found + [
        f"a stream went on after {took_s:.1f} s, not within {seen.resume_within_s:.1f} s" for took_s in late
    ]


INVARIANTS: Final[Mapping[str, Callable[[Connection, Seen], list[str]]]] = {
    "I1": no_run_is_lost,
    "I2": one_owner,
    "I3": the_log_is_whole,
    "I4": each_effect_at_most_once,
    "I5": statuses_follow_the_table,
    "I6": every_refusal_is_clear,
    "I7": one_decision_a_request,
    "I8": memory_and_money_are_bounded,
    "I9": others_are_not_affected,
    "I10": recovery_is_bounded,
}


def faults(dsn: str, seen: Seen, *, only: Iterable[str] = INVARIANTS) -> list[str]:
    """All that is wrong, as `I3: run …`, read in one transaction: everything is of the same instant."""
    with psycopg.connect(dsn, row_factory=dict_row) as tables:
        tables.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        return [f"{name}: {fault}" for name in only for fault in INVARIANTS[name](tables, seen)]


def take_overs_s(dsn: str, runs: Sequence[UUID]) -> list[float]:
    """For each worker that a run lost: seconds from the last word of the old one to the first of the new."""
    with psycopg.connect(dsn, row_factory=dict_row) as tables:
        rows = tables.execute(_TAKEN_OVER, [list(runs)]).fetchall()
    return [(row["taken_at"] - row["before"]).total_seconds() for row in rows]


# --- reading


def _runs(tables: Connection, ids: Sequence[UUID]) -> Rows:
    return tables.execute("SELECT * FROM agents_execution WHERE id = ANY(%s) ORDER BY id", [list(ids)]).fetchall()


def _event_rows(tables: Connection, id_: UUID) -> Rows:
    wanted = "SELECT seq, body, frames, hash FROM agents_event WHERE execution_id = %s ORDER BY seq"
    return tables.execute(wanted, [id_]).fetchall()


def _unfolded(row: Mapping[str, Any]) -> list[tuple[int, str, bytes | None]]:
    """The events of a row: a fold has a line for each, and the hash of its last."""
    bodies = [row["body"]] if row["frames"] == 1 else row["body"].split("\n")
    first = row["seq"] - len(bodies) + 1
    return [
        (seq, body, bytes(row["hash"]) if seq == row["seq"] else None) for seq, body in enumerate(bodies, start=first)
    ]


# --- what the events say against what the tables say


def _told_otherwise(tables: Connection, run: Mapping[str, Any], said: list[dict[str, Any]]) -> list[str]:
    if run["status"] not in TERMINAL_STATUSES:
        return []
    found = []
    if run["last_seq"] != len(said):
        found.append(f"it has {len(said)} events and says {run['last_seq']}")
    ends = [event for event in said if event["type"] in TERMINAL_TYPES]
    if len(ends) != 1 or said[-1] is not ends[0]:
        found.append(f"it ends {len(ends)} times, and last with {said[-1]['type'] if said else 'nothing'}")
    if run["status"] == "completed":
        if shown(said) != run["answer"]:
            found.append(f"people were shown {shown(said)[-60:]!r}, its answer is {run['answer'][-60:]!r}")
        if ends and ends[-1].get("answer") != run["answer"]:
            found.append("its last event has another answer than its row")
    states = {event["agent_id"]: event["status"] for event in said if event["type"] == "agent_state"}
    for agent in tables.execute("SELECT id, status FROM agents_agentexecution WHERE execution_id = %s", [run["id"]]):
        if states.get(str(agent["id"])) != agent["status"]:
            found.append(f"agent {agent['id']} is {agent['status']}, its events say {states.get(str(agent['id']))}")
    return found


def _illegal_moves(said: list[dict[str, Any]]) -> list[str]:
    found, now = [], ExecutionStatus.PENDING
    for place, event in enumerate(said):
        if event["type"] == "agent_shutdown":
            now = ExecutionStatus.PENDING
        elif event["type"] == "status_changed":
            then = ExecutionStatus(event["status"])
            # Given back in silence and claimed again, a run begins to run while it seems to run.
            if then != now and not may_move(now, then):
                found.append(f"event {event['seq']}: from {now} to {then}")
            now = then
        elif event["type"] in TERMINAL_TYPES and place != len(said) - 1:
            found.append(f"event {event['seq']} says that it is over, and {len(said) - 1 - place} follow")
    return found


def _not_in_the_ledger(tables: Connection, sink: Sink, seen: Seen) -> list[str]:
    wanted = (
        "SELECT key, status, response::text AS response FROM agents_effect WHERE execution_id = ANY(%s) AND tool = %s"
    )
    ledger = {row["key"]: row for row in tables.execute(wanted, [list(seen.runs), sink.tool]).fetchall()}
    found = [f"{sink.name}: {key} arrived and is in no ledger" for key in sink.counts if key not in ledger]
    for key, row in ledger.items():
        # What a person settled is as they said.
        if row["status"] == "finished" and not sink.counts.get(key) and '"settled"' not in (row["response"] or ""):
            found.append(f"{sink.name}: {key} is said to be done and never arrived")
    return found


def _unclear(text: str, secrets: Sequence[str]) -> list[str]:
    found = [f"it shows {mark!r}" for mark in MARKS_OF_A_TRACEBACK if mark in text]
    found += [f"it shows the secret that ends with …{secret[-2:]}" for secret in _held(text, secrets)]
    return found if text.strip() else [*found, "it says nothing"]


def _unclear_answer(answer: Answered, secrets: Sequence[str]) -> list[str]:
    if answer.status < 400:
        return [f"it shows the secret that ends with …{secret[-2:]}" for secret in _held(answer.text, secrets)]
    found = _unclear(answer.text, secrets)
    if answer.status >= 500 and answer.status not in (503, 507):
        found.append("only 503 and 507 are known here")
    return found


def _held(text: str, secrets: Sequence[str]) -> list[str]:
    return [secret for secret in secrets if secret and secret in text]


def _overlap_s(start: datetime, end: datetime, spans: Sequence[tuple[datetime, datetime]]) -> float:
    return sum(max(0.0, (min(end, until) - max(start, since)).total_seconds()) for since, until in spans)


# --- the queries

# Written by the database's clock while the run's row was held, so time and leases rise together.
_OLDER_AFTER_NEWER = """
WITH written AS (
    SELECT a.execution_id AS id, 'step' AS what, s.name, s.epoch, s.ended_at AS at, s.id::text AS which
    FROM agents_step s JOIN agents_agentexecution a ON a.id = s.agent_id
    WHERE a.execution_id = ANY(%s) AND s.ended_at IS NOT NULL
), ranked AS (
    SELECT *, max(epoch) OVER (PARTITION BY id ORDER BY at ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS newest
    FROM written
)
SELECT r.id, r.what, r.name, r.epoch, r.newest FROM ranked r WHERE r.epoch < r.newest
UNION ALL
SELECT e.id, 'step', w.name, w.epoch, e.epoch FROM written w JOIN agents_execution e ON e.id = w.id
WHERE w.epoch > e.epoch
"""

_LEASES = """
SELECT id, status, leased_by FROM agents_execution
WHERE id = ANY(%s) AND ((status = 'running') <> (leased_by <> '') OR (status = 'running') <> (lease_until IS NOT NULL))
"""

_UNSETTLED = """
SELECT f.execution_id, f.tool, f.status FROM agents_effect f JOIN agents_execution e ON e.id = f.execution_id
WHERE f.execution_id = ANY(%s) AND e.ended_at IS NOT NULL AND (
    (f.status = 'started' AND regexp_count(e.answer || e.error_message, ' was under way when this ended') < (
        SELECT count(*) FROM agents_effect o WHERE o.execution_id = e.id AND o.status = 'started'))
    OR (f.status = 'in_doubt' AND strpos(e.answer || e.error_message, ' was under way when this ended') = 0
        AND NOT EXISTS (
        SELECT 1 FROM hitl_request r WHERE r.execution_id = f.execution_id
           AND r.question::jsonb @> '{"in_doubt": true}' AND r.question::jsonb ->> 'tool' = f.tool)
        AND NOT EXISTS (
        SELECT 1 FROM agents_step s JOIN agents_agentexecution a ON a.id = s.agent_id
        WHERE a.execution_id = f.execution_id AND s.effect_key = f.key AND s.status = 'finished'
           AND s.response::jsonb ->> 'settled' = 'unknown')))
"""

_AT_WORK_AFTER_THE_END = """
SELECT e.id, a.agent_name, a.status FROM agents_execution e JOIN agents_agentexecution a ON a.execution_id = e.id
WHERE e.id = ANY(%s) AND e.ended_at IS NOT NULL AND a.status = ANY(%s)
"""

_FINAL = "('approved', 'denied', 'answered', 'timed_out', 'expired', 'cancelled')"
_DECIDED_OTHERWISE = f"""
SELECT r.request_id, r.status, coalesce(string_agg(d.happening, ' and ' ORDER BY d.id), 'nothing') AS said
FROM hitl_request r LEFT JOIN hitl_decision d ON d.request_id = r.request_id AND d.happening IN {_FINAL}
WHERE r.execution_id = ANY(%s) GROUP BY r.request_id, r.status
HAVING count(d.id) <> (r.status <> 'pending')::int OR (count(d.id) = 1 AND min(d.happening) <> r.status)
"""

# What is recorded of an effect leaves out arguments that equal their defaults: it must lie within what was approved.
_NOT_APPROVED = """
SELECT f.execution_id, f.tool FROM agents_effect f JOIN agents_execution e ON e.id = f.execution_id
WHERE f.execution_id = ANY(%(runs)s) AND f.tool = ANY(%(tools)s) AND NOT EXISTS (
    SELECT 1 FROM hitl_request r JOIN agents_execution asked ON asked.id = r.execution_id,
         LATERAL (SELECT coalesce(r.edited_arguments::jsonb, r.answer::jsonb -> 'arguments',
                                  r.question::jsonb #> '{tool_calls,0,arguments}') AS arguments) yes
    WHERE coalesce(asked.effects_root, asked.id) = coalesce(e.effects_root, e.id)
      AND r.kind = 'approval' AND r.status = 'approved' AND f.tool = ANY(r.tool_names)
      AND NOT EXISTS (SELECT 1 FROM jsonb_each(f.arguments::jsonb) done
                      WHERE (yes.arguments -> done.key) IS DISTINCT FROM done.value))
"""

_COUNTED_OTHERWISE = """
SELECT e.id, e.prompt_tokens + e.completion_tokens AS said, coalesce(used.tokens, 0) AS counted,
       coalesce(calls.tokens, 0) AS paid
FROM agents_execution e
LEFT JOIN LATERAL (
    SELECT sum((s.usage->>'prompt_tokens')::bigint + coalesce((s.usage->>'completion_tokens')::bigint, 0)) AS tokens
    FROM agents_step s JOIN agents_agentexecution a ON a.id = s.agent_id
    WHERE a.execution_id = e.id AND s.usage->>'prompt_tokens' IS NOT NULL) used ON true
LEFT JOIN LATERAL (
    SELECT sum(c.prompt_tokens + c.completion_tokens) AS tokens FROM agents_modelcall c
    WHERE c.execution_id = e.id) calls ON true
WHERE e.id = ANY(%s) AND e.ended_at IS NOT NULL
  AND (e.prompt_tokens + e.completion_tokens <> coalesce(used.tokens, 0)
       OR coalesce(used.tokens, 0) <> coalesce(calls.tokens, 0))
"""

_OF_ANOTHER = """
SELECT 'request' AS what, r.request_id::text AS id, r.execution_id FROM hitl_request r
JOIN agents_execution e ON e.id = r.execution_id
WHERE r.execution_id = ANY(%(runs)s) AND r.user_id IS DISTINCT FROM e.user_id
UNION ALL
SELECT 'agent', a.id::text, a.execution_id FROM agents_agentexecution a
JOIN agents_agentexecution p ON p.id = a.parent_id
WHERE a.execution_id = ANY(%(runs)s) AND p.execution_id <> a.execution_id
UNION ALL
SELECT 'event', v.seq::text, v.execution_id FROM agents_event v JOIN agents_agentexecution a ON a.id = v.agent_id
WHERE v.execution_id = ANY(%(runs)s) AND a.execution_id <> v.execution_id
"""

# From the last word under the old lease, or the answer of a person after it, to the first under the new one. A run that
# was lost twice without a step between may be what kills its workers, and such ones wait for each other: of these
# nothing is promised.
_TAKEN_OVER = """
WITH told AS (
    SELECT execution_id, seq, created_at, type = 'agent_shutdown' AND body::json ->> 'reason' = 'crash' AS is_loss,
           lag(created_at) OVER run AS before,
           count(*) FILTER (WHERE type IN ('usage', 'tool_result', 'hitl_approved')) OVER run AS steps
    FROM agents_event WHERE execution_id = ANY(%s) AND frames = 1
    WINDOW run AS (PARTITION BY execution_id ORDER BY seq)
), numbered AS (
    SELECT *, count(*) FILTER (WHERE is_loss) OVER (PARTITION BY execution_id, steps ORDER BY seq) AS losses FROM told
)
SELECT execution_id, created_at AS taken_at, greatest(before, (
    SELECT max(responded_at) FROM hitl_request r
    WHERE r.execution_id = numbered.execution_id AND r.responded_at <= numbered.created_at)) AS before
FROM numbered WHERE is_loss AND before IS NOT NULL AND losses = 1
"""
