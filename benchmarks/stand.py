"""The test stand: starts everything that is measured, each as the process that it is in an installation, and stops it.

Postgres keeps the product's own settings (commits wait for the disk), and notes when each commit was.
"""

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import psycopg

from benchmarks import processes
from benchmarks.relays import MODEL
from hyperagent.embedded import postgres, valkey
from hyperagent.embedded.instance import free_port
from hyperagent.lib.child import command_of

ROOT = Path(__file__).resolve().parent.parent
START_TIMEOUT_S = 120.0
DATABASE = {**postgres.TUNING, "track_commit_timestamp": "on"}


class NotStarted(Exception):
    """A part of the stand did not come up; the message has its last words."""


class Stand:
    """All parts, by name. A context manager: whatever was started is stopped at its end."""

    def __init__(self, *, conversations: int) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="hyperagent-bench-"))
        self._conversations = conversations
        self._started: dict[str, subprocess.Popen[bytes]] = {}
        self._unused: list[str] = []
        self.product: dict[str, int] = {}
        self.token = self.database_url = self.web_url = self.model_url = self.fastapi_url = self.aiohttp_url = ""
        self.env: dict[str, str] = {}

    def __enter__(self) -> Self:
        try:
            self._start_all()
        except BaseException:
            self._stop_all()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop_all()

    def new_conversation(self) -> str:
        """One that nobody has said anything in."""
        return self._unused.pop()

    def pid(self, name: str) -> int:
        return self._started[name].pid

    def cpu_s(self) -> float:
        """Of everything that was started here, so far."""
        return processes.cpu_s(pid for process in self._started.values() for pid in processes.tree(process.pid))

    def query(self, text: str, *values: object) -> list[tuple[object, ...]]:
        with psycopg.connect(self.database_url, autocommit=True) as connection:
            return connection.execute(text.encode(), values).fetchall()

    @contextmanager
    def runner(self, name: str, env: Mapping[str, str]) -> Iterator[int]:
        """One more runner process, with more in its environment; gives its pid."""
        self._start(name, _manage("runner", "--name", name), env={**self.env, "HYPERAGENT_PROCESS": "runner", **env})
        try:
            self._wait(name, lambda: self._runners() > 1)
            yield self.pid(name)
        finally:
            self._stop(name)

    # --- starting

    def _start_all(self) -> None:
        self._start_servers()
        self._start_peers()
        self.env = self._environment()
        self._seed()
        self._start_product()

    def _start_servers(self) -> None:
        database = postgres.prepare(self.folder / "postgres", sockets=self.folder / "run", settings=DATABASE)
        self._start("postgres", database.command(), user=database.user, stop=signal.SIGINT)
        cache = valkey.prepare(self.folder / "valkey")
        self._start("valkey", cache.command())
        self._wait("postgres", database.is_ready)
        self._wait("valkey", cache.is_ready)
        postgres.make_database(database)
        self.database_url, self._redis_url = database.url(), cache.url()

    def _start_peers(self) -> None:
        ports = [free_port() for _ in range(3)]
        self.model_url, self.fastapi_url, self.aiohttp_url = (f"http://127.0.0.1:{port}" for port in ports)
        self._start("model", (sys.executable, "-m", "tests.scripted", "--port", str(ports[0])))
        for name, port in zip(("fastapi", "aiohttp"), ports[1:], strict=True):
            relay = (sys.executable, "-m", "benchmarks.relays", name, "--port", str(port))
            self._start(name, (*relay, "--upstream", self.model_url))
        for name, url in (("model", self.model_url), ("fastapi", self.fastapi_url), ("aiohttp", self.aiohttp_url)):
            self._wait(name, lambda url=url: _answers(url))  # type: ignore[misc]

    def _environment(self) -> dict[str, str]:
        port = free_port()
        self.web_url = f"http://127.0.0.1:{port}"
        provider = {
            "name": "scripted",
            "base_url": f"{self.model_url}/v1",
            "api_key": "k",
            "tier_models": {"pro": MODEL},
        }
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "PYTHONUNBUFFERED": "1",
            "DJANGO_SETTINGS_MODULE": "hyperagent.settings",
            "ENV_FILE": os.devnull,
            "DATA_DIR": str(self.folder / "data"),
            "PORT": str(port),
            "SITE_URL": self.web_url,
            "SECRET_KEY": secrets.token_urlsafe(48),
            "DATABASE_URL": self.database_url,
            "REDIS_URL": self._redis_url,
            "EMAIL_URL": "memorymail://",
            "LOG_LEVEL": "WARNING",
            "AGENT_CONCURRENCY": "200",
            "OPENAI_COMPATIBLE_PROVIDERS": json.dumps([provider]),
        }

    def _seed(self) -> None:
        command = (sys.executable, "-m", "benchmarks.seed", "--conversations", str(self._conversations))
        env = {**self.env, "HYPERAGENT_PROCESS": "command"}
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise NotStarted(f"the database could not be prepared:\n{done.stderr[-2000:]}")
        made = json.loads(done.stdout.splitlines()[-1])
        self.token, self._unused = made["token"], made["conversations"]

    def _start_product(self) -> None:
        web = (sys.executable, "-m", "daphne", "-b", "127.0.0.1", "-p", self.env["PORT"], "--no-server-name")
        quiet = ("--access-log", os.devnull, "-v", "0", "hyperagent.asgi:application")
        self._start("web", (*web, *quiet), env={**self.env, "HYPERAGENT_PROCESS": "web"})
        self._start("worker", _manage("worker", "--runners", "1"), env={**self.env, "HYPERAGENT_PROCESS": "command"})
        self._wait("web", lambda: _answers(f"{self.web_url}/healthz"))
        self._wait("worker", lambda: self._runners() > 0)
        self.product = {name: self.pid(name) for name in ("web", "worker", "postgres", "valkey")}
        for name, words in (("runner", "manage.py runner"), ("jobs", "manage.py jobs")):
            found = processes.find(self.pid("worker"), words)
            if found is None:
                raise NotStarted(f"'manage.py worker' runs no process with '{words}' in its command line")
            self.product[name] = found

    def _runners(self) -> int:
        return len(self.query("SELECT 1 FROM agents_runner WHERE seen_at > now() - interval '10 s'"))

    def _start(
        self,
        name: str,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        stop: signal.Signals = signal.SIGTERM,
    ) -> None:
        with self._log(name).open("wb") as output:
            self._started[name] = subprocess.Popen(
                command_of(tuple(command), death_signal=stop, user=user),
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                env=env,
                cwd="/" if user else ROOT,
            )

    def _wait(self, name: str, is_ready: Callable[[], bool]) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        while not is_ready():
            if self._started[name].poll() is not None or time.monotonic() > deadline:
                words = self._log(name).read_text(errors="replace")[-2000:]
                raise NotStarted(f"'{name}' did not start; its last words:\n{words}")
            time.sleep(0.05)

    def _log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    # --- stopping

    def _stop_all(self) -> None:
        for name in reversed(list(self._started)):
            self._stop(name)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _stop(self, name: str) -> None:
        process = self._started.pop(name)
        process.send_signal(signal.SIGINT if name == "postgres" else signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(10)


def _manage(*arguments: str) -> tuple[str, ...]:
    return (sys.executable, str(ROOT / "manage.py"), *arguments)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=3):
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
