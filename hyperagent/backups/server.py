"""Postgres' own programs, which read and write a whole database: `pg_dump`, `pg_restore`, `psql`."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from psycopg.conninfo import conninfo_to_dict

from hyperagent.embedded.postgres import PACKAGE, VERSION

# What psycopg and libpq call the same thing by two names. In the environment, so that no list of processes shows it.
_VARIABLES: Final = {
    "host": "PGHOST",
    "hostaddr": "PGHOSTADDR",
    "port": "PGPORT",
    "user": "PGUSER",
    "password": "PGPASSWORD",
    "dbname": "PGDATABASE",
    "sslmode": "PGSSLMODE",
    "sslrootcert": "PGSSLROOTCERT",
    "sslcert": "PGSSLCERT",
    "sslkey": "PGSSLKEY",
    "connect_timeout": "PGCONNECT_TIMEOUT",
}


# Postgres has this limit since 17. `pg_restore` lifts it by a line of its own, which an older server refuses.
_LIFTS: Final = b"SET transaction_timeout = 0;"
_LIFTED: Final = "SELECT set_config(name, '0', false) FROM pg_settings WHERE name = 'transaction_timeout'"
_HEAD_BYTES: Final = 4_096


class ServerRefused(Exception):
    """What Postgres' program said, in its own words."""


def dump(url: str, path: Path) -> None:
    """Everything of the database as it is at one instant, while it is in use. Raises ServerRefused."""
    options = ("--format=custom", "--compress=6", "--no-owner", "--no-privileges", "--schema=public")
    _run([_program("pg_dump"), *options, f"--file={path}"], url)


def replace(url: str, path: Path) -> None:
    """Puts the dump in the place of all that is there, in one transaction, or not at all. Raises ServerRefused."""
    with TemporaryDirectory(prefix=f"{path.name}.", dir=path.parent) as own:
        script = Path(own) / "restore.sql"
        wanted = ("--no-owner", "--no-privileges", "--schema=public")
        _run([_program("pg_restore"), *wanted, f"--file={script}", str(path)], url)
        _make_readable_for_older(script)
        # The dump of a schema has no extensions. This one is ours to make, unless it lies in another schema and stays.
        ours = ("DROP SCHEMA IF EXISTS public CASCADE", "CREATE SCHEMA public", "CREATE EXTENSION IF NOT EXISTS vector")
        before = (_LIFTED, *ours)
        commands = [part for command in before for part in ("--command", command)]
        options = ("--no-psqlrc", "--quiet", "--single-transaction", "--set=ON_ERROR_STOP=1", "--output=/dev/null")
        _run([_program("psql"), *options, *commands, f"--file={script}"], url)


def _make_readable_for_older(script: Path) -> None:
    """Makes a comment of that line where it stands: all else may be larger than memory."""
    with script.open("r+b") as file:
        place = file.read(_HEAD_BYTES).find(_LIFTS)
        if place >= 0:
            file.seek(place)
            file.write(b"--")


def _run(command: Sequence[str], url: str) -> None:
    done = subprocess.run(command, env=_environment(url), capture_output=True, text=True, check=False, cwd="/")
    if done.returncode != 0:
        said = next((line for line in done.stderr.splitlines() if "error" in line.lower()), done.stderr.strip())
        raise ServerRefused(f"{Path(command[0]).name}: {said[:500] or f'status {done.returncode}'}")


def _environment(url: str) -> Mapping[str, str]:
    told = {_VARIABLES[name]: str(value) for name, value in conninfo_to_dict(url).items() if name in _VARIABLES}
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "PGAPPNAME": "hyperagent backup", **told}


def _program(name: str) -> str:
    """Of the server that comes with us, which is the newest; else whatever the machine has."""
    spec = find_spec(PACKAGE)
    own = Path(spec.origin).parent / f"pginstall{VERSION}" / "bin" / name if spec and spec.origin else None
    found = str(own) if own and own.exists() else shutil.which(name)
    if found is None:
        raise ServerRefused(f"there is no {name}: install Postgres' client programs, or the package {PACKAGE}")
    return found
