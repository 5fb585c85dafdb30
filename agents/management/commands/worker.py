"""`manage.py worker`: keeps this machine's runners, its cluster of background jobs, its embedder and its sandboxes
alive. Runs nothing itself."""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from asgiref.sync import sync_to_async
from django.core.management.base import BaseCommand, CommandParser
from django.db import Error, connection

from agents.actions import release_runner
from hyperagent.lib import queue
from hyperagent.lib.conf import BASE_DIR, SandboxProvider, number_as
from hyperagent.lib.process_names import own_name
from hyperagent.lib.supervisor import Log, Program, StartFailed, Supervisor
from hyperagent.lib.telemetry.port import MetricsPort
from hyperagent.settings import CONFIG

log = logging.getLogger(__name__)
JOBS = "jobs"
EMBEDDER = "embedder"
SANDBOXES = "sandboxes"
WATCH_EVERY_S = 5.0
# A runner gives its runs back within ten seconds.
STOP_TIMEOUT_S = 11.0


class Command(BaseCommand):
    help = "Starts and supervises the runners of this machine, its background jobs, its embedder and its sandboxes."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--runners", type=number_as("RUNNERS"), default=CONFIG.runners, help="runner processes")
        parser.add_argument(
            "--concurrency",
            type=number_as("AGENT_CONCURRENCY"),
            default=CONFIG.agent_concurrency,
            help="runs that one runner drives at once",
        )
        parser.add_argument(
            "--no-embedder", dest="embedder", action="store_false", help="where another worker of this machine has one"
        )
        parser.add_argument(
            "--no-sandboxes", dest="sandboxes", action="store_false", help="where no programs shall run on this machine"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        wanted = {name: options[name] for name in ("runners", "concurrency", "embedder", "sandboxes")}
        if not asyncio.run(work(**wanted)):
            sys.exit(1)


async def work(*, runners: int, concurrency: int, embedder: bool, sandboxes: bool) -> bool:
    """Supervises until SIGTERM; false if something did not start."""
    supervisor = Supervisor(Log(sys.stdout, as_json=CONFIG.log_format == "json"))
    supervisor.stop_on_signals()
    worker = own_name()
    cluster = queue.cluster_name(worker)
    metrics = _metrics(worker)
    try:
        if metrics is not None:
            metrics.start()
    except OSError as error:
        supervisor.log.say(
            "worker", f"cannot go on: METRICS_PORT={CONFIG.metrics_port} cannot be had: {error.strerror}"
        )
        return False
    counted = {} if metrics is None else metrics.env
    programs = [_runner(f"{worker}-{number}", number, concurrency, counted) for number in range(1, runners + 1)]
    programs += [_jobs(cluster, counted), *([_embedder(worker)] if embedder else [])]
    programs += [_sandboxes(worker)] if sandboxes and CONFIG.sandbox_provider is not SandboxProvider.NONE else []
    try:
        await asyncio.gather(*(supervisor.start(program) for program in programs))
        await _watch(supervisor, cluster)
    except StartFailed as failure:
        supervisor.log.say("worker", f"cannot go on: {failure}")
        return False
    finally:
        await _stop_all(supervisor, [program.name for program in programs])
        if metrics is not None:
            metrics.stop()
    return True


def _metrics(worker: str) -> MetricsPort | None:
    if not CONFIG.metrics_port:
        return None
    folder = CONFIG.data_path / "run" / f"metrics-{worker}"
    return MetricsPort(CONFIG.metrics_port, folder=folder, token=CONFIG.metrics_token.get_secret_value())


def _runner(name: str, number: int, concurrency: int, counted: dict[str, str]) -> Program:
    return Program(
        f"runner-{number}",
        _manage("runner", "--name", name, "--concurrency", str(concurrency)),
        env={**os.environ, "HYPERAGENT_PROCESS": "runner", "HYPERAGENT_NAME": name, **counted},
        after_death=_releasing(name),
        stop_timeout_s=STOP_TIMEOUT_S,
    )


def _jobs(cluster: str, counted: dict[str, str]) -> Program:
    return Program(
        JOBS,
        _manage("jobs"),
        env={**os.environ, "HYPERAGENT_PROCESS": "queue", "HYPERAGENT_NAME": cluster, **counted},
        stop_timeout_s=STOP_TIMEOUT_S,
        # A parent that is gone leaves nobody who could drain it.
        stop_signal=signal.SIGTERM,
    )


def _embedder(worker: str) -> Program:
    return Program(
        EMBEDDER,
        _manage("embedder"),
        env={**os.environ, "HYPERAGENT_PROCESS": "embedder", "HYPERAGENT_NAME": f"{worker}-{EMBEDDER}"},
        stop_timeout_s=STOP_TIMEOUT_S,
    )


def _sandboxes(worker: str) -> Program:
    return Program(
        SANDBOXES,
        _manage(SANDBOXES),
        env={**os.environ, "HYPERAGENT_PROCESS": SANDBOXES, "HYPERAGENT_NAME": f"{worker}-{SANDBOXES}"},
        stop_timeout_s=STOP_TIMEOUT_S,
    )


def _manage(*arguments: str) -> tuple[str, ...]:
    return (sys.executable, str(BASE_DIR / "manage.py"), *arguments)


def _releasing(name: str) -> Callable[[], Awaitable[None]]:
    """The runs of a runner that died are free at once; without this they would be when its lease ends."""

    async def release() -> None:
        try:
            await sync_to_async(_with_connection)(release_runner, name)
        except Error as error:
            log.warning("the runs of %s are free when their lease ends: %s", name, error)

    return release


def _with_connection(function: Callable[..., Any], *args: Any, **more: Any) -> Any:
    """On the connection that is kept here, or once more on a new one: that it was lost is found out by its use. Raises
    Error where the database is away."""
    try:
        return function(*args, **more)
    except Error:
        connection.close()
    return function(*args, **more)


async def _watch(supervisor: Supervisor, cluster: str) -> None:
    """Until the supervisor is asked to stop: restarts a cluster that lets jobs wait though it has a worker to spare."""
    standstill = queue.Standstill()
    while not await _asked_to_stop(supervisor, WATCH_EVERY_S):
        try:
            started_s_ago = supervisor.started_s_ago(JOBS)
            job = await sync_to_async(_with_connection)(queue.stuck_on, cluster, started_s_ago=started_s_ago)
        except Error as error:
            log.warning("cannot look at the queue: %s", error)
            continue
        if standstill.shows(job):
            supervisor.log.say(JOBS, "lets jobs wait and does nothing; it is started again")
            await supervisor.restart(JOBS)


async def _asked_to_stop(supervisor: Supervisor, timeout_s: float) -> bool:
    try:
        async with asyncio.timeout(timeout_s):
            await supervisor.asked_to_stop.wait()
    except TimeoutError:
        return False
    return True


async def _stop_all(supervisor: Supervisor, names: list[str]) -> None:
    """All at once: none of them needs another."""
    await asyncio.gather(*(supervisor.stop(name) for name in names if supervisor.is_kept(name)))
