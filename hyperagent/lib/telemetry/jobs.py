"""A background job as others see it from outside: a span, a log line, and what Prometheus counts. A process of the
queue runs one job at a time."""

import time
from contextlib import ExitStack
from typing import Any

import structlog

from hyperagent.lib.telemetry import measures, tracing
from hyperagent.lib.telemetry.tracing import NOTHING, Kind, Span

log = structlog.get_logger(__name__)


class JobWatch:
    def __init__(self) -> None:
        self._inside = ExitStack()
        self._span: Span = NOTHING
        self._began_s = 0.0

    def begin(self, name: str, ids: list[Any], *, number: int, traceparent: str) -> None:
        """`traceparent`: of whoever wanted the job; empty where nobody traced that."""
        self._began_s = time.perf_counter()
        structlog.contextvars.bind_contextvars(job=name, job_number=number)
        told: dict[str, Any] = {
            "hyperagent.job.name": name,
            "hyperagent.job.number": number,
            "hyperagent.job.ids": [*map(str, ids)],
        }
        self._span = tracing.begin(f"job {name}", kind=Kind.CONSUMER, attributes=told, parent=traceparent or None)
        self._inside = ExitStack()
        self._inside.enter_context(self._span.within())

    def end(self, name: str, ids: list[Any], *, failed: bool) -> None:
        took_s = time.perf_counter() - self._began_s
        outcome = "failed" if failed else "ok"
        measures.JOBS.labels(name, outcome).inc()
        measures.JOB_SECONDS.observe(took_s)
        log.info("job.ended", outcome=outcome, ids=[*map(str, ids)], took_ms=round(took_s * 1000))
        self._inside.close()
        if failed:
            self._span.failed("job_failed")
        self._span.end()
        structlog.contextvars.unbind_contextvars("job", "job_number")
