"""Daphne as a process on the test's database: started, killed, started again on the same port."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psutil
from django.db import connection

from tests import template
from tests.house.waiting import until

ROOT = Path(__file__).parent.parent.parent


def database_url() -> str:
    """The address that the tests were given, with the name of the database that they made in it."""
    parts = urlsplit(os.environ["DATABASE_URL"])
    return urlunsplit(parts._replace(path=f"/{connection.settings_dict['NAME']}"))


class Web:
    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None
        self.log = Path(tempfile.mkstemp(suffix=".log")[1])

    def start(self, **more: str) -> None:
        self._start(template.Process, more)

    def _start(self, kind: type[subprocess.Popen[Any]], more: dict[str, str]) -> None:
        environment = {**os.environ, "DATABASE_URL": database_url(), "DB_POOL_SIZE": "8", **more}
        command = [
            sys.executable,
            "-m",
            "hyperagent.web",
            "-b",
            "127.0.0.1",
            "-p",
            str(self.port),
            "hyperagent.asgi:application",
        ]
        with self.log.open("ab") as log:
            self.process = kind(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
        until(self.answers, what=f"the web server answers; its log: {self.log}")

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def start_afresh(self, **more: str) -> None:
        """For who weighs it: what an earlier test, or a template, left on the heap would hide what is added."""
        self.kill()
        self._start(subprocess.Popen, more)

    def answers(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.log.read_text()[-3000:]
        try:
            with urllib.request.urlopen(f"{self.url}/healthz", timeout=5) as response:
                return bool(response.status == 200)
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        if self.process is not None and self.is_running:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()
        said = self.log.read_text(errors="replace")
        self.log.unlink()
        if "Traceback" in said:
            # Shown with the test that failed because of it.
            print(said[-6000:], file=sys.stderr)

    def memory_mb(self) -> float:
        assert self.process is not None
        return float(psutil.Process(self.process.pid).memory_info().rss) / 1e6
