"""A Postgres of its own with the product's settings and tables, for as long as a run lasts."""

import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import django
from django.core.management import call_command

from benchmarks.stand import NotStarted
from hyperagent.embedded import postgres
from hyperagent.lib.child import command_of

START_TIMEOUT_S = 60.0


@contextmanager
def running_database() -> Iterator[None]:
    """Django is set up in it, in this process. Raises NotStarted."""
    folder = Path(tempfile.mkdtemp(prefix="hyperagent-bench-"))
    server = postgres.prepare(folder / "postgres", sockets=folder / "run", settings=postgres.TUNING)
    log = folder / "postgres.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command_of(tuple(server.command()), death_signal=signal.SIGINT, user=server.user),
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
        )
    try:
        deadline = time.monotonic() + START_TIMEOUT_S
        while not server.is_ready():
            if process.poll() is not None or time.monotonic() > deadline:
                raise NotStarted(f"postgres did not start:\n{log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.05)
        postgres.make_database(server)
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "hyperagent.settings",
            "ENV_FILE": os.devnull,
            "DATA_DIR": str(folder / "data"),
            "SECRET_KEY": secrets.token_urlsafe(48),
            "DATABASE_URL": server.url(),
            # Settings ask for one; nothing here does.
            "REDIS_URL": "redis://127.0.0.1:1/0",
            "LOG_LEVEL": "WARNING",
        }
        django.setup()
        call_command("migrate", interactive=False, verbosity=0)
        yield
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)
        shutil.rmtree(folder, ignore_errors=True)
