"""`make simulate`: what an installation does under a load, from what its parts cost: added time to first token, how
late tokens are, how busy each part is, how many streams a runner holds.

    python -m benchmarks.simulation                         the defaults, against the points that they were measured at
    … --measure                                             measures the points and the costs on this machine first
    … --from var/bench/….json                               takes them from what `--measure` or `make bench` left
    … --users 10000                                         what so many people need

The model is `benchmarks.simulation_model`; here are the costs, and what is printed. No unit cost is set by hand:
each is fitted to what processes took (`fit`).
"""

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.figure import percentile
from benchmarks.report import say
from benchmarks.simulation_model import (
    WAKE_S,
    Costs,
    Load,
    Plant,
    Seen,
    beats_a_tick,
    most_streams,
    runner_share,
    simulate,
    tick_s,
)

ROOT = Path(__file__).resolve().parent.parent
DEFAULTS = Path(__file__).resolve().parent / "simulation_defaults.json"
"""What `--measure` gave once, on a machine of two cores: windows of streams, and what a run took."""
PARTS = ("runner", "web", "postgres", "valkey")
LATE_MS = 100.0
RATE = 50.0
# What a runner is planned for: beyond, a burst has nowhere to go.
PLANNED_SHARE = 0.6
HELD_OUT = 2
"""The costs are fitted to all measured windows but those of so many largest numbers of streams, which the simulation
has to foresee: whoever asks how many a runner holds asks for more than was measured."""
DISTURBED = 0.3
"""Cores: of a window in which others took more, the times are theirs as much as ours."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What a bench left: the product's windows, by streams, and what a run took besides its tokens."""

    windows: tuple[Mapping[str, Any], ...]
    starts: Mapping[str, Any]
    cores: int

    @classmethod
    def read(cls, path: Path) -> "Measured":
        """Raises ValueError where the file has no window of the product."""
        kept = json.loads(path.read_text())
        windows = tuple(one for one in kept.get("windows", ()) if one["contender"] == "hyperagent" and one["tokens"])
        if not windows:
            raise ValueError(f"{path} has no window of the product; make one with `make bench ARGS='--only scaling'`")
        starts = kept.get("starts") or json.loads(DEFAULTS.read_text())["starts"]
        return cls(windows, starts, int(kept["machine"]["cores"]))


def fitted_to(measured: Measured) -> frozenset[int]:
    """The numbers of streams that the costs are fitted to; all of them, where too few were measured."""
    streams = sorted({one["streams"] for one in measured.windows})
    return frozenset(streams[:-HELD_OUT] if len(streams) > 2 * HELD_OUT else streams)


def fit(measured: Measured) -> Costs:
    """Unit costs of the parts, by least squares without negatives: CPU = commits x + rows y + tokens z."""
    windows = [one for one in measured.windows if one["streams"] in fitted_to(measured)]
    spent = {part: [one["cpu_us_a_token"].get(part, 0.0) * one["tokens"] for one in windows] for part in PARTS}
    commits = [one["commits"] for one in windows]
    rows = [one["events"] for one in windows]
    tokens = [one["tokens"] for one in windows]
    tick, frame, token = _least(spent["runner"], commits, rows, tokens)
    commit, row = _least(spent["postgres"], commits, rows)
    web_burst, web_frame = _least(spent["web"], commits, rows)
    (redis_frame,) = _least(spent["valkey"], rows)
    of_model = [one.get("model_share", 0.0) * one["seconds"] * 1e6 for one in windows]
    model_wake, model_token = _least(of_model, [_wakes(one) for one in windows], tokens)
    of_client = [one["client_share"] * one["seconds"] * 1e6 for one in windows]
    client_burst, client_frame = _least(of_client, commits, rows)
    of_a_run = measured.starts["cpu_us_a_run"]
    costs = Costs(
        web_ask=0.0,
        web_rest=of_a_run["web"],
        web_burst=web_burst,
        web_frame=web_frame,
        runner_start=0.0,
        runner_rest=of_a_run["runner"],
        runner_tick=tick,
        runner_frame=frame,
        runner_token=token,
        postgres_commit=commit,
        postgres_row=row,
        redis_frame=redis_frame,
        model_wake=model_wake,
        model_token=model_token,
        client_burst=client_burst,
        client_frame=client_frame,
    )
    return _begun(costs, measured.starts["added_ttft_ms"]["1"])


def _wakes(window: Mapping[str, Any]) -> float:
    """How often the model was woken to send what was sent, tokens that were due at the same moment together."""
    moments = window["seconds"] / WAKE_S
    return float(moments * (1 - math.exp(-window["tokens"] / moments)))


def _begun(costs: Costs, first_ms: float) -> Costs:
    """Of what a run takes, as much before its first token as makes one question alone wait so long; the rest after."""
    waited_ms = simulate(Plant(), costs, Load(at_once=1, tokens=1), seconds=2, warm_s=0).ttft_ms[0]
    early = (first_ms - waited_ms) * 1e3 / (costs.web_rest + costs.runner_rest)
    early = min(1.0, max(0.0, early))
    return replace(
        costs,
        web_ask=early * costs.web_rest,
        web_rest=(1 - early) * costs.web_rest,
        runner_start=early * costs.runner_rest,
        runner_rest=(1 - early) * costs.runner_rest,
    )


def _least(spent: Sequence[float], *causes: Sequence[float]) -> tuple[float, ...]:
    """Each window counts alike, so errors are shares. So few causes that each choice of them is tried."""
    y = np.asarray(spent, dtype=float)
    weights = 1 / np.maximum(y, 1e-9)
    x = np.column_stack([np.asarray(cause, dtype=float) for cause in causes])
    best: tuple[float, tuple[float, ...]] = (math.inf, (0.0,) * len(causes))
    for size in range(1, len(causes) + 1):
        for chosen in combinations(range(len(causes)), size):
            found, *_ = np.linalg.lstsq(x[:, chosen] * weights[:, None], y * weights, rcond=None)
            if (found < 0).any():
                continue
            off = float(np.sum(((x[:, chosen] @ found - y) * weights) ** 2))
            if off < best[0] - 1e-12:
                best = (off, tuple(float(found[chosen.index(i)]) if i in chosen else 0.0 for i in range(len(causes))))
    return best[1]


# --- measured | simulated


@dataclass(frozen=True, slots=True)
class Compared:
    what: str
    measured: float
    simulated: float
    is_fitted: bool = False
    others: float = 0.0
    """Cores that programs which are none of ours took meanwhile."""

    @property
    def off(self) -> float:
        return self.simulated / self.measured - 1

    def __str__(self) -> str:
        notes = ["fitted to"] if self.is_fitted else []
        notes += [f"others took {self.others:.1f} cores"] if self.others > DISTURBED else []
        return (
            f"{self.what:<46} {self.measured:>10.1f} {self.simulated:>10.1f} {self.off:>+8.0%}  {', '.join(notes)}"
        ).rstrip()


HEADING = f"{'':<46} {'measured':>10} {'simulated':>10} {'off by':>8}"


def compare(measured: Measured, costs: Costs, *, seconds: float = 15.0) -> list[Compared]:
    """Each measured window against the simulation of the machine that it was measured on."""
    rows = []
    fitted = fitted_to(measured)
    for window in measured.windows:
        streams, rate = window["streams"], window.get("rate", RATE)
        seen = simulate(Plant(cores=measured.cores), costs, Load(streams=streams, rate=rate), seconds=seconds)
        simulated = {part: seen.cpu_us_a_token(_station(part)) for part in PARTS}
        taken = {part: window["cpu_us_a_token"].get(part, 0.0) for part in PARTS}
        points = {
            "runner, CPU a token (µs)": (taken["runner"], simulated["runner"]),
            "all parts, CPU a token (µs)": (sum(taken.values()), sum(simulated.values())),
            "commits for events (/s)": (window["commits"] / window["seconds"], seen.commits / seen.seconds),
        }
        for share in (50, 95):
            if late_ms := window.get(f"latency_p{share}_ms"):
                points[f"token latency p{share} (ms)"] = late_ms, percentile(seen.latency_ms, share / 100)
        for what, (one, other) in points.items():
            is_fitted = streams in fitted and "CPU" in what
            at = "" if rate == RATE else f" of {rate:g} tok/s"
            rows.append(
                Compared(f"{streams:>3} streams{at}: {what}", one, other, is_fitted, window.get("others_share", 0.0))
            )
    for at_once, added_ms in measured.starts["added_ttft_ms"].items():
        load = Load(at_once=int(at_once), tokens=5)
        seen = simulate(Plant(cores=measured.cores), costs, load, seconds=10, warm_s=0)
        what = f"{at_once:>3} at once: added to the first token p50 (ms)"
        rows.append(Compared(what, added_ms, percentile(seen.ttft_ms, 0.5), at_once == "1"))
    return rows


def _station(part: str) -> str:
    return "redis" if part == "valkey" else part


def held(costs: Costs, plant: Plant, *, most: int = 2_000, seconds: float = 6.0) -> int:
    """The most streams whose tokens are, at the 95th percentile, no later than LATE_MS, and all come."""
    low, high = 0, most
    while high - low > max(1, low // 50):
        streams = (low + high + 1) // 2
        seen = simulate(plant, costs, Load(streams=streams, rate=RATE), seconds=seconds, warm_s=2.0)
        keeps_up = seen.tokens >= 0.95 * streams * RATE * seen.seconds
        if keeps_up and percentile(seen.latency_ms, 0.95) <= LATE_MS:
            low = streams
        else:
            high = streams - 1
    return low


# --- what people need


@dataclass(frozen=True, slots=True)
class Habits:
    """How often people ask, as numbers. `peak`: how much of a day's questions come in its busiest hour."""

    questions_a_day: float = 8.0
    active: float = 0.4
    peak: float = 0.2
    tokens: int = 1_200
    """Of all agents of a run."""
    steps: int = 6

    def runs_a_second(self, users: int) -> float:
        """In the busiest hour."""
        return users * self.active * self.questions_a_day * self.peak / 3600

    def streams(self, users: int) -> float:
        """That go on at once then: each run's calls of models, one after the other."""
        return self.runs_a_second(users) * self.tokens / RATE


@dataclass(frozen=True, slots=True)
class Need:
    users: int
    runs_a_second: float
    streams: float
    runners: int
    webs: int
    postgres_cores: float
    redis_cores: float
    commits_a_second: float


def need(costs: Costs, habits: Habits, users: int) -> Need:
    """By arithmetic: no part of it is asked for more than PLANNED_SHARE of what it has."""
    runs, streams = habits.runs_a_second(users), habits.streams(users)
    of_runs_us = runs * (costs.runner_start + costs.runner_rest + habits.steps * costs.runner_tick)
    runners = max(1, _whole(of_runs_us / 1e6, streams, costs))
    each = streams / runners
    tick = tick_s(each)
    frames = streams / tick
    beats = runners * min(beats_a_tick(each) / tick, RATE * each)
    commits = beats + runs * (3 + habits.steps)
    web = beats * costs.web_burst + frames * costs.web_frame + runs * (costs.web_ask + costs.web_rest)
    postgres = commits * costs.postgres_commit + (frames + runs * (4 + 2 * habits.steps)) * costs.postgres_row
    return Need(
        users=users,
        runs_a_second=runs,
        streams=streams,
        runners=runners,
        webs=max(1, math.ceil(web / 1e6 / PLANNED_SHARE)),
        postgres_cores=postgres / 1e6 / PLANNED_SHARE,
        redis_cores=frames * costs.redis_frame / 1e6 / PLANNED_SHARE,
        commits_a_second=commits,
    )


def _whole(of_runs: float, streams: float, costs: Costs) -> int:
    """The fewest runners that stay below PLANNED_SHARE, each with its part of the streams and of the runs."""
    runners = max(1, math.ceil(of_runs / PLANNED_SHARE))
    while of_runs / runners + runner_share(costs, streams=streams / runners, rate=RATE) > PLANNED_SHARE:
        runners += max(1, runners // 100)
    return runners


def describe(needed: Need, costs: Costs, habits: Habits) -> list[str]:
    """The need, and what a simulation of a part of it says: one runner, with its part of everything else."""
    part = 1 / needed.runners
    load = Load(
        runs_a_second=needed.runs_a_second * part,
        tokens=habits.tokens,
        rate=RATE,
        is_even=False,
    )
    seen = simulate(Plant(postgres_cores=1), _of_a_part(costs), load, seconds=120, warm_s=30)
    return [
        f"{needed.users:,} users: {needed.runs_a_second:.2f} runs a second and {needed.streams:,.0f} streams in the"
        " busiest hour",
        f"  runners {needed.runners:,}, web processes {needed.webs:,}, Postgres {needed.postgres_cores:.1f} cores with"
        f" {needed.commits_a_second:,.0f} commits a second, Redis {needed.redis_cores:.2f} cores",
        f"  one runner with its part of it (busy {seen.shares['runner']:.0%}): {told(seen)}",
    ]


def _of_a_part(costs: Costs) -> Costs:
    return replace(costs, model_wake=0.0, model_token=0.0, client_burst=0.0, client_frame=0.0)


def told(seen: Seen) -> str:
    first = (
        ""
        if not seen.ttft_ms
        else f"added to first token p50 {_at(seen.ttft_ms, 0.5)}, p95 {_at(seen.ttft_ms, 0.95)}; "
    )
    return f"{first}token latency p95 {_at(seen.latency_ms, 0.95)}"


def _at(values: Sequence[float], share: float) -> str:
    return f"{percentile(values, share):.0f} ms"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.simulation")
    parser.add_argument("--measure", action="store_true", help="starts the stand and measures first: minutes")
    parser.add_argument("--from", dest="source", type=Path, help="a JSON file of `--measure` or of `make bench`")
    parser.add_argument(
        "--users", type=int, action="append", help="what so many people need; may be given several times"
    )
    options = parser.parse_args()
    source = options.source or DEFAULTS
    if options.measure:
        from benchmarks import simulation_measure  # only it needs the stand, and what that starts

        source = ROOT / os.environ.get("DATA_DIR", "var") / "bench" / time.strftime("simulation-%Y%m%d-%H%M%S.json")
        simulation_measure.save(source)
        say(f"raw values: {source}")
    try:
        measured = Measured.read(source)
    except (OSError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    costs = fit(measured)
    say(f"unit costs, fitted to {source.name} (µs of CPU; waits in ms)")
    for name, value in asdict(costs).items():
        say(f"  {name:<20} {value:>10.1f}")
    say(f"\n{HEADING}")
    for row in compare(measured, costs):
        say(str(row))
    say("")
    alone = _of_a_part(costs)
    say(f"derived: one runner's core is used up by {most_streams(costs, rate=RATE):.0f} streams of {RATE:g} tok/s")
    say(f"simulated: it holds {held(alone, Plant(webs=8))}, p95 ≤ {LATE_MS:g} ms, where each part has its own cores")
    say(f"simulated: {held(costs, Plant(cores=measured.cores))} where all share {measured.cores} cores with the load")
    for users in options.users or (10_000, 1_000_000):
        say("")
        habits = Habits()
        for line in describe(need(costs, habits, users), alone, habits):
            say(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
