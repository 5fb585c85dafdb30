"""What grows with the database: `python -m benchmarks.size [--events 10000000 --steps 1000000 --chunks 1000000]`.

Starts a Postgres of its own with the product's settings, and puts one middling person into a database. A copy of it
stays nearly empty; into the other goes a year of some thousands of other people (`benchmarks.size_rows`). Then the
pages, the API, what runners and jobs say to the database, and vacuum are measured in both, each act in the one and at
once in the other. Prints a table, and keeps the samples under var/bench/.
"""

import argparse
import os
import shutil
import signal
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import django.db
import orjson
import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from benchmarks import size_report, size_rows
from benchmarks.report import say
from benchmarks.size_rows import HOUSE, Lot, crowd
from hyperagent.embedded import postgres
from tests.services import Services, environment

if TYPE_CHECKING:
    import uuid
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
TIMES = 30
LIVES = 2_000
# What the embedded server has, but for the filling: gigabytes at once are no work of every day.
SETTINGS = {**postgres.TUNING, "max_wal_size": "8GB", "checkpoint_timeout": "30min"}
ENVIRONMENT = {"RETENTION_DAYS": "3650"}
"""So that what is to be deleted is looked for, and nothing found."""


class NoRoom(Exception):
    """The rows do not fit on the disk; the message has both sizes."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.size")
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--chunks", type=int, default=1_000_000)
    parser.add_argument("--times", type=int, default=TIMES, help="samples of each")
    parser.add_argument("--lives", type=int, default=LIVES, help="runs that come and go before VACUUM")
    parser.add_argument("--keep", action="store_true", help="leave the database running until Enter, to look at it")
    parser.add_argument("--out", type=Path, help="the JSON file; by default var/bench/size-<time>.json")
    given = parser.parse_args()
    out = given.out or ROOT / os.environ.get("DATA_DIR", "var") / "bench" / time.strftime("size-%Y%m%d-%H%M%S.json")
    services = Services()
    try:
        lot = crowd(events=given.events, steps=given.steps, chunks=given.chunks)
        check_room(lot, free_bytes=shutil.disk_usage(services.folder).free)
        database_url = start_postgres(services)
        os.environ.update(environment(services) | ENVIRONMENT)
        django.setup()
        _migrate()
        kept = measure(database_url, lot, times=given.times, lives=given.lives)
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_bytes(orjson.dumps(kept, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS))
        say(f"raw values: {out}")
        if given.keep:
            input(f"the database is at {database_url}; Enter ends it")
    except (NoRoom, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    finally:
        services.stop()
    return 0


def _migrate() -> None:
    from django.core.management import call_command  # Django is set up after this file is read

    call_command("migrate", interactive=False, verbosity=0)


def check_room(lot: Lot, *, free_bytes: int) -> None:
    """Raises NoRoom."""
    wanted = lot.bytes_on_disk() + size_rows.SPARE_BYTES
    if wanted > free_bytes:
        raise NoRoom(
            f"the rows take about {wanted / 2**30:.0f} GB and {free_bytes / 2**30:.0f} GB are free in the folder of"
            " temporary files; give another with TMPDIR=…, or fewer with --events, --steps and --chunks"
        )


def start_postgres(services: Services) -> str:
    """With the settings of an installation; those of the tests do not wait for the disk."""
    server = postgres.prepare(services.folder / "postgres", sockets=services.folder / "run", settings=SETTINGS)
    services.start(server.command(), server.is_ready, user=server.user, stop=signal.SIGINT)
    postgres.make_database(server)
    os.environ["TEST_DATABASE_URL"] = server.url()
    return server.url()


def measure(database_url: str, lot: Lot, *, times: int, lives: int) -> dict[str, Any]:
    """Fills and measures a migrated database that Django is set up for. Prints, and gives what is to be kept."""
    from benchmarks.size_measures import House, churn, in_turns, inside  # Django is set up after this file is read

    long_run = _fill(database_url, HOUSE, with_long_run=True)
    assert long_run is not None
    django.db.connection.close()
    with _copy(database_url) as small_url:
        _fill(database_url, lot)
        counted = {"nearly empty": _counts(small_url), "full": _counts(database_url)}
        for table, (count, size) in counted["full"].items():
            say(f"  {table:<28} {count:>12,} rows {size / 2**20:>9,.0f} MB")
        houses = {"nearly empty": House(long_run, small_url), "full": House(long_run, database_url)}
        say(size_report.HEADING)
        rows = []
        for row in in_turns(houses["nearly empty"], houses["full"], times=times):
            say(str(row))
            rows.append(row)
        say(size_report.verdict(rows))
        churned = {}
        for when, house in houses.items():
            with inside(house):
                churned[when] = churn(house, lives)
            say(f"\n{lives} runs came and went, {when}\n{size_report.churn_table(churned[when])}")
    return size_report.as_json(rows, churned, counted=counted, times=times, lives=lives, load=os.getloadavg())


@contextmanager
def _copy(database_url: str) -> "Iterator[str]":
    """Of the database as it is now, on the same server; nobody may be in it. Gone afterwards."""
    name = conninfo_to_dict(database_url)["dbname"]
    copy = f"{name}_nearly_empty"
    postgres_url = make_conninfo(database_url, dbname="postgres")
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{copy}" TEMPLATE "{name}"'.encode())
        try:
            yield make_conninfo(database_url, dbname=copy)
        finally:
            connection.execute(f'DROP DATABASE "{copy}" WITH (FORCE)'.encode())


def _fill(database_url: str, lot: Lot, *, with_long_run: bool = False) -> "uuid.UUID | None":
    begun = time.monotonic()
    say(f"{lot.name}: {lot.people:,} people, {lot.runs:,} runs, {lot.documents * size_rows.CHUNKS_A_DOCUMENT:,} chunks")
    with psycopg.connect(database_url, autocommit=True) as connection:
        size_rows.fill(connection, lot, say=say)
        made = size_rows.make_long_run(connection) if with_long_run else None
        connection.execute("VACUUM ANALYZE")
        connection.execute("CHECKPOINT")
    say(f"  in {time.monotonic() - begun:.0f} s with VACUUM ANALYZE")
    return made


def _counts(database_url: str) -> dict[str, tuple[int, int]]:
    """Rows, as ANALYZE counted them, and bytes with all indexes, of each table that takes a megabyte."""
    with psycopg.connect(database_url) as connection:
        found = connection.execute(
            """
            SELECT relname, reltuples::bigint, pg_total_relation_size(oid) FROM pg_class
            WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND pg_total_relation_size(oid) > 2^20
            ORDER BY 3 DESC
            """
        )
        return {str(name): (int(rows), int(size)) for name, rows, size in found}


if __name__ == "__main__":
    sys.exit(main())
