"""The parts of one installation as they run on this machine: the order of their start, what each is started with, and
what can be done to each. What they are is in `topology_parts`, the network in `topology_network`.
"""

import asyncio
import os
import secrets
import signal
import urllib.error
import urllib.request
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import psycopg
import redis
from psycopg import sql

from deploy import topology_network, topology_parts
from deploy.topology_network import Network, NoNetwork
from hyperagent.embedded import files, instance, postgres, valkey
from hyperagent.lib.child import command_of
from hyperagent.lib.conf import BASE_DIR
from hyperagent.lib.supervisor import Program, StartFailed, Supervisor

SLOW_START_S: Final = 180.0
# nginx tries a server again a second after it failed.
SEEN_BY_NGINX_S: Final = 1.5
DATABASE, CACHE, PROXY = "postgres", "redis", "nginx"


@dataclass(frozen=True)
class Plan:
    """What is started, and with what. `worker_options` go behind what the unit or the compose file says."""

    data_dir: Path
    port: int
    webs: int
    workers: int
    is_isolated: bool
    worker_options: tuple[str, ...]
    env: dict[str, str]

    @property
    def web_names(self) -> list[str]:
        return [f"web{number}" for number in range(1, self.webs + 1)]

    @property
    def worker_names(self) -> list[str]:
        return [f"worker{number}" for number in range(1, self.workers + 1)]


@dataclass
class Topology:
    """The parts of one installation on this machine, by name."""

    plan: Plan
    supervisor: Supervisor
    network: Network | None = None
    env: dict[str, str] = field(default_factory=dict)
    programs: dict[str, Program] = field(default_factory=dict)
    ports: dict[str, int] = field(default_factory=dict)
    services: dict[str, Any] = field(default_factory=dict)
    preparing: Program | None = None

    # --- the order of the start

    async def start(self) -> None:
        plan = self.plan
        self.services = topology_parts.compose()["services"]
        names = [DATABASE, CACHE, *plan.web_names, *plan.worker_names, PROXY]
        if plan.is_isolated:
            self.network = topology_network.make(names, aliases={"web": plan.web_names})
            for name in names:
                kind = name.rstrip("0123456789") if name not in (DATABASE, CACHE, PROXY) else name
                self.network.set_kernel(name, topology_parts.service_kernel(self.services, kind))
        await asyncio.gather(self._start_postgres(), self._start_redis())
        await self._prepare()
        for name in plan.web_names:
            self._plan_web(name)
        for name in plan.worker_names:
            self._plan_worker(name)
        self._plan_nginx()
        await asyncio.gather(*(self._start(name) for name in (*plan.web_names, *plan.worker_names)))
        await self._start(PROXY)

    async def stop(self) -> None:
        """nginx first, the servers last; between them all at once, since none of them needs another."""
        self.say("stopping")
        if self.network is not None:
            # A part that is cut off could not give back what it has.
            for name in tuple(self.network.partitioned):
                self.network.rejoin(name)
        await self.stop_part(PROXY)
        await asyncio.gather(*(self.stop_part(name) for name in (*self.plan.web_names, *self.plan.worker_names)))
        await self.supervisor.stop_all()
        if self.network is not None:
            await asyncio.to_thread(self.network.remove)

    async def _start_postgres(self) -> None:
        folder = self.plan.data_dir
        settings = {**postgres.TUNING, "max_connections": "200", **topology_parts.postgres_settings(self.services)}
        password = _kept_secret(folder / "database_password")
        if self.network is not None:
            rules = folder / "run" / "pg_hba.conf"
            rules.write_text(f"local all all trust\nhost all all {self.network.subnet} scram-sha-256\n")
            rules.chmod(0o644)
            settings |= {"listen_addresses": "*", "hba_file": str(rules)}
        server = await asyncio.to_thread(
            postgres.prepare, folder / "postgres", sockets=folder / "run" / "pg", settings=settings
        )
        command = server.command()
        if self.network is not None:
            # Root enters the namespace, and only then becomes the user that Postgres wants.
            command = self.network.inside(DATABASE, command_of(command, death_signal=signal.SIGINT, user=server.user))
        self.programs[DATABASE] = Program(
            DATABASE,
            command,
            env={"PATH": os.defpath, "LC_ALL": "C"},
            is_ready=server.is_ready,
            stop_signal=signal.SIGINT,
            stop_timeout_s=30.0,
            user=None if self.network is not None else server.user,
            cwd=server.data,
        )
        await self._start(DATABASE)
        await asyncio.to_thread(postgres.make_database, server)
        self.env["DATABASE_URL"] = self.env["LOCAL_DATABASE_URL"] = server.url()
        self.env["POSTGRES_PASSWORD"] = password
        if self.network is not None:
            await asyncio.to_thread(_set_password, server, password)

    async def _start_redis(self) -> None:
        folder = self.plan.data_dir / "run" / "valkey"
        server = await asyncio.to_thread(valkey.prepare, folder)
        if self.network is None:
            command, is_ready, url = server.command(), server.is_ready, server.url()
        else:
            address = self.network.places[CACHE]
            command = self.network.inside(CACHE, topology_parts.redis_command(self.services))
            is_ready, url = (lambda: _pings(address)), ""
        self.programs[CACHE] = Program(
            CACHE,
            command,
            env={"PATH": os.defpath},
            is_ready=is_ready,
            before_start=lambda: server.socket.unlink(missing_ok=True),
            cwd=server.folder,
        )
        await self._start(CACHE)
        self.env["REDIS_URL"] = url

    async def _prepare(self) -> None:
        """Settings that all share, then migrations. Raises StartFailed."""
        plan, proxy = self.plan, "127.0.0.1"
        if self.network is not None:
            proxy = self.network.places[PROXY]
        self.ports[PROXY] = 80 if self.network is not None else plan.port
        given = {
            "SECRET_KEY": plan.env.get("SECRET_KEY") or instance.secret_key(plan.data_dir),
            "POSTGRES_PASSWORD": self.env.pop("POSTGRES_PASSWORD"),
            "SITE_URL": f"http://{proxy}" + (f":{plan.port}" if self.network is None else ""),
        }
        shared = topology_parts.service_env(self.services, "worker", given)
        if self.network is None:
            shared |= {name: self.env[name] for name in ("DATABASE_URL", "REDIS_URL")}
        here = {"DATA_DIR": str(plan.data_dir), "PYTHONUNBUFFERED": "1"}
        # What is set here, such as a provider's key, is for all; an address of a server that is not ours is not.
        self.env = {**self.env, **plan.env, **shared, **here}
        password, is_untold = instance.first_password(plan.data_dir)
        command, more = self._of_app("prepare", "hyperagent-prepare.service")
        self.preparing = Program(
            "prepare",
            self._inside(plan.worker_names[0], (*command, "--keep-password")),
            env={**self._app_env(), **more, "HYPERAGENT_ADMIN_PASSWORD": password},
            cwd=BASE_DIR,
        )
        words = await self._prepared(self.preparing)
        if is_untold or '"administrator": null' not in (words[-1] if words else ""):
            self.say(f"The first administrator's password is {password}   (shown this once; change it)")
            instance.forget_first_password(plan.data_dir)

    async def _prepared(self, program: Program) -> tuple[str, ...]:
        """What it said. Raises StartFailed."""
        status, words = await self.supervisor.run_once(program)
        if status != 0:
            raise StartFailed("the database", "could not be prepared", words)
        return words

    # --- what the parts are

    def _of_app(self, service: str, unit: str, instance_name: str = "") -> tuple[tuple[str, ...], dict[str, str]]:
        """A command and what it needs besides: as the compose file says it in namespaces, else as the unit says it."""
        if self.network is None:
            return topology_parts.unit(unit, instance_name)
        given = {"POSTGRES_PASSWORD": "-", **self.env}
        own = topology_parts.service_env(self.services, service, given)
        kept = {name: value for name, value in own.items() if name not in self.env}
        return topology_parts.service_command(self.services, service), kept

    def _plan_web(self, name: str) -> None:
        port = 8000 if self.network is not None else instance.free_port()
        self.ports[name] = port
        command, more = self._of_app("web", "hyperagent-web@.service", str(port))
        self.programs[name] = Program(
            name,
            self._inside(name, command),
            env={**self._app_env(), **more, "HYPERAGENT_NAME": name},
            is_ready=lambda: _answers(f"http://{self.address(name)}:{port}/healthz"),
            ready_timeout_s=SLOW_START_S,
            stop_timeout_s=20.0,
            cwd=BASE_DIR,
        )

    def _plan_worker(self, name: str) -> None:
        command, more = self._of_app("worker", "hyperagent-worker.service")
        self.programs[name] = Program(
            name,
            self._inside(name, (*command, *self.plan.worker_options)),
            env={**self._app_env(), **more},
            is_ready=lambda: _has_runner(self.env["LOCAL_DATABASE_URL"], self.supervisor.pid_of(name)),
            ready_timeout_s=SLOW_START_S,
            stop_timeout_s=30.0,
            cwd=BASE_DIR,
        )

    def _plan_nginx(self) -> None:
        folder = self.plan.data_dir / "run" / "nginx"
        if self.network is None:
            webs = [f"127.0.0.1:{self.ports[name]}" for name in self.plan.web_names]
            site = topology_parts.nginx_site(port=self.plan.port, webs=webs)
        else:
            site = topology_parts.nginx_site()
        topology_parts.write_nginx_conf(folder, site)
        if os.geteuid() == 0:
            files.let_pass(folder / "nginx.conf")
        self.programs[PROXY] = Program(
            PROXY,
            self._inside(PROXY, topology_parts.nginx_command(folder)),
            env={"PATH": os.defpath},
            is_ready=lambda: _answers(f"http://{self.address(PROXY)}:{self.ports[PROXY]}/healthz"),
            # As the image is stopped: what it carries is carried to its end.
            stop_signal=signal.SIGQUIT,
            stop_timeout_s=5.0,
            cwd=folder,
        )

    def _app_env(self) -> dict[str, str]:
        return {name: value for name, value in self.env.items() if name != "LOCAL_DATABASE_URL"}

    def _inside(self, name: str, command: tuple[str, ...]) -> tuple[str, ...]:
        return command if self.network is None else self.network.inside(name, command)

    def address(self, name: str) -> str:
        return "127.0.0.1" if self.network is None else self.network.places[name]

    def say(self, text: str) -> None:
        self.supervisor.log.say("topology", text)

    # --- the verbs

    async def _start(self, name: str) -> None:
        await self.supervisor.start(self.programs[name])

    async def start_part(self, name: str) -> None:
        if not self.supervisor.is_kept(name):
            await self._start(name)

    async def stop_part(self, name: str) -> None:
        """In order, as a deploy does it: what it does is given to others first."""
        if self.supervisor.is_kept(name):
            await self.supervisor.stop(name)

    async def kill_part(self, name: str) -> None:
        """With all that it started, at once, and without starting it again: as if the plug were pulled."""
        leader = self.supervisor.pid_of(name)
        if leader is not None:
            _kill_tree(leader)
        if self.supervisor.is_kept(name):
            await self.supervisor.stop(name)

    async def restart_part(self, name: str) -> None:
        await self.stop_part(name)
        await self._start(name)

    async def partition_part(self, name: str) -> None:
        self._network().partition(name)

    async def rejoin_part(self, name: str) -> None:
        self._network().rejoin(name)

    async def roll(self, _: str) -> None:
        """All workers, then all web servers, one after the other: a deploy without an outage."""
        for name in (*self.plan.worker_names, *self.plan.web_names):
            self.say(f"restarting {name}")
            await self.restart_part(name)
            await asyncio.sleep(SEEN_BY_NGINX_S)

    async def deploy(self, folder: str) -> None:
        """A new version, which lies in this folder: its migrations while the old one runs, then all from there."""
        assert self.preparing is not None
        here = Path(folder).resolve()
        if not (here / "manage.py").is_file():
            raise StartFailed(folder, "has no manage.py: name the folder of a whole project")
        await self._prepared(replace(self.preparing, cwd=here))
        for name in (*self.plan.worker_names, *self.plan.web_names):
            self.programs[name] = replace(self.programs[name], cwd=here)
        await self.roll("")

    def _network(self) -> Network:
        if self.network is None:
            raise NoNetwork("without --isolated there is no network of its own to cut; kill and stop work")
        return self.network

    def status(self) -> dict[str, Any]:
        cut = self.network.partitioned if self.network is not None else set()
        parts = {
            name: {
                "pid": self.supervisor.pid_of(name),
                "address": self.address(name),
                "port": self.ports.get(name),
                "partitioned": name in cut,
            }
            for name in self.programs
        }
        return {
            "site": self.env.get("SITE_URL"),
            "database": self.env.get("LOCAL_DATABASE_URL"),
            "outside": self.network.outside if self.network is not None else "127.0.0.1",
            "parts": parts,
        }


# --- the machine


def _kept_secret(path: Path) -> str:
    if not path.exists():
        instance.write_private(path, secrets.token_urlsafe(24))
    return path.read_text()


def _set_password(server: postgres.Postgres, password: str) -> None:
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        role = sql.Identifier(postgres.SUPERUSER)
        connection.execute(sql.SQL("ALTER ROLE {} PASSWORD {}").format(role, sql.Literal(password)))


def _pings(address: str) -> bool:
    with (
        suppress(redis.RedisError, OSError),
        redis.Redis(address, socket_timeout=2, socket_connect_timeout=1) as client,
    ):
        return bool(client.ping())
    return False


def _answers(url: str) -> bool:
    """Any answer of HTTP will do; as the health check of the container, it asks for this machine by name."""
    request = urllib.request.Request(url, headers={"Host": "127.0.0.1"})  # noqa: S310 - our own address
    try:
        with urllib.request.urlopen(request, timeout=3):  # noqa: S310
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False


def _has_runner(dsn: str, worker: int | None) -> bool:
    """Whether a runner of this worker gave a sign in the last seconds."""
    wanted = "SELECT 1 FROM agents_runner WHERE name LIKE %s AND seen_at > clock_timestamp() - interval '10 seconds'"
    with suppress(psycopg.Error), psycopg.connect(dsn, connect_timeout=2) as connection:
        return connection.execute(wanted, [f"%-{worker}-%"]).fetchone() is not None
    return False


def _kill_tree(leader: int) -> None:
    """Frozen first, so that none of them starts another meanwhile."""
    found, fresh = [leader], [leader]
    while fresh:
        for pid in fresh:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        fresh = [child for child in _children_of(fresh) if child not in found]
        found += fresh
    for pid in found:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _children_of(parents: list[int]) -> list[int]:
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError, ValueError, IndexError):
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                found += [int(folder.name)] if parent in parents else []
    return found
