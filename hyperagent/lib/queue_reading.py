"""What the queue's tables tell people: how many jobs wait, since when, and which failed. By columns only: what a row
holds of a job is a pickle, and is never loaded here.
"""

from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from hyperagent.lib.lanes import Lane

MOST_SHOWN = 200


@dataclass(frozen=True)
class Standing:
    """`oldest_s`: how long the oldest job waits that is wanted soon and nobody has taken; `is_served`: a worker takes
    jobs."""

    waiting: int
    oldest_s: float
    failed_today: int
    is_served: bool
    database_bytes: int


@dataclass(frozen=True)
class WaitingJob:
    number: int
    since: datetime
    is_taken: bool


@dataclass(frozen=True)
class FailedJob:
    name: str
    started_at: datetime
    stopped_at: datetime
    attempts: int


def standing() -> Standing:
    """One query, with the size of the database."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT (SELECT count(*) FROM (SELECT 1 FROM django_q_ormq LIMIT 100000) jobs),
                   (SELECT coalesce(extract(epoch FROM now() - min(lock)), 0) FROM django_q_ormq
                     WHERE key = %s AND lock < now()),
                   (SELECT count(*) FROM django_q_task WHERE NOT success AND stopped > now() - interval '1 day'),
                   EXISTS (SELECT 1 FROM pg_stat_activity
                           WHERE datname = current_database() AND application_name LIKE '%%-jobs'),
                   pg_database_size(current_database())
            """,
            [Lane.SOON],
        )
        waiting, oldest_s, failed, is_served, size = cursor.fetchone()
    return Standing(waiting, float(oldest_s), failed, is_served, size)


def waiting_jobs() -> list[WaitingJob]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT id, lock, lock > now() FROM django_q_ormq ORDER BY id LIMIT %s", [MOST_SHOWN])
        return [WaitingJob(*row) for row in cursor.fetchall()]


def failed_jobs() -> list[FailedJob]:
    """The newest first, as long as they are kept."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT func, started, stopped, attempt_count FROM django_q_task WHERE NOT success"
            " ORDER BY stopped DESC LIMIT %s",
            [MOST_SHOWN],
        )
        return [FailedJob(*row) for row in cursor.fetchall()]
