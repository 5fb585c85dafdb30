"""The servers of a test run: one Postgres and one Valkey in a folder of their own, for all of its processes."""

import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from hyperagent.embedded import postgres, valkey
from hyperagent.lib.child import command_of

START_TIMEOUT_S = 60.0
# A test run may lose its database; nothing else may wait for the disk.
FAST = {
    **postgres.TUNING,
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
}
FAST |= {"max_wal_senders": "0", "max_connections": "200"}


class Services:
    """Starts them at once, and stops them at `stop()` or with the process that made them."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="hyperagent-tests-"))
        self.processes: list[subprocess.Popen[bytes]] = []
        self._restarts: dict[str, Callable[[], None]] = {}

    def start_postgres(self, **settings: str) -> str:
        """`settings`: Postgres' own, in place of what makes it fast."""
        server = postgres.prepare(self.folder / "postgres", sockets=self.folder / "run", settings=FAST | settings)
        self._restarts["postgres"] = partial(
            self.start, server.command(), server.is_ready, user=server.user, stop=signal.SIGINT
        )
        self._restarts["postgres"]()
        postgres.make_database(server)
        return server.url()

    def start_valkey(self) -> str:
        server = valkey.prepare(self.folder / "valkey")
        self._restarts["valkey"] = partial(
            self.start, server.command(), server.is_ready, user=None, stop=signal.SIGTERM
        )
        self._restarts["valkey"]()
        return server.url()

    def start(
        self, command: Sequence[str], is_ready: Callable[[], bool], *, user: str | None, stop: signal.Signals
    ) -> None:
        log = self.folder / f"{Path(command[0]).name}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                command_of(tuple(command), death_signal=stop, user=user),
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                cwd="/",
            )
        self.processes.append(process)
        deadline = time.monotonic() + START_TIMEOUT_S
        while not is_ready():
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{command[0]} did not start:\n{log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.05)

    def restart(self, name: str, with_signal: signal.Signals, *, while_away: Callable[[], object]) -> None:
        """Ends `postgres` or `valkey` with a signal, does something without it, and starts it again."""
        place = ["postgres", "valkey"].index(name)
        ended = self.processes.pop(place)
        ended.send_signal(with_signal)
        ended.wait(30)
        try:
            while_away()
        finally:
            self._restarts[name]()
            self.processes.insert(place, self.processes.pop())

    def stop(self) -> None:
        for process in reversed(self.processes):
            process.send_signal(signal.SIGINT)
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def environment(services: Services) -> dict[str, str]:
    """What Django's settings are to read: nothing of the machine, and no key to anything."""
    return {
        "DJANGO_SETTINGS_MODULE": "hyperagent.settings",
        "ENV_FILE": os.devnull,
        "TESTS_FOLDER": str(services.folder),
        "DATA_DIR": str(services.folder / "data"),
        "SECRET_KEY": secrets.token_urlsafe(48),
        "DATABASE_URL": os.environ.get("TEST_DATABASE_URL") or services.start_postgres(),
        "REDIS_URL": os.environ.get("TEST_REDIS_URL") or services.start_valkey(),
        "EMAIL_URL": "memorymail://",
        "A2A_ENABLED": "true",
        "LOG_LEVEL": "WARNING",
        "QUEUE_WORKERS": "1",
    }
