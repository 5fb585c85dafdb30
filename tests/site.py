"""A whole installation as real processes, each of which a test may kill."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from uuid import UUID

import httpx
import psycopg
from psycopg.rows import dict_row

from hyperagent.embedded.instance import free_port
from hyperagent.lib.conf import BASE_DIR
from tests import migrated, template
from tests.scripted.server import ScriptedServer
from tests.services import Services
from tests.shown import shown

EMAIL, PASSWORD = "alice@example.org", "correct horse battery staple"
LEASE_S = 4
START_TIMEOUT_S = 90.0
HEAL_S = 30.0
OURS = ("web", "one", "two")
SANDBOXES = "sandboxes"
START = "--- start ---"
RUNNER = ("manage.py", "runner")


class Site:
    """Use as a context manager. Names of processes: postgres, valkey, web, sandboxes where they were started, and those
    of the runners. `begins_with`: those of `OURS` that it starts."""

    def __init__(self, begins_with: Sequence[str] = OURS) -> None:
        self._begins_with = begins_with
        self.services = Services()
        self.model = ScriptedServer(echo=True)
        self.port = free_port()
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._commands: dict[str, tuple[Sequence[str], dict[str, str]]] = {}
        self.env: dict[str, str] = {}
        self.token = ""

    def __enter__(self) -> Self:
        self.model.start()
        provider = {"name": "scripted", "base_url": f"{self.model.url}/v1", "tier_models": {"pro": "scripted-pro"}}
        self.env = {
            **{name: value for name, value in os.environ.items() if not name.startswith("PYTEST")},
            "ENV_FILE": os.devnull,
            "DATA_DIR": str(self.services.folder / "data"),
            "DATABASE_URL": self.services.start_postgres(),
            "REDIS_URL": self.services.start_valkey(),
            "OPENAI_COMPATIBLE_PROVIDERS": json.dumps([provider]),
            "LEASE_SECONDS": str(LEASE_S),
            "LOG_LEVEL": "INFO",
        }
        migrated.load_into(self.env["DATABASE_URL"])
        self.manage("shell", "-v0", "-c", _MAKE_READY)
        self.restart(*self._begins_with)
        self.token = self.post("auth/token", {"email": EMAIL, "password": PASSWORD, "scopes": ["run", "read"]}).json()[
            "token"
        ]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self.processes.values():
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)
                process.kill()
        for process in self.processes.values():
            process.wait()
        self.services.stop()
        self.model.stop()

    # --- processes

    def manage(self, *command: str) -> str:
        done = template.run([sys.executable, "manage.py", *command], cwd=BASE_DIR, env=self.env)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def start_web(self) -> None:
        self._start_web()
        self._until(self._web_answers, "web")

    def _start_web(self) -> None:
        daphne = (
            sys.executable,
            "-m",
            "hyperagent.web",
            "-b",
            "127.0.0.1",
            "-p",
            str(self.port),
            "hyperagent.asgi:application",
        )
        self._start("web", daphne, {"HYPERAGENT_PROCESS": "web"})

    def start_runner(self, name: str, *, module: Sequence[str] = RUNNER, **env: str) -> None:
        self._start_runner(name, module=module, **env)
        self._until_runs(name)

    def _start_runner(self, name: str, *, module: Sequence[str] = RUNNER, **env: str) -> None:
        command = (sys.executable, *module, "--name", name, "--concurrency", "64")
        self._start(name, command, {"HYPERAGENT_PROCESS": "runner", **env})

    def _until_runs(self, name: str) -> None:
        self._until(lambda: "runner.ready" in self._since_start(name), name)

    @property
    def runners(self) -> list[str]:
        return [name for name in self.processes if name not in ("web", SANDBOXES)]

    def start_sandboxes(self) -> None:
        """The process that holds the boxes, as `manage.py worker` starts it."""
        self._start(SANDBOXES, (sys.executable, "manage.py", "sandboxes"), {})
        self._until(lambda: "sandboxes.ready" in self._since_start(SANDBOXES), SANDBOXES)

    def stop_sandboxes(self) -> None:
        """Its boxes go with it."""
        self.kill(SANDBOXES, signal.SIGTERM)

    def kill(self, name: str, with_signal: int = signal.SIGKILL) -> None:
        process = self.processes[name]
        process.send_signal(with_signal)
        if with_signal in (signal.SIGKILL, signal.SIGTERM):
            process.wait(30)

    def restart(self, *names: str) -> None:
        """All at once: each needs seconds for itself. They have looked at what is asked of people by then, which ends
        requests without a run, as some tests write them.
        """
        runners = [name for name in names if name != "web"]
        for name in runners:
            self._start_runner(name)
        if "web" in names:
            self.start_web()
        for name in runners:
            self._until_runs(name)
            self._until(lambda name=name: "requests.stale_expired" in self._since_start(name), name)  # type: ignore[misc]

    def mend(self) -> None:
        self.restart(*(name for name in OURS if self.processes[name].poll() is not None))

    def log(self, name: str) -> str:
        return self._log_path(name).read_text(errors="replace")

    def _since_start(self, name: str) -> str:
        return self.log(name).rpartition(START)[2]

    def logs(self) -> str:
        return "".join(self.log(name) for name in self._commands)

    def _log_path(self, name: str) -> Path:
        return self.services.folder / f"{name}.txt"

    def _start(self, name: str, command: Sequence[str], env: dict[str, str]) -> None:
        self._commands[name] = (command, env)
        with self._log_path(name).open("ab") as output:
            output.write(f"\n{START}\n".encode())
        with self._log_path(name).open("ab") as output:
            self.processes[name] = template.Process(
                command,
                cwd=BASE_DIR,
                env={**self.env, **env},
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
            )

    def _until(self, condition: Callable[[], bool], name: str) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        while not condition():
            if self.processes[name].poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"{name} did not start:\n{self.log(name)[-3000:]}")
            time.sleep(0.1)

    def _web_answers(self) -> bool:
        with suppress(OSError):
            return bool(urllib.request.urlopen(f"http://127.0.0.1:{self.port}/healthz", timeout=2).status == 200)
        return False

    # --- talking to it

    email, password = EMAIL, PASSWORD

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}/api/v1/{path}"

    def post(self, path: str, body: Any) -> httpx.Response:
        return httpx.post(self.url(path), json=body, headers=self.headers, timeout=30)

    def ask(self, question: str) -> UUID:
        """Says it in a new conversation; the id of the run."""
        made = self.post("conversations", {})
        deadline = time.monotonic() + HEAL_S
        while made.status_code == 503 and time.monotonic() < deadline:
            # After a restart of Postgres, as the answer says: again in a few seconds.
            time.sleep(1)
            made = self.post("conversations", {})
        assert made.status_code == 201, made.text + self.log("web")[-3000:]
        said = self.post(f"conversations/{made.json()['id']}/messages", {"text": question})
        assert said.status_code == 201, said.text
        return UUID(said.json()["reply"]["execution"]["id"])

    def query(self, sql: str, *values: Any) -> list[dict[str, Any]]:
        with psycopg.connect(self.env["DATABASE_URL"], autocommit=True, row_factory=dict_row) as connection:
            return connection.execute(sql, values).fetchall()

    def execution(self, id_: UUID) -> dict[str, Any]:
        return self.query("SELECT * FROM agents_execution WHERE id = %s", id_)[0]

    def events(self, id_: UUID) -> list[dict[str, Any]]:
        rows = self.query("SELECT body FROM agents_event WHERE execution_id = %s ORDER BY seq", id_)
        return [json.loads(line) for row in rows for line in row["body"].split("\n")]

    def until_tokens(self, id_: UUID, count: int = 3) -> None:
        _wait(lambda: sum(event["type"] == "token" for event in self.events(id_)) >= count, "tokens", 30)

    def until_ended(self, *ids: UUID, timeout_s: float = 60) -> list[dict[str, Any]]:
        wanted = "SELECT count(*) AS n FROM agents_execution WHERE id = ANY(%s) AND ended_at IS NULL"
        _wait(lambda: self.query(wanted, list(ids))[0]["n"] == 0, "the runs to end", timeout_s)
        return [self.execution(id_) for id_ in ids]

    def check_log(self, id_: UUID) -> None:
        """I3: numbers without gap or double, the chain whole, and what the events say is what the tables say."""
        run, said = self.execution(id_), self.events(id_)
        assert run["status"] == "completed", (run, said[-5:], self.logs()[-6000:])
        assert [event["seq"] for event in said] == list(range(1, len(said) + 1))
        assert run["last_seq"] == len(said)
        assert shown(said) == run["answer"]
        assert [event["type"] for event in said].count("complete") == 1
        assert said[-1]["answer"] == run["answer"]


class Follower:
    """A client that reads a run's events as a page does: from a number on, and again from there when it was cut off."""

    def __init__(self, site: Site, execution_id: UUID) -> None:
        self._site = site
        self._id = execution_id
        self.events: list[dict[str, Any]] = []
        self.reconnects = -1

    async def follow(self, *, timeout_s: float = 60) -> list[dict[str, Any]]:
        async with asyncio.timeout(timeout_s):
            while not self._over():
                self.reconnects += 1
                with suppress(httpx.HTTPError):
                    await self._read()
                await asyncio.sleep(0.2)
        return self.events

    def _over(self) -> bool:
        return bool(self.events) and self.events[-1]["type"] in ("complete", "error")

    async def _read(self) -> None:
        after = self.events[-1]["seq"] if self.events else 0
        headers = {**self._site.headers, "Accept": "text/event-stream", "Last-Event-ID": str(after)}
        path = f"executions/{self._id}/events"
        async with (
            httpx.AsyncClient(timeout=httpx.Timeout(5, read=30)) as client,
            client.stream("GET", self._site.url(path), headers=headers) as response,
        ):
            response.raise_for_status()
            async for line in response.aiter_lines():
                if line.startswith("data: "):
                    self.events.append(json.loads(line.removeprefix("data: ")))


def words(count: int) -> str:
    """What the echoing model answers to `say <count> tokens`."""
    return " ".join(f"w{number}" for number in range(count))


def _wait(condition: Callable[[], bool], what: str, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while not _true(condition):
        assert time.monotonic() < deadline, f"waited {timeout_s} s for {what}"
        time.sleep(0.05)


def _true(condition: Callable[[], bool]) -> bool:
    """Not yet, while the database is away."""
    with suppress(psycopg.OperationalError):
        return condition()
    return False


_MAKE_READY = f"""
from hyperagent.accounts.models import User
User.objects.create_user("{EMAIL}", "{PASSWORD}")
"""
