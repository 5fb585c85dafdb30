"""The queue of background jobs, and the only file that knows django-q2. What a job does is not known here.

A job is a hint with ids: it may be lost or come twice, and the row that it names is the truth. Its rules:

- Only functions marked with `@task` are taken, and only ids as arguments: payloads are signed pickles.
- The queue's row is written in the caller's transaction, so nobody sees the job before its row is committed.
- What is taken out of the table was signed by us, and names a marked function: whoever can write into the tables of the
  queue, and of its clock, still cannot say what is run.
- A job that runs holds an advisory lock in Postgres, which ends with its process. So `stuck_on` can tell a cluster
  that works from one that stands still: an idle worker that is killed stops django-q2 for ever (its shared queue stays
  locked), and only a restart from outside helps.
"""

import gc
import logging
import mmap
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar, overload
from uuid import UUID

import psycopg
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models.functions import Now
from django.utils.module_loading import autodiscover_modules, import_string
from django_q.brokers.orm import ORM
from django_q.cluster import Cluster
from django_q.conf import Conf
from django_q.models import OrmQ, Schedule
from django_q.signals import post_execute_in_worker, pre_execute
from django_q.signing import BadSignature, SignedPackage
from django_q.tasks import async_task

from hyperagent.lib.child import end_with
from hyperagent.lib.notes import is_notified
from hyperagent.lib.telemetry import tracing
from hyperagent.lib.telemetry.jobs import JobWatch

log = logging.getLogger(__name__)
CHANNEL = "hyperagent_jobs"
# The first number of the advisory locks of running jobs; the second is the id of the queue's row.
LOCK_CLASS = 0x4A0B5
SCHEDULING_LOCK = 0x4A0B6
# How long the cluster waits for a notification before it looks by itself; also bounds how long it takes to stop.
LOOK_EVERY_S = 3.0
PATIENCE_S = 15.0
# On a machine without a free core a cluster, which lets everybody go first, takes a minute to start.
STARTING_S = 150.0
# The same job at so many looks; the worker's command looks every five seconds.
STANDSTILL_LOOKS = 4
KEEP_FAILURES_DAYS = 14

Task = TypeVar("Task", bound=Callable[..., None])
Id = UUID | str | int

_tasks: dict[str, int | None] = {}
# Whether this cluster was asked to stop: a byte that its processes share, for they are forked. It has no lock, which a
# process that is killed would keep.
_stopping = mmap.mmap(-1, 1)


class UnknownTask(LookupError):
    """Nobody marked a function of this name with `@task`."""


@overload
def task(function: Task) -> Task: ...
@overload
def task(*, every_s: int) -> Callable[[Task], Task]: ...
def task(function: Task | None = None, *, every_s: int | None = None) -> Task | Callable[[Task], Task]:
    """Marks a function that the queue may run; with `every_s` (whole minutes) it also runs by the clock."""
    if every_s is not None and (every_s < 60 or every_s % 60):
        raise ValueError(f"every_s={every_s}: the clock of the queue knows whole minutes only, 60 or more")

    def mark(marked: Task) -> Task:
        _tasks[f"{marked.__module__}.{marked.__qualname__}"] = every_s
        return marked

    return mark if function is None else mark(function)


def enqueue(name: str, *ids: Id) -> None:
    """Has the task `name` (its dotted path) run with these ids, once the caller's transaction is committed."""
    known(name)
    for value in ids:
        if not isinstance(value, UUID | str | int):
            raise TypeError(f"{name}: a job carries ids only, not {type(value).__name__}")
    # The one field of a job that is free: it is signed like the rest, and nothing is decided by it.
    wanted_in = tracing.traceparent()
    more = {"group": wanted_in} if wanted_in else {}
    async_task(name, *[str(value) if isinstance(value, UUID) else value for value in ids], **more)


def known(name: str) -> Callable[..., None]:
    """The task of this name; raises UnknownTask when it does not import or is not marked."""
    try:
        function: Callable[..., None] = import_string(name)
    except ImportError as error:
        raise UnknownTask(f"the task {name} cannot be imported: {error}") from error
    if name not in _tasks:
        raise UnknownTask(f"{name} is not marked as a task; put @task of hyperagent.lib.queue on it")
    return function


def is_stopping() -> bool:
    """Whether the cluster that runs this job was asked to stop. A long job that another can go on with ends soon."""
    return _stopping[0] != 0


class NotifiedBroker(ORM):  # type: ignore[misc]
    """django-q2's broker on the database, which waits for Postgres to say that there is something to do."""

    _hears: Any = None
    """The driver's connection that listens; another one after a fork, and after the database was away."""

    def enqueue(self, package: str) -> int:
        with transaction.atomic():
            key: int = super().enqueue(package)
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_notify(%s, '')", [CHANNEL])
        return key

    def dequeue(self) -> list[tuple[int, str]] | None:
        if is_stopping():
            # Whoever asks us is told to stop too, in a moment.
            time.sleep(0.1)
            return None
        try:
            return self._take() or None
        except (OperationalError, InterfaceError, psycopg.Error) as error:
            # django-q2 would wait for ten seconds and fork a new process.
            log.warning("the queue cannot reach the database, and looks again: %s", _line(error))
            connection.close()
            time.sleep(LOOK_EVERY_S)
            return None

    def acknowledge(self, task_id: int) -> None:
        try:
            super().acknowledge(task_id)
        except (OperationalError, InterfaceError) as error:
            log.warning("job %s is over and will be done again, for the database is away: %s", task_id, _line(error))
            connection.close()

    def _take(self) -> list[tuple[int, str]]:
        connection.ensure_connection()
        if self._hears is not connection.connection:
            # Before the look, so that nothing falls between.
            with connection.cursor() as cursor:
                cursor.execute(f"LISTEN {CHANNEL}")
            self._hears = connection.connection
        taken: list[tuple[int, str]] = []
        is_idle = True
        # The database's clock: it stamps the rows of all machines.
        for row in OrmQ.objects.filter(key=self.list_key, lock__lte=Now()).order_by("id")[: Conf.BULK]:
            until = Now() + timedelta(seconds=Conf.RETRY)
            is_idle = False
            if not _is_ours(row.payload):
                log.error("a job that is none of ours was thrown away: %s", row.pk)
                OrmQ.objects.filter(id=row.id).delete()
            elif OrmQ.objects.filter(id=row.id, lock=row.lock).update(lock=until):
                taken.append((row.pk, row.payload))
        if is_idle:
            is_notified(connection.connection, within_s=LOOK_EVERY_S)
        return taken


def _is_ours(payload: str) -> bool:
    """Whether we have signed it, for a marked function with ids. Nothing is loaded that we have not signed."""
    try:
        job = SignedPackage.loads(payload)
        known(job["func"])
    except (BadSignature, UnknownTask):
        return False
    return not job["kwargs"] and not job.get("hook") and all(isinstance(value, str | int) for value in job["args"])


class _Cluster(Cluster):  # type: ignore[misc]
    """django-q2's cluster, whose jobs may know that it stops."""

    def stop(self) -> bool:
        _stopping[0] = 1
        return bool(super().stop())


def run_cluster() -> None:
    """Runs django-q2's cluster in this process until SIGTERM. Its processes end with the one that forked them."""
    give_back_lost_jobs()
    schedule_tasks()
    connection.close()
    pre_execute.connect(_hold_lock)
    pre_execute.connect(_watch)
    post_execute_in_worker.connect(_watched)
    post_execute_in_worker.connect(_release_lock)
    # Forked processes outlive a killed parent otherwise, and go on taking jobs.
    os.register_at_fork(after_in_child=lambda: end_with(os.getppid(), signal.SIGKILL))
    # What there is by now is not taken apart when this process ends. That was most of a second of CPU, and under load
    # the cluster, which lets everybody go first, was killed before it had had it.
    gc.freeze()
    _Cluster().start()


def _hold_lock(task: dict[str, Any], **_: Any) -> None:
    with _or_end(task), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s, %s)", [LOCK_CLASS, task["ack_id"]])


def _release_lock(task: dict[str, Any], **_: Any) -> None:
    with _or_end(task), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_unlock(%s, %s)", [LOCK_CLASS, task["ack_id"]])


@contextmanager
def _or_end(task: dict[str, Any]) -> Iterator[None]:
    """Without the database this process ends before the job counts as done: its cluster has another, which is given
    the job again."""
    try:
        yield
    except (OperationalError, InterfaceError) as error:
        log.warning("the database is away, so job %s will be done again: %s", task["ack_id"], _line(error))
        raise SystemExit(1) from None


def _line(error: Exception) -> str:
    return str(error).split("\n")[0]


_job = JobWatch()


def _watch(task: dict[str, Any], **_: Any) -> None:
    _job.begin(task["func"], task["args"], number=task["ack_id"], traceparent=task.get("group") or "")


def _watched(task: dict[str, Any], **_: Any) -> None:
    _job.end(task["func"], task["args"], failed=not task["success"])


_RUNNING = f"""
    SELECT objid::bigint AS id, pid FROM pg_locks
    WHERE locktype = 'advisory' AND classid = {LOCK_CLASS} AND objsubid = 2 AND granted
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


def stuck_on(cluster: str, *, started_s_ago: float) -> int | None:
    """The job that has waited longest, for more than PATIENCE_S, though the cluster of this name has a worker to spare.
    None where there is none, and while the cluster itself has not been here for as long. One query.

    A job waits until a process runs it: while it lies in the table, and while it lies in a cluster's memory. A cluster
    that is not connected is only starting, for STARTING_S at most, however long jobs have waited by then.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            WITH running AS ({_RUNNING}),
            waiting AS (
                SELECT id, clock_timestamp() - CASE WHEN lock > clock_timestamp()
                           THEN lock - %(retry)s * interval '1 second' ELSE lock END AS age
                FROM django_q_ormq WHERE key = %(key)s AND id NOT IN (SELECT id FROM running)
            ),
            here AS (
                SELECT clock_timestamp() - min(backend_start) AS age FROM pg_stat_activity
                WHERE application_name = %(cluster)s
            )
            SELECT waiting.id FROM waiting, here
            WHERE waiting.age > %(patience)s * interval '1 second'
              AND CASE WHEN here.age IS NULL THEN %(is_late)s ELSE here.age > %(patience)s * interval '1 second' END
              AND (SELECT count(*) FROM running JOIN pg_stat_activity USING (pid)
                   WHERE application_name = %(cluster)s) < %(workers)s
            ORDER BY waiting.age DESC, waiting.id LIMIT 1
            """,
            {
                "retry": Conf.RETRY,
                "key": Conf.CLUSTER_NAME,
                "patience": PATIENCE_S,
                "is_late": started_s_ago > STARTING_S,
                "workers": Conf.WORKERS,
                "cluster": cluster[:63],
            },
        )
        found = cursor.fetchone()
    return int(found[0]) if found else None


@dataclass(slots=True)
class Standstill:
    """Tells a cluster that stands still from one that is slow, or has much to do: look after look the same job is the
    one that waits longest."""

    job: int | None = None
    times: int = 0

    def shows(self, job: int | None) -> bool:
        """`job`: what this look found. True once it was found STANDSTILL_LOOKS times in a row; then it begins anew."""
        self.times = self.times + 1 if job == self.job else 1
        self.job = job
        if job is None or self.times < STANDSTILL_LOOKS:
            return False
        self.job, self.times = None, 0
        return True


def pull_schedules_back() -> None:
    """What is done by the clock is due within its own interval, by the database's clock. One query.

    django-q2 goes by the clock of the machine that looks: one that is ten minutes fast puts all that it does off for as
    long, and nobody else would do any of it meanwhile.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE django_q_schedule SET next_run = clock_timestamp() WHERE schedule_type = %s"
            " AND next_run > clock_timestamp() + (minutes * 60 + %s) * interval '1 second'",
            [Schedule.MINUTES, PATIENCE_S],
        )


def oldest_waiting_s() -> float:
    """The age in seconds of the oldest job that nobody has taken; 0.0 if there is none."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT coalesce(extract(epoch FROM now() - min(lock)), 0) FROM django_q_ormq WHERE lock < now()"
        )
        return float(cursor.fetchone()[0])


def is_served() -> bool:
    """Whether a cluster that `manage.py worker` started is connected, on whatever machine. One query."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT 1 FROM pg_stat_activity"
            " WHERE datname = current_database() AND application_name LIKE %s)",
            ["%-jobs"],
        )
        return bool(cursor.fetchone()[0])


def give_back_lost_jobs() -> None:
    """Jobs that a dead cluster had taken and that no process runs are for everybody again; old failures go."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE django_q_ormq SET lock = now() WHERE lock > now() AND id NOT IN (SELECT id FROM ({_RUNNING}) r)"
        )
        # By hand: loading the rows would unpickle what they hold.
        cursor.execute("DELETE FROM django_q_task WHERE stopped < now() - %s * interval '1 day'", [KEEP_FAILURES_DAYS])


def schedule_tasks() -> None:
    """Makes the schedule of every task that has `every_s`, and removes those of tasks that are gone. Idempotent."""
    autodiscover_modules("tasks")
    wanted = {name: every_s for name, every_s in _tasks.items() if every_s is not None}
    for name, every_s in wanted.items():
        schedule_every(name, every_s)
    Schedule.objects.exclude(name__in=wanted).delete()


def schedule_every(name: str, seconds: int) -> None:
    """One schedule of this name, however many clusters start at once: their table would take two, and with two no
    cluster would start any more."""
    known(name)
    values = {"func": name, "schedule_type": Schedule.MINUTES, "minutes": seconds // 60, "repeats": -1}
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [SCHEDULING_LOCK])
        first, *others = Schedule.objects.filter(name=name).order_by("id").values_list("id", flat=True) or [None]
        Schedule.objects.filter(id__in=others).delete()
        Schedule.objects.update_or_create(id=first, defaults={"name": name, **values})
