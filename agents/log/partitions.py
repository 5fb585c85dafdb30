"""The event log and the journal cut by months: which partitions there are, and making and dropping them. Which runs are
kept is decided elsewhere (`agents.log.log_retention`).

Both tables are cut at the same bounds, by ids that carry the time of the run (`hyperagent.lib.ids`,
`agents.engine.ids`): so all of a run lies in the month in which it was asked for, however long it goes on. Of each
table there are, beside the months, `…_untimed` for ids that carry no time (the rows from before there were months, runs
under ids made of something else), and `…_default` for what fits nowhere: a month that nobody has made yet. They are two
so that the second stays small: Postgres reads all of it whenever a month is made.
"""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, NamedTuple
from uuid import UUID

from django.db import OperationalError, connection, transaction
from psycopg import errors

from hyperagent.lib.ids import earliest

AHEAD: Final = 2
"""Months that are made beside the present one."""
UNTIMED_FROM: Final = UUID(int=0x0400 << 112)
"""Ids from here on carry no time: as one it would be in the year 2109. Of random ids 63 of 64 are beyond it."""
# Any number, the same for all who make or drop months.
_LOCK: Final = 0x68616D6F
# Others queue behind whoever waits for a lock: it is waited for briefly, and again.
_LOCK_WAIT_MS: Final = 500
TRIES: Final = 10
_PAUSE_S: Final = 0.5


@dataclass(frozen=True, slots=True)
class Log:
    """A table that is cut by months, and the column whose id tells the month."""

    table: str
    key: str

    @property
    def untimed(self) -> str:
        return f"{self.table}_untimed"

    @property
    def default(self) -> str:
        return f"{self.table}_default"

    def of(self, month: "Month") -> str:
        return f"{self.table}_{month}"


EVENTS: Final = Log("agents_event", "execution_id")
STEPS: Final = Log("agents_step", "agent_id")
LOGS: Final = (EVENTS, STEPS)


class Month(NamedTuple):
    """A month of UTC."""

    year: int
    month: int

    def __str__(self) -> str:
        return f"{self.year:04}_{self.month:02}"

    @classmethod
    def of(cls, moment: datetime) -> "Month":
        utc = moment.astimezone(UTC)
        return cls(utc.year, utc.month)

    def later(self, months: int = 1) -> "Month":
        years, month = divmod(self.month - 1 + months, 12)
        return Month(self.year + years, month + 1)

    @property
    def begins(self) -> datetime:
        return datetime(self.year, self.month, 1, tzinfo=UTC)

    @property
    def ends(self) -> datetime:
        """The first moment of the next."""
        return self.later().begins

    @property
    def bounds(self) -> tuple[UUID, UUID]:
        """Its ids: from the first, and below the second."""
        return earliest(self.begins), earliest(self.ends)


class Busy(Exception):
    """Nothing was changed; the next time will do."""

    def __init__(self) -> None:
        super().__init__("The event log and the journal were in use all the time (a dump, a long query?). Try again.")


def months_of(log: Log) -> list[Month]:
    """Those that are there, oldest first. One query."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = %s::regclass", [log.table])
        names = [str(name) for (name,) in cursor.fetchall()]
    found = (re.search(rf"\b{log.table}_(\d{{4}})_(\d{{2}})$", name) for name in names)
    return sorted(Month(int(one[1]), int(one[2])) for one in found if one)


def missing(now: datetime, *, ahead: int = AHEAD) -> list[Month]:
    """The present month and the next ones, as far as a table lacks them. Two queries."""
    wanted = [Month.of(now).later(months) for months in range(ahead + 1)]
    there = [set(months_of(log)) for log in LOGS]
    return [month for month in wanted if not all(month in months for months in there)]


def make_months(now: datetime) -> list[Month]:
    """Makes the present month and the next ones where they are missing; gives those it made. May run several times at
    once. Raises Busy."""
    made = missing(now)
    for month in made:
        for log in LOGS:
            _in_between(partial(_make, log=log, month=month))
    return made


def drop_month(month: Month, *, tries: int = TRIES) -> None:
    """All rows of all runs of that month, at once. Raises Busy."""
    names = ", ".join(log.of(month) for log in LOGS)
    _in_between(lambda cursor: cursor.execute(f"DROP TABLE IF EXISTS {names}"), tries=tries)


def _make(cursor: Any, log: Log, month: Month) -> None:
    """With what the default partition has of it. Others read and write the other months meanwhile."""
    name = log.of(month)
    cursor.execute("SELECT to_regclass(%s)", [name])
    if cursor.fetchone()[0] is not None:
        return
    first, end = month.bounds
    cursor.execute(f"LOCK TABLE {log.default} IN ACCESS EXCLUSIVE MODE")
    _stand_alone(cursor, log, name)
    cursor.execute(
        f"WITH moved AS (DELETE FROM {log.default} WHERE {log.key} >= %s AND {log.key} < %s RETURNING *)"
        f" INSERT INTO {name} SELECT * FROM moved",
        [first, end],
    )
    cursor.execute(f"ALTER TABLE {log.table} ATTACH PARTITION {name} FOR VALUES FROM ('{first}') TO ('{end}')")


def _stand_alone(cursor: Any, log: Log, name: str) -> None:
    """An empty table like the parts of the log. That an id is unique is known of each part by itself: of all together
    Postgres could only with the key."""
    cursor.execute(f"CREATE TABLE {name} (LIKE {log.table} INCLUDING ALL)")
    cursor.execute(f"ALTER TABLE {name} ADD PRIMARY KEY (id)")


def _in_between(change: Callable[[Any], object], *, tries: int = TRIES) -> None:
    """In a transaction of its own that one machine at a time has, and that gives way to readers and writers."""
    for left in reversed(range(tries)):
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
                cursor.execute(f"SET LOCAL lock_timeout = {_LOCK_WAIT_MS}")
                change(cursor)
                cursor.execute("SET LOCAL lock_timeout = DEFAULT")
            return
        except OperationalError as error:
            if not isinstance(error.__cause__, errors.LockNotAvailable):
                raise
            if not left:
                raise Busy from error
        time.sleep(_PAUSE_S)


# --- from one table to many, once (migration 0013)


def hold_all() -> None:
    """Has both tables for the rest of the transaction, and keeps writers from the agents, which steps refer to. Lets go
    and tries again where it waits for long: workers that go on meanwhile take these locks in any order. Raises Busy."""
    names = ", ".join(log.table for log in LOGS)
    agents = "LOCK TABLE agents_agentexecution IN SHARE ROW EXCLUSIVE MODE"
    _in_between(lambda cursor: cursor.execute(f"{agents}; LOCK TABLE {names} IN ACCESS EXCLUSIVE MODE"), tries=60)


def split(cursor: Any, log: Log) -> None:
    """Makes a table of parts of what was one table, which becomes the part of ids without a time. Nothing is copied but
    the few rows whose id looks like a time. Reads the table from end to end once, while nobody else uses it.
    """
    table = log.table
    # Before 17 no part may have a column that counts by itself, so the whole counts by a default.
    cursor.execute("SELECT pg_get_serial_sequence(%s, 'id')", [table])
    (counter,) = cursor.fetchone()
    cursor.execute(f"SELECT last_value + is_called::int FROM {counter}")
    (next_id,) = cursor.fetchone()
    cursor.execute(f"ALTER TABLE {table} ALTER COLUMN id DROP IDENTITY")
    made_again = _indexes_and_constraints(cursor, log)
    cursor.execute(f"ALTER TABLE {table} RENAME TO {log.untimed}")
    cursor.execute(
        f"CREATE TABLE {table} (LIKE {log.untimed} INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE)"
        f" PARTITION BY RANGE ({log.key})"
    )
    for statement in made_again:
        cursor.execute(statement)
    cursor.execute(f"CREATE SEQUENCE {table}_id_seq START WITH {next_id} OWNED BY {table}.id")
    cursor.execute(f"ALTER TABLE {table} ALTER COLUMN id SET DEFAULT nextval('{table}_id_seq')")
    _stand_alone(cursor, log, log.default)
    cursor.execute(
        f"WITH moved AS (DELETE FROM {log.untimed} WHERE {log.key} < %s RETURNING *)"
        f" INSERT INTO {log.default} ({_columns(cursor, log)}) SELECT {_columns(cursor, log)} FROM moved",
        [UNTIMED_FROM],
    )
    cursor.execute(f"ALTER TABLE {table} ATTACH PARTITION {log.default} DEFAULT")
    bounds = f"FROM ('{UNTIMED_FROM}') TO (MAXVALUE)"
    cursor.execute(f"ALTER TABLE {table} ATTACH PARTITION {log.untimed} FOR VALUES {bounds}")


def _indexes_and_constraints(cursor: Any, log: Log) -> list[str]:
    """Gives what the table has of them other names, and the statements that make the same for a table of its name. Not
    the primary key, and not what `LIKE` copies."""
    made_again = []
    cursor.execute(
        "SELECT conname, contype <> 'p', pg_get_constraintdef(oid) FROM pg_constraint"
        " WHERE conrelid = %s::regclass AND contype IN ('u', 'f', 'p')",
        [log.table],
    )
    for name, is_wanted, definition in cursor.fetchall():
        cursor.execute(f'ALTER TABLE {log.table} RENAME CONSTRAINT "{name}" TO "{_other_name(name, log)}"')
        if is_wanted:
            made_again.append(f'ALTER TABLE {log.table} ADD CONSTRAINT "{name}" {definition}')
    cursor.execute(
        "SELECT c.relname, pg_get_indexdef(i.indexrelid) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
        " WHERE i.indrelid = %s::regclass"
        " AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = i.indexrelid AND contype IN ('u', 'p'))",
        [log.table],
    )
    for name, definition in cursor.fetchall():
        cursor.execute(f'ALTER INDEX "{name}" RENAME TO "{_other_name(name, log)}"')
        made_again.append(definition)
    return made_again


def _other_name(name: str, log: Log) -> str:
    return (name.replace(log.table, log.untimed, 1) if log.table in name else f"{log.untimed}_{name}")[:63]


def _columns(cursor: Any, log: Log) -> str:
    cursor.execute(
        "SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute"
        " WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped",
        [log.table],
    )
    return str(cursor.fetchone()[0])
