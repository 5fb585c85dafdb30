"""What each process counts of its own work, for Prometheus. What the tables say is asked there (`hyperagent.metrics`).

Labels come from a closed set, or from settings through `Bounded`: what people write never makes a new series.
"""

import threading
from typing import Final

from prometheus_client import Counter, Histogram

OTHER: Final = "other"
MOST_MODELS: Final = 60
MOST_TOOLS: Final = 150
_MODEL: Final = ("provider", "model")


class Bounded:
    """The first `most` different labels, and one for all others."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: set[tuple[str, ...]] = set()
        self._lock = threading.Lock()

    def __call__(self, *labels: str) -> tuple[str, ...]:
        if labels in self._known:
            return labels
        with self._lock:
            if len(self._known) >= self._most:
                return (OTHER,) * len(labels)
            self._known.add(labels)
        return labels


models = Bounded(MOST_MODELS)
tools = Bounded(MOST_TOOLS)

MODEL_CALLS: Final = Counter(
    "hyperagent_model_calls",
    "Calls of models. outcome: ok, left (nobody wanted the rest), or the reason of the failure.",
    (*_MODEL, "outcome"),
)
MODEL_TOKENS: Final = Counter("hyperagent_model_tokens", "Tokens, as providers bill them.", (*_MODEL, "direction"))
MODEL_COST: Final = Counter("hyperagent_model_cost_usd", "What calls of models cost, where it is known.", _MODEL)
MODEL_UNPRICED: Final = Counter("hyperagent_model_unpriced_calls", "Calls whose price nobody knows.", _MODEL)
FIRST_TOKEN: Final = Histogram(
    "hyperagent_first_token_seconds",
    "From a call of a model to its first piece.",
    _MODEL,
    buckets=(0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60),
)
TOOL_CALLS: Final = Counter(
    "hyperagent_tool_calls",
    "Tools carried out. tool: its name, `connected` for those of servers that people connected. outcome: ok, or the"
    " code of the failure.",
    ("tool", "outcome"),
)
RUNS_ENDED: Final = Counter(
    "hyperagent_runs_ended", "Runs that are over. error: its code, empty where there is none.", ("status", "error")
)
CLAIM_WAIT: Final = Histogram(
    "hyperagent_claim_wait_seconds",
    "From the moment in which a run was wanted, or wanted again, to its driver.",
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300),
)
WRITER_LAG: Final = Histogram(
    "hyperagent_writer_lag_seconds",
    "From the first thing that a runner's writer had to store to the commit with it.",
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5),
)
JOBS: Final = Counter("hyperagent_jobs", "Background jobs. outcome: ok or failed.", ("task", "outcome"))
JOB_SECONDS: Final = Histogram(
    "hyperagent_job_seconds",
    "How long background jobs took.",
    buckets=(0.05, 0.25, 1, 5, 15, 60, 300),
)
REQUESTS: Final = Counter("hyperagent_http_requests", "Answered requests.", ("method", "status"))
REQUEST_SECONDS: Final = Histogram(
    "hyperagent_http_request_seconds",
    "From a request to the head of its answer.",
    ("method",),
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10),
)
