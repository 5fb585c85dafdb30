"""The house that a storm goes over: two web processes, two workers with two runners each, Postgres, Valkey, the model
and the sinks, each a process or a server that can be ended at any instant.

Use it on the main thread: the kernel ends a child together with the thread that started it.
"""

import json
import os
import secrets
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from threading import Timer
from types import TracebackType
from typing import Any, Final, Self, TypeVar
from uuid import UUID

import psycopg
from psycopg.rows import dict_row

from benchmarks import processes
from hyperagent.embedded.instance import free_port
from hyperagent.lib.child import command_of
from hyperagent.lib.conf import BASE_DIR
from tests import wrong_clock
from tests.services import Services
from tests.storm.model import StormModel
from tests.storm.plan import PEOPLE, Fault, PlannedFault
from tests.storm.sinks import Sinks

LEASE_S: Final = 4
START_TIMEOUT_S: Final = 180.0
# A run that was hit so often alone is one hit before it is failed as the culprit, and rightly so.
HIT_ENOUGH: Final = 2
# A runner gives a sign of life each second.
SILENT_S: Final = 3.0
HELD: Final = "a run was hit twice already"
_MIB: Final = 1 << 20
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Person:
    id: UUID
    token: str


@dataclass(frozen=True, slots=True)
class Hit:
    """What was really done. `pids`: of what was ended or stopped; `held`: why nothing was done."""

    kind: Fault
    at: datetime
    pids: tuple[int, ...] = ()
    held: str = ""


@dataclass(frozen=True, slots=True)
class Size:
    """How many web processes and workers, and runners of each worker. `whole`: with sandboxes and the shop."""

    webs: int = 2
    workers: int = 2
    runners: int = 2
    whole: bool = True


class House:
    """A context manager. `folder`: the checkout that it begins with; the first deployment takes it to this one.
    `secret_texts` must never be seen by anybody.
    """

    def __init__(self, size: Size | None = None, folder: Path = BASE_DIR) -> None:
        self.folder = folder
        self.size = size = size or Size()
        self.webs = tuple(f"web-{number}" for number in range(1, size.webs + 1))
        self.workers = tuple(f"worker-{number}" for number in range(1, size.workers + 1))
        self.services = Services()
        self.model = StormModel()
        self.sinks = Sinks()
        self.ports = {name: free_port() for name in self.webs}
        self.env: dict[str, str] = {}
        self.people: tuple[Person, ...] = ()
        self.outages: list[tuple[datetime, datetime]] = []
        self.skew = ""
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._frozen: dict[str, list[int]] = {}
        self._thaws: list[Timer] = []
        self._struck: list[Hit] = []
        self._last_beat: datetime | None = None

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

    @property
    def dsn(self) -> str:
        return self.env["DATABASE_URL"]

    @property
    def secret_texts(self) -> tuple[str, ...]:
        return (self.env["SECRET_KEY"], *(person.token for person in self.people))

    def url(self, which: int) -> str:
        return f"http://127.0.0.1:{self.ports[self.webs[which % len(self.webs)]]}"

    def query(self, sql: str, *values: Any) -> list[dict[str, Any]]:
        with psycopg.connect(self.dsn, autocommit=True, row_factory=dict_row) as connection:
            return connection.execute(sql, values).fetchall()

    def logs(self) -> str:
        return self.logs_since({})

    def log_sizes(self) -> dict[str, int]:
        return {name: self._log_path(name).stat().st_size for name in (*self.webs, *self.workers)}

    def logs_since(self, sizes: Mapping[str, int]) -> str:
        return "".join(self._log_from(name, sizes.get(name, 0)) for name in (*self.webs, *self.workers))

    def _log_from(self, name: str, start: int) -> str:
        with self._log_path(name).open("rb") as log:
            log.seek(start)
            return log.read().decode(errors="replace")

    def memory_mib(self) -> dict[str, float]:
        """Resident, by process; named after the part and the pid."""
        found = {}
        for name, process in self._processes.items():
            for pid in processes.tree(process.pid):
                with suppress(OSError):
                    found[f"{name} {_role(pid)} {pid}"] = round(processes.memory(pid).resident / _MIB, 1)
        return found

    def manage(self, *command: str) -> str:
        done = subprocess.run(
            [sys.executable, "manage.py", *command],
            cwd=self.folder,
            env={**self.env, "HYPERAGENT_PROCESS": "command"},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"manage.py {command[0]} failed:\n{done.stdout}{done.stderr}")
        return done.stdout

    # --- faults

    def hit(self, fault: PlannedFault) -> Hit:
        """Does it at once; what lasts is ended by `heal`."""
        at = datetime.now(UTC)
        if fault.kind in _LOSING_RUNS and self._somebody_was_hit_enough():
            return Hit(fault.kind, at, held=HELD)
        pids = self._do(fault)
        return Hit(fault.kind, at, tuple(pids), "" if pids else "there was nothing to hit")

    def take_struck(self) -> list[Hit]:
        """What was done at the instant of an effect since the last time."""
        struck, self._struck = self._struck, []
        return struck

    def _strike(self) -> None:
        """Called in a sink's thread. What is to be done at the next effect is done once."""
        self.sinks.on_arrival = None
        at = datetime.now(UTC)
        if self._somebody_was_hit_enough():
            self._struck.append(Hit(Fault.KILL_AT_EFFECT, at, held=HELD))
        else:
            pids = self._signal(self.runner_pids(), signal.SIGKILL)
            self._struck.append(Hit(Fault.KILL_AT_EFFECT, at, tuple(pids)))

    def heal(self, fault: PlannedFault) -> None:
        """Ends what a fault began that lasts."""
        match fault.kind:
            case Fault.KILL_AT_EFFECT:
                self.sinks.on_arrival = None
            case Fault.FREEZE_WORKER:
                self._signal(self._frozen.pop(_of(self.workers, fault.which), []), signal.SIGCONT)
            case Fault.SINK_HANGS_UP:
                self.sinks.hang_up(yes=False)
            case Fault.SINK_REFUSES:
                self.sinks.refuse(yes=False)
            case _:
                pass

    def mend(self) -> None:
        """Starts again what nobody else does. Does not wait until it is ready."""
        for name in self.webs:
            if self._is_over(name):
                self._start_web(name)
        for name in self.workers:
            if self._is_over(name):
                self._start_worker(name)
        self._see_whether_somebody_works()

    def runner_pids(self) -> list[int]:
        return [
            pid
            for name in self.workers
            if name in self._processes
            for pid in processes.tree(self._processes[name].pid)
            if _role(pid) == "runner"
        ]

    def is_up(self, *, share: float = 1.0) -> bool:
        """So much of its web processes answers, and so much of its runners looks for work; of each at least one."""
        with suppress(OSError, psycopg.Error):
            wanted = self.size.runners * len(self.workers)
            alive = self.query("SELECT count(*) AS n FROM agents_runner WHERE seen_at > now() - interval '6 s'")[0]["n"]
            answering = sum(_answers(f"{self.url(one)}/healthz") for one in range(len(self.webs)))
            return alive >= max(1, share * wanted) and answering >= max(1, share * len(self.webs))
        return False

    def _see_whether_somebody_works(self) -> None:
        """While no runner lives nothing can be taken over: the time between two signs of life is an outage. Runners
        that stop in good order take their rows with them: after a deployment there may be none."""
        with suppress(psycopg.Error):
            beat = self.query("SELECT max(seen_at) AS at FROM agents_runner")[0]["at"]
            last = self._last_beat
            self._last_beat = beat or last
            if beat is not None and last is not None and (beat - last).total_seconds() > SILENT_S:
                self.outages.append((last, beat))

    def _do(self, fault: PlannedFault) -> Sequence[int]:
        match fault.kind:
            case Fault.KILL_RUNNER:
                runners = self.runner_pids()
                return self._signal([_of(runners, fault.which)] if runners else [], signal.SIGKILL)
            case Fault.KILL_JOBS:
                jobs = processes.find(self._processes[_of(self.workers, fault.which)].pid, "manage.py jobs")
                return self._signal([jobs] if jobs else [], signal.SIGKILL)
            case Fault.KILL_SANDBOXES:
                holder = processes.find(self._processes[self.workers[0]].pid, "manage.py sandboxes")
                return self._signal([holder] if holder else [], signal.SIGKILL)
            case Fault.KILL_AT_EFFECT:
                self.sinks.on_arrival = self._strike
                return (0,)
            case Fault.KILL_WORKER:
                return self._kill_tree(_of(self.workers, fault.which))
            case Fault.KILL_WEB:
                return self._kill_tree(_of(self.webs, fault.which))
            case Fault.FREEZE_WORKER:
                name = _of(self.workers, fault.which)
                pids = [] if self._is_over(name) or name in self._frozen else processes.tree(self._processes[name].pid)
                self._frozen.setdefault(name, []).extend(pids)
                return self._signal(pids, signal.SIGSTOP)
            case Fault.FREEZE_POSTGRES:
                return self._freeze_service("postgres", fault.lasts_s)
            case Fault.FREEZE_VALKEY:
                return self._freeze_service("valkey", fault.lasts_s)
            case Fault.EMPTY_VALKEY:
                return self._restart_service("valkey", signal.SIGKILL)
            case Fault.RESTART_POSTGRES:
                return self._restart_service("postgres", signal.SIGINT)
            case Fault.CRASH_POSTGRES:
                return self._restart_service("postgres", signal.SIGQUIT)
            case Fault.SINK_HANGS_UP:
                self.sinks.hang_up(yes=True)
                return (0,)
            case Fault.SINK_REFUSES:
                self.sinks.refuse(yes=True)
                return (0,)
            case Fault.DEPLOY:
                return self._deploy()

    def _deploy(self) -> Sequence[int]:
        """As docs/operating.md has it. Whatever has ended is started again by `mend`."""
        self.folder = BASE_DIR
        self.manage("migrate", "--verbosity", "0")
        return self._signal([one.pid for one in self._processes.values() if one.poll() is None], signal.SIGTERM)

    def _restart_service(self, name: str, with_signal: signal.Signals) -> Sequence[int]:
        pid = self._pid_of_service(name)
        self.services.restart(name, with_signal, while_away=lambda: None)
        return (pid,)

    def _freeze_service(self, name: str, lasts_s: float) -> Sequence[int]:
        """Goes on by a clock of its own: whoever asks it meanwhile waits, and so does the storm."""
        pids = processes.tree(self._pid_of_service(name))
        self._signal(pids, signal.SIGSTOP)
        thaw = Timer(lasts_s, self._signal, (pids, signal.SIGCONT))
        thaw.start()
        self._thaws.append(thaw)
        return pids

    def _pid_of_service(self, name: str) -> int:
        return self.services.processes[("postgres", "valkey").index(name)].pid

    def _somebody_was_hit_enough(self) -> bool:
        wanted = "SELECT 1 FROM agents_execution WHERE status IN ('pending', 'running') AND crashes >= %s LIMIT 1"
        try:
            return bool(self.query(wanted, HIT_ENOUGH))
        except psycopg.Error:
            return True

    def _kill_tree(self, name: str) -> Sequence[int]:
        if self._is_over(name):
            return ()
        self._frozen.pop(name, None)
        pids = processes.tree(self._processes[name].pid)
        self._signal(pids, signal.SIGKILL)
        self._processes[name].wait(30)
        return pids

    @staticmethod
    def _signal(pids: Sequence[int], number: signal.Signals) -> Sequence[int]:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        return pids

    def _is_over(self, name: str) -> bool:
        return self._processes[name].poll() is not None

    # --- starting and stopping

    def _start_all(self) -> None:
        self.model.start()
        self.sinks.__enter__()
        provider = {"name": "scripted", "base_url": f"{self.model.url}/v1", "tier_models": {"pro": "scripted-pro"}}
        self.env = {
            **{name: value for name, value in os.environ.items() if not name.startswith("PYTEST")},
            "PYTHONUNBUFFERED": "1",
            "DJANGO_SETTINGS_MODULE": "hyperagent.settings",
            "ENV_FILE": os.devnull,
            "SECRET_KEY": secrets.token_urlsafe(48),
            "DATA_DIR": str(self.services.folder / "data"),
            "DATABASE_URL": self.services.start_postgres(synchronous_commit="on"),
            "REDIS_URL": self.services.start_valkey(),
            "OPENAI_COMPATIBLE_PROVIDERS": json.dumps([provider]),
            "LLM_TOKEN_TIMEOUT_SECONDS": "3",
            "LLM_FIRST_TOKEN_TIMEOUT_SECONDS": "20",
            "LEASE_SECONDS": str(LEASE_S),
            "SMTP_URL": self.sinks.mail.url,
            "IMAP_URL": self.sinks.mailbox.url,
            "EMAIL_URL": "memorymail://",
            "FOLLOW_UPS": "off",
            "SANDBOX_SECONDS_PER_DAY": "100000",
            "LOG_LEVEL": "INFO",
        }
        made = json.loads(self.manage("shell", "-v0", "-c", _MAKE_READY).splitlines()[-1])
        self.people = tuple(Person(UUID(one["id"]), one["token"]) for one in made)
        if self.size.whole:
            self.manage("shell", "-v0", "-c", _CONNECT_SHOP.format(url=self.sinks.shop.url))
        self.start()

    def start(self) -> None:
        for name in self.workers:
            self._start_worker(name)
        for name in self.webs:
            self._start_web(name)
        deadline = time.monotonic() + START_TIMEOUT_S
        while not self.is_up():
            if time.monotonic() > deadline:
                raise RuntimeError(f"the house does not come up:\n{self.logs()[-6000:]}")
            time.sleep(0.2)

    def _start_web(self, name: str) -> None:
        daphne = (sys.executable, "-m", "hyperagent.web", "-b", "127.0.0.1", "-p", str(self.ports[name]))
        self._start(name, (*daphne, "hyperagent.asgi:application"), {"HYPERAGENT_PROCESS": "web"})

    def _start_worker(self, name: str) -> None:
        command = [sys.executable, "manage.py", "worker", "--runners", str(self.size.runners), "--no-embedder"]
        holds_boxes = self.size.whole and name == self.workers[0]
        # A box belongs to the machine that holds it: both workers stand on one, and need one holder.
        command += ["--concurrency", "32", *([] if holds_boxes else ["--no-sandboxes"])]
        is_skewed = bool(self.skew and wrong_clock.FAKETIME) and name == self.workers[-1]
        clock = wrong_clock.environment(self.skew) if is_skewed else {}
        self._start(name, command, {"HYPERAGENT_PROCESS": "command", **clock})

    def _start(self, name: str, command: Sequence[str], env: dict[str, str]) -> None:
        with self._log_path(name).open("ab") as output:
            self._processes[name] = subprocess.Popen(
                command_of(tuple(command), death_signal=signal.SIGKILL),
                cwd=self.folder,
                env={**self.env, **env},
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
            )

    def _stop_all(self) -> None:
        for pids in self._frozen.values():
            self._signal(pids, signal.SIGCONT)
        for thaw in self._thaws:
            thaw.join()
        for process in self._processes.values():
            self._signal(processes.tree(process.pid) if process.poll() is None else [], signal.SIGKILL)
            process.wait(30)
        self.services.stop()
        self.sinks.__exit__(None, None, None)
        self.model.stop()

    def _log_path(self, name: str) -> Path:
        return self.services.folder / f"{name}.txt"


_LOSING_RUNS: Final = frozenset({Fault.KILL_RUNNER, Fault.KILL_AT_EFFECT, Fault.KILL_WORKER, Fault.FREEZE_WORKER})


def _of(some: Sequence[T], which: int) -> T:
    return some[which % len(some)]


def _role(pid: int) -> str:
    """What the process is for, from its command line."""
    try:
        words = (processes.PROC / str(pid) / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return "gone"
    for word, after in pairwise(words):
        if word.endswith("manage.py"):
            return after
    return "daphne" if "hyperagent.web" in words else Path(words[0]).name


def _answers(url: str) -> bool:
    with suppress(OSError):
        return bool(urllib.request.urlopen(url, timeout=2).status == 200)
    return False


_MAKE_READY: Final = f"""
import json
from django.core.management import call_command
from hyperagent.accounts.actions import make_token
from hyperagent.accounts.models import User
call_command("migrate", verbosity=0)
User.objects.create_user("admin@example.org", "correct horse battery staple", is_staff=True, is_superuser=True)
made = []
for number in range({PEOPLE}):
    user = User(email=f"person-{{number}}@example.org")
    user.set_unusable_password()
    user.save()
    made.append({{"id": str(user.pk), "token": make_token(user, scopes=["run", "read", "approve"])[1]}})
print(json.dumps(made))
"""

_CONNECT_SHOP: Final = """
from agents.mcp import actions
from agents.mcp.actions import Reviewed, Wanted
from agents.mcp.definitions import Risk
from hyperagent.accounts.models import User
admin = User.objects.get(email="admin@example.org")
wanted = Wanted(name="shop", url="{url}", is_inner=True, agents=("chat",), for_installation=True)
server = actions.look(admin, actions.add_server(admin, wanted).pk)
assert server.state == "connected", server.last_error
for tool in server.tools.all():
    actions.review_tool(admin, server.pk, tool.pk, Reviewed(tool.pin, Risk(tool.risk), True, True))
"""
