"""Background jobs on real processes: taken once they are committed, and not stopped by the death of any process."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import psutil
import psycopg
import pytest
import time_machine
from django.contrib import admin
from django.db import connection, transaction
from django.db.models.functions import Now
from django.utils import timezone
from django_q.conf import Conf
from django_q.models import OrmQ, Schedule, Task
from django_q.signing import SignedPackage

from hyperagent.lib import queue
from hyperagent.lib.conf import BASE_DIR
from hyperagent.lib.lanes import Lane
from tests import template
from tests.house.waiting import until
from tests.runtime.driving import database_dsn

LEAVE_MARK = "tests.house.jobs.leave_mark"
# As the cluster of a supervisor that has long been up.
LONG_S = 3600.0


@contextmanager
def worker(log: Path) -> Iterator[psutil.Process]:
    """`manage.py worker` without runners, on the test's database."""
    url = os.environ["DATABASE_URL"].replace("/hyperagent?", f"/{connection.settings_dict['NAME']}?")
    env = {**os.environ, "DATABASE_URL": url, "QUEUE_WORKERS": "1", "LOG_LEVEL": "INFO"}
    with log.open("w") as output:
        process = template.Process(
            [sys.executable, "manage.py", "worker", "--runners", "0", "--no-embedder", "--no-sandboxes"],
            cwd=BASE_DIR,
            env=env,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        until(lambda: len(cluster_of(psutil.Process(process.pid))) >= 5, what="the cluster's five processes")
        yield psutil.Process(process.pid)
        process.terminate()
        assert process.wait(25) == 0, log.read_text()
    finally:
        process.kill()
        process.wait()


def cluster_of(parent: psutil.Process) -> list[psutil.Process]:
    """django-q2's processes, in the order in which they were started: main, sentinel, worker, monitor, pusher."""
    try:
        return sorted(parent.children(recursive=True), key=lambda process: process.pid)
    except psutil.NoSuchProcess:
        return []


@contextmanager
def connected_as(cluster: str) -> Iterator[None]:
    """Somebody whom the database knows by this name."""
    url = os.environ["DATABASE_URL"].replace("/hyperagent?", f"/{connection.settings_dict['NAME']}?")
    with psycopg.connect(url, application_name=cluster):
        yield


@pytest.fixture
def by_the_clock() -> Iterator[None]:
    """The job that leaves a mark is done every two minutes."""
    queue.task(every_s=120)(queue.known(LEAVE_MARK))
    yield
    queue.task(queue.known(LEAVE_MARK))


def funcs_waiting() -> list[str]:
    return [SignedPackage.loads(payload)["func"] for payload in OrmQ.objects.values_list("payload", flat=True)]


def marks(path: Path) -> int:
    return path.read_text().count("done") if path.exists() else 0


@pytest.mark.django_db
def test_only_tasks_are_taken() -> None:
    with pytest.raises(queue.UnknownTask, match="cannot be imported"):
        queue.enqueue("tests.house.jobs.nobody_wrote_this")
    with pytest.raises(queue.UnknownTask, match="not marked as a task"):
        queue.enqueue("tests.house.jobs.not_a_task", "x")
    with pytest.raises(queue.UnknownTask):
        queue.enqueue("os.system", "true")

    assert OrmQ.objects.count() == 0


@pytest.mark.django_db
def test_a_job_carries_ids_only() -> None:
    with pytest.raises(TypeError, match="ids only, not dict"):
        queue.enqueue(LEAVE_MARK, {"text": "a whole question"})  # type: ignore[arg-type]


@pytest.mark.django_db(transaction=True)
def test_a_job_is_gone_with_the_transaction_that_asked_for_it() -> None:
    with transaction.atomic():
        queue.enqueue(LEAVE_MARK, "/nowhere")
        transaction.set_rollback(True)

    assert OrmQ.objects.count() == 0


@pytest.mark.slow
@pytest.mark.django_db
def test_schedules_are_made_once_and_follow_the_code(by_the_clock: None) -> None:
    """Also where two clusters made one at the same moment: with two of a name none would start any more."""
    Schedule.objects.create(name="gone.task", func="gone.task")
    for _ in range(2):
        Schedule.objects.create(name=LEAVE_MARK, func=LEAVE_MARK)

    queue.schedule_tasks()
    queue.schedule_tasks()

    row = Schedule.objects.get(name=LEAVE_MARK)
    assert (row.func, row.minutes, row.repeats) == (LEAVE_MARK, 2, -1)
    assert not Schedule.objects.filter(name="gone.task").exists()


@pytest.mark.django_db
@pytest.mark.spec("B1")
def test_what_a_machine_with_a_fast_clock_put_off_is_done_by_the_others_in_time(by_the_clock: None) -> None:
    queue.schedule_every(LEAVE_MARK, 120)
    Schedule.objects.filter(name=LEAVE_MARK).update(next_run=timezone.now() + timedelta(minutes=12))

    assert queue.enqueue_due() == queue.CLOCK_EVERY_S

    assert funcs_waiting() == [LEAVE_MARK]
    assert Schedule.objects.get(name=LEAVE_MARK).next_run <= timezone.now() + timedelta(minutes=2)


@pytest.mark.django_db
def test_what_is_due_within_its_interval_stays_where_it_is(by_the_clock: None) -> None:
    queue.schedule_every(LEAVE_MARK, 120)
    due = timezone.now() + timedelta(seconds=10)
    Schedule.objects.filter(name=LEAVE_MARK).update(next_run=due)

    assert 0 < queue.enqueue_due() <= 10

    assert funcs_waiting() == []
    assert Schedule.objects.get(name=LEAVE_MARK).next_run == due


@pytest.mark.django_db
def test_what_is_due_becomes_one_job_and_is_due_again_after_its_interval(by_the_clock: None) -> None:
    queue.schedule_every(LEAVE_MARK, 120)
    due = timezone.now() - timedelta(hours=3)
    Schedule.objects.filter(name=LEAVE_MARK).update(next_run=due)
    Schedule.objects.create(name="forged", func=LEAVE_MARK, next_run=due)

    queue.enqueue_due()
    queue.enqueue_due()

    assert funcs_waiting() == [LEAVE_MARK]
    assert Schedule.objects.get(name=LEAVE_MARK).next_run > timezone.now() + timedelta(seconds=100)


@pytest.mark.django_db
def test_of_what_is_due_again_while_its_last_job_still_waits_there_is_no_second(by_the_clock: None) -> None:
    queue.schedule_every(LEAVE_MARK, 120)
    due = timezone.now() - timedelta(minutes=3)

    def fall_due() -> list[str]:
        Schedule.objects.filter(name=LEAVE_MARK).update(next_run=due)
        queue.enqueue_due()
        return funcs_waiting()

    while_it_waits = [fall_due() for _ in range(3)]
    OrmQ.objects.update(lock=timezone.now() + timedelta(seconds=900))
    while_it_is_done = [fall_due() for _ in range(2)]

    assert while_it_waits == [[LEAVE_MARK]] * 3
    assert while_it_is_done == [[LEAVE_MARK] * 2] * 2
    # As schedules are that django-q2's own clock looked at.
    Schedule.objects.update(task="0" * 32)
    assert len(fall_due()) == 3


def _take(broker: queue.NotifiedBroker) -> str | None:
    """What it is told first to do, by its first argument; it is at that then."""
    taken = broker.dequeue()
    return SignedPackage.loads(taken[0][1])["args"][0] if taken else None


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> queue.NotifiedBroker:
    monkeypatch.setattr(queue, "LOOK_EVERY_S", 60.0)
    broker = queue.NotifiedBroker()
    monkeypatch.setattr(queue, "LOOK_EVERY_S", 0.01)
    monkeypatch.setattr(Conf, "WORKERS", 2)
    return broker


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_what_somebody_waits_for_is_done_before_all_that_lay_there_already(broker: queue.NotifiedBroker) -> None:
    for number in range(20):
        queue.enqueue("memory.tasks.ingest", f"document {number}")
    queue.enqueue("hyperagent.accounts.tasks.make_export", "an export")
    assert _take(broker) == "an export"
    with transaction.atomic():
        queue.enqueue("hyperagent.accounts.tasks.mail_password_reset", "a person")
        queue.enqueue("conversations.schedules.tasks.start", "a schedule")

    assert [_take(broker) for _ in range(3)] == ["a person", "a schedule", None]


@pytest.mark.django_db(transaction=True)
def test_of_long_jobs_a_cluster_does_one_fewer_than_it_has_processes(
    broker: queue.NotifiedBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        queue.enqueue(LEAVE_MARK, str(number), lane=Lane.MANY)
    first = OrmQ.objects.order_by("id").first()
    assert first is not None

    assert [_take(broker), _take(broker)] == ["0", None]
    with psycopg.connect(database_dsn(), autocommit=True) as other:
        other.execute(f"LISTEN {queue.CHANNEL}")
        broker.acknowledge(first.pk)
        assert len(list(other.notifies(timeout=10, stop_after=1))) == 1, "who waits for room hears of it"
    assert [_take(broker), _take(broker)] == ["1", None]
    monkeypatch.setattr(Conf, "WORKERS", 3)
    assert [_take(broker), _take(broker)] == ["2", None]


@pytest.mark.django_db(transaction=True)
def test_long_jobs_and_those_of_which_there_are_many_take_turns(
    broker: queue.NotifiedBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Conf, "WORKERS", 9)
    for lane in (Lane.MANY, Lane.LONG):
        for number in range(3):
            queue.enqueue(LEAVE_MARK, f"{lane.name} {number}", lane=lane)

    assert [_take(broker) for _ in range(4)] == ["LONG 0", "MANY 0", "LONG 1", "MANY 1"]


@pytest.mark.django_db(transaction=True)
def test_a_long_job_whose_process_died_leaves_its_room_to_the_next(broker: queue.NotifiedBroker) -> None:
    for number in range(2):
        queue.enqueue(LEAVE_MARK, str(number), lane=Lane.LONG)

    assert [_take(broker), _take(broker)] == ["0", None]
    died = timezone.now() + timedelta(seconds=Conf.RETRY - queue.PATIENCE_S - 1)
    OrmQ.objects.filter(lock__gt=timezone.now()).update(lock=died)

    assert _take(broker) == "1"


@pytest.mark.django_db
def test_a_job_is_found_in_its_lane_by_an_index() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off")
        cursor.execute(f"EXPLAIN {queue._TAKE}", [Lane.SOON])
        plan = "\n".join(line for (line,) in cursor.fetchall())

    assert "Index Scan using hyperagent_jobs_by_lane" in plan


@pytest.mark.django_db(transaction=True)
def test_a_process_of_the_queue_without_a_database_ends_in_a_line_before_its_job_counts_as_done(
    caplog: pytest.LogCaptureFixture,
) -> None:
    task = {"ack_id": 7, "success": True}
    _end_connection()

    with pytest.raises(SystemExit):
        queue._release_lock(task)

    connection.close()
    assert "so job 7 will be done again" in caplog.text
    assert "Traceback" not in caplog.text


@pytest.mark.django_db(transaction=True)
def test_a_job_that_a_dead_cluster_had_taken_is_free_again_and_others_hear_of_it() -> None:
    queue.enqueue(LEAVE_MARK, "/nowhere")
    OrmQ.objects.update(lock=timezone.now() + timedelta(seconds=1000))
    with psycopg.connect(database_dsn(), autocommit=True) as other:
        other.execute(f"LISTEN {queue.CHANNEL}")

        queue.give_back_lost_jobs()

        assert OrmQ.objects.get().lock <= timezone.now()
        assert len(list(other.notifies(timeout=10, stop_after=1))) == 1


def _end_connection() -> None:
    """As when Postgres starts anew."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (own,) = cursor.fetchone()
    with psycopg.connect(database_dsn(), autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s)", [own])
        while other.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", [own]).fetchone():
            pass


def _let_it_only_be_read() -> None:
    """As when another Postgres takes its place."""
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("go_away", [_end_connection, _let_it_only_be_read])
def test_a_job_that_was_taken_while_the_database_went_away_is_free_once_it_is_back(
    go_away: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue, "LOOK_EVERY_S", 0.01)
    monkeypatch.setattr(queue, "AGAIN_AFTER_S", 0.01)
    broker = queue.NotifiedBroker()
    queue.enqueue(LEAVE_MARK, "/nowhere")

    taken = broker.dequeue()
    assert broker.dequeue() is None, "it is taken"
    go_away()
    assert broker.dequeue() is None, "the database is away"

    assert taken is not None
    assert broker.dequeue() == taken


@pytest.mark.django_db
@pytest.mark.spec("B1")
def test_a_job_asked_for_on_a_machine_with_a_fast_clock_is_there_to_be_taken_at_once() -> None:
    with time_machine.travel(timezone.now() + timedelta(minutes=12)):
        queue.enqueue(LEAVE_MARK, "/nowhere")

    assert OrmQ.objects.filter(lock__lte=Now()).exists()


def test_the_queue_has_no_admin_pages() -> None:
    registered = {model._meta.app_label for model in admin.site._registry}

    assert "django_q" not in registered


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_jobs_are_done_a_failed_one_is_not_repeated_and_successes_leave_nothing(tmp_path: Path) -> None:
    good, bad = tmp_path / "good", tmp_path / "bad"
    with worker(tmp_path / "log"):
        queue.enqueue("tests.house.jobs.fail", str(bad))
        queue.enqueue(LEAVE_MARK, str(good))

        until(lambda: marks(good), what="the good job")
        until(lambda: OrmQ.objects.count() == 0, what="both to be acknowledged")

    assert (marks(good), marks(bad)) == (1, 1)
    assert list(Task.objects.values_list("func", flat=True)) == ["tests.house.jobs.fail"]


@pytest.mark.slow
@pytest.mark.spec("B1")
@pytest.mark.django_db(transaction=True)
def test_jobs_are_done_though_an_idle_process_of_the_queue_was_killed(tmp_path: Path) -> None:
    with worker(tmp_path / "log") as parent:
        idle = cluster_of(parent)[2]
        queue.enqueue(LEAVE_MARK, str(tmp_path / "first"))
        until(lambda: marks(tmp_path / "first"), what="a job before the fault")

        idle.kill()
        for number in range(4):
            queue.enqueue(LEAVE_MARK, str(tmp_path / str(number)))

        until(lambda: all(marks(tmp_path / str(n)) for n in range(4)), what="all four jobs", timeout_s=90)


@pytest.mark.slow
@pytest.mark.spec("B1")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("victim", [0, 1])
def test_jobs_are_done_though_the_queue_was_killed_and_nobody_is_left_behind(tmp_path: Path, victim: int) -> None:
    with worker(tmp_path / "log") as parent:
        cluster = cluster_of(parent)

        cluster[victim].kill()
        queue.enqueue(LEAVE_MARK, str(tmp_path / "after"))

        until(lambda: not any(process.is_running() for process in cluster[2:]), what="the end of its children")
        until(lambda: marks(tmp_path / "after"), what="the job", timeout_s=90)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_queue_that_is_busy_is_not_taken_for_stuck(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "PATIENCE_S", 0.0)
    with worker(tmp_path / "log") as parent:
        cluster = cluster_of(parent)[0].environ()["HYPERAGENT_NAME"]
        # What is due by the clock waits as well, for as long as the cluster has just started.
        Schedule.objects.all().delete()
        queue.enqueue("tests.house.jobs.leave_mark_slowly", str(tmp_path / "slow"), 3)
        queue.enqueue(LEAVE_MARK, str(tmp_path / "next"))
        until(lambda: marks(tmp_path / "slow"), what="the slow job's begin")

        assert queue.stuck_on(cluster, started_s_ago=LONG_S) is None
        with connected_as("a cluster with an idle worker"):
            assert queue.stuck_on("a cluster with an idle worker", started_s_ago=LONG_S) is not None

        until(lambda: OrmQ.objects.count() == 0, what="both jobs")
        assert queue.stuck_on(cluster, started_s_ago=LONG_S) is None


@pytest.mark.django_db(transaction=True)
def test_a_queue_that_is_only_starting_is_not_taken_for_stuck(monkeypatch: pytest.MonkeyPatch) -> None:
    queue.enqueue(LEAVE_MARK, "/nowhere")
    job = OrmQ.objects.get().pk
    OrmQ.objects.update(lock=timezone.now() - timedelta(seconds=queue.PATIENCE_S + 1))

    assert queue.stuck_on("not here yet", started_s_ago=0) is None
    with connected_as("just here"):
        assert queue.stuck_on("just here", started_s_ago=LONG_S) is None
        monkeypatch.setattr(queue, "PATIENCE_S", 0.0)
        assert queue.stuck_on("just here", started_s_ago=LONG_S) == job

    # A backlog of an hour says nothing of a cluster that was started a moment ago.
    OrmQ.objects.update(lock=timezone.now() - timedelta(hours=1))
    assert queue.stuck_on("not here yet", started_s_ago=queue.STARTING_S - 1) is None
    assert queue.stuck_on("never came", started_s_ago=queue.STARTING_S + 1) == job


@pytest.mark.django_db(transaction=True)
def test_a_queue_that_makes_no_jobs_of_what_is_due_stands_still(monkeypatch: pytest.MonkeyPatch) -> None:
    queue.schedule_every(LEAVE_MARK, 120)
    Schedule.objects.update(next_run=timezone.now() - timedelta(seconds=queue.PATIENCE_S - 5))

    with connected_as("long here"):
        assert queue.stuck_on("long here", started_s_ago=LONG_S) is None
        monkeypatch.setattr(queue, "PATIENCE_S", 0.0)
        assert queue.stuck_on("long here", started_s_ago=LONG_S) == queue.THE_CLOCK


def test_only_a_queue_that_waits_with_the_same_job_stands_still() -> None:
    standstill = queue.Standstill()

    backlog = [standstill.shows(job) for job in range(50)]
    interrupted = [standstill.shows(job) for job in [7, 7, 7, None, 7, 7, 7]]
    stuck = [standstill.shows(8) for _ in range(2 * queue.STANDSTILL_LOOKS)]

    assert not any(backlog + interrupted)
    assert [number for number, shown in enumerate(stuck, 1) if shown] == [
        queue.STANDSTILL_LOOKS,
        2 * queue.STANDSTILL_LOOKS,
    ]


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_job_that_runs_is_finished_when_the_worker_is_stopped(tmp_path: Path) -> None:
    with worker(tmp_path / "log") as parent:
        queue.enqueue("tests.house.jobs.leave_mark_slowly", str(tmp_path / "slow"), 2)
        until(lambda: marks(tmp_path / "slow"), what="the slow job's begin")

        parent.send_signal(signal.SIGTERM)
        until(lambda: marks(tmp_path / "slow") == 2, what="its end")

    assert "tests.house.jobs.leave_mark_slowly" not in funcs_waiting()
