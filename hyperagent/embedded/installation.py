"""`manage.py up`: the order in which the parts of an installation start, and what is told to the person who started it.

Which programs there are is decided here; keeping them alive is the supervisor's part.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import TypeVar

import psycopg

from hyperagent.embedded import instance, model_server, postgres, valkey
from hyperagent.lib.conf import BASE_DIR, Config, LogFormat, set_unless_given
from hyperagent.lib.leftovers import Ledger
from hyperagent.lib.llm.config import LLMSettings
from hyperagent.lib.supervisor import Log, Program, StartFailed, Supervisor

Server = TypeVar("Server", postgres.Postgres, valkey.Valkey)
READY_TIMEOUT_S = 60.0
# A machine that is busy with its first compile of everything needs long.
SLOW_START_S = 180.0
# What a runner holds beside the pool of its threads; and what jobs, embedder, sandboxes and commands hold together.
LINES_OF_A_RUNNER, LINES_OF_OTHERS = 8, 20


@dataclass(frozen=True)
class Plan:
    """What one `up` serves, and with what."""

    data_dir: Path
    port: int
    runners: int
    env: Mapping[str, str]
    """Of this process; the children's is made of it."""


class Installation:
    """The parts of one installation, started in order. `env` grows as they start: each finds those before it."""

    def __init__(self, plan: Plan, supervisor: Supervisor, *, admin_email: str, pool_size: int) -> None:
        self.plan = plan
        self.pool_size = pool_size
        self.supervisor = supervisor
        self.admin_email = admin_email
        self.env = {**plan.env, "DATA_DIR": str(plan.data_dir), "PORT": str(plan.port), "PYTHONUNBUFFERED": "1"}
        set_unless_given(self.env, "SITE_URL", f"http://127.0.0.1:{plan.port}")
        self.degraded: list[str] = []
        self.first_login: tuple[str, str] | None = None

    async def start(self) -> None:
        set_unless_given(self.env, "SECRET_KEY", instance.secret_key(self.plan.data_dir))
        await asyncio.gather(self._start_postgres(), self._start_valkey())
        await asyncio.gather(self._prepare_database(), self._start_model())
        instance.leave_note(
            self.plan.data_dir,
            {
                name: self.env[name]
                for name in ("SECRET_KEY", "DATABASE_URL", "REDIS_URL", "BUNDLED_MODEL_URL", "SITE_URL")
                if name in self.env
            },
        )
        await asyncio.gather(self.supervisor.start(self._web()), self.supervisor.start(self._worker()))

    async def _start_postgres(self) -> None:
        if self.env.get("DATABASE_URL"):
            return
        folder, sockets = self.plan.data_dir / "postgres", self.plan.data_dir / "run" / "pg"
        most = most_connections(self.plan.runners, self.pool_size)
        settings = {**postgres.TUNING, "max_connections": str(most)}
        server = await _prepared("postgres", lambda: postgres.prepare(folder, sockets=sockets, settings=settings))
        program = Program(
            "postgres",
            server.command(),
            env={"PATH": os.defpath, "LC_ALL": "C"},
            is_ready=server.is_ready,
            # Fast: sessions are ended, nothing is lost.
            stop_signal=signal.SIGINT,
            stop_timeout_s=30.0,
            user=server.user,
            cwd=server.data,
        )
        await self.supervisor.start(program)
        try:
            await asyncio.to_thread(postgres.make_database, server)
        except psycopg.Error as error:
            raise StartFailed("postgres", f"makes no database: {str(error).strip()}") from error
        self.env["DATABASE_URL"] = server.url()

    async def _start_valkey(self) -> None:
        if self.env.get("REDIS_URL"):
            return
        folder = self.plan.data_dir / "run" / "valkey"
        server = await _prepared("redis", lambda: valkey.prepare(folder))
        await self.supervisor.start(
            Program(
                "redis",
                server.command(),
                env={"PATH": os.defpath},
                is_ready=server.is_ready,
                before_start=lambda: server.socket.unlink(missing_ok=True),
                cwd=server.folder,
            )
        )
        self.env["REDIS_URL"] = server.url()

    async def _prepare_database(self) -> None:
        given = self.env.get("HYPERAGENT_ADMIN_PASSWORD")
        password, is_untold = (given, False) if given else instance.first_password(self.plan.data_dir)
        program = Program(
            "prepare",
            _manage("prepare", *([] if given else ["--keep-password"])),
            env={**self.env, "HYPERAGENT_ADMIN_PASSWORD": password, "HYPERAGENT_PROCESS": "command"},
        )
        status, words = await self.supervisor.run_once(program)
        if status != 0:
            raise StartFailed("the database", "could not be prepared", words)
        made = None
        with suppress(ValueError, IndexError, KeyError):
            made = json.loads(words[-1])["administrator"]
        if not given and (made or is_untold):
            self.first_login = (made or self.admin_email, password)
        else:
            instance.forget_first_password(self.plan.data_dir)

    async def _start_model(self) -> None:
        if LLMSettings.from_env(self.env).providers:
            return
        missing = model_server.missing_packages()
        if missing:
            self.degraded.append(
                f"no model answers: no provider is configured, and the bundled model lacks {', '.join(missing)}"
                " (`make run` installs it; or set OPENAI_API_KEY or another provider, see .env.example)"
            )
            return
        port = instance.free_port()
        program = Program(
            "model",
            (sys.executable, "-m", "hyperagent.embedded.model_server", "--port", str(port)),
            env={**self.env, "OMP_NUM_THREADS": str(model_server.THREADS)},
            is_ready=lambda: _answers(f"http://127.0.0.1:{port}/health"),
            cwd=BASE_DIR,
        )
        try:
            await self.supervisor.start(program)
        except StartFailed as failure:
            self.degraded.append(f"the bundled model does not run: {failure}; no model answers")
            return
        self.env["BUNDLED_MODEL_URL"] = f"http://127.0.0.1:{port}/v1"

    def _web(self) -> Program:
        listening = ("-b", "127.0.0.1", "-p", str(self.plan.port))
        # No access log: the application's own has the request's id. No server name: nobody needs to know.
        quiet = ("--no-server-name", "--access-log", os.devnull, "-v", "0")
        return Program(
            "web",
            (sys.executable, "-m", "hyperagent.web", *listening, *quiet, "hyperagent.asgi:application"),
            env={**self.env, "HYPERAGENT_PROCESS": "web", "DJANGO_SETTINGS_MODULE": "hyperagent.settings"},
            is_ready=lambda: _answers(f"http://127.0.0.1:{self.plan.port}/healthz", any_status=True),
            ready_timeout_s=SLOW_START_S,
            cwd=BASE_DIR,
        )

    def _worker(self) -> Program:
        return Program(
            "worker",
            _manage("worker", "--runners", str(self.plan.runners)),
            env={**self.env, "HYPERAGENT_PROCESS": "command"},
            stop_timeout_s=20.0,
            has_prefix=True,
        )

    async def greet(self) -> None:
        """What a person wants to know now: where, how to sign in, which model, what is missing."""
        missing = await self._wait_until_ready()
        if self.degraded:
            # It says the same, and how to mend it.
            missing.pop("model", None)
        model = "the bundled small model (slow and simple)" if "BUNDLED_MODEL_URL" in self.env else self._models()
        self._say("", f"HyperAgent is ready: {self.env['SITE_URL']}")
        self.tell_login()
        degraded = (*self.degraded, *(f"{name}: {problem}" for name, problem in missing.items()))
        self._say(f"Model: {model}", *(f"Degraded: {what}" for what in degraded), "Ctrl-C stops everything.", "")

    def tell_login(self) -> None:
        """The first administrator's password, once: nobody else knows it."""
        if self.first_login is not None:
            email, password = self.first_login
            self.first_login = None
            self._say(f"Sign in as {email} with the password {password}   (shown this once; change it)")
            instance.forget_first_password(self.plan.data_dir)

    def _say(self, *lines: str) -> None:
        for line in lines:
            self.supervisor.log.say("up", line)

    def _models(self) -> str:
        return ", ".join(provider.name for provider in LLMSettings.from_env(self.env).providers) or "none"

    async def _wait_until_ready(self) -> dict[str, str]:
        """Waits for /readyz to be content; what it still misses when the time is over, by name.

        A model that is not configured is not waited for: no time brings it.
        """
        deadline = asyncio.get_running_loop().time() + READY_TIMEOUT_S
        pause_s = 0.1
        while True:
            missing = await asyncio.to_thread(_not_ready, f"http://127.0.0.1:{self.plan.port}/readyz")
            stopped = self.supervisor.asked_to_stop.is_set()
            if not missing.keys() - {"model"} or stopped or asyncio.get_running_loop().time() > deadline:
                return missing
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 1.5, 2.0)


def most_connections(runners: int, pool_size: int) -> int:
    """How many the embedded Postgres has to take: of the web process and the runners as many as they may hold."""
    wanted = pool_size + runners * (pool_size + LINES_OF_A_RUNNER) + LINES_OF_OTHERS
    return max(wanted, int(postgres.TUNING["max_connections"]))


async def run(plan: Plan, config: Config) -> int:
    """Starts everything, serves until SIGTERM or Ctrl-C, and stops in reverse order. Returns the exit status."""
    log = Log(sys.stdout, as_json=config.log_format is LogFormat.JSON)
    ledger = Ledger(plan.data_dir / "run" / "processes.json")
    supervisor = Supervisor(log, ledger=ledger)
    supervisor.stop_on_signals()
    for name in await asyncio.to_thread(ledger.end_leftovers):
        log.say("up", f"stopped what an earlier run had left: {name}")
    house = Installation(plan, supervisor, admin_email=config.admin_email, pool_size=config.db_pool_size)
    serving = asyncio.create_task(_serve(house))
    try:
        await supervisor.first_of(serving)
        return serving.result() if serving.done() else 0
    except StartFailed as failure:
        log.say("up", f"HyperAgent does not start: {failure} (its own words stand above)")
        return 1
    finally:
        serving.cancel()
        # Who stops it before it is ready would never learn the password.
        house.tell_login()
        log.say("up", "stopping")
        await supervisor.stop_all()
        instance.remove_note(plan.data_dir)


async def _serve(house: Installation) -> int:
    await house.start()
    await house.greet()
    await house.supervisor.asked_to_stop.wait()
    return 0


async def _prepared(name: str, prepare: Callable[[], Server]) -> Server:
    """Raises StartFailed, which says what is wrong with its folders, or what its own programs said."""
    try:
        return await asyncio.to_thread(prepare)
    except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
        raise StartFailed(name, f"cannot be prepared: {error}") from error


def _manage(*arguments: str) -> tuple[str, ...]:
    return (sys.executable, str(BASE_DIR / "manage.py"), *arguments)


def _answers(url: str, *, any_status: bool = False) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=3):  # noqa: S310 - our own address
            return True
    except urllib.error.HTTPError:
        return any_status
    except (OSError, HTTPException):
        return False


def _not_ready(url: str) -> dict[str, str]:
    """What /readyz says is missing, a sentence by name; empty if nothing, or if there is no such page."""
    try:
        with urllib.request.urlopen(url, timeout=5):  # noqa: S310 - our own address
            return {}
    except urllib.error.HTTPError as answer:
        if answer.code != 503:
            return {}
        try:
            missing: dict[str, str] = dict(json.loads(answer.read())["missing"])
        except (ValueError, KeyError, TypeError):
            return {"web": "/readyz answers 503"}
        return missing
    except (OSError, HTTPException) as error:
        return {"web": f"the server does not answer: {error}"}
