"""PgBouncer as a process, lending connections for one transaction at a time."""

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg

from hyperagent.embedded.instance import free_port
from hyperagent.embedded.postgres import SERVICE_USER
from hyperagent.lib.child import command_of
from tests.house.waiting import until


class PgBouncer:
    """`most`: connections to Postgres for all that come here."""

    def __init__(self, database_url: str, *, most: int = 3) -> None:
        self.port = free_port()
        self._folder = Path(tempfile.mkdtemp(prefix="hyperagent-pooler-"))
        self._parts = urlsplit(database_url)
        self._most = most
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def database(self) -> str:
        return self._parts.path.strip("/")

    @property
    def url(self) -> str:
        return f"postgresql://anybody@127.0.0.1:{self.port}/{self.database}"

    def start(self) -> None:
        hosts = parse_qs(self._parts.query).get("host") or [self._parts.hostname or "127.0.0.1"]
        password = f" password={self._parts.password}" if self._parts.password else ""
        config = self._folder / "pgbouncer.ini"
        config.write_text(
            f"[databases]\n{self.database} = host={hosts[0]} port={self._parts.port or 5432}"
            f" user={self._parts.username}{password}\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {self.port}\nauth_type = any\nunix_socket_dir =\n"
            f"pool_mode = transaction\ndefault_pool_size = {self._most}\nmax_client_conn = 200\n"
        )
        self._folder.chmod(0o755)
        program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
        assert program is not None, "pgbouncer is not installed: see deploy/apt.txt"
        # It does not run as root, and this one reaches the socket of the tests' Postgres.
        user = SERVICE_USER if os.geteuid() == 0 else None
        with (self._folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                command_of((program, str(config)), death_signal=signal.SIGINT, user=user),
                stdout=log, stderr=log, stdin=subprocess.DEVNULL,
            )  # fmt: skip
        until(self._answers, what="PgBouncer answers", timeout_s=30)

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self._folder / "log").read_text()
        try:
            with psycopg.connect(self.url, connect_timeout=3, prepare_threshold=None) as one:
                one.execute("SELECT 1")
        except psycopg.Error:
            return False
        return True

    def log(self) -> str:
        return (self._folder / "log").read_text(errors="replace")

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)
