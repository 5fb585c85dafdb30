"""The database as the migrations make it: made once, and copied for each process and site of the tests that needs one.

Migrating takes Django fifteen seconds of work, nearly all of it in its own picture of the models. So it is kept under
`var/`, by a hash of what makes it, for the next test run. What Django adds after migrating (permissions of models), it
adds to each copy.
"""

import fcntl
import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

from hyperagent.backups import server
from hyperagent.lib.conf import BASE_DIR

FOLDER = "TESTS_FOLDER"
"""The environment's name of the folder of this run, which its processes share."""
TEMPLATE = "hyperagent_migrated"
_HALF_MADE = "hyperagent_half_migrated"
APPS = ("hyperagent", "agents", "conversations", "hitl", "memory")
KEEP = 4


def ensure() -> str:
    """The name of a migrated database in the server of the run, to be copied. Made by whoever comes first."""
    with _alone():
        if not _exists(TEMPLATE):
            _run_sql(f"DROP DATABASE IF EXISTS {_HALF_MADE}", f"CREATE DATABASE {_HALF_MADE}")
            kept = _kept()
            if kept.exists():
                server.replace(_url_of(_HALF_MADE), kept)
            else:
                _migrate(_url_of(_HALF_MADE), kept)
            _run_sql(f"ALTER DATABASE {_HALF_MADE} RENAME TO {TEMPLATE}")
    return TEMPLATE


@contextmanager
def copied(name: str) -> Iterator[str]:
    """The URL of a copy of it in the server of the run; gone afterwards."""
    ensure()
    with _alone():
        _run_sql(f'CREATE DATABASE "{name}" TEMPLATE {TEMPLATE}')
    try:
        yield _url_of(name)
    finally:
        _run_sql(f'DROP DATABASE "{name}" WITH (FORCE)')


def load_into(url: str) -> None:
    """Fills an empty database of another server."""
    server.replace(url, dump())


def dump() -> Path:
    """A file of it, as backups are made."""
    ensure()
    kept = _kept()
    with _alone():
        if not kept.exists():  # another run, with other migrations, took its place
            _keep(_url_of(TEMPLATE), kept)
    return kept


def _migrate(url: str, kept: Path) -> None:
    command = [sys.executable, "manage.py", "migrate", "--verbosity=0"]
    env = {**os.environ, "DATABASE_URL": url}
    done = subprocess.run(command, cwd=BASE_DIR, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    _keep(url, kept)


def _keep(url: str, kept: Path) -> None:
    """There at once and whole, whoever else looks for it."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    for older in sorted(kept.parent.glob("*.dump"), key=lambda path: path.stat().st_mtime)[:-KEEP]:
        older.unlink(missing_ok=True)
    fresh = kept.with_suffix(f".{os.getpid()}")
    server.dump(url, fresh)
    fresh.rename(kept)


@cache
def _kept() -> Path:
    made_by = [BASE_DIR / "hyperagent" / "settings.py", BASE_DIR / "requirements.txt"]
    made_by += sorted(path for app in APPS for path in (BASE_DIR / app).glob("**/migrations/*.py"))
    digest = hashlib.sha256(b"\0".join(path.read_bytes() for path in made_by)).hexdigest()
    return BASE_DIR / "var" / "migrated" / f"{digest[:20]}.dump"


@contextmanager
def _alone() -> Iterator[None]:
    with (Path(os.environ[FOLDER]) / "migrated.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _url_of(database: str) -> str:
    return urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{database}").geturl()


def _exists(database: str) -> bool:
    with psycopg.connect(_url_of("postgres"), autocommit=True) as connection:
        return connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (database,)).fetchone() is not None


def _run_sql(*statements: str) -> None:
    with psycopg.connect(_url_of("postgres"), autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


if __name__ == "__main__":
    ensure()
