"""What a storm came to, as JSON and as a table. Values only."""

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import quantiles
from typing import Any

from tests.storm.plan import KILLS, Round
from tests.storm.round import Outcome


def report_of(
    seed: int,
    outcomes: Sequence[tuple[Round, Outcome]],
    *,
    took_s: float,
    decisions: int,
    effects: int,
    memory: tuple[Mapping[str, float], Mapping[str, float]],
) -> dict[str, Any]:
    done = [hit for _, outcome in outcomes for hit in outcome.hits if not hit.held]
    violations = [
        {"seed": seed, "round": outcome.number, "what": fault} for _, outcome in outcomes for fault in outcome.faults
    ]
    return {
        "seed": seed,
        "minutes": round(took_s / 60, 1),
        "rounds": len(outcomes),
        "runs": sum(outcome.runs for _, outcome in outcomes),
        "runs_by_shape": _counted(run.shape for plan, _ in outcomes for run in plan.runs),
        "runs_by_end": dict(sum((outcome.statuses for _, outcome in outcomes), Counter())),
        "kills_and_restarts": sum(hit.kind in KILLS for hit in done),
        "processes_ended": sum(len(hit.pids) for hit in done if hit.kind in KILLS),
        "faults_by_kind": _counted(hit.kind for hit in done),
        "faults_held": _counted(hit.held for _, outcome in outcomes for hit in outcome.hits if hit.held),
        "take_overs_s": _spread([s for _, outcome in outcomes for s in outcome.take_overs_s]),
        "resumes_of_sockets_s": _spread([s for _, outcome in outcomes for s in outcome.resumes_s]),
        "reconnects": sum(outcome.reconnects for _, outcome in outcomes),
        "decisions": decisions,
        "effects": effects,
        "tracebacks_in_logs": dict(sum((outcome.tracebacks for _, outcome in outcomes), Counter())),
        "memory_mib": {"start": dict(memory[0]), "end": dict(memory[1])},
        "violations": violations,
    }


def as_table(report: Mapping[str, Any]) -> str:
    """Without what is long: that stands in the JSON."""
    lines = []
    for name, value in report.items():
        if name == "memory_mib":
            lines += [f"{'memory at the ' + when:24} {sum(value[when].values()):.0f} MiB" for when in ("start", "end")]
        elif name == "violations":
            lines.append(f"{name:24} {len(value)}")
            lines += [f"  seed {one['seed']}, round {one['round']}: {one['what']}" for one in value]
        elif isinstance(value, Mapping):
            lines.append(f"{name:24} " + ", ".join(f"{key} {count}" for key, count in value.items()))
        else:
            lines.append(f"{name:24} {value}")
    return "\n".join(lines)


def line_of(plan: Round, outcome: Outcome) -> str:
    """One round in a line, while the storm goes on."""
    hits = [hit for hit in outcome.hits if not hit.held]
    ends = ", ".join(f"{count} {status}" for status, count in sorted(outcome.statuses.items()))
    worst_s = max(outcome.take_overs_s, default=0.0)
    return (
        f"round {plan.number}: {outcome.runs} runs ({ends}), {len(hits)} of {len(plan.faults)} faults,"
        f" {len(outcome.take_overs_s)} take-overs (at most {worst_s:.1f} s), {outcome.reconnects} reconnects,"
        f" {outcome.took_s:.0f} s, {len(outcome.faults)} violations"
    )


def _counted(names: Any) -> dict[str, int]:
    return dict(Counter(str(name) for name in names).most_common())


def _spread(values_s: Sequence[float]) -> dict[str, float]:
    """How many, the median, the 95th percentile and the most, in seconds."""
    if not values_s:
        return {"count": 0}
    parts = quantiles(values_s, n=100, method="inclusive") if len(values_s) > 1 else [values_s[0]] * 99
    return {
        "count": len(values_s),
        "p50": round(parts[49], 2),
        "p95": round(parts[94], 2),
        "max": round(max(values_s), 2),
    }
