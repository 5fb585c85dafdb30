"""The queue of background jobs, and the only file that knows django-q2. What a job does is not known here.

A job is a hint with ids: it may be lost or come twice, and the row that it names is the truth. Its rules:

- Only functions marked with `@task` are taken, and only ids as arguments: payloads are signed pickles.
- The queue's row is written in the caller's transaction, so nobody sees the job before its row is committed.
- It stands in a lane (`hyperagent.lib.lanes`): what is wanted soon is taken first, however much lies in the others, and
  of those a cluster does only some at a time.
- What is taken out of the table was signed by us, and names a marked function: whoever can write into the tables of the
  queue, and of its clock, still cannot say what is run.
- A job that runs holds an advisory lock in Postgres, which ends with its process. So `stuck_on` can tell a cluster
  that works from one that stands still: an idle worker that is killed stops django-q2 for ever (its shared queue stays
  locked), and only a restart from outside helps.
"""

import gc
import logging
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar, overload
from uuid import UUID

import psycopg
from django.db import InterfaceError, InternalError, OperationalError, connection, transaction
from django.utils.module_loading import autodiscover_modules, import_string
from django_q import cluster as clusters
from django_q.brokers.orm import ORM
from django_q.cluster import Cluster
from django_q.conf import Conf
from django_q.models import Schedule
from django_q.signals import post_execute_in_worker, pre_execute
from django_q.signing import BadSignature, SignedPackage
from django_q.tasks import async_task

from hyperagent.lib import rows
from hyperagent.lib.bell import Bell
from hyperagent.lib.child import end_with
from hyperagent.lib.lanes import Lane
from hyperagent.lib.notes import is_notified
from hyperagent.lib.telemetry import tracing
from hyperagent.lib.telemetry.jobs import JobWatch

log = logging.getLogger(__name__)
CHANNEL = "hyperagent_jobs"
# The first number of the advisory locks of running jobs; the second is the id of the queue's row.
LOCK_CLASS = 0x4A0B5
SCHEDULING_LOCK = 0x4A0B6
# How long the cluster waits for a notification before it looks by itself; shorter than PATIENCE_S.
LOOK_EVERY_S = 10.0
AGAIN_AFTER_S = 3.0
# The clock is looked at when its next time has come; so often at least, for others may have changed it.
CLOCK_EVERY_S = 30.0
PATIENCE_S = 15.0
# On a machine without a free core a cluster, which lets everybody go first, takes a minute to start.
STARTING_S = 150.0
# The same job at so many looks; the worker's command looks every five seconds.
STANDSTILL_LOOKS = 4
# No job has this number.
THE_CLOCK = 0
KEEP_FAILURES_DAYS = 14
# Of a connection's name Postgres keeps so many characters.
LONGEST_NAME = 63
CLUSTER = "-jobs"
# The last: it can only be read, as while another one becomes the primary.
_AWAY = (OperationalError, InterfaceError, InternalError)

Task = TypeVar("Task", bound=Callable[..., None])
Id = UUID | str | int

_tasks: dict[str, int | None] = {}
_lanes: dict[str, Lane] = {}
# Rings when this cluster is asked to stop, for all of its processes: they are forked.
_stopping = Bell()


class UnknownTask(LookupError):
    """Nobody marked a function of this name with `@task`."""


@overload
def task(function: Task) -> Task: ...
@overload
def task(*, every_s: int | None = None, lane: Lane = Lane.SOON) -> Callable[[Task], Task]: ...
def task(
    function: Task | None = None, *, every_s: int | None = None, lane: Lane = Lane.SOON
) -> Task | Callable[[Task], Task]:
    """Marks a function that the queue may run; with `every_s` (whole minutes) it also runs by the clock."""
    if every_s is not None and (every_s < 60 or every_s % 60):
        raise ValueError(f"every_s={every_s}: the clock of the queue knows whole minutes only, 60 or more")

    def mark(marked: Task) -> Task:
        name = f"{marked.__module__}.{marked.__qualname__}"
        _tasks[name], _lanes[name] = every_s, lane
        return marked

    return mark if function is None else mark(function)


def enqueue(name: str, *ids: Id, lane: Lane | None = None) -> int:
    """Has the task `name` (its dotted path) run with these ids, once the caller's transaction is committed: in its own
    lane, or in this one. Gives the number of the job."""
    known(name)
    for value in ids:
        if not isinstance(value, UUID | str | int):
            raise TypeError(f"{name}: a job carries ids only, not {type(value).__name__}")
    # The one field of a job that is free: it is signed like the rest, and nothing is decided by it.
    wanted_in = tracing.traceparent()
    more = {"group": wanted_in} if wanted_in else {}
    broker = NotifiedBroker(lane or _lanes[name])
    async_task(name, *[str(value) if isinstance(value, UUID) else value for value in ids], broker=broker, **more)
    return broker.last_put


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
    return _stopping.is_rung()


# By the database's clock alone, which stamps the rows of all machines: what one put in whose clock is ahead would not
# be there yet for who hears of it. Texts that stay the same, so that Postgres plans them once.
_PUT = f"""
    WITH job AS (INSERT INTO django_q_ormq (key, payload, lock) VALUES (%s, %s, clock_timestamp()) RETURNING id)
    SELECT id, pg_notify('{CHANNEL}', '') FROM job
"""
_TAKE = f"""
    WITH job AS MATERIALIZED (
        SELECT id FROM django_q_ormq WHERE key = %s AND lock <= clock_timestamp() ORDER BY id LIMIT {Conf.BULK}
        FOR UPDATE SKIP LOCKED)
    UPDATE django_q_ormq q SET lock = clock_timestamp() + interval '{Conf.RETRY} seconds' FROM job WHERE q.id = job.id
    RETURNING q.id, q.payload
"""
# Whose lane has a limit makes room in it.
_DONE = f"""
    WITH done AS (DELETE FROM django_q_ormq WHERE id = %s RETURNING key)
    SELECT pg_notify('{CHANNEL}', '') FROM done WHERE key <> '{Lane.SOON}'
"""
_HOLD = f"SELECT pg_advisory_lock({LOCK_CLASS}, %s::int)"
_RELEASE = f"SELECT pg_advisory_unlock({LOCK_CLASS}, %s::int)"
# What is due, and what a clock that was wrong had put off for longer than its interval.
_DUE = """
    WITH due AS MATERIALIZED (
        SELECT id FROM django_q_schedule WHERE name = ANY(%s) AND next_run NOT BETWEEN
            statement_timestamp() AND statement_timestamp() + minutes * interval '1 minute'
        ORDER BY id FOR UPDATE SKIP LOCKED)
    UPDATE django_q_schedule s SET next_run = statement_timestamp() + s.minutes * interval '1 minute'
    FROM due WHERE s.id = due.id
    RETURNING s.id, s.name, EXISTS (
        SELECT 1 FROM django_q_ormq q WHERE q.lock <= clock_timestamp()
                                        AND q.id = CASE WHEN s.task ~ '^[0-9]{1,9}$' THEN s.task::int END)
"""
_LAST_PUT = "UPDATE django_q_schedule SET task = %s WHERE id = %s"
_NEXT_DUE = """
    SELECT extract(epoch FROM min(next_run) - clock_timestamp())::float8 FROM django_q_schedule WHERE name = ANY(%s)
"""


def enqueue_due() -> float:
    """What is to be done by the clock, and is due, becomes jobs, each once however many clusters look; none where its
    last one still waits, which will do. Gives the seconds until the next is due.

    By the database's clock. django-q2's own scheduler goes by that of the machine that looks: one that is ten minutes
    fast puts all that it does off for as long, and nobody else does any of it meanwhile.
    """
    timed = [name for name, every_s in _tasks.items() if every_s is not None]
    with transaction.atomic():
        for schedule, name, waits in rows.execute(_DUE, [timed]).fetchall():
            if not waits:
                rows.execute(_LAST_PUT, [str(enqueue(name)), schedule])
    due_s = rows.execute(_NEXT_DUE, [timed]).fetchone()[0]
    return CLOCK_EVERY_S if due_s is None else min(max(due_s, 0.0), CLOCK_EVERY_S)


class NotifiedBroker(ORM):  # type: ignore[misc]
    """django-q2's broker on the database, which waits for Postgres to say that there is something to do."""

    _hears: Any = None
    """The driver's connection that listens; another one after a fork, and after the database was away."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        # When the clock is looked at. Who has just started is wanted for other things first.
        self._due_at_s = time.monotonic() + LOOK_EVERY_S
        self.last_put = 0
        self._turns = [Lane.LONG, Lane.MANY]
        self._limited: list[int] = []
        """What it took of the lanes of which a cluster does only some at a time, and was not over at the last look."""

    def enqueue(self, package: str) -> int:
        self.last_put = int(rows.execute(_PUT, [self.list_key, package]).fetchone()[0])
        return self.last_put

    def dequeue(self) -> list[tuple[int, str]] | None:
        if is_stopping():
            # Whoever asks us is told to stop too, in a moment.
            time.sleep(0.1)
            return None
        try:
            return self._take() or None
        except (*_AWAY, psycopg.Error) as error:
            # django-q2 would wait for ten seconds and fork a new process.
            log.warning("the queue cannot reach the database, and looks again: %s", _line(error))
            connection.close()
            _stopping.is_rung(within_s=AGAIN_AFTER_S)
            return None

    def acknowledge(self, task_id: int) -> None:
        try:
            self.get_connection()
            rows.execute(_DONE, [task_id])
        except _AWAY as error:
            log.warning("job %s is over and will be done again, for the database is away: %s", task_id, _line(error))
            connection.close()

    def _take(self) -> list[tuple[int, str]]:
        connection.ensure_connection()
        if self._hears is not connection.connection:
            # Before the look, so that nothing falls between.
            with connection.cursor() as cursor:
                cursor.execute(f"LISTEN {CHANNEL}")
            # Who had a job while the database was away has ended over it, or will: nobody else gives it back.
            give_back_lost_jobs()
            self._hears = connection.connection
        if time.monotonic() >= self._due_at_s:
            self._due_at_s = time.monotonic() + enqueue_due()
        taken = self._first()
        if not taken:
            due_s = self._due_at_s - time.monotonic()
            is_notified(connection.connection, within_s=min(LOOK_EVERY_S, due_s), unless=_stopping)
        ours = [job for job in taken if _is_ours(job[1])]
        for number, _ in [job for job in taken if job not in ours]:
            log.error("a job that is none of ours was thrown away: %s", number)
            rows.execute(_DONE, [number])
        return ours

    def _first(self) -> list[tuple[int, str]]:
        """Taken from the first lane, or from the one of the others whose turn it is. Of those a cluster has fewer than
        it has processes, if it has two, and none that waits for the one before: what comes after would wait for all."""
        first: list[tuple[int, str]] = rows.execute(_TAKE, [Lane.SOON]).fetchall()
        if first:
            return first
        if self._limited:
            self._limited = [number for (number,) in rows.execute(_NOT_OVER, [self._limited]).fetchall()]
        if len(self._limited) < max(1, Conf.WORKERS - 1):
            for lane in self._turns:
                if first := rows.execute(_TAKE, [lane]).fetchall():
                    self._limited += [number for number, _ in first]
                    self._turns.remove(lane)
                    self._turns.append(lane)
                    break
        return first


def _is_ours(payload: str) -> bool:
    """Whether we have signed it, for a marked function with ids. Nothing is loaded that we have not signed."""
    try:
        job = SignedPackage.loads(payload)
        known(job["func"])
    except (BadSignature, UnknownTask):
        return False
    return not job["kwargs"] and not job.get("hook") and all(isinstance(value, str | int) for value in job["args"])


class _Unread:
    """In the place of django-q2's record of how a cluster does, which it puts together, signs and stores at each look
    of its own, four times as dear as the look. Nobody reads it."""

    def __init__(self, sentinel: Any) -> None: ...

    def save(self) -> None: ...


class _Cluster(Cluster):  # type: ignore[misc]
    """django-q2's cluster, whose jobs may know that it stops."""

    def stop(self) -> bool:
        _stopping.ring()
        return bool(super().stop())


def run_cluster() -> None:
    """Runs django-q2's cluster in this process until SIGTERM. Its processes end with the one that forked them."""
    clusters.Stat = _Unread
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
    with _or_end(task):
        rows.execute(_HOLD, [task["ack_id"]])


def _release_lock(task: dict[str, Any], **_: Any) -> None:
    """A job that was done is gone by then, and nobody else need note it; one that failed django-q2 keeps first."""
    with _or_end(task):
        if task["success"]:
            rows.execute(_DONE, [task["ack_id"]])
        rows.execute(_RELEASE, [task["ack_id"]])
    if task["success"]:
        del task["ack_id"]


@contextmanager
def _or_end(task: dict[str, Any]) -> Iterator[None]:
    """Without the database this process ends before the job counts as done: its cluster has another, and the job is
    given back once the broker reaches the database again."""
    try:
        yield
    except _AWAY as error:
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


# Until a process runs it, a job that was taken lies in the cluster's memory.
_NOT_OVER = f"""
    SELECT id FROM django_q_ormq WHERE id = ANY(%s::int[]) AND (
        lock > clock_timestamp() + interval '{Conf.RETRY} seconds' - interval '{PATIENCE_S} seconds'
        OR id IN (SELECT id FROM ({_RUNNING}) r))
"""


_STUCK_ON = f"""
    WITH running AS ({_RUNNING}),
    waiting AS (
        SELECT id, clock_timestamp() - CASE WHEN lock > clock_timestamp()
                   THEN lock - interval '{Conf.RETRY} seconds' ELSE lock END AS age
        FROM django_q_ormq WHERE key = '{Conf.CLUSTER_NAME}' AND id NOT IN (SELECT id FROM running)
        UNION ALL SELECT {THE_CLOCK}, clock_timestamp() - min(next_run) FROM django_q_schedule
    ),
    here AS (
        SELECT clock_timestamp() - min(backend_start) AS age FROM pg_stat_activity
        WHERE application_name = %(cluster)s
    )
    SELECT waiting.id FROM waiting, here
    WHERE waiting.age > %(patience_s)s::float8 * interval '1 second'
      AND CASE WHEN here.age IS NULL THEN %(is_late)s
               ELSE here.age > %(patience_s)s::float8 * interval '1 second' END
      AND (SELECT count(*) FROM running JOIN pg_stat_activity USING (pid)
           WHERE application_name = %(cluster)s) < {Conf.WORKERS}
    ORDER BY waiting.age DESC, waiting.id LIMIT 1
"""


def stuck_on(cluster: str, *, started_s_ago: float) -> int | None:
    """The job that has waited longest, for more than PATIENCE_S, though the cluster of this name has a worker to spare.
    None where there is none, and while the cluster itself has not been here for as long. One query.

    A job waits until a process runs it: while it lies in the table, and while it lies in a cluster's memory; THE_CLOCK
    waits while something is due and nobody makes a job of it. A cluster that is not connected is only starting, for
    STARTING_S at most, however long jobs have waited by then.
    """
    values = {"patience_s": PATIENCE_S, "is_late": started_s_ago > STARTING_S, "cluster": cluster}
    found = rows.execute(_STUCK_ON, values).fetchone()
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


def oldest_waiting_s(*lanes: Lane) -> float:
    """The age in seconds of the oldest job in these lanes that nobody has taken; 0.0 if there is none."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT coalesce(extract(epoch FROM now() - min(lock)), 0) FROM django_q_ormq"
            " WHERE key = ANY(%s) AND lock < now()",
            [[*lanes]],
        )
        return float(cursor.fetchone()[0])


_IS_SERVED = """
    SELECT EXISTS (SELECT 1 FROM pg_stat_activity
                    WHERE datname = current_database() AND application_name LIKE '%-jobs')
"""
_IS_LATE = """
    SELECT EXISTS (SELECT 1 FROM django_q_ormq WHERE lock < clock_timestamp() - make_interval(secs => %(late_s)s))
        OR EXISTS (SELECT 1 FROM django_q_schedule
                    WHERE next_run < clock_timestamp() - make_interval(secs => %(late_s)s))
"""


def cluster_name(worker: str) -> str:
    """By which the connections of this worker's cluster are known. Postgres keeps the beginning of a name, and its end
    says what it is; of a long one that of its host does not matter."""
    return f"{worker[-(LONGEST_NAME - len(CLUSTER)) :]}{CLUSTER}"


def is_served() -> bool:
    """Whether a cluster that `manage.py worker` started is connected, on whatever machine. One query."""
    with connection.cursor() as cursor:
        cursor.execute(_IS_SERVED)
        return bool(cursor.fetchone()[0])


def is_deserted(*, for_s: float) -> bool:
    """Whether no cluster is connected, and something waits for one for longer than this: one that is only started again
    is none that is missing. Each minute something is due. Two queries at most."""
    if is_served():
        return False
    with connection.cursor() as cursor:
        cursor.execute(_IS_LATE, {"late_s": for_s})
        return bool(cursor.fetchone()[0])


def give_back_lost_jobs() -> None:
    """Jobs that a dead cluster had taken and that no process runs are for everybody again; old failures go."""
    with connection.cursor() as cursor:
        cursor.execute(
            "WITH given AS (UPDATE django_q_ormq SET lock = now()"
            f" WHERE lock > now() AND id NOT IN (SELECT id FROM ({_RUNNING}) r) RETURNING id)"
            " SELECT pg_notify(%s, '') FROM given",
            [CHANNEL],
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
