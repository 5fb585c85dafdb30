"""What the tables say, for Prometheus: the same from whichever web process is asked. What a process counts of its own
work stands in `hyperagent.lib.telemetry.measures`.

Each query reads a partial index or a small table: what is over, however much, is not counted.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import connection
from prometheus_client import REGISTRY
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from agents.usage.purses import everybodys
from conversations.open_sockets import open_sockets
from hyperagent.lib import outage
from hyperagent.lib.lanes import Lane

RUNNER_SILENT_AFTER_S = 30
STATES = ("pending", "running", "awaiting_user")

_RUNS = """
SELECT status, count(*), extract(epoch FROM clock_timestamp() - min(created_at))::float FROM agents_execution
WHERE NOT (status IN ('completed', 'failed', 'cancelled')) GROUP BY status
"""
_RUNNERS = """
SELECT count(*), coalesce(sum(driving), 0), coalesce(sum(concurrency), 0) FROM agents_runner
WHERE seen_at > clock_timestamp() - make_interval(secs => %s)
"""
_REQUESTS = """
SELECT kind, count(*), extract(epoch FROM clock_timestamp() - min(created_at))::float FROM hitl_request
WHERE status = 'pending' GROUP BY kind
"""
_SANDBOXES = "SELECT provider, count(*) FROM agents_sandboxsession WHERE ended_at IS NULL GROUP BY provider"
_JOBS = """
SELECT count(*), coalesce(extract(epoch FROM clock_timestamp() - min(lock) FILTER (WHERE key = %s)), 0)::float
FROM django_q_ormq WHERE lock < clock_timestamp()
"""


@dataclass(frozen=True, slots=True)
class Standing:
    """How the installation stands now. Ages in seconds, of the oldest; 0 where there is none."""

    runs: Mapping[str, int] = field(default_factory=dict)
    queue_age_s: float = 0.0
    runners: int = 0
    driving: int = 0
    capacity: int = 0
    requests: Mapping[str, int] = field(default_factory=dict)
    request_age_s: float = 0.0
    sandboxes: Mapping[str, int] = field(default_factory=dict)
    jobs: int = 0
    job_age_s: float = 0.0
    budgets: Mapping[tuple[str, str, str], float] = field(default_factory=dict)
    """By whose, period and unit, of the one that is used most: 1.0 is all of it."""


def standing() -> Standing:
    """Six queries."""
    with connection.cursor() as cursor:

        def rows(query: str, *values: Any) -> list[tuple[Any, ...]]:
            cursor.execute(query, values)
            found: list[tuple[Any, ...]] = cursor.fetchall()
            return found

        runs, ((runners, driving, capacity),) = rows(_RUNS), rows(_RUNNERS, RUNNER_SILENT_AFTER_S)
        requests, sandboxes, ((jobs, job_age_s),) = rows(_REQUESTS), rows(_SANDBOXES), rows(_JOBS, Lane.SOON)
    return Standing(
        runs={status: count for status, count, _ in runs},
        queue_age_s=next((float(age) for status, _, age in runs if status == "pending"), 0.0),
        runners=runners,
        driving=driving,
        capacity=capacity,
        requests={kind: count for kind, count, _ in requests},
        request_age_s=max((float(age) for _, _, age in requests), default=0.0),
        sandboxes=dict(sandboxes),
        jobs=jobs,
        job_age_s=job_age_s,
        budgets=_budgets(),
    )


def _budgets() -> dict[tuple[str, str, str], float]:
    """People are not named here: of theirs, and of groups', the worst stands for all."""
    worst: dict[tuple[str, str, str], float] = {}
    for limit, _told in everybodys():
        kind = (limit.whose.value, limit.period.value, limit.unit.value)
        worst[kind] = max(worst.get(kind, 0.0), float(limit.used / limit.amount))
    return worst


class Tables(Collector):
    def collect(self) -> Iterable[Metric]:
        yield _one("hyperagent_sockets_open", "Open sockets of this web process.", open_sockets.total)
        try:
            now = standing()
        except Exception as error:
            if not outage.is_outage(error):
                raise
            yield _one("hyperagent_database_up", "Whether Postgres answers.", 0)
            return
        yield _one("hyperagent_database_up", "Whether Postgres answers.", 1)
        live = {status: now.runs.get(status, 0) for status in STATES}
        yield _by("hyperagent_live_executions", "Runs that are not over.", "status", live)
        yield _one("hyperagent_queue_age_seconds", "Age of the oldest run that nobody drives.", now.queue_age_s)
        yield _one("hyperagent_runners", "Runners that gave a sign lately.", now.runners)
        yield _one("hyperagent_runs_driven", "Runs that those runners drive.", now.driving)
        yield _one("hyperagent_runs_capacity", "Runs that those runners would drive at once.", now.capacity)
        yield _by("hyperagent_requests_waiting", "Questions that wait for a person.", "kind", now.requests)
        yield _one("hyperagent_request_age_seconds", "Age of the oldest such question.", now.request_age_s)
        yield _by("hyperagent_sandboxes_open", "Open sandboxes of all machines.", "provider", now.sandboxes)
        yield _one("hyperagent_jobs_waiting", "Background jobs that nobody has taken.", now.jobs)
        yield _one("hyperagent_job_age_seconds", "Age of the oldest of them that is no long one.", now.job_age_s)
        used = GaugeMetricFamily(
            "hyperagent_budget_used_ratio",
            "Used of the budget of this kind that is used most; 1 is all.",
            labels=["whose", "period", "unit"],
        )
        for kind, ratio in now.budgets.items():
            used.add_metric(kind, ratio)
        yield used

    def describe(self) -> Iterable[Metric]:
        # Without it the registry would ask the tables while it is being built.
        return ()


def _one(name: str, told: str, value: float) -> Metric:
    return GaugeMetricFamily(name, told, value=value)


def _by(name: str, told: str, label: str, values: Mapping[str, int]) -> Metric:
    family = GaugeMetricFamily(name, told, labels=[label])
    for key, value in values.items():
        family.add_metric([key], value)
    return family


REGISTRY.register(Tables())
