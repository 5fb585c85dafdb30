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

from benchmarks import environments, processes
from benchmarks.environments import LANGGRAPH, PEERS, NoEnvironment, Peer, Use
from benchmarks.relays import MODEL
from hyperagent.backups import server
from hyperagent.embedded import postgres, valkey
from hyperagent.embedded.instance import free_port
from hyperagent.lib.child import command_of

ROOT = Path(__file__).resolve().parent.parent
START_TIMEOUT_S = 120.0
SERVERS = frozenset({"postgres", "valkey"})
DATABASE = {**postgres.TUNING, "track_commit_timestamp": "on"}


class NotStarted(Exception):
    """A part of the stand did not come up; the message has its last words."""


class Stand:
    """All parts, by name. A context manager: whatever was started is stopped at its end.

    `services`: the addresses of relays and peers. `missing`: why a peer is not among them.
    """

    def __init__(
        self,
        *,
        conversations: int,
        peers: Use = Use.NONE,
        profiled: bool = False,
        migrated: Path | None = None,
        say: Callable[[str], None] = lambda text: None,
    ) -> None:
        """`profiled`: web process and runner can say where their time goes (`benchmarks.profiled`). `migrated`: a
        backup of an empty database, which saves migrating one. `say` is told what takes long."""
        self.folder = Path(tempfile.mkdtemp(prefix="hyperagent-bench-"))
        self._conversations = conversations
        self._peers = peers
        self._profiled = profiled
        self._migrated = migrated
        self._say = say
        self._started: dict[str, subprocess.Popen[bytes]] = {}
        self._unused: list[str] = []
        self.product: dict[str, int] = {}
        self.services: dict[str, str] = {}
        self.missing: dict[str, str] = {}
        self.token = self.database_url = self.web_url = self.model_url = ""
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

    def profile_of(self, name: str) -> Path:
        """The file in which this process leaves what it spent."""
        return self.folder / f"{name}.profile.json"

    def execute(self, text: str) -> None:
        """Statements without values and without rows."""
        with psycopg.connect(self.database_url, autocommit=True) as connection:
            connection.execute(text.encode())

    def find_runner(self) -> None:
        """Looks up the worker's runner anew: another process has taken its place."""
        self.product["runner"] = self._child_of_worker("manage.py runner")

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
        pythons = self._pythons()
        self._start_servers()
        self._start_model()
        self._start_relays()
        self._start_peers(pythons)
        self.env = self._environment()
        self._seed()
        self._start_product()
        for name, url in list(self.services.items()):
            self._wait_for_service(name, url)

    def _pythons(self) -> dict[Peer, Path]:
        """Of the peers that can be started; the others are noted as missing."""
        found: dict[Peer, Path] = {}
        for peer in PEERS:
            try:
                found[peer] = environments.python_of(peer, self._peers, say=self._say)
            except NoEnvironment as why:
                self.missing[peer.name] = str(why)
        return found

    def _start_servers(self) -> None:
        database = postgres.prepare(self.folder / "postgres", sockets=self.folder / "run", settings=DATABASE)
        self._start("postgres", database.command(), user=database.user, stop=signal.SIGINT)
        cache = valkey.prepare(self.folder / "valkey")
        self._start("valkey", cache.command())
        self._wait("postgres", database.is_ready)
        self._wait("valkey", cache.is_ready)
        for name in (postgres.DATABASE, LANGGRAPH.name):
            postgres.make_database(database, name)
        self.database_url, self._redis_url = database.url(), cache.url()
        self._peers_database_url = database.url(LANGGRAPH.name)

    def _start_model(self) -> None:
        port = free_port()
        self.model_url = f"http://127.0.0.1:{port}"
        self._start("model", (sys.executable, "-m", "tests.scripted", "--port", str(port)))
        self._wait("model", lambda: _answers(self.model_url))

    def _start_relays(self) -> None:
        for name in ("fastapi", "aiohttp"):
            port = self._serves(name)
            relay = (sys.executable, "-m", "benchmarks.relays", name, "--port", port)
            self._start(name, (*relay, "--upstream", self.model_url))

    def _start_peers(self, pythons: Mapping[Peer, Path]) -> None:
        for peer, python in pythons.items():
            port = self._serves(peer.name)
            told = ("--port", port, "--upstream", self.model_url, "--model", MODEL)
            kept = ("--database", self._peers_database_url) if peer.keeps else ()
            self._start(peer.name, (str(python), str(peer.app), *told, *kept))

    def _wait_for_service(self, name: str, url: str) -> None:
        """A peer that does not come up is missing, and the others are measured without it."""
        try:
            self._wait(name, lambda: _answers(url))
        except NotStarted as why:
            if name not in {peer.name for peer in PEERS}:
                raise
            del self.services[name]
            self._stop(name)
            self.missing[name] = f"{name} is left out: {why}"

    def _serves(self, name: str) -> str:
        """The port that this service is going to listen on."""
        port = free_port()
        self.services[name] = f"http://127.0.0.1:{port}"
        return str(port)

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
            "AGENT_CONCURRENCY": "640",
            # All of the load is one person.
            **dict.fromkeys(("SOCKETS_AT_ONCE", "RUNS_AT_ONCE", "RUNS_PER_MINUTE", "RUNS_PER_HOUR"), "0"),
            "OPENAI_COMPATIBLE_PROVIDERS": json.dumps([provider]),
        }

    def _seed(self) -> None:
        if self._migrated is not None:
            server.replace(self.database_url, self._migrated)
        command = (sys.executable, "-m", "benchmarks.seed", "--conversations", str(self._conversations))
        env = {**self.env, "HYPERAGENT_PROCESS": "command"}
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise NotStarted(f"the database could not be prepared:\n{done.stderr[-2000:]}")
        made = json.loads(done.stdout.splitlines()[-1])
        self.token, self._unused = made["token"], made["conversations"]

    def _start_product(self) -> None:
        web = ("-m", "hyperagent.web", "-b", "127.0.0.1", "-p", self.env["PORT"], "--no-server-name")
        quiet = ("--access-log", os.devnull, "-v", "0", "hyperagent.asgi:application")
        self._start("web", self._python("web", *web, *quiet), env={**self.env, "HYPERAGENT_PROCESS": "web"})
        runners = "0" if self._profiled else "1"
        worker = _manage("worker", "--runners", runners)
        self._start("worker", worker, env={**self.env, "HYPERAGENT_PROCESS": "command"})
        if self._profiled:
            runner = self._python("runner", str(ROOT / "manage.py"), "runner", "--name", "profiled")
            self._start("runner", runner, env={**self.env, "HYPERAGENT_PROCESS": "runner"})
        self._wait("web", lambda: _answers(f"{self.web_url}/healthz"))
        self._wait("runner" if self._profiled else "worker", lambda: self._runners() > 0)
        self._wait("worker", lambda: processes.find(self.pid("worker"), "manage.py jobs") is not None)
        self.product = {name: self.pid(name) for name in ("web", "worker", "postgres", "valkey")}
        self.product["runner"] = self.pid("runner") if self._profiled else self._child_of_worker("manage.py runner")
        self.product["jobs"] = self._child_of_worker("manage.py jobs")

    def _python(self, name: str, *program: str) -> tuple[str, ...]:
        """The command of a Python program, which is watched by a profiler where that is wanted."""
        watched = ("-m", "benchmarks.profiled", str(self.profile_of(name))) if self._profiled else ()
        return (sys.executable, *watched, *program)

    def _child_of_worker(self, words: str) -> int:
        found = processes.find(self.pid("worker"), words)
        if found is None:
            raise NotStarted(f"'manage.py worker' runs no process with '{words}' in its command line")
        return found

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
        """The servers last: whoever stops may have something to store."""
        for name in self._started.keys() - SERVERS:
            self._started[name].terminate()
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
