"""Who drives what: claims, heartbeats, and the recovery of runs whose runner was lost. SQL, by the database's clock."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID, uuid4

import psycopg
from django.db import connection as django_connection
from psycopg.rows import class_row

from agents.runtime.lacking import lacks
from agents.tuning.snapshot import taken_or_kept

MAX_CRASHES: Final = 3
MAX_SUSPICION: Final = 20
SUSPECT: Final = 2
# A runner whose leases merely ran out may live, and clears its runs once it comes to itself (`give_up`). A run that is
# to be failed for such a loss waits for that as many leases.
HEARING: Final = 5
# How far a claim looks. Numbers in its text: with others the database would plan it anew each time, which takes longer
# than the claim.
OLDEST: Final = 128
PEOPLE: Final = 64
OF_ONE: Final = 16

# Rows are locked in the order of their ids, here and by the writer: two that lock several never wait for each other.
# A run is recovered when its lease ran out, or when its runner is known to be dead. While the database was away nobody
# could renew a lease: once it is back all have the time of one for it, or living runners would lose what they drive.
# Whom to blame: the only run that the runner drove, or the only one that was suspected before; the others gain
# suspicion. A suspect is driven beside at most innocent runs, so a run that kills its runner is found out after a few
# crashes, and the ones that were merely near it are not failed for it. Who was blamed for a runner that turns out to
# live is cleared of it (`give_up`).
_FREED = """
lost AS (
    SELECT id, leased_by, crashes > 0 OR suspicion >= %(suspect)s AS suspected
    FROM agents_execution
    WHERE status = 'running' AND (leased_by = %(runner)s OR (lease_until < clock_timestamp()
        AND pg_postmaster_start_time() < clock_timestamp() - make_interval(secs => %(grace_s)s)))
    FOR UPDATE SKIP LOCKED
), judged AS (
    SELECT id, suspected OR count(*) OVER (PARTITION BY leased_by) = 1 AS blamed,
           count(*) FILTER (WHERE suspected) OVER (PARTITION BY leased_by) AS suspects, suspected
    FROM lost
), freed AS (
    UPDATE agents_execution e
    SET status = 'pending', lease_until = NULL, lost_by = e.leased_by, leased_by = '', epoch = e.epoch + 1,
        lost_at = CASE WHEN e.leased_by <> %(runner)s THEN clock_timestamp() END,
        crashes = e.crashes + CASE WHEN j.blamed AND (j.suspects <= 1) THEN 1 ELSE 0 END,
        suspicion = e.suspicion + CASE WHEN j.blamed AND (j.suspects <= 1) THEN 0 ELSE 1 END
    FROM judged j WHERE e.id = j.id
    RETURNING e.id
)"""
_RECOVER = f"WITH {_FREED} SELECT count(*) FROM freed"

# Who waits for a driver; the partial indexes have the same condition.
_CLAIMABLE: Final = "(e.status = 'pending' OR (e.status = 'awaiting_user' AND e.woken_at IS NOT NULL))"
_IS_WANTED: Final = f"""(
    (e.crashes > 0 OR e.suspicion >= %(suspect)s) = %(suspects)s
    AND (e.crashes < {MAX_CRASHES} AND e.suspicion < {MAX_SUSPICION} OR e.lost_at IS NULL
         OR e.lost_at < clock_timestamp() - {HEARING} * make_interval(secs => %(lease_s)s))
)"""
# What is freed by this statement itself, the second part does not see.
_LOOK: Final = f"""
WITH {_FREED} SELECT (SELECT count(*) FROM freed), EXISTS (SELECT FROM agents_execution e WHERE {_CLAIMABLE})
"""
# Turns go round: a person's first run comes before another's second, and who has runs going already waits for as many
# turns; among those of one turn the oldest first. To know them, not all that waits is read: the oldest of all, so that
# nothing waits for ever, and the oldest of each person who waits, of at most PEOPLE, from a random one on: each step
# of `person` goes to the next one by the index. Of what another runner is just claiming there is enough beside.
# `was` is read once, whatever the plan: in the place of a join it may be read for each row, and skips what it locked
# before, so that all that waits is claimed and not `limit`.
_CLAIM = f"""
WITH RECURSIVE person AS (
    SELECT first.user_id, first.user_id AS first_id, 1 AS number FROM (SELECT coalesce(
        (SELECT e.user_id FROM agents_execution e WHERE {_CLAIMABLE} AND e.user_id > %(start)s ORDER BY 1 LIMIT 1),
        (SELECT e.user_id FROM agents_execution e WHERE {_CLAIMABLE} AND e.user_id IS NOT NULL ORDER BY 1 LIMIT 1)
    ) AS user_id) first WHERE first.user_id IS NOT NULL
    UNION ALL
    SELECT next.user_id, person.first_id, person.number + 1
    FROM person, LATERAL (SELECT coalesce(
        (SELECT e.user_id FROM agents_execution e WHERE {_CLAIMABLE} AND e.user_id > person.user_id ORDER BY 1 LIMIT 1),
        (SELECT e.user_id FROM agents_execution e WHERE {_CLAIMABLE} AND e.user_id IS NOT NULL ORDER BY 1 LIMIT 1)
    ) AS user_id) next
    WHERE person.number < {PEOPLE} AND next.user_id <> person.first_id
), waiting AS (
    (SELECT e.id, e.user_id, e.created_at FROM agents_execution e
     WHERE {_CLAIMABLE} AND {_IS_WANTED}
     ORDER BY e.created_at LIMIT {OLDEST})
    UNION
    SELECT own.id, own.user_id, own.created_at FROM person, LATERAL (
        SELECT e.id, e.user_id, e.created_at FROM agents_execution e
        WHERE {_CLAIMABLE} AND {_IS_WANTED}
          AND e.user_id = person.user_id
        ORDER BY e.created_at LIMIT {OF_ONE}
    ) own
), going AS (
    SELECT user_id, count(*) AS runs FROM agents_execution WHERE status = 'running' GROUP BY user_id
), turn AS (
    SELECT w.id, w.created_at, coalesce(going.runs, 0)
           + row_number() OVER (PARTITION BY w.user_id ORDER BY w.created_at, w.id) AS number
    FROM waiting w LEFT JOIN going ON going.user_id = w.user_id
), was AS MATERIALIZED (
    SELECT e.id, e.status, e.lost_by, e.woken_at FROM agents_execution e JOIN turn ON turn.id = e.id
    WHERE {_CLAIMABLE} AND {_IS_WANTED}
    ORDER BY turn.number, turn.created_at LIMIT %(limit)s FOR UPDATE OF e SKIP LOCKED
)
UPDATE agents_execution e
SET status = 'running', epoch = e.epoch + 1, lease_until = clock_timestamp() + make_interval(secs => %(lease_s)s),
    leased_by = %(runner)s, woken_at = NULL, lost_by = '', started_at = coalesce(e.started_at, clock_timestamp()),
    tuning = {taken_or_kept("e")}
FROM was
WHERE e.id = was.id
RETURNING e.id, e.user_id, e.conversation_id, e.epoch, e.leased_by, e.pipeline, e.mode, e.question, e.input,
          e.crashes, e.suspicion, e.on_finish, e.tuning, was.lost_by, was.status AS was_status,
          e.cancel_requested_at IS NOT NULL AS cancel_requested, was.woken_at IS NOT NULL AS woken,
          coalesce(e.effects_root, e.id) AS effects_root, {lacks("e.user_id")} AS lacks,
          extract(epoch FROM clock_timestamp() - CASE WHEN was.woken_at IS NOT NULL THEN was.woken_at
                                                      WHEN e.epoch = 1 THEN e.created_at END)::float AS waited_s
"""

_HEARTBEAT = """
WITH beat AS (
    INSERT INTO agents_runner (name, host, pid, version, driving, concurrency, started_at, seen_at)
    VALUES (%(name)s, %(host)s, %(pid)s, '', %(driving)s, %(concurrency)s, clock_timestamp(), clock_timestamp())
    ON CONFLICT (name) DO UPDATE SET seen_at = clock_timestamp(), driving = excluded.driving, pid = excluded.pid,
        host = excluded.host, concurrency = excluded.concurrency
), held AS (
    SELECT e.id, w.underway FROM agents_execution e
    JOIN unnest(%(ids)s::uuid[], %(epochs)s::int[], %(underway)s::text[]) AS w(id, epoch, underway)
      ON e.id = w.id AND e.epoch = w.epoch
    WHERE e.status = 'running' ORDER BY e.id FOR NO KEY UPDATE OF e
)
UPDATE agents_execution e SET lease_until = clock_timestamp() + make_interval(secs => %(lease_s)s),
    underway = CASE WHEN held.underway IS NULL THEN e.underway ELSE nullif(held.underway, '')::json END
FROM held WHERE e.id = held.id
RETURNING e.id, e.cancel_requested_at IS NOT NULL AS cancel_requested, e.woken_at IS NOT NULL AS woken
"""

# One that was killed, and comes back under another name, leaves its row.
_FORGET = """
DELETE FROM agents_runner WHERE name = %(name)s AND pid = %(pid)s OR seen_at < clock_timestamp() - interval '1 day'
"""


@dataclass(frozen=True, slots=True)
class Claim:
    """A run that this runner may drive, with everything that it starts from."""

    id: UUID
    user_id: UUID | None
    conversation_id: UUID | None
    epoch: int
    leased_by: str
    pipeline: str
    mode: str
    question: str
    input: dict[str, Any]
    crashes: int
    suspicion: int
    on_finish: str
    lost_by: str
    was_status: str
    cancel_requested: bool
    woken: bool
    effects_root: UUID
    waited_s: float | None
    """Since somebody wanted it, or wanted it again; None where a driver before gave it back or was lost."""
    tuning: dict[str, Any] | None = None
    """What administrators had chosen for agents when it was first claimed (`agents.tuning.snapshot`)."""
    lacks: Sequence[str] = ()
    """What its person has none of (`agents.runtime.lacking`)."""

    @property
    def is_suspect(self) -> bool:
        return self.crashes > 0 or self.suspicion >= SUSPECT

    @property
    def is_given_up(self) -> bool:
        """So many runners in a row were lost with it that nobody else shall drive it."""
        return self.crashes >= MAX_CRASHES or self.suspicion >= MAX_SUSPICION

    @property
    def is_first(self) -> bool:
        """Nothing can have been recorded before the first lease, unless a person was quick, or it is a copy."""
        return self.epoch == 1 and not self.woken and self.effects_root == self.id

    @property
    def group_name(self) -> str:
        """The Channels group that hears of its events."""
        return f"conversation.{self.conversation_id}" if self.conversation_id else f"execution.{self.id}"


@dataclass(frozen=True, slots=True)
class Beat:
    """A run that is still this runner's, and whether somebody wants something of it."""

    id: UUID
    cancel_requested: bool
    woken: bool


@dataclass(frozen=True, slots=True)
class Found:
    """What a look found: runs whose runner was lost, and whether any run at all waits for a driver."""

    freed: int
    is_any_waiting: bool


async def claim(
    connection: psycopg.AsyncConnection[Any], *, runner: str, limit: int, lease_s: float, suspects: bool
) -> list[Claim]:
    """Takes up to `limit` runs that wait for a driver: the suspects, or the others. People take turns, and of one
    person the oldest comes first. One query.
    """
    values = {
        "runner": runner,
        "limit": limit,
        "start": uuid4(),
        "lease_s": lease_s,
        "suspects": suspects,
        "suspect": SUSPECT,
    }
    async with connection.cursor(row_factory=class_row(Claim)) as cursor:
        await cursor.execute(_CLAIM, values)
        return await cursor.fetchall()


async def heartbeat(
    connection: psycopg.AsyncConnection[Any],
    *,
    name: str,
    host: str,
    pid: int,
    concurrency: int,
    held: dict[UUID, int],
    lease_s: float,
    underway: Mapping[UUID, str | None] = MappingProxyType({}),
) -> list[Beat]:
    """Renews the leases of the runs held (id to epoch); the ones that come back are still held. One query.

    `underway`: their calls of models (`agents.runtime.underway`); None leaves what the row has.
    """
    values = {
        "name": name,
        "host": host,
        "pid": pid,
        "concurrency": concurrency,
        "driving": len(held),
        "lease_s": lease_s,
        "ids": list(held),
        "epochs": list(held.values()),
        "underway": [underway.get(id_) for id_ in held],
    }
    async with connection.cursor(row_factory=class_row(Beat)) as cursor:
        await cursor.execute(_HEARTBEAT, values)
        return await cursor.fetchall()


async def look(connection: psycopg.AsyncConnection[Any], *, lease_s: float) -> Found:
    """Frees the runs whose lease ran out, and sees whether there is anything to claim. One query."""
    cursor = await connection.execute(_LOOK, {"runner": "", "suspect": SUSPECT, "grace_s": lease_s})
    row: Any = await cursor.fetchone()
    return Found(freed=row[0], is_any_waiting=row[1] or row[0] > 0)


# By its epoch alone no lease is known: a claim that came to nothing leaves its number to the next.
_GIVE_UP = """
WITH given AS (
    UPDATE agents_execution SET status = 'pending', lease_until = NULL, leased_by = ''
    WHERE id = %s AND epoch = %s AND leased_by = %s AND status = 'running' RETURNING id
)
SELECT pg_notify('hyperagent_runs', id::text) FROM given
"""

_CLEAR = """
UPDATE agents_execution SET crashes = crashes - 1, suspicion = suspicion + 1
WHERE id = %s AND epoch > %s AND crashes > 0 AND status NOT IN ('completed', 'failed', 'cancelled')
"""

_BLAME = """
UPDATE agents_execution SET status = 'pending', lease_until = NULL, lost_by = leased_by, leased_by = '',
    lost_at = NULL, crashes = crashes + 1
WHERE id = %s AND epoch = %s AND leased_by = %s AND status = 'running'
"""


async def sign_off(connection: psycopg.AsyncConnection[Any], *, runner: str, pid: int) -> None:
    """A runner that stops in order is no longer among those that are looked for; nor are those not seen for a day."""
    await connection.execute(_FORGET, {"name": runner, "pid": pid})


async def give_up(connection: psycopg.AsyncConnection[Any], claim: Claim) -> None:
    """The driver cannot go on, without fault of the run's: whoever is free may.

    Where the lease ran out and the run is another's, it is cleared of having killed this runner, which was stopped,
    starved or cut off, and lives. It stays suspected, as a run that stops whoever drives it has to be.
    """
    await connection.execute(_GIVE_UP, [claim.id, claim.epoch, claim.leased_by])
    await connection.execute(_CLEAR, [claim.id, claim.epoch])


async def blame(connection: psycopg.AsyncConnection[Any], claim: Claim) -> None:
    """The driver broke over this run. Another may try it, such as one that knows what a newer version wrote; that it
    broke is counted as a crash is."""
    await connection.execute(_BLAME, [claim.id, claim.epoch, claim.leased_by])


def recover_runner(name: str) -> int:
    """The same at once for the runs of a runner that is known to be dead; the caller's process is a Django one."""
    with django_connection.cursor() as cursor:
        cursor.execute(_RECOVER, {"runner": name, "suspect": SUSPECT, "grace_s": 0})
        freed = int(cursor.fetchone()[0])
        cursor.execute("SELECT pg_notify('hyperagent_runs', '')")
        return freed
